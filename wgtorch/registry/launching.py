"""What a user says of a shader's launch: its numbers, its workgroups, the functions that give them.

All of it is checked where it is said or, where a function says it, before the kernel runs.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from wgtorch.backends.webgpu import library
from wgtorch.dtype import DType
from wgtorch.errors import InvalidConfigError

RANGES = {"u32": (0, 1 << 32), "i32": (-(1 << 31), 1 << 31), "f32": None}
READ = re.compile(r"\blaunch\s*\.\s*(\w+)")
MAX_GROUPS = 65535
OF_MAPS = ("count", "last")  # numbers that what calls `value_at` brings along


def fields_of(name: str, file: str, is_map: bool) -> dict[str, str]:
    """The numbers that a shader's head lists, and their types."""
    fields: dict[str, str] = {}
    listed = library.head(file).get("launch", "").split()
    for said in listed:
        field, _, kind = said.partition(":")
        fields[field] = kind = kind or "u32"
        if not field.isidentifier() or field in RANGES or kind not in RANGES or said[-1] == ":":
            raise InvalidConfigError(
                f"{name}: `// launch: {library.head(file)['launch']}` must list names, a space"
                " between two, each with `:i32` or `:f32` behind it unless it is a u32"
            )
    source = library.COMMENT.sub("", library.shader(file))
    known = (*fields, *OF_MAPS) if is_map else tuple(fields)
    unknown = [n for n in dict.fromkeys(READ.findall(source)) if n not in known]
    if unknown:
        raise InvalidConfigError(
            f"{name}: the shader reads launch.{unknown[0]}, which no comment at its top lists;"
            f" begin it with `// launch: {' '.join([*listed, *unknown])}`, with `:f32` or `:i32`"
            " behind a name that is no u32"
        )
    return fields


def fitting_numbers(name: str, fields: dict[str, str], numbers: Any) -> tuple[float, ...]:
    """One number for each field, which its type can hold."""
    if not isinstance(numbers, tuple | list) or len(numbers) != len(fields):
        count = len(numbers) if isinstance(numbers, tuple | list) else repr(numbers)
        raise InvalidConfigError(
            f"{name}: numbers= must return a tuple of {len(fields)}, as the shader's `// launch:`"
            f" lists {', '.join(fields) or 'none'}; it returned {count}"
        )
    return tuple([fitting(name, *pair) for pair in zip(fields.items(), numbers, strict=True)])


def fitting(name: str, field: tuple[str, str], number: Any) -> float:
    number = number.item() if isinstance(number, np.generic) else number
    if not isinstance(number, int | float):
        raise InvalidConfigError(f"{name}: launch.{field[0]} must be a number, not {number!r}")
    limits = RANGES[field[1]]
    if limits is None:
        return number
    if not float(number).is_integer() or not limits[0] <= number < limits[1]:
        better = "i32" if float(number).is_integer() and -(1 << 31) <= number < 0 else "f32"
        raise InvalidConfigError(
            f"{name}: launch.{field[0]} is {field[1]}, which cannot hold {number}; write"
            f" `{field[0]}:{better}` behind `// launch:`"
        )
    return int(number)


def workgroups(name: str, groups: Any) -> tuple[int, int, int]:
    """How many run, in three directions."""
    if isinstance(groups, tuple | list) and len(groups) == 3:
        whole = [int(n) for n in groups if isinstance(n, int | np.integer) and n is not True]
        if len(whole) == 3 and min(whole) >= 1 and max(whole) <= MAX_GROUPS:
            return (whole[0], whole[1], whole[2])
    raise InvalidConfigError(
        f"{name}: dispatch= must be three numbers of workgroups from 1 to {MAX_GROUPS}, like"
        f" (64, 1, 1), or `lambda facts:` such numbers, not {groups!r}"
    )


def check_function(name: str, what: str, function: Any, example: str, count: int = 1) -> None:
    """Of a function that may be given: it takes so many arguments."""
    if function is None:
        return
    try:
        inspect.signature(function).bind_partial(*[None] * count)
    except ValueError:  # one that has no signature to ask
        return
    except TypeError:
        raise InvalidConfigError(
            f"{name}: {what}= must be a function, `{example}`, not {signed(function)}"
        ) from None


def signed(value: Any) -> str:
    """A function by its parameters."""
    return f"one of {inspect.signature(value)}" if inspect.isfunction(value) else repr(value)


def shaped(name: str, shape: Callable, count: int) -> Callable:
    """The function, whose answer must be a shape, or one for each of several results."""

    takes = taken_by(shape)

    def answer(*shapes: Any, **attrs: Any) -> Any:
        found = shape(*shapes, **takes(attrs))
        several = found if count else (found,)
        if not isinstance(several, tuple | list) or len(several) != (count or 1) or not all(
            [isinstance(s, tuple | list) and all([is_size(n) for n in s]) for s in several]
        ):  # fmt: skip
            due = f"{count} tuples of sizes" if count else "a tuple of sizes"
            raise InvalidConfigError(f"{name}: shape= must return {due}; it returned {found!r}")
        return found

    return answer


def taken_by(function: Callable) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Which of an op's numbers the function takes by name: it need not take those that it does not
    ask for."""
    parameters = inspect.signature(function).parameters
    if any([p.kind is p.VAR_KEYWORD for p in parameters.values()]):
        return dict
    return lambda attrs: {name: value for name, value in attrs.items() if name in parameters}


def is_size(n: Any) -> bool:
    return type(n) is int and 0 <= n < 1 << 63


def typed(name: str, dtype: Callable) -> Callable:
    """The function, whose answer must be a dtype, or several."""

    takes = taken_by(dtype)

    def answer(*dtypes: Any, **attrs: Any) -> Any:
        found = dtype(*dtypes, **takes(attrs))
        several = found if isinstance(found, tuple | list) else (found,)
        if not all([isinstance(d, DType) for d in several]):
            raise InvalidConfigError(f"{name}: dtype= must return a dtype; it returned {found!r}")
        return found

    return answer


def check_outputs(name: str, outputs: Any, has_shape: bool, is_map: bool) -> None:
    named = isinstance(outputs, tuple | list) and all(
        [isinstance(o, str) and o.isidentifier() for o in outputs]
    )
    if not named:
        raise InvalidConfigError(f"{name}: outputs= must be a tuple of names, not {outputs!r}")
    if outputs and (is_map or not has_shape):
        lacks = "`fn main`, which sets each" if is_map else "shape=, which returns one for each"
        raise InvalidConfigError(f"{name}: outputs= needs {lacks}")
