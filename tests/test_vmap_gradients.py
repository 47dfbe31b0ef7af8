"""Gradients through vmap, vmap of gradients, and gradients of those, of every op: as in a loop."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from op_cases import ON_DATA, Case, has_gradient, is_array, is_float, parameters, results

import wgtorch as torch
from wgtorch.dispatch.doors import PUBLIC
from wgtorch.func import grad, vmap


class Place:
    def __init__(self, number: int):
        self.number = number


class Samples:
    """Two samples of a case in float64, and a number that depends on all float results."""

    def __init__(self, case: Case):
        self.case, self.leaves = case, []
        self.args = [self._gathered(a) for a in case.args]
        self.floats = [i for i, leaf in enumerate(self.leaves) if is_float(leaf)]
        pairs = [np.stack([a, np.roll(a.reshape(-1), 1).reshape(a.shape)]) for a in self.leaves]
        self.batch = [torch.tensor(p, requires_grad=is_float(p)) for p in pairs]
        self.wanting = [self.batch[i] for i in self.floats]

    def _gathered(self, value: Any) -> Any:
        if isinstance(value, list | tuple) and any(is_array(v) for v in value):
            return [self._gathered(v) for v in value]
        if is_array(value):
            array = np.asarray(value)
            self.leaves.append(array.astype(np.float64) if is_float(array) else array)
            return Place(len(self.leaves) - 1)
        return value

    def number(self, *tensors: Any) -> Any:
        def filled(value: Any) -> Any:
            if isinstance(value, list):
                return [filled(v) for v in value]
            return tensors[value.number] if isinstance(value, Place) else value

        outs = results(PUBLIC[self.case.op.name](*filled(self.args), **self.case.attrs))
        floats = [o for o in outs if isinstance(o, torch.Tensor) and o.dtype.is_floating_point]
        return sum((o.sin() * o).sum() for o in floats)

    def one_by_one(self) -> list[Any]:
        return [[t[b] for t in self.batch] for b in range(2)]

    def slopes(self, number: Any) -> list[np.ndarray]:
        if not isinstance(number, torch.Tensor) or not number.requires_grad:
            return [np.zeros(t.shape) for t in self.wanting]
        found = torch.autograd.grad(number, self.wanting, allow_unused=True)
        pairs = zip(found, self.wanting, strict=True)
        return [np.zeros(t.shape) if g is None else g.numpy() for g, t in pairs]

    def squared_slopes(self) -> Any:
        """The sum of the squares of the gradients, by a loop."""
        total: Any = 0.0
        for sample in self.one_by_one():
            by = [sample[i] for i in self.floats]
            found = torch.autograd.grad(
                self.number(*sample), by, create_graph=True, allow_unused=True
            )
            total = total + sum((g * g).sum() for g in found if g is not None)
        return total


def same(got: list[np.ndarray], want: list[np.ndarray]) -> None:
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("case", parameters(has_gradient, first=True))
def test_gradients_of_a_batch_are_those_of_its_samples(case: Case) -> None:
    at = Samples(case)
    try:
        number = sum(at.number(*sample) for sample in at.one_by_one())
    except Exception as error:
        pytest.skip(f"what is rolled is not valid: {error}")
    if not isinstance(number, torch.Tensor) or not number.requires_grad:
        pytest.skip("nothing to differentiate")
    want = at.slopes(number)
    try:
        twice = at.slopes(at.squared_slopes())
    except RuntimeError:
        twice = None  # its gradient has none
    slope = grad(at.number, argnums=tuple(at.floats))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            same(at.slopes(vmap(at.number)(*at.batch).sum()), want)
        except (RuntimeError, ValueError) as error:
            if any(word in str(error) for word in ON_DATA):
                pytest.skip("it depends on data")
            raise
        plain = [t.detach() for t in at.batch]
        same([g.numpy() for g in vmap(slope)(*plain)], want)
        if twice is not None:
            same(at.slopes(sum((g * g).sum() for g in vmap(slope)(*at.batch))), twice)
