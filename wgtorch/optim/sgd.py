"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor
from wgtorch.optim.optimizer import Optimizer, Params, number, one_element


class SGD(Optimizer):
    """`p -= lr * d`, where d is the gradient, or with momentum a decaying sum of gradients.

    `nesterov` looks ahead along it (Sutskever et al. 2013); `weight_decay` adds that multiple
    of p to the gradient; `maximize` goes up instead of down.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        one_element("lr", lr)
        for name, value in (
            ("learning rate", lr),
            ("momentum value", momentum),
            ("weight_decay value", weight_decay),
        ):
            if value < 0.0:
                raise ValueError(f"Invalid {name}: {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        if group["maximize"]:
            grad = -grad
        weight_decay = number(group["weight_decay"])
        if weight_decay:
            grad = grad._mixed(param, 1.0, weight_decay)
        momentum = group["momentum"]
        if momentum:
            sum_ = state.get("momentum_buffer")
            if sum_ is None:
                sum_ = state["momentum_buffer"] = grad.detach().clone()
            else:
                sum_._mixed_(grad, momentum, 1 - group["dampening"])
            grad = grad._mixed(sum_, 1.0, momentum) if group["nesterov"] else sum_
        param._mixed_(grad, 1.0, -number(group["lr"]))
