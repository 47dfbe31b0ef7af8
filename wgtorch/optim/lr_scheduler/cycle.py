"""Cycles: rates that rise and fall."""

from __future__ import annotations

import math
from typing import Any

from wgtorch.optim.lr_scheduler.schedule import LRScheduler, attached
from wgtorch.optim.optimizer import Optimizer


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down half a cosine in T_0 steps, then from the top again, each time T_mult times longer."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ):
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        self.T_i: float = T_0
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def step(self, epoch: float | None = None) -> None:
        if epoch is not None and epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        self._step_count += 1
        at = self.last_epoch + 1 if epoch is None else epoch
        self.T_cur, self.T_i = at, self.T_0
        while self.T_cur >= self.T_i:
            self.T_cur -= self.T_i
            self.T_i *= self.T_mult
        self._update_lr(math.floor(at))

    def get_lr(self) -> list[Any]:
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (rate - self.eta_min) * height for rate in self.base_lrs]


class OneCycleLR(LRScheduler):
    """Up to `max_lr`, and down far below the start: Smith & Topin 2018.

    From max_lr / div_factor up in the part `pct_start` of `total_steps` (or epochs times
    steps_per_epoch), then down by div_factor * final_div_factor; momentum (or Adam's first
    beta) goes the opposite way. `three_phase` first comes down to where it started.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ):
        attached(optimizer)
        self.total_steps = counted(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self.anneal_strategy, self.cycle_momentum = anneal_strategy, cycle_momentum
        self._ends = self._phases(pct_start, three_phase)
        if last_epoch == -1:
            for group, rate in zip(
                optimizer.param_groups, per_group("max_lr", optimizer, max_lr), strict=True
            ):
                group["initial_lr"], group["max_lr"] = rate / div_factor, rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self._prepare_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _phases(self, start: float, three: bool) -> list[tuple[float, tuple[str, ...]]]:
        """Where each phase ends, and from what to what the rate and the momentum go in it."""
        total = self.total_steps
        up = (start * total - 1, ("initial_lr", "max_lr", "max_momentum", "base_momentum"))
        if not three:
            return [up, (total - 1, ("max_lr", "min_lr", "base_momentum", "max_momentum"))]
        down = ("max_lr", "initial_lr", "base_momentum", "max_momentum")
        out = ("initial_lr", "min_lr", "max_momentum", "max_momentum")
        return [up, (2 * start * total - 2, down), (total - 1, out)]

    def _prepare_momentum(self, optimizer: Optimizer, base: Any, top: Any, last: int) -> None:
        if not {"momentum", "betas"} & set(optimizer.defaults):
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )
        self.use_beta1 = "betas" in optimizer.defaults
        bases = per_group("base_momentum", optimizer, base)
        tops = per_group("max_momentum", optimizer, top)
        if last == -1:
            for group, low, high in zip(optimizer.param_groups, bases, tops, strict=True):
                group["max_momentum"], group["base_momentum"] = high, low
                set_momentum(group, high)

    def get_lr(self) -> list[Any]:
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        begin, phase = 0.0, 0
        while self.last_epoch > self._ends[phase][0] and phase < len(self._ends) - 1:
            begin, phase = self._ends[phase][0], phase + 1
        end, (start_lr, end_lr, start_momentum, end_momentum) = self._ends[phase]
        done = (self.last_epoch - begin) / (end - begin)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[start_lr], group[end_lr], done))
            if self.cycle_momentum:
                momentum = self._between(group[start_momentum], group[end_momentum], done)
                set_momentum(group, momentum)
        return rates

    def _between(self, start: float, end: float, done: float) -> float:
        if self.anneal_strategy == "linear":
            return (end - start) * done + start
        return end + (start - end) / 2 * (math.cos(math.pi * done) + 1)


def counted(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    if total_steps is not None:
        given = {"total_steps": total_steps}
    elif epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(given.values())


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * groups
    if len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has "
            f"{len(value)} values, param_groups has {groups}."
        )
    return list(value)


def set_momentum(group: dict[str, Any], value: float) -> None:
    if "betas" in group:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value
