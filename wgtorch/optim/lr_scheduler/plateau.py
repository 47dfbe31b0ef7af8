"""Plateaus: rates that fall when a metric has stopped getting better."""

from __future__ import annotations

import math
from typing import Any

from wgtorch.optim.lr_scheduler.schedule import LRScheduler, attached, current, set_rate
from wgtorch.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` after more than `patience` steps without a better metric.

    Better is lower (or, mode "max", higher) by `threshold`, relative to the best one or
    absolute; after a reduction, `cooldown` steps do not count.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        attached(optimizer)
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)) and len(min_lr) != groups:
            raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.eps = cooldown, eps
        listed = isinstance(min_lr, (list, tuple))
        self.default_min_lr: Any = None if listed else min_lr
        self.min_lrs: list[float] = list(min_lr) if listed else [min_lr] * groups  # type: ignore[list-item, arg-type]
        self.best = self.mode_worse = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = self.last_epoch = 0
        self._last_lr = current(optimizer)

    @property
    def in_cooldown(self) -> bool:
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Count `metrics`, a number or a 0-d tensor, as that of the next step."""
        now = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(now):
            self.best, self.num_bad_epochs = now, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = current(self.optimizer)

    def _is_better(self, metric: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "rel":
            bar = self.best * (1 + sign * self.threshold)
        else:
            bar = self.best + sign * self.threshold
        return metric > bar if self.mode == "max" else metric < bar

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        lowest = self.min_lrs
        if len(lowest) != len(groups) and self.default_min_lr is not None:
            lowest = self.min_lrs = [self.default_min_lr] * len(groups)  # groups were added
        if len(lowest) != len(groups):
            raise RuntimeError(
                f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                f"`ReduceLROnPlateau` was initialized ({len(lowest)}), usually due to a new param "
                "group being added to the optimizer. Please modify the `min_lrs` field to match "
                "the length of the `optimizer` param groups."
            )
        for group, low in zip(groups, lowest, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, low)
            if old - new > self.eps:
                set_rate(group, new)
