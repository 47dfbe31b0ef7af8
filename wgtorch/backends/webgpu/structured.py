"""Runs ops that have kernels of their own: binds what a plan names, and launches its passes."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wgtorch import config
from wgtorch.backends.webgpu import library
from wgtorch.backends.webgpu.accessors import Bound, written
from wgtorch.backends.webgpu.complaints import reports
from wgtorch.backends.webgpu.deferral import plan_of
from wgtorch.backends.webgpu.pipelines import Kernel
from wgtorch.backends.webgpu.rows import Rows
from wgtorch.backends.webgpu.scanning import Scans
from wgtorch.backends.webgpu.spelling import computes_double, lacks_double
from wgtorch.backends.webgpu.steps import Step, dispatched
from wgtorch.config import FALLBACK, outside
from wgtorch.dtype import bool_, float64
from wgtorch.layout import Layout
from wgtorch.op import Facts, Join, Map, Pass, Rowwise, Scan, Structured
from wgtorch.record import replace
from wgtorch.settled import Call
from wgtorch.storage import Value, View, gift

if TYPE_CHECKING:
    from wgtorch.backends.webgpu.backend import WebGPU

GROUP, MAX_GROUPS = 256, 65535
fallbacks: Counter[str] = Counter()  # ops that ran on the cpu instead, and how often


class Launcher:
    def __init__(self, home: WebGPU):
        self.home = home
        self.kernels: dict[tuple, Kernel] = {}
        self.rows, self.scans = Rows(home), Scans(home)

    def structured(self, call: Call, args: tuple) -> tuple[Value, ...]:
        ready = call.ready
        if ready is None or ready[0] is not self:  # new, or of a device that was lost
            ready = call.ready = self, *self._prepare(call)
        return ready[1](call, args, ready[2])

    def _prepare(self, call: Call) -> tuple[Callable, Any]:
        """(what runs such calls, what it needs to know)."""
        op = call.op
        for dtype, out in zip(call.out_dtypes, call.outs, strict=True):
            self.home.check(dtype, out.numel)
        for layout in call.layouts:
            if isinstance(layout, Layout):  # an expanded one may have more than its memory
                self.home.check(bool_, layout.numel)
        if isinstance(op, Join):
            return self._join, None
        if isinstance(op, Rowwise):
            return self.rows.run, self.rows.launch(call)
        if isinstance(op, Scan):
            return self.scans.run, self.scans.launch(call)
        passes = self._plan(call)
        if passes is None:
            return self._on_the_cpu, None
        steps, bound = self._steps(call, passes)
        plan = plan_of(call, steps, passes, bound)
        return (self._run, steps) if plan is None else (self.home.deferrals.run, plan)

    def _run(self, call: Call, args: tuple, steps: list[Step]) -> tuple[Value, ...]:
        home, op, buffers, results = self.home, call.op, [], []
        begun = None
        for name, arg in zip(op.inputs, args, strict=True):
            if arg is None:
                continue
            if name == op.starts_as:
                begun = self._begun(arg)
                buffers.append(begun)
                continue
            value = arg.storage.value
            if value.promise is not None:
                home.fulfil(value)
            buffers.append(value.buffer)
        for dtype, out in zip(call.out_dtypes, call.outs, strict=True):
            buffer = begun or home.take(out.numel * dtype.itemsize)
            buffers.append(buffer)
            results.append(Value(home.device, dtype, out.numel, buffer))
        dispatched(home, steps, buffers)
        return tuple(results)

    def _begun(self, view: View):
        """A buffer of its own with the view's elements: the view's, if that is given away."""
        home = self.home
        if gift.taken(view):
            home.own(view.storage)
            return view.storage.value.buffer
        promise = view.storage.value.promise
        if promise is not None and view.is_whole and promise.is_constant:
            value = home.elementwise(promise.typed, promise.args, promise.attrs, promise.layout)
        else:
            value = home.copied(view)
        home.fulfil(value)
        return value.buffer

    def _plan(self, call: Call) -> list[Pass] | None:
        """What to run; None where only the cpu can."""
        op, layouts = call.op, call.layouts
        facts = Facts(layouts, call.dtypes, call.outs, call.out_dtypes, call.attrs,
                      self.home.gpu.traits)  # fmt: skip
        if isinstance(op, Map):
            count = -(-facts.out.numel // 4)
            groups = min(-(-count // GROUP), MAX_GROUPS)
            numbers = (count, facts.out.numel - 1, *op.numbers(facts))
            reads = tuple(n for n, layout in zip(op.inputs, layouts, strict=True) if layout)
            front = tuple([constant(*pair) for pair in op.constants(facts).items()])
            step = Pass(op.shader, (groups, 1, 1), numbers, reads, front=front,
                        places=tuple(op.places(facts).items()),
                        complaint=op.complaint(facts))  # fmt: skip
            return [placed(step)] if count else []
        passes = op.plan(facts) if op.plan is not None else None
        if passes is None:
            return None
        return [placed(step) for step in ([passes] if isinstance(passes, Pass) else passes)]

    def _steps(self, call: Call, passes: list[Pass]) -> tuple[list[Step], list[Bound]]:
        """(the steps, what the last of them binds)."""
        op, dtypes, slots = call.op, {}, {}
        bound: list[Bound] = []
        given = [(n, d) for n, d in zip(op.inputs, call.dtypes, strict=True) if d is not None]
        made = zip(op.outputs or ("result",), call.out_dtypes, strict=True)
        for name, dtype in (*given, *made):
            slots[name], dtypes[name] = len(slots), dtype
        steps, taken = [], len(slots)
        for step in passes:
            for name, dtype, _ in step.temps:
                slots[name], dtypes[name] = taken, dtype
                taken += 1
            bound = [(name, dtypes[name]) for name in (*step.reads, *step.writes)]
            steps.append(
                Step(
                    self._kernel(op, step, bound),
                    tuple([slots[name] for name, _ in bound]),
                    step.numbers,
                    step.groups,
                    tuple([slots[name] for name in step.clear]),
                    tuple([numel * dtype.itemsize for _, dtype, numel in step.temps]),
                    step.complaint or f"{op.name}(): index {{index}} is out of range",
                    step.nanoseconds,
                )
            )
        return steps, bound

    def _kernel(self, op: Structured, step: Pass, bound: list[Bound]) -> Kernel:
        forms = tuple([(name, layout.form) for name, layout in step.places])
        key = (op.name, step.shader, step.front, step.store, step.fields, tuple(bound),
               len(step.reads), isinstance(op, Map), forms, step.merge)  # fmt: skip
        kernel = self.kernels.get(key)
        if kernel is None:
            if step.shader in library.OWN and float64 in dict(bound).values():
                self._check_double(op, step, bound)
            text = written(op, step, bound, self.home.dialect)
            kernel = self.kernels[key] = self.home.gpu.pipelines.get(
                text, op.name, step.shader not in library.OWN
            )
            kernel.checks = reports(text)
        return kernel

    def _check_double(self, op: Structured, step: Pass, bound: list[Bound]) -> None:
        """Of a user's shader, which a driver would compile and get wrong."""
        is_result = float64 in dict(bound[len(step.reads) :]).values()
        if not computes_double(library.shader(step.shader), is_result):
            raise lacks_double(op.name.partition("#")[0], self.home.device)

    # The two kinds without a shader of their own

    def _join(self, call: Call, args: tuple, _: None) -> tuple[Value, ...]:
        home, value, op = self.home, None, call.op
        out, dtype = call.outs[0], call.out_dtypes[0]
        parts = [p for arg in args for p in (arg if isinstance(arg, tuple) else (arg,))]
        places = op.places(out, [p.layout for p in parts], **call.attrs)  # type: ignore[attr-defined]
        for part, place in zip(parts, places, strict=True):
            if place is out:
                value = Value(home.device, dtype, out.numel, self._begun(part))
                continue
            if value is None:
                value = Value(home.device, dtype, out.numel, home.take(out.numel * dtype.itemsize))
            if place.numel:
                home._put(home.deferrals.apart(home.source(part)), value, place)
        return (value or Value(home.device, dtype, out.numel, home.take(0)),)

    def _on_the_cpu(self, call: Call, args: tuple, _: None) -> tuple[Value, ...]:
        """No kernel here: the reference computes, which is said once and counted."""
        home, op = self.home, call.op
        if FALLBACK == "error":
            raise NotImplementedError(
                f"{op.name.strip('_')} has no kernel on {home.device} and WGTORCH_FALLBACK=error"
                " forbids the cpu; call it on x.cpu()"
            )
        if config.warn_always or not fallbacks[op.name]:
            warnings.warn(
                f"{op.name.strip('_')} has no kernel on {home.device}; it runs on the cpu and back",
                UserWarning,
                stacklevel=outside(),
            )
        fallbacks[op.name] += 1
        arrays = [self._as_array(a) for a in args]
        if op.starts_as:
            place = op.inputs.index(op.starts_as)
            arrays[place] = np.array(arrays[place], order="C")
        with np.errstate(all="ignore"):
            results = op.invoke(arrays, call.attrs)
        results = results if op.outputs else (results,)
        made = zip(results, call.out_dtypes, strict=True)
        return tuple([home.upload(np.asarray(result), dtype) for result, dtype in made])

    def _as_array(self, arg: Any) -> Any:
        if arg is None:
            return None
        if isinstance(arg, tuple):
            return tuple([self._as_array(a) for a in arg])
        array = self.home.download(arg)
        return array.astype(np.float32) if arg.dtype.wgsl == "f32" else array


def constant(name: str, value: int | bool) -> str:
    said = str(value).lower() if isinstance(value, bool) else f"{value}u"
    return f"const {name} = {said};"


def placed(step: Pass) -> Pass:
    """With the numbers of its places behind its own."""
    more = [number for _, layout in step.places for number in layout.numbers]
    return replace(step, numbers=(*step.numbers, *more)) if more else step
