"""A GradScaler multiplies losses, so that gradients in float16 do not vanish, and divides those.

A step whose gradients are infinite or NaN is left out, and the factor halved; after enough good
steps it doubles (Micikevicius et al., Mixed Precision Training, 2018).
"""

from __future__ import annotations

from typing import Any

from wgtorch.dtype import float16


class GradScaler:
    """`scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()`."""

    def __init__(self, device: str = "webgpu", init_scale: float = 2.0**16,
                 growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True):  # fmt: skip
        if growth_factor <= 1:
            raise ValueError("The growth factor must be > 1.0.")
        if not backoff_factor < 1:
            raise ValueError("The backoff factor must be < 1.0.")
        self._device, self._enabled, self._scale = device, enabled, float(init_scale)
        self._growth, self._backoff = growth_factor, backoff_factor
        self._interval, self._good = growth_interval, 0
        self._unscaled: dict[int, bool] = {}  # by optimizer: whether its gradients are finite
        self._stepped: set[int] = set()  # since the last update

    def is_enabled(self) -> bool:
        return self._enabled

    def get_scale(self) -> float:
        return self._scale if self._enabled else 1.0

    def scale(self, outputs: Any) -> Any:
        """A tensor, or a list or tuple of them, times the factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, list | tuple):
            return type(outputs)([self.scale(output) for output in outputs])
        return outputs * self._scale

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimizer's parameters by the factor, and looks at them."""
        if not self._enabled:
            return
        if id(optimizer) in self._unscaled:
            last = "unscale_() has already been called on this optimizer since the last update()."
            if id(optimizer) in self._stepped:
                last = "unscale_() is being called after step()."
            raise RuntimeError(last)
        finite = None
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is None:
                    continue
                if grad.dtype is float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                grad = grad.detach()
                grad.mul_(1 / self._scale)
                fine = grad.isfinite().all()
                finite = fine if finite is None else finite & fine
        if finite is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        self._unscaled[id(optimizer)] = bool(finite)

    def step(self, optimizer: Any, *args: Any, **named: Any) -> Any:
        """`optimizer.step()`, unless a gradient is infinite or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **named)
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        return optimizer.step(*args, **named) if self._unscaled[id(optimizer)] else None

    def update(self, new_scale: float | None = None) -> None:
        """The factor for the next step."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._unscaled:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif not all(self._unscaled.values()):
            self._scale, self._good = self._scale * self._backoff, 0
        else:
            self._good += 1
            if self._good >= self._interval:
                self._scale, self._good = self._scale * self._growth, 0
        self._unscaled.clear()
        self._stepped.clear()

    def get_growth_factor(self) -> float:
        return self._growth

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff = new_factor

    def get_growth_interval(self) -> int:
        return self._interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        if not self._enabled:
            return {}
        return {
            "scale": self._scale, "growth_factor": self._growth, "backoff_factor": self._backoff,
            "growth_interval": self._interval, "_growth_tracker": self._good,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled"
                " instance of GradScaler."
            )
        self._scale, self._growth = state_dict["scale"], state_dict["growth_factor"]
        self._backoff = state_dict["backoff_factor"]
        self._interval, self._good = state_dict["growth_interval"], state_dict["_growth_tracker"]
