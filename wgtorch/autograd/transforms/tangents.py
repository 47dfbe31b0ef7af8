"""How tangents pass through an op; worked out of its gradient formulas, so no op has a rule here.

An elementwise op: each output element depends on the input elements at its place only, so what a
formula does to a gradient it does to a tangent. An op whose formulas ask for no value of the input
that they differentiate is affine in each input: it maps tangents as it maps elements. Any other:
its formulas are linear in the gradient, and their own gradient with respect to it, applied to
the tangent, is the tangent of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from wgtorch.autograd.gradients import grad
from wgtorch.autograd.mode import enable_grad, state
from wgtorch.autograd.recipe import owed
from wgtorch.autograd.transforms import level
from wgtorch.autograd.transforms.level import raw
from wgtorch.autograd.transforms.reverse import Differentiation, Origin
from wgtorch.op import Elementwise, Op, asks, no_gradient
from wgtorch.storage import View

HERE = Differentiation()  # that of a tangent: over before anybody else may ask
HERE.running = False


def results_of(op: Any, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple:
    simple = isinstance(op, Elementwise) and not attrs
    named = {} if simple else dict(zip(op.inputs, inputs, strict=True))
    result = raw[op](*inputs) if simple else raw[op](**named, **attrs)
    return tuple(result) if getattr(op, "outputs", ()) else (result,)


def may_move(op: Op, moves: list[Any]) -> bool:
    """Whether a result may have a tangent; RuntimeError where the op of a user owes a formula."""
    moving = [name for name, m in zip(op.inputs, moves, strict=True) if m is not None]
    for name in moving if op.owes_vjp else ():
        if name not in op.vjp:
            owed(op, name)()
    return bool(moving and op.vjp)


# Elementwise


def of_elementwise(
    op: Op, primals: list[Any], moves: list[Any], attrs: dict[str, Any], result: Any
) -> Any:
    total = None
    shape = result.layout.shape
    fitting: dict[str, Any] = {}
    for name, move in zip(op.inputs, moves, strict=True):
        formula = op.vjp.get(name)
        if move is None or formula is None:
            continue
        if not fitting:
            pairs = zip(op.inputs, primals, strict=True)
            fitting = {n: spread(p, shape) for n, p in pairs} | attrs
        facts = Facts(fitting, result, to_dtype(spread(move, shape), result.dtype))
        part = formula(*[facts[ask] for ask in asks(formula)])
        if part is not None:
            total = part if total is None else total + part
    return total


def to_dtype(tensor: Any, dtype: Any) -> Any:
    return tensor if tensor.dtype is dtype else tensor.to(dtype)


class Facts(dict):
    """What a formula may ask for."""

    def __init__(self, known: dict[str, Any], result: Any, given: Any):
        super().__init__(known | {"result": result, "grad": given})

    def __missing__(self, ask: str) -> Any:
        name, _, what = ask.rpartition("_")
        operand = self[name]
        if what == "shape":
            return operand.layout.shape if isinstance(operand, View) else ()
        return operand.storage.value.dtype if isinstance(operand, View) else type(operand)


def spread(operand: Any, shape: tuple[int, ...]) -> Any:
    """In the shape of the result, where formulas have nothing to add up."""
    if not isinstance(operand, View) or operand.layout.shape == shape:
        return operand
    return level.doors["expand"](operand, shape)


# Affine in each input


@cache
def is_affine(op: Any) -> bool:
    values = {"result", "results", *getattr(op, "outputs", ())}
    return not getattr(op, "outputs", ()) and all(
        not ({name} | values) & set(asks(formula)) for name, formula in op.vjp.items()
    )


@cache
def added_to(op: Any, name: str) -> tuple[str, ...]:
    """The inputs that stand in terms of their own: their formulas do not know of `name`."""
    return tuple(other for other in op.vjp if other != name and name not in asks(op.vjp[other]))


def of_affine(op: Any, primals: list[Any], moves: list[Any], attrs: dict[str, Any]) -> Any:
    """The sum, over the inputs, of the op at that input's tangent, without the terms that do not
    have it."""
    total = None
    at = dict(zip(op.inputs, primals, strict=True))
    for name, move in zip(op.inputs, moves, strict=True):
        if move is None or op.vjp.get(name, no_gradient) is no_gradient:
            continue
        inputs = at | {other: zeros_of(at[other], op, other) for other in added_to(op, name)}
        inputs[name] = completed(move, at[name])
        part = raw[op](**inputs, **attrs)
        total = part if total is None else total + part
    return total


def completed(move: Any, primal: Any) -> Any:
    """A tangent for each tensor of a tuple."""
    if not isinstance(move, tuple):
        return move
    pairs = zip(move, primal, strict=True)
    return tuple([p.new_zeros(p.layout.shape) if m is None else m for m, p in pairs])


def zeros_of(operand: Any, op: Any, name: str) -> Any:
    if operand is None or op.markers[name] == "Maybe":
        return None
    if isinstance(operand, tuple):
        return tuple([zeros_of(o, op, name) for o in operand])
    return operand.new_zeros(()).expand(operand.layout.shape)


# Any other


def of_any(
    op: Any, primals: list[Any], moves: list[Any], attrs: dict[str, Any]
) -> list[tuple[Any, Any]]:
    """The results with their tangents, by differentiating backward with respect to what it is
    given."""
    given = [t for t in flat([*primals, *moves]) if isinstance(t, View)]
    wanting = {number for t in given for number in level.wanting(t)} if state.recording else set()
    top = level.highest(primals)
    if top is not None:  # or what is of a level below would want no gradient in it
        primals = list(level.lifted(primals, top))
    with enable_grad():
        inputs, sources, directions = rooted(primals, moves)
        results = results_of(op, inputs, attrs)
        counting = [r for r in results if r.requires_grad]
        found = twice(counting, sources, directions, bool(wanting))
    passed = iter([f if f is None else level.detached(f, wanting) for f in found])
    moved = [next(passed) if r.requires_grad else None for r in results]
    return list(zip([level.detached(r, wanting) for r in results], moved, strict=True))


def twice(results: list[Any], sources: list[Any], along: list[Any], again: bool) -> Sequence[Any]:
    """The tangents of `results`, where those of `sources` are `along`."""
    seeds = [fresh(r.new_ones(r.layout.shape)) for r in results]
    back = grad(results, sources, seeds, create_graph=True, allow_unused=True)
    pairs = [(b, d) for b, d in zip(back, along, strict=True) if b is not None and b.requires_grad]
    if not pairs:
        return [None] * len(seeds)
    passed, given = [b for b, _ in pairs], [d for _, d in pairs]
    return grad(passed, seeds, given, create_graph=again, allow_unused=True)


def rooted(primals: list[Any], moves: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """(the inputs, those among them that have a tangent as tensors to differentiate by, the
    tangents)."""
    inputs: list[Any] = []
    sources: list[Any] = []
    directions: list[Any] = []
    for primal, move in zip(primals, moves, strict=True):
        if isinstance(primal, tuple) and move is not None:
            inner, more, along = rooted(list(primal), list(move))
            inputs.append(tuple(inner))
            sources += more
            directions += along
        elif move is None:
            inputs.append(primal)
        else:
            source = primal.view(primal.layout.shape) if primal.requires_grad else fresh(primal)
            inputs.append(source)
            sources.append(source)
            directions.append(move)
    return inputs, sources, directions


def fresh(tensor: Any) -> Any:
    """To differentiate by, here and nowhere else."""
    alias = tensor.bare()
    alias.past, alias._wants = Origin(tensor, False, HERE), True
    return alias


def flat(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        found += flat(value) if isinstance(value, tuple) else [value]
    return found
