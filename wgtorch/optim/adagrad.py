"""Adagrad: steps divided by the root of the sum of all squared gradients."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor, full_like
from wgtorch.optim.optimizer import Optimizer, Params, adjusted, checked, number


class Adagrad(Optimizer):
    """Duchi et al. 2011: `p -= lr * g / (sqrt(sum of g squared) + eps)`.

    `lr_decay` divides the rate by 1 + (steps before) * lr_decay.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        checked(
            lr=lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                parts = param.view_as_real() if param.is_complex() else param
                total = full_like(parts.detach(), group["initial_accumulator_value"])
                self.state[param] = {"step": 0, "sum": total}

    def share_memory(self) -> None:
        """Let other processes see the sums."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        state["step"] += 1
        rate = number(group["lr"]) / (1 + (state["step"] - 1) * group["lr_decay"])
        grad = adjusted(param, grad, group)
        total = state["sum"]
        total._mixed_square_(grad, 1.0, 1.0)
        param._adam_step_(grad, total, 1.0, rate, group["eps"])
