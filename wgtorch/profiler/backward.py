"""Backward and saved tensors under observation: nodes that run, and what hooks do for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from wgtorch.autograd.node import Node
from wgtorch.autograd.saved import Packed
from wgtorch.autograd.spill import Record
from wgtorch.nn.module import Module
from wgtorch.optim.optimizer import Optimizer
from wgtorch.profiler.event import FunctionEvent
from wgtorch.profiler.patches import Patches, watched
from wgtorch.profiler.recorder import Recorder


def watch_backward(patches: Patches) -> None:
    for kind in kinds_of(Node):
        if "run" in vars(kind):
            patches.put(kind, "run", node_run(kind.run))


def kinds_of(kind: type) -> Iterator[Any]:
    yield kind
    for below in kind.__subclasses__():
        yield from kinds_of(below)


def node_run(plain: Callable) -> Callable:
    def run(node: Any, grad: Any, wanted: Any) -> Any:
        recorder = Recorder.current
        top = None if recorder is None else recorder.thread.top
        if recorder is None or (top is not None and top.facts.get("node") == id(node)):
            return plain(node, grad, wanted)  # of a class above, called by the one below
        grads = tuple(grad) if isinstance(grad, list | tuple) else (grad,)
        event = recorder.begin(node.name(), "backward", grads)
        event.sequence_nr, event.facts["node"] = node.age, id(node)
        result = None
        try:
            result = plain(node, grad, wanted)
        finally:
            recorder.end(event, result)
        return result

    return run


# Saved tensors


def watch_saved(patches: Patches) -> None:
    patches.put(Packed, "__init__", packing(Packed.__init__))
    patches.put(Packed, "opened", opening(Packed.opened))
    patches.put(Record, "write", moving("saved_tensors::write", Record.write, "saved"))
    patches.put(Record, "read", moving("saved_tensors::read", Record.read, "saved"))
    patches.put(Record, "finish", moving("stall: disk", Record.finish, "stall"))


def packing(plain: Callable) -> Callable:
    def init(packed: Any, pair: Any, tensor: Any, is_output: bool, op: str, slot: str) -> None:
        recorder = Recorder.current
        if recorder is None:
            return plain(packed, pair, tensor, is_output, op, slot)
        nbytes = tensor.layout.numel * tensor.storage.value.dtype.itemsize
        facts = {"slot id": recorder.slots(), "op": op, "slot": slot, "bytes": nbytes}
        recorder.packed[id(packed)] = facts
        event, before = begun(recorder, "saved_tensors::pack", facts, (tensor,))
        try:
            return plain(packed, pair, tensor, is_output, op, slot)
        finally:
            recorder.thread.slot = before
            recorder.end(event)

    return init


def opening(plain: Callable) -> Callable:
    def opened(packed: Any, where: Any) -> Any:
        recorder = Recorder.current
        if recorder is None:
            return plain(packed, where)
        facts = recorder.packed.get(id(packed))
        if facts is None:  # packed before anybody watched
            nbytes = packed.layout.numel * packed.dtype.itemsize
            facts = {"slot id": recorder.slots(), "op": where.op, "slot": where.name,
                     "bytes": nbytes}  # fmt: skip
            recorder.packed[id(packed)] = facts
        event, before = begun(recorder, "saved_tensors::unpack", facts, ())
        try:
            return plain(packed, where)
        finally:
            recorder.thread.slot = before
            recorder.end(event)

    return opened


def begun(
    recorder: Recorder, name: str, facts: dict[str, Any], args: tuple
) -> tuple[FunctionEvent, Any]:
    event = recorder.begin(name, "saved", args)
    event.facts.update(facts)
    before, recorder.thread.slot = recorder.thread.slot, facts
    return event, before


def moving(name: str, plain: Callable, kind: str) -> Callable:
    """Of the bytes of a record, to and from a disk."""

    def move(record: Any) -> Any:
        recorder = Recorder.current
        if recorder is None:
            return plain(record)
        event = recorder.begin(name, kind)
        event.facts["bytes"] = record.nbytes
        try:
            return plain(record)
        finally:
            recorder.end(event)

    return move


# Modules and optimisers


def watch_modules(patches: Patches) -> None:
    plain = Module.__call__

    def call(module: Any, *args: Any, **kwargs: Any) -> Any:
        name = f"nn.Module: {type(module).__name__}"
        return watched(name, plain, "user")(module, *args, **kwargs)

    patches.put(Module, "__call__", call)


def watch_optimizers(patches: Patches) -> None:
    for kind in kinds_of(Optimizer):
        if "step" in vars(kind):
            patches.put(kind, "step", stepping(kind.step))


def stepping(plain: Callable) -> Callable:
    def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        name = f"Optimizer.step#{type(optimizer).__name__}.step"
        recorder = Recorder.current
        top = None if recorder is None else recorder.thread.top
        if top is not None and top.name == name:  # of a class above, called by the one below
            return plain(optimizer, *args, **kwargs)
        return watched(name, plain, "user")(optimizer, *args, **kwargs)

    return step
