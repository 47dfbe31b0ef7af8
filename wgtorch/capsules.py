"""Memory of the cpu that other libraries hold out through DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.create import from_numpy
from wgtorch.device import Device
from wgtorch.tensor import Tensor

HERE = (1, 0)  # how DLPack says the cpu


class Capsule:
    """What hands a capsule of cpu memory over."""

    def __init__(self, capsule: Any):
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return HERE


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array, or of a capsule, on the cpu.

    With `device` it is moved there, which is a copy unless that is the cpu. `copy=True` gives it
    memory of its own; ValueError if a move needs a copy that `copy=False` forbids.
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise AssertionError(
                "device and copy kwargs not supported when ext_tensor is already a DLPack capsule."
            )
        return from_numpy(np.from_dlpack(Capsule(ext_tensor)))
    shared = from_numpy(np.from_dlpack(ext_tensor))
    place = shared.device if device is None else placed(device)
    if place != shared.device:
        if copy is False:
            raise ValueError(
                f"cannot move DLPack tensor from device {HERE} to {place} without copying. "
                "Set copy=None or copy=True."
            )
        return shared.to(place)
    return shared.clone() if copy else shared


def placed(where: Any) -> Device:
    if not isinstance(where, str | Device):
        raise AssertionError(f"from_dlpack: unsupported device type: {type(where)}")
    return Device(where)
