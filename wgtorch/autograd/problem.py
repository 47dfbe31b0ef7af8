"""A Problem is a function at a point, as `wgtorch.autograd.functional` differentiates it.

Its inputs are tensors of its own, so nothing the caller holds is touched. What is said of wrong
arguments is PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wgtorch.autograd.gradients import grad
from wgtorch.storage import View

NOT_STRICT = " This is not allowed in strict mode."


class Problem:
    def __init__(
        self, name: str, func: Callable, inputs: Any, create_graph: bool, strict: bool = False
    ):
        self.name, self.create_graph, self.strict = name, create_graph, strict
        self.several, given = as_tuple(inputs, "inputs", name)
        self.inputs = [own(t, create_graph) for t in given]
        self.many, outputs = as_tuple(
            func(*self.inputs), "outputs of the user-provided function", name
        )
        self.outputs = list(outputs)
        if strict:
            self._check_outputs()

    def _check_outputs(self) -> None:
        for i, output in enumerate(self.outputs):
            if not output.requires_grad:
                raise RuntimeError(
                    f"Output {i} of the user-provided function does not require gradients. The"
                    f" outputs must be computed in a differentiable manner from the input when"
                    f" running in strict mode."
                )

    def number(self) -> Any:
        """The only element of the only output."""
        if self.many:
            raise RuntimeError(f"The function given to {self.name} should return a single Tensor")
        if self.outputs[0].layout.numel != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {self.name} should contain a single"
                f" element"
            )
        return self.outputs[0]

    def direction(self, v: Any, of: Sequence[Any], several: bool, what: str) -> list[Any]:
        """The vector to multiply with, which has the shapes of `of`."""
        if v is None:
            if len(of) != 1 or of[0].layout.numel != 1:
                raise RuntimeError(
                    f"The vector v can only be None if the {what} a single Tensor with a single"
                    f" element."
                )
            return [of[0].detach().new_ones(of[0].layout.shape)]
        given = [own(t, self.create_graph, False) for t in as_tuple(v, "v", self.name)[1]]
        if len(given) != len(of):
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(of)} but got {len(given)}."
                if several
                else "The given v should contain a single Tensor."
            )
        for i, (got, want) in enumerate(zip(given, of, strict=True)):
            if got.layout.shape != want.layout.shape:
                where = f"Entry {i} in " if several else ""
                raise RuntimeError(
                    f"{where}v has invalid size: should be {want.shape} but got {got.shape}."
                )
        return given

    def first_derivatives(self) -> list[Any]:
        """Of the only number, by each input, as tensors to differentiate again."""
        found = grads([self.number()], self.inputs, None, True)
        if self.strict:
            self._check_jacobian(found)
        return self.filled(
            found, "The output of the user-provided function is independent of input"
        )

    def _check_jacobian(self, found: Sequence[Any]) -> None:
        for i, g in enumerate(found):
            if g is not None and not g.requires_grad:
                raise RuntimeError(
                    "While computing the hessian, found that the jacobian of the user-provided"
                    f" function with respect to input {i} is independent of the input. This is not"
                    " allowed in strict mode. You should ensure that your function is twice"
                    " differentiable and that the jacobian depends on the inputs (this would be"
                    " violated by a linear function for example)."
                )

    def filled(self, found: Sequence[Any], said: str, of: Sequence[Any] | None = None) -> list[Any]:
        """Zeros for what plays no part; in strict mode that is an error."""
        like = self.inputs if of is None else of
        for i, g in enumerate(found):
            if g is None and self.strict:
                raise RuntimeError(f"{said} {i}.{NOT_STRICT}")
        pairs = zip(found, like, strict=True)
        return [t.detach().new_zeros(t.layout.shape) if g is None else g for g, t in pairs]

    def check_graph(self, found: Sequence[Any], what: str) -> None:
        """In strict mode with `create_graph`: what is returned must depend on the inputs."""
        for i, g in enumerate(found):
            if self.strict and self.create_graph and not g.requires_grad:
                raise RuntimeError(
                    f"The {what} of the user-provided function is independent of input {i}. This is"
                    f" not allowed in strict mode when create_graph=True."
                )

    def returned(self, parts: Sequence[Any], several: bool) -> Any:
        """Tensors as users get them."""
        ended = tuple([t if self.create_graph else t.bare() for t in parts])
        return ended if several else ended[0]


def own(tensor: Any, create_graph: bool, wants: bool = True) -> Any:
    """A tensor that only the function sees; it leads back to `tensor` if asked."""
    if create_graph and tensor.requires_grad:
        return tensor.view(tensor.layout.shape)
    return tensor.bare().requires_grad_(wants)


def as_tuple(given: Any, what: str, name: str) -> tuple[bool, tuple]:
    """(whether it was a tuple, as a tuple)."""
    several = isinstance(given, tuple)
    for i, t in enumerate(given if several else (given,)):
        if not isinstance(t, View):
            which = f"value at index {i}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the"
                f" {which} has type {type(t)}."
            )
    return several, given if several else (given,)


def grads(
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    given: Sequence[Any] | None,
    create_graph: bool,
    batched: bool = False,
    keep_graph: bool | None = None,
) -> Sequence[Any]:
    """The gradients of those outputs that have any; None where an input plays no part."""
    weights = [None] * len(outputs) if given is None else given
    pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
    if not pairs:
        return [None] * len(inputs)
    roots, seeds = [o for o, _ in pairs], [w for _, w in pairs]
    return grad(
        roots, inputs, seeds, keep_graph, create_graph, allow_unused=True, is_grads_batched=batched
    )
