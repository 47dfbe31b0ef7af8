"""RMSprop: steps divided by the running root mean square of the gradient."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor, zeros_like
from wgtorch.optim.optimizer import Optimizer, Params, adjusted, checked, number


class RMSprop(Optimizer):
    """Tieleman & Hinton 2012: `p -= lr * g / (sqrt(v) + eps)`, v the running mean of g squared.

    `centered` takes the square of the running mean of g from v (Graves 2013); `momentum` sums
    the steps, decaying.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ):
        checked(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        if not state:
            state["step"] = 0
            state["square_avg"] = zeros_like(param)
            if group["momentum"] > 0:
                state["momentum_buffer"] = zeros_like(param)
            if group["centered"]:
                state["grad_avg"] = zeros_like(param)
        state["step"] += 1
        lr, alpha, momentum = number(group["lr"]), group["alpha"], group["momentum"]
        grad = adjusted(param, grad, group)
        square = state["square_avg"]
        square._mixed_square_(grad, alpha, 1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"]
            mean._mixed_(grad, alpha, 1 - alpha)
            square = square._mixed_square(mean, 1.0, -1.0)
        if momentum > 0:
            step = state["momentum_buffer"]
            step._mixed_(grad / (square.sqrt() + group["eps"]), momentum, 1.0)
            param._mixed_(step, 1.0, -lr)
        else:
            param._adam_step_(grad, square, 1.0, lr, group["eps"])
