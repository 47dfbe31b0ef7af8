"""ASGD: gradient descent that keeps the average of where it was."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor, zeros_like
from wgtorch.optim.optimizer import Optimizer, Params, adjusted, checked, number


class ASGD(Optimizer):
    """Polyak & Juditsky 1992: `p = p * (1 - lambd * eta) - eta * g`, with eta =
    lr / (1 + lambd * lr * step) ** alpha; from step `t0` on, "ax" averages p.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ):
        checked(lr=lr, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
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
        lr, lambd = number(group["lr"]), group["lambd"]
        if not state:
            state["step"] = 0
            state["eta"], state["mu"] = lr, 1.0
            state["ax"] = zeros_like(param)
        state["step"] += 1
        grad = adjusted(param, grad, group)
        eta, mu = state["eta"], state["mu"]
        param._mixed_(grad, 1 - lambd * eta, -eta)
        state["ax"]._mixed_(param, 1 - mu, mu)
        state["eta"] = lr / (1 + lambd * lr * state["step"]) ** group["alpha"]
        state["mu"] = 1 / max(1, state["step"] - group["t0"])
