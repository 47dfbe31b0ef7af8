"""torch.cuda.amp, as older programs spell torch.amp: the GPU it means is a webgpu device."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

from wgtorch import amp
from wgtorch.dtype import DType, float16

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

GPU = "webgpu"
custom_fwd, custom_bwd = (partial(f, device_type=GPU) for f in (amp.custom_fwd, amp.custom_bwd))


def tell(name: str) -> None:
    warnings.warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('{GPU}',"
        " args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(amp.autocast):
    def __init__(self, enabled: bool = True, dtype: DType = float16, cache_enabled: bool = True):
        tell("autocast")
        super().__init__(GPU, dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    def __init__(self, *args: Any, **given: Any):
        tell("GradScaler")
        super().__init__(GPU, *args, **given)
