"""Signs the Backend contract: promises for elementwise ops, kernels for the rest."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from weakref import ref

import numpy as np

from wgtorch.backends.webgpu import codegen
from wgtorch.backends.webgpu.crossing import Crossings
from wgtorch.backends.webgpu.deferral import Deferrals
from wgtorch.backends.webgpu.folding import Folder
from wgtorch.backends.webgpu.fusion import (
    HEAVY,
    PUT_OFF,
    Deferred,
    Load,
    Program,
    Promise,
    drawn,
    load_of,
    promised,
    spread,
)
from wgtorch.backends.webgpu.gpu import GPU
from wgtorch.backends.webgpu.halves import narrowed
from wgtorch.backends.webgpu.holding import LARGE, Holdings
from wgtorch.backends.webgpu.pipelines import Kernel
from wgtorch.backends.webgpu.pool import Block, Buffer, blocks_of
from wgtorch.backends.webgpu.queue import MOST_NUMBERS
from wgtorch.backends.webgpu.recognition import program_of
from wgtorch.backends.webgpu.rows import RowPromise
from wgtorch.backends.webgpu.slowness import complex_apart
from wgtorch.backends.webgpu.spelling import is_known, lacks_double
from wgtorch.backends.webgpu.structured import Launcher
from wgtorch.backends.webgpu.takeover import LEAST, held_alone, takeovers
from wgtorch.backends.webgpu.transfer import Dock, whole_words
from wgtorch.config import MAX_FUSED
from wgtorch.device import Device
from wgtorch.dtype import DType, float64
from wgtorch.layout import Layout
from wgtorch.op import REGISTRY
from wgtorch.settled import TypedOp
from wgtorch.storage import Lens, Storage, Value, View
from wgtorch.turns import in_turn

GROUP, MAX_GROUPS = 256, 65535  # as elementwise.wgsl has it; as WebGPU allows
ONE = (1, 1, 1)
LITTLE, SPARSE = 1 << 14, 4  # bytes of a value that travel with any part; elements to one asked for
MANY = 1 << 16  # from here on each thread computes four times: 1.25 x on an H200
RECENT = 1 << 14  # elementwise ops whose results, where they are alive, `synchronize` computes
MOST_ELEMENTS = 1 << 32  # what a kernel can count
IN_TURN = ("upload", "download", "send", "source", "reduction", "structured", "reseen", "fill",
           "load", "synchronize", "empty_cache", "explain")  # fmt: skip
FILLED = (
    "computed already, so nothing waits here; ops on it that are not read yet, as in"
    " (x * 2).exp().explain(), show the kernel that would run"
)
LEAST_INT, MOST_INT = -(1 << 63), 1 << 64


class WebGPU:
    def __init__(self, device: Device, gpu: GPU | None = None):
        self.device, self.gpu = device, gpu or GPU(device.index)
        self.dialect = self.gpu.dialect
        self.take, self.queue = self.gpu.pool.take, self.gpu.queue
        self.dock = Dock(self)
        traits = self.gpu.traits  # nodes to look ahead in backward:
        self.prefetch = 0 if traits.is_software else 1 if self.dock.freight is None else 4
        self.gpu.abandoned = self.abandoned
        self.gpu.pool.make_room = self.empty_cache
        self.dock.pool.make_room = self.empty_cache
        self.kernels: dict[tuple, Kernel] = {}  # by structure, never by text
        self.recent: deque = deque(maxlen=RECENT)  # who waits for what was promised last
        self.remember = self.recent.append
        self.deferrals, self.holdings = Deferrals(self), Holdings(self)
        self.stands = self.deferrals.standing.append
        self.folder, self.crossings, self.launcher = Folder(self), Crossings(self), Launcher(self)
        self.reduction = self.folder.reduction
        self.structured = self.launcher.structured
        if traits.compiles_slowly:
            self.elementwise = complex_apart(self)  # type: ignore[method-assign]
        self.fulfil = self.fill  # for those who are in a turn
        for name in IN_TURN:
            setattr(self, name, in_turn(getattr(self, name)))

    # The contract

    def upload(self, array, dtype):
        self.check(dtype, array.size)
        data = np.ascontiguousarray(array, dtype.np).reshape(-1)
        buffer = self.take(data.nbytes)
        if data.nbytes:
            self.queue.write(buffer, whole_words(data))
        return Value(self.device, dtype, data.size, buffer)

    def download(self, view):
        value, layout = view.storage.value, view.layout
        size = value.dtype.itemsize
        if not layout.numel:
            return np.empty(layout.shape, value.dtype.np)
        if value.nbytes > LITTLE and value.numel > SPARSE * layout.numel:  # not all for a part
            value, layout = self.copied(view), Layout.contiguous(layout.shape)
        flat = self.dock.read(value)
        strides = [stride * size for stride in layout.strides]
        return np.ndarray(layout.shape, value.dtype.np, flat, layout.offset * size, strides)

    def send(self, value, to):
        if to.device.type == "cpu" and value.numel:
            return Value(to.device, value.dtype, value.numel, None, self.dock.send(value))
        whole = View(Storage(value), Layout.contiguous((value.numel,)))
        return to.upload(self.download(whole), value.dtype)

    def elementwise(self, typed, args, attrs, out):
        if typed.is_double:
            self.check_double(typed)
        operands, size = [], 1
        for arg in args:
            if isinstance(arg, View):
                value = arg.storage.value
                known = value.promise or value.load
                if known is None or known.layout is not out or arg.layout is not out:
                    number = getattr(value.promise, "number", None)
                    known = self._operand(arg, out) if number is None else number
                    size += getattr(known, "size", 0)  # a number has none
                else:  # what `_operand` would answer, without the call
                    size += known.size
                arg = known
            elif type(arg) is int and not LEAST_INT <= arg < MOST_INT:
                raise OverflowError(f"{typed.op.name}: {arg} is too big for any integer dtype")
            elif typed.narrow:
                arg = narrowed(arg, typed.compute)
            operands.append(arg)
        value = promised(self.device, typed, operands, attrs, out, size)
        target = value.promise.target
        self.remember(target)
        if size >= MAX_FUSED:
            if size < HEAVY and size % PUT_OFF < MAX_FUSED:  # all there is: a launch put off
                self.stands(target)
            else:
                self.holdings.grown(value, value.promise)
        return value

    def draw(self, op, seed, offset, out):
        copy, load = REGISTRY["copy"].at(op.dtype), drawn(op, seed, offset, out)  # type: ignore
        value = promised(self.device, copy, (load,), {}, out)
        self.remember(value.promise.target)
        return value

    def source(self, view):
        out = Layout.contiguous(view.layout.shape)
        operand = self._operand(view, out)
        if type(operand) is Deferred:  # no op stands between: nothing can join it
            self.fulfil(view.storage.value)
            operand = self._operand(view, out)
        return operand

    def assign(self, storage, layout, source):
        value = storage.value
        if layout.is_plain and layout.numel == value.numel:
            storage.value = source.storage.value if source.is_whole else self.copied(source)
        elif layout.numel:
            del value  # or it would not be held by the storage alone
            operand = self.deferrals.apart(self.source(source))
            self.own(storage)
            self._put(operand, storage.value, layout)

    def reseen(self, value, dtype):
        self.fulfil(value)
        return Value(self.device, dtype, value.nbytes // dtype.itemsize, value.buffer)

    def synchronize(self):
        recent, oldest = self.recent, self.recent.popleft
        while recent:
            value = oldest()()
            if value is not None and value.promise is not None:
                promise = value.promise
                if type(promise) in (Promise, RowPromise) and not promise.is_constant:
                    self.fulfil(value)
        self.dock.finish()

    def explain(self, view: View) -> str:
        """The WGSL that would fulfil this view, without running it."""
        promise = view.value.promise
        if promise is None:
            return FILLED
        known = type(promise) is Promise or type(promise) is Deferred
        return self.deferrals.explained(promise) if known else promise.explained()

    def stats(self) -> dict[str, int]:
        """What `wgtorch.memory_stats` shows."""
        dock = self.dock
        return self.gpu.pool.stats() | {
            "saved_tensors.host_bytes.current": dock.pool.live.current,
            "saved_tensors.host_bytes.peak": dock.pool.live.peak,
            "saved_tensors.d2h_bytes.total": dock.moved["d2h"] - dock.read_bytes,
            "saved_tensors.h2d_bytes.total": dock.moved["h2d"],
        }

    def reset_peak(self) -> None:
        self.gpu.pool.reset_peak()
        self.dock.pool.reset_peak()

    def empty_cache(self) -> None:
        """Free blocks go back to the driver, their bind groups first."""
        self.dock.unload()
        self.queue.flush()
        dropped = [*self.gpu.pool.drop_free(), *self.dock.pool.drop_free()]
        self.gpu.pipelines.forget(self.queue, set(dropped))
        for block in dropped:
            block.handle.destroy()

    def abandoned(self) -> None:
        """The device is lost: the next tensor opens a new one."""
        if self.device.backend is self:
            self.device.backend = None

    # Promises, and making them true

    def copied(self, view: View) -> Value:
        """The view's elements in a Value of their own, promised."""
        copy = REGISTRY["copy"].at(view.dtype)  # type: ignore[attr-defined]
        return self.elementwise(copy, (view,), {}, Layout.contiguous(view.layout.shape))

    def _operand(self, view: View, out: Layout) -> Promise | Load | Deferred:
        """Keep waiting if the promise is read exactly as made; otherwise have it fulfilled."""
        value, layout = view.storage.value, view.layout
        promise = value.promise
        if promise is not None:
            if layout is out:  # a write may have changed the promise's shape
                if promise.layout is out:
                    return promise
                if type(promise) is Deferred and out.is_plain and out.numel == value.numel:
                    return promise
            elif value.numel == 1 and type(promise) is Promise:
                known = spread(promise, out)
                if known is not None:
                    return known
            self.fill(value)
        if layout is not out:
            layout = layout.expand(out.shape)
        load = value.load
        if load is None or load.layout is not layout:
            load = value.load = load_of(value.buffer, layout, value.dtype)
            if value.buffer.block.leased >= LARGE:
                load.size = HEAVY
        return load

    def load(self, source: Promise | Load) -> Load:
        """The promise made true even if nobody waits for it."""
        if type(source) is Load:
            return source
        if source.filled is None:
            value = source.target()
            if value is None:
                value = Value(self.device, source.dtype, source.layout.numel, None, source)
                source.target = ref(value)
            self.fulfil(value)
        return source.filled

    def fill(self, value: Value) -> None:
        promise = value.promise
        if type(promise) is not Promise:
            if promise is not None:
                promise.fulfil(value)
            return
        if self.holdings.noted and self.holdings.press():
            return self.fulfil(value)
        program = program_of(promise)
        if program.joined is not None:
            program = self.deferrals.join(program)
            if program is None:
                return
        if program.load_numbers and self.crossings.run(program):
            return
        numel = value.numel
        pairs = takeovers(program) if numel >= LEAST else ()
        kernel = self.kernels.get((program.key, pairs) if pairs else program.key)
        if kernel is None:
            kernel, program, pairs = self._elementwise_kernel(program, pairs)
        blocks, count = self.blocks(program, pairs), (numel + 3) // 4
        if count <= GROUP:
            groups = ONE
        else:
            groups = (min(-(-count // (GROUP if count < MANY else 4 * GROUP)), MAX_GROUPS), 1, 1)
        if count:
            numbers = (count, *program.load_numbers, *program.scalars)
            self.queue.dispatch(kernel, blocks, numbers, groups)

    def blocks(
        self, program: Program, pairs: codegen.Pairs = (), before: Sequence[Buffer] = ()
    ) -> list[Block]:
        """Of what it reads and stores, `before` first. What it stores counts as kept from here."""
        read = [load.buffer for load in program.loads if load.buffer is not None]
        blocks, stores = blocks_of([*before, *read]), program.stores
        if len(stores) == 1 and not pairs:
            (step,) = stores
            blocks.append(self._keep(step, self.take(step.layout.numel * step.dtype.itemsize)))
        elif stores:
            self._keep_all(program, pairs, blocks)
        return blocks

    def _keep_all(self, program: Program, pairs: codegen.Pairs, blocks: list[Block]) -> None:
        """Several stores, or such as go where loads are."""
        known = {n: program.loads[m].buffer for n, m in pairs}
        # memory for all, before the first promise counts as kept
        buffers = [
            known.get(n) or self.take(step.layout.numel * step.dtype.itemsize)
            for n, step in enumerate(program.stores)
        ]
        for n, (step, buffer) in enumerate(zip(program.stores, buffers, strict=True)):
            block = self._keep(step, buffer)
            if n not in known:
                blocks.append(block)

    def _keep(self, step: Promise | Deferred, buffer: Buffer) -> Block:
        """The step's value is in the buffer from here on."""
        value, block = step.target(), buffer.block
        load = load_of(buffer, step.layout, step.dtype)
        if value is not None:  # since the kernel was chosen, the garbage collector may have come
            value.load, value.buffer, value.promise = load, buffer, None
        if block.leased >= LARGE:
            load.size = HEAVY
        step.keep(load)
        return block

    # Writing into a buffer that exists

    def own(self, storage) -> None:
        """The storage's buffer may be written: nobody else reads it."""
        if type(storage) is Lens:
            return self.own(storage.base)
        self.fulfil(storage.value)
        if held_alone(storage):
            return
        value = storage.value
        buffer = self.take(value.nbytes)
        self.queue.copy(value.buffer, buffer, -(-value.nbytes // 4) * 4)
        storage.value = Value(self.device, value.dtype, value.numel, buffer)

    def _put(self, operand: Promise | Load, value: Value, layout: Layout) -> None:
        program = self.fitting(Program(operand))
        quads = codegen.in_quads(layout)
        key = ("put", value.dtype, layout.form, quads, *program.key)
        kernel = self.kernels.get(key)
        if kernel is None:
            text = codegen.assignment(program, layout, value.dtype, self.dialect)
            kernel = self.gpu.pipelines.get(text, f"put<{program.title}>")
            self.kernels[key] = kernel
        blocks = self.blocks(program)
        place = len(blocks) - len(program.stores)  # what is drawn has no block
        blocks.insert(place, value.buffer.block)
        count = layout.numel // 4 if quads else layout.numel
        numbers = (count, *program.load_numbers, *program.scalars, *layout.numbers)
        groups = min(-(-count // GROUP), MAX_GROUPS)
        self.queue.dispatch(kernel, blocks, numbers, (groups, 1, 1))

    # Kernels met for the first time

    def _elementwise_kernel(self, program: Program, pairs: codegen.Pairs) -> tuple:
        """The kernel, of the program and pairs that it came to."""
        fitting = self.fitting(program)
        if fitting is not program:
            program, pairs = fitting, ()
        text = codegen.elementwise(program, self.dialect, pairs)
        kernel = self.gpu.pipelines.get(text, program.title)
        self.kernels[(program.key, pairs) if pairs else program.key] = kernel
        return kernel, program, pairs

    def fitting(self, program: Program, spare: int = 0) -> Program:
        """The program, some of its steps run ahead if a kernel cannot bind or read as much."""
        while (
            len(program.loads) + len(program.stores) + spare >= self.gpu.most_buffers
            or 4 * len(program.numbers) > MOST_NUMBERS
        ):
            half = program.steps[len(program.steps) // 2 - (len(program.steps) > 1)]
            self.deferrals.load(half)
            program = Program(program.root)
        return program

    def check(self, dtype: DType, numel: int) -> None:
        if dtype.itemsize == 16:
            raise TypeError(
                f"{self.device} has no {dtype.name}; use .to(torch.complex64), or keep the tensor"
                f" on the cpu"
            )
        if not self.dialect.supports(dtype):
            raise TypeError(
                f"{self.device} has no {dtype.name}: its adapter ({self.gpu.traits.name}) lacks"
                f" shader-f64; use .float(), or keep the tensor on the cpu"
            )
        if numel >= MOST_ELEMENTS:
            raise RuntimeError(f"{numel} elements: a webgpu tensor has less than 2**32")

    def check_double(self, typed: TypedOp) -> None:
        self.check(typed.compute, 0)
        if not is_known(typed.op.expression(float64), float64):
            raise lacks_double(typed.op.name, self.device)
