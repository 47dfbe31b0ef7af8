"""Pools and norms that are made of other ones."""

from __future__ import annotations

from math import inf, prod
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.integers import sizes
from wgtorch.nn.volumes import avg_pool3d, max_pool3d


def power_mean(input: Tensor, norm_type: float, taps: int, pool: Any, largest: Any) -> Tensor:
    """(sum of x^p over a window)^(1/p), from the mean of x^p; of infinite p the largest |x|, or the
    smallest."""
    if norm_type == inf:
        return largest(input.abs())
    if norm_type == -inf:
        return -largest(-input.abs())
    mean = pool(input.pow(norm_type))
    return (mean.sign() * mean.abs().relu()).mul(taps).pow(1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int, stride: Any = None,
              ceil_mode: bool = False) -> Tensor:  # fmt: skip
    """The p-norm of each window."""
    (size,) = sizes("lp_pool1d", "kernel_size", kernel_size, 3, 1)
    return power_mean(
        input, norm_type, size,
        lambda x: wgtorch.avg_pool1d(x, kernel_size, stride, 0, ceil_mode),
        lambda x: wgtorch.max_pool1d(x, kernel_size, stride, 0, 1, ceil_mode),
    )  # fmt: skip


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None,
              ceil_mode: bool = False) -> Tensor:  # fmt: skip
    """The p-norm of each window."""
    return power_mean(
        input, norm_type, prod(sizes("lp_pool2d", "kernel_size", kernel_size, 3, 2)),
        lambda x: wgtorch.avg_pool2d(x, kernel_size, stride, 0, ceil_mode),
        lambda x: wgtorch.max_pool2d(x, kernel_size, stride, 0, 1, ceil_mode),
    )  # fmt: skip


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None,
              ceil_mode: bool = False) -> Tensor:  # fmt: skip
    """The p-norm of each window."""
    return power_mean(
        input, norm_type, prod(sizes("lp_pool3d", "kernel_size", kernel_size, 3, 3)),
        lambda x: avg_pool3d(x, kernel_size, stride, 0, ceil_mode),
        lambda x: max_pool3d(x, kernel_size, stride, 0, 1, ceil_mode),
    )  # fmt: skip


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest of windows that divide the length into `output_size` parts."""
    found = wgtorch.adaptive_max_pool1d(input, output_size)
    return found if return_indices else found[0]


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest of windows that divide the plane into `output_size` parts."""
    found = wgtorch.adaptive_max_pool2d(input, output_size)
    return found if return_indices else found[0]


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """(what `adaptive_max_pool1d` gives, where in the length it is)"""
    return adaptive_max_pool1d(input, output_size, True)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """(what `adaptive_max_pool2d` gives, where in H W it is)"""
    return adaptive_max_pool2d(input, output_size, True)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75,
                        k: float = 1.0) -> Tensor:  # fmt: skip
    """input / (k + alpha * the mean of squares over `size` neighbouring channels)^beta."""
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)"
        )
    if not input.numel():
        return input
    squares = input.square().transpose(1, -1)
    padded = squares.constant_pad_nd((size // 2, (size - 1) // 2))
    count = input.shape[1]
    total = padded[..., :count]
    for k_ in range(1, size):
        total = total + padded[..., k_ : k_ + count]
    whole = None if input.is_floating_point() else "trunc"
    scale = (total.div(size, rounding_mode=whole) * alpha + k).pow(beta).transpose(1, -1)
    return input / scale


def instance_norm(input: Tensor, running_mean: Tensor | None = None,
                  running_var: Tensor | None = None, weight: Tensor | None = None,
                  bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1,
                  eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Normalized per sample and channel, over all that follows."""
    if use_input_stats:
        spatial = 1
        for n in input.shape[2:]:
            spatial *= n
        if spatial == 1:
            raise ValueError(
                f"Expected more than 1 spatial element when training, got input size {input.shape}"
            )
    return wgtorch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats,
                                 momentum, eps, False)  # fmt: skip


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10,
                   dim: int = -1) -> Tensor:  # fmt: skip
    """A sample of the relaxed distribution of `logits`; one-hot with `hard`, its gradient soft."""
    noise = -wgtorch.empty_like(logits).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim, True)
    sharp = wgtorch.zeros_like(logits).scatter(dim, index, 1.0)
    return sharp - soft.detach() + soft


def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The p-norm distances of all pairs of rows, in order."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    rows = input.shape[0]
    first, second = wgtorch.triu_indices(rows, rows, 1, device=input.device)
    return (input.index_select(0, first) - input.index_select(0, second)).norm(p, -1)
