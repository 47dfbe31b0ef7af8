"""The engine: sends gradients from roots to leaves, each node once, children before parents.

Nodes run from the youngest to the oldest, which is the order of their dependence, since a node is
always younger than its parents; a leaf adds to `grad` as soon as its last gradient is there. All
slots of a node are unpacked together just before it runs, so a chain unpacks in strict reverse of
pack. Nothing here recurses: graphs may be deep.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from wgtorch.autograd.anomaly_mode import ANOMALY, check_nan, tell_call
from wgtorch.autograd.hooks import run_posthooks, run_prehooks, run_tensor_hooks
from wgtorch.autograd.mode import state
from wgtorch.autograd.node import Node, accumulate

by_age = attrgetter("age")
Edge = tuple[Node, int]  # a node and the number of its output


class Task:
    """One run of the engine: the gradients under way, and those that were asked for."""

    def __init__(self, roots: Sequence[Edge], grads: Sequence[Any], keep_graph: bool):
        self.keep_graph = keep_graph
        self.waiting: dict[Node, Any] = {}  # a gradient, or a list where outputs are several
        self.left: dict[Any, int] = {}  # edges into a leaf not yet walked
        self.order = self._discover([node for node, _ in roots])
        for (node, number), grad in zip(roots, grads, strict=True):
            self.add(node, number, grad)
        self.needed: set[Node] | None = None
        self.targets: dict[
            Node, list[tuple[int, int]]
        ] = {}  # node -> (output, place in what is asked)
        self.captured: dict[int, Any] = {}

    def aim(self, targets: Sequence[Edge]) -> None:
        """Only what leads to these edges is run; their gradients are captured."""
        for place, (node, number) in enumerate(targets):
            self.targets.setdefault(node, []).append((number, place))
        needed: set[Node] = set()
        for node in reversed(self.order):
            if any(p in needed or p in self.targets for p in node.parents):
                needed.add(node)
        self.needed = needed

    def _discover(self, roots: list[Node]) -> list[Node]:
        """Every node a gradient reaches but the leaves, youngest first."""
        found, seen, left = [], set(), self.left
        for root in roots:
            if root.ends:
                left.setdefault(root, 0)
            elif root not in seen:
                seen.add(root)
                found.append(root)
        for node in found:  # grows as it is walked
            for parent in node.parents:
                if parent.ends:
                    left[parent] = left.get(parent, 0) + 1
                elif parent not in seen:
                    seen.add(parent)
                    found.append(parent)
        self.reached = seen
        found.sort(key=by_age, reverse=True)
        return found

    def reaches(self, node: Node) -> bool:
        """Whether a gradient for the outputs of `node` is part of this run."""
        if node not in self.reached and node not in self.left:
            return False
        return self.needed is None or node in self.needed or node in self.targets

    def add(self, node: Node, number: int, grad: Any) -> None:
        """One more gradient for an output of a node."""
        if node.outputs == 1:
            there = self.waiting.get(node)
            self.waiting[node] = grad if there is None else there + grad
            return
        grads = self.waiting.setdefault(node, [None] * node.outputs)
        there = grads[number]
        grads[number] = grad if there is None else there + grad

    def run(self) -> None:
        for leaf in [leaf for leaf, count in self.left.items() if not count]:
            self.end_at(leaf)
        order, waiting = self.order, self.waiting
        order.reverse()
        aimed, keep_graph = self.needed is not None or ANOMALY.enabled, self.keep_graph
        while order:
            node = order.pop()
            grad = waiting.pop(node, None)
            if aimed or node.extras is not None or node.outputs > 1:
                self.pass_on(node, self.with_care(node, grad))
                continue
            grads = node.run(grad, None)
            if not keep_graph:
                node.release()
            self.pass_on(node, grads)
            del grads  # or it would live while the next node runs

    def with_care(self, node: Node, grad: Any) -> Any:
        """What the parents of a node are to get, which has hooks or several outputs, or may not be
        needed."""
        extras = node.extras
        if grad is None and node.outputs > 1:
            grad = [None] * node.outputs
        if extras is not None:
            grad = tensor_hooks(node, grad)
        if node in self.targets:
            self.capture(node, grad)
        wanted = None
        if self.needed is not None:
            if node not in self.needed:
                return [None] * len(node.parents)
            wanted = [p in self.needed or p in self.targets for p in node.parents]
        if extras is not None and extras.prehooks:
            grad = prehooked(node, grad)
        run = watched if ANOMALY.enabled else type(node).run
        grads = run(node, grad, wanted)
        if not self.keep_graph:
            node.release()
        if extras is not None and extras.posthooks:
            grads = posthooked(node, grads, grad)
        return grads

    def pass_on(self, node: Node, grads: Any) -> None:
        waiting, left = self.waiting, self.left
        for place, parent in enumerate(node.parents):
            grad = grads[place]
            if grad is None:
                pass
            elif parent.outputs == 1:
                value = grad.storage.value
                if grad.layout.shape != parent.shape or value.dtype is not parent.dtype:
                    grad = fitted(grad, parent.shape, parent.dtype)
                there = waiting.get(parent)
                waiting[parent] = grad if there is None else there + grad
            else:
                number = node.numbers[place] if node.numbers else 0
                self.add(parent, number, fitted(grad, *parent.facts_of(number)))
            if parent.ends:
                left[parent] = count = left[parent] - 1
                if not count:
                    self.end_at(parent)

    def end_at(self, leaf: Any) -> None:
        grad, variable = self.waiting.pop(leaf, None), leaf.variable
        hooked = variable._hooks or leaf.extras is not None or variable._accumulate_hooks
        if self.needed is None and not hooked:
            return leaf.run(grad, None)  # which a profiler watches
        aimed = leaf in self.targets
        if grad is None or (self.needed is not None and not aimed):
            return
        if variable._hooks:
            grad = run_tensor_hooks(variable._hooks, grad)
        if leaf.extras is not None:
            grad = tensor_hooks(leaf, grad)
        if aimed:
            self.capture(leaf, grad)
        if self.needed is not None:
            return
        extras = leaf.extras
        if extras is not None and extras.prehooks:
            grad = prehooked(leaf, grad)
        leaf.run(grad, None)
        if extras is not None and extras.posthooks:
            run_posthooks(extras.posthooks, (), (grad,))
        if variable._accumulate_hooks:
            for hook in list(variable._accumulate_hooks.values()):
                hook(variable)

    def capture(self, node: Node, grad: Any) -> None:
        for number, place in self.targets[node]:
            self.captured[place] = grad[number] if node.outputs > 1 else grad


def fitted(grad: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Broadcasting undone, and cast to what the gradient is for: once, for all formulas."""
    if grad.layout.shape != shape:
        grad = grad.summed_to(shape)
    if grad.storage.value.dtype is not dtype:
        grad = grad.to(dtype.plain)
    return grad


