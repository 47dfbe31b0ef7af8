"""A Step is a pass ready to be dispatched: its kernel, and which buffers it binds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from wgtorch.backends.webgpu.pipelines import Kernel
from wgtorch.config import CHECK


class Step(NamedTuple):
    """Buffers are numbered: inputs, results, temporaries."""

    kernel: Kernel
    slots: tuple[int, ...]
    numbers: tuple[float, ...]
    groups: tuple[int, int, int]
    cleared: tuple[int, ...]
    temps: tuple[int, ...]  # bytes of those that begin with this pass
    complaint: str | Exception  # see complaints.py
    nanoseconds: float = 0.0  # see Pass


def dispatched(home: Any, steps: Iterable[Step], buffers: list[Any]) -> None:
    """Runs the steps on inputs and results; temporaries are put behind these."""
    for step in steps:
        for nbytes in step.temps:
            buffers.append(home.take(nbytes))
        for slot in step.cleared:
            home.queue.clear(buffers[slot])
        blocks = [buffers[slot].block for slot in step.slots]
        if step.kernel.checks:
            checked(home, step, blocks)
        else:
            home.queue.dispatch(step.kernel, blocks, step.numbers, step.groups, step.nanoseconds)


def checked(home: Any, step: Step, blocks: list[Any]) -> None:
    """A dispatch that may report what is wrong with its data."""
    flags, slot = home.dock.flag(step.complaint)
    blocks.append(flags.block)
    numbers = (*step.numbers, slot)
    home.queue.dispatch(step.kernel, blocks, numbers, step.groups, step.nanoseconds)
    if CHECK:
        home.dock.finish()
