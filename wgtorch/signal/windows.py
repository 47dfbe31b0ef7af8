"""Windows of signal processing: symmetric, or with `sym=False` all but the last of a longer one.

They are SciPy's and PyTorch's `torch.signal.windows`. M is the length; dtypes are float32 and
float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wgtorch.constants import check_strided
from wgtorch.create import made, place
from wgtorch.dtype import DType, float32, float64, get_default_dtype
from wgtorch.windows import cosines, sampled, triangle
from wgtorch.windows import kaiser as kaiser_shape

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
           "general_hamming", "hamming", "hann", "kaiser", "nuttall"]  # fmt: skip


def window(name: str, M: int, sym: bool, shape: Callable, dtype: DType | None = None,
           layout: Any = None, device: Any = None, requires_grad: bool = False) -> Any:  # fmt: skip
    """`shape` at M places from 0 to 1."""
    check_strided(name, layout)
    return finished(name, M, lambda: sampled(M, not sym, shape), dtype, device, requires_grad)


def finished(name: str, M: int, numbers: Callable, dtype: DType | None = None, device: Any = None,
             requires_grad: bool = False) -> Any:  # fmt: skip
    dtype = dtype or get_default_dtype()
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if dtype not in (float32, float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return made(numbers(), dtype, place(device), requires_grad)


def bartlett(M: int, *, sym: bool = True, **facts: Any) -> Any:
    """A triangle."""
    return window("bartlett", M, sym, triangle, **facts)


def general_cosine(M: int, *, a: Iterable, sym: bool = True, **facts: Any) -> Any:
    """A sum of cosines of 0, 1, 2 ... turns, with weights `a` of alternating signs."""
    if not isinstance(a, list | tuple):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return window("general_cosine", M, sym, cosines(*a), **facts)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **facts: Any) -> Any:
    """alpha - (1 - alpha) cos(2 pi n / (M - 1))."""
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, **facts)


def blackman(M: int, *, sym: bool = True, **facts: Any) -> Any:
    """`general_cosine` of 0.42, 0.5 and 0.08."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **facts)


def hamming(M: int, *, sym: bool = True, **facts: Any) -> Any:
    """`general_hamming` of 0.54."""
    return general_hamming(M, sym=sym, **facts)


def hann(M: int, *, sym: bool = True, **facts: Any) -> Any:
    """`general_hamming` of 0.5."""
    return general_hamming(M, alpha=0.5, sym=sym, **facts)


def nuttall(M: int, *, sym: bool = True, **facts: Any) -> Any:
    """The four cosines of least side lobes."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **facts)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **facts: Any) -> Any:
    """I0(beta sqrt(1 - (2 n / (M - 1) - 1) ** 2)) / I0(beta)."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return window("kaiser", M, sym, kaiser_shape(beta), **facts)


def cosine(M: int, *, sym: bool = True, **facts: Any) -> Any:
    """Half a period of a sine."""
    return along("cosine", M, sym, lambda n, size: np.sin(np.pi * (n + 0.5) / size), **facts)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **facts: Any) -> Any:
    """exp(-(n / std) ** 2 / 2) about the middle."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")

    def bell(n: np.ndarray, size: int) -> np.ndarray:
        return np.exp(-(((n - (size - 1) / 2) / std) ** 2) / 2)

    return along("gaussian", M, sym, bell, **facts)


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True,
                **facts: Any) -> Any:  # fmt: skip
    """exp(-|n - center| / tau)."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def peak(n: np.ndarray, size: int) -> np.ndarray:
        middle = (size - 1) / 2 if center is None else center
        return np.exp(-np.abs(n - middle) / tau)

    return along("exponential", M, sym, peak, **facts)


def along(name: str, M: int, sym: bool, shape: Callable, dtype: DType | None = None,
          layout: Any = None, device: Any = None, requires_grad: bool = False) -> Any:  # fmt: skip
    """`shape` of the numbers 0 ... M - 1, and of how many there would be if it were symmetric."""
    check_strided(name, layout)
    size = M if sym or M < 2 else M + 1
    return finished(name, M, lambda: shape(np.arange(M), size), dtype, device, requires_grad)
