"""Derivatives of functions in forward mode."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wgtorch.autograd.forward_ad import DualLevel, check_kind, check_sizes
from wgtorch.autograd.jacobians import units
from wgtorch.autograd.transforms import trees
from wgtorch.autograd.transforms.level import levels
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
from wgtorch.storage import View

JVP = "jvp(f, primals, tangents)"


def jvp(
    func: Callable,
    primals: tuple,
    tangents: tuple,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple:
    """(the output of `func` at `primals`, how it moves when they move along `tangents`), and aux as
    a third with `has_aux`. With `strict`, an output that does not depend on them is an error."""
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    points, shape = trees.flattened(primals)
    along, kind = trees.flattened(tangents)
    if kind != shape:
        raise RuntimeError(
            f"{JVP}: Expected primals and tangents to have the same python structure. For example,"
            f" if primals is a tuple of 3 tensors, tangents also must be. Got primals with"
            f" structure {shape} and tangents with structure {kind}"
        )
    check_tensors("primals", points)
    check_tensors("tangents", along)
    for point, tangent in zip(points, along, strict=True):
        check_kind("primal", point)
        check_kind("tangent", tangent)
        check_sizes(point, tangent)
    current = DualLevel()
    levels.enter(current)
    try:
        pairs = zip(points, along, strict=True)
        result = func(*shape.filled([current.paired(p, t) for p, t in pairs]))
        output, aux = with_aux(JVP, result, has_aux)
        leaves, out_shape = tensors_only(JVP, output)
        parts = [current.parts(leaf) for leaf in leaves]
        aux = changed(aux, lambda t: current.parts(t)[0])
    finally:
        levels.leave(current)
    if strict and any(tangent is None for _, tangent in parts):
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs."
            " This is not allowed with strict=True."
        )
    moved = [p.detach().new_zeros(p.layout.shape) if t is None else t for p, t in parts]
    both = out_shape.filled([p for p, _ in parts]), out_shape.filled(moved)
    return (*both, aux) if has_aux else both


def check_tensors(name: str, leaves: list[Any]) -> None:
    if not leaves:
        raise RuntimeError(f"{JVP}: Expected {name} to contain at least one Tensor.")
    for leaf in leaves:
        if not isinstance(leaf, View):
            raise RuntimeError(f"{JVP}: Expected {name} to only contain Tensors, got {type(leaf)}")


def jacfwd(
    func: Callable,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    randomness: str = "error",
) -> Callable:
    """A function that returns the Jacobian of `func`, column by column: good where inputs are few.

    The result is that of `jacrev`.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        primals = chosen(args, argnums)
        leaves, shape = trees.flattened(primals)

        def push(*directions: Any) -> tuple:
            def of_chosen(*given: Any) -> Any:
                return func(*replaced(args, argnums, given), **kwargs)

            return jvp(of_chosen, primals, shape.filled(directions), has_aux=has_aux)[1:]

        out_dims = (0, None) if has_aux else (0,)
        columns = vmap(push, out_dims=out_dims, randomness=randomness, chunk_size=chunk_size)(
            *units(leaves)
        )
        jacobian = trees.mapped(lambda t: split_columns(t, leaves, shape, argnums), columns[0])
        return (jacobian, columns[1]) if has_aux else jacobian

    return functools.wraps(func)(run) if hasattr(func, "__name__") else run


def split_columns(columns: Any, inputs: list[Any], shape: trees.Shape, argnums: Argnums) -> Any:
    """(elements of all inputs, *output) as a tree of (*output, *input)."""
    parts, start = [], 0
    for tensor in inputs:
        size = tensor.layout.numel
        part = columns.narrow(0, start, size).movedim(0, -1)
        parts.append(part.reshape((*part.layout.shape[:-1], *tensor.layout.shape)))
        start += size
    return as_asked(shape.filled(parts), argnums)


def linearize(func: Callable, *primals: Any) -> tuple[Any, Callable]:
    """(the output of `func`, a function from tangents to the products with its Jacobian there)."""
    points, shape = trees.flattened(primals)
    for point in points:
        if isinstance(point, View):
            check_kind("primal", point)
    output = func(*primals)

    def push(*tangents: Any) -> Any:
        kind = trees.flattened(tangents)[1]
        if kind != shape:
            raise RuntimeError(
                f"Expected the tangents {kind} to have the same argspec as the primals {shape}"
            )
        return jvp(func, primals, tangents)[1]

    return output, push
