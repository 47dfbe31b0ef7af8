"""Muon: momentum, made orthogonal, for the matrices inside a network."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor, addmm, bfloat16, zeros_like
from wgtorch.optim.optimizer import Optimizer, Params, number, one_element

RATES = (None, "original", "match_rms_adamw")


class Muon(Optimizer):
    """Jordan et al. 2024: `p -= lr * o`, o the momentum with its singular values brought near 1
    by `ns_steps` Newton-Schulz steps in bfloat16; weight decay shrinks p itself.

    `adjust_lr_fn`: "original" (None) multiplies the rate by sqrt(max(1, rows / columns)),
    "match_rms_adamw" by 0.2 * sqrt(max(rows, columns)).
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ):
        one_element("lr", lr)
        for name, value in (
            ("Learning rate", lr),
            ("momentum", momentum),
            ("weight decay", weight_decay),
        ):
            if not value >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in RATES:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        if ns_steps >= 100:
            raise ValueError("Number of steps must be less than 100 for computational efficiency")
        if len(ns_coefficients) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        for param in self.param_groups[-1]["params"]:
            if param.ndim != 2:
                raise ValueError(
                    "Muon only supports 2D parameters whereas we found a parameter with size: "
                    f"{param.size()}"
                )
            if param.is_complex():
                raise RuntimeError("Muon does not support complex parameters")

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        if not state:
            state["momentum_buffer"] = zeros_like(grad)
        momentum, lr = group["momentum"], number(group["lr"])
        step = state["momentum_buffer"]._mixed_(grad, momentum, 1 - momentum)
        if group["nesterov"]:
            step = grad._mixed(step, 1 - momentum, momentum)
        step = orthogonal(step, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = param.shape
        factor = max(1, rows / columns) ** 0.5
        if group["adjust_lr_fn"] == "match_rms_adamw":
            factor = 0.2 * max(rows, columns) ** 0.5
        param._mixed_(step.to(param.dtype), 1 - lr * group["weight_decay"], -lr * factor)


def orthogonal(
    matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """`matrix` with its singular values between about 0.7 and 1.2, in bfloat16."""
    a, b, c = coefficients
    tall = matrix.size(0) > matrix.size(1)
    x = matrix.to(bfloat16)
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x
