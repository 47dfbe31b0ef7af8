"""Fourier transforms as PyTorch has them, `torch.fft`: all are made of the one in transform.py."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any

import numpy as np

from wgtorch.dtype import bfloat16, float16, get_default_dtype
from wgtorch.layout import wrap_real_dim
from wgtorch.op import composite
from wgtorch.ops.arguments import required
from wgtorch.ops.samples import normal

NORMS = ("backward", "ortho", "forward")


# What is given


def complexes(rng, *shape):
    return (normal(rng, *shape) + 1j * normal(rng, *shape)).astype(np.complex64)


def scale_of(norm: str | None, inverse: bool, size: int) -> float:
    """What a transform of `size` numbers is multiplied by."""
    norm = norm or "backward"
    if norm not in NORMS:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    if norm == "ortho":
        return 1 / sqrt(max(size, 1))
    return 1 / max(size, 1) if (norm == "forward") is not inverse else 1.0


def as_number(input: Any) -> Any:
    """Of a dtype that transforms compute in."""
    if input.dtype in (float16, bfloat16):
        raise RuntimeError(f"Unsupported dtype {input.dtype.short}")
    return input.to(get_default_dtype()) if input.dtype.category < 2 else input


def as_complex(input: Any) -> Any:
    input = as_number(input)
    return input.to(input.dtype.to_complex())


def as_real(input: Any, name: str, wants: str = "expects a real input tensor") -> Any:
    if input.dtype.is_complex:
        raise RuntimeError(f"{name} {wants}, but got {input.dtype.short}")
    return as_number(input)


def axis(input: Any, dim: int) -> int:
    return wrap_real_dim(dim, input.ndim)


def resized(input: Any, dim: int, size: int) -> Any:
    """Cut, or filled up with zeros, to `size` along `dim`."""
    if size < 1:
        raise RuntimeError(f"Invalid number of data points ({size}) specified")
    more = size - input.shape[dim]
    if more < 0:
        return input.narrow(dim, 0, size)
    pad = (0, 0) * (input.ndim - 1 - dim) + (0, more)
    return input.constant_pad_nd(pad) if more else input


def axes(input: Any, s: Any, dim: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(dims, size of each) of a transform of several dimensions."""
    s = (s,) if isinstance(s, int) else s
    dim = (dim,) if isinstance(dim, int) else dim
    rank = input.ndim
    if dim is None:
        if s is not None and len(s) > rank:
            raise RuntimeError(
                f"Got shape with {len(s)} values but input tensor only has {rank} dimensions."
            )
        dims = tuple(range(rank - len(s), rank)) if s is not None else tuple(range(rank))
    else:
        dims = tuple(axis(input, d) for d in dim)
        if len(set(dims)) < len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    sizes = tuple(input.shape[d] for d in dims)
    if s is not None:
        sizes = tuple(have if n == -1 else n for have, n in zip(sizes, s, strict=True))
    return dims, sizes


# The transforms, with dims and sizes settled


def spectrum(input: Any, dims: tuple, sizes: tuple, norm: Any, inverse: bool) -> Any:
    """Complex numbers to complex numbers."""
    scale, out = (
        scale_of(norm, inverse, prod(sizes)),
        as_number(input) if dims else as_complex(input),
    )
    for d, size in zip(dims, sizes, strict=True):
        out = resized(out, d, size)
    for d in dims:
        out, scale = out._fourier(d, inverse, scale), 1.0
    return out


