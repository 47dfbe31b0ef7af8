"""Products of vectors and matrices. On a GPU all of them are one Product (product.py)."""

from __future__ import annotations

import numpy as np

from wgtorch.dtype import DType, bfloat16, bool_, float16, float32
from wgtorch.errors import ShapeError
from wgtorch.layout import broadcast
from wgtorch.op import Facts, Structured, composite, declare
from wgtorch.ops.arguments import C_NAMES
from wgtorch.ops.dense import Side, dense
from wgtorch.ops.readers import mergeable
from wgtorch.ops.samples import integers, normal
from wgtorch.storage import View

MM_DTYPES = "expected m1 and m2 to have the same dtype, but got: {c} != {d}; cast one with .to({b})"
SCALAR_TYPES = "expected scalar type {a.short} but found {b.short}"


def one_dtype(said: str, kernel: str):
    """A dtype rule: the matrices have one dtype, which is not bool. The errors are PyTorch's."""

    def rule(input: DType, other: DType, *rest: DType | None, **attrs) -> DType:
        if input is not other:
            raise RuntimeError(
                said.format(a=input, b=other, c=C_NAMES[input.name], d=C_NAMES[other.name])
            )
        if input is bool_:
            raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")
        return input

    return rule


def sides(facts: Facts, names: tuple[str, str]) -> tuple[Side, Side]:
    x, y = (Side(n, facts.dtypes[i], facts.layouts[i]) for i, n in enumerate(names))
    return x, y


def check_inner(rows: int, inner: int, other_inner: int, cols: int) -> None:
    if inner != other_inner:
        raise ShapeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {other_inner}x{cols})"
        )


# Complex matrices


def by_parts(shape):
    """Of complex matrices, whose shapes pass: one real product of both parts, stacked, with both
    parts, side by side. The blocks of it are what complex multiplication adds and subtracts.
    """

    def way(left, right):
        shape(tuple(left.shape), tuple(right.shape))
        vector = right.ndim == 1
        right = right.unsqueeze(1) if vector else right
        rows, cols = left.shape[-2], right.shape[-1]
        stacked = left.view_as_real().movedim(-1, -3).flatten(-3, -2)
        beside = right.view_as_real().movedim(-1, -2).flatten(-2, -1)
        blocks = stacked.matmul(beside)
        top, below = blocks.narrow(-2, 0, rows), blocks.narrow(-2, rows, rows)
        real = top.narrow(-1, 0, cols) - below.narrow(-1, cols, cols)
        imag = top.narrow(-1, cols, cols) + below.narrow(-1, 0, cols)
        product = real._complex_of(imag)
        return product.squeeze(-1) if vector else product

    return way


# Matrices


def mm_shape(input, mat2):
    if len(input) != 2:
        raise ShapeError("self must be a matrix")
    if len(mat2) != 2:
        raise ShapeError("mat2 must be a matrix")
    check_inner(*input, *mat2)
    return input[0], mat2[1]


def mm_samples(rng):
    yield (normal(rng, 3, 4), normal(rng, 4, 5)), {}
    yield (normal(rng, 40, 33).T, normal(rng, 40, 17)), {}  # ragged tiles, strided
    yield (normal(rng, 8, 64), normal(rng, 12, 64).T), {}  # by fours, across
    yield (integers(rng, 5, 7), integers(rng, 7, 3)), {}
    yield (normal(rng, 3, 0), normal(rng, 0, 5)), {}  # nothing to sum


@declare(
    Structured,
    complex_way=by_parts(mm_shape),
    shape=mm_shape,
    dtype=one_dtype(MM_DTYPES, "addmm_impl_cpu_"),
    promotes=False,
    plan=lambda facts: dense(facts, *sides(facts, ("input", "mat2"))),
    vjp={
        "input": lambda grad, mat2: grad.mm(mat2.transpose(0, 1)),
        "mat2": lambda grad, input: input.transpose(0, 1).mm(grad),
    },
    samples=mm_samples,
)
def mm(input, mat2):
    "The product of two matrices, (n, k) and (k, m)."
    return np.matmul(input, mat2)


def bmm_shape(input, mat2):
    for name, shape in (("batch1", input), ("batch2", mat2)):
        if len(shape) != 3:
            raise ShapeError(f"{name} must be a 3D tensor")
    if mat2[:2] != (input[0], input[2]):
        raise ShapeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{input[0]},"
            f" {input[2]}] but got: [{mat2[0]}, {mat2[1]}]."
        )
    return input[0], input[1], mat2[2]


