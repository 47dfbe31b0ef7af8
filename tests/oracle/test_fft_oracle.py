"""torch.fft, stft, istft and windows against torch 2.13: numbers, dtypes, gradients, refusals."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import wgtorch  # noqa: E402

NORMS = [None, "ortho", "forward", "backward"]
ONE = {"fft": True, "ifft": True, "rfft": False, "irfft": True, "hfft": True, "ihfft": False}
MANY = {"fftn": True, "ifftn": True, "rfftn": False, "irfftn": True, "hfftn": True,
        "ihfftn": False}  # fmt: skip
PLANES = {"fft2": True, "ifft2": True, "rfft2": False, "irfft2": True, "hfft2": True,
          "ihfft2": False}  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def numbers(shape, is_complex, seed=0):
    rng = np.random.default_rng(seed)
    real = rng.standard_normal(shape).astype(np.float32)
    if not is_complex:
        return real
    return (real + 1j * rng.standard_normal(shape)).astype(np.complex64)


def plain(x):
    if isinstance(x, wgtorch.Tensor):
        return x.detach().cpu().numpy()
    return x.detach().resolve_conj().numpy()


def near(got, want, tolerance=2e-5):
    got, want = plain(got), plain(want)
    assert got.shape == want.shape and got.dtype == want.dtype
    scale = max(1.0, np.abs(want).max(initial=0))
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale)


def same(call, array, device, *more, gradient=True):
    """`call(library, tensor, *others)` of both libraries."""
    theirs = torch.tensor(array, requires_grad=True)
    ours = wgtorch.tensor(array, device=device, requires_grad=True)
    there = [None if m is None else torch.tensor(m) for m in more]
    here = [None if m is None else wgtorch.tensor(m, device=device) for m in more]
    try:
        want = call(torch, theirs, *there)
    except (RuntimeError, IndexError) as refused:
        with pytest.raises(type(refused)) as told:
            plain(call(wgtorch, ours, *here))
        said = str(refused).split("\n")[0].replace(" [ CPUBoolType{} ]", "")
        assert str(told.value).split("\n")[0].strip() == said.strip()
        return
    got = call(wgtorch, ours, *here)
    near(got, want)
    if gradient and want.numel():
        weight = numbers(tuple(want.shape), want.is_complex(), 1)
        (slope,) = torch.autograd.grad(want, theirs, torch.tensor(weight))
        (ours_,) = wgtorch.autograd.grad(got, ours, wgtorch.tensor(weight, device=device))
        near(ours_, slope, 1e-4)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE)
def test_one_dimension(name, norm, device):
    for n, dim in ((None, -1), (5, 0), (9, 1), (4, -1), (1, 1)):
        same(lambda t, x: getattr(t.fft, name)(x, n, dim, norm), numbers((6, 7), ONE[name]), device)  # noqa: B023


@pytest.mark.parametrize("name", MANY)
def test_several_dimensions(name, device):
    array = numbers((4, 3, 5), MANY[name])
    for given in ({}, {"norm": "ortho"}, {"s": (3, 6)}, {"s": (-1, 3), "norm": "forward"},
                  {"s": (3, 6), "dim": (0, 2)}, {"dim": (1,)}, {"dim": (2, 1)}):  # fmt: skip
        same(lambda t, x: getattr(t.fft, name)(x, **given), array, device)  # noqa: B023


@pytest.mark.parametrize("name", PLANES)
def test_planes(name, device):
    same(lambda t, x: getattr(t.fft, name)(x), numbers((2, 4, 5), PLANES[name]), device)


@pytest.mark.parametrize("name", ONE)
def test_refusals(name, device):
    for given in ({"n": 0}, {"dim": 5}, {"norm": "x"}, {"n": -1}):
        same(lambda t, x: getattr(t.fft, name)(x, **given), numbers((3, 4), ONE[name]), device)  # noqa: B023
    same(lambda t, x: getattr(t.fft, name)(x), numbers((), ONE[name]), device)
    if not ONE[name]:
        same(lambda t, x: getattr(t.fft, name)(x), numbers((3,), True), device)


def test_refusals_of_several(device):
    array = numbers((3, 4), True)
    for given in ({"dim": (0, 0)}, {"s": (1, 2, 3)}, {"s": (1,), "dim": (0, 1)}, {"dim": ()}):
        same(lambda t, x: t.fft.fftn(x, **given), array, device)  # noqa: B023
    same(lambda t, x: t.fft.rfftn(x), array, device)
    same(lambda t, x: t.fft.fft2(x), numbers((3,), True), device)


def test_shifts_and_frequencies(device):
    for given in ({}, {"dim": 1}, {"dim": (0, -1)}):
        same(lambda t, x: t.fft.fftshift(x, **given), numbers((4, 5, 3), False), device)  # noqa: B023
        same(lambda t, x: t.fft.ifftshift(x, **given), numbers((4, 5, 3), True), device)  # noqa: B023
    for n in (1, 5, 6):
        near(wgtorch.fft.fftfreq(n, 0.5, device=device), torch.fft.fftfreq(n, 0.5))
        near(wgtorch.fft.rfftfreq(n, 2.0, device=device), torch.fft.rfftfreq(n, 2.0))


def test_the_module_is_called(device):
    x = wgtorch.ones(4, device=device)
    assert wgtorch.fft(x).tolist() == [4, 0, 0, 0]
    assert wgtorch.ifft(wgtorch.fft(x)).tolist() == [1, 1, 1, 1]


LENGTHS = [1, 2, 3, 7, 8, 13, 17, 31, 60, 97, 128, 210, 1000, 1009, 4096, 6000, 1 << 16]


@pytest.mark.parametrize("n", LENGTHS)
def test_any_length_is_accurate(n, device):
    """1e-6 of the largest against float64; past 13 prime factors go by a chirp."""
    array = numbers((2, n), True)
    want = np.fft.fft(array.astype(np.complex128))
    got = plain(wgtorch.fft.fft(wgtorch.tensor(array, device=device)))
    assert np.abs(got - want).max() <= 1e-6 * np.abs(want).max()
    back = plain(wgtorch.fft.ifft(wgtorch.fft.fft(wgtorch.tensor(array, device=device))))
    assert np.abs(back - array).max() <= 2e-6 * np.abs(array).max()


def test_every_layout(device):
    array = numbers((4, 6, 5), True)
    ours = wgtorch.tensor(array, device=device).permute(2, 0, 1)[1:]
    theirs = torch.tensor(array).permute(2, 0, 1)[1:]
    for dim in range(3):
        near(wgtorch.fft.fft(ours, dim=dim), torch.fft.fft(theirs, dim=dim))


# Spectrograms

WINDOW = torch.hann_window(16).numpy()


SIGNALS = {
    "row": numbers(100, False), "batch": numbers((2, 100), False), "complex": numbers(100, True),
}  # fmt: skip


@pytest.mark.parametrize("array", SIGNALS.values(), ids=SIGNALS.keys())
def test_stft(array, device):
    for given in ({}, {"hop_length": 3}, {"center": False}, {"normalized": True},
                  {"center": False, "align_to_window": True}, {"onesided": False},
                  {"pad_mode": "constant"}, {"pad_mode": "replicate"}, {"pad_mode": "circular"},
                  {"hop_length": 0}, {"win_length": 20}, {"win_length": 10}, {"onesided": True},
                  {"align_to_window": True}, {"return_complex": False}):  # fmt: skip
        given = {"return_complex": True} | given
        same(lambda t, x, w: t.stft(x, 16, window=w, **given), array, device, WINDOW)  # noqa: B023
    same(lambda t, x, w: t.stft(x, 16, win_length=11, window=w, return_complex=True), array, device,
         WINDOW[:11])  # fmt: skip
    same(lambda t, x, w: t.stft(x, 16, window=w), array, device, WINDOW)
    for n_fft, center in ((0, True), (400, True), (400, False)):
        same(lambda t, x: t.stft(x, n_fft, center=center, return_complex=True), array, device)  # noqa: B023


@pytest.mark.parametrize("shape", [(9, 26), (2, 9, 26), (16, 26)])
def test_istft(shape, device):
    array = numbers(shape, True)
    for given in ({}, {"hop_length": 3}, {"normalized": True}, {"length": 90}, {"length": 130},
                  {"length": 50}, {"onesided": False}, {"onesided": True}, {"return_complex": True},
                  {"hop_length": 17}, {"hop_length": 0}, {"win_length": 20}, {"win_length": 10},
                  {"center": False}):  # fmt: skip
        same(lambda t, x, w: t.istft(x, 16, window=w, **given), array, device, WINDOW)  # noqa: B023
    same(lambda t, x: t.istft(x, 16, center=False), array, device)


def test_there_and_back(device):
    signal = wgtorch.tensor(numbers(400, False), device=device)
    window = wgtorch.hann_window(64, device=device)
    spectrogram = signal.stft(64, window=window, return_complex=True)
    near(spectrogram.istft(64, window=window, length=400), torch.tensor(numbers(400, False)))


# Windows


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hann", "kaiser"])
def test_windows(name, device):
    for n in (0, 1, 2, 3, 8, 33):
        for periodic in (True, False):
            want = getattr(torch, f"{name}_window")(n, periodic)
            got = getattr(wgtorch, f"{name}_window")(n, periodic, device=device)
            np.testing.assert_allclose(plain(got), plain(want), atol=1e-6)
    half = getattr(wgtorch, f"{name}_window")(5, dtype=wgtorch.float64)
    assert half.dtype is wgtorch.float64


@pytest.mark.parametrize("name", torch.signal.windows.__all__)
def test_signal_windows(name):
    given = {"a": [0.3, 0.5, 0.2]} if name == "general_cosine" else {}
    for n in (0, 1, 2, 3, 8, 33):
        for sym in (True, False):
            want = getattr(torch.signal.windows, name)(n, sym=sym, **given)
            got = getattr(wgtorch.signal.windows, name)(n, sym=sym, **given)
            np.testing.assert_allclose(plain(got), plain(want), atol=1e-6)


@pytest.mark.parametrize("call", [
    lambda t: t.hann_window(-1), lambda t: t.hann_window(3, dtype=t.int64),
    lambda t: t.kaiser_window(3, dtype=t.complex64), lambda t: t.hann_window(2.5),
    lambda t: t.signal.windows.hann(-1), lambda t: t.signal.windows.hann(4, dtype=t.float16),
    lambda t: t.signal.windows.gaussian(4, std=-1), lambda t: t.signal.windows.kaiser(4, beta=-1),
    lambda t: t.signal.windows.exponential(4, tau=0),
    lambda t: t.signal.windows.exponential(4, center=1.0),
    lambda t: t.signal.windows.general_cosine(4, a=[]),
])  # fmt: skip
def test_refused_windows(call):
    with pytest.raises(Exception) as refused:
        call(torch)
    with pytest.raises(refused.type) as told:
        call(wgtorch)
    assert str(told.value) == str(refused.value)
