"""Ints among arguments: what stands for one, and the complaint about what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgtorch.storage import View

if TYPE_CHECKING:
    from wgtorch.op import Op

# A bool is an int to Python, not to PyTorch.
OTHERS = (bool, float, complex, str, bytes, list, tuple, dict, set, np.generic, np.ndarray,
          type(None))  # fmt: skip
NO_SIZES = frozenset((float, complex, str, bytes, dict, set, type(None)))


def integer(op: str, name: str, value: Any, place: int | None = None) -> Any:
    """The argument as an int: itself, numpy's, or the element of a 0-d tensor of integers.

    `place` is its position, counted from 1; None where it was given by name.
    """
    if type(value) is int:
        if -(1 << 63) <= value < 1 << 63:
            return value
        raise ValueError("Overflow when unpacking long long")
    number = element(value)
    if is_no_int(number):
        where = "" if place is None else f" (position {place})"
        raise TypeError(f"{op}(): argument '{name}'{where} must be int, not {type(value).__name__}")
    return number


def integers(op: str, name: str, value: Any, place: int | None) -> int | tuple[int, ...]:
    """The argument as an int, or as a tuple of them; `place` is as in `integer`."""
    if type(value) is int:
        return value
    if type(value) is tuple and all([type(v) is int for v in value]):
        return value
    where = "" if place is None else f" (position {place})"
    start = f"{op}(): argument '{name}'{where} must be tuple of ints,"
    if not isinstance(value, list | tuple):
        number = one_of_several(value)
        if number is None:
            raise TypeError(f"{start} not {type(value).__name__}")
        return number
    numbers = []
    for i, each in enumerate(value):
        number = int(each) if i and type(each) is bool else one_of_several(each)
        if number is None:  # of bools only the first is refused, as by PyTorch
            raise TypeError(f"{start} but found element of type {type(each).__name__} at pos {i}")
        numbers.append(number)
    return tuple(numbers)


def one_of_several(value: Any) -> int | None:
    """The int that it is, or that it holds alone; None where it is no int."""
    if (
        isinstance(value, View)
        and value.layout.numel == 1
        and value.storage.value.dtype.category == 1
    ):
        return value.item()  # type: ignore[attr-defined]
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    number = element(value)
    try:
        return None if is_no_int(number) else number.__index__()
    except TypeError:  # of a class
        return None


def shape_of(op: str, size: tuple) -> tuple[int, ...]:
    """A shape given to `op` as one sequence or as ints."""
    given = size[0] if len(size) == 1 else size
    if type(given) not in NO_SIZES and not isinstance(given, View) and hasattr(given, "__iter__"):
        given = tuple(given)
    shape = integers(op, "size", given, 1)
    if not isinstance(shape, tuple):
        shape = (shape,)
    if shape and min(shape) < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        )
    return shape


def given_size(name: str, size: tuple, named: dict[str, Any]) -> tuple[int, ...]:
    """`shape_of` what must be there, if only as `size=`."""
    if not size and "size" in named:
        size = (named.pop("size"),)
    if not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    return shape_of(name, size)


def int_tuple(op: str, name: str, value: Any, place: int) -> tuple[int, ...]:
    """The argument as a tuple of ints of 64 bits, for which no single one will do."""
    if not isinstance(value, list | tuple):
        raise TypeError(
            f"{op}(): argument '{name}' (position {place}) must be tuple of ints, not"
            f" {type(value).__name__}"
        )
    found: Any = integers(op, name, value, place)
    for i, number in enumerate(found, 1):
        if not -(1 << 63) <= number < 1 << 63:
            raise TypeError(
                f"{op}(): argument '{name}' failed to unpack the object at pos {i} with error"
                ' "Overflow when unpacking long long'
            )
    return found


def sizes(op: str, name: str, value: Any, place: int, count: int) -> tuple[int, ...]:
    """The argument as so many ints, of which one counts for all."""
    found = integers(op, name, value, place)
    if not isinstance(found, tuple):
        return (found,) * count
    if len(found) == 1:
        return found * count
    if len(found) != count:
        raise RuntimeError(f"{op}: {name} must be an int, or {count} of them, not {found}")
    return found


def is_no_int(number: Any) -> bool:
    return isinstance(number, OTHERS) or not hasattr(number, "__index__")


def element(value: Any) -> Any:
    """The int that numpy or a tensor holds; anything else as it is."""
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, View):
        if value.layout.shape or value.storage.value.dtype.category != 1:
            return None
        return value.item()  # type: ignore[attr-defined]
    return value


def int_places(op: Op) -> tuple[tuple[str, int, int, bool], ...]:
    """(name, index, position in complaints, whether None will do) of each parameter of a public op
    that its annotation calls an int."""
    if op.name.startswith("_"):
        return ()
    first = 0 if op.method else 1
    return tuple(
        [
            (name, i, i + first, p.default is None or "None" in p.annotation)
            for i, (name, p) in enumerate(op.parameters.items())
            if p.annotation in ("int", "int | None")
        ]
    )