@declare(
    Structured,
    complex_way=by_parts(bmm_shape),
    shape=bmm_shape,
    dtype=one_dtype(SCALAR_TYPES, "bmm"),
    promotes=False,
    plan=lambda facts: dense(facts, *sides(facts, ("input", "mat2"))),
    vjp={
        "input": lambda grad, mat2: grad.bmm(mat2.transpose(1, 2)),
        "mat2": lambda grad, input: input.transpose(1, 2).bmm(grad),
    },
    samples=lambda rng: [
        ((normal(rng, 2, 3, 4), normal(rng, 2, 4, 5)), {}),
        ((normal(rng, 3, 9, 2).swapaxes(0, 2), normal(rng, 2, 3, 4)), {}),
        ((normal(rng, 0, 3, 4), normal(rng, 0, 4, 5)), {}),
    ],
)
def bmm(input, mat2):
    "The products of two batches of matrices, (b, n, k) and (b, k, m)."
    return np.matmul(input, mat2)


def matmul_shape(input, other):
    return (*input[:-1], other[-1])


@declare(
    Structured,
    complex_way=by_parts(matmul_shape),
    shape=matmul_shape,
    dtype=one_dtype(SCALAR_TYPES, "bmm"),
    promotes=False,
    plan=lambda facts: dense(facts, *sides(facts, ("input", "other"))),
    vjp={
        "input": lambda grad, other: grad.matmul(other.transpose(-2, -1)),
        "other": lambda grad, input: input.transpose(-2, -1).matmul(grad),
    },
    samples=lambda rng: [((normal(rng, 2, 3, 4, 5), normal(rng, 2, 3, 5, 6)), {})],
    torch="matmul",
)
def _matmul(input, other):
    "The products of two batches of matrices with the same batch dimensions, however many."
    return np.matmul(input, other)


def matmul_samples(rng):
    yield (normal(rng, 3, 4), normal(rng, 4, 5)), {}
    yield (normal(rng, 4), normal(rng, 4)), {}
    yield (normal(rng, 4), normal(rng, 4, 5)), {}
    yield (normal(rng, 3, 4), normal(rng, 4)), {}
    yield (normal(rng, 2, 3, 4), normal(rng, 4, 5)), {}
    yield (normal(rng, 2, 1, 3, 4), normal(rng, 3, 4, 5)), {}  # batches broadcast
    yield (normal(rng, 4), normal(rng, 2, 4, 5)), {}
    yield (normal(rng, 3, 2, 4, 5).transpose(2, 1, 0, 3), normal(rng, 5)), {}
    yield (normal(rng, 2, 3, 5, 2, 4).swapaxes(1, 2), normal(rng, 3, 4, 2)), {}


@composite(samples=matmul_samples, operator="matmul")
def matmul(input, other):
    """The product of two tensors: of vectors a number, of matrices a matrix; batch dimensions in
    front of matrices broadcast."""
    if not isinstance(input, View) or not isinstance(other, View):
        name, place = ("other", 2) if isinstance(input, View) else ("input", 1)
        kind = type(other if place == 2 else input).__name__
        raise TypeError(
            f"matmul(): argument '{name}' (position {place}) must be Tensor, not {kind}"
        )
    left, right = len(input.layout.shape), len(other.layout.shape)
    if left == 2 and right == 2:
        return input.mm(other)
    if not left or not right:
        raise ShapeError(
            f"both arguments to matmul need to be at least 1D, but they are {left}D and {right}D"
        )
    if left == 1 and right == 1:
        return input.dot(other)
    if left == 2 and right == 1:
        return input.mv(other)
    if left == 1 and right == 2:
        check_inner(1, *input.layout.shape, *other.layout.shape)
        return other.t().mv(input)
    if left == 1:
        return input.unsqueeze(0).matmul(other).squeeze(-2)
    if right == 1 or (right == 2 and input.layout.reshape(folded(input)) is not None):
        rows = rows_of(input)
        product = rows.mv(other) if right == 1 else rows.mm(other)
        return product.reshape((*input.shape[:-1], *other.shape[1:]))
    return batches(input, other)


def folded(input) -> tuple[int, int]:
    """The shape of all rows of a batch of matrices."""
    shape = input.layout.shape
    rows = 1
    for size in shape[:-1]:
        rows *= size
    return rows, shape[-1]


def rows_of(input):
    """All rows of a batch of matrices, as a matrix."""
    return input if input.ndim == 2 else input.reshape(folded(input))


