"""DLPack: memory of the cpu shared with other libraries, as PyTorch spells it."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from wgtorch import Tensor
from wgtorch.capsules import from_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


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


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule of a cpu tensor's memory, for one `from_dlpack`. BufferError for other devices."""
    return tensor.__dlpack__(max_version=(1, 0))  # older ones do not say that it may be written
