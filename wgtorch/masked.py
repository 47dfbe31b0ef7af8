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
    """The dimensions in order; all for None and ()."""
    if dim is None or dim == ():
        return tuple(range(input.ndim))
    found: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        found.append(wrap_dim(d, input.ndim))
    return tuple(sorted(found))


def first_of(input: Tensor, dim: Any) -> int:
    """The one dimension of what goes along one."""
    return dims_of(input, dim)[0]


def extreme(name: str, input: Tensor, mask: Tensor | None, largest: bool) -> Any:
    """What no element goes beyond, where something is masked."""
    if mask is None:
        return None
    if input.dtype.is_floating_point:
        return -inf if largest else inf
    if input.dtype is wgtorch.bool or input.dtype.is_complex:
        raise NotImplementedError(f"identity of {name} on {input.dtype} input")
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
    for d in reversed(dims_of(input, dim)):
        result = result.prod(d, keepdim=keepdim)
    return result


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The largest of what is not masked; the least there is of nothing."""
    input = input if dtype is None else input.to(dtype)
    least = extreme("amax", input, mask, True)
    return filled(input, mask, least).amax(dims_of(input, dim), keepdim)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """The smallest of what is not masked; the greatest there is of nothing."""
    input = input if dtype is None else input.to(dtype)
    most = extreme("amin", input, mask, False)
    return filled(input, mask, most).amin(dims_of(input, dim), keepdim)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """Where the largest is of what is not masked, as `dtype` (default: the input's)."""
    input = input if dtype is None else input.to(dtype)
    found = filled(input, mask, extreme("argmax", input, mask, True)).argmax(dim, keepdim)
    return found.to(input.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """Where the smallest is of what is not masked, as `dtype` (default: the input's)."""
    input = input if dtype is None else input.to(dtype)
    found = filled(input, mask, extreme("argmin", input, mask, False)).argmin(dim, keepdim)
    return found.to(input.dtype)


def cumsum(input, dim, *, dtype=None, mask=None) -> Tensor:
    """Running sums of what is not masked."""
    return filled(input, mask, 0, dtype).cumsum(first_of(input, dim), dtype=dtype or input.dtype)


def cumprod(input, dim, *, dtype=None, mask=None) -> Tensor:
    """Running products of what is not masked."""
    return filled(input, mask, 1, dtype).cumprod(first_of(input, dim), dtype=dtype or input.dtype)


def without(input: Tensor, mask: Tensor | None, dtype: Any, name: str) -> Tensor:
    """The input with the least there is where it is masked."""
    input = input if dtype is None else input.to(dtype)
    return filled(input, mask, extreme(name, input, mask, True))


def softmax(input, dim, *, dtype=None, mask=None) -> Tensor:
    """softmax among what is not masked; 0 where masked, NaN where all are."""
    return without(input, mask, dtype, "amax").softmax(first_of(input, dim))


def log_softmax(input, dim, *, dtype=None, mask=None) -> Tensor:
    """log_softmax among what is not masked; minus infinity where masked."""
    return without(input, mask, dtype, "amax").log_softmax(first_of(input, dim))


def softmin(input, dim, *, dtype=None, mask=None) -> Tensor:
    """softmax of the negated input, among what is not masked."""
    input = input if dtype is None else input.to(dtype)
    most = extreme("amin", input, mask, False)
    return (-filled(input, mask, most)).softmax(first_of(input, dim))


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor:
    """log of the sum of exp of what is not masked."""
    dtype = dtype or input.dtype
    if dtype is wgtorch.bool:
        extreme("logsumexp", input.to(dtype), mask, True)  # there is none of them
    values = input.to(dtype if dtype.category > 1 else wgtorch.get_default_dtype())
    return filled(values, mask, -inf).logsumexp(dims_of(input, dim), keepdim).to(dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None) -> Tensor:
    """log(exp(input) + exp(other)), where what is masked adds nothing."""
    first = without(input, input_mask, dtype, "logaddexp")
    return wgtorch.logaddexp(first, without(other, other_mask, dtype, "logaddexp"))


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
    """The median, the lower of two, of what is not masked; NaN of nothing, of integers an error."""
    kind, along = dtype or input.dtype, first_of(input, dim)
    values = input if input.is_floating_point() else input.float()
    found = filled(values, mask, nan).nanmedian(along, keepdim).values
    if values is not input and found.isnan().any():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    return found.to(kind)


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
    away = filled((input - centre).to(dtype).abs().square(), mask, 0)
    total = away.sum(dims_of(input, dim), keepdim=keepdim)
    divisor = count(input, mask, dim, keepdim, real) - less
    return (total / divisor.clamp(min=0)).to(dtype)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None,
        mask=None) -> Tensor:  # fmt: skip
    """The square root of `var`."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype,
               mask=mask).sqrt()  # fmt: skip
