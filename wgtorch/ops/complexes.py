"""Complex numbers: made of parts, taken apart, turned around.

Gradients follow PyTorch: of a real loss L, what descends is dL/d(real) + i dL/d(imaginary).
"""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from wgtorch.dtype import DType, bool_, float32, float64, get_default_dtype
from wgtorch.layout import Layout
from wgtorch.op import ViewOp, composite, declare, elementwise
from wgtorch.ops.arguments import floats_only, required
from wgtorch.ops.samples import binary, distant, normal


def complexes(rng, *shape):
    return (normal(rng, *shape) + 1j * normal(rng, *shape)).astype(np.complex64)


def only_complex(name: str):
    def gate(door):
        def call(input):
            required(name, input=input)
            return door(input) if input.dtype.is_complex else input

        return call

    return gate


# Parts


def check_complex(door):
    def call(input):
        required("view_as_real", input=input)
        if not input.dtype.is_complex:
            raise RuntimeError("view_as_real is only supported for complex tensors")
        return door(input)

    return call


def parts_layout(layout: Layout) -> Layout:
    strides = tuple([2 * stride for stride in layout.strides])
    return Layout.of((*layout.shape, 2), (*strides, 1), 2 * layout.offset)


@declare(
    ViewOp,
    layout=parts_layout,
    dtype=DType.to_real,
    vjp={"input": lambda grad: paired(grad)},
    samples=lambda rng: [((complexes(rng, 3, 5),), {})],
    gate=check_complex,
)
def view_as_real(input):
    "The same memory as real numbers: a new last dimension has the two parts."
    wide = np.ascontiguousarray(input)
    return wide.view(wide.real.dtype).reshape((*input.shape, 2))


def check_pairs(door):
    def call(input):
        required("view_as_complex", input=input)
        dtype, layout = input.dtype, input.layout
        if dtype not in (float32, float64):
            raise RuntimeError(
                "view_as_complex is only supported for half, float and double tensors, but got a"
                f" tensor of scalar type: {dtype.short}"
            )
        check_strides(layout)
        return door(input)

    return call


def check_strides(layout: Layout) -> None:
    wrong = why_no_pairs(layout)
    if wrong:
        raise RuntimeError(wrong)


def paired(parts: Any) -> Any:
    """Parts as complex numbers, copied where their memory cannot be seen so."""
    if why_no_pairs(parts.layout):
        parts = parts.contiguous().reshape(parts.layout.shape)  # strides of size 1 made even
    if why_no_pairs(parts.layout):
        parts = parts.clone()
    return parts.view_as_complex()


def why_no_pairs(layout: Layout) -> str:
    """PyTorch's complaint of memory that holds no pairs; "" if it does."""
    wrong = ""
    if not layout.shape:
        wrong = "Input tensor must have one or more dimensions"
    elif layout.shape[-1] != 2:
        wrong = "Tensor must have a last dimension of size 2"
    elif layout.strides[-1] != 1:
        wrong = "Tensor must have a last dimension with stride 1"
    elif any(stride % 2 for stride in layout.strides[:-1]):
        wrong = "Tensor must have a stride divisible by 2 for all but last dimension"
    elif layout.offset % 2:
        wrong = "Tensor must have a storage_offset divisible by 2"
    return wrong


def pairs_layout(layout: Layout) -> Layout:
    strides = tuple([stride // 2 for stride in layout.strides[:-1]])
    return Layout.of(layout.shape[:-1], strides, layout.offset // 2)


@declare(
    ViewOp,
    layout=pairs_layout,
    dtype=DType.to_complex,
    vjp={"input": lambda grad: grad.view_as_real()},
    samples=lambda rng: [((normal(rng, 3, 5, 2),), {})],
    gate=check_pairs,
)
def view_as_complex(input):
    "The same memory as complex numbers: the last dimension, of size 2, has their parts."
    return input[..., 0] + 1j * input[..., 1]


def part(input: Any, which: int) -> Any:
    return input.view_as_real().select(-1, which)


@composite(samples=lambda rng: [((complexes(rng, 3, 5),), {}), ((normal(rng, 3),), {})],
           method=False)  # fmt: skip
def real(input):
    "The real parts: a view of the same memory; of real numbers themselves."
    return part(input, 0) if input.dtype.is_complex else input


@composite(samples=lambda rng: [((complexes(rng, 3, 5),), {})], method=False)
def imag(input):
    "The imaginary parts: a view of the same memory."
    if not input.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return part(input, 1)


def of_one_float_dtype(door, op: str = "complex", names: tuple[str, str] = ("real", "imag")):
    def call(real, imag):
        required(op, **dict(zip(names, (real, imag), strict=True)))
        a, b = real.dtype, imag.dtype
        if a.category != 2 or b.category != 2:
            raise RuntimeError(
                "Expected both inputs to be Half, Float or Double tensors but got"
                f" {a.short} and {b.short}"
            )
        if a is not b:
            raise RuntimeError(
                f"Expected object of scalar type {a.short} but got scalar type {b.short} for"
                " second argument"
            )
        return door(real, imag)

    return call


@elementwise(
    "c64(real, imag)",
    vjp={"real": lambda grad: grad.real, "imag": lambda grad: grad.imag},
    samples=binary(),
    refuses=floats_only("complex"),
    result="complex",
    gate=of_one_float_dtype,
    method=False,
    inplace=False,
)
def complex_(real, imag):
    "Complex numbers of these parts."
    out = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imag)),
                   np.result_type(real, np.complex64))  # fmt: skip
    out.real, out.imag = real, imag
    return out


