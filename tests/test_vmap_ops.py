"""Every op under vmap: its samples in batches give what they give one by one, on both devices."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from op_cases import ON_DATA, Case, arrays, assert_same, is_array, parameters, results

import wgtorch as torch
from wgtorch.dispatch.doors import PUBLIC
from wgtorch.op import Composite

INVALID = ("_max_pool_pick",)  # its places are not free
IN_PLACE = ("as_strided_scatter", "_index_by")  # these write into what is not batched


class Batch:
    """A case whose tensors are batches of two: the sample, and its elements one place further."""

    def __init__(self, case: Case, device: str, which: str):
        self.case, self.leaves, self.device = case, [], device
        self.args = [self._gathered(a) for a in case.args]
        self.attrs = {name: self._gathered(a) for name, a in case.attrs.items()}
        count = len(self.leaves)
        kept = {"all": range(count), "first": [0], "last": [count - 1]}[which]
        self.dims = [0 if i in kept else None for i in range(count)]
        self.tensors = [
            torch.tensor(leaf if dim is None else np.stack([leaf, rolled(leaf)]), device=device)
            for leaf, dim in zip(self.leaves, self.dims, strict=True)
        ]

    def _gathered(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._gathered(v) for v in value]
        if is_array(value):
            self.leaves.append(np.asarray(value))
            return Place(len(self.leaves) - 1)
        return value

    def call(self, *tensors: Any) -> list[Any]:
        def filled(value: Any) -> Any:
            if isinstance(value, list):
                return [filled(v) for v in value]
            return tensors[value.number] if isinstance(value, Place) else value

        attrs = {name: filled(value) for name, value in self.attrs.items()}
        return results(PUBLIC[self.case.op.name](*filled(self.args), **attrs))

    def one_by_one(self) -> list[list[np.ndarray]]:
        rows = [
            [
                t if d is None else t.select(0, b)
                for t, d in zip(self.tensors, self.dims, strict=True)
            ]
            for b in range(2)
        ]
        return [arrays(self.call(*row)) for row in rows]

    def at_once(self) -> list[Any]:
        return torch.vmap(self.call, in_dims=tuple(self.dims))(*self.tensors)


class Place:
    def __init__(self, number: int):
        self.number = number


def rolled(array: np.ndarray) -> np.ndarray:
    return np.roll(array.reshape(-1), 1).reshape(array.shape)


def check(case: Case, device: str, which: str) -> None:
    batch = Batch(case, device, which)
    if not batch.leaves or case.op.name in INVALID:
        pytest.skip("nothing to batch")
    try:
        want = batch.one_by_one()
    except Exception as error:
        pytest.skip(f"what is rolled is not valid: {error}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = arrays(batch.at_once())
    except (RuntimeError, ValueError) as error:
        if isinstance(case.op, Composite) and any(word in str(error) for word in ON_DATA):
            pytest.skip("it depends on data")
        if case.op.name in IN_PLACE and "inplace arithmetic" in str(error):
            pytest.skip("it writes into what is not batched")
        raise
    for b in range(2):
        assert_same([g[b] for g in got], want[b], max(1e-4, case.op.tolerance), 1e-5)


@pytest.mark.parametrize("which", ["all", "first", "last"])
@pytest.mark.parametrize("case", parameters())
def test_a_batch_gives_what_its_samples_give(case: Case, which: str) -> None:
    check(case, "cpu", which)


@pytest.mark.parametrize("case", parameters(lambda op: not isinstance(op, Composite), first=True))
def test_a_batch_on_the_gpu_gives_what_its_samples_give(case: Case, webgpu: str) -> None:
    check(case, webgpu, "all")
