"""Adamax: Adam by the largest gradient of late, in place of their mean square."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor, zeros_like
from wgtorch.optim.optimizer import Optimizer, Params, adjusted, checked, number


class Adamax(Optimizer):
    """Kingma & Ba 2015: `p -= lr * m / u`, m the running mean of g, corrected for starting at
    zero, and u the largest of |g| + eps and beta2 times the u before.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ):
        checked(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        if not state:
            state["step"] = 0
            state["exp_avg"] = zeros_like(param)
            state["exp_inf"] = zeros_like(param)
        state["step"] += 1
        beta1, beta2 = number(group["betas"][0]), number(group["betas"][1])
        grad = adjusted(param, grad, group)
        mean, largest = state["exp_avg"], state["exp_inf"]
        mean._mixed_(grad, beta1, 1 - beta1)
        largest.copy_((largest * beta2).maximum(grad.abs() + group["eps"]))
        rate = number(group["lr"]) / (1 - beta1 ** state["step"])
        param._mixed_(mean / largest, 1.0, -rate)