def half_spectrum(input: Any, dims: tuple, sizes: tuple, norm: Any, inverse: bool) -> Any:
    """Real numbers to the half of their spectrum that says all, along the last of `dims`."""
    out = spectrum(input, dims, sizes, norm, inverse)
    return out.narrow(dims[-1], 0, sizes[-1] // 2 + 1)


def from_half(input: Any, dims: tuple, sizes: tuple, norm: Any, inverse: bool) -> Any:
    """The real numbers whose half spectrum this is."""
    last, size = dims[-1], sizes[-1]
    out, scale = as_complex(input), scale_of(norm, inverse, prod(sizes))
    if size < 1:
        raise RuntimeError(f"Invalid number of data points ({size}) specified")
    for d, n in zip(dims[:-1], sizes[:-1], strict=True):
        out = resized(out, d, n)
    out = resized(out, last, size // 2 + 1)
    for d in dims[:-1]:
        out = out._fourier(d, inverse, 1.0)
    mirrored = out.narrow(last, 1, (size - 1) // 2).flip((last,)).conj()
    whole = out._cat([out, mirrored], last)
    return whole._fourier(last, inverse, scale).real


def half_sizes(input: Any, s: Any, dim: Any, name: str) -> tuple[tuple, tuple]:
    """As `axes`, where the last of dims has a half spectrum, of the length that it is made from."""
    dims, sizes = axes(input, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    s = (s,) if isinstance(s, int) else s
    if s is None or s[-1] == -1:
        sizes = (*sizes[:-1], 2 * (sizes[-1] - 1))
    return dims, sizes


# Of one dimension


def one(input: Any, n: int | None, dim: int) -> tuple[tuple, tuple]:
    d = axis(input, dim)
    return (d,), (input.shape[d] if n is None else n,)


def one_half(input: Any, n: int | None, dim: int) -> tuple[tuple, tuple]:
    d = axis(input, dim)
    return (d,), (2 * (input.shape[d] - 1) if n is None else n,)


def lines(values: Any):
    return lambda rng: [
        ((values(rng, 3, 8),), {}),
        ((values(rng, 6, 3),), {"n": 5, "dim": 0, "norm": "ortho"}),
        ((values(rng, 2, 5),), {"n": 9, "norm": "forward"}),
    ]


def transform(name: str, values: Any = complexes, samples: Any = lines) -> Any:
    return composite(samples=samples(values), method=False, torch=f"fft.{name}")


@transform("fft")
def fft(input, n: int | None = None, dim: int = -1, norm: str | None = None):
    "The discrete Fourier transform along `dim`, cut or filled with zeros to length n."
    required("fft_fft", input=input)
    return spectrum(input, *one(input, n, dim), norm, False)


@transform("ifft")
def ifft(input, n: int | None = None, dim: int = -1, norm: str | None = None):
    "The inverse of `fft`."
    required("fft_ifft", input=input)
    return spectrum(input, *one(input, n, dim), norm, True)


@transform("rfft", normal)
def rfft(input, n: int | None = None, dim: int = -1, norm: str | None = None):
    "`fft` of real numbers: the first n // 2 + 1 results, of which the others are conjugates."
    required("fft_rfft", input=input)
    return half_spectrum(as_real(input, "rfft"), *one(input, n, dim), norm, False)


@transform("irfft")
def irfft(input, n: int | None = None, dim: int = -1, norm: str | None = None):
    "The inverse of `rfft`; n, the length of the result, is 2 (m - 1) unless given."
    required("fft_irfft", input=input)
    return from_half(input, *one_half(input, n, dim), norm, True)


@transform("hfft")
def hfft(input, n: int | None = None, dim: int = -1, norm: str | None = None):
    "`fft` of one half of a signal whose other half is its conjugate: real numbers."
    required("fft_hfft", input=input)
    return from_half(input.conj(), *one_half(input, n, dim), *swapped(norm))


@transform("ihfft", normal)
def ihfft(input, n: int | None = None, dim: int = -1, norm: str | None = None):
    "The inverse of `hfft`."
    required("fft_ihfft", input=input)
    return half_spectrum(as_real(input, "ihfft"), *one(input, n, dim), norm, True)


def swapped(norm: str | None) -> tuple[str, bool]:
    """For a forward transform that is done as an inverse one."""
    norm = norm or "backward"
    if norm not in NORMS:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return {"backward": "forward", "forward": "backward"}.get(norm, norm), True


# Of several dimensions


def planes(values: Any):
    return lambda rng: [
        ((values(rng, 2, 4, 5),), {}),
        ((values(rng, 4, 3, 5),), {"s": (3, 6), "dim": (0, -1), "norm": "ortho"}),
    ]


@transform("fftn", samples=planes)
def fftn(input, s=None, dim=None, norm: str | None = None):
    "`fft` along several dims, all by default; `s` has the lengths."
    return spectrum(input, *axes(input, s, dim), norm, False)


@transform("ifftn", samples=planes)
def ifftn(input, s=None, dim=None, norm: str | None = None):
    "The inverse of `fftn`."
    return spectrum(input, *axes(input, s, dim), norm, True)


@transform("rfftn", normal, planes)
def rfftn(input, s=None, dim=None, norm: str | None = None):
    "`fftn` of real numbers: half of the results, along the last of `dim`."
    dims, sizes = axes(input, s, dim)
    if not dims:
        raise RuntimeError("rfftn must transform at least one axis")
    input = as_real(input, "rfftn", "expects a real-valued input tensor")
    return half_spectrum(input, dims, sizes, norm, False)


@transform("irfftn", samples=planes)
def irfftn(input, s=None, dim=None, norm: str | None = None):
    "The inverse of `rfftn`."
    return from_half(input, *half_sizes(input, s, dim, "irfftn"), norm, True)


@transform("hfftn", samples=planes)
def hfftn(input, s=None, dim=None, norm: str | None = None):
    "`fftn` of one half, along the last of `dim`, of what is conjugate to itself: real numbers."
    dims, sizes = half_sizes(input, s, dim, "hfftn")
    return from_half(input.conj(), dims, sizes, *swapped(norm))


@transform("ihfftn", normal, planes)
def ihfftn(input, s=None, dim=None, norm: str | None = None):
    "The inverse of `hfftn`."
    dims, sizes = axes(input, s, dim)
    if not dims:
        raise RuntimeError("ihfftn must transform at least one axis")
    if input.dtype.is_complex:
        raise RuntimeError(f"Only supports floating-point dtypes, but found: {input.dtype.short}")
    return half_spectrum(input, dims, sizes, norm, True)


def of_planes(op: Any, name: str, values: Any = complexes) -> Any:
    """The op, along the last two dims by default."""

    def reference(input, s=None, dim=(-2, -1), norm: str | None = None):
        return op.function(input, s, dim, norm)

    reference.__name__ = name
    reference.__doc__ = f"`{op.name}` along two dims, the last ones by default."
    return transform(name, values, lambda v: lambda rng: [((v(rng, 3, 4, 5),), {})])(reference)


fft2, ifft2 = of_planes(fftn, "fft2"), of_planes(ifftn, "ifft2")
rfft2, irfft2 = of_planes(rfftn, "rfft2", normal), of_planes(irfftn, "irfft2")
hfft2, ihfft2 = of_planes(hfftn, "hfft2"), of_planes(ihfftn, "ihfft2", normal)


# The order of frequencies


def shifted(input: Any, dim: Any, half: Any) -> Any:
    dims = range(input.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    dims = [axis(input, d) for d in dims]
    return input.roll(tuple(half(input.shape[d]) for d in dims), tuple(dims)) if dims else input


@transform("fftshift", normal, lambda v: lambda rng: [((v(rng, 4, 5),), {}), ((v(rng, 5),), {})])
def fftshift(input, dim=None):
    "With frequency 0 in the middle, along `dim` or every dim."
    return shifted(input, dim, lambda size: size // 2)


@transform("ifftshift", normal, lambda v: lambda rng: [((v(rng, 4, 5),), {"dim": 1})])
def ifftshift(input, dim=None):
    "The inverse of `fftshift`."
    return shifted(input, dim, lambda size: -(size // 2))
