"""Spectrograms: a signal's Fourier transforms in a window that slides over it, and back."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from wgtorch.config import outside
from wgtorch.op import composite
from wgtorch.ops.arguments import required
from wgtorch.ops.fourier import ifft, irfft
from wgtorch.ops.requirements import require
from wgtorch.ops.samples import normal
from wgtorch.ops.slants import overlapped

NO_WINDOW = (
    "A window was not provided. A rectangular window will be applied,which is known to cause"
    " spectral leakage. Other windows such as torch.hann_window or torch.hamming_window are"
    " recommended to reduce spectral leakage.To suppress this warning and use a rectangular window,"
    " explicitly set `window=torch.ones(n_fft, device=<device>)`."
)
ONE_SIDED = "Cannot have onesided output if window or input is complex"
LEAST = 1e-11  # of what the windows add up to
MISSING = (
    "stft requires the return_complex parameter be given for real inputs, and will further require"
    " that return_complex=True in a future PyTorch release."
)


def called(op: str, input: Any, window: Any, **given: Any) -> str:
    """The call, as PyTorch's complaints begin."""

    def said(value: Any) -> Any:
        return int(value) if isinstance(value, bool) else value

    first = f"{kind_of(input)}{list(input.shape)}"
    seen = "None" if window is None else f"{kind_of(window)}{{{list(window.shape)}}}"
    facts = {name: said(value) for name, value in given.items()}
    listed = [f"{n}={v}" for n, v in facts.items()]
    return f"{op}({', '.join([first, *listed[:3], f'window={seen}', *listed[3:]])}) "


def kind_of(t: Any) -> str:
    short = t.dtype.short
    return f"CPU{short}Type" if t.dtype.is_complex else f"torch.{short}Tensor"


def padded_window(input: Any, window: Any, win_length: int, n_fft: int) -> Any:
    """A window of n_fft numbers, zero beside the one that was given."""
    kind = input.dtype.to_real()
    window = input.new_full((win_length,), 1, dtype=kind) if window is None else window
    left = (n_fft - win_length) // 2
    if win_length == n_fft:
        return window
    return window.constant_pad_nd((left, n_fft - win_length - left))


# Margins


def margins(input: Any, size: int, mode: str) -> Any:
    """`size` more numbers on both sides of rows."""
    if mode == "constant":
        return input.constant_pad_nd((size, size))
    have = input.shape[-1]
    if mode == "reflect":
        if size >= have:
            shape = [1] * (3 - input.ndim) + list(input.shape)
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension,"
                f" but got: padding ({size}, {size}) at dimension 2 of input {shape}"
            )
        left = input.narrow(-1, 1, size).flip((-1,))
        right = input.narrow(-1, have - 1 - size, size).flip((-1,))
    elif mode == "replicate":
        ends = (*input.shape[:-1], size)
        left, right = (
            input.narrow(-1, 0, 1).expand(ends),
            input.narrow(-1, have - 1, 1).expand(ends),
        )
    elif mode == "circular":
        left, right = input.narrow(-1, have - size, size), input.narrow(-1, 0, size)
    else:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    return input._cat([left, input, right], input.ndim - 1)


# There


def hann(size: int) -> np.ndarray:
    return np.hanning(size + 1)[:-1].astype(np.float32)


