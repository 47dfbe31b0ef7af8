"""Elements shorter than a word, read and written sixteen bytes at once: every length, every end."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch

RNG = np.random.default_rng(0)
DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.float16, torch.bfloat16]
LENGTHS = [1, 3, 4, 5, 8, 15, 16, 17, 31, 63, 64, 255, 1000, 4097, 65536 * 4 + 5]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
def test_every_length(webgpu, dtype):
    for length in LENGTHS:
        source = torch.tensor(RNG.integers(0, 9, length)).to(dtype)
        other = torch.tensor(RNG.integers(0, 9, length)).to(dtype)
        x, y = source.to(webgpu), other.to(webgpu)
        op = torch.logical_xor if dtype is torch.bool else torch.add
        assert op(x, y).cpu().tolist() == op(source, other).tolist()
        assert (x == y).cpu().tolist() == (source == other).tolist()
        assert x.float().cpu().tolist() == source.float().tolist()
        want = torch.where(source != 0, other, source)
        assert torch.where(x != 0, y, x).cpu().tolist() == want.tolist()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=lambda d: d.name)
def test_chains_round_at_every_step(webgpu, dtype):
    source = torch.tensor(RNG.standard_normal(999).astype(np.float32)).to(dtype)
    x = source.to(webgpu)
    held = x * 3  # stored beside what follows from it
    rest = ((held + 0.1) * x).relu()
    want = source * 3
    assert rest.cpu().tolist() == ((want + 0.1) * source).relu().tolist()
    assert held.cpu().tolist() == want.tolist()


def test_halves_beyond_their_range_and_below_it(webgpu):
    numbers = [65504, 65519, 65520, 1e9, -1e9, 6e-8, 2.9e-8, 3e-8, -1e-8, 5.97e-5, float("nan")]
    source = torch.tensor(numbers)
    got, want = source.to(webgpu).half().cpu().numpy(), source.half().numpy()
    np.testing.assert_array_equal(got.view(np.uint16)[:-1], want.view(np.uint16)[:-1])
    assert np.isnan(got[-1])
