"""Adam: steps scaled, element by element, by running moments of the gradient."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor, zeros_like
from wgtorch.optim.optimizer import Optimizer, Params, checked, number


class Adam(Optimizer):
    """Kingma & Ba 2015: `p -= lr * m / (sqrt(v) + eps)`, with m and v the running means of the
    gradient and its square, corrected for starting at zero.

    `amsgrad` divides by the largest v so far (Reddi et al. 2018); `weight_decay` adds that
    multiple of p to the gradient, or with `decoupled_weight_decay` shrinks p itself.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ):
        if len(betas) != 2:
            raise ValueError(f"Invalid betas: two are wanted, got {betas}")
        for name, value in (("lr", lr), ("betas[0]", betas[0]), ("betas[1]", betas[1])):
            if isinstance(value, Tensor) and foreach and not capturable:
                raise ValueError(
                    f"{name} as a Tensor is not supported for capturable=False and foreach=True"
                )
        checked(betas, lr=lr, eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        if not state:
            state["step"] = 0
            state["exp_avg"] = zeros_like(param)
            state["exp_avg_sq"] = zeros_like(param)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(param)
        state["step"] += 1
        lr, weight_decay = number(group["lr"]), group["weight_decay"]
        beta1, beta2 = number(group["betas"][0]), number(group["betas"][1])
        if group["maximize"]:
            grad = -grad
        keep = 1.0
        if weight_decay and group["decoupled_weight_decay"]:
            keep = 1 - lr * weight_decay
        elif weight_decay:
            grad = grad._mixed(param, 1.0, weight_decay)
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean._mixed_(grad, beta1, 1 - beta1)
        square._mixed_square_(grad, beta2, 1 - beta2)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            square = largest.copy_(largest.maximum(square))
        # lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps), with the correction of v moved
        # to where it is a number and not one more op
        unbias = (1 - beta2 ** state["step"]) ** 0.5
        size = lr * unbias / (1 - beta1 ** state["step"])
        param._adam_step_(mean, square, keep, size, group["eps"] * unbias)
