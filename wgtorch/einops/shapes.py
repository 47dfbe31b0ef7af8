"""Sizes by name: `parse_shape(x, "batch _ h w")`."""

from __future__ import annotations

from wgtorch.einops.pattern import DOTS, check_name
from wgtorch.errors import EinopsError
from wgtorch.tensor import Tensor


def parse_shape(x: Tensor, pattern: str) -> dict[str, int]:
    """The sizes of named dimensions; `_` leaves one out, `...` several, a number is checked."""
    if not isinstance(pattern, str):
        raise TypeError(f"parse_shape: the pattern must be a str, not {type(pattern).__name__}")
    names, shape = pattern.split(), tuple(x.shape)
    if DOTS in names:
        place = names.index(DOTS)
        names[place : place + 1] = ["_"] * (len(shape) - len(names) + 1)
    if len(names) != len(shape):
        raise EinopsError(
            f"parse_shape: {pattern!r} names {len(names)} dimensions, the tensor has shape"
            f" {list(shape)}"
        )
    sizes: dict[str, int] = {}
    for name, size in zip(names, shape, strict=True):
        if name == "_":
            continue
        if name.isdecimal():
            if int(name) != size:
                raise EinopsError(
                    f"parse_shape: {pattern!r} has {name} where the tensor has {size}"
                )
            continue
        check_name(name, pattern, pattern.index(name))
        sizes[name] = size
    return sizes
