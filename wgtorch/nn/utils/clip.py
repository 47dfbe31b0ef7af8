"""Clipping: gradients made smaller, in place, where they are too large."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable

from wgtorch import Tensor, no_grad, stack, tensor

Tensors = Tensor | Iterable[Tensor]


def listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all `tensors` seen as one vector; a 0-d tensor on the first one's device."""
    given = listed(tensors)
    if not given:
        return tensor(0.0)
    device = given[0].device
    norms = stack([t.norm(float(norm_type)).to(device) for t in given])
    total = norms.norm(float(norm_type))
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from `parameters` is "
            "non-finite, so it cannot be clipped. To disable this error and scale the gradients "
            "by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale gradients by max_norm / total_norm, if that is less than 1. Does not wait."""
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    with no_grad():
        for param in listed(parameters):
            if param.grad is not None:
                param.grad.mul_(factor.to(param.grad.device))


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients so that their norm, all together, is at most `max_norm`.

    Returns the norm they had.
    """
    kept = listed(parameters)
    if not kept:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.",
                      stacklevel=2)  # fmt: skip
    with no_grad():
        grads = [param.grad for param in kept if param.grad is not None]
        total = get_total_norm(grads, norm_type, error_if_nonfinite)
        clip_grads_with_norm_(kept, max_norm, total)
    return total


clip_grad_norm = clip_grad_norm_


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Cut every element of the gradients off at -clip_value and clip_value."""
    limit = float(clip_value)
    with no_grad():
        for param in listed(parameters):
            if param.grad is not None:
                param.grad.clamp_(min=-limit, max=limit)
