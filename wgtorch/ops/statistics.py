"""Statistics of samples: covariance, quantiles, histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.dtype import bool_, float32, float64, int64
from wgtorch.errors import ShapeError, format_shape
from wgtorch.layout import wrap_dim
from wgtorch.op import composite
from wgtorch.ops.batched import each_sample, holds_somewhere, is_batched
from wgtorch.ops.samples import apart, normal
from wgtorch.settled import results
from wgtorch.storage import View

# Covariance


def matrix_of(op: str, input: Any) -> Any:
    if input.ndim > 2:
        raise ShapeError(
            f"{op}(): expected input to have two or fewer dimensions but got an input with"
            f" {input.ndim} dimensions"
        )
    return input.reshape((1, -1)) if input.ndim < 2 else input


def checked_weights(name: str, weights: Any, count: int, kind: str) -> Any:
    if weights.ndim > 1:
        raise ShapeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with"
            f" {weights.ndim} dimensions"
        )
    integral = not weights.is_floating_point() and weights.dtype is not bool_
    if integral != (kind == "integral"):
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with"
            f" {weights.dtype.short} dtype"
        )
    if weights.numel() != count:
        raise ShapeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input"
            f" but got {weights.numel()} != {count}"
        )
    if count and holds_somewhere(weights < 0):
        raise RuntimeError(f"cov(): {name} cannot be negative")
    return weights


@composite(samples=lambda rng: [((normal(rng, 3, 6),), {}), ((normal(rng, 6),), {"correction": 0})])
def cov(input, *, correction: int = 1, fweights: Any = None, aweights: Any = None):
    """The covariance matrix of variables (rows) from observations (columns).

    `fweights` says how often each was observed, `aweights` how much it counts.
    """
    rows = matrix_of("cov", input)
    if input.dtype is bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    count = rows.shape[1]
    weights = None
    if fweights is not None:
        weights = checked_weights("fweights", fweights, count, "integral")
    if aweights is not None:
        more = checked_weights("aweights", aweights, count, "floating point")
        weights = more if weights is None else weights * more
    if rows.dtype.category < 2:
        rows = rows.to(float32)
    if weights is None:
        total: Any = count
        centred = rows - rows.mean(1, True)
        weighted = centred
    else:
        total = weights.sum()
        if count and not float(total):
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
        centred = rows - (rows * weights).sum(1, True) / total
        weighted = centred * weights
    if aweights is None or not correction:
        freedom = total - correction
    else:
        freedom = total - correction * (weights * aweights).sum() / total
    freedom = freedom.clamp(min=0) if isinstance(freedom, View) else max(0, freedom)
    products = weighted.mm(centred.t().conj())
    freedom = freedom if isinstance(freedom, View) else products.new_full((), float(freedom))
    result = products / freedom
    return result if input.ndim == 2 and input.shape[0] != 1 else result.squeeze()


@composite(samples=lambda rng: [((normal(rng, 3, 6),), {}), ((normal(rng, 6),), {})])
def corrcoef(input):
    "The correlation coefficients of variables (rows), from observations (columns), in [-1, 1]."
    matrix_of("corrcoef", input)
    covariance = input.cov()
    if not covariance.ndim:
        return covariance / covariance
    variances = covariance.diagonal()
    deviation = (variances.real if variances.dtype.is_complex else variances).sqrt()
    scaled = covariance / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    if scaled.dtype.is_complex:
        return scaled.real.clamp(-1, 1)._complex_of(scaled.imag.clamp(-1, 1))
    return scaled.clamp(-1, 1)


# Quantiles

ROUND = {
    "lower": lambda place: place.floor(),
    "higher": lambda place: place.ceil(),
    "nearest": lambda place: place.round(),
    "linear": lambda place: place,
    "midpoint": lambda place: place,
}


def checked_q(op: str, input: Any, q: Any, interpolation: str) -> Any:
    if input.dtype not in (float32, float64):
        raise RuntimeError(f"{op}() input tensor must be either float or double dtype")
    if not input.numel():
        raise ShapeError(f"{op}() input tensor must be non-empty")
    if interpolation not in ROUND:
        raise RuntimeError(
            f"{op}() interpolation must be one of linear, lower, higher, midpoint or nearest, but"
            f" got {interpolation}"
        )
    if not isinstance(q, View):
        if not isinstance(q, int | float):
            raise TypeError(f"{op}(): q must be a float or a Tensor, not {type(q).__name__}")
        if not 0 <= q <= 1:
            raise RuntimeError(f"{op}() q must be in the range [0, 1] but got {q}")
        return input.new_full((), float(q))
    if q.ndim > 1:
        raise ShapeError(f"{op}() q must be a scalar or 1D tensor")
    if q.dtype is not input.dtype:
        raise RuntimeError(f"{op}() q tensor must be same dtype as the input tensor")
    if q.numel() and holds_somewhere((q < 0) | (q > 1)):
        raise RuntimeError(f"{op}() q values must be in the range [0, 1]")
    return q


def quantiles(op: str, input: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str,
              skips_nan: bool) -> Any:  # fmt: skip
    """Between the two sorted neighbours of place q * (n - 1), along a dim that goes last."""
    q = checked_q(op, input, q, interpolation)
    kept = [1] * input.ndim
    if dim is not None:
        axis = wrap_dim(dim, input.ndim)
        rows = input.movedim(axis, -1) if input.ndim else input.reshape((1,))
        kept = [1 if d == axis else size for d, size in enumerate(input.shape)]
    else:
        rows = input.reshape((-1,))
    ordered = rows._sort(-1, False)[0]
    count = (~ordered.detach().isnan()).sum(-1, True)  # NaN is above all
    size = ordered.shape[-1]
    place = q * ((count - 1).clamp(min=0) if skips_nan else size - 1)
    place = ROUND[interpolation](place.to(q.dtype))
    if not skips_nan:
        place = place.masked_fill(count < size, size - 1)
    shape = (*rows.shape[:-1], q.numel())
    place = place.expand(shape) if place.ndim else place.reshape((1,)).expand(shape)
    low = place.detach().to(int64)
    values = ordered.gather(-1, low)
    if interpolation in ("linear", "midpoint"):
        above = ordered.gather(-1, place.detach().ceil().to(int64))
        share = place - place.detach().floor()
        if interpolation == "midpoint":
            share = share.masked_fill(share != 0, 0.5)
        values = values.lerp(above, share)
    values = values.movedim(-1, 0)
    if keepdim:
        values = values.reshape((q.numel(), *kept))
    return values if q.ndim else values.squeeze(0)


def quantile_samples(rng):
    yield (apart(rng, 3, 6), 0.4), {}
    yield (apart(rng, 3, 6), 0.25), {"dim": 1}
    yield (apart(rng, 3, 6), 0.7), {"dim": 0, "keepdim": True, "interpolation": "midpoint"}
    for way in ("lower", "higher", "nearest"):
        yield (apart(rng, 7), 0.6), {"interpolation": way}


@composite(samples=quantile_samples)
def quantile(input, q, dim: int | None = None, keepdim: bool = False, *,
             interpolation: str = "linear"):  # fmt: skip
    "The q-th quantiles, q in [0, 1], of all elements or along dim; NaN where there is one."
    return quantiles("quantile", input, q, dim, keepdim, interpolation, False)


@composite(samples=quantile_samples)
def nanquantile(input, q, dim: int | None = None, keepdim: bool = False, *,
                interpolation: str = "linear"):  # fmt: skip
    "As `quantile`, of what is not NaN."
    return quantiles("nanquantile", input, q, dim, keepdim, interpolation, True)


# Histograms


def ends_of(op: str, input: Any, low: float, high: float) -> tuple[float, float]:
    """The range of a histogram: what is asked for, or that of the data."""
    if low == high and input.numel():
        low, high = (float(x) for x in input.detach().aminmax())
    if low == high:
        low, high = low - 1, high + 1
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.{op}: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(f"torch.{op}: max must be larger than min")
    return low, high


def check_bins(bins: int) -> None:
    if bins < 1:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")


def counts_between(input: Any, edges: Any, bins: int, weight: Any = None) -> Any:
    """How much falls between each two edges; the last bin has both of its edges."""
    flat = input.detach().reshape((-1,))
    inside = (flat >= edges[0]) & (flat <= edges[bins])
    place = (edges._searchsorted(flat, True, False) - 1).clamp(0, bins - 1)
    one = flat.new_ones((1,)).expand(flat.layout.shape) if weight is None else weight
    counted = one.masked_fill(~inside, 0)
    return flat.new_zeros((bins,)).scatter_add(0, place, counted)


def edges_between(like: Any, low: float, high: float, bins: int) -> Any:
    steps = np.linspace(low, high, bins + 1, dtype=np.float64)
    return like.new_tensor(steps)


@composite(samples=lambda rng: [((normal(rng, 40), 7), {}), ((normal(rng, 4, 9), 5, -1, 1), {})])
def histc(input, bins: int = 100, min: float = 0, max: float = 0):
    "How many elements fall into each of `bins` equal parts of [min, max] (default: the data's)."
    if not input.is_floating_point():
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{input.dtype.short}'")
    check_bins(bins)
    if min == max and is_batched(input):
        return each_sample("histc", lambda x: x.histc(bins, min, max), input)
    low, high = ends_of("histc", input, min, max)
    return counts_between(input, edges_between(input, low, high, bins), bins)


def given_edges(input: Any, bins: Any) -> Any:
    if bins.ndim != 1:
        raise ShapeError(
            "torch.histogramdd: bins tensor should have one dimension, but got"
            f" {bins.ndim} dimensions in the bins tensor for dimension 0"
        )
    if bins.dtype is not input.dtype:
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got"
            f" input with dtype {input.dtype.short.lower()} and bins for dimension 0 with dtype"
            f" {bins.dtype.short.lower()}"
        )
    return bins.detach()


def equal_edges(input: Any, bins: int, range: Any) -> Any:
    check_bins(bins)
    if range is None:
        if not input.numel():
            return edges_between(input, 0, 1, bins)
        low, high = (float(x) for x in input.detach().aminmax())
        if not (np.isfinite(low) and np.isfinite(high)):
            raise RuntimeError(
                f"torch.histogramdd: dimension 0's range [{low:g}, {high:g}] is not finite"
            )
        if low == high:
            low, high = low - 0.5, high + 0.5
        return edges_between(input, low, high, bins)
    if len(range) != 2:
        raise RuntimeError(
            "torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but"
            f" got {len(range)}"
        )
    low, high = range
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for"
            " dimension 0"
        )
    return edges_between(input, low, high, bins)


@composite(
    samples=lambda rng: [
        ((normal(rng, 40), 7), {}),
        ((normal(rng, 40), np.sort(normal(rng, 6))), {}),
        ((normal(rng, 40), 4), {"range": (-1.0, 2.0), "density": True}),
    ]
)
def histogram(input, bins, *, range: Any = None, weight: Any = None, density: bool = False):
    """(hist, bin_edges): how much falls between each two edges.

    `bins` is how many equal parts of `range` (default: the data's), or the edges themselves;
    `weight` is how much each element counts; a `density` has an integral of 1.
    """
    if not isinstance(bins, View) and range is None and is_batched(input):
        again = lambda x, w: x.histogram(bins, weight=w, density=density)  # noqa: E731
        return each_sample("histogram", again, input, weight)
    if not input.is_floating_point():
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{input.dtype.short}'")
    edges = given_edges(input, bins) if isinstance(bins, View) else equal_edges(input, bins, range)
    check_bins(edges.numel() - 1)
    if weight is not None:
        if tuple(weight.shape) != tuple(input.shape):
            raise ShapeError(
                "torch.histogramdd: if weight tensor is provided it should have the same shape as"
                " the input tensor excluding its innermost dimension, but got input with shape"
                f" {format_shape([input.numel(), 1])} and weight with shape"
                f" {format_shape(weight.shape)}"
            )
        weight = weight.detach().reshape((-1,))
    hist = counts_between(input, edges, edges.numel() - 1, weight)
    if density:
        hist = hist / (hist.sum() * edges.diff())
    return results("histogram", ("hist", "bin_edges"))(hist, edges)
