"""Ops that fold by more than one number: variances, logarithms of sums, norms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wgtorch.op import Reduction, composite, declare
from wgtorch.ops.adding import add_up, average
from wgtorch.ops.reductions import count, folding, spread
from wgtorch.ops.samples import normal

SLAB = 1 << 17  # elements whose distances from a mean stay in the cache
MOMENTS = {
    "state": "Moments",
    "enter": "moments_of(x)",
    "combine": "merge_moments(a, b)",
    "identity": "no_moments()",
}  # how variances are folded: Welford's way, in one pass


def only_floats(who: str) -> dict[str, str]:
    text = f"{who} only support floating point and complex dtypes"
    return {"bool": text, "integer": text}


def unbiased_or_correction(args: tuple, given: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """PyTorch's forms: (unbiased), (dim, unbiased, keepdim), (dim, *, correction, keepdim)."""
    given = dict(given)
    if args and isinstance(args[0], bool):
        args = (None, *args)
    unbiased = given.pop("unbiased", None)
    if len(args) > 1:
        dim, unbiased, *rest = args
        if not isinstance(unbiased, bool):
            raise TypeError(f"argument 'unbiased' must be bool, not {type(unbiased).__name__}")
        args = (dim,)
        given |= dict(zip(("keepdim",), rest, strict=False))
    if unbiased is not None:
        given["correction"] = int(unbiased)
    if given.get("correction", 1) is None:
        given["correction"] = 1
    return args, given


def of_parts(name: str):
    """Of complex numbers: from the variances of both parts."""

    def gate(door):
        def call(input, *args, **given):
            if not input.dtype.is_complex:
                return door(input, *args, **given)
            variance_ = input.real.var(*args, **given) + input.imag.var(*args, **given)
            spread_ = variance_.sqrt() if "std" in name else variance_
            if "mean" not in name:
                return spread_
            args, rest = unbiased_or_correction(args, given)
            rest.pop("correction", None)
            return spread_, input.mean(*args, **rest)

        return call

    return gate


def distances(grad, input, dim, correction, keepdim):
    """What a variance owes to each element: 2 (x - mean) / (n - correction)."""
    freedom = max(0, count(input.shape, dim) - correction)
    scale = 2 / freedom if freedom else math.nan
    return grad.restored(dim, keepdim) * ((input - input.mean(dim, True)) * scale)


def of_deviation(grad, input, result, dim, correction, keepdim):
    """As `distances`; nothing where all are equal."""
    per_variance = grad / (result * 2).masked_fill(result == 0, math.inf)
    return distances(per_variance, input, dim, correction, keepdim)


def of_both(of_spread: Any):
    def formula(grad, input, results, dim, correction, keepdim):
        of_first, of_mean = grad
        total = None
        if of_first is not None:
            total = of_spread(of_first, input, results[0], dim, correction, keepdim)
        if of_mean is not None:
            part = spread(of_mean, input.shape, dim, keepdim) / count(input.shape, dim)
            total = part if total is None else total + part
        return total

    return formula


def corrected(samples):
    def more(rng):
        yield from samples(rng)
        yield (normal(rng, 4, 7),), {"dim": 1, "correction": 0}

    return more


def distances_squared(input, dim: tuple[int, ...]):
    """The sum of (input - mean)^2 over dim, which is kept, of floats, in float64."""
    total = np.add.reduce(input, dim, np.float64, keepdims=True)
    mean = total / np.float64(count(input.shape, dim))
    if input.size <= SLAB:
        return slab_squared(input, mean, dim)
    step, sums = SLAB * len(input) // input.size or 1, []
    for start in range(0, len(input), step):
        some = slice(start, start + step)
        sums.append(slab_squared(input[some], mean if 0 in dim else mean[some], dim))
    together = np.concatenate(sums)
    return np.add.reduce(together, 0, keepdims=True) if 0 in dim else together


def slab_squared(input, mean, dim: tuple[int, ...]):
    far = np.subtract(input, mean, dtype=np.float64)
    return np.add.reduce(far * far, dim, keepdims=True)


def variance(input, dim: tuple[int, ...], correction, keepdim: bool):
    squares = distances_squared(input, dim)
    freedom = max(0, count(input.shape, dim) - correction)
    return (squares if keepdim else squares.squeeze(dim)) / np.float64(freedom)


@declare(
    Reduction,
    **MOMENTS,
    leave="variance(a, correction)",
    refuses=only_floats("std and var"),
    gate=of_parts("var"),
    arrange=unbiased_or_correction,
    vjp={"input": distances},
    samples=corrected(folding()),
)
def var(input, dim: object = None, *, correction: float = 1, keepdim: bool = False):
    "Variance over dim, with n - correction in the denominator."
    return variance(input, dim, correction, keepdim)


@declare(
    Reduction,
    **MOMENTS,
    leave="deviation(a, correction)",
    refuses=only_floats("std and var"),
    gate=of_parts("std"),
    arrange=unbiased_or_correction,
    vjp={"input": of_deviation},
    samples=corrected(folding()),
)
def std(input, dim: object = None, *, correction: float = 1, keepdim: bool = False):
    "Standard deviation over dim: the square root of `var`."
    return np.sqrt(variance(input, dim, correction, keepdim))


BOTH = {"outputs": ("_first", "_mean"), "differentiable": (True, True), "result": ("same", "same")}


