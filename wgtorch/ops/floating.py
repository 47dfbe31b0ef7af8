"""The parts of a floating-point number: mantissa, exponent, neighbours."""

from __future__ import annotations

import numpy as np

from wgtorch.dtype import bfloat16, float16, int32, result_kind
from wgtorch.op import composite, elementwise
from wgtorch.ops.arguments import floats_only, no_numbers, nothing, nothing_for_other
from wgtorch.ops.samples import binary, integers, normal, unary
from wgtorch.settled import results
from wgtorch.storage import View


@composite(samples=lambda rng: [((normal(rng, 3, 5), integers(rng, 3, 5)), {})], inplace=True)
def ldexp(input, other):
    "input * 2 ** other"
    no_numbers("ldexp", 2, input=input, other=other)
    if input.is_floating_point() and isinstance(other, View) and other.dtype.category < 2:
        other = other.to(input.dtype)
    return input * (2.0**other)


@elementwise(
    "frexp_mantissa(input)",
    vjp={"input": lambda grad, input: grad / 2.0 ** input.detach()._frexp_exponent()},
    samples=unary(),
    refuses=floats_only("frexp"),
    inplace=False,
    torch="-",
)
def _frexp_mantissa(input):
    "The mantissa, of size in [0.5, 1)"
    return np.frexp(input)[0]


@elementwise(
    "frexp_exponent(input)",
    vjp={"input": nothing},
    samples=unary(),
    refuses=floats_only("frexp"),
    inplace=False,
    torch="-",
)
def _frexp_exponent(input):
    "The exponent that belongs to the mantissa, as a float"
    return np.where(np.isfinite(input), np.frexp(input)[1], 0).astype(input.dtype)


@composite(samples=unary())
def frexp(input):
    "(mantissa, exponent): input is mantissa * 2 ** exponent, the mantissa of size in [0.5, 1)."
    if not input.is_floating_point():
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    exponent = input.detach()._frexp_exponent().to(int32)
    return results("frexp", ("mantissa", "exponent"))(input._frexp_mantissa(), exponent)


def neighbours(kind):
    """Two operands whose numbers are of a narrower dtype."""
    return binary(lambda rng, *shape: normal(rng, *shape).astype(kind).astype(np.float32))


def next_number(wgsl: str, kind, vjp):
    return elementwise(
        wgsl,
        vjp=vjp,
        samples=neighbours(kind),
        refuses=floats_only("nextafter_cpu"),
        inplace=False,
        torch="-",
    )


@next_number(
    "nextafter(input, other)", np.float32, {"input": lambda grad: grad, "other": nothing_for_other}
)
def _nextafter(input, other):
    "The next float32 or float64 after input, on the way to other"
    return np.nextafter(input, other)


@next_number("nextafter_half(input, other)", np.float16, {})
def _nextafter_half(input, other):
    "The next float16 after input, on the way to other"
    x, y = input.astype(np.float16), other.astype(np.float16)
    return np.where(x == y, y, np.nextafter(x, y)).astype(input.dtype)  # of zeros numpy gives x


@next_number("nextafter_brain(input, other)", bfloat16.np, {})
def _nextafter_brain(input, other):
    "The next bfloat16 after input, on the way to other"
    x, y = input.astype(bfloat16.np), other.astype(bfloat16.np)
    return np.nextafter(x, y).astype(input.dtype)


NEXT = {float16: "_nextafter_half", bfloat16: "_nextafter_brain"}


@composite(apart="part", samples=binary(), inplace=True)
def nextafter(input, other):
    "The next number of the dtype after input, on the way to other"
    return getattr(input, NEXT.get(result_kind(input.dtype, other.dtype), "_nextafter"))(other)
