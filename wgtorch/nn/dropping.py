"""Dropout: elements, or whole channels, that are left out at random."""

from __future__ import annotations

import warnings

import wgtorch
from wgtorch import Tensor
from wgtorch.config import outside


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeros each element with probability `p`, and divides the rest by 1 - p."""
    check_probability(p)
    return (wgtorch.dropout_ if inplace else wgtorch.dropout)(input, p, training)


def check_probability(p: float) -> None:
    if isinstance(p, str):
        raise TypeError("dropout(): argument 'p' must be float, not str")
    if p != p:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zeros whole channels of (batch, channels, length) or (channels, length)."""
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial "
            "dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D "
            "inputs)."
        )
    return drop_channels(input, p, training, inplace, input.ndim - 1)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zeros whole channels of (batch, channels, height, width)."""
    if input.dim() not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {input.dim()}-D input to dropout2d, which is deprecated and "
            "will result in an error in a future release.",
            stacklevel=outside(),
        )
    return drop_channels(input, p, training, inplace, 2)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zeros whole channels of (batch, channels, depth, height, width)."""
    return drop_channels(input, p, training, inplace, 2)


def drop_channels(input: Tensor, p: float, training: bool, inplace: bool, kept: int) -> Tensor:
    """One decision for the `kept` first dimensions, whatever the others."""
    check_probability(p)
    if not training or p == 0:
        return input
    shape = (*input.shape[:kept], *[1] * (input.ndim - kept))
    ones = wgtorch.ones(shape, dtype=input.dtype, device=input.device)
    factor = wgtorch.dropout(ones, p, True)
    return input.mul_(factor) if inplace else input * factor


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Sets elements to the value SELU saturates at, and keeps mean and variance."""
    check_probability(p)
    return (wgtorch.alpha_dropout_ if inplace else wgtorch.alpha_dropout)(input, p, training)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """As `alpha_dropout`, for whole channels (dimension 1) of each sample."""
    check_probability(p)
    drop = wgtorch.feature_alpha_dropout_ if inplace else wgtorch.feature_alpha_dropout
    return drop(input, p, training)
