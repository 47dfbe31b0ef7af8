"""The functions behind the modules: ops gathered under PyTorch's names, and compositions."""

from __future__ import annotations

import warnings
from math import prod
from types import FunctionType
from typing import Any

import wgtorch
from wgtorch import (
    Tensor,
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    avg_pool1d,
    avg_pool2d,
    celu_,
    conv1d,
    conv2d,
    conv_transpose1d,
    conv_transpose2d,
    elu_,
    gelu,
    glu,
    hardshrink,
    hardtanh_,
    layer_norm,
    leaky_relu_,
    linear,
    logsigmoid,
    max_pool1d_with_indices,
    max_pool2d_with_indices,
    prelu,
    relu_,
    rms_norm,
    rrelu_,
    selu_,
    sigmoid,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold_,
)  # fmt: skip
from wgtorch.absent import answer_for
from wgtorch.config import outside
from wgtorch.dispatch.blame import blaming
from wgtorch.nn.bags import embedding_bag, shorten
from wgtorch.nn.criterion import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    named_reduction,
    nll_loss,
    smooth_l1_loss,
)  # fmt: skip
from wgtorch.nn.dropping import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from wgtorch.nn.fractional import (
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
)
from wgtorch.nn.gridding import affine_grid, grid_sample
from wgtorch.nn.heads import multi_head_attention_forward
from wgtorch.nn.linear_loss import linear_cross_entropy
from wgtorch.nn.padding import pad
from wgtorch.nn.patches import channel_shuffle, fold, pixel_shuffle, pixel_unshuffle, unfold
from wgtorch.nn.pooled import (
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    gumbel_softmax,
    instance_norm,
    local_response_norm,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    pdist,
)
from wgtorch.nn.ranking import (
    cosine_embedding_loss,
    ctc_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    poisson_nll_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from wgtorch.nn.resizing import interpolate, upsample, upsample_bilinear, upsample_nearest
from wgtorch.nn.scores import scaled_dot_product_attention
from wgtorch.nn.volumes import (
    adaptive_avg_pool3d,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    avg_pool3d,
    conv3d,
    conv_transpose3d,
    max_pool3d,
    max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from wgtorch.ops.batched import is_batched
from wgtorch.ops.requirements import require

# Activations that may work in place


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    return (wgtorch.relu_ if inplace else wgtorch.relu)(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    return (wgtorch.relu6_ if inplace else wgtorch.relu6)(input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return (wgtorch.elu_ if inplace else wgtorch.elu)(input, alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return (wgtorch.celu_ if inplace else wgtorch.celu)(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    return (wgtorch.selu_ if inplace else wgtorch.selu)(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    return (wgtorch.leaky_relu_ if inplace else wgtorch.leaky_relu)(input, negative_slope)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    return (wgtorch.hardtanh_ if inplace else wgtorch.hardtanh)(input, min_val, max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    return (wgtorch.hardsigmoid_ if inplace else wgtorch.hardsigmoid)(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    return (wgtorch.hardswish_ if inplace else wgtorch.hardswish)(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    return (wgtorch.silu_ if inplace else wgtorch.silu)(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    return (wgtorch.mish_ if inplace else wgtorch.mish)(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    return (wgtorch.threshold_ if inplace else wgtorch.threshold)(input, threshold, value)


def rrelu(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    return (wgtorch.rrelu_ if inplace else wgtorch.rrelu)(input, lower, upper, training)


# Softmax


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype=None) -> Tensor:
    return wgtorch.softmax(input, usual(input, dim, "softmax"), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype=None) -> Tensor:
    return wgtorch.log_softmax(input, usual(input, dim, "log_softmax"), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype=None) -> Tensor:
    return wgtorch.softmax(-input, usual(input, dim, "softmin"), dtype=dtype)


def usual(input: Tensor, dim: int | None, name: str) -> int:
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. "
        "Change the call to include dim=X as an argument.",
        stacklevel=outside(),
    )
    return 0 if input.ndim in (0, 1, 3) else 1


# Linear maps and tables


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1 @ weight[k] @ input2 + bias[k]`, for weight (out, in1, in2)."""
    outputs, rows, columns = weight.shape
    flat = input1 @ weight.permute(1, 0, 2).reshape(rows, outputs * columns)
    each = flat.reshape(*input1.shape[:-1], outputs, columns)
    result = (each * input2.unsqueeze(-2)).sum(-1)
    return result if bias is None else result + bias


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of `weight`; the row `padding_idx` gets no gradient.

    With `max_norm`, rows of `weight` that are asked for and longer are first shortened.
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    rows = weight.shape[0]
    if padding_idx is None:
        padding_idx = -1
    elif not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    else:
        padding_idx %= rows
    if max_norm is not None:
        shorten(weight, input, max_norm, norm_type)
    return wgtorch.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at each index, 0 elsewhere, along a new last dimension of `num_classes`."""
    if tensor.dtype is not wgtorch.int64:
        raise RuntimeError(
            f"one_hot is only applicable to index tensor of type LongTensor, got {tensor.dtype}"
        )
    if num_classes == -1:
        if tensor.numel() == 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        if is_batched(tensor):
            raise RuntimeError(
                "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive"
                " num_classes argument."
            )
        num_classes = int(tensor.max()) + 1
    if num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    require(tensor >= 0, "one_hot: Class values must be non-negative.")
    require(tensor < num_classes, "one_hot: Class values must be smaller than num_classes.")
    shape = (*tensor.shape, num_classes)
    zeros = wgtorch.zeros(shape, dtype=wgtorch.int64, device=tensor.device)
    return zeros.scatter(-1, tensor.clamp(0, num_classes - 1).unsqueeze(-1), 1)


# Norms


def normalize(
    input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Divided by its p-norm along `dim`, or by `eps` where that is larger."""
    length = input.norm(p, dim, keepdim=True).clamp(min=eps)
    return wgtorch.div(input, length, out=out) if out is not None else input / length


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between `x1` and `x2` along `dim`; lengths count as >= `eps`."""
    kind = wgtorch.result_type(x1, x2)
    if not kind.is_floating_point:
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {kind.short}"
        )
    x1, x2 = wgtorch.broadcast_tensors(x1.to(kind), x2.to(kind))
    return (normalize(x1, 2.0, dim, eps) * normalize(x2, 2.0, dim, eps)).sum(dim)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of `x1 - x2 + eps` along the last dimension."""
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalized per channel (dimension 1): by the batch in `training`, else by the running
    mean and variance, which training moves towards the batch's by `momentum`."""
    if training and prod(input.shape[:1] + input.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.shape}"
        )
    if training and eps <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    return wgtorch.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, False
    )


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """As layer norm, over each of `num_groups` groups of channels (dimension 1) of each sample."""
    out = wgtorch.group_norm(input, num_groups, weight, bias, eps)
    if input.shape[0] * prod(input.shape[1:]) == num_groups:
        raise ValueError(
            "Expected more than 1 value per channel when training, got input size"
            f" {list(input.shape)}"
        )
    return out


# Windows


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    pool = wgtorch.max_pool1d_with_indices if return_indices else wgtorch.max_pool1d
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    pool = wgtorch.max_pool2d_with_indices if return_indices else wgtorch.max_pool2d
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


for _name, _function in list(globals().items()):
    if isinstance(_function, FunctionType) and _function.__module__.startswith("wgtorch.nn"):
        globals()[_name] = blaming(_function, __name__)

answer_for(__name__)
