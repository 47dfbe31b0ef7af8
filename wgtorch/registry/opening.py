"""Opening ops at run time: a declaration becomes a function, a method and an in-place form."""

from __future__ import annotations

from collections.abc import Callable

import wgtorch
from wgtorch.autograd.recipe import NODES, RECIPES
from wgtorch.autograd.transforms.batch_rules import RULES, told
from wgtorch.dispatch.doors import DOORS, FACES, PUBLIC
from wgtorch.errors import (
    FunctionAlreadyRegisteredError,
    InvalidConfigError,
    MethodAlreadyRegisteredError,
    OpNotFoundError,
    suggestion,
)
from wgtorch.methods import Methods, admit
from wgtorch.op import REGISTRY, Op
from wgtorch.registry.handles import FunctionHandle
from wgtorch.registry.layers import WGTORCH, is_name


def named(name: str) -> Op:
    """The op of a name; aliases count."""
    op = REGISTRY.get(name) if isinstance(name, str) else None
    if op is None:
        op = next((o for o in REGISTRY.values() if name in o.aliases), None)
    if op is None:
        public = [n for n in REGISTRY if not n.startswith("_")]
        raise OpNotFoundError(f"there is no op {name!r}.{suggestion(str(name), public)}")
    return op


OPENED: dict[str, FunctionHandle] = {}  # the ops of users, by name


def check_name(name: str, what: str, override: bool, in_place: bool) -> None:
    """Whether an op may have this name; with `override` that of another op of a user."""
    if not is_name(name) or name.startswith("_"):
        raise InvalidConfigError(
            f"{what}: {name!r} is no name for a function; give a Python identifier that does not"
            " start with an underscore"
        )
    if override and name in OPENED:
        return
    for form in (name, name + "_") if in_place else (name,):
        if form in REGISTRY or hasattr(wgtorch, form):
            remedy = ", unregister() that one, or say override=True" if name in OPENED else ""
            raise FunctionAlreadyRegisteredError(
                f"{what}: wgtorch.{form} exists already; choose another name{remedy}"
            )
        if hasattr(wgtorch.Tensor, form):
            raise MethodAlreadyRegisteredError(
                f"{what}: Tensor.{form} exists already; choose another name"
            )


def make_room(name: str) -> None:
    """Takes away the op of a user that has the name."""
    if name in OPENED:
        OPENED[name].unregister()


def opened(op: Op) -> FunctionHandle:
    """Makes a declared op callable everywhere, until its handle takes it away."""
    try:
        admit(op, wgtorch.Tensor)
    except Exception:
        close_op(op, [])
        raise
    forms = [form for form in (op.name, op.name + "_") if form in PUBLIC]
    names = [WGTORCH.put(form, (op, PUBLIC[form])) for form in forms]
    handle = FunctionHandle(op.name, lambda: close_op(op, names), PUBLIC[op.name])
    OPENED[op.name] = handle
    return handle


def close_op(op: Op, names: list[Callable[[], None]]) -> None:
    """Forgets an op as if it had never been declared."""
    for table in (REGISTRY, DOORS, FACES, PUBLIC, OPENED):
        table.pop(op.name, None)
    PUBLIC.pop(op.name + "_", None)
    RULES.pop(op.name, None)
    RECIPES.pop(op, None)
    NODES.pop(op, None)
    told.discard(op.name)
    for lift in names:
        lift()
    for form in (op.name, op.name + "_"):
        if form in vars(Methods):
            delattr(Methods, form)
