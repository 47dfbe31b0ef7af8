"""Decays: rates that follow a formula of the step number.

Where PyTorch multiplies the present rate, so do these: a rate that was changed from outside
goes on from there. `_get_closed_form_lr` gives the same from the first rate.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from wgtorch.optim.lr_scheduler.schedule import LRScheduler, current
from wgtorch.optim.optimizer import Optimizer

Function = Callable[[int], float]


class Scaled(LRScheduler):
    """Each step multiplies the rates by `_change`, as a whole by `_total`."""

    def _change(self) -> float:
        """From the step before to step number `last_epoch`."""
        raise NotImplementedError

    def _total(self) -> float:
        """From the first rate to step number `last_epoch`."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        factor = self._change()
        if factor == 1:
            return current(self.optimizer)
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        total = self._total()
        return [rate * total for rate in self.base_lrs]


class StepLR(Scaled):
    """Times `gamma` every `step_size` steps."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _change(self) -> float:
        changes = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return self.gamma if changes else 1

    def _total(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(Scaled):
    """Times `gamma` at each of `milestones`."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _change(self) -> float:
        return self.gamma ** self.milestones[self.last_epoch]

    def _total(self) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ExponentialLR(Scaled):
    """Times `gamma` at each step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _change(self) -> float:
        return 1 if self._is_initial else self.gamma

    def _total(self) -> float:
        return self.gamma**self.last_epoch


class ConstantLR(Scaled):
    """Times `factor` until step `total_iters`."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _change(self) -> float:
        if self.last_epoch == 0:
            return self.factor
        return 1 / self.factor if self.last_epoch == self.total_iters else 1

    def _total(self) -> float:
        return 1 if self.last_epoch >= self.total_iters else self.factor


class LinearLR(Scaled):
    """From `start_factor` to `end_factor` in `total_iters` equal steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        if not 0 < start_factor <= 1:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1."
            )
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _change(self) -> float:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1
        rise = self.end_factor - self.start_factor
        return 1 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _total(self) -> float:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * done


class PolynomialLR(Scaled):
    """(1 - step / total_iters) to the power of `power`, then 0."""

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _change(self) -> float:
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1
        left, total = self.total_iters - self.last_epoch, self.total_iters
        return ((left / total) / ((left + 1) / total)) ** self.power

    def _total(self) -> float:
        return (1 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power


class Computed(LRScheduler):
    """A function of the step number for each group, or one for all."""

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Function | list[Function], last_epoch: int = -1
    ):
        groups = len(optimizer.param_groups)
        many = isinstance(lr_lambda, (list, tuple))
        self.lr_lambdas: list[Any] = list(lr_lambda) if many else [lr_lambda] * groups  # type: ignore[arg-type]
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        for fn in self.lr_lambdas:
            if not callable(fn):
                raise TypeError(f"lr_lambda should be a function, but got {type(fn).__name__}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Of the functions, only what callable objects hold: plain functions are not saved."""
        held = [None if isinstance(fn, FunctionType) else dict(vars(fn)) for fn in self.lr_lambdas]
        return super().state_dict() | {"lr_lambdas": held}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        rest = dict(state_dict)
        for fn, held in zip(self.lr_lambdas, rest.pop("lr_lambdas"), strict=True):
            if held is not None:
                vars(fn).update(held)
        super().load_state_dict(rest)


class LambdaLR(Computed):
    """The first rate times what the function gives."""

    def get_lr(self) -> list[Any]:
        return [
            rate * fn(self.last_epoch)
            for rate, fn in zip(self.base_lrs, self.lr_lambdas, strict=True)
        ]


class MultiplicativeLR(Computed):
    """The present rate times what the function gives."""

    def get_lr(self) -> list[Any]:
        if self._is_initial:
            return current(self.optimizer)
        groups = self.optimizer.param_groups
        return [
            group["lr"] * fn(self.last_epoch)
            for group, fn in zip(groups, self.lr_lambdas, strict=True)
        ]


class CosineAnnealingLR(LRScheduler):
    """Half a cosine down to `eta_min` in `T_max` steps, and up again (Loshchilov & Hutter 2017)."""

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self._is_initial:
            return current(self.optimizer)
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        groups, low = self.optimizer.param_groups, self.eta_min
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            up = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                group["lr"] + (rate - low) * up
                for rate, group in zip(self.base_lrs, groups, strict=True)
            ]
        factor = self._height(self.last_epoch) / self._height(self.last_epoch - 1)
        return [factor * (group["lr"] - low) + low for group in groups]

    def _height(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def _get_closed_form_lr(self) -> list[Any]:
        height = self._height(self.last_epoch) / 2
        return [self.eta_min + (rate - self.eta_min) * height for rate in self.base_lrs]
