"""RAdam: Adam that starts as plain momentum, until its second moment can be trusted."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor, zeros_like
from wgtorch.optim.optimizer import Optimizer, Params, adjusted, checked, kept, number


class RAdam(Optimizer):
    """Liu et al. 2020: where too few gradients were seen for their variance to be known (rho <= 5)
    a step is `lr * m`, after that Adam's, times the rectification r.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ):
        checked(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        if not state:
            state["step"] = 0
            state["exp_avg"] = zeros_like(param)
            state["exp_avg_sq"] = zeros_like(param)
        state["step"] += 1
        step = state["step"]
        beta1, beta2 = number(group["betas"][0]), number(group["betas"][1])
        grad = adjusted(param, grad, group)
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean._mixed_(grad, beta1, 1 - beta1)
        square._mixed_square_(grad, beta2, 1 - beta2)
        rate, unbias = number(group["lr"]) / (1 - beta1**step), 1 - beta2**step
        last = 2 / (1 - beta2) - 1
        rho = last - 2 * step * beta2**step / unbias
        if rho > 5:
            share = (rho - 4) * (rho - 2) * last / ((last - 4) * (last - 2) * rho)
            size = rate * (share * unbias) ** 0.5
            param._adam_step_(mean, square, kept(group), size, group["eps"])
        else:
            param._mixed_(mean, kept(group), -rate)
