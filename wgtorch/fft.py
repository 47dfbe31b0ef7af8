"""torch.fft: a module of Fourier transforms, which may itself be called as `fft.fft`."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from wgtorch.dispatch.doors import PUBLIC
from wgtorch.dispatch.write import into
from wgtorch.integers import integer
from wgtorch.ranges import arange

NAMES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2",
         "hfft2", "ihfft2", "fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn", "fftshift",
         "ifftshift")  # fmt: skip
globals().update({name: PUBLIC[name] for name in NAMES})
__all__ = [*NAMES, "fftfreq", "rfftfreq"]


def fftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, device: Any = None,
            requires_grad: bool = False) -> Any:  # fmt: skip
    """The frequencies of `fft` of n samples that are `d` apart: 0 and up, then the negative."""
    n = integer("fft_fftfreq", "n", n, 1)
    steps = arange(n, dtype=dtype, device=device) if dtype else arange(float(n), device=device)
    steps = steps - n * (steps >= (n + 1) // 2)
    return finished(steps / (n * d) if n else steps, out, requires_grad)


def rfftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, device: Any = None,
             requires_grad: bool = False) -> Any:  # fmt: skip
    """The frequencies of `rfft` of n samples that are `d` apart."""
    n = integer("fft_rfftfreq", "n", n, 1)
    size = n // 2 + 1
    steps = (
        arange(size, dtype=dtype, device=device) if dtype else arange(float(size), device=device)
    )
    return finished(steps / (n * d), out, requires_grad)


def finished(values: Any, out: Any, requires_grad: bool) -> Any:
    if out is not None:
        return into(out, values, "fftfreq", False)
    return values.requires_grad_() if requires_grad else values


class Callable_(ModuleType):
    """`torch.fft(x)` is `torch.fft.fft(x)`."""

    def __call__(self, *args: Any, **given: Any) -> Any:
        return PUBLIC["fft"](*args, **given)


sys.modules[__name__].__class__ = Callable_
