"""Autocast around a user's `autograd.Function`: its forward and its backward, computed alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial, wraps
from typing import Any

import numpy as np

from wgtorch.amp.autocast_mode import autocast, get_autocast_dtype, is_autocast_enabled
from wgtorch.device import Device
from wgtorch.dtype import DType, float64
from wgtorch.storage import View


def custom_fwd(
    fwd: Callable | None = None, *, device_type: str, cast_inputs: DType | None = None
) -> Any:
    """Decorates `forward` of a Function, and notes for `custom_bwd` whether autocast was on.

    With `cast_inputs`, in an autocast region its floating point tensors of that device are cast to
    this dtype, and it runs without autocast.
    """
    check(device_type)
    if fwd is None:
        return partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    forward = fwd

    @wraps(forward)
    def run(*args: Any, **kwargs: Any) -> Any:
        ctx, enabled = args[0], is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if not enabled or cast_inputs is None:
            return forward(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return forward(*converted(args, device_type, cast_inputs),
                           **converted(kwargs, device_type, cast_inputs))  # fmt: skip

    return run


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Any:
    """Decorates `backward` of a Function: it runs in autocast if its forward did."""
    check(device_type)
    if bwd is None:
        return partial(custom_bwd, device_type=device_type)
    backward = bwd

    @wraps(backward)
    def run(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return backward(*args, **kwargs)

    return run


def check(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def converted(value: Any, device_type: str, dtype: DType) -> Any:
    """The tensors in `value`, however deep, as `dtype` if they are floats of the device."""
    if isinstance(value, View):
        have: Any = value
        here = have.device.type == Device(device_type).type
        fits = here and have.dtype.is_floating_point and have.dtype is not float64
        return have.to(dtype) if fits else have
    if isinstance(value, str | bytes | np.ndarray):
        return value
    if isinstance(value, Mapping):
        return {
            converted(key, device_type, dtype): converted(each, device_type, dtype)
            for key, each in value.items()
        }
    if not isinstance(value, Iterable):
        return value
    each = (converted(one, device_type, dtype) for one in value)
    return type(value)(each) if isinstance(value, list | tuple) else each  # type: ignore[call-arg]
