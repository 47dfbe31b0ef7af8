"""Reductions on the GPU: which kernel folds which axes, and how many groups it takes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from wgtorch.backends.webgpu import codegen
from wgtorch.backends.webgpu.fusion import Load, Program, Promise
from wgtorch.dtype import DType
from wgtorch.layout import Layout, remembered
from wgtorch.op import REGISTRY, Reduction
from wgtorch.storage import Value

if TYPE_CHECKING:
    from wgtorch.backends.webgpu.backend import WebGPU

MAX_GROUPS = 65535


class Folder:
    def __init__(self, home: WebGPU):
        self.home = home

    def reduction(
        self, op: Reduction, source: Promise | Load, dims: tuple[int, ...], out: Layout,
        compute: DType,
    ) -> Value:  # fmt: skip
        home = self.home
        out_dtype = op.out_dtype(source.dtype)
        if not source.layout.numel:
            return self._nothing(op, out, out_dtype)
        rows, cols, inner, moved = fold_plan(source.layout, dims)
        if moved is not source.layout:
            source = Load(home.load(source).buffer, moved, source.dtype)
        program = Program(source)
        if any(step.dtype.itemsize < 4 for step in program.stores):
            program = Program(home.load(source))  # a kernel that stores by elements shares words
        kernel = home.kernels.get((op, *program.key))
        if kernel is None:
            program = home.fitting(program, 1)
            file = "arg_reduction.wgsl" if op.arg else "reduction.wgsl"
            text = codegen.reduction(op, program, compute, home.dialect, file)
            kernel = home.gpu.pipelines.get(text, f"{op.name}<{program.title}>")
            home.kernels[op, *program.key] = kernel
        blocks, buffer = home.blocks(program), home.take(out.numel * out_dtype.itemsize)
        blocks.append(buffer.block)
        groups = (rows if rows < MAX_GROUPS else MAX_GROUPS, 1, 1)
        numbers = (rows, cols, inner, *program.numbers)
        home.queue.dispatch(kernel, blocks, numbers, groups)
        return Value(home.device, out_dtype, out.numel, buffer)

    def _nothing(self, op: Reduction, out: Layout, dtype: DType) -> Value:
        """What folding no elements gives: the identity, everywhere."""
        identity = {"lowest": float("-inf"), "highest": float("inf")}.get(op.identity)
        value = identity if identity is not None else float(op.identity in ("1", "true"))
        fill = REGISTRY["fill"].at(dtype)  # type: ignore[attr-defined]
        return self.home.elementwise(fill, (value if dtype.category > 1 else int(value),), {}, out)


@remembered
def fold_plan(layout: Layout, dims: tuple[int, ...]) -> tuple[int, int, int, Layout]:
    """(numbers left, numbers folded into each, numbers beside each other, layout to read).

    Axes that are not neighbours are brought together.
    """
    shape = layout.shape
    kept = tuple(d for d in range(len(shape)) if d not in dims)
    if not dims:
        return layout.numel, 1, 1, layout
    inner = prod(shape[dims[-1] + 1 :])
    if dims != tuple(range(dims[0], dims[-1] + 1)):
        layout, inner = layout.permute(kept + dims), 1
    return prod(shape[d] for d in kept), prod(shape[d] for d in dims), inner, layout


