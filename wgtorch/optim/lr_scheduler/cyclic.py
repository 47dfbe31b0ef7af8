"""Cyclic rates: up and down in straight lines, for as long as training goes on."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

from wgtorch.optim.lr_scheduler.cycle import per_group, set_momentum
from wgtorch.optim.lr_scheduler.schedule import LRScheduler, attached, set_rate
from wgtorch.optim.optimizer import Optimizer

MODES = ("triangular", "triangular2", "exp_range")


class CyclicLR(LRScheduler):
    """From `base_lr` to `max_lr` in `step_size_up` steps and back: Smith 2017.

    The height is multiplied by `scale_fn` of the cycle's (or iteration's) number, or by `mode`:
    1, or 1/2 for every cycle before, or gamma to the power of the step. Momentum (or Adam's first
    beta) goes the opposite way.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ):
        attached(optimizer)
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs, strict=True):
                set_rate(group, rate)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in MODES and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        if scale_fn is None:
            scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.scale_mode, self.cycle_momentum = scale_mode, cycle_momentum
        if cycle_momentum:
            self._prepare_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _prepare_momentum(self, optimizer: Optimizer, base: Any, top: Any, last: int) -> None:
        if not {"momentum", "betas"} & set(optimizer.defaults):
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )
        self.use_beta1 = "betas" in optimizer.defaults
        self.base_momentums = per_group("base_momentum", optimizer, base)
        self.max_momentums = per_group("max_momentum", optimizer, top)
        if last == -1:
            for group, low, high in zip(
                optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            ):
                group["max_momentum"], group["base_momentum"] = high, low
                set_momentum(group, high)

    def scale_fn(self, x: float) -> float:
        """What the height of cycle (or of iteration) `x` is multiplied by."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return self.gamma**x
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else 1.0

    def get_lr(self) -> list[Any]:
        done = self.last_epoch / self.total_size
        cycle = math.floor(1 + done)
        part = 1.0 + done - cycle
        rising = part <= self.step_ratio
        height = part / self.step_ratio if rising else (part - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            ):
                set_momentum(group, high - (high - low) * height)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * height for low, high in pairs]

    def state_dict(self) -> dict[str, Any]:
        """Of a `scale_fn`, only what a callable object holds: plain functions are not saved."""
        state, scale = super().state_dict(), self._scale_fn_custom
        held = None if scale is None or isinstance(scale, FunctionType) else dict(vars(scale))
        return state | {"_scale_fn_custom": held}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        rest = dict(state_dict)
        held = rest.pop("_scale_fn_custom")
        super().load_state_dict(rest)
        if held is not None:
            vars(self._scale_fn_custom).update(held)
