"""A GPU in a process that was forked after it was opened. No driver outlives that: where the first
call would hang for ever, it raises."""

from __future__ import annotations

import os
from typing import Any, NoReturn

from wgtorch.backend import opened, register
from wgtorch.device import Device

SAID = (
    "Cannot re-initialize webgpu in forked subprocess. To use webgpu with multiprocessing, you must"
    " use the 'spawn' start method: multiprocessing.get_context('spawn')"
)


class Forked:
    """In the place of a backend, which it keeps: not even to free it may the driver be called."""

    def __init__(self, home: Any):
        vars(self)["home"] = home

    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError(SAID)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise RuntimeError(SAID)


def leave_behind() -> None:
    """In the child: no device is opened, and those that are open answer nothing."""
    devices = opened("webgpu")
    for device in devices:
        device.backend = Forked(device.backend)
    if devices:
        register("webgpu", refuse)


def refuse(device: Device) -> NoReturn:
    raise RuntimeError(SAID)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=leave_behind)
