"""A Deferral is the launch of a kernel, put off until it is known what follows: elementwise ops on
its result become the end of the kernel, and what they do not leave alive is never stored.

Few launches wait at a time, only one where operands are large, and a few others overtake them: a
GPU must not run dry, nor the operands be held for long. Values never change, so nobody can tell
when it runs.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import ref

from wgtorch.backends.webgpu import codegen, library
from wgtorch.backends.webgpu.accessors import Bound, written
from wgtorch.backends.webgpu.codegen import Pairs
from wgtorch.backends.webgpu.fusion import (
    HEAVY,
    JOINED,
    PUT_OFF,
    Deferred,
    Load,
    Program,
    Promise,
    put_off,
    waiting,
)
from wgtorch.backends.webgpu.pipelines import Kernel
from wgtorch.backends.webgpu.pool import Buffer, blocks_of
from wgtorch.backends.webgpu.queue import PATIENCE
from wgtorch.backends.webgpu.recognition import program_of
from wgtorch.backends.webgpu.steps import Step, dispatched
from wgtorch.backends.webgpu.takeover import LEAST, takeovers
from wgtorch.config import DEBUG, MAX_FUSED, trace
from wgtorch.dtype import DType
from wgtorch.layout import Layout
from wgtorch.op import Pass
from wgtorch.settled import Call
from wgtorch.storage import Value

if TYPE_CHECKING:
    from wgtorch.backends.webgpu.backend import WebGPU

MOST = 8  # launches that wait at a time
LITTLE = 1 << 20  # bytes of operands that several launches may hold while they wait
STANDING = 256  # promises that are remembered for them
HELD = 1 << 30  # patience while launches must keep waiting


class Plan:
    """How calls of one kind are launched, by a last kernel that ops may join."""

    __slots__ = ("by_fours", "dtype", "groups", "held", "kernel", "kind", "name", "nanoseconds",
                 "nbytes", "numel", "out", "reads", "trusted")  # fmt: skip

    kernel: Kernel  # the last one, where nothing joins it
    groups: tuple[int, int, int]
    reads: int  # buffers that it binds besides its result

    def __init__(self, name: str, out: Layout, dtype: DType, held: int):
        self.name, self.out, self.dtype, self.held = name, out, dtype, held  # bytes of operands
        self.kind = dtype, JOINED  # what a kernel's text must know of the result
        self.numel, self.nbytes = out.numel, out.numel * dtype.itemsize
        self.by_fours, self.trusted, self.nanoseconds = False, True, 0.0

    def begin(self, home: WebGPU, deferred: Deferred) -> tuple[Sequence[Buffer], Sequence[float]]:
        """Runs what comes before the last kernel; what that reads: buffers, numbers."""
        raise NotImplementedError

    def text(self, home: WebGPU, end: Program | None, pairs: Pairs) -> str:
        """The WGSL of the last kernel, ended by a program if there is one."""
        raise NotImplementedError


class PassPlan(Plan):
    """Of an op that runs in passes."""

    __slots__ = ("before", "bound", "last", "numbers", "op", "slots")

    def __init__(self, call: Call, steps: list[Step], last: Pass, bound: list[Bound]):
        super().__init__(call.op.name, call.outs[0], call.out_dtypes[0], held(call))
        self.op, self.last, self.bound = call.op, last, bound
        *self.before, step = steps
        self.kernel, self.groups, self.nanoseconds = step.kernel, step.groups, step.nanoseconds
        self.numbers, slots = step.numbers, step.slots[:-1]
        is_straight = not self.before and slots == (*range(len(call.layouts)),)
        self.slots = None if is_straight else slots  # None: all operands, in their order
        self.reads, self.by_fours = len(last.reads), last.by_fours
        self.trusted = last.shader not in library.OWN

    def begin(self, home: WebGPU, deferred: Deferred) -> tuple[Sequence[Buffer], Sequence[float]]:
        buffers = deferred.buffers
        if self.before:
            buffers = [*buffers, None]  # the result's place
            dispatched(home, self.before, buffers)
        if self.slots is not None:
            buffers = [buffers[slot] for slot in self.slots]
        return buffers, self.numbers

    def text(self, home: WebGPU, end: Program | None, pairs: Pairs) -> str:
        return written(self.op, self.last, self.bound, home.dialect, end, pairs)


def plan_of(call: Call, steps: list[Step], passes: list[Pass], bound: list[Bound]) -> Plan | None:
    """The plan of a call that may wait; None if it may not."""
    op = call.op
    if not passes or not passes[-1].store or MAX_FUSED == 1 or op.outputs or op.starts_as:
        return None
    if any(step.kernel.checks for step in steps) or steps[-1].temps or steps[-1].cleared:
        return None
    return PassPlan(call, steps, passes[-1], bound)


def held(call: Call) -> int:
    """Bytes of a call's operands."""
    pairs = zip(call.layouts, call.dtypes, strict=True)
    return sum([layout.numel * dtype.itemsize for layout, dtype in pairs if layout is not None])


