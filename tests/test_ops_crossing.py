"""Operands that lie across a result: permuted in every way, of every dtype, beside others."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch

RNG = np.random.default_rng(0)
CASES = [
    ((128, 64), (1, 0)), ((64, 100), (1, 0)), ((4, 2048), (1, 0)), ((2048, 4), (1, 0)),
    ((130, 64), (1, 0)), ((3, 16, 20, 8), (0, 2, 3, 1)), ((3, 8, 16, 20), (0, 3, 1, 2)),
    ((8, 16, 12, 4), (3, 2, 1, 0)), ((8, 8, 16, 12), (2, 3, 0, 1)), ((40, 36, 8), (1, 2, 0)),
    ((5, 30, 32), (0, 2, 1)),
]  # fmt: skip
DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.uint8, torch.int16, torch.int64]


@pytest.fixture
def crossings(webgpu):
    return torch.zeros(1, device=webgpu).device.backend.crossings


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize(("shape", "dims"), CASES, ids=str)
def test_permuted_operands(webgpu, dtype, shape, dims):
    source = torch.tensor(RNG.integers(0, 60, shape)).to(dtype)
    x, want = source.to(webgpu).permute(dims), source.permute(dims)
    assert torch.equal(x.contiguous().cpu(), want.contiguous())
    other = torch.tensor(RNG.integers(0, 9, tuple(want.shape))).to(dtype)
    y = other.to(webgpu)
    assert torch.equal((x + y).cpu(), want + other)
    held = x * 2  # stored beside what follows from it
    assert torch.equal((held + y[..., :1]).cpu(), want * 2 + other[..., :1])
    assert torch.equal(held.cpu(), want * 2)


def test_offsets_and_steps(webgpu):
    array = RNG.standard_normal((130, 132)).astype(np.float32)
    x = torch.tensor(array, device=webgpu)
    for view in (np.s_[4:100, 8:], np.s_[1:97, 3:131], np.s_[::2, ::3], np.s_[2:, 4:100]):
        np.testing.assert_array_equal(x[view].t().contiguous().cpu().numpy(), array[view].T)
    np.testing.assert_array_equal((x.t()[4:, :128] * 2).cpu().numpy(), array.T[4:, :128] * 2)


def test_what_is_transposed_is_read_by_fours(webgpu, crossings):
    x = torch.tensor(RNG.random((64, 128)), dtype=torch.float32, device=webgpu)
    if not crossings.home.dialect.unrolls:
        pytest.skip("this adapter's compiler is spared long functions")
    crossings.ready.clear()
    x.t().contiguous().cpu().numpy()
    assert [launch is not None for launch in crossings.ready.values()] == [True]
    x[:, :126].t().contiguous().cpu().numpy()  # rows of 126: not by fours
    assert list(crossings.ready.values())[-1] is None
