"""Fourier transforms, by the array API standard: its extension fft."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wgtorch
from wgtorch import Tensor

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn")

__all__ = [*ONE, *SEVERAL, "fftfreq", "rfftfreq", "fftshift", "ifftshift"]


def along_one(op: Callable) -> Callable[..., Tensor]:
    def call(x: Tensor, /, *, n: int | None = None, axis: int = -1,
             norm: str = "backward") -> Tensor:  # fmt: skip
        return op(x, n, axis, norm)

    return named(call, op)


def along_several(op: Callable) -> Callable[..., Tensor]:
    def call(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
        return op(x, s, axes, norm)

    return named(call, op)


def named(call: Callable, op: Callable) -> Callable[..., Tensor]:
    call.__name__ = call.__qualname__ = op.__name__.split("_")[-1]
    call.__doc__ = op.__doc__
    return call


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of a transform of n samples, d apart."""
    return wgtorch.fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of a transform of n real samples, d apart."""
    return wgtorch.fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """With frequency zero in the middle."""
    return wgtorch.fft.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """With frequency zero first again."""
    return wgtorch.fft.ifftshift(x, axes)


globals().update({name: along_one(getattr(wgtorch.fft, name)) for name in ONE})
globals().update({name: along_several(getattr(wgtorch.fft, name)) for name in SEVERAL})