class Deferrals:
    def __init__(self, home: WebGPU):
        self.home, self.queue, self.device = home, home.queue, home.device
        self.kernels: dict[tuple, Kernel | None] = {}  # by how they begin, and what joins them
        # who waits for what was promised of the launches that wait; weak
        self.standing: deque = deque(maxlen=STANDING)
        self.held = 0  # bytes of operands of the launches that wait
        self.queue.catch_up = self.release

    def run(self, call: Call, args: tuple, plan: PassPlan) -> tuple[Value]:
        """Of an op that runs in passes."""
        home, buffers = self.home, []
        for arg in args:
            if arg is not None:
                value = arg.storage.value
                if value.promise is not None:
                    home.fulfil(value)
                buffers.append(value.buffer)
        return (self.put_off(plan, buffers),)

    def put_off(self, plan: Plan, buffers: list[Buffer], given: Sequence[float] = ()) -> Value:
        """The result of a launch, which comes later. `given`: the numbers that the plan has not."""
        queue = self.queue
        waits = queue.put_off
        if waits and (self.held + plan.held > LITTLE or len(waits) == MOST):
            self.release()
        value = put_off(self.device, plan, buffers, given)
        waits.append(value.promise)
        self.held += plan.held
        queue.patience = PATIENCE
        return value

    def release(self) -> None:
        """Launches what waits, with the ops that have joined it meanwhile."""
        waits, standing, self.queue.patience = self.queue.put_off, self.standing, HELD
        while waits and standing:
            value = standing.pop()()  # the youngest: it may have the others for its steps
            if value is not None and type(value.promise) is Promise:
                program = program_of(value.promise)
                if program.joined in waits:
                    self.join(program)
        while waits:
            self.launch(waits[0])

    def load(self, step: Promise) -> None:
        """A step of a program that is cut, made true; no launch is released, which might fulfil
        the rest."""
        patience, self.queue.patience = self.queue.patience, HELD
        try:
            self.home.load(step)
        finally:
            self.queue.patience = patience

    def gone(self, deferred: Deferred) -> None:
        """It waits no longer."""
        waits = self.queue.put_off
        if deferred in waits:
            waits.remove(deferred)
            self.held -= deferred.plan.held
            if not waits:
                self.standing.clear()

    def fulfil(self, deferred: Deferred) -> None:
        """Somebody reads the result itself."""
        if deferred in self.queue.put_off:
            self._join_youngest(deferred)
        if deferred.result is None:
            self.launch(deferred)

    def _join_youngest(self, deferred: Deferred) -> None:
        """Launches it with what was promised of it last, if that is still wanted."""
        for target in reversed(self.standing):
            value = target()
            if value is not None and type(value.promise) is Promise:
                program = Program(value.promise)
                if program.joined is deferred:
                    self.join(program)
                    return

    def launch(self, deferred: Deferred) -> None:
        """Alone."""
        home, plan = self.home, deferred.plan
        self.gone(deferred)
        buffer = home.take(plan.nbytes)
        buffers, numbers = plan.begin(home, deferred)
        blocks = [*blocks_of(buffers), buffer.block]
        value = deferred.target()
        if value is not None:
            value.buffer, value.promise = buffer, None
        deferred.done(buffer)
        self.queue.dispatch(plan.kernel, blocks, numbers, plan.groups, plan.nanoseconds)

    # With ops at its end

    def join(self, program: Program) -> Program | None:
        """Launches what the program waits for with the program as its end; where that cannot be,
        alone, and returns the program that is left."""
        queue = self.queue
        patience, queue.patience = queue.patience, HELD  # or others might fulfil the root
        try:
            return self._joined(program)
        finally:
            queue.patience = patience - 1

    def _joined(self, program: Program) -> Program | None:
        while program.rivals:
            for rival in program.rivals:
                if rival.result is None:
                    self.launch(rival)
            program = Program(program.root)
        deferred, value, home = program.joined, None, self.home
        if deferred is None:
            return program
        self.gone(deferred)
        if deferred.target() is None and references(program) > ALONE:
            value = self._awaited(deferred)  # others read it too, so it must be stored
            program = Program(program.root)
        plan = deferred.plan
        pairs = takeovers(program) if plan.by_fours and plan.numel >= LEAST else ()
        kernel = self._kernel(plan, program, pairs)
        if kernel is None:
            self.launch(deferred)
            return Program(program.root)
        buffers, numbers = plan.begin(home, deferred)
        blocks = home.blocks(program, pairs, buffers)
        numbers = (*numbers, *program.load_numbers, *program.scalars)
        self.queue.dispatch(kernel, blocks, numbers, plan.groups, plan.nanoseconds)
        del value
        return None

    def _awaited(self, deferred: Deferred) -> Value:
        plan = deferred.plan
        value = Value(self.device, plan.dtype, plan.numel, None, deferred)
        deferred.target = ref(value)
        return value

    def _kernel(self, plan: Plan, program: Program, pairs: Pairs) -> Kernel | None:
        """None where it would bind too much."""
        key = (plan.kernel, program.key, pairs)
        kernel = self.kernels.get(key, self)
        if kernel is self:
            gpu, kernel = self.home.gpu, None
            if plan.reads + len(program.loads) + len(program.stores) < gpu.most_buffers:
                text = plan.text(self.home, program, pairs)
                kernel = gpu.pipelines.get(text, f"{plan.name}+{program.title}", plan.trusted)
            elif DEBUG >= 3:
                trace(3, "fusion", lambda: f"{plan.name} cannot bind {program.title} too")
            self.kernels[key] = kernel
        return kernel

    def explained(self, promise: Promise | Deferred) -> str:
        """The WGSL that would fulfil a promise."""
        program = None if type(promise) is Deferred else Program(promise)
        if program is not None:
            program.read_rivals()
        deferred = promise if program is None else program.joined
        if deferred is None:
            return codegen.elementwise(program, self.home.dialect)
        return deferred.plan.text(self.home, program, ())

    # For kernels that products cannot join

    def apart(self, operand: Promise | Load) -> Promise | Load:
        """The operand, standing on nothing that waits: what of it is alive is made now, with what
        it waits for; the rest may join whatever reads it."""
        if type(operand) is Load or operand.size % HEAVY < PUT_OFF:
            return operand
        steps = waiting(operand)
        deferred = waits_for(steps)
        if deferred is None:
            return operand.filled or operand
        kept = [step for step in steps if step.target() is not None]
        if kept:
            deferred = None  # or it would count as needed by itself
            self.home.load(kept[-1])
        else:
            self.launch(deferred)
        return operand.filled or self.apart(operand)  # which may stand on another that waits


def waits_for(steps: list[Promise]) -> Deferred | None:
    """A launch put off that these stand on."""
    for step in steps:
        for arg in step.args:
            if type(arg) is Deferred and arg.result is None:
                return arg
    return None


def references(program: Program) -> int:
    """How many hold what joins the program, who asks among them; its own steps are not counted."""
    return sys.getrefcount(program.joined) - program.joins


def references_when_alone() -> int:
    program, deferred = Program.__new__(Program), Deferred.__new__(Deferred)
    program.joined, program.joins = deferred, 0
    program.loads = [deferred]
    return references(program)


ALONE = references_when_alone()
