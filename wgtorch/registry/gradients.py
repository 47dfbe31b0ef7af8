"""Gradient formulas of users, in place of an op's own or where it has none."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from wgtorch.autograd.function import FunctionCtx
from wgtorch.autograd.function_node import check_gradient
from wgtorch.autograd.recipe import RECIPES
from wgtorch.device import Device
from wgtorch.dtype import DType, asked
from wgtorch.errors import (
    AutogradGradientMismatchError,
    AutogradNotRegisteredError,
    InvalidConfigError,
    OpKindMismatchError,
    RegistrationFailedError,
)
from wgtorch.op import Composite, Op, ViewOp, asks, no_gradient
from wgtorch.registry.handles import AutogradHandle
from wgtorch.registry.layers import Layers
from wgtorch.registry.opening import named
from wgtorch.storage import View

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
    """`backward` is a dict of formulas by input, or one function that returns all gradients; it
    may be for one type of devices, or for some dtypes (of the gradient), only.
    """

    op: str
    backward: dict[str, BackwardFn] | BackwardFn
    device: str | None = None
    dtypes: tuple[DType, ...] = ()
    override: bool = False


@dataclass(frozen=True)
class AutogradEntry:
    """The formulas that an op has."""

    op: str
    formulas: dict[str, BackwardFn]
    origin: str  # "user" or "library"

    @property
    def saves(self) -> tuple[str, ...]:
        """What is kept for backward."""
        asked = {n for f in self.formulas.values() for n in asks(getattr(f, "given", f))}
        return tuple(sorted(asked - {"grad"}))


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
    """The formula, which an op of this declaration can be asked for."""
    others = (*op.attrs, *getattr(op, "outputs", ()))
    return fitting(op.name, op.inputs, others, name, formula)


def fitting(op: str, inputs: tuple[str, ...], others: tuple[str, ...], name: str,
            formula: BackwardFn) -> BackwardFn:  # fmt: skip
    """The formula of the input `name`, which must ask for what there is and answer a tensor that
    can be its gradient; None stands for one that has none."""
    if name not in inputs:
        raise InvalidConfigError(f"{op} has no input {name}; it has {', '.join(inputs)}")
    if formula is None:
        return no_gradient
    if not callable(formula):
        raise InvalidConfigError(
            f"{op}: the formula of {name} must be a function, `lambda grad, ...:`, or None, not"
            f" {type(formula).__name__}"
        )
    known = {"grad", "result", "results", *inputs, *others}
    known |= {f"{n}_{what}" for n in inputs for what in ("shape", "dtype")}
    unknown = [ask for ask in asks(formula) if ask not in known]
    if unknown:
        raise InvalidConfigError(
            f"{op}: the formula of {name} asks for {', '.join(unknown)}; it may ask for"
            f" {', '.join(sorted(known))}"
        )

    def answer(*facts: Any) -> Any:
        *given, incoming, shape = facts
        grad = formula(*given)
        if grad is None:
            return None
        if not isinstance(grad, View):
            raise AutogradGradientMismatchError(
                f"{op}: the formula of {name} must return a Tensor or None, not"
                f" {type(grad).__name__}"
            )
        several = incoming if isinstance(incoming, tuple | list) else (incoming,)
        device = next(g.device for g in several if g is not None)
        check_gradient(op, inputs.index(name), grad, shape, device)
        return grad

    answer.given = formula  # type: ignore[attr-defined]
    answer.asks = [*asks(formula), "grad", f"{name}_shape"]  # type: ignore[attr-defined]
    return answer


def fitting_all(op: str, reference: Callable, inputs: tuple[str, ...], backward: Any,
                outputs: tuple[str, ...] = ()) -> dict[str, BackwardFn]:  # fmt: skip
    """The formulas of an op that will be declared."""
    if not isinstance(backward or {}, dict):
        raise InvalidConfigError(
            f"{op}: backward= must be a dict from inputs to functions, like"
            f" {{'{inputs[0]}': lambda grad: grad}}, not {type(backward).__name__}"
        )
    others = tuple(n for n in inspect.signature(reference).parameters if n not in inputs)
    pairs = (backward or {}).items()
    return {name: fitting(op, inputs, (*others, *outputs), name, f) for name, f in pairs}


def limited(op: Op, formula: BackwardFn, former: BackwardFn | None, device: str | None,
            dtypes: tuple[DType, ...]) -> BackwardFn:  # fmt: skip
    """A formula for some devices and dtypes; elsewhere what was there before counts."""
    mine, others = asks(formula), asks(former) if former else []
    asked = list(dict.fromkeys(["grad", *mine, *others]))

    def chosen(*facts: Any) -> Any:
        known = dict(zip(asked, facts, strict=True))
        grads = known["grad"] if isinstance(known["grad"], tuple | list) else (known["grad"],)
        grad = next(g for g in grads if g is not None)
        if device in (None, grad.device.type) and (not dtypes or grad.dtype in dtypes):
            return formula(*[known[ask] for ask in mine])
        if former is None:
            raise AutogradNotRegisteredError(
                f"{op.name} has no gradient formula for {grad.dtype} on {grad.device.type}"
            )
        return former(*[known[ask] for ask in others])

    chosen.asks = asked  # type: ignore[attr-defined]
    return chosen


@dataclass(frozen=True, eq=False)
class Formulas:
    """What `register_backward` was given: for all devices and dtypes, or some."""

    by_input: dict[str, BackwardFn]
    device: str | None
    dtypes: tuple[DType, ...]

    def over(self, op: Op, others: dict[str, BackwardFn]) -> dict[str, BackwardFn]:
        if self.device is None and not self.dtypes:
            return others | self.by_input
        mine = self.by_input.items()
        return others | {
            n: limited(op, f, others.get(n), self.device, self.dtypes) for n, f in mine
        }


def show(op: Op, own: dict[str, BackwardFn], layers: list[Formulas]) -> None:
    """Nodes that exist keep the formulas they were recorded with."""
    formulas = own
    for layer in layers:
        formulas = layer.over(op, formulas)
    op.vjp.clear()
    op.vjp.update(formulas)
    RECIPES[op].clear()


FORMULAS = Layers(lambda op: dict(op.vjp), show)


def register_backward(op: Any, backward: Any = None, *, device: str | None = None,
                      dtypes: Iterable[DType] = (), override: bool = False) -> Any:  # fmt: skip
    """Gradient formulas for an op; without `backward` a decorator.

    Either a dict that maps inputs to functions, or one function that returns a gradient for each
    input. The names of a function's parameters say what it is given, and so what is saved: `grad`,
    `result`, an input, an attribute, `NAME_shape`. Formulas are tensor code, and differentiable;
    None in place of one says that an input has no gradient.
    They may be for one type of devices, or for some dtypes, only. An op that has formulas of a user
    gets others with `override`, until those are unregistered, in whatever order; else
    RegistrationFailedError.
    """
    if isinstance(op, AutogradConfig):
        config = op
        op, backward, device = config.op, config.backward, config.device
        dtypes, override = config.dtypes, config.override
    if backward is None:
        return lambda given: register_backward(op, given, device=device, dtypes=dtypes,
                                               override=override)  # fmt: skip
    known = named(op)
    if known in FORMULAS.over and not override:
        raise RegistrationFailedError(
            f"{known.name} has a registered backward already; say override=True"
        )
    if isinstance(known, Composite):
        raise OpKindMismatchError(
            f"{known.name} is a formula of other ops and has their gradients; use autograd.Function"
            " for one of its own"
        )
    by_input = {n: fits(known, n, f) for n, f in formulas_of(known, backward).items()}
    place = None if device is None else Device(device).type
    layer = Formulas(by_input, place, tuple([asked(dtype) for dtype in dtypes]))
    return AutogradHandle(known.name, FORMULAS.put(known, layer))


def get_autograd(op: str) -> AutogradEntry | None:
    """The gradient formulas of an op, the library's or registered; None if it has none."""
    known = named(op)
    if not known.vjp or isinstance(known, Composite):
        return None
    origin = "user" if known in FORMULAS.over else "library"
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
