"""Products with something added: addmm and its family, and the linear layer."""

from __future__ import annotations

from functools import partial

import numpy as np

from wgtorch.dtype import DType, bool_, promote_types
from wgtorch.op import Facts, Maybe, Structured, composite, declare
from wgtorch.ops.arguments import C_NAMES, as_element, as_number
from wgtorch.ops.dense import Side, Sum, dense
from wgtorch.ops.linalg import MM_DTYPES, bmm_shape, check_inner, folded, rows_of
from wgtorch.ops.readers import FLOATS
from wgtorch.ops.samples import integers, normal
from wgtorch.storage import View

# The errors, which are PyTorch's


def alike(input: DType, first: DType, second: DType, **attrs) -> DType:
    if not input is first is second:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {input.short} and {second.short}"
        )
    if input is bool_:
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")
    return input


def check_expands(have: tuple[int, ...], want: tuple[int, ...]) -> None:
    """Whether an addend fits the result."""
    new = len(want) - len(have)
    if new < 0:
        raise RuntimeError(
            f"expand(torch.FloatTensor{{{list(have)}}}, size={list(want)}): the number of sizes"
            f" provided ({len(want)}) must be greater or equal to the number of dimensions in the"
            f" tensor ({len(have)})"
        )
    for d in reversed(range(new, len(want))):
        if have[d - new] not in (1, want[d]):
            raise RuntimeError(
                f"The expanded size of the tensor ({want[d]}) must match the existing size"
                f" ({have[d - new]}) at non-singleton dimension {d}.  Target sizes: {list(want)}. "
                f" Tensor sizes: {list(have)}"
            )


# alpha * product + beta * input


def scaled(shape, names, door):
    """One kernel for what is computed as float; else the product first, then the sum. The matrices
    have these names."""

    def call(input, *pair, beta=1, alpha=1, **named):
        pair += tuple([named.pop(n) for n in names[len(pair) :] if n in named])
        if named or len(pair) != 2:
            return door(input, *pair, **named)  # which complains
        first, second = pair
        tensors = (input, first, second)
        alpha = as_number(door.__name__, "alpha", alpha)
        beta = as_number(door.__name__, "beta", beta)
        if type(alpha) is complex or type(beta) is complex:
            alpha, beta = (as_element(n, input.dtype) for n in (alpha, beta))
        if not all(isinstance(t, View) for t in tensors) or (beta and input.dtype in FLOATS):
            return door(input, first, second, beta=beta, alpha=alpha)
        alike(*(t.dtype for t in tensors))
        if input.dtype.category < 2:
            alpha, beta = int(alpha), int(beta)
        shape(*(t.layout.shape for t in tensors))
        product = first.matmul(second)
        product = product if alpha == 1 else product * alpha
        return (product + input * beta if beta else product).to(input.dtype)

    return call


def planned(first: str, second: str):
    """The plan of an op whose matrices have these names."""

    def plan(facts: Facts):
        input, x, y = facts.layouts
        dtype, attrs = facts.out_dtypes[0], facts.attrs
        side = Side("input", dtype, input.expand(facts.out.shape))
        sum = Sum(side, attrs["alpha"], attrs["beta"])
        return dense(facts, Side(first, dtype, x), Side(second, dtype, y), sum)

    return plan


def times(tensor, factor: float):
    return tensor if factor == 1 else tensor * factor


def addmm_shape(input, mat1, mat2, **attrs):
    for name, shape in (("mat1", mat1), ("mat2", mat2)):
        if len(shape) != 2:
            raise RuntimeError(f"{name} must be a matrix, got {len(shape)}-D tensor")
    check_inner(*mat1, *mat2)
    shape = (mat1[0], mat2[1])
    check_expands(input, shape)
    return shape


def addmm_samples(rng):
    yield (normal(rng, 5), normal(rng, 3, 4), normal(rng, 4, 5)), {}
    yield (normal(rng, 3, 1), normal(rng, 3, 4), normal(rng, 4, 8)), {"beta": 0.5, "alpha": -2.0}
    yield (normal(rng, 9, 7).T, normal(rng, 7, 4), normal(rng, 9, 4).T), {"alpha": 3}
    yield (integers(rng, 5), integers(rng, 3, 4), integers(rng, 4, 5)), {"beta": 2, "alpha": 3}
    yield (normal(rng, 5), normal(rng, 3, 4), normal(rng, 4, 5)), {"beta": 0}


