"""Adafactor: steps scaled by a second moment of which only rows' and columns' means are kept."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor, finfo, zeros_like
from wgtorch.optim.optimizer import Optimizer, Params, number, one_element


class Adafactor(Optimizer):
    """Shazeer & Stern 2018: `p -= rate * u`, u the gradient over the root of its second moment,
    which of a matrix is row means times column means over their mean.

    The rate is min(lr, 1 / sqrt(step)) times the root mean square of p (eps[1] at least); `d`
    clips the root mean square of u. Everything stays on the device: a step reads nothing back.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ):
        one_element("lr", lr)
        for name, value, bad, wanted in (
            ("Learning rate", lr, not lr >= 0, ">= 0"),
            ("beta2_decay", beta2_decay, not beta2_decay <= 0, "<= 0"),
            ("epsilon1", eps[0], eps[0] is not None and not eps[0] >= 0, ">= 0"),
            ("epsilon2", eps[1], not eps[1] >= 0, ">= 0"),
            ("Clipping threshold d", d, not d >= 1, ">= 1"),
            ("weight_decay", weight_decay, not weight_decay >= 0, ">= 0"),
        ):
            if bad:
                raise ValueError(f"{name} should be {wanted} but is: {value}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        if any(param.is_complex() for param in self.param_groups[-1]["params"]):
            raise RuntimeError("Adafactor does not support complex parameters")

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        if not state:
            state["step"] = 0
            if grad.dim() > 1:
                state["row_var"] = zeros_like(grad[..., :1])
                state["col_var"] = zeros_like(grad[..., :1, :])
            else:
                state["variance"] = zeros_like(grad)
        state["step"] += 1
        small = finfo(param.dtype).eps if group["eps"][0] is None else group["eps"][0]
        lr, step = number(group["lr"]), state["step"]
        if group["maximize"]:
            grad = -grad
        rate = root_mean_square(param).clamp(min=group["eps"][1]) * min(lr, step**-0.5)
        new = step ** group["beta2_decay"]
        step_ = grad * second_moment(grad, state, new, small).clamp(min=small * small).rsqrt()
        clipped = (root_mean_square(step_) / group["d"]).clamp(min=1.0)
        param.copy_(param * (1 - lr * group["weight_decay"]) - step_ * (rate / clipped))


def root_mean_square(values: Tensor) -> Tensor:
    return values.square().mean().sqrt()


def second_moment(grad: Tensor, state: dict[str, Any], new: float, small: float) -> Tensor:
    """The estimate for each element, after `grad` was taken in with weight `new`."""
    square = grad.square()
    if grad.dim() < 2:
        return state["variance"]._mixed_(square, 1 - new, new)
    rows = state["row_var"]._mixed_(square.mean(-1, keepdim=True), 1 - new, new)
    columns = state["col_var"]._mixed_(square.mean(-2, keepdim=True), 1 - new, new)
    return rows * columns / rows.mean(-2, keepdim=True).clamp(min=small)
