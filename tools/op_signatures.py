"""Signatures of ops as users call them, with types: what stubs and the table of ops are made of."""

from __future__ import annotations

import inspect
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import wgtorch
from wgtorch.dispatch.doors import FACES
from wgtorch.op import Elementwise, Op
from wgtorch.parameters import EMPTY, KEYWORD_ONLY, VAR_POSITIONAL, Parameter

AnyParameter = Parameter | inspect.Parameter
VARIADIC = (VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
TYPES = {"Sizes": "Sizes", "Sizes | None": "Sizes | None", "object": "Any", "Any": "Any"}
MARKED = {"Condition": "Tensor", "Index": "Tensor", "Tensors": "Sequence[Tensor]",
          "Maybe": "Tensor | None"}  # fmt: skip
BUILTIN = ("bool", "int", "float", "str")


class Argument(NamedTuple):
    name: str
    type: str
    default: str  # "" = none
    keyword: bool

    def written(self) -> str:
        return f"{self.name}: {self.type}" + (f" = {self.default}" if self.default else "")


def arguments(op: Op) -> list[Argument]:
    """In the order of a call."""
    return [argument(op, p, place) for place, p in enumerate(parameters(op))]


def parameters(op: Op) -> list[AnyParameter]:
    """Those of what users call: of the front, where an op has one."""
    given = list(inspect.signature(FACES[op.name]).parameters.values())
    if any(p.kind in VARIADIC for p in given):
        return list(op.parameters.values())
    return given


def argument(op: Op, p: AnyParameter, place: int) -> Argument:
    known = op.parameters.get(p.name, p)
    if p.kind is VAR_POSITIONAL:
        return Argument(f"*{p.name}", "Any", "", False)
    default = "" if p.default is EMPTY else shown(p.default)
    return Argument(p.name, typed(op, known, p, place), default, p.kind is KEYWORD_ONLY)


def shown(default: Any) -> str:
    return default.name if hasattr(default, "itemsize") else repr(default)


def typed(op: Op, known: AnyParameter, p: AnyParameter, place: int) -> str:
    said = "" if known.annotation is EMPTY else str(known.annotation)
    if said in MARKED:
        return MARKED[said]
    if said and said != "Other":
        optional = p.default is None and "None" not in said
        return annotated(said) + (" | None" if optional else "")
    if isinstance(op, Elementwise):
        if p.default is None:
            return "Tensor | Number | None"
        if isinstance(p.default, str):
            return "builtins.str"
        if p.default is not EMPTY:
            return "Number"
        return "Tensor" if place == 0 and len(op.inputs) != 2 else "Tensor | Number"
    if p.default is EMPTY and (p.name == "input" or (place == 0 and p.name != "tensors")):
        return "Tensor"
    return "Sequence[Tensor]" if p.name == "tensors" else "Any"


def annotated(said: str) -> str:
    """An annotation of an op, as a stub can say it: names of builtins are also names of dtypes."""
    parts = [part.strip() for part in said.split("|")]
    known = {**TYPES, **{kind: f"builtins.{kind}" for kind in BUILTIN}, "None": "None"}
    return " | ".join(known[part] for part in parts) if all(p in known for p in parts) else "Any"


def result(op: Op) -> str:
    """The type of what comes out, seen at the op's first sample."""
    said = inspect.signature(op.reference).return_annotation
    if isinstance(said, str):
        return annotated(said) if said in BUILTIN else said
    if not op.samples:
        return "Tensor"
    args, attrs = next(iter(op.samples(np.random.default_rng(crc32(op.name.encode())))))
    with warnings.catch_warnings(), np.errstate(all="ignore"), wgtorch.no_grad():
        warnings.simplefilter("ignore")
        return kind_of(FACES[op.name](*[as_tensor(a) for a in args], **attrs))


def as_tensor(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [as_tensor(v) for v in value]
    return wgtorch.tensor(value) if isinstance(value, np.ndarray | np.generic) else value


def kind_of(value: Any) -> str:
    if isinstance(value, wgtorch.Tensor):
        return "Tensor"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return "tuple[" + ", ".join(kind_of(v) for v in value) + "]"
    if isinstance(value, tuple):
        return "tuple[Tensor, ...]"
    if isinstance(value, list):
        return "list[Tensor]"
    return f"builtins.{type(value).__name__}" if type(value).__name__ in BUILTIN else "Any"


def listed(these: list[Argument], show=Argument.written) -> str:
    """Arguments as a signature writes them, with the star before those that are keywords."""
    parts: list[str] = []
    for argument in these:
        if argument.keyword and not any([part.startswith("*") for part in parts]):
            parts.append("*")
        parts.append(show(argument))
    return ", ".join(parts)