def batches(input, other):
    """Both have matrices; at least one has batch dimensions."""
    x, y = input.layout.shape, other.layout.shape
    batch = broadcast(x[:-2], y[:-2])
    if x[-1] != y[-2]:
        count = int(np.prod(batch))
        raise ShapeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {x[-1]}]"
            f" but got: [{count}, {y[-2]}]."
        )
    if x[:-2] != batch:
        input = input.expand((*batch, *x[-2:]))
    if y[:-2] != batch:
        other = other.expand((*batch, *y[-2:]))
    if not mergeable(batch, input.layout, other.layout):
        input, other = input.contiguous(), other.contiguous()
    return input._matmul(other)


# Vectors


def mv_shape(input, vec):
    if len(input) != 2 or len(vec) != 1:
        raise ShapeError(f"vector + matrix @ vector expected, got 1, {len(input)}, {len(vec)}")
    rows, cols = input
    if cols != vec[0]:
        raise ShapeError(f"size mismatch, got input ({rows}), mat ({rows}x{cols}), vec ({vec[0]})")
    return (rows,)


def mv_plan(facts: Facts):
    matrix, vec = sides(facts, ("input", "vec"))
    return dense(facts, matrix, vec._replace(layout=vec.layout.unsqueeze(1)))


MV_DTYPES = (
    "addmv input tensors must have the same dtype, but got {b.short}, {a.short}, and {b.short}"
)


@declare(
    Structured,
    complex_way=by_parts(mv_shape),
    shape=mv_shape,
    dtype=one_dtype(MV_DTYPES, "addmv_impl_cpu"),
    promotes=False,
    plan=mv_plan,
    vjp={
        "input": lambda grad, vec: grad.outer(vec),
        "vec": lambda grad, input: input.t().mv(grad),
    },
    samples=lambda rng: [
        ((normal(rng, 5, 70), normal(rng, 70)), {}),
        ((normal(rng, 70, 5).T, normal(rng, 70)), {}),
        ((normal(rng, 3, 0), normal(rng, 0)), {}),
    ],
)
def mv(input, vec):
    "The product of a matrix (n, m) and a vector (m,)."
    return np.matmul(input, vec)


@composite(samples=lambda rng: [
    ((normal(rng, 50), normal(rng, 50)), {}),
    ((normal(rng, 6)[::2], normal(rng, 3)), {}),
    ((integers(rng, 5), integers(rng, 5)), {}),
    ((normal(rng, 0), normal(rng, 0)), {}),
])  # fmt: skip
def dot(input, tensor):
    "The inner product of two vectors."
    a, b = input.layout.shape, tensor.layout.shape
    if len(a) != 1 or len(b) != 1:
        raise ShapeError(f"1D tensors expected, but got {len(a)}D and {len(b)}D tensors")
    dtype = input.dtype
    if dtype is not tensor.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {dtype.short} and"
            f" {tensor.dtype.short}"
        )
    if dtype is bool_:
        raise NotImplementedError("\"dot\" not implemented for 'Bool'")
    if a != b:
        raise ShapeError(
            f"inconsistent tensor size, expected tensor [{a[0]}] and src [{b[0]}] to have the same"
            f" number of elements, but got {a[0]} and {b[0]} elements respectively"
        )
    if dtype is float16 or dtype is bfloat16:
        return (input.to(float32) * tensor.to(float32)).sum().to(dtype)
    return (input * tensor).sum().to(dtype)


@composite(samples=lambda rng: [((normal(rng, 5), normal(rng, 5)), {})])
def vdot(input, other):
    "The inner product of two vectors (of the conjugate of the first, if it is complex)."
    return input.conj().dot(other)


@composite(
    apart="part", samples=lambda rng: [((normal(rng, 3), normal(rng, 4)), {})], aliases=("ger",)
)
def outer(input, vec2):
    "The product of every element of one vector with every element of another, (n, m)."
    for name, t in (("self", input), ("vec2", vec2)):
        if len(t.layout.shape) != 1:
            raise ShapeError(
                f"outer: Expected 1-D argument {name}, but got {len(t.layout.shape)}-D"
            )
    return input.unsqueeze(1) * vec2


@composite(samples=lambda rng: [
    ((normal(rng, 2, 3), normal(rng, 4, 3)), {}), ((normal(rng, 3), normal(rng, 3)), {}),
])  # fmt: skip
def inner(input, other):
    "The products of the last dimension of one tensor with the last dimension of another."
    a, b = input.layout.shape, other.layout.shape
    if not a or not b:
        return input * other
    if a[-1] != b[-1]:
        raise ShapeError(
            "inner() the last dimension must match on both input tensors but got shapes"
            f" {list(a)} and {list(b)}"
        )
    if len(a) == 1 and len(b) == 1:
        return input.dot(other)
    product = rows_of(input).mm(rows_of(other).t())
    return product.reshape((*a[:-1], *b[:-1]))
