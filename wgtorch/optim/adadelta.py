"""Adadelta: steps whose size follows from the steps before."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor, zeros_like
from wgtorch.optim.optimizer import Optimizer, Params, adjusted, checked, number


class Adadelta(Optimizer):
    """Zeiler 2012: `p -= lr * d`, d = g * sqrt(u + eps) / sqrt(v + eps), with v and u the running
    means of the squares of g and of d.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ):
        checked(lr=lr, eps=eps, weight_decay=weight_decay)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        if not state:
            state["step"] = 0
            state["square_avg"] = zeros_like(param)
            state["acc_delta"] = zeros_like(param)
        state["step"] += 1
        rho, eps = group["rho"], group["eps"]
        grad = adjusted(param, grad, group)
        square, moved = state["square_avg"], state["acc_delta"]
        square._mixed_square_(grad, rho, 1 - rho)
        delta = grad * ((moved + eps).sqrt() / (square + eps).sqrt())
        param._mixed_(delta, 1.0, -number(group["lr"]))
        moved._mixed_square_(delta, rho, 1 - rho)
