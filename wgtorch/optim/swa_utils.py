"""Averages of weights along training: equally weighted (Izmailov et al., 2018) or exponential."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any

from wgtorch import Tensor, int64, no_grad, tensor
from wgtorch.backend import fulfil
from wgtorch.nn.instance import batch_norms
from wgtorch.nn.module import Module
from wgtorch.optim.lr_scheduler.cycle import per_group
from wgtorch.optim.lr_scheduler.schedule import LRScheduler
from wgtorch.optim.optimizer import Optimizer

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn",
    "get_swa_multi_avg_fn", "update_bn",
]  # fmt: skip

Tensors = list[Tensor] | tuple[Tensor, ...]
Average = Callable[[Tensor, Tensor, Any], Tensor]  # (average, new, how many it is of) -> average
Averages = Callable[[Tensors, Tensors, Any], None]  # the same of many, in place


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """decay * average + (1 - decay) * new"""
    check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Average:
    """average + (new - average) / (num_averaged + 1)"""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """`get_ema_avg_fn` of many tensors, in place."""
    return each_in_place(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Averages:
    """`get_swa_avg_fn` of many tensors, in place."""
    return each_in_place(get_swa_avg_fn())


def each_in_place(average: Average) -> Averages:
    def update(averaged_params: Tensors, current_params: Tensors, num_averaged: Any) -> None:
        for averaged, current in zip(averaged_params, current_params, strict=True):
            take(averaged, average(averaged, current, num_averaged))

    return update


def take(averaged: Tensor, value: Tensor) -> None:
    with no_grad():
        averaged.copy_(value)
    fulfil(averaged)  # or its memory would wait, and that of what it was made of


def check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


class AveragedModel(Module):
    """A copy of `model` whose parameters are the average of those at each `update_parameters`.

    `avg_fn(average, new, n_averaged)` gives the next average of one tensor,
    `multi_avg_fn(averages, news, n_averaged)` sets those of a device and dtype in place; without
    either all weigh the same. Buffers are averaged too with `use_buffers`, else taken over. The
    copy is `module`; state_dict has that, and the count `n_averaged`.
    """

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Let the averages be of one more: the present state of `model`, on any device."""
        count = int(self.n_averaged.item())
        averaged = [t.detach() for t in self._averaged(self.module)]
        current = [t.detach() for t in self._averaged(model)]
        pairs = [(a, c.to(a.device)) for a, c in zip(averaged, current, strict=False)]
        if count == 0:
            for average, new in pairs:
                take(average, new)
        elif self.avg_fn is not None:
            for average, new in pairs:
                take(average, self.avg_fn(average, new, self.n_averaged.to(average.device)))
        else:
            self._update_all(self.multi_avg_fn or get_swa_multi_avg_fn(), pairs)
        if not self.use_buffers:
            for own, other in zip(self.module.buffers(), model.buffers(), strict=True):
                own.detach().copy_(other.detach().to(own.device))
        self.n_averaged += 1

    def _averaged(self, model: Module) -> Iterator[Tensor]:
        return itertools.chain(model.parameters(), model.buffers() if self.use_buffers else ())

    def _update_all(self, update: Averages, pairs: list[tuple[Tensor, Tensor]]) -> None:
        groups: dict[Any, list[tuple[Tensor, Tensor]]] = {}
        for pair in pairs:
            groups.setdefault((pair[0].device, pair[0].dtype), []).append(pair)
        for (device, _), group in groups.items():
            averages, news = map(list, zip(*group, strict=True))
            update(averages, news, self.n_averaged.to(device))


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Have the statistics of batch norms be those of all data of `loader`, in training mode.

    A batch is a tensor, or a list or tuple that begins with one; it goes to `device`, if given.
    """
    norms = batch_norms(model)
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the mean of all batches
    for batch in loader:
        input = batch[0] if isinstance(batch, list | tuple) else batch
        model(input if device is None else input.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the group's rate to `swa_lr`, one or one per group, in `anneal_epochs` steps.

    `anneal_strategy` is "cos" or "linear"; from then on the rate stays.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ):
        rates = per_group("swa_lr", optimizer, swa_lr)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate.clone() if isinstance(rate, Tensor) else rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _done(self, step: int) -> float:
        """Which part of the way lies behind at a step."""
        part = max(0, min(1, step / max(1, self.anneal_epochs)))
        return part if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * part)) / 2

    def get_lr(self) -> list[Any]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, after = self._done(step - 1), self._done(step)
        return [next_rate(g["lr"], g["swa_lr"], before, after) for g in self.optimizer.param_groups]


def next_rate(rate: Any, goal: Any, before: float, after: float) -> Any:
    """The rate where the part `after` of the way is done, from that where `before` was."""
    first = goal if before == 1 else (rate - before * goal) / (1 - before)
    return goal * after + first * (1 - after)