@declare(
    Structured,
    gate=partial(scaled, addmm_shape, ("mat1", "mat2")),
    shape=addmm_shape,
    dtype=alike,
    promotes=False,
    plan=planned("mat1", "mat2"),
    vjp={
        "input": lambda grad, input_shape, beta: times(grad.sum_to_size(input_shape), beta),
        "mat1": lambda grad, mat2, alpha: times(grad.mm(mat2.t()), alpha),
        "mat2": lambda grad, mat1, alpha: times(mat1.t().mm(grad), alpha),
    },
    samples=addmm_samples,
    inplace=True,
)
def addmm(input, mat1, mat2, *, beta: float = 1, alpha: float = 1):
    "beta * input + alpha * (mat1 @ mat2)."
    return input * beta + np.matmul(mat1, mat2) * alpha


def baddbmm_shape(input, batch1, batch2, **attrs):
    shape = bmm_shape(batch1, batch2)
    check_expands(input, shape)
    return shape


def transposed(batch):
    return batch.transpose(1, 2)


@declare(
    Structured,
    gate=partial(scaled, baddbmm_shape, ("batch1", "batch2")),
    shape=baddbmm_shape,
    dtype=alike,
    promotes=False,
    plan=planned("batch1", "batch2"),
    vjp={
        "input": lambda grad, input_shape, beta: times(grad.sum_to_size(input_shape), beta),
        "batch1": lambda grad, batch2, alpha: times(grad.bmm(transposed(batch2)), alpha),
        "batch2": lambda grad, batch1, alpha: times(transposed(batch1).bmm(grad), alpha),
    },
    samples=lambda rng: [
        ((normal(rng, 2, 1, 5), normal(rng, 2, 3, 4), normal(rng, 2, 4, 5)), {}),
        ((normal(rng), normal(rng, 2, 3, 4), normal(rng, 2, 4, 8)), {"beta": 2, "alpha": 0.5}),
    ],
    inplace=True,
)
def baddbmm(input, batch1, batch2, *, beta: float = 1, alpha: float = 1):
    "beta * input + alpha * (batch1 @ batch2), of batches of matrices."
    return input * beta + np.matmul(batch1, batch2) * alpha


@composite(samples=lambda rng: [
    ((normal(rng, 3, 5), normal(rng, 2, 3, 4), normal(rng, 2, 4, 5)), {}),
    ((normal(rng, 5), normal(rng, 2, 3, 4), normal(rng, 2, 4, 5)), {"beta": 2, "alpha": 3}),
], inplace=True)  # fmt: skip
def addbmm(input, batch1, batch2, *, beta: float = 1, alpha: float = 1):
    "beta * input + alpha * the sum of all batch1[i] @ batch2[i]."
    a, b = batch1.layout.shape, batch2.layout.shape
    for name, shape in (("batch1", a), ("batch2", b)):
        if len(shape) != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if a[0] != b[0]:
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {a[0]} and {b[0]}"
        )
    if a[2] != b[1]:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({a[1]}x{a[2]} and {b[1]}x{b[2]})")
    check_expands(input.layout.shape, (a[1], b[2]))
    # side by side, the batches are one long k
    long = batch1.transpose(0, 1).reshape((a[1], a[0] * a[2]))
    return input.addmm(long, batch2.reshape((a[0] * a[2], b[2])), beta=beta, alpha=alpha)


@composite(samples=lambda rng: [
    ((normal(rng, 3), normal(rng, 3, 4), normal(rng, 4)), {}),
    ((normal(rng), normal(rng, 3, 4), normal(rng, 4)), {"beta": 2, "alpha": 3}),
], inplace=True)  # fmt: skip
def addmv(input, mat, vec, *, beta: float = 1, alpha: float = 1):
    "beta * input + alpha * (mat @ vec)."
    sizes = [len(t.layout.shape) for t in (input, mat, vec)]
    if sizes[0] > 1 or sizes[1:] != [2, 1]:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {sizes[0]}, {sizes[1]}, {sizes[2]}"
        )
    rows, cols = mat.layout.shape
    size = input.layout.numel
    if cols != vec.layout.numel or size not in (1, rows):
        raise RuntimeError(
            f"size mismatch, got input ({size}), mat ({rows}x{cols}), vec ({vec.layout.numel})"
        )
    column = input.unsqueeze(-1) if sizes[0] else input
    return column.addmm(mat, vec.unsqueeze(1), beta=beta, alpha=alpha).squeeze(1)


