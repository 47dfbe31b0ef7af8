"""What convolutions and their gradients are made of, in one dimension or two.

Three maps are enough, each the gradient of the others: from images and weight to windowed sums
(`convolution`), from those back to images (`convolution` transposed), and from images and sums to
a weight (`_convolution_weight`). On a GPU each is a Product whose columns are gathered on the way
in (windows.py); here they are numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from wgtorch.dtype import DType, bool_
from wgtorch.op import Maybe, Sizes, Structured, declare
from wgtorch.ops.few_channels import alone_plan, tap_plan
from wgtorch.ops.samples import normal
from wgtorch.ops.spreading import spread_plan
from wgtorch.ops.windows import flat_taps, weight_plan, window_plan
from wgtorch.storage import View


def window_count(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """How many places a window of `kernel` taps has along an axis."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def spread_size(size: int, kernel: int, stride: int, padding: int, dilation: int, more: int) -> int:
    """How long an axis is that gives `size` places; `more` says which of several."""
    return (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + more + 1


# The reference


def windows(images: np.ndarray, kernel, stride, padding, dilation) -> np.ndarray:
    """(images, channels, *places, *taps) of images with zeros around them; a view."""
    pads = [(0, 0), (0, 0), *((p, p) for p in padding)]
    padded = np.pad(images, pads) if any(padding) else images
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    axes = tuple(range(2, images.ndim))
    seen = sliding_window_view(padded, reach, axes)
    steps = tuple(slice(None, None, s) for s in stride)
    taps = tuple(slice(None, None, d) for d in dilation)
    return seen[(slice(None), slice(None), *steps, *taps)]


def grouped(array: np.ndarray, axis: int, groups: int) -> np.ndarray:
    """With `axis` as (groups, members)."""
    shape = array.shape
    return array.reshape(*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])


