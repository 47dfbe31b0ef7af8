"""torch.masked: folds and softmax of the elements where a mask, broadcast to the input, is True.

Masked elements count as what changes no result: 0 in a sum, minus infinity in a maximum. Results
of none are those of nothing: 0, 1, infinities, NaN. Without a mask all elements count. `dim=None`
folds all dimensions; `dtype` is what is computed in. All are differentiable.
"""

from __future__ import annotations

from math import inf, nan
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.layout import wrap_dim

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp",
    "logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum",
    "var",
]  # fmt: skip


def filled(input: Tensor, mask: Tensor | None, value: Any, dtype: Any = None) -> Tensor:
    """The input, with a value where the mask is False."""
    input = input if dtype is None else input.to(dtype)
    if mask is None:
        return input
    if mask.dtype is not wgtorch.bool:
        mask = mask.bool()
    if tuple(wgtorch.broadcast_shapes(mask.shape, input.shape)) != tuple(input.shape):
        raise IndexError(
            f"_input_mask expected mask shape {list(mask.shape)} to be broadcastable to the shape"
            f" {list(input.shape)} of the input"
        )
    return input.masked_fill(~mask, value)


def dims_of(input: Tensor, dim: Any) -> tuple[int, ...]:
    """All dimensions for None and ()."""
    if dim is None or dim == ():
        return tuple(range(input.ndim))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def extreme(input: Tensor, largest: bool) -> Any:
    """What no element goes beyond."""
    if input.dtype.is_floating_point:
        return -inf if largest else inf
    if input.dtype is wgtorch.bool:
        return not largest
    limits = wgtorch.iinfo(input.dtype)
    return limits.min if largest else limits.max


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The sum of what is not masked; 0 of nothing."""
    return filled(input, mask, 0, dtype).sum(dims_of(input, dim), keepdim=keepdim)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The product of what is not masked; 1 of nothing."""
    result = filled(input, mask, 1, dtype)
    if not input.ndim:
        return result.prod()
    for d in sorted([wrap_dim(d, input.ndim) for d in dims_of(input, dim)], reverse=True):
        result = result.prod(d, keepdim=keepdim)
    return result


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The largest of what is not masked; the least there is of nothing."""
    return filled(input, mask, extreme(input, True), dtype).amax(dims_of(input, dim), keepdim)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The smallest of what is not masked; the greatest there is of nothing."""
    return filled(input, mask, extreme(input, False), dtype).amin(dims_of(input, dim), keepdim)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """Where the largest is of what is not masked, as `dtype` (default: the input's)."""
    found = filled(input, mask, extreme(input, True), dtype).argmax(dim, keepdim)
    return found.to(dtype or input.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """Where the smallest is of what is not masked, as `dtype` (default: the input's)."""
    found = filled(input, mask, extreme(input, False), dtype).argmin(dim, keepdim)
    return found.to(dtype or input.dtype)


def cumsum(input, dim, *, dtype=None, mask=None) -> Tensor:
    """Running sums of what is not masked."""
    return filled(input, mask, 0, dtype).cumsum(dim)


def cumprod(input, dim, *, dtype=None, mask=None) -> Tensor:
    """Running products of what is not masked."""
    return filled(input, mask, 1, dtype).cumprod(dim)


def softmax(input, dim, *, dtype=None, mask=None) -> Tensor:
    """softmax among what is not masked; 0 where masked, NaN where all are."""
    return filled(input, mask, -inf, dtype).softmax(dim)


def log_softmax(input, dim, *, dtype=None, mask=None) -> Tensor:
    """log_softmax among what is not masked; minus infinity where masked."""
    return filled(input, mask, -inf, dtype).log_softmax(dim)


def softmin(input, dim, *, dtype=None, mask=None) -> Tensor:
    """softmax of the negated input, among what is not masked."""
    return (-filled(input, mask, inf, dtype)).softmax(dim)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """log of the sum of exp of what is not masked."""
    dtype = dtype or input.dtype
    values = input.to(dtype if dtype.category > 1 else wgtorch.get_default_dtype())
    return filled(values, mask, -inf).logsumexp(dims_of(input, dim), keepdim).to(dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None) -> Tensor:
    """log(exp(input) + exp(other)), where what is masked adds nothing."""
    first, second = filled(input, input_mask, -inf, dtype), filled(other, other_mask, -inf, dtype)
    return wgtorch.logaddexp(first, second)


def count(input: Tensor, mask: Tensor | None, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    """How many are not masked."""
    return sum(wgtorch.ones_like(input, dtype=dtype), dim, keepdim=keepdim, mask=mask)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The mean of what is not masked; NaN of nothing."""
    dtype = dtype or input.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"mean expects a floating point or complex dtype, not {dtype}")
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / count(input, mask, dim, keepdim, dtype)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The median, the lower of two, of what is not masked; NaN of nothing."""
    if not (dtype or input.dtype).is_floating_point:
        raise TypeError(f"median expects a floating point dtype, not {dtype or input.dtype}")
    return filled(input, mask, nan, dtype).nanmedian(dim, keepdim).values


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The norm of order `ord` of what is not masked."""
    masked_as = inf if ord == -inf else 0
    return wgtorch.linalg.vector_norm(
        filled(input, mask, masked_as, dtype), ord, dims_of(input, dim), keepdim
    )


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None) -> Tensor:
    """Divided by its norm among what is not masked, or by eps where that is larger."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return filled(input, mask, 0, dtype) / length.clamp(min=eps)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None,
        mask=None) -> Tensor:  # fmt: skip
    """The variance of what is not masked; divided by the count less the correction (1)."""
    less = correction if correction is not None else 0 if unbiased is False else 1
    dtype = dtype or (input.dtype if input.dtype.category > 1 else wgtorch.get_default_dtype())
    real = dtype.to_real()
    number = count(input, mask, dim, True, real)
    centre = sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / number
    away = filled((input.to(dtype) - centre).abs().square(), mask, 0)
    total = away.sum(dims_of(input, dim), keepdim=keepdim)
    divisor = count(input, mask, dim, keepdim, real) - less
    return (total / divisor.clamp(min=0)).to(dtype)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None,
        mask=None) -> Tensor:  # fmt: skip
    """The square root of `var`."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype,
               mask=mask).sqrt()  # fmt: skip
