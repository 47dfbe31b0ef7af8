"""Gradient formulas of users, in place of an op's own or where it has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wgtorch.autograd.function import FunctionCtx
from wgtorch.autograd.recipe import RECIPES
from wgtorch.errors import (
    AutogradGradientMismatchError,
    AutogradNotRegisteredError,
    InvalidConfigError,
    OpKindMismatchError,
)
from wgtorch.op import Composite, Op, ViewOp, asks
from wgtorch.registry.handles import AutogradHandle
from wgtorch.registry.opening import named

BackwardFn = Callable[..., Any]  # what it names (grad, result, inputs, ...) -> gradients
UnaryBackwardFn = BinaryBackwardFn = BackwardFn
GradContext = FunctionCtx
SetupContextFn = Callable[..., None]
InputsFor = GradientsFor = tuple[Any, ...]
SaveForBackward = FunctionCtx.save_for_backward
AutogradDevice = str
AutogradDType = str


@dataclass(frozen=True, kw_only=True)
class AutogradConfig:
    """`backward` is a dict of formulas by input, or one function that returns all gradients."""

    op: str
    backward: dict[str, BackwardFn] | BackwardFn


@dataclass(frozen=True)
class AutogradEntry:
    """The formulas that an op has."""

    op: str
    formulas: dict[str, BackwardFn]
    origin: str  # "user" or "library"

    @property
    def saves(self) -> tuple[str, ...]:
        """What is kept for backward."""
        asked = {name for formula in self.formulas.values() for name in asks(formula)}
        return tuple(sorted(asked - {"grad"}))


OWN: dict[str, dict[str, BackwardFn]] = {}  # the library's, of ops whose formulas were replaced


def formulas_of(op: Op, backward: Any) -> dict[str, BackwardFn]:
    if isinstance(backward, dict):
        return dict(backward)
    if not callable(backward):
        raise InvalidConfigError(
            f"the backward of {op.name} must be a function or a dict of functions, not"
            f" {type(backward).__name__}"
        )
    wanted = [n for n in op.inputs if op.markers[n] not in ("Index", "Condition")]
    return {name: part(op, backward, place, len(wanted)) for place, name in enumerate(wanted)}


def part(op: Op, backward: BackwardFn, place: int, count: int) -> BackwardFn:
    """The gradient of one input, of a function that returns those of all."""

    def formula(*facts: Any) -> Any:
        grads = backward(*facts)
        grads = grads if isinstance(grads, tuple | list) else (grads,)
        if len(grads) != count:
            raise AutogradGradientMismatchError(
                f"the registered backward of {op.name} returned {len(grads)} gradients, but the op"
                f" has {count} inputs that want one"
            )
        return grads[place]

    formula.asks = asks(backward)  # type: ignore[attr-defined]  # what to save
    return formula


def fits(op: Op, name: str, formula: BackwardFn) -> BackwardFn:
    """The formula, whose answer must have the shape of its input (or broadcast to the op's)."""
    if not callable(formula):
        raise InvalidConfigError(f"{op.name}: the formula of {name} is not a function")
    known = {"grad", "result", "results", *op.inputs, *op.attrs, *getattr(op, "outputs", ())}
    known |= {f"{n}_{what}" for n in op.inputs for what in ("shape", "dtype")}
    unknown = [ask for ask in asks(formula) if ask not in known]
    if unknown:
        raise InvalidConfigError(
            f"{op.name}: the formula of {name} asks for {', '.join(unknown)}; it may ask for"
            f" {', '.join(sorted(known))}"
        )
    return formula


def register_backward(op: Any, backward: Any = None) -> Any:
    """Gradient formulas for an op; without `backward` a decorator.

    Either a dict that maps inputs to functions, or one function that returns a gradient for each
    input. The names of a function's parameters say what it is given, and so what is saved: `grad`,
    `result`, an input, an attribute, `NAME_shape`. Formulas are tensor code, and differentiable.
    """
    if isinstance(op, AutogradConfig):
        op, backward = op.op, op.backward
    if backward is None:
        return lambda given: register_backward(op, given)
    known = named(op)
    if isinstance(known, Composite):
        raise OpKindMismatchError(
            f"{known.name} is a formula of other ops and has their gradients; use autograd.Function"
            " for one of its own"
        )
    formulas = formulas_of(known, backward)
    strange = set(formulas) - set(known.inputs)
    if strange:
        raise InvalidConfigError(
            f"{known.name} has no input {', '.join(sorted(strange))}; it has"
            f" {', '.join(known.inputs)}"
        )
    before = dict(known.vjp)
    replace(known, {name: fits(known, name, f) for name, f in formulas.items()})
    OWN.setdefault(known.name, before)

    def undo() -> None:
        replace(known, before)
        if before is OWN.get(known.name) or OWN.get(known.name) == before:
            OWN.pop(known.name, None)

    return AutogradHandle(known.name, undo)


def replace(op: Op, formulas: dict[str, BackwardFn]) -> None:
    """Nodes that exist keep the formulas they were recorded with."""
    op.vjp.clear()
    op.vjp.update(formulas)
    RECIPES[op].clear()


def get_autograd(op: str) -> AutogradEntry | None:
    """The gradient formulas of an op, the library's or registered; None if it has none."""
    known = named(op)
    if not known.vjp or isinstance(known, Composite):
        return None
    origin = "user" if known.name in OWN else "library"
    return AutogradEntry(known.name, dict(known.vjp), origin)


def has_autograd(op: str) -> bool:
    """Whether backward can go through an op."""
    known = named(op)
    return bool(known.vjp) or isinstance(known, Composite | ViewOp)


def require_autograd(op: str) -> AutogradEntry:
    """The formulas, or AutogradNotRegisteredError."""
    entry = get_autograd(op)
    if entry is None:
        raise AutogradNotRegisteredError(
            f"{op} has no gradient formula; register_backward({op!r}, ...) gives it one"
        )
    return entry
