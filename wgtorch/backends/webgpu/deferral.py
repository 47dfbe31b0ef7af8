"""A Deferral is the launch of a kernel, put off until it is known what follows: elementwise ops on
its result become the end of the kernel, and what they do not leave alive is never stored.

One launch waits at a time, and only a few others overtake it: a GPU must not run dry, nor the
operands be held for long. Values never change, so nobody can tell when it runs.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any
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
    waiting,
)
from wgtorch.backends.webgpu.pipelines import Kernel
from wgtorch.backends.webgpu.queue import PATIENCE
from wgtorch.backends.webgpu.steps import Step, dispatched
from wgtorch.backends.webgpu.takeover import LEAST, takeovers
from wgtorch.config import DEBUG, MAX_FUSED, trace
from wgtorch.op import Pass
from wgtorch.settled import Call
from wgtorch.storage import Value

if TYPE_CHECKING:
    from wgtorch.backends.webgpu.backend import WebGPU


class Plan:
    """How calls of one kind are launched: their steps, the last of which ops may join."""

    __slots__ = ("before", "bound", "dtype", "kind", "last", "nbytes", "numel", "op", "out",
                 "owner", "step")  # fmt: skip

    def __init__(self, owner: Deferrals, call: Call, steps: list[Step], last: Pass, bound: list):
        self.owner, self.op = owner, call.op
        *self.before, self.step = steps
        self.last, self.bound = last, bound  # as it was planned; names and dtypes of its buffers
        self.out, self.dtype = call.outs[0], call.out_dtypes[0]
        self.kind = self.dtype, JOINED  # what a kernel's text must know of the result
        self.numel, self.nbytes = self.out.numel, self.out.numel * self.dtype.itemsize

    def fulfil(self, deferred: Deferred) -> None:
        self.owner.fulfil(deferred)


def plan_of(
    owner: Deferrals, call: Call, steps: list[Step], passes: list[Pass], bound: list[Bound]
) -> Plan | None:
    """The plan of a call that may wait; None if it may not."""
    op = call.op
    if not passes or not passes[-1].store or MAX_FUSED == 1 or op.outputs or op.starts_as:
        return None
    if any(step.kernel.checks for step in steps) or steps[-1].temps or steps[-1].cleared:
        return None
    return Plan(owner, call, steps, passes[-1], bound)


class Deferrals:
    def __init__(self, home: WebGPU):
        self.home = home
        self.kernels: dict[tuple, Kernel | None] = {}  # by how they begin, and what joins them
        self.youngest: Any = None  # the last Value that was promised of what waits; weak
        home.queue.catch_up = self.release

    def put_off(self, call: Call, args: tuple, plan: Plan) -> tuple[Value]:
        """Runs the call, later."""
        home, buffers = self.home, []
        for arg in args:
            if arg is not None:
                value = arg.storage.value
                if value.promise is not None:
                    home.fill(value)
                buffers.append(value.buffer)
        queue = home.queue
        if queue.put_off is not None:
            self.release()
        deferred = Deferred(plan, buffers)
        value = Value(home.device, plan.dtype, plan.numel, None, deferred)
        deferred.target = ref(value)
        queue.put_off, queue.patience = deferred, PATIENCE
        return (value,)

    def release(self) -> None:
        """Launches what waits, with the ops that have joined it meanwhile."""
        queue, youngest = self.home.queue, self.youngest
        if youngest is not None:
            self.youngest = None
            value = youngest()
            if value is not None and type(value.promise) is Promise:
                program = Program(value.promise)
                waits = program.joined is not None and program.joined is queue.put_off
                if waits and self.join(program) is None:
                    return
        if queue.put_off is not None:
            self.launch(queue.put_off)

    def fulfil(self, deferred: Deferred) -> None:
        """Somebody reads the result itself."""
        if self.home.queue.put_off is deferred:
            self.release()
        if deferred.result is None:
            self.launch(deferred)

    def launch(self, deferred: Deferred) -> None:
        """Alone."""
        home, plan = self.home, deferred.plan
        queue, step = home.queue, plan.step
        if queue.put_off is deferred:
            queue.put_off = None
        buffer = home.take(plan.nbytes)
        buffers = [*deferred.buffers, buffer]
        if plan.before:
            dispatched(home, plan.before, buffers)
        blocks = [buffers[slot].block for slot in step.slots]
        value = deferred.target()
        if value is not None:
            value.buffer, value.promise = buffer, None
        deferred.result, deferred.buffers = buffer, ()
        queue.dispatch(step.kernel, blocks, step.numbers, step.groups, step.nanoseconds)

    # With ops at its end

    def join(self, program: Program) -> Program | None:
        """Launches what the program waits for with the program as its end; where that cannot be,
        alone, and returns the program that is left."""
        while program.rivals:
            for rival in program.rivals:
                if rival.result is None:
                    self.launch(rival)
            program = Program(program.root)
        if program.joined is None:
            return program
        queue, value = self.home.queue, None
        if queue.put_off is program.joined:
            queue.put_off = None
        if program.joined.target() is None and references(program) > ALONE:
            value = self._awaited(program.joined)  # others read it too, so it must be stored
            program = Program(program.root)
        deferred = program.joined
        quads = deferred.plan.last.by_fours and deferred.plan.numel >= LEAST
        pairs = takeovers(program) if quads else ()
        kernel = self._kernel(deferred.plan, program, pairs)
        if kernel is None:
            self.launch(deferred)
            return Program(program.root)
        self._launch_joined(kernel, deferred, program, pairs)
        del value
        return None

    def _awaited(self, deferred: Deferred) -> Value:
        plan = deferred.plan
        value = Value(self.home.device, plan.dtype, plan.numel, None, deferred)
        deferred.target = ref(value)
        return value

    def _launch_joined(
        self, kernel: Kernel, deferred: Deferred, program: Program, pairs: Pairs
    ) -> None:
        home, plan = self.home, deferred.plan
        step, buffers = plan.step, [*deferred.buffers, None]  # the result's place
        if plan.before:
            dispatched(home, plan.before, buffers)
        blocks = [buffers[slot].block for slot in step.slots[:-1]]
        blocks += home.blocks(program, pairs)
        numbers = (*step.numbers, *program.load_numbers, *program.scalars)
        home.queue.dispatch(kernel, blocks, numbers, step.groups, step.nanoseconds)

    def _kernel(self, plan: Plan, program: Program, pairs: Pairs) -> Kernel | None:
        """None where it would bind too much."""
        key = (plan.step.kernel, program.key, pairs)
        kernel = self.kernels.get(key, self)
        if kernel is self:
            gpu, kernel = self.home.gpu, None
            count = len(plan.last.reads) + len(program.loads) + len(program.stores)
            if count < gpu.most_buffers:
                title = f"{plan.op.name}+{program.title}"
                trusted = plan.last.shader not in library.OWN
                kernel = gpu.pipelines.get(self.text(plan, program, pairs), title, trusted)
            elif DEBUG >= 3:
                trace(3, "fusion", lambda: f"{plan.op.name} cannot bind {program.title} too")
            self.kernels[key] = kernel
        return kernel

    def explained(self, promise: Promise | Deferred) -> str:
        """The WGSL that would fulfil a promise."""
        if type(promise) is Deferred:
            return self.text(promise.plan)
        program = Program(promise)
        if program.joined is not None:
            return self.text(program.joined.plan, program)
        return codegen.elementwise(program, self.home.dialect)

    def text(self, plan: Plan, program: Program | None = None, pairs: Pairs = ()) -> str:
        """The WGSL of the last pass, ended by a program if there is one."""
        return written(plan.op, plan.last, plan.bound, self.home.dialect, program, pairs)

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
        return self.apart(operand)  # which may stand on another that waits


def waits_for(steps: list[Promise]) -> Deferred | None:
    """A launch put off that these stand on."""
    for step in steps:
        for arg in step.args:
            if type(arg) is Deferred and arg.result is None:
                return arg
    return None


def references(program: Program) -> int:
    """How many hold what joins the program; its own steps are not counted."""
    return sys.getrefcount(program.joined) - program.joins


def references_when_alone() -> int:
    program = Program.__new__(Program)
    program.joined, program.joins = Deferred.__new__(Deferred), 0
    program.loads, program.place = [program.joined], {program.joined: -1}
    return references(program)


ALONE = references_when_alone()