def correlated(images, weight, stride, padding, dilation, groups) -> np.ndarray:
    """Windowed sums: as a product of matrices for each group."""
    seen = windows(images, weight.shape[2:], stride, padding, dilation)
    places = seen.shape[2 : images.ndim]
    count, rank = len(images), len(places)
    taps = prod(weight.shape[1:])
    seen = grouped(seen, 1, groups)  # n g c *places *taps
    order = (1, 2, *range(3 + rank, 3 + 2 * rank), 0, *range(3, 3 + rank))
    columns = seen.transpose(order).reshape(groups, taps, count * prod(places))
    rows = weight.reshape(groups, len(weight) // groups, taps)
    sums = np.matmul(rows, columns).reshape(len(weight), count, *places)
    return np.ascontiguousarray(np.moveaxis(sums, 0, 1))


def spread(sums, weight, size, stride, padding, dilation, groups) -> np.ndarray:
    """Each sum given back to the elements that its window saw, tap by tap."""
    count, places, kernel = len(sums), sums.shape[2:], weight.shape[2:]
    inner, each = weight.shape[1], len(weight) // groups
    rows = weight.reshape(groups, each, inner * prod(kernel)).swapaxes(1, 2)
    columns = np.moveaxis(sums, 1, 0).reshape(groups, each, count * prod(places))
    parts = np.matmul(rows, columns).reshape(groups * inner, *kernel, count, *places)
    reach = [
        max(n + 2 * p, (o - 1) * s + d * (k - 1) + 1)
        for n, p, o, s, d, k in zip(size, padding, places, stride, dilation, kernel, strict=True)
    ]
    padded = np.zeros((groups * inner, count, *reach), parts.dtype)
    for tap in np.ndindex(*kernel):
        steps = [
            slice(t * d, t * d + (o - 1) * s + 1, s)
            for t, d, o, s in zip(tap, dilation, places, stride, strict=True)
        ]
        padded[(slice(None), slice(None), *steps)] += parts[(slice(None), *tap)]
    inside = [slice(p, p + n) for p, n in zip(padding, size, strict=True)]
    return np.moveaxis(padded[(slice(None), slice(None), *inside)], 0, 1)


def tap_sums(images, sums, kernel, stride, padding, dilation, groups) -> np.ndarray:
    """For each tap, the sum over all places of what it saw times what came of it."""
    seen = windows(images, kernel, stride, padding, dilation)
    places, rank = sums.shape[2:], sums.ndim - 2
    count, channels = len(images) * prod(places), images.shape[1] // groups
    seen = seen[(slice(None), slice(None), *(slice(n) for n in places))]
    seen = grouped(seen, 1, groups)
    order = (1, 2, *range(3 + rank, 3 + 2 * rank), 0, *range(3, 3 + rank))
    columns = seen.transpose(order).reshape(groups, channels * prod(kernel), count)
    rows = np.moveaxis(grouped(sums, 1, groups), 0, 2)
    rows = rows.reshape(groups, sums.shape[1] // groups, count)
    products = np.matmul(rows, columns.swapaxes(1, 2))  # copied along places: half the time
    return products.reshape(sums.shape[1], channels, *kernel)


# What is asked of arguments; the errors are PyTorch's


def check_numbers(stride, padding, dilation, groups, output_padding) -> None:
    for bad, said in (
        (min(padding) < 0, "negative padding is not supported"),
        (min(output_padding) < 0, "negative output_padding is not supported"),
        (min(stride) <= 0, "non-positive stride is not supported"),
        (min(dilation) <= 0, f"dilation should be greater than zero, but got {list(dilation)}"),
        (groups <= 0, "non-positive groups is not supported"),
    ):
        if bad:
            raise RuntimeError(said)


def check_channels(input, weight, bias, transposed: bool, groups: int) -> int:
    """How many channels come out."""
    said = f"Given transposed={int(transposed)}" if transposed else f"Given groups={groups}"
    if len(input) != len(weight):
        raise RuntimeError(
            f"Expected {len(weight)}-dimensional input for {len(weight)}-dimensional weight"
            f" {list(weight)}, but got {len(input)}-dimensional input of size {list(input)} instead"
        )
    if 0 in weight[2:]:
        raise RuntimeError(f"kernel size should be greater than zero, but got {list(weight[2:])}")
    if weight[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but"
            f" got weight of size {list(weight)} instead"
        )
    if weight[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0,"
            f" but got weight of size [{list(weight)}] instead"
        )
    wanted = weight[0] if transposed else weight[1] * groups
    if input[1] != wanted:
        raise RuntimeError(
            f"{said}, weight of size {list(weight)}, expected input{list(input)} to have {wanted}"
            f" channels, but got {input[1]} channels instead"
        )
    channels = weight[1] * groups if transposed else weight[0]
    if bias is not None and bias != (channels,):
        said = f"{said}, weight" if transposed else "Given weight"
        raise RuntimeError(
            f"{said} of size {list(weight)}, expected bias to be 1-dimensional with {channels}"
            f" elements, but got bias of size {list(bias)} instead"
        )
    return channels


def by(sizes: Sequence[int]) -> str:
    return f"({' x '.join(map(str, sizes))})"


def check_output_padding(output_padding, stride, dilation) -> None:
    if any(o >= max(s, d) for o, s, d in zip(output_padding, stride, dilation, strict=True)):
        names = ("depth", "height", "width")[-len(stride) :]
        parts = (("output_padding", output_padding), ("stride", stride), ("dilation", dilation))
        said = [f"{n}_{axis}: {v[i]}" for n, v in parts for i, axis in enumerate(names)]
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got"
            f" {' '.join(said)}"
        )


def result_shape(
    input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
):
    check_numbers(stride, padding, dilation, groups, output_padding)
    channels = check_channels(input, weight, bias, transposed, groups)
    size, kernel = input[2:], weight[2:]
    each = zip(size, kernel, stride, padding, dilation, strict=True)
    if transposed:
        check_output_padding(output_padding, stride, dilation)
        out = [spread_size(*axis, more) for axis, more in zip(each, output_padding, strict=True)]
        check_elements(input)
        if min(out) < (1 if input[0] else 0):
            raise RuntimeError(
                f"Given input size per channel: {by(size)}. Calculated output size per channel:"
                f" {by(out)}. Output size is too small"
            )
        return (input[0], channels, *out)
    padded = [n + 2 * p for n, p in zip(size, padding, strict=True)]
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    if any(r > n for r, n in zip(reach, padded, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: {by(padded)}. Kernel size:"
            f" {by(reach)}. Kernel size can't be greater than actual input size"
        )
    check_elements(input)
    return (input[0], channels, *(window_count(*axis) for axis in each))


def check_elements(input) -> None:
    if 0 in input[2:] and input[0] and input[1]:
        raise RuntimeError(
            "Only zero batch or zero channel inputs are supported, but got input shape:"
            f" {list(input)}"
        )


def of_nothing(input, weight, bias, *attrs):
    """The sums where no element is seen, with gradients of zeros; attrs as in `convolution`."""
    biases, kind = (None, None) if bias is None else (tuple(bias.shape), bias.dtype)
    shape = result_shape(tuple(input.shape), tuple(weight.shape), biases, *attrs)
    result_dtype(input.dtype, weight.dtype, kind)
    out = input.new_zeros(shape) + (input.sum() + weight.narrow(0, 0, 0).sum())
    return out if bias is None else out + bias.reshape((-1, *[1] * (len(shape) - 2)))


def result_dtype(input: DType, weight: DType, bias: DType | None, *rest, **attrs) -> DType:
    if input is not weight:
        raise RuntimeError(f"expected scalar type {input.short} but found {weight.short}")
    check_bias_type(input, bias)
    if input is bool_:
        raise NotImplementedError("\"slow_conv2d_cpu\" not implemented for 'Bool'")
    return input


SPELLED = {"Float": "float", "Double": "double", "ComplexFloat": "c10::complex<float>",
           "ComplexDouble": "c10::complex<double>"}  # fmt: skip


def check_bias_type(input: DType, bias: DType | None) -> None:
    if bias is not None and bias is not input:
        a, b = (SPELLED.get(d.short, f"c10::{d.short}") for d in (input, bias))
        raise RuntimeError(f"Input type ({a}) and bias type ({b}) should be the same")


# The maps


def leftover(input_shape, grad_shape, weight_shape, stride, padding, dilation) -> Sizes:
    """The output padding with which a gradient spreads over exactly the input."""
    each = zip(grad_shape[2:], weight_shape[2:], stride, padding, dilation, strict=True)
    return tuple(n - spread_size(*axis, 0) for n, axis in zip(input_shape[2:], each, strict=True))


def input_gradient(grad, input_shape, weight, stride, padding, dilation, transposed, groups):
    more = (0,) * len(stride)
    if not transposed:
        more = leftover(input_shape, grad.shape, weight.shape, stride, padding, dilation)
    given = grad.convolution(weight, None, stride, padding, dilation, not transposed, more, groups)
    return cut(given, input_shape)


def cut(sums, shape):
    """Without the places that an output padding of a stride or more adds."""
    for d in range(2, len(shape)):
        if sums.shape[d] > shape[d]:
            sums = sums.narrow(d, 0, shape[d])
    return sums


def sums_gradient(grad, input, other_shape, stride, padding, dilation, groups):
    sums = input.convolution(
        grad, None, stride, padding, dilation, False, (0,) * len(stride), groups
    )
    return cut(sums, other_shape)


def weight_gradient(grad, input, weight_shape, stride, padding, dilation, transposed, groups):
    images, sums = (grad, input) if transposed else (input, grad)
    return images._convolution_weight(
        sums, tuple(weight_shape[2:]), stride, padding, dilation, groups
    )


def samples(rng):
    def sample(input, weight, bias=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1),
               transposed=False, more=(0, 0), groups=1):  # fmt: skip
        tensors = normal(rng, *input), normal(rng, *weight)
        bias = None if bias is None else normal(rng, bias)
        return (*tensors, bias, stride, padding, dilation, transposed, more, groups), {}

    yield sample((2, 3, 5, 4), (4, 3, 3, 2), 4, padding=(1, 1))
    yield sample((2, 4, 6, 7), (6, 2, 2, 3), 6, (2, 1), (0, 2), (1, 2), groups=2)
    yield sample((1, 2, 9), (3, 2, 3), 3, (2,), (1,), (2,), more=(0,))
    yield sample((2, 3, 4, 3), (3, 2, 3, 2), 2, (2, 3), (1, 0), (1, 2), True, (1, 2))
    yield sample((2, 4, 5, 4), (4, 3, 2, 3), 6, (1, 1), (1, 1), (2, 1), True, groups=2)


def readable(door):
    """The second tensor as the kernels read it: its taps (or places) one stride apart."""

    def call(input, other, *rest, **given):
        if isinstance(other, View) and flat_taps(other.layout) is None:
            other = other.contiguous()
        return door(input, other, *rest, **given)

    return call


def with_parts(door):
    """Of complex numbers: four real ones, of each part with each."""
    of_reals = readable(door)

    def call(input, weight, bias, *rest, **given):
        if isinstance(input, View) and not input.layout.numel and not given:
            return of_nothing(input, weight, bias, *rest)
        pair = (input, weight)
        if isinstance(bias, View) and bias.dtype.is_complex:
            check_bias_type(input.dtype, bias.dtype)
        if not all(isinstance(t, View) and t.dtype.is_complex for t in pair):
            return of_reals(input, weight, bias, *rest, **given)
        (a, b), (c, d) = [(t.real.contiguous(), t.imag.contiguous()) for t in pair]
        first, second = (None, None) if bias is None else (bias.real, bias.imag)
        real = of_reals(a, c, first, *rest, **given) - of_reals(b, d, None, *rest, **given)
        imag = of_reals(a, d, second, *rest, **given) + of_reals(b, c, None, *rest, **given)
        return real._complex_of(imag)

    return call


@declare(
    Structured,
    gate=with_parts,
    shape=result_shape,
    dtype=result_dtype,
    promotes=False,
    plan=lambda facts: (
        alone_plan(facts) or (spread_plan if facts.attrs["transposed"] else window_plan)(facts)
    ),
    vjp={
        "input": input_gradient,
        "weight": weight_gradient,
        "bias": lambda grad: grad.sum((0, *range(2, len(grad.shape)))),
    },
    samples=samples,
)
def convolution(
    input, weight, bias: Maybe, stride: Sizes, padding: Sizes, dilation: Sizes, transposed: bool,
    output_padding: Sizes, groups: int,
):  # fmt: skip
    """The sums of `input` (n, c, *size), seen through windows, times `weight` (m, c / groups,
    *kernel): (n, m, *places). Transposed: its gradient, which spreads sums over what was seen."""
    if transposed:
        each = zip(
            input.shape[2:], weight.shape[2:], stride, padding, dilation, output_padding,
            strict=True,
        )  # fmt: skip
        size = [spread_size(*axis) for axis in each]
        sums = spread(input, weight, size, stride, padding, dilation, groups)
    else:
        sums = correlated(input, weight, stride, padding, dilation, groups)
    return sums if bias is None else sums + bias.reshape(-1, *[1] * len(stride))


@declare(
    Structured,
    gate=readable,
    shape=lambda input, other, kernel_size, stride, padding, dilation, groups: (
        other[1],
        input[1] // groups,
        *kernel_size,
    ),
    promotes=False,
    plan=lambda facts: tap_plan(facts) or weight_plan(facts),
    vjp={
        "input": lambda grad, other, input_shape, stride, padding, dilation, groups: (
            input_gradient(
                other, input_shape, grad, stride, padding, dilation, False, groups
            )
        ),
        "other": sums_gradient,
    },
    samples=lambda rng: [
        ((normal(rng, 2, 4, 5, 4), normal(rng, 2, 6, 2, 2), (2, 3), (2, 1), (0, 0), (1, 1), 2), {}),
    ],
    torch="none",
)  # fmt: skip
def _convolution_weight(
    input, other, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
):
    """The gradient of a convolution's weight: from its input and the gradient of its result."""
    return tap_sums(input, other, kernel_size, stride, padding, dilation, groups)
