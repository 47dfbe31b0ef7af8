"""Opening ops at run time: a declaration becomes a function, a method and an in-place form."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import wgtorch
from wgtorch.autograd.transforms.batch_rules import RULES, told
from wgtorch.dispatch.doors import DOORS, FACES, PUBLIC
from wgtorch.errors import (
    FunctionAlreadyRegisteredError,
    InvalidConfigError,
    OpNotFoundError,
    suggestion,
)
from wgtorch.methods import Methods, admit
from wgtorch.op import REGISTRY, Op


def named(name: str) -> Op:
    """The op of a name; aliases count."""
    op = REGISTRY.get(name)
    if op is None:
        op = next((o for o in REGISTRY.values() if name in o.aliases), None)
    if op is None:
        public = [n for n in REGISTRY if not n.startswith("_")]
        raise OpNotFoundError(f"there is no op {name!r}.{suggestion(name, public)}")
    return op


def check_name(name: str, what: str) -> None:
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
        raise InvalidConfigError(
            f"{what}: {name!r} is no name for a function; give a Python identifier that does not"
            " start with an underscore"
        )
    if name in REGISTRY or hasattr(wgtorch, name):
        raise FunctionAlreadyRegisteredError(
            f"{what}: wgtorch.{name} exists already; choose another name"
        )


def open_op(op: Op) -> Callable[..., Any]:
    """Makes a declared op callable everywhere; returns the function."""
    admit(op, wgtorch.Tensor)
    call = PUBLIC[op.name]
    setattr(sys.modules["wgtorch"], op.name, call)
    return call


def close_op(op: Op) -> None:
    """Forgets an op as if it had never been declared."""
    for table in (REGISTRY, DOORS, FACES, PUBLIC):
        table.pop(op.name, None)
    PUBLIC.pop(op.name + "_", None)
    RULES.pop(op.name, None)
    told.discard(op.name)
    if getattr(wgtorch, op.name, None) is not None:
        delattr(sys.modules["wgtorch"], op.name)
    for form in (op.name, op.name + "_"):
        if form in vars(Methods):
            delattr(Methods, form)
