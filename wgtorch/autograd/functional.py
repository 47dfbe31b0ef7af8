"""Derivatives of functions of tensors: products with Jacobians and Hessians, and those whole.

Functions take tensors and return tensors, one or a tuple. What they are given is copied in name:
the caller's tensors get no `grad`, and results lead back to them only with `create_graph`. With
`strict`, an output that does not depend on an input is an error instead of zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtorch.autograd.jacobians import hessian, jacobian
from wgtorch.autograd.mode import enable_grad
from wgtorch.autograd.problem import Problem, grads

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

NOT_OF_OUTPUT = "The output of the user-provided function is independent of input"


def vjp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(outputs, v^T J): `v` has the shape of the outputs, the product that of the inputs."""
    with enable_grad():
        at = Problem("vjp", func, inputs, create_graph, strict)
        along = at.direction(v, at.outputs, at.many, "user-provided function returns")
        found = grads(at.outputs, at.inputs, along, create_graph)
        products = at.filled(found, NOT_OF_OUTPUT)
        at.check_graph(products, "jacobian")
    return at.returned(at.outputs, at.many), at.returned(products, at.several)


def jvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(outputs, J v): `v` has the shape of the inputs, the product that of the outputs.

    By backward twice, so that every function with gradients will do; `wgtorch.func.jvp` goes
    forward once.
    """
    with enable_grad():
        at = Problem("jvp", func, inputs, create_graph, strict)
        along = at.direction(v, at.inputs, at.several, "input to the user-provided function is")
        seeds = [o.detach().new_ones(o.layout.shape).requires_grad_() for o in at.outputs]
        back = at.filled(grads(at.outputs, at.inputs, seeds, True), NOT_OF_OUTPUT)
        if strict:
            check_depends(back)
        found = grads(back, seeds, along, create_graph)
        said = (
            "The gradient with respect to the input is independent of an entry in the grad_outputs"
            " when using the double backward trick to compute forward mode gradients: entry"
        )
        products = at.filled(found, said, at.outputs)
        at.check_graph(products, "jacobian")
    return at.returned(at.outputs, at.many), at.returned(products, at.many)


def check_depends(back: list[Any]) -> None:
    for i, g in enumerate(back):
        if not g.requires_grad:
            raise RuntimeError(
                f"The gradient with respect to input {i} is independent of the inputs of the"
                f" user-provided function. This is not allowed in strict mode."
            )


def vhp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(output, v^T H) of a function with one number for output; `v` has the shape of the inputs."""
    return with_hessian("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(output, H v): the same numbers as `vhp`, since second derivatives do not mind the order."""
    return with_hessian("hvp", func, inputs, v, create_graph, strict)


def with_hessian(
    name: str, func: Callable, inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    with enable_grad():
        at = Problem(name, func, inputs, create_graph, strict)
        along = at.direction(v, at.inputs, at.several, "input to the user-provided function is")
        slopes = at.first_derivatives()
        found = grads(slopes, at.inputs, along, create_graph)
        said = "The jacobian of the user-provided function is independent of input"
        products = at.filled(found, said)
        at.check_graph(products, "hessian")
    return at.returned(at.outputs, at.many), at.returned(products, at.several)
