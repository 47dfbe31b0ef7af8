"""NAdam: Adam with Nesterov's momentum."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor, zeros_like
from wgtorch.optim.optimizer import Optimizer, Params, adjusted, checked, kept, number


class NAdam(Optimizer):
    """Dozat 2016: Adam's step, along the gradient and the momentum that the next step will have;
    `momentum_decay` lets that momentum rise towards beta1.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ):
        checked(
            lr=lr, eps=eps, betas=betas, weight_decay=weight_decay, momentum_decay=momentum_decay
        )
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        if not state:
            state["step"] = 0
            state["mu_product"] = 1.0
            state["exp_avg"] = zeros_like(param)
            state["exp_avg_sq"] = zeros_like(param)
        state["step"] += 1
        step, lr, decay = state["step"], number(group["lr"]), group["momentum_decay"]
        beta1, beta2 = number(group["betas"][0]), number(group["betas"][1])
        grad = adjusted(param, grad, group)
        now, then = (beta1 * (1 - 0.5 * 0.96 ** (t * decay)) for t in (step, step + 1))
        state["mu_product"] *= now
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean._mixed_(grad, beta1, 1 - beta1)
        square._mixed_square_(grad, beta2, 1 - beta2)
        product, unbias = state["mu_product"], (1 - beta2**step) ** 0.5
        ahead = grad * ((1 - now) / (1 - product))
        ahead = ahead._mixed(mean, 1.0, then / (1 - product * then))
        param._adam_step_(ahead, square, kept(group), lr * unbias, group["eps"] * unbias)
