"""Whole programs of products and of ops that end their kernels: the same numbers as one by one."""

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.backends.webgpu import backend as webgpu_backend
from wgtorch.backends.webgpu import deferral
from wgtorch.config import MAX_FUSED

F = torch.nn.functional
pytestmark = pytest.mark.skipif(MAX_FUSED == 1, reason="WGTORCH_EAGER puts nothing off")


def random_program(seed: int, side: int, device: str):
    """What random ops make of matrices, some dropped and some written to on the way."""
    structure, data = np.random.default_rng(seed), np.random.default_rng(seed + 1000)
    pool = [
        torch.tensor(data.standard_normal((side, side), dtype="f4"), device=device) for _ in "xyz"
    ]
    row, grow = torch.tensor(data.standard_normal(side, dtype="f4"), device=device), 1 / side
    for _ in range(40):
        a, b = (pool[structure.integers(len(pool))] for _ in "ab")
        choice = structure.integers(12)
        if choice < 4:
            pool.append((a @ b * grow).tanh() if choice else a @ b * grow)
        elif choice < 7:
            pool.append([a + b, a * b, a + row][choice - 4].tanh())
        elif choice == 7:
            pool.append(torch.addmm(row, a, b, alpha=grow).sin())
        elif choice == 8:
            pool.append(a.t() * 0.5)
        elif choice == 9:
            pool.append(a - a.sum(0) * grow)
        elif choice == 10:
            b.mul_(0.5)
            b[1] = 0.25
        elif len(pool) > 4:
            del pool[structure.integers(len(pool) - 2)]
        del a, b
        if structure.integers(6) == 0:
            pool[-1].cpu().numpy()
    return [t.cpu().numpy() for t in pool]


@pytest.mark.parametrize("side", [8, 7])
@pytest.mark.parametrize("seed", range(20))
def test_random_programs(webgpu, side, seed):
    for have, want in zip(*(random_program(seed, side, d) for d in (webgpu, "cpu")), strict=True):
        np.testing.assert_allclose(have, want, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("seed", range(10))
def test_random_programs_that_write_over_operands(webgpu, seed, monkeypatch):
    monkeypatch.setattr(deferral, "LEAST", 1)
    monkeypatch.setattr(webgpu_backend, "LEAST", 1)
    for have, want in zip(*(random_program(seed, 8, d) for d in (webgpu, "cpu")), strict=True):
        np.testing.assert_allclose(have, want, rtol=2e-3, atol=2e-4)


def test_gradients_of_a_recurrent_network(webgpu):
    """Each step's gradient stands on products of several steps."""
    slopes = []
    for device in ("cpu", webgpu):
        torch.manual_seed(0)
        network = torch.nn.LSTM(4, 5).to(device)
        x = torch.linspace(-1, 1, 24, device=device).reshape(3, 2, 4)
        out, (h, c) = network(x)
        sum((o * o.sin()).sum() for o in (out, h, c)).backward()
        slopes.append([p.grad.cpu() for p in network.parameters()])
    for got, want in zip(slopes[1], slopes[0], strict=True):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)
