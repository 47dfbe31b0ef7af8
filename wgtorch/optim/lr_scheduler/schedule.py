"""A schedule sets the learning rate of an optimizer's groups at each of its steps."""

from __future__ import annotations

import warnings
from typing import Any

from wgtorch import Tensor
from wgtorch.optim.optimizer import Optimizer


class LRScheduler:
    """Base class: `get_lr` says what each group's rate is at step number `last_epoch`.

    The rate of step 0 is set at once; call `step()` after each `optimizer.step()`.
    """

    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        attached(optimizer)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                rate = group["lr"]
                group.setdefault("initial_lr", rate.clone() if isinstance(rate, Tensor) else rate)
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming "
                    f"scheduler with last_epoch = {last_epoch}: load the optimizer's state first"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        self.step()
        del self._is_initial

    def get_lr(self) -> list[Any]:
        raise NotImplementedError(f"{type(self).__name__} does not say what the rates are")

    def get_last_lr(self) -> list[Any]:
        """The rates as last set, one for each group."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next step, or to number `epoch`."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. You should "
                "call them in the opposite order: `optimizer.step()` before "
                "`lr_scheduler.step()`. Failure to do this will result in skipping the first "
                "value of the learning rate schedule.",
                stacklevel=2,
            )
        self._step_count += 1
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = getattr(self, "_get_closed_form_lr", None)
        rates = self.get_lr() if epoch is None or closed is None else closed()
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, rate)
        self._last_lr = current(self.optimizer)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)


def attached(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def set_rate(group: dict[str, Any], rate: Any) -> None:
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(rate.item() if isinstance(rate, Tensor) else rate)
    else:
        group["lr"] = rate


def current(optimizer: Optimizer) -> list[Any]:
    """The rates, as copies."""
    rates = [group["lr"] for group in optimizer.param_groups]
    return [rate.clone() if isinstance(rate, Tensor) else rate for rate in rates]
