"""A Torch is the whole namespace, bound to a device and a dtype that its tensors are made with."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from wgtorch.device import Device
from wgtorch.dtype import DType

OF_THE_DEFAULT_DTYPE = frozenset(
    ("empty", "eye", "linspace", "logspace", "ones", "rand", "randn", "zeros", "scalar_tensor")
)
OF_A_DTYPE_OF_THEIR_OWN = frozenset(
    ("arange", "as_tensor", "asarray", "full", "randint", "randperm", "tensor", "tril_indices",
     "triu_indices")
)  # fmt: skip


class Torch:
    """`t = create_torch("webgpu"); t.zeros(3)` is on webgpu; everything else is wgtorch's."""

    def __init__(self, device: Any = None, dtype: DType | None = None):
        self.default_device = None if device is None else Device(device)
        self.default_dtype = dtype

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module("wgtorch"), name)
        defaults: dict[str, Any] = {}
        if name in OF_THE_DEFAULT_DTYPE or name in OF_A_DTYPE_OF_THEIR_OWN:
            defaults["device"] = self.default_device
        if name in OF_THE_DEFAULT_DTYPE:
            defaults["dtype"] = self.default_dtype
        return partial(found, **defaults) if any(defaults.values()) else found

    def __dir__(self) -> list[str]:
        return dir(import_module("wgtorch"))

    def __repr__(self) -> str:
        return f"Torch(device={self.default_device}, dtype={self.default_dtype})"


def create_torch(device: Any = None, dtype: DType | None = None) -> Torch:
    """The namespace, with another device or dtype for new tensors."""
    return Torch(device, dtype)
