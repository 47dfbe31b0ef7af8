"""The name of a place where tensors live. One object per place, so `is` compares."""

from __future__ import annotations

import threading
from typing import Any

from wgtorch.errors import DeviceError

ALIASES = {"cuda": "webgpu", "gpu": "webgpu"}  # what code written for PyTorch says
MAKES = ("hip", "mps", "vulkan", "xpu")  # GPUs by their makers, as PyTorch names some


class Default(threading.local):
    """Where this thread makes tensors when nothing else is said; None: on the cpu."""

    device: Device | None = None
    before: tuple[Device | None, ...] = ()  # of the `with` blocks around


DEFAULT = Default()


class Device:
    """`device("webgpu:1")` or `device("webgpu", 1)`; has `type` and `index`.

    `with device("webgpu"):` makes it the default of this thread for new tensors.
    """

    __slots__ = ("backend", "index", "type")
    level = 0  # of a place made by a transform: how many transforms it is inside of
    backend: Any  # who runs ops here, once opened (see backend.py)
    type: str
    index: int

    _known: dict[tuple[str, int], Device] = {}
    types: list[str] = []  # those that have a backend, in the order of their registration

    def __new__(cls, type: str | int | Device, index: int | None = None) -> Device:
        if isinstance(type, Device):
            return type
        if isinstance(type, int) and not isinstance(type, bool):
            type, index = "webgpu", type  # type: ignore[assignment]
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
        name, colon, number = type.partition(":")
        if colon:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index: '{type}'")
            if not number.isdecimal():
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        name, index = ALIASES.get(name, name), index or 0
        if name not in cls.types:
            hint = "; the GPU, whatever it is made by, is webgpu" if name in MAKES else ""
            raise DeviceError(
                f"Expected one of {', '.join(cls.types)} device type at start of device string:"
                f" {name}{hint}"
            )
        if index < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        device = cls._known.get((name, index))
        if device is None:
            device = cls._known[name, index] = super().__new__(cls)
            device.type, device.index, device.backend = name, index, None
        return device

    @property
    def is_current(self) -> bool:
        """Whether no other device has its name by now."""
        return Device._known.get((self.type, self.index), self) is self

    def __str__(self) -> str:
        return self.type if self.type in ("cpu", "meta") else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        index = "" if self.type in ("cpu", "meta") else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __enter__(self) -> Device:
        DEFAULT.before += (DEFAULT.device,)
        DEFAULT.device = self
        return self

    def __exit__(self, *told: object) -> None:
        *before, DEFAULT.device = DEFAULT.before
        DEFAULT.before = tuple(before)

    def __reduce__(self) -> tuple:
        return Device, (self.type, self.index)
