"""Fourier transforms of many lengths, in one pass of a workgroup and in several."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.ops.whole_transforms import lot, radices


@pytest.mark.parametrize("size", [6, 16, 17, 60, 143, 512, 1000, 1024, 2048, 4096])
def test_every_length(size, either_share):
    rng = np.random.default_rng(size)
    real = rng.standard_normal((2, size, 5)).astype(np.float32)
    whole = (real + 1j * rng.standard_normal(real.shape)).astype(np.complex64)
    for array, call, want in (
        (real, lambda x: torch.fft.fft(x, dim=1), np.fft.fft(real.astype(np.float64), axis=1)),
        (whole, lambda x: torch.fft.ifft(x, dim=1), np.fft.ifft(whole.astype(complex), axis=1)),
        (whole.T, lambda x: torch.fft.fft(x, dim=1), np.fft.fft(whole.T.astype(complex), axis=1)),
    ):
        got = call(torch.tensor(array, device=either_share)).cpu().numpy()
        assert np.abs(got - want).max() < 5e-7 * np.abs(want).max()
    rows = torch.tensor(whole, device=either_share).transpose(1, 2)  # in the last dimension, apart
    want = np.fft.fft(whole.astype(complex), axis=1)
    got = torch.fft.fft(rows).cpu().numpy().transpose(0, 2, 1)
    assert np.abs(got - want).max() < 5e-7 * np.abs(want).max()


def test_what_fits_is_done_at_once(traits):
    strong = replace(traits, is_software=False, workgroup_bytes=49152)
    weak = replace(strong, workgroup_bytes=16384)
    assert radices(4096) == (16, 16, 16) and radices(17) == ()
    assert lot(4096, 1, strong).threads == 256
    assert lot(4096, 1, weak) is None and lot(2048, 1, weak).rows == 1
    assert lot(1024, 7, strong).rows == 4 and lot(4096, 7, strong) is None  # too far apart
    assert lot(64, 1, replace(weak, is_software=True)) is None
