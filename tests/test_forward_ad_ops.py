"""Every op in forward mode: its tangent is what its gradient formulas say, on both devices.

Two independent ways to one number: <w, J v> by the tangent, and <J^T w, v> by backward.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from op_cases import Case, has_gradient, is_array, is_float, parameters, results

import wgtorch as torch
from wgtorch.autograd import forward_ad
from wgtorch.dispatch.doors import PUBLIC
from wgtorch.op import Composite


class Point:
    """A case at float tensors, with a direction for each and weights for the results."""

    def __init__(self, case: Case, device: str, kind: type):
        self.case, self.device, self.kind = case, device, kind
        self.rng = np.random.default_rng(7)
        self.points: list[np.ndarray] = []
        self.args = [self._gathered(a) for a in case.args]

    def _gathered(self, value: Any) -> Any:
        if isinstance(value, list | tuple) and any(is_array(v) for v in value):
            return [self._gathered(v) for v in value]
        if is_float(value):
            self.points.append(np.asarray(value, self.kind))
            return Place(len(self.points) - 1)
        return torch.tensor(value, device=self.device) if is_array(value) else value

    def call(self, tensors: list[Any]) -> list[Any]:
        def filled(value: Any) -> Any:
            if isinstance(value, list):
                return [filled(v) for v in value]
            return tensors[value.number] if isinstance(value, Place) else value

        return results(PUBLIC[self.case.op.name](*filled(self.args), **self.case.attrs))

    def drawn(self, shape: Any) -> Any:
        return torch.tensor(self.rng.standard_normal(shape).astype(self.kind), device=self.device)


class Place:
    def __init__(self, number: int):
        self.number = number


def number(tensor: Any) -> float:
    value = tensor.sum().item()
    return value.real if isinstance(value, complex) else value


def check(case: Case, device: str, kind: type, tolerance: float) -> None:
    at = Point(case, device, kind)
    if not at.points:
        pytest.skip("no floats to move")
    leaves = [torch.tensor(p, device=device, requires_grad=True) for p in at.points]
    try:
        outs = at.call(leaves)
    except Exception as error:
        pytest.skip(f"not an op of this dtype: {error}")
    moving = [i for i, o in enumerate(outs) if isinstance(o, torch.Tensor) and o.requires_grad]
    if not moving:
        pytest.skip("it has no gradient")
    along = [at.drawn(p.shape) for p in at.points]
    weights = [at.drawn(outs[i].shape) for i in moving]
    grads = torch.autograd.grad([outs[i] for i in moving], leaves, weights, allow_unused=True)
    want = sum(number(g * v) for g, v in zip(grads, along, strict=True) if g is not None)
    with forward_ad.dual_level(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pairs = zip(leaves, along, strict=True)
        moved = at.call([forward_ad.make_dual(x.detach(), v) for x, v in pairs])
        got = 0.0
        for i, w in zip(moving, weights, strict=True):
            primal, tangent = forward_ad.unpack_dual(moved[i])
            value = outs[i].detach()
            same = np.testing.assert_allclose
            same(primal.cpu().numpy(), value.cpu().numpy(), rtol=1e-4, atol=1e-5)
            if tangent is not None:
                assert tangent.shape == value.shape and not tangent.requires_grad
                got += number(tangent * w)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", parameters(has_gradient))
def test_a_tangent_is_what_backward_says(case: Case) -> None:
    check(case, "cpu", np.float64, 1e-5)


@pytest.mark.parametrize(
    "case", parameters(lambda op: has_gradient(op) and not isinstance(op, Composite), first=True)
)
def test_a_tangent_on_the_gpu_is_what_backward_says(case: Case, webgpu: str) -> None:
    check(case, webgpu, np.float32, 5e-3)


def test_a_deviation_of_equals_stands_still(device):
    x, move = torch.ones(3, device=device), torch.tensor([1.0, 2.0, 0.0], device=device)
    assert torch.func.jvp(lambda t: t.std(), (x,), (move,))[1].item() == 0
