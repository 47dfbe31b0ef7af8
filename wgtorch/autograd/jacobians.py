"""Jacobian and Hessian matrices, as tensors of shape (*output, *input)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wgtorch.autograd.forward_ad import DualLevel
from wgtorch.autograd.mode import enable_grad
from wgtorch.autograd.problem import Problem, as_tuple, grads
from wgtorch.autograd.transforms import level
from wgtorch.autograd.transforms.level import levels
from wgtorch.autograd.transforms.vmap import vmap

STRATEGY = (
    'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has'
    ' more outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to'
    ' use "reverse-mode".'
)


def jacobian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The derivatives of every element of the outputs by every element of the inputs.

    A tensor for one input and one output; for several outputs a tuple, of tuples for several
    inputs. `vectorize` computes all rows at once; the strategy "forward-mode" all columns.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(STRATEGY)
    if strategy == "forward-mode":
        check_forward(create_graph, strict, vectorize)
        return by_columns(func, inputs)
    with enable_grad():
        at = Problem("jacobian", func, inputs, create_graph, strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not"
                " supported together. Please either set `strict=False` or `vectorize=False`."
            )
        rows = at_once(at) if vectorize else one_by_one(at)
        if strict and create_graph:
            for row in rows:
                at.check_graph(row, "jacobian")
        parts = [at.returned(row, at.several) for row in rows]
    return tuple(parts) if at.many else parts[0]


def at_once(at: Problem) -> list[list[Any]]:
    """[output][input], by one run of backward on all unit vectors."""
    sizes = [o.layout.numel for o in at.outputs]
    total, seeds = sum(sizes), units(at.outputs)
    found = grads(at.outputs, at.inputs, seeds, at.create_graph, True)
    columns = [
        t.detach().new_zeros((total, *t.layout.shape)) if g is None else g
        for g, t in zip(found, at.inputs, strict=True)
    ]
    rows, start = [], 0
    for output, size in zip(at.outputs, sizes, strict=True):
        shape = output.layout.shape
        rows.append(
            [c.narrow(0, start, size).reshape((*shape, *c.layout.shape[1:])) for c in columns]
        )
        start += size
    return rows


def units(tensors: Sequence[Any]) -> list[Any]:
    """For each tensor of several, the unit vectors of all their elements: (elements, *shape)."""
    total, start, found = sum(t.layout.numel for t in tensors), 0, []
    for tensor in tensors:
        size = tensor.layout.numel
        rows = tensor.detach().new_zeros((total, size))
        if size:
            rows.narrow(0, start, size).diagonal().fill_(1)
        found.append(rows.reshape((total, *tensor.layout.shape)))
        start += size
    return found


def one_by_one(at: Problem) -> list[list[Any]]:
    """[output][input], by a run of backward for every element of the outputs."""
    rows = []
    for o, output in enumerate(at.outputs):
        elements = []
        for seed in units([output]) if output.layout.numel else []:
            elements += [
                grads([output], at.inputs, [seed.select(0, e)], at.create_graph, keep_graph=True)
                for e in range(output.layout.numel)
            ]
        said = f"Output {o} of the user-provided function is independent of input"
        filled = [at.filled(found, said) for found in elements]
        rows.append([stacked(output, t, [f[k] for f in filled]) for k, t in enumerate(at.inputs)])
    return rows


def stacked(output: Any, input: Any, parts: list[Any]) -> Any:
    shape = (*output.layout.shape, *input.layout.shape)
    if not parts:
        return input.detach().new_zeros(shape)
    return level.doors["stack"](parts, 0).reshape(shape)


# Forward mode


def check_forward(create_graph: bool, strict: bool, vectorize: bool) -> None:
    if create_graph:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"`'
            " are not supported together (yet). Please either set `create_graph=False` or"
            ' `strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are'
            " not supported together (yet). Please either set `strict=False` or"
            ' `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
            "only implemented for `vectorize=True`."
        )


def by_columns(func: Callable, inputs: Any) -> Any:
    """All columns at once, by forward mode."""
    several, given = as_tuple(inputs, "inputs", "jacobian")
    points = [t.bare() for t in given]
    many = False

    def push(*directions: Any) -> tuple:
        nonlocal many
        current = DualLevel()
        levels.enter(current)
        try:
            pairs = zip(points, directions, strict=True)
            result = func(*[current.paired(p, d) for p, d in pairs])
            many, outputs = as_tuple(result, "outputs of the user-provided function", "jacobian")
            parts = [current.parts(o) for o in outputs]
        finally:
            levels.leave(current)
        return tuple([p.detach().new_zeros(p.layout.shape) if t is None else t for p, t in parts])

    columns = vmap(push)(*units(points))
    rows = [split(c.bare(), points) for c in columns]
    parts = [tuple(row) if several else row[0] for row in rows]
    return tuple(parts) if many else parts[0]


def split(columns: Any, inputs: list[Any]) -> list[Any]:
    """(elements of all inputs, *output) as (*output, *input) for each input."""
    parts, start = [], 0
    for t in inputs:
        part = columns.narrow(0, start, t.layout.numel).movedim(0, -1)
        parts.append(part.reshape((*part.layout.shape[:-1], *t.layout.shape)))
        start += t.layout.numel
    return parts


# Hessian


def hessian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a function with one number for output.

    A tensor (*input, *input) for one input; for several, tuples of tuples.
    """
    several, _ = as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def slopes(*given: Any) -> Any:
        at = Problem("hessian", func, given if several else given[0], True, strict)
        found = at.first_derivatives()
        return tuple(found) if several else found[0]

    return jacobian(slopes, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