@composite(samples=binary(distant, normal), method=False)
def polar(abs, angle):
    "Complex numbers of this length, at this angle."
    return of_one_float_dtype(in_polar_form, "polar", ("abs", "angle"))(abs, angle)


def in_polar_form(abs, angle):
    return of_parts(abs * angle.cos(), abs * angle.sin())


def of_parts(real: Any, imag: Any) -> Any:
    """`complex`, where the parts are tensors of one dtype."""
    return real._complex_of(imag)


@elementwise(
    "c64(input, other)",
    vjp={"input": lambda grad: grad.real, "other": lambda grad: grad.imag},
    samples=binary(),
    refuses=floats_only("complex"),
    result="complex",
    torch="complex",
    inplace=False,
)
def _complex_of(input, other):
    "Complex numbers of these parts."
    return complex_.reference(input, other)


# Turned around


@elementwise(
    "input",
    complex="conj(input)",
    holomorphic=False,
    vjp={"input": lambda grad: grad.conj_physical()},
    samples=lambda rng: [((complexes(rng, 3, 5),), {})],
    gate=only_complex("conj_physical"),
)
def conj_physical(input):
    "The conjugate: the imaginary part negated."
    return np.conj(input)


@composite(samples=lambda rng: [((complexes(rng, 3, 5),), {}), ((normal(rng, 3),), {})])
def conj(input):
    "The conjugate: the imaginary part negated. Computed where it is used, not a view."
    return input.conj_physical() if input.dtype.is_complex else input


@composite(samples=lambda rng: [((complexes(rng, 3, 5),), {})])
def resolve_conj(input):
    "The input: no tensor here is a conjugate to be."
    return input


@composite(samples=lambda rng: [((normal(rng, 3, 5),), {})])
def resolve_neg(input):
    "The input: no tensor here is a negative to be."
    return input


@composite(samples=None)
def is_conj(input):
    "Whether it is a conjugate to be: never."
    return False


@composite(samples=None)
def is_neg(input):
    "Whether it is a negative to be: never."
    return False


@composite(samples=lambda rng: [((complexes(rng, 2, 3, 5),), {})])
def adjoint(input):
    "The conjugate of each matrix, transposed."
    return input.transpose(-2, -1).conj() if matrix_like("adjoint()", input) else input.conj()


def matrix_like(op: str, input) -> bool:
    """Whether it has matrices; a number is as good as one, a vector is not."""
    if input.ndim == 1:
        raise RuntimeError(
            f"tensor.{op} is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    return input.ndim > 1


def of_angle(grad, input):
    """The angle grows along the tangent, i z / |z|^2."""
    size = input.abs()
    return (grad * 1j * (input / size / size)).masked_fill(size == 0, 0)


@elementwise(
    "input",
    complex="angle(input)",
    holomorphic=False,
    result="real",
    vjp={"input": of_angle},
    samples=lambda rng: [((complexes(rng, 3, 5),), {})],
    torch="angle",
    inplace=False,
)
def _angle(input):
    "The angle of complex numbers."
    return np.angle(input)


@composite(samples=lambda rng: [((complexes(rng, 3, 5),), {}), ((normal(rng, 7),), {})])
def angle(input):
    "The angle to the positive real axis, in radians: of real numbers 0 or pi, NaN of NaN."
    if input.dtype.is_complex:
        return input._angle()
    if input.dtype.category < 2:
        input = input.to(get_default_dtype())
    straight = (input < 0).to(input.dtype) * pi
    return straight.where(~input.isnan(), input)


def of_direction(grad, input, result):
    """Along the ray nothing changes; across it, the longer the less."""
    across = (grad - grad.conj() * result.square()) / (2 * input.abs())
    return across.masked_fill(input == 0, 0)


@elementwise(
    "input",
    complex="sgn(input)",
    holomorphic=False,
    vjp={"input": of_direction},
    samples=lambda rng: [((complexes(rng, 3, 5),), {})],
    torch="sgn",
)
def _sgn(input):
    "The direction of complex numbers."
    size = np.abs(input)
    return np.where(size == 0, np.zeros_like(input), input / np.where(size == 0, 1, size))


@composite(samples=lambda rng: [((complexes(rng, 3, 5),), {}), ((distant(rng, 7),), {})],
           inplace=True)  # fmt: skip
def sgn(input):
    "The direction of each number, of length 1; 0 of 0. Of real numbers the sign."
    return input._sgn() if input.dtype.is_complex else input.sign()


# Questions


@composite(samples=lambda rng: [((np.array([1, 2j, 3 + 0j], np.complex64),), {})])
def isreal(input):
    "Whether the imaginary part is zero."
    if input.dtype.is_complex:
        return part(input, 1) == 0
    return input.new_full(input.shape, True, dtype=bool_)


def by_real_parts(door):
    """Does to each part what the op does to a real number."""

    def call(input, *args, **given):
        if not input.dtype.is_complex:
            return door(input, *args, **given)
        return paired(door(input.view_as_real(), *args, **given))

    return call
