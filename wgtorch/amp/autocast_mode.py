"""Autocast: inside it, products of matrices take and give halves, softmax and scans take float32.

An op that takes part has its floating point tensors cast on the way in; all others compute in what
they are given. State is per thread and per type of device.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

from wgtorch.autograd.mode import Mode
from wgtorch.device import Device
from wgtorch.dtype import DType, bfloat16, float16, float32, float64
from wgtorch.storage import View

LOWERED = ("mm", "bmm", "_matmul", "mv", "addmm", "baddbmm", "addbmm", "addmv", "addr", "linear",
           "convolution", "prelu")  # fmt: skip
RAISED = ("_softmax", "_log_softmax", "_normed_rows", "cumsum", "cumprod", "norm", "logsumexp")
HALVES = (float16, bfloat16)
DEFAULTS = {"cpu": bfloat16, "webgpu": float16, "ipu": float16, "xla": bfloat16}


class State(threading.local):
    """What a thread starts with."""

    def __init__(self) -> None:
        self.enabled = dict.fromkeys(DEFAULTS, False)
        self.dtypes = dict(DEFAULTS)
        self.caches = True
        self.nesting = 0
        self.cache: dict[int, tuple] = {}  # by id of a parameter: it, its version, and its cast


class Count:
    """How many devices of how many threads are in autocast: 0 is what costs nothing."""

    active = 0


state = State()


# What happens to ops


def casting(name: str, door: Callable[..., Any]) -> Callable[..., Any]:
    """The door of an op that takes part."""
    lowers = name in LOWERED

    def call(*args: Any, **given: Any) -> Any:
        if Count.active:
            args = tuple([cast(a, lowers) for a in args])
            given = {key: cast(value, lowers) for key, value in given.items()}
        return door(*args, **given) if given else door(*args)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = door.__doc__
    call.__wrapped__ = door  # type: ignore[attr-defined]  # whose signature it has
    return call


def cast(arg: Any, lowers: bool) -> Any:
    if not isinstance(arg, View):
        return arg
    value = arg.storage.value
    dtype, kind = value.dtype, value.device.type
    if dtype.category != 2 or dtype is float64 or not state.enabled.get(kind):
        return arg
    if not lowers:
        return arg.to(float32) if dtype in HALVES else arg  # type: ignore[attr-defined]
    wanted = state.dtypes[kind]
    return arg if dtype is wanted else lowered(arg, wanted)


def lowered(tensor: Any, dtype: DType) -> Any:
    """Cast, and if it is a parameter only once in this region."""
    if not (state.caches and tensor.requires_grad and tensor.is_leaf):
        return tensor.to(dtype)
    known = state.cache.get(id(tensor))
    fits = known is not None and known[0] is tensor and known[1] == tensor.storage.version
    if known is not None and fits and known[2].dtype is dtype:
        return known[2]
    result = tensor.to(dtype)
    state.cache[id(tensor)] = tensor, tensor.storage.version, result
    return result


# The context


class autocast(Mode):
    """`with autocast("webgpu"):` or `@autocast("webgpu")`; `dtype` is float16 or bfloat16."""

    def __init__(self, device_type: str, dtype: DType | None = None, enabled: bool = True,
                 cache_enabled: bool | None = None):  # fmt: skip
        if not isinstance(device_type, str):
            raise ValueError(
                f"Expected `device_type` of type `str`, got: `{type(device_type).__name__}`"
            )
        self.device_type = Device(device_type).type
        if self.device_type not in DEFAULTS:
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        self.dtype = state.dtypes[self.device_type] if dtype is None else dtype
        self.enabled, self.cache_enabled = enabled, cache_enabled
        self.before: list[tuple] = []
        if enabled and self.dtype not in HALVES:
            warnings.warn(
                f"In {self.device_type} autocast, but the target dtype is not supported. Disabling"
                f" autocast.\n{self.device_type} Autocast only supports dtypes of torch.bfloat16,"
                " torch.float16 currently.",
                UserWarning,
                stacklevel=2,
            )
            self.enabled = False

    def clone(self) -> autocast:
        return autocast(self.device_type, self.dtype, self.enabled, self.cache_enabled)

    def __enter__(self) -> autocast:  # type: ignore[override]
        kind = self.device_type
        self.before.append((state.enabled[kind], state.dtypes[kind], state.caches))
        set_enabled(kind, self.enabled)
        state.dtypes[kind] = self.dtype
        state.caches = state.caches if self.cache_enabled is None else self.cache_enabled
        autocast_increment_nesting()
        return self

    def __exit__(self, *exception: object) -> None:
        enabled, dtype, state.caches = self.before.pop()
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        set_enabled(self.device_type, enabled)
        state.dtypes[self.device_type] = dtype


def set_enabled(kind: str, enabled: bool) -> None:
    Count.active += bool(enabled) - state.enabled[kind]
    state.enabled[kind] = bool(enabled)


# Bookkeeping, in PyTorch's words


def known(device_type: str) -> str:
    kind = device_type if device_type in DEFAULTS else Device(device_type).type
    if kind not in DEFAULTS:
        raise RuntimeError(f"unknown device type for autocast: {device_type}")
    return kind


def is_autocast_available(device_type: str) -> bool:
    """Whether ops of such devices can take part."""
    return device_type in ("cpu", "webgpu", "cuda")


def is_autocast_enabled(device_type: str = "webgpu") -> bool:
    return state.enabled[known(device_type)]


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """`set_autocast_enabled("cpu", True)`; without a device it is about webgpu."""
    if enabled is None:
        device_type, enabled = "webgpu", bool(device_type)
    set_enabled(known(str(device_type)), enabled)


def get_autocast_dtype(device_type: str) -> DType:
    return state.dtypes[known(device_type)]


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    state.dtypes[known(device_type)] = dtype


def get_autocast_cpu_dtype() -> DType:
    return state.dtypes["cpu"]


def get_autocast_gpu_dtype() -> DType:
    return state.dtypes["webgpu"]


def get_autocast_ipu_dtype() -> DType:
    return state.dtypes["ipu"]


def get_autocast_xla_dtype() -> DType:
    return state.dtypes["xla"]


def is_autocast_cpu_enabled() -> bool:
    return state.enabled["cpu"]


def is_autocast_ipu_enabled() -> bool:
    return state.enabled["ipu"]


def is_autocast_xla_enabled() -> bool:
    return state.enabled["xla"]


def set_autocast_cpu_dtype(dtype: DType) -> None:
    state.dtypes["cpu"] = dtype


def set_autocast_gpu_dtype(dtype: DType) -> None:
    state.dtypes["webgpu"] = dtype


def set_autocast_cpu_enabled(enabled: bool) -> None:
    set_enabled("cpu", enabled)


def is_autocast_cache_enabled() -> bool:
    return state.caches


def set_autocast_cache_enabled(enabled: bool) -> None:
    state.caches = bool(enabled)


def autocast_increment_nesting() -> int:
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting() -> int:
    state.nesting -= 1
    return state.nesting


def clear_autocast_cache() -> None:
    """Forgets the casts of parameters."""
    state.cache.clear()
