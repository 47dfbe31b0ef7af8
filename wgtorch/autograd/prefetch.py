"""Prefetch is knowing what backward needs next: the engine's order is fixed before it starts.

A pair of hooks whose packed objects take time to bring back sends for those of the next nodes
while the present one runs. Nodes are counted that hold something of that kind; the rest are free.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wgtorch.autograd.contents import innermost
from wgtorch.autograd.mode import state
from wgtorch.autograd.saved import Packed

FARTHEST = 64  # nodes looked at: those of a graph with few hooked ones are not searched in vain


def coming(kind: type, nodes: int) -> Iterator[Any]:
    """The packed objects of a kind that the next `nodes` nodes will have unpacked, in order."""
    task = state.task
    if task is None or nodes <= 0:
        return
    order, needed = task.order, task.needed  # the node that runs now has left `order`
    for node in reversed(order[-FARTHEST:]):
        if needed is not None and node not in needed:
            continue
        found = [packed for packed in packed_of(node) if type(packed) is kind]
        if found:
            yield from found
            nodes -= 1
            if not nodes:
                return


def packed_of(node: Any) -> Iterator[Any]:
    """What pack functions returned for the slots of a node."""
    kept = getattr(node, "kept", None) or getattr(node, "_slots", None) or ()
    for slot in kept:
        for each in slot if type(slot) is list else (slot,):
            if type(each) is Packed:
                yield from innermost(each.packed)
