"""Scans on the GPU: in one dispatch, or in three where rows are few.

The three are: fold each split of a row, scan what the splits came to, scan each split from what
stands before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from wgtorch.backends.webgpu import fold_codegen, scan_codegen
from wgtorch.backends.webgpu.folding import MAX_GROUPS, check_state
from wgtorch.backends.webgpu.pipelines import Kernel
from wgtorch.backends.webgpu.walks import Walk, walk
from wgtorch.layout import Layout
from wgtorch.settled import Call, Fold
from wgtorch.storage import Value

if TYPE_CHECKING:
    from wgtorch.backends.webgpu.backend import WebGPU


class Split(NamedTuple):
    """How the columns of a walk are split among threads, or among groups of 256."""

    by_groups: bool
    splits: int
    span: int  # of a split: columns, or steps of 256 threads


class Dispatch(NamedTuple):
    kernel: Kernel
    numbers: tuple[float, ...]
    groups: tuple[int, int, int]


class Launch(NamedTuple):
    parts: int  # bytes
    first: Dispatch | None  # folds splits
    second: Dispatch | None  # scans what they came to
    last: Dispatch | None


class Scans:
    def __init__(self, home: WebGPU):
        self.home = home
        self.kernels: dict[Any, Kernel] = {}

    def run(self, call: Call, args: tuple, launch: Launch) -> tuple[Value, ...]:
        home, blocks = self.home, []
        for arg in args:
            value = arg.storage.value
            if value.promise is not None:
                home.fulfil(value)
            blocks.append(value.buffer.block)
        values = [
            Value(home.device, dtype, out.numel, home.take(out.numel * dtype.itemsize))
            for dtype, out in zip(call.out_dtypes, call.outs, strict=True)
        ]
        dispatch = home.queue.dispatch
        results = [result.buffer.block for result in values]
        if launch.first is not None and launch.second is not None:
            parts = home.take(launch.parts)
            kernel, numbers, groups = launch.first
            dispatch(kernel, [*blocks, parts.block], numbers, groups)
            kernel, numbers, groups = launch.second
            dispatch(kernel, [parts.block], numbers, groups)
            blocks.append(parts.block)
        if launch.last is not None:
            kernel, numbers, groups = launch.last
            dispatch(kernel, [*blocks, *results], numbers, groups)
        return tuple(values)

    def launch(self, call: Call) -> Launch:
        home, layout, attrs = self.home, call.layouts[0], dict(call.attrs)
        if not layout.numel:
            return Launch(0, None, None, None)
        dim, reverse = attrs.pop("dim"), attrs.pop("reverse", False)
        dims = (dim % len(layout.shape),) if layout.shape else ()
        fold = Fold(call.op, layout, call.dtypes[0], dims, call.outs[0], attrs)  # type: ignore[arg-type]
        home.check(fold.compute, layout.numel)
        check_state(fold, home)
        places = [*call.layouts, Layout.contiguous(layout.shape)]
        if reverse and dims:
            places = [backwards(place, dims[0]) for place in places]
        way = walk(layout.shape, dims, places, True, 1)
        share = split(way, home.gpu.traits.is_software)
        last = self._last(fold, way, share)
        if share.splits == 1:
            return Launch(0, None, None, last)
        size = share.splits * way.rows * fold_codegen.part_bytes(fold)
        return Launch(size, self._first(fold, way, share), self._second(fold, way, share), last)

    # The three

    def _first(self, fold: Fold, way: Walk, share: Split) -> Dispatch:
        key = ("first", *self._key(fold, way), share.by_groups)
        kernel = self.kernels.get(key)
        if kernel is None:
            text = scan_codegen.first(fold, way, share.by_groups, self.home.dialect)
            kernel = self.kernels[key] = self.home.gpu.pipelines.get(text, f"{fold.op.name}<fold>")
        if share.by_groups:
            head = (way.units, way.cols, share.span, way.rows, share.splits)
            groups = (min(way.units, MAX_GROUPS), share.splits, 1)
        else:
            head = (way.units, way.cols, 1, share.span, way.rows, share.splits)
            groups = threads(way.units * share.splits)
        return Dispatch(kernel, head + way.numbers, groups)

    def _second(self, fold: Fold, way: Walk, share: Split) -> Dispatch:
        alone = self.home.gpu.traits.is_software or way.rows >= 4096
        file = "scan_parts_threads.wgsl" if alone else "scan_parts_groups.wgsl"
        key = ("second", fold.op, fold.compute, file)
        kernel = self.kernels.get(key)
        if kernel is None:
            text = scan_codegen.parts(fold, file, self.home.dialect)
            kernel = self.kernels[key] = self.home.gpu.pipelines.get(text, f"{fold.op.name}<parts>")
        groups = threads(way.rows) if alone else (min(way.rows, MAX_GROUPS), 1, 1)
        return Dispatch(kernel, (way.rows, share.splits), groups)

    def _last(self, fold: Fold, way: Walk, share: Split) -> Dispatch:
        carries = share.splits > 1
        file = "scan_groups.wgsl" if share.by_groups else "scan_threads.wgsl"
        key = ("last", *self._key(fold, way), fold.dtypes, file, carries)
        kernel = self.kernels.get(key)
        if kernel is None:
            text = scan_codegen.scan(fold, way, file, carries, self.home.dialect)
            kernel = self.kernels[key] = self.home.gpu.pipelines.get(text, fold.op.name)
        groups = threads(way.units * share.splits)
        if share.by_groups:
            groups = (min(way.units, MAX_GROUPS), share.splits, 1)
        head = (way.units, way.cols, share.span, way.rows, share.splits)
        return Dispatch(kernel, head + way.numbers, groups)

    def _key(self, fold: Fold, way: Walk) -> tuple:
        return fold.op, fold.compute, fold.dtype, way.structure


def backwards(layout: Layout, dim: int) -> Layout:
    strides = list(layout.strides)
    offset = layout.offset + (layout.shape[dim] - 1) * strides[dim]
    strides[dim] = -strides[dim]
    return Layout.of(layout.shape, tuple(strides), offset)


def threads(count: int) -> tuple[int, int, int]:
    return (min(-(-count // 64), MAX_GROUPS), 1, 1)


def split(way: Walk, is_software: bool) -> Split:
    """Enough splits to keep everybody busy; few enough that their own scan costs nothing."""
    steps, units = -(-way.cols // way.step), way.units
    if is_software or way.by_row or units >= 1 << 16 or steps < 64:
        wanted = 2048 if is_software else 1 << 16
        most = max(steps * (4 if way.quads == "across" else 1) // 64, 1)
        least = -(-steps // 8192)  # llvmpipe ends a thread's loops at 65,535
        splits = max(least, min(wanted // units, most)) if way.cols * way.rows > 1 << 14 else least
        span = -(-steps // max(splits, 1))
        return Split(False, -(-steps // span), span * way.step)
    chunks = -(-steps // 256)
    splits = max(1, min(chunks // 2, 2048 // units, 4096))
    span = -(-chunks // splits) * 256
    return Split(True, -(-steps // span), span)
