"""Reverse-mode derivatives of a function with respect to tensors that nobody else sees.

An Origin is where such a derivative ends. What is computed from it keeps a past only where that
leads on: to tensors outside that want a gradient themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wgtorch.autograd.gradients import grad
from wgtorch.autograd.mode import state
from wgtorch.autograd.node import AccumulateGrad, Node
from wgtorch.autograd.nodes import past_of
from wgtorch.autograd.tensors import check_may_require
from wgtorch.autograd.transforms.level import levels, lift_to_top
from wgtorch.storage import Storage


class Origin(Node):
    """The past of a tensor that is differentiated by."""

    __slots__ = ("of",)

    def __init__(self, tensor: Any, leads_on: bool, of: Differentiation):
        self.of = of
        parents = [past_of(tensor)] if leads_on else []
        numbers = (tensor.output_nr,) if leads_on and tensor.output_nr else None
        super().__init__(tensor.layout.shape, tensor.storage.value.dtype, parents, numbers)

    def run(self, grad: Any, wanted: list[bool] | None) -> list[Any]:
        return [grad] * len(self.parents)


class Differentiation:
    """Of one call of a function: where it started, and whether its results may keep a past.

    As a context it lasts until those results are there.
    """

    def __init__(self) -> None:
        self.recording = state.recording
        self.running = True  # others may still ask for derivatives by its tensors

    def __enter__(self) -> Differentiation:
        return self

    def __exit__(self, *exception: object) -> None:
        self.running = False

    def begun(self, tensor: Any) -> Any:
        """A tensor with the same elements, to differentiate by."""
        tensor = lift_to_top(tensor)
        dtype = tensor.storage.value.dtype
        if not (dtype.is_floating_point or dtype.is_complex):
            check_may_require(tensor)
        alias = tensor.over(Storage(tensor.storage.value), tensor.layout)
        alias.past = Origin(tensor, self.recording and tensor.requires_grad, self)
        alias._wants = True
        return alias

    def leads_on(self, tensors: Sequence[Any]) -> bool:
        """Whether somebody outside may want the gradient of what these come from."""
        if not self.recording:
            return False
        found = [past_of(t) for t in tensors if t is not None and t.requires_grad]
        seen = set(found)
        for node in found:  # grows as it is walked
            if type(node) is AccumulateGrad:
                return True
            if type(node) is Origin and node.of is not self and node.of.running:
                return True
            for parent in node.parents:
                if parent not in seen:
                    seen.add(parent)
                    found.append(parent)
        return False

    def ended(self, tensor: Any) -> Any:
        """A result as those outside see it; in transforms, at every level."""
        device = tensor.storage.value.device
        if device.level:
            tensor = device.backend.mapped(tensor, self.ended)
        if not tensor.requires_grad or self.leads_on([tensor]):
            return tensor
        return tensor.bare()

    def gradients(self, outputs: list[Any], inputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Of the outputs that depend on the inputs; zeros for inputs that play no part."""
        recording = self.recording and state.recording
        again = recording and (bool(levels.stack) or self.leads_on([*outputs, *cotangents]))
        pairs = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if o.requires_grad]
        if not pairs:
            return [zeros_like(t) for t in inputs]
        roots, given = [o for o, _ in pairs], [c for _, c in pairs]
        found = grad(roots, inputs, given, True, create_graph=again, allow_unused=True)
        results = [zeros_like(t) if g is None else g for g, t in zip(found, inputs, strict=True)]
        return [self.ended(g) for g in results]


def zeros_like(tensor: Any) -> Any:
    return tensor.detach().new_zeros(tensor.layout.shape)
