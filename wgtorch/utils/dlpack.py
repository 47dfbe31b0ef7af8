"""DLPack: memory of the cpu shared with other libraries, as PyTorch spells it."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import wgtorch
from wgtorch import Tensor, device

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]

HERE = (1, 0)  # the cpu


class DLDeviceType(IntEnum):
    """Where DLPack says that memory is."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


class Capsule:
    """What hands a capsule of cpu memory over."""

    def __init__(self, capsule: Any):
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return HERE


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule of a cpu tensor's memory, for one `from_dlpack`. BufferError for other devices."""
    return tensor.__dlpack__(max_version=(1, 0))  # older ones do not say that it may be written


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
        return wgtorch.from_dlpack(Capsule(ext_tensor))
    shared = wgtorch.from_dlpack(ext_tensor)
    place = shared.device if device is None else placed(device)
    if place != shared.device:
        if copy is False:
            raise ValueError(
                f"cannot move DLPack tensor from device {HERE} to {place} without copying. "
                "Set copy=None or copy=True."
            )
        return shared.to(place)
    return shared.clone() if copy else shared


def placed(where: Any) -> device:
    if not isinstance(where, str | device):
        raise AssertionError(f"from_dlpack: unsupported device type: {type(where)}")
    return device(where)
