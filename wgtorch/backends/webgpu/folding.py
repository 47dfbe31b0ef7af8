"""Folds on the GPU: which kernel folds what, shared among how many threads, in one dispatch or two.

Programs that run on a CPU want a thread for each row and no barriers; a GPU wants many threads,
neighbours reading neighbours. Where rows are few, columns are split: a first dispatch leaves a
part of each row per split, a second folds those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from wgtorch.backends.webgpu import fold_codegen
from wgtorch.backends.webgpu.codegen import Pairs, Writer
from wgtorch.backends.webgpu.deferral import LITTLE, Plan
from wgtorch.backends.webgpu.fusion import DRAWN, PUT_OFF, Deferred, Load, Program, Promise
from wgtorch.backends.webgpu.pipelines import Kernel
from wgtorch.backends.webgpu.pool import Buffer
from wgtorch.backends.webgpu.recognition import program_of
from wgtorch.backends.webgpu.spelling import is_known
from wgtorch.backends.webgpu.walks import Walk, walk
from wgtorch.config import MAX_FUSED
from wgtorch.dtype import float64
from wgtorch.layout import Layout
from wgtorch.settled import Fold
from wgtorch.storage import Value

if TYPE_CHECKING:
    from wgtorch.backends.webgpu.backend import WebGPU

MAX_GROUPS = 65535
KEPT = 1 << 14  # launches remembered
THREADS, GROUPS = "fold_threads.wgsl", "fold_groups.wgsl"


class Share(NamedTuple):
    """How threads share a walk."""

    file: str
    constants: dict[str, int | bool]
    groups: tuple[int, int, int]
    splits: int  # of each row
    span: int  # what each split takes, in the file's unit


class Launch(NamedTuple):
    """A fold ready to run, but for the buffers and the numbers of its steps."""

    kernel: Kernel
    numbers: tuple[float, ...]  # before those of the steps
    more: tuple[float, ...]  # after them
    groups: tuple[int, int, int]
    sizes: tuple[int, ...]  # of the results, in bytes
    second: tuple[Kernel, tuple[float, ...], tuple[int, int, int]] | None
    part_bytes: int
    plan: FoldPlan | None  # if ops may end it


class FoldPlan(Plan):
    """Of a fold with one result, none of whose elements is stored on the way in."""

    __slots__ = ("first", "fold", "numbers", "opening", "part_bytes", "share", "way")

    def __init__(self, home: WebGPU, fold: Fold, program: Program, launch: Launch, way: Walk,
                 share: Share, opening: Writer):  # fmt: skip
        title = f"{fold.op.name}<{program.title}>"
        super().__init__(title, fold.out, fold.dtypes[0], fold.layout.numel * fold.dtype.itemsize)
        self.fold, self.way, self.share, self.first = fold, way, share, None
        self.opening = opening  # written at once: the program changes when its steps are kept
        self.kernel, self.groups = launch.kernel, launch.groups
        self.reads = len(program.loads)
        self.by_fours = way.many > 1 and way.quads == "across"
        if launch.second is not None:
            self.first, self.part_bytes = (launch.kernel, launch.groups), launch.part_bytes
            self.kernel, self.numbers, self.groups = launch.second
            self.share = second_share(way.rows, share.splits, home)
            self.reads, self.by_fours = 1, False

    def begin(self, home: WebGPU, deferred: Deferred) -> tuple[Sequence[Buffer], Sequence[float]]:
        buffers, numbers = deferred.buffers, deferred.given
        if self.first is None:
            return buffers, numbers
        kernel, groups = self.first
        parts = home.take(self.part_bytes)
        blocks = [operand.block for operand in (*buffers, parts)]
        home.queue.dispatch(kernel, blocks, numbers, groups)
        return (parts,), self.numbers

    def text(self, home: WebGPU, end: Program | None, pairs: Pairs) -> str:
        fold, file = self.fold, self.share.file
        if self.first is not None:
            return fold_codegen.second(fold, self.share.constants, file, home.dialect, end)
        return fold_codegen.ended(self.opening, fold, self.way, file, True, end, pairs)


class Folder:
    def __init__(self, home: WebGPU):
        self.home = home
        self.ready: dict[Any, Launch] = {}
        self.openings: dict[Kernel, Writer] = {}

    def reduction(self, fold: Fold, source: Promise | Load) -> Any:
        home = self.home
        if source.size >= PUT_OFF:
            source = home.deferrals.apart(source)
        program, drawn = None, ()
        if type(source) is Load:
            launch = self.ready.get(fold)
            if launch is None:
                launch = self._remembered(fold, fold, Program(source))
            loads, numbers = (source,), launch.numbers + launch.more
        else:
            program = program_of(source)
            places = [load.layout for load in program.loads]
            launch = self.ready.get((fold, *program.key, *places))
            if launch is None:
                program, launch = self._prepared(fold, program)
            loads = program.loads
            if program.load_numbers:
                drawn = [n for load in loads if load.form == DRAWN for n in load.numbers]
            numbers = (*launch.numbers, *drawn, *program.scalars, *launch.more)
        if launch.plan is not None:
            buffers = [load.buffer for load in loads if load.buffer is not None]
            return home.deferrals.put_off(launch.plan, buffers, numbers)
        results, made = [], []
        for size, dtype in zip(launch.sizes, fold.dtypes, strict=True):
            buffer = home.take(size)
            results.append(Value(home.device, dtype, fold.out.numel, buffer))
            made.append(buffer.block)
        parts: Any = None if launch.second is None else home.take(launch.part_bytes)
        # after the last of the memory: to make room for it, what counts as kept may be read
        blocks = [source.buffer.block] if program is None else home.blocks(program)
        if launch.second is None:
            if launch.groups[0]:
                home.queue.dispatch(launch.kernel, blocks + made, numbers, launch.groups)
        else:
            blocks.append(parts.block)
            home.queue.dispatch(launch.kernel, blocks, numbers, launch.groups)
            kernel, numbers, groups = launch.second
            home.queue.dispatch(kernel, [parts.block, *made], numbers, groups)
        return tuple(results) if fold.op.outputs else results[0]

    # Folds met for the first time

    def _prepared(self, fold: Fold, program: Program) -> tuple[Program, Launch]:
        """Of a program, which may have to be cut for it."""
        home, op = self.home, fold.op
        most = home.gpu.most_buffers - max(1, len(op.outputs))
        while len(program.loads) + len(program.stores) > most:
            program = home.fitting(program, max(1, len(op.outputs)))
        packed = any(step.dtype.itemsize < 4 for step in program.stores)
        if packed and not self._walk(fold, program).quads:
            for step in [*program.stores]:  # a store by elements shares words with others
                home.load(step)
            program = Program(program.root)
        key = (fold, *program.key, *[load.layout for load in program.loads])
        return program, self.ready.get(key) or self._remembered(key, fold, program)

    def _remembered(self, key: Any, fold: Fold, program: Program) -> Launch:
        if len(self.ready) >= KEPT:
            self.ready.clear()
        launch = self.ready[key] = self._prepare(fold, program)
        return launch

    def _walk(self, fold: Fold, program: Program) -> Walk:
        shape = fold.layout.shape
        layouts = [load.layout for load in program.loads]
        if program.stores:
            layouts.append(Layout.contiguous(shape))
        wide = ""
        drawn = any(load.form == DRAWN for load in program.loads)
        if self.home.dialect.wide and not program.stores and not drawn:
            wide = widest(fold.op)
        return walk(shape, fold.dims, layouts, fold.op.arg, bool(program.stores), wide)

    def _prepare(self, fold: Fold, program: Program) -> Launch:
        home, dialect = self.home, self.home.dialect
        for dtype in (fold.compute, *fold.dtypes):
            home.check(dtype, max(fold.out.numel, fold.layout.numel))
        check_state(fold, home)
        way = self._walk(fold, program)
        share = (thread_share if home.gpu.traits.is_software else group_share)(way)
        steps = (tuple(program.key), way.structure, share.file, *share.constants.items())
        last = share.splits == 1
        kinds = (fold.op, fold.compute, fold.dtypes)
        kernel = home.kernels.get((kinds, steps, last))
        if kernel is None:
            opening = fold_codegen.opening(fold, program, way, share.constants, share.file, dialect)
            text = fold_codegen.ended(opening, fold, way, share.file, last)
            kernel = home.gpu.pipelines.get(text, f"{fold.op.name}<{program.title}>")
            home.kernels[kinds, steps, last], self.openings[kernel] = kernel, opening
        leave = tuple(fold_codegen.leave_numbers(fold).values())
        head = (way.units, way.cols, way.outer, share.span, way.rows, share.splits)
        sizes = tuple([fold.out.numel * dtype.itemsize for dtype in fold.dtypes])
        second, part_bytes = None, 0
        if not last:
            second = self._second(fold, way.rows, share.splits, leave)
            part_bytes = share.splits * way.rows * fold_codegen.part_bytes(fold)
        more = leave if last else ()
        numbers = head + way.numbers
        launch = Launch(kernel, numbers, more, share.groups, sizes, second, part_bytes, None)
        if not may_wait(fold, program):
            return launch
        plan = FoldPlan(home, fold, program, launch, way, share, self.openings[kernel])
        return launch._replace(plan=plan)

    def _second(self, fold: Fold, rows: int, splits: int, leave: tuple[float, ...]):
        """Folds the parts of all splits."""
        home = self.home
        share = second_share(rows, splits, home)
        key = ("second", fold.op, fold.compute, fold.dtypes, share.file, *share.constants.items())
        kernel = home.kernels.get(key)
        if kernel is None:
            text = fold_codegen.second(fold, share.constants, share.file, home.dialect)
            kernel = home.gpu.pipelines.get(text, f"{fold.op.name}<parts>")
            home.kernels[key] = kernel
        return kernel, (rows, splits, 1, share.span, rows, 1, *leave), share.groups


def may_wait(fold: Fold, program: Program) -> bool:
    """Whether ops may end it. A large one starts at once: its end is nothing beside it."""
    if MAX_FUSED == 1 or fold.op.outputs or program.stores:
        return False
    numbers = fold.compute.wgsl == fold.dtypes[0].wgsl == "f32"
    return numbers and 0 < fold.layout.numel * fold.dtype.itemsize <= LITTLE


def second_share(rows: int, splits: int, home: WebGPU) -> Share:
    way = Walk(rows, 1, splits, (rows,), (), (), (), "", True)
    return (thread_share if home.gpu.traits.is_software else group_share)(way, False)


def widest(op: Any) -> str:
    """Which quads may be eight elements; one state for each of eight rows must fit registers."""
    if op.state == "Peak":  # its exponentials take longer than the loads
        return ""
    return "along" if op.arg or op.state else "along across"


def check_state(fold: Fold, home: WebGPU) -> None:
    """Refuses compute types that the library has no states or functions for."""
    op = fold.op
    lacks = op.state and not fold_codegen.has_state(fold, home.dialect)
    if fold.compute is float64 and not lacks:
        leave = op.leave if isinstance(op.leave, tuple) else (op.leave,)
        lacks = not all([is_known(e, float64) for e in (op.enter, op.combine, *leave)])
    if lacks:
        raise TypeError(
            f"{fold.op.name}: {home.device} cannot compute it in {fold.compute.name}; use .float()"
            f" or .cpu()"
        )


# Sharing the work


def thread_share(way: Walk, may_split: bool = True) -> Share:
    """For programs that run on a CPU: a thread per row, or some, which keep all cores busy."""
    split_by = way.outer if way.outer > 1 else -(-way.cols // way.step)  # steps
    work = way.outer * way.cols * (way.many if way.quads == "across" else 1)  # of a unit
    splits, units = 1, max(way.units, 1)
    wanted = 8192 if way.quads == "across" else 2048  # threads
    if may_split and work * units > 1 << 15:
        splits = max(1, min(split_by, max(wanted // units, work >> 14), work >> 8))
    span = max(1, -(-split_by // splits))
    splits = max(1, -(-split_by // span))
    group = 64 if units * splits >= 256 else 16
    groups = (min(-(-way.units * splits // group), MAX_GROUPS), 1, 1)
    span = span if way.outer > 1 else span * way.step
    return Share(THREADS, {"GROUP": group}, groups, splits, span)


WANTED = 1 << 17  # threads that keep a big GPU busy
SHORT = 64  # steps of a thread that take less than a second dispatch


def group_share(way: Walk, may_split: bool = True) -> Share:
    """For GPUs: as many threads per row as keep all busy, neighbours reading neighbours."""
    steps = -(-way.cols // way.step) * way.outer  # of a unit
    units, most = max(way.units, 1), power_below(min(steps, 256))
    if way.by_row:
        side = min(64, power_above(units))
        lanes = min(most, max(1, power_above(-(-WANTED // units))), 256 // side)
        side = 256 // lanes
    else:
        lanes = min(most, max(min(most, 32), power_above(-(-WANTED // units))))
        side = 256 // lanes
    if lanes == 1:
        groups = (min(-(-units // 256), MAX_GROUPS), 1, 1)
        return Share(THREADS, {"GROUP": 256}, groups, 1, way.outer if way.outer > 1 else way.cols)
    tiles = -(-units // side)
    splits = 1
    if may_split and steps > SHORT * lanes:
        splits = max(1, min(WANTED // (tiles * 256), steps // (lanes * 4), 1024))
    span = -(-steps // splits)
    splits = max(1, -(-steps // max(span, 1)))
    constants = {"LANES": lanes, "SIDE": side, "BY_ROW": way.by_row}
    return Share(GROUPS, constants, (min(tiles, MAX_GROUPS), splits, 1), splits, span)


def power_above(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def power_below(n: int) -> int:
    return 1 << max(n, 1).bit_length() - 1
