"""How what a caller gave becomes an op's inputs and attributes, and what is said when it does not.

Binding happens per kind of signature: names are looked at only when names were given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from wgtorch.errors import DeviceError
from wgtorch.integers import NO_SIZES, int_places, integer, integers
from wgtorch.op import Elementwise, Op
from wgtorch.ops.arguments import check_several, no_numbers
from wgtorch.parameters import EMPTY, KEYWORD_ONLY
from wgtorch.storage import View

NUMBERS = frozenset((float, int, bool, complex))
MISSING = EMPTY


def binder(op: Op) -> Callable[[tuple, dict], tuple[tuple, dict[str, Any]]]:
    """Splits what was given, by position or by name, into inputs and attributes."""
    names = tuple(op.parameters)
    defaults = tuple(p.default for p in op.parameters.values())
    positional = sum(p.kind is not KEYWORD_ONLY for p in op.parameters.values())
    least = max((i + 1 for i, d in enumerate(defaults) if d is MISSING), default=0)
    inputs = tuple(names.index(n) for n in op.inputs)
    attrs = tuple((n, names.index(n)) for n in op.attrs)
    sizes, several = _place_of_sizes(op, names)
    ints = int_places(op)

    def bind(args, given):
        if sizes is not None:
            given = with_named_sizes(op, names[sizes], given)
            args = args if len(args) <= several else with_sizes(op, args, sizes)
        args, given = with_ints(op, ints, args, given) if ints else (args, given)
        if given or not least <= len(args) <= positional:
            args = by_name(args, given)
        args += defaults[len(args) :]
        return tuple([args[i] for i in inputs]), {n: listed(args[i]) for n, i in attrs}

    def by_name(args, given):
        if len(args) > positional:
            raise wrong(f"takes {positional} positional arguments but {len(args)} were given")
        known = dict(zip(names, args, strict=False))
        for name in given:
            if name not in names:
                raise wrong(f"got an unexpected keyword argument '{name}'")
            if name in known:
                raise wrong(f"got multiple values for argument '{name}'")
        known |= given
        full = [known.get(n, d) for n, d in zip(names, defaults, strict=True)]
        lacking = [n for n, v in zip(names, full, strict=True) if v is MISSING]
        if lacking:
            word = "argument" if len(lacking) == 1 else "arguments"
            raise wrong(f"missing {len(lacking)} required positional {word}: {listing(lacking)}")
        return tuple(full)

    def wrong(text: str) -> TypeError:
        return TypeError(f"{op.name}() {text}\n  signature: {signature(op)}")

    return bind


def with_sizes(op: Op, args: tuple, place: int) -> tuple:
    """The sizes from this place on as a tuple of ints, if they were given one by one, too."""
    sizes, rest = args[place], args[place + 1 :]
    if isinstance(sizes, int | np.integer) or (rest and len(args) > len(op.parameters)):
        sizes, rest = args[place:], ()
    if type(sizes) in NO_SIZES or isinstance(sizes, list | tuple | np.ndarray):
        sizes = integers(op.name, tuple(op.parameters)[place], sizes, place)
    return (*args[:place], sizes, *rest)


def with_named_sizes(op: Op, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The same where sizes may have been given by name; None stays, which some ops know."""
    sizes = given.get(name)
    return given if sizes is None else given | {name: integers(op.name, name, sizes, None)}


def with_ints(op: Op, ints: tuple, args: tuple, given: dict) -> tuple[tuple, dict[str, Any]]:
    """What was given, of which these must be ints."""
    if args and "tensors" in op.parameters:  # `cat(x, y)`: what is wrong is not the y
        check_several(op.name, args[0])
    full, named = list(args), dict(given)
    for name, i, position, none_will_do in ints:
        if i < len(full):
            if full[i] is not None or not none_will_do:
                full[i] = integer(op.name, name, full[i], position)
        elif name in named and (named[name] is not None or not none_will_do):
            named[name] = integer(op.name, name, named[name])
    return tuple(full), named


def _place_of_sizes(op: Op, names: tuple[str, ...]) -> tuple[int | None, int]:
    """Where sizes may stand one by one, `x.permute(1, 0)`, and how many arguments it takes more
    than: where there may be none, as in `x.squeeze(0, 2)`, one alone is no tuple of one."""
    for name, p in op.parameters.items():
        if p.annotation in ("Sizes", "Sizes | None"):
            place = names.index(name)
            return place, place + (p.annotation != "Sizes")
    return None, 0


def signature(op: Op) -> str:
    parts, starred = [], False
    for name, p in op.parameters.items():
        if p.kind is KEYWORD_ONLY and not starred:
            starred = True
            parts.append("*")
        parts.append(name if p.default is MISSING else f"{name}={p.default}")
    return f"{op.name}({', '.join(parts)})"


def listing(names: list[str]) -> str:
    return ", ".join(f"'{n}'" for n in names)


def listed(value: Any) -> Any:
    """Hashable: plans are remembered by their attributes."""
    if isinstance(value, list | tuple):
        return tuple([listed(v) for v in value])
    if isinstance(value, np.generic | np.ndarray) and not value.ndim:
        return value.item()
    if isinstance(value, View) and not value.layout.shape:
        return value.item()  # type: ignore[attr-defined]
    return value


def holds_tensor(values: Any) -> bool:
    """Whether there is a tensor among these: what follows from it may change."""
    for value in values:
        if isinstance(value, View) or (type(value) in (tuple, list) and holds_tensor(value)):
            return True
    return False


def plain(value: Any) -> Any:
    """numpy's number as Python's; None for what is no number."""
    return value.item() if is_number(value) else None


def is_number(value: Any) -> bool:
    return type(value) in NUMBERS or (isinstance(value, np.generic) and value.dtype.kind in "biufc")


def number(op: Op, value: Any) -> float:
    """A Python number; numpy's are welcome."""
    if type(value) in NUMBERS:
        return value
    if not is_number(value):
        unfit(op, value)
    return value.item()


REMEDIES = {np.ndarray: "torch.from_numpy(x)", list: "torch.tensor(x)", tuple: "torch.tensor(x)"}


def unfit(op: Op, value: Any) -> NoReturn:
    remedy = REMEDIES.get(type(value), "")
    remedy = f"; {remedy} makes a tensor of it" if remedy else ""
    due = "Tensor" if is_number(value) else "Tensor or a number"
    if is_number(value) and op.owes_vjp:  # an op of a user
        remedy = "; declare the parameter with a default or an annotation: `s=1.0` or `s: float`"
    raise TypeError(
        f"{op.name}(): argument must be {due}, not {type(value).__name__}{remedy}"
        f"\n  signature: {signature(op)}"
    )


def apart(op: Op, tensors: list[Any]) -> DeviceError:
    places = list(dict.fromkeys([t.device for t in tensors]))
    to = next((d for d in places if d.type != "cpu"), places[0])
    first, second = [str(d) if d.is_current else f"the former {d}" for d in places[:2]]
    name = op.name if op.torch in ("", "-") else op.torch
    said = "" if name.startswith("_") else f"{name}: "  # a part of what was called
    return DeviceError(
        f"Expected all tensors to be on the same device, but found at least two devices,"
        f" {first} and {second}! ({said}move one with .to('{to}'))"
    )


def with_number(op: Elementwise, x: Any, y: Any) -> None:
    """Complains of a number where there must be a tensor."""
    no_numbers(op.name, op.tensors, **dict(zip(op.inputs, (x, y), strict=True)))


def numbers_only(op: Elementwise, x: Any, y: Any) -> NoReturn:
    if is_number(x) and is_number(y):
        with_number(op, x, y)
    unfit(op, x)
