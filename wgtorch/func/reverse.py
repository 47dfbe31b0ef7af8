"""Derivatives of functions in reverse mode."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wgtorch.autograd.jacobians import units
from wgtorch.autograd.mode import enable_grad
from wgtorch.autograd.transforms import trees
from wgtorch.autograd.transforms.reverse import Differentiation
from wgtorch.autograd.transforms.vmap import vmap
from wgtorch.func.arguments import (
    Argnums,
    as_asked,
    changed,
    chosen,
    replaced,
    tensors_only,
    with_aux,
)
from wgtorch.func.forward import jacfwd
from wgtorch.storage import View

GRAD = "grad_and_value(f)(*args)"


def grad_and_value(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """A function that returns the gradient of `func`, whose output is one number, and the output.

    The gradient is with respect to the arguments at `argnums`, which may be trees of tensors. With
    `has_aux`, `func` returns (output, aux), and the result is (gradient, (output, aux)).
    """

    def run(*args: Any, **kwargs: Any) -> tuple:
        with Differentiation() as at:
            leaves, shape = trees.flattened(chosen(args, argnums))
            started = [at.begun(t) if isinstance(t, View) else t for t in leaves]
            with enable_grad():
                result = func(*replaced(args, argnums, shape.filled(started)), **kwargs)
                output, aux = with_aux(GRAD, result, has_aux)
                check_scalar(output)
            wanted = [t for t in started if isinstance(t, View)]
            one = output.detach().new_ones(())
            found = iter(at.gradients([output], wanted, [one]))
            parts = shape.filled([next(found) if isinstance(t, View) else t for t in started])
            grads, value = as_asked(parts, argnums), at.ended(output)
            return grads, (value, changed(aux, at.ended)) if has_aux else value

    return functools.wraps(func)(run) if hasattr(func, "__name__") else run


def check_scalar(output: Any) -> None:
    if not isinstance(output, View):
        raise RuntimeError(f"{GRAD}: Expected f(*args) to return a Tensor, got {type(output)}")
    if output.layout.shape:
        raise RuntimeError(
            f"{GRAD}: Expected f(*args) to return a scalar Tensor, got tensor with"
            f" {len(output.layout.shape)} dims. Maybe you wanted to use the vjp or jacrev APIs"
            f" instead?"
        )


def grad(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """A function that returns the gradient of `func`; with `has_aux`, (gradient, aux)."""
    both = grad_and_value(func, argnums, has_aux)

    def run(*args: Any, **kwargs: Any) -> Any:
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return functools.wraps(func)(run) if hasattr(func, "__name__") else run


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """(the output of `func`, a function from cotangents of it to a tuple of their products with the
    Jacobians by each of `primals`), and aux as a third with `has_aux`."""
    outputs, shape, pull, aux = pulled("vjp(f, *primals)", func, primals, has_aux)
    value = shape.filled(outputs)

    def product(cotangents: Any, retain_graph: bool = True, create_graph: Any = None) -> Any:
        given, kind = trees.flattened(cotangents)
        if kind != shape:
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of"
                f" outputs to the function. cotangents: {kind}, primal output: {shape}"
            )
        return pull(given)

    return (value, product, aux) if has_aux else (value, product)


def pulled(api: str, func: Callable, primals: tuple, has_aux: bool) -> tuple:
    """(flat outputs, their tree, a function from flat cotangents to the primals', aux)."""
    leaves, kind = trees.flattened(primals)
    with Differentiation() as at:
        started = [at.begun(t) if isinstance(t, View) else t for t in leaves]
        with enable_grad():
            output, aux = with_aux(api, func(*kind.filled(started)), has_aux)
            outputs, shape = tensors_only(api, output)
        check_floats(outputs)
        ended, aux = [at.ended(o) for o in outputs], changed(aux, at.ended)
    wanted = [t for t in started if isinstance(t, View)]

    def pull(cotangents: list[Any]) -> Any:
        found = iter(at.gradients(outputs, wanted, cotangents))
        return kind.filled([next(found) if isinstance(t, View) else t for t in started])

    return ended, shape, pull, aux


def check_floats(outputs: list[Any]) -> None:
    for output in outputs:
        if not (output.dtype.is_floating_point or output.dtype.is_complex):
            raise RuntimeError(
                f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got"
                f" Tensor with dtype {output.dtype}"
            )


def jacrev(
    func: Callable,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable:
    """A function that returns the Jacobian of `func`, row by row: good where outputs are few.

    For a tensor that is a function of a tensor its shape is (*output, *input); for trees, the tree
    of the output holds trees of the arguments. With `chunk_size`, so many rows at a time.
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    def run(*args: Any, **kwargs: Any) -> Any:
        def of_chosen(*given: Any) -> Any:
            return func(*replaced(args, argnums, given), **kwargs)

        primals = chosen(args, argnums)
        outputs, shape, pull, aux = pulled("jacrev", of_chosen, primals, has_aux)
        rows = vmap(lambda *given: pull(list(given)), chunk_size=chunk_size)(*units(outputs))
        jacobian = shape.filled([as_asked(part, argnums) for part in split_rows(rows, outputs)])
        return (jacobian, aux) if has_aux else jacobian

    return functools.wraps(func)(run) if hasattr(func, "__name__") else run


def split_rows(rows: Any, outputs: list[Any]) -> list[Any]:
    """For each output, the tree of arguments with (*output, *input)."""
    parts, start = [], 0
    for output in outputs:
        size = output.layout.numel

        def part(t: Any, start: int = start, size: int = size, output: Any = output) -> Any:
            return t.narrow(0, start, size).reshape((*output.layout.shape, *t.layout.shape[1:]))

        parts.append(changed(rows, part))
        start += size
    return parts


def hessian(func: Callable, argnums: Argnums = 0) -> Callable:
    """A function that returns the matrix of second derivatives: forward mode over reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)