@declare(
    Reduction,
    **MOMENTS,
    **BOTH,
    leave=("variance(a, correction)", "mean_of(a)"),
    refuses=only_floats("var_mean"),
    gate=of_parts("var_mean"),
    arrange=unbiased_or_correction,
    vjp={"input": of_both(lambda g, x, r, *rest: distances(g, x, *rest))},
    samples=corrected(folding()),
    method=False,
)
def var_mean(input, dim: object = None, *, correction: float = 1, keepdim: bool = False):
    "(variance, mean) over dim, in one pass."
    return variance(input, dim, correction, keepdim), average(input, dim, keepdim)


@declare(
    Reduction,
    **MOMENTS,
    **BOTH,
    leave=("deviation(a, correction)", "mean_of(a)"),
    refuses=only_floats("std_mean"),
    gate=of_parts("std_mean"),
    arrange=unbiased_or_correction,
    vjp={"input": of_both(of_deviation)},
    samples=corrected(folding()),
    method=False,
)
def std_mean(input, dim: object = None, *, correction: float = 1, keepdim: bool = False):
    "(standard deviation, mean) over dim, in one pass."
    spread_ = np.sqrt(variance(input, dim, correction, keepdim))
    return spread_, average(input, dim, keepdim)


# Logarithms of sums


def of_logsumexp(grad, input, result, dim, keepdim):
    kept = result.restored(dim, keepdim)
    finite = kept.masked_fill(kept == -math.inf, 0)
    return grad.restored(dim, keepdim) * (input - finite).exp()


@declare(
    Reduction,
    state="Peak",
    enter="peak_of(x)",
    combine="merge_peaks(a, b)",
    identity="no_peak()",
    leave="log_of_peak(a)",
    vjp={"input": of_logsumexp},
    samples=lambda rng: list(folding()(rng))[1:],
)
def _logsumexp(input, dim: object, keepdim: bool = False):
    "log(sum(exp(input))) over dim, of floats."
    peak = np.max(input, axis=dim, keepdims=True, initial=-np.inf)
    peak = np.where(np.isfinite(peak), peak, 0)
    total = np.log(np.sum(np.exp(input - peak), axis=dim, keepdims=True)) + peak
    return total if keepdim else total.reshape(np.sum(input, axis=dim).shape)


@composite(samples=lambda rng: [((normal(rng, 3, 5),), {"dim": 1})])
def logsumexp(input, dim: object, keepdim: bool = False):
    "log(sum(exp(input))) over dim, without overflow. Integers become floats."
    if input.dtype.is_complex:
        peak = input.real.detach().amax(dim, True)
        peak = peak.masked_fill(peak.isinf(), 0)
        total = ((input - peak).exp().sum(dim, True)).log() + peak
        return total if keepdim else total.squeeze(dim)
    if not input.is_floating_point():
        input = input / 1
    return input._logsumexp(dim, keepdim)


# Norms


def of_length(grad, input, result, dim, keepdim):
    """x / |x|; nothing at the origin."""
    length = result.restored(dim, keepdim)
    direction = (input / length).masked_fill(length == 0, 0)
    return grad.restored(dim, keepdim) * direction


@declare(
    Reduction,
    enter="x * x",
    combine="a + b",
    identity="0",
    leave="sqrt(a)",
    vjp={"input": of_length},
    samples=folding(),
)
def _length(input, dim: object = None, keepdim: bool = False):
    "Euclidean length over dim."
    return np.sqrt(add_up(input * input, dim, keepdim))


def powers(input, p: float, dim, keepdim: bool):
    """(sum of |x|^p)^(1/p); the gradient at zero is zero unless p is 1."""
    size = input.abs()
    if p < 1:  # 0 ** p has no slope to begin with
        zero = size == 0
        return (size.masked_fill(zero, 1) ** p).masked_fill(zero, 0**p if p > 0 else math.inf).sum(
            dim, keepdim
        ) ** (1 / p)
    total = (size**p).sum(dim, keepdim)
    if p > 1:  # 0 ** (1/p) has no slope to go on with
        zero = total == 0
        return (total.masked_fill(zero, 1) ** (1 / p)).masked_fill(zero, 0)
    return total ** (1 / p)


@composite(
    samples=lambda rng: [
        ((normal(rng, 3, 5),), {}),
        ((normal(rng, 3, 5),), {"p": 1, "dim": 1}),
        ((normal(rng, 3, 5),), {"p": 3, "dim": 0, "keepdim": True}),
        ((normal(rng, 3, 5),), {"p": math.inf}),
    ]
)
def norm(input, p: object = "fro", dim: object = None, keepdim: bool = False,
         *, dtype: object = None):  # fmt: skip
    "The p-norm over dim: (sum of |x|^p)^(1/p); 'fro' is 2; inf, -inf and 0 as limits."
    input = input if dtype is None else input.to(dtype)
    if p == "nuc":
        return input._linalg_matrix_norm("nuc", (-2, -1) if dim is None else dim, keepdim)
    if input.dtype.is_complex:
        input = input.abs()
    if not input.is_floating_point():
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got"
            f" {input.dtype.short}"
        )
    if p in (None, "fro", 2):
        return input._length(dim, keepdim)
    if isinstance(p, str):
        raise RuntimeError(f"norm(): the order {p!r} is not known; give 'fro' or a number")
    if p == 0:
        return input._level((input != 0).to(input.dtype)).sum(dim, keepdim)
    if p == 1:
        return input.abs().sum(dim, keepdim)
    if math.isinf(p):
        size, dims = input.abs(), () if dim is None else dim
        return size.amax(dims, keepdim) if p > 0 else size.amin(dims, keepdim)
    if input.dtype.itemsize == 2:  # whose powers soon overflow
        return powers(input.float(), p, dim, keepdim).to(input.dtype)
    return powers(input, p, dim, keepdim)