def tensor_hooks(node: Node, grad: Any) -> Any:
    """Hooks of the tensors that are this node's outputs; those that retain their gradient last.

    One of several outputs that nobody used has None for a gradient, and its hooks hear of it.
    """
    extras = node.extras
    if extras is None or not (extras.tensor_hooks or extras.retained):
        return grad
    several = node.outputs > 1
    grads = list(grad) if several else [grad]
    for number, hooks in extras.tensor_hooks.items():
        if hooks and (several or grads[number] is not None):
            grads[number] = run_tensor_hooks(hooks, grads[number])
    for number, reference in extras.retained.items():
        tensor = reference()
        if tensor is not None and grads[number] is not None:
            accumulate(tensor, grads[number])
    return grads if several else grads[0]


def prehooked(node: Node, grad: Any) -> Any:
    several = node.outputs > 1
    grads = run_prehooks(node.extras.prehooks, tuple(grad) if several else (grad,))  # type: ignore
    return list(grads) if several else grads[0]


def posthooked(node: Node, grads: Any, grad: Any) -> Any:
    """Users see a gradient for every input, None for those without one."""
    places, known = node.places(), node.edges()
    inputs: list[Any] = [None] * len(known)
    for place, g in zip(places, grads, strict=True):
        inputs[place] = g
    outputs = tuple(grad) if node.outputs > 1 else (grad,)
    after = run_posthooks(node.extras.posthooks, tuple(inputs), outputs)  # type: ignore[union-attr]
    return [after[place] for place in places]


def watched(node: Node, grad: Any, wanted: list[bool] | None) -> Any:
    """Runs a node in anomaly mode."""
    before, state.running = state.running, node
    try:
        grads = node.run(grad, wanted)
        if ANOMALY.check_nan:
            check_nan(node, grads)
        return grads
    except Exception:
        tell_call(node)
        raise
    finally:
        state.running = before


def run_backward(
    roots: Sequence[Edge],
    grads: Sequence[Any],
    keep_graph: bool = False,
    create_graph: bool = False,
    targets: Sequence[Edge] | None = None,
) -> list[Any]:
    """Sends `grads` from `roots` to the leaves, which add them to their `grad`.

    With `targets`, nothing is added anywhere and their gradients are returned (None for those that
    are not reached). With `create_graph`, what is computed has a past of its own.
    """
    task = Task(roots, grads, keep_graph)
    if targets is not None:
        task.aim(targets)
    before = state.recording, state.task
    state.recording, state.task = create_graph, task
    try:
        task.run()
    finally:
        state.recording, state.task = before
    return [task.captured.get(place) for place in range(len(targets or ()))]
