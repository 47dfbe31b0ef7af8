"""Softmax and its logarithm along one dim, and what they pass back."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.dtype import asked
from wgtorch.layout import wrap_dim
from wgtorch.op import Rowwise, composite, declare
from wgtorch.ops.samples import normal


def samples(rng):
    yield (normal(rng, 3, 5),), {"dim": 1}
    yield (normal(rng, 3, 8, 4),), {"dim": 1}
    yield (normal(rng, 5, 64),), {"dim": -1}
    yield (normal(rng, 6, 4, 4).transpose(2, 0, 1),), {"dim": 0}


def pairs(rng):
    for (x,), attrs in samples(rng):
        yield (normal(rng, *x.shape), x), attrs


def one_dim(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    axis = wrap_dim(dim, len(shape))
    return (axis,) if shape else ()


def same_shape(input: tuple[int, ...], *others: Any, dim: int, **attrs: Any) -> tuple[int, ...]:
    wrap_dim(dim, len(input))
    return input


def peak(input: np.ndarray, dim: int) -> np.ndarray:
    """The largest of each row; 0-d counts as one row of one. Names would take 0.1 us more."""
    return np.maximum.reduce(input, dim if input.ndim else None, None, None, True, -np.inf)


def total(array: np.ndarray, dim: int) -> np.ndarray:
    return np.add.reduce(array, dim if array.ndim else None, None, None, True)


def is_recorded(*tensors: Any) -> bool:
    """Whether what is computed of these will be differentiated again."""
    return any([t.storage.value.device.level or t._is_recorded for t in tensors])


@declare(
    Rowwise,
    shape=lambda grad, output, dim: same_shape(grad, dim=dim),
    shader="softmax_backward.wgsl",
    dims=one_dim,
    samples=pairs,
)
def _softmax_backward(grad, output, dim: int):
    "What the input of a softmax with this output gets."
    return output * (grad - total(grad * output, dim))


@declare(
    Rowwise,
    shape=lambda grad, output, dim: same_shape(grad, dim=dim),
    shader="log_softmax_backward.wgsl",
    dims=one_dim,
    samples=pairs,
)
def _log_softmax_backward(grad, output, dim: int):
    "What the input of a log_softmax with this output gets."
    return grad - np.exp(output) * total(grad, dim)


def of_softmax(grad, result, dim):
    if is_recorded(grad, result):
        return result * (grad - (grad * result).sum(dim, True))
    return grad._softmax_backward(result, dim)


def of_log_softmax(grad, result, dim):
    if is_recorded(grad, result):
        return grad - result.exp() * grad.sum(dim, True)
    return grad._log_softmax_backward(result, dim)


@declare(
    Rowwise,
    shape=lambda input, dim: same_shape(input, dim=dim),
    shader="softmax.wgsl",
    dims=one_dim,
    vjp={"input": of_softmax},
    samples=samples,
)
def _softmax(input, dim: int):
    "exp(input) / sum(exp(input)) along dim, of floats."
    powers = input - peak(input, dim)
    if not input.ndim:  # numpy's numbers, which nothing is written into
        return np.exp(powers - powers)
    np.exp(powers, powers)
    powers /= total(powers, dim)
    return powers


@declare(
    Rowwise,
    shape=lambda input, dim: same_shape(input, dim=dim),
    shader="log_softmax.wgsl",
    dims=one_dim,
    vjp={"input": of_log_softmax},
    samples=samples,
)
def _log_softmax(input, dim: int):
    "input - log(sum(exp(input))) along dim, of floats."
    far = input - peak(input, dim)
    far -= np.log(total(np.exp(far), dim))
    return far


def as_floats(input, dtype, name: str):
    """What a softmax is taken of; PyTorch refuses integers unless a dtype is given."""
    if dtype is not None:
        input = input.to(asked(dtype))
    if input.storage.value.dtype.category != 2:
        kernel = f"{'log_' if 'log' in name else ''}softmax_lastdim_kernel_impl"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.short}'")
    return input


@composite(samples=lambda rng: [((normal(rng, 3, 5),), {"dim": 0})])
def softmax(input, dim: int, dtype: object = None):
    "Exponentials divided by their sum along dim; as `dtype` where given, cast before."
    if dtype is not None or input.storage.value.dtype.category != 2:
        input = as_floats(input, dtype, "softmax")
    return input._softmax(dim)


@composite(samples=lambda rng: [((normal(rng, 3, 5),), {"dim": 0})])
def log_softmax(input, dim: int, dtype: object = None):
    "The logarithm of `softmax`, exact where that underflows."
    if dtype is not None or input.storage.value.dtype.category != 2:
        input = as_floats(input, dtype, "log_softmax")
    return input._log_softmax(dim)


@composite(samples=lambda rng: [((normal(rng, 3, 5),), {"dim": 0})], method=False,
           torch="nn.functional.softmin")  # fmt: skip
def softmin(input, dim: int, dtype: object = None):
    "`softmax` of -input."
    return as_floats(-input, dtype, "softmin")._softmax(dim)
