"""Rprop: steps that grow while the sign of the gradient stays, and shrink when it turns."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor, full_like, where, zeros_like
from wgtorch.optim.optimizer import Optimizer, Params, checked, number


class Rprop(Optimizer):
    """Riedmiller & Braun 1993: every element has a step size of its own, times etas[1] where the
    gradient keeps its sign, times etas[0] (and no step) where it changes.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ):
        checked(lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
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
            state["prev"] = zeros_like(param)
            state["step_size"] = full_like(grad, number(group["lr"]))
        state["step"] += 1
        if group["maximize"]:
            grad = -grad
        less, more = group["etas"]
        size, before = state["step_size"], state["prev"]
        turned = grad * before
        factor = where(turned > 0, more, where(turned < 0, less, 1.0))
        size.mul_(factor).clamp_(*group["step_sizes"])
        grad = grad.masked_fill(turned < 0, 0)
        param.sub_(grad.sign() * size)
        before.copy_(grad)
