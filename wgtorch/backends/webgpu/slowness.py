"""What adapters are spared whose compilers take minutes for what others take milliseconds for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wgtorch.storage import Value, View

if TYPE_CHECKING:
    from wgtorch.backends.webgpu.backend import WebGPU


def complex_apart(home: WebGPU) -> Callable[..., Value]:
    """The backend's `elementwise`, where complex ops join none before them: two powers in one
    kernel took SwiftShader more than a minute."""
    fused = home.elementwise

    def elementwise(typed: Any, args: Any, attrs: Any, out: Any) -> Value:
        if typed.compute.category == 3:
            for view in [arg for arg in args if isinstance(arg, View)]:
                home.fill(view.storage.value)
        return fused(typed, args, attrs, out)

    return elementwise
