"""Memory returns by reference counting alone; the cycle collector is switched off here."""

import gc

import numpy as np

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.device import Device


def step(x, w):
    loss = (x @ w).softmax(-1).log().mean()
    loss.backward()
    value = loss.item()
    x.grad = w.grad = None
    return value


def test_second_step_allocates_nothing():
    rng = np.random.default_rng(0)
    x, w = (
        torch.tensor(rng.standard_normal((8, 8)).astype("f4"), device="webgpu", requires_grad=True)
        for _ in "xw"
    )
    step(x, w)
    gc.disable()
    try:
        pool = backend(Device("webgpu")).gpu.pool
        free = sum(map(len, pool.free.values()))
        step(x, w)
        assert sum(map(len, pool.free.values())) == free
    finally:
        gc.enable()
