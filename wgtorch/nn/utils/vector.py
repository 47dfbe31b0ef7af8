"""A vector of parameters: all their elements, one after the other."""

from __future__ import annotations

from collections.abc import Iterable

from wgtorch import Tensor, cat


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements, in order, as one tensor of one dimension."""
    kept = list(parameters)
    same_device(kept)
    return cat([param.reshape(-1) for param in kept])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give each parameter its part of `vec`, as `parameters_to_vector` ordered them."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    kept = list(parameters)
    same_device(kept)
    start = 0
    for param in kept:
        count = param.numel()
        param.data = vec[start : start + count].view(param.shape).data
        start += count


def same_device(parameters: list[Tensor]) -> None:
    places = {str(param.device) for param in parameters}
    if len(places) > 1:
        raise TypeError(
            f"Found two parameters on different devices, this is currently not supported: {places}"
        )
