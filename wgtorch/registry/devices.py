"""Devices: those there are, and those that users add.

A device is a name and a backend, which implements a method for each kind of op (see
wgtorch/backend.py). A backend may stand in front of another and pass on what it does not do itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from wgtorch.backend import Backend, backend, factories, register
from wgtorch.buffers import DeviceBuffer as DeviceBuffer
from wgtorch.device import ALIASES, Device
from wgtorch.errors import (
    DeviceError,
    InvalidConfigError,
    suggestion,
)
from wgtorch.lazy import Lazy
from wgtorch.registry.contract import opener
from wgtorch.registry.handles import Handle
from wgtorch.registry.kernels import KERNELS
from wgtorch.storage import View

wgpu, adapter = Lazy("wgpu"), Lazy("wgtorch.backends.webgpu.adapter")
OWN = ("cpu", "webgpu", "meta")
DeviceType = str
DeviceLike = str | int | Device | None
DeviceContext = Backend  # what runs the ops of a device that is open


@dataclass(frozen=True, kw_only=True)
class DeviceConfig:
    """A device type for `register_device`: `factory(device)` makes the backend of a device, which
    also synchronizes; `capabilities(device)` says what it can do, for those who ask.
    """

    name: str
    factory: Callable[[Device], Any]
    doc: str = ""
    capabilities: Callable[[Device], DeviceCapabilities] | None = None


@dataclass(frozen=True)
class DeviceEntry:
    """A registered device type."""

    name: str
    config: DeviceConfig
    is_custom: bool


@dataclass(frozen=True)
class DeviceCapabilities:
    """What an adapter can do: `features` by name, `limits` in bytes and counts."""

    name: str
    features: dict[str, bool]
    limits: dict[str, Any]


class DeviceHandle(Handle):
    """Of a device type; `handle.device(0)` is the first of its devices."""

    def device(self, index: int = 0) -> Device:
        return Device(self.name, index)


class DeviceRegistry:
    """Device types by name."""

    def __init__(self) -> None:
        self.custom: dict[str, DeviceConfig] = {}

    def get(self, name: str) -> DeviceEntry | None:
        name = ALIASES.get(name, name)
        if name in self.custom:
            return DeviceEntry(name, self.custom[name], True)
        if name in Device.types:
            return DeviceEntry(name, DeviceConfig(name=name, factory=factories[name]), False)
        return None

    def add(self, config: DeviceConfig) -> None:
        self.custom[config.name] = config
        register(config.name, opener(config.factory))

    def remove(self, name: str) -> None:
        KERNELS.forget(name)
        del self.custom[name], factories[name]
        Device.types.remove(name)
        for key in [key for key in Device._known if key[0] == name]:
            del Device._known[key]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[DeviceEntry]:
        return iter([entry for name in Device.types if (entry := self.get(name))])

    def __len__(self) -> int:
        return len(Device.types)


ENTRIES = DeviceRegistry()


def register_device(name: str | DeviceConfig, factory: Callable[[Device], Any] | None = None, *,
                    doc: str = "") -> DeviceHandle:  # fmt: skip
    """Makes `device(name)` exist. `factory(device)` is called when it is first used.

    InvalidConfigError for a name that is taken or no identifier. A backend that lacks a method of
    the contract is refused when it is opened, and one that answers what is not due when it does:
    RegistrationFailedError.
    """
    config = name if isinstance(name, DeviceConfig) else (
        DeviceConfig(name=name, factory=factory, doc=doc)  # type: ignore[arg-type]
    )  # fmt: skip
    if not isinstance(config.name, str) or not config.name.isidentifier():
        raise InvalidConfigError(f"register_device(): {config.name!r} is not a Python identifier")
    if config.name in Device.types or config.name in ALIASES:
        raise InvalidConfigError(f"register_device(): there is a device type {config.name!r}")
    if not callable(config.factory):
        raise InvalidConfigError(
            f"register_device(): factory of {config.name!r} must be a function of a device, not"
            f" {type(config.factory).__name__}"
        )
    ENTRIES.add(config)
    return DeviceHandle(config.name, lambda: unregister_device(config.name))


def unregister_device(name: str) -> None:
    """Takes a device of a user away, and the kernels registered for it; tensors on it can still be
    read, but not used with those of another device that gets its name."""
    if name not in ENTRIES.custom:
        what = "is the library's own" if name in Device.types else "is not registered"
        raise InvalidConfigError(f"unregister_device(): {name!r} {what}")
    ENTRIES.remove(name)


def has_device(name: str | Device) -> bool:
    """Whether there is such a device type."""
    text = name.type if isinstance(name, Device) else str(name).partition(":")[0]
    return text in ENTRIES


def list_devices() -> list[str]:
    """All device types."""
    return list(Device.types)


def list_custom_devices() -> list[str]:
    """Those that users registered."""
    return sorted(ENTRIES.custom)


def get_device_config(name: str | Device) -> DeviceConfig:
    """What a device type was registered with."""
    entry = ENTRIES.get(validate_device(name).type)
    assert entry is not None
    return entry.config


def get_device_context(device: DeviceLike = None) -> DeviceContext:
    """The backend of a device, opened if it was not."""
    return backend(validate_device("webgpu" if device is None else device))


def initialize_device(device: DeviceLike = None) -> Device:
    """Opens a device now, which otherwise happens when it is first used."""
    known = validate_device("webgpu" if device is None else device)
    backend(known)
    return known


def get_device_capabilities(device: DeviceLike = None) -> DeviceCapabilities:
    """What the adapter of a webgpu device can do, or what a device of a user says of itself."""
    known = validate_device("webgpu" if device is None else device)
    said = get_device_config(known).capabilities
    if known.type != "webgpu":
        return said(known) if said else DeviceCapabilities(str(known), {}, {})
    require_webgpu()
    found = adapter.order()[known.index]
    facts = asdict(found.traits)
    features = {name: fact for name, fact in facts.items() if isinstance(fact, bool)}
    limits = {name: fact for name, fact in facts.items() if not isinstance(fact, bool | str)}
    return DeviceCapabilities(found.traits.name, features, limits)


def is_cpu_only_mode() -> bool:
    """Whether no WebGPU adapter was found, or it was switched off."""
    return not adapter.available()


def require_webgpu() -> Device:
    """The webgpu device, or DeviceError with what to install."""
    if not adapter.available():
        raise DeviceError(
            "this needs a WebGPU adapter, and none was found; `python -m wgtorch` says why and what"
            " to install"
        )
    return Device("webgpu")


def validate_device(*given: Any) -> Device:
    """The device that is named, or on which all of the given tensors are; else DeviceError."""
    if len(given) == 1 and not isinstance(given[0], View):
        if not isinstance(given[0], str):
            return Device(given[0])
        try:
            return Device(given[0])
        except RuntimeError as error:
            near = suggestion(given[0].partition(":")[0], Device.types)
            raise DeviceError(f"{error}{near}") from None
    places = list(dict.fromkeys(t.storage.value.device for t in given if isinstance(t, View)))
    if len(places) != 1:
        raise DeviceError(
            "Expected all tensors to be on the same device, but found"
            f" {', '.join(map(str, places)) or 'no tensor'}"
        )
    return places[0]


def __getattr__(name: str) -> Any:
    if name == "BufferUsage":
        return wgpu.BufferUsage
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