@composite(
    samples=lambda rng: [
        ((normal(rng, 2, 40), 8, 3, 6, hann(6)), {"return_complex": True}),
        ((normal(rng, 40), 8, None, None, hann(8)),
         {"center": False, "normalized": True, "onesided": False, "return_complex": True}),
        ((normal(rng, 40), 9, 4, 9, hann(9)), {"pad_mode": "constant", "return_complex": False}),
    ]
)  # fmt: skip
def stft(input, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
         window=None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
         onesided: bool | None = None, return_complex: bool | None = None,
         align_to_window: bool | None = None):  # fmt: skip
    """The short-time Fourier transform of signals (length) or (batch, length):
    (batch, frequency, frame), of a window of `n_fft` numbers every `hop_length` (n_fft // 4)."""
    required("stft", input=input)
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if input.ndim in (1, 2) and center:
        input = margins(input, n_fft // 2, pad_mode)
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    of_complex = input.dtype.is_complex or (window is not None and window.dtype.is_complex)
    if window is None:
        warnings.warn(NO_WINDOW, UserWarning, stacklevel=outside())
    if return_complex is None:
        if not of_complex:
            raise RuntimeError(MISSING)
        return_complex = True
    said = called("stft", input, window, n_fft=n_fft, hop_length=hop, win_length=size,
                  normalized=normalized, onesided=onesided, return_complex=return_complex,
                  align_to_window=align_to_window)  # fmt: skip
    check_there(said, input, window, n_fft, hop, size)
    if onesided and of_complex:
        raise RuntimeError(ONE_SIDED)
    rows = input if input.ndim == 2 else input.unsqueeze(0)
    if not center and align_to_window:
        rows = rows.constant_pad_nd(((n_fft - size) // 2,) * 2)
    frames = rows.unfold(-1, n_fft, hop) * padded_window(input, window, size, n_fft)
    out = transformed(frames, n_fft, normalized, not of_complex if onesided is None else onesided)
    out = out.transpose(1, 2)
    out = out if input.ndim == 2 else out.squeeze(0)
    return out if return_complex else out.view_as_real()


def check_there(said: str, input: Any, window: Any, n_fft: int, hop: int, size: int) -> None:
    length = input.shape[-1] if input.ndim else 0
    wrong = ""
    if input.dtype.category < 2:
        wrong = "expected a tensor of floating point or complex values"
    elif input.ndim not in (1, 2):
        wrong = "expected a 1D or 2D tensor"
    elif not 0 < n_fft <= length:
        wrong = f"expected 0 < n_fft < {length}, but got n_fft={n_fft}"
    elif hop <= 0:
        wrong = f"expected hop_length > 0, but got hop_length={hop}"
    elif not 0 < size <= n_fft:
        wrong = f"expected 0 < win_length <= n_fft, but got win_length={size}"
    elif window is not None and tuple(window.shape) != (size,):
        wrong = (
            f"expected a 1D window tensor of size equal to win_length={size}, but got window with"
            f" size {list(window.shape)}"
        )
    if wrong:
        raise RuntimeError(f"{said}: {wrong}")


def transformed(frames: Any, n_fft: int, normalized: bool, onesided: bool) -> Any:
    scale = n_fft**-0.5 if normalized else 1.0
    out = frames._fourier(frames.ndim - 1, False, scale)
    return out.narrow(-1, 0, n_fft // 2 + 1) if onesided else out


# And back


def spectra(rng, *shape):
    return (normal(rng, *shape) + 1j * normal(rng, *shape)).astype(np.complex64)


@composite(
    samples=lambda rng: [
        ((spectra(rng, 2, 5, 6), 8, 3, 6, hann(6) + np.float32(0.1)), {}),
        ((spectra(rng, 8, 6), 8, 2, 8, hann(8)),
         {"onesided": False, "return_complex": True, "normalized": True, "length": 9}),
    ]
)  # fmt: skip
def istft(input, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
          window=None, center: bool = True, normalized: bool = False,
          onesided: bool | None = None, length: int | None = None,
          return_complex: bool = False):  # fmt: skip
    "The inverse of `stft`, as near as least squares come to it."
    required("istft", input=input)
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    said = called("istft", input, window, n_fft=n_fft, hop_length=hop, win_length=size,
                  center=center, normalized=normalized, onesided=onesided, length=length,
                  return_complex=return_complex)  # fmt: skip
    onesided = check_back(said, input, window, n_fft, hop, size, onesided)
    if return_complex and onesided:
        raise RuntimeError(ONE_SIDED)
    if not return_complex and window is not None and window.dtype.is_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    rows = (input if input.ndim == 3 else input.unsqueeze(0)).transpose(1, 2)
    shape = padded_window(input, window, size, n_fft)
    norm = "ortho" if normalized else "backward"
    frames = (
        ifft.function(rows, norm=norm)
        if return_complex
        else irfft.function(rows.narrow(-1, 0, n_fft // 2 + 1), n_fft, norm=norm)
    )
    signal = overlapped(frames * shape, hop)
    weight = overlapped(shape.square().expand((frames.shape[1], n_fft)), hop)
    signal = trimmed(said, signal, weight, n_fft, center, length)
    return signal if input.ndim == 3 else signal.squeeze(0)


def trimmed(said: str, signal: Any, weight: Any, n_fft: int, center: bool, length: Any) -> Any:
    """The part that was asked for, each number by what windows it was seen through."""
    start, end = n_fft // 2 if center else 0, signal.shape[-1]
    if length is not None:
        end = min(end, start + length)
    elif center:
        end -= n_fft // 2
    signal, weight = (t.narrow(-1, start, max(0, end - start)) for t in (signal, weight))
    require(weight.detach().abs() > LEAST, f"{said}window overlap add min: 1")
    signal = signal / weight
    short = 0 if length is None else length - signal.shape[-1]
    if short > 0:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with"
            " zeros in the tail. Please check your center and hop_length settings.",
            UserWarning,
            stacklevel=outside(),
        )
    return signal.constant_pad_nd((0, short)) if short > 0 else signal


def check_back(said: str, input: Any, window: Any, n_fft: int, hop: int, size: int,
               onesided: bool | None) -> bool:  # fmt: skip
    """Whether the input has half of a spectrum; raises what is wrong."""
    if not input.dtype.is_complex:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with"
            " return_complex=True."
        )
    wrong = "" if input.numel() else "input tensor cannot be empty."
    if not wrong and input.ndim not in (2, 3):
        wrong = f"expected a tensor with 2 or 3 dimensions, but got {input.ndim}"
    if wrong:
        raise RuntimeError(f"{said}: {wrong}")
    have = input.shape[-2]
    onesided = have != n_fft if onesided is None else onesided
    if have != (n_fft // 2 + 1 if onesided else n_fft):
        words = "n_fft / 2 + 1 when onesided=True" if onesided else "n_fft when onesided=False"
        wrong = (
            "expected the frequency dimension (3rd to the last) of the input tensor to match"
            f" {words}, but got {have}"
        )
    elif not 0 < hop <= size:
        wrong = "expected 0 < hop_length <= win_length"
    elif not 0 < size <= n_fft:
        wrong = "expected 0 < win_length <= n_fft"
    elif window is not None and tuple(window.shape) != (size,):
        wrong = "Invalid window shape. window has to be 1D and length of `win_length`"
    if wrong:
        raise RuntimeError(f"{said}: {wrong}")
    return onesided
