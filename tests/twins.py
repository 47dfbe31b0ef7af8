"""Twins: one module in wgtorch and in torch, with the same weights, on the same inputs."""

from __future__ import annotations

import numpy as np
import torch

import wgtorch


def twin(make, device):
    """The same module in both libraries, with the same weights."""
    torch.manual_seed(0)
    theirs = make(torch)
    ours = make(wgtorch)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict({k: wgtorch.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    return ours.to(device), theirs


def array(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def flat(value):
    """The tensors in a result, in order."""
    if value is None:
        return []
    if isinstance(value, tuple | list):
        return [t for v in value for t in flat(v)]
    return [value]


def compare(make, device, call, *arrays):
    """Outputs, and gradients of inputs and weights."""
    ours, theirs = twin(make, device)
    slopes, results = [], []
    for library, module, place in ((wgtorch, ours, device), (torch, theirs, "cpu")):
        inputs = [library.tensor(a, device=place, requires_grad=True) for a in arrays]
        outs = flat(call(library, module, inputs))
        results.append([o.detach().cpu().numpy() for o in outs])
        sum((o * o.sin()).sum() for o in outs).backward()
        grads = [t.grad for t in (*inputs, *module.parameters())]
        slopes.append([None if g is None else g.cpu().numpy() for g in grads])
    for got, want in (results, slopes):
        for g, w in zip(got, want, strict=True):
            assert (g is None) == (w is None)
            if g is not None:
                np.testing.assert_allclose(g, w, rtol=2e-4, atol=2e-5)
