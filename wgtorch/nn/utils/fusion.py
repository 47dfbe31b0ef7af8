"""A layer and the batch norm after it as one layer, for evaluation."""

from __future__ import annotations

import copy

from wgtorch import Tensor, ones_like, rsqrt, zeros_like
from wgtorch.nn.convolution import Convolution
from wgtorch.nn.linear import Linear
from wgtorch.nn.normalization import BatchNorm
from wgtorch.nn.parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights",
]  # fmt: skip


def fuse_conv_bn_eval(conv: Convolution, bn: BatchNorm, transpose: bool = False) -> Convolution:
    """A convolution that computes `bn(conv(x))`; `transpose` if it is a transposed one.

    AssertionError unless both are in evaluation mode and `bn` has running statistics.
    """
    check(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias,
        transpose,
    )  # fmt: skip
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
    bn_w: Tensor | None, bn_b: Tensor | None, transpose: bool = False,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """(weight, bias) of a convolution with the batch norm's scale and shift in it."""
    return fused_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_eval(linear: Linear, bn: BatchNorm) -> Linear:
    """A Linear that computes `bn(linear(x))`.

    AssertionError unless both are in evaluation mode, `bn` has running statistics, and as many
    features as `linear` gives, or one.
    """
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    check(linear, bn)
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
    bn_w: Tensor | None, bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """(weight, bias) of a Linear with the batch norm's scale and shift in it."""
    return fused_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def check(layer: Convolution | Linear, bn: BatchNorm) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fused_weights(
    weight: Tensor, bias: Tensor | None, mean: Tensor, var: Tensor, eps: float,
    scale: Tensor | None, shift: Tensor | None, dim: int,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """`dim` is that of the outputs in `weight`."""
    wanted = weight.dtype if bias is None else bias.dtype
    bias = zeros_like(mean) if bias is None else bias
    shift = zeros_like(mean) if shift is None else shift
    factor = (ones_like(mean) if scale is None else scale) * rsqrt(var + eps)
    along = [-1 if d == dim else 1 for d in range(weight.ndim)]
    fused_weight = (weight * factor.reshape(along)).to(weight.dtype)
    fused_bias = ((bias - mean) * factor + shift).to(wanted)
    return (
        Parameter(fused_weight.detach(), weight.requires_grad),
        Parameter(fused_bias.detach(), bias.requires_grad),
    )
