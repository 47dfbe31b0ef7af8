"""A Node is a place where a gradient passes on its way to the leaves.

Nodes point to the Nodes before them and never to tensors, so an intermediate that nobody else
holds is dead at once: its memory goes back to the pool, and fusion need not even store it. Only
`AccumulateGrad`, where a gradient ends, holds its tensor; the tensor refers to it weakly.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from typing import Any

from wgtorch.autograd.hooks import RemovableHandle
from wgtorch.dtype import DType
from wgtorch.turns import turn

next_age = count().__next__


class Extras:
    """What few nodes have: hooks, retained gradients, metadata, where the op was called."""

    __slots__ = ("metadata", "posthooks", "prehooks", "retained", "tensor_hooks", "traceback")

    def __init__(self) -> None:
        self.metadata: dict[Any, Any] = {}
        self.prehooks: OrderedDict[int, Callable] = OrderedDict()  # of the node
        self.posthooks: OrderedDict[int, Callable] = OrderedDict()
        self.tensor_hooks: dict[int, OrderedDict[int, Callable]] = {}  # by output number
        self.retained: dict[int, weakref.ref] = {}  # output number -> tensor that keeps its grad
        self.traceback: Any = None  # of the forward call, in anomaly mode


class Node:
    """Somewhere a gradient passes through. `shape` and `dtype` are those of its first output."""

    __slots__ = ("__weakref__", "age", "dtype", "extras", "numbers", "parents", "shape")
    dtype: Any  # a DType; None for an output that is no tensor
    outputs = 1  # how many results it has: how many gradients it is given
    ends = False  # whether gradients go no further

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: DType,
        parents: list[Node],
        numbers: tuple[int, ...] | None = None,
    ):
        self.shape, self.dtype = shape, dtype
        self.parents = parents
        self.numbers = numbers  # which output of each parent; None: the first of all
        self.extras: Extras | None = None
        self.age = next_age()  # a node is always younger than its parents

    def run(self, grad: Any, wanted: list[bool] | None) -> Any:
        """A gradient (or None) for each parent; those that are not wanted may be None.

        `grad` is one gradient, or a list of them where the node has several outputs.
        """
        raise NotImplementedError

    def release(self) -> None:
        """Lets go of what was saved."""

    def disown(self, storage: Any) -> None:
        """A tensor of this storage gets the node as its past: no slot may hold it."""

    def facts_of(self, number: int) -> tuple[tuple[int, ...], DType]:
        """Shape and dtype of an output."""
        return self.shape, self.dtype

    def more(self) -> Extras:
        if self.extras is None:
            self.extras = Extras()
        return self.extras

    # What users see

    def name(self) -> str:
        return type(self).__name__

    def edges(self) -> list[tuple[Node | None, int]]:
        """One for every input, those without a gradient as (None, 0)."""
        numbers = self.numbers or (0,) * len(self.parents)
        return list(zip(self.parents, numbers, strict=True))

    def places(self) -> list[int]:
        """Which of the edges lead to the parents, in order."""
        return [i for i, (parent, _) in enumerate(self.edges()) if parent is not None]

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return tuple(self.edges())

    @property
    def metadata(self) -> dict[Any, Any]:
        return self.more().metadata

    def _sequence_nr(self) -> int:
        return self.age

    def register_hook(self, fn: Callable) -> RemovableHandle:
        """`fn(grad_inputs, grad_outputs)` runs after the node; it may return new grad_inputs."""
        return RemovableHandle.hung(self.more().posthooks, fn)

    def register_prehook(self, fn: Callable) -> RemovableHandle:
        """`fn(grad_outputs)` runs before the node; it may return new grad_outputs."""
        return RemovableHandle.hung(self.more().prehooks, fn)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


class AccumulateGrad(Node):
    """Where a gradient ends: it is added to the `grad` of a tensor that is a leaf."""

    __slots__ = ("variable",)
    ends = True

    def __init__(self, variable: Any):
        # not super(): this runs once per parameter and step
        self.shape, self.dtype = variable.layout.shape, variable.storage.value.dtype
        self.parents, self.numbers, self.extras, self.age = [], None, None, next_age()
        self.variable = variable

    def run(self, grad: Any, wanted: list[bool] | None) -> Any:
        if grad is not None and self.variable._wants:  # still
            accumulate(self.variable, grad)
        return ()


def leaf_of(tensor: Any) -> AccumulateGrad:
    """Where gradients of a tensor without a past end."""
    known = tensor._leaf
    leaf = known and known()
    if leaf is None:
        leaf = AccumulateGrad(tensor)
        tensor._leaf = weakref.ref(leaf)  # the graph owns the leaf, not the tensor
    return leaf


def accumulate(variable: Any, grad: Any) -> None:
    """Adds `grad` to `variable.grad`, which stays the same tensor unless the sum is recorded."""
    with turn:  # an addition saves nothing: no hook runs here
        held = variable._grad
        if held is None:
            variable._grad = owned(grad)
        elif grad._wants or held._wants:
            variable._grad = held + grad
        else:
            held.add_(grad)


def owned(grad: Any) -> Any:
    """A gradient as a variable of its own: nobody who writes into it changes another's.

    No data is copied where the memory is dense: a Storage of its own is enough.
    """
    return grad.clone() if grad._wants or not grad.is_whole else grad.snapshot()


class Refused(Node):
    """Raises when a gradient arrives."""

    __slots__ = ("text",)

    def __init__(self, text: str, shape: tuple[int, ...], dtype: DType):
        super().__init__(shape, dtype, [])
        self.text = text

    def run(self, grad: Any, wanted: list[bool] | None) -> Any:
        raise RuntimeError(self.text)

    def name(self) -> str:
        return "Error"