@composite(samples=lambda rng: [
    ((normal(rng, 3, 4), normal(rng, 3), normal(rng, 4)), {}),
    ((normal(rng, 4), normal(rng, 3), normal(rng, 4)), {"beta": 2, "alpha": 3}),
], inplace=True)  # fmt: skip
def addr(input, vec1, vec2, *, beta: float = 1, alpha: float = 1):
    "beta * input + alpha * outer(vec1, vec2)."
    for name, t in (("vec1", vec1), ("vec2", vec2)):
        if len(t.layout.shape) != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {t.ndim}-D")
    check_expands(input.layout.shape, (vec1.layout.numel, vec2.layout.numel))
    product = vec1.unsqueeze(1) * vec2
    kind = promote_types(product.dtype, input.dtype)
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, float) and kind.category < 2:
            raise RuntimeError(
                f"For integral input tensors, argument {name} must not be a floating point number."
            )
    if kind is bool_:
        alpha, beta = bool(alpha), bool(beta)
    product = times(product, alpha).to(kind)
    return product + times(input, beta) if beta else product


# The layer


def linear_gate(door):
    def call(input, weight, bias=None):
        if not isinstance(input, View) or not isinstance(weight, View):
            return door(input, weight, bias)
        rank, weight_rank = len(input.layout.shape), len(weight.layout.shape)
        if not rank or not weight_rank:
            raise RuntimeError(
                f"both arguments to linear need to be at least 1D, but they are {rank}D and"
                f" {weight_rank}D"
            )
        if weight_rank == 1 or input.dtype not in FLOATS:
            product = input.matmul(weight.t())
            return product if bias is None else product + bias
        if rank > 2 and input.layout.reshape(folded(input)) is None:
            input = input.contiguous()
        return door(input, weight, bias)

    return call


def linear_shape(input, weight, bias):
    if len(weight) != 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(weight)}D")
    rows = 1
    for size in input[:-1]:
        rows *= size
    check_inner(rows, input[-1], weight[1], weight[0])
    shape = (*input[:-1], weight[0])
    if bias is not None:
        check_expands(bias, (rows, weight[0]))
    return shape


def linear_dtype(input: DType, weight: DType, bias: DType | None) -> DType:
    if input is not weight:
        names = C_NAMES[input.name], C_NAMES[weight.name]
        raise RuntimeError(MM_DTYPES.format(b=weight, c=names[0], d=names[1]))
    return alike(bias or input, input, weight)


def linear_plan(facts: Facts):
    input, weight, bias = facts.layouts
    dtype, shape = facts.out_dtypes[0], facts.out.shape
    if not facts.out.numel:
        return []
    flat = (facts.out.numel // shape[-1], shape[-1])
    x = input.reshape((flat[0], input.shape[-1]))
    sum = Sum(Side("bias", dtype, bias.expand(flat))) if bias else None
    return dense(facts, Side("input", dtype, x), Side("weight", dtype, weight.permute((1, 0))), sum)


@declare(
    Structured,
    gate=linear_gate,
    shape=linear_shape,
    dtype=linear_dtype,
    promotes=False,
    plan=linear_plan,
    vjp={
        "input": lambda grad, weight: grad.matmul(weight),
        "weight": lambda grad, input: rows_of(grad).t().mm(rows_of(input)),
        "bias": lambda grad, bias_shape: grad.summed_to(bias_shape),
    },
    samples=lambda rng: [
        ((normal(rng, 3, 4), normal(rng, 5, 4), normal(rng, 5)), {}),
        ((normal(rng, 2, 3, 4), normal(rng, 8, 4)), {}),
        ((normal(rng, 4), normal(rng, 5, 4), normal(rng, 5)), {}),
        ((normal(rng, 3, 6, 2).T, normal(rng, 4, 5).T[:, :3], normal(rng, 1)), {}),
    ],
    torch="nn.functional.linear",
    method=False,
)
def linear(input, weight, bias: Maybe = None):
    "input @ weight.T + bias: `input` (..., k), `weight` (m, k), `bias` (m,)."
    product = np.matmul(input, weight.T)
    return product if bias is None else product + bias
