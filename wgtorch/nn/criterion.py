"""Criteria: how far an output is from its target, as functions of tensors."""

from __future__ import annotations

import warnings
from typing import Any

from wgtorch import (
    Tensor,
    broadcast_shapes,
    can_cast,
    float16,
    float32,
    int64,
    log_softmax,
    logsigmoid,
    uint8,
    where,
    xlogy,
)
from wgtorch.autograd.transforms.level import levels
from wgtorch.config import outside
from wgtorch.errors import DeviceError
from wgtorch.ops.arguments import common_dtype
from wgtorch.ops.requirements import within

FEW = 1 << 12  # targets of which one workgroup takes the mean; a batch of vmap is many


def check_reduction(reduction: str) -> None:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")


def named_reduction(size_average: Any, reduce: Any, reduction: str) -> str:
    """`reduction`, unless one of the two old arguments says otherwise."""
    if size_average is None and reduce is None:
        return reduction
    averages, reduces = size_average in (None, True), reduce in (None, True)
    result = "none" if not reduces else "mean" if averages else "sum"
    warnings.warn(
        "size_average and reduce args will be deprecated, "
        f"please use reduction='{result}' instead.",
        stacklevel=outside(),
    )
    return result


def reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    check_reduction(reduction)
    return loss


def check_dtype(kernel: str, categories: tuple[int, ...], input: Tensor, target: Tensor) -> None:
    dtype = common_dtype(input, target)
    if dtype.category not in categories:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.short}'")


def of_one_shape(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both broadcast: the dtype of a 0-d one counts then. With a warning where they differ."""
    if target.shape == input.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size "
        f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
        "Please ensure they have the same size.",
        stacklevel=outside(),
    )
    shape = broadcast_shapes(input.shape, target.shape)
    return input.expand(shape), target.expand(shape)


# Of numbers from numbers


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average=None,
    reduce=None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input - target) squared, times `weight`."""
    input, target = of_one_shape(input, target)
    check_dtype("mse_cpu", (1, 2), input, target)
    return weighted((input - target).square(), weight, size_average, reduce, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average=None,
    reduce=None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|input - target|, times `weight`."""
    input, target = of_one_shape(input, target)
    return weighted((input - target).abs(), weight, size_average, reduce, reduction)


def weighted(loss: Tensor, weight: Tensor | None, size_average, reduce, reduction) -> Tensor:
    reduction = named_reduction(size_average, reduce, reduction)
    if weight is None:
        return reduced(loss, reduction)
    weight = weight.expand(loss.shape)
    if reduction == "mean":
        return (loss * weight).sum() / weight.sum()
    return reduced(loss * weight, reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average=None,
    reduce=None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """0.5 d^2 / beta where d = |input - target| < beta, d - 0.5 beta elsewhere."""
    input, target = of_one_shape(input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta:
        check_dtype("smooth_l1_cpu", (2,), input, target)
    far = (input - target).abs()
    loss = where(far < beta, far * far * (0.5 / beta), far - 0.5 * beta) if beta else far
    return reduced(loss, named_reduction(size_average, reduce, reduction))


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """0.5 d^2 where d = |input - target| < delta, delta (d - 0.5 delta) elsewhere."""
    input, target = of_one_shape(input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    check_dtype("huber_cpu", (2,), input, target)
    far = (input - target).abs()
    loss = where(far < delta, far * far * 0.5, (far - 0.5 * delta) * delta)
    if not can_cast(loss.dtype, input.dtype):
        raise RuntimeError(
            f"result type {loss.dtype.short} can't be cast to the desired output type"
            f" {input.dtype.short}"
        )
    loss = loss.to(input.dtype)
    return weighted(loss, weight, None, None, reduction)


# Of distributions from distributions


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average=None,
    reduce=None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target (log target - input): `input` holds logs, `target` if `log_target`.

    "batchmean", the sum over the first dimension's length, is the mathematical definition.
    """
    reduction = named_reduction(size_average, reduce, reduction)
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support "
            "size.'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next "
            "major release.",
            stacklevel=outside(),
        )
    for kind, refused in (("Integral", (0, 1)), ("Complex", (3,))):
        if input.dtype.category in refused or target.dtype.category in refused:
            raise RuntimeError(f"kl_div: {kind} inputs not supported.")
    target_log = target.exp() * target if log_target else xlogy(target, target)
    loss = target_log - (target.exp() if log_target else target) * input
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.ndim else loss.sum()
    return reduced(loss, reduction)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average=None,
    reduce=None,
    reduction: str = "mean",
) -> Tensor:
    """-(target log input + (1 - target) log (1 - input)), times `weight`; logs from -100."""
    reduction = named_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )
    check_dtype("binary_cross_entropy", (2,), input, target)
    for name, given in (("input", input), ("target", target)):
        refusal = f"binary_cross_entropy: all elements of {name} should be between 0 and 1"
        within(given, 0, 1, refusal)
    loss = input._binary_cross_entropy(target)
    loss = loss if weight is None else loss * weight
    return reduced(loss, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average=None,
    reduce=None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of sigmoid(input), without overflow for inputs of any size."""
    if target.shape != input.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    log = logsigmoid(input)
    if pos_weight is not None:
        log = log * (1 + (pos_weight - 1) * target)
    loss = (1 - target) * input - log
    loss = loss if weight is None else loss * weight
    return reduced(loss, named_reduction(size_average, reduce, reduction))


# Of classes


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average=None,
    ignore_index: int = -100,
    reduce=None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """-log softmax(input)[target], with classes along dimension 1 (0 if input has one).

    `target` holds class indices, in input's shape without the classes, or probabilities, in
    input's shape. The mean is over the weights of the targets that are not `ignore_index`.
    """
    reduction = named_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    dim = 0 if input.ndim == 1 else 1
    log = log_softmax(input, dim)
    if target.shape == input.shape:
        return of_probabilities(log, target, weight, ignore_index, reduction, label_smoothing)
    loss = nll_loss(log, target, weight, None, ignore_index, None, reduction)
    if label_smoothing == 0:
        return loss
    smooth = -(log * along(weight, log, dim) if weight is not None else log).sum(dim)
    ignored: Any = target == ignore_index
    smooth = smooth.masked_fill(ignored, 0)
    if reduction == "mean":
        smooth = smooth.sum() / class_weights(target, ignored, weight, smooth.dtype).sum()
    else:
        smooth = reduced(smooth, reduction)
    return (1 - label_smoothing) * loss + smooth * (label_smoothing / input.shape[dim])


def of_probabilities(
    log: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction, smoothing
) -> Tensor:
    dim = 0 if log.ndim == 1 else 1
    if not target.is_floating_point():
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got"
            f" {target.dtype.short}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / log.shape[dim]
    loss = log * target
    loss = -(loss if weight is None else loss * along(weight, log, dim)).sum(dim)
    return reduced(loss, reduction)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average=None,
    ignore_index: int = -100,
    reduce=None,
    reduction: str = "mean",
) -> Tensor:
    """-input[target], times `weight[target]`, for input that is log probabilities."""
    reduction = named_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    check_classes(input, target, weight)
    is_mean = reduction == "mean"
    if is_mean and weight is None and target.layout.numel <= FEW and not levels.stack:
        return input._class_mean(target, ignore_index)[0]
    loss = input._class_loss(target, ignore_index)
    if weight is None and not is_mean:
        return reduced(loss, reduction)
    weights = class_weights(target, target == ignore_index, weight, input.dtype)
    loss = loss if weight is None else loss * weights
    if is_mean:
        return (loss.to(weights.dtype).sum() / weights.sum()).to(input.dtype)
    return reduced(loss, reduction)


def check_classes(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    shape, have = input.layout.shape, target.layout.shape
    if not shape:
        raise RuntimeError("nll_loss: input should have at least 1 dimension, for the classes")
    batch = shape[:1] if len(shape) > 1 else ()
    if batch and have and have[:1] != batch:
        raise ValueError(
            f"Expected input batch_size ({shape[0]}) to match target batch_size ({have[0]})."
        )
    if have != (*batch, *shape[2:]):
        raise RuntimeError(f"Expected target size {[*batch, *shape[2:]]}, got {list(have)}")
    if target.dtype not in (int64, uint8):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {target.dtype.short}"
        )
    for name, other in (("target", target), ("weight", weight)):
        if other is not None and other.device != input.device:
            raise DeviceError(
                f"Expected all tensors to be on the same device, but got {name} is on"
                f" {other.device}, different from other tensors on {input.device} (when checking"
                f" argument in method nll_loss); move it with .to('{input.device}')"
            )
    classes = input.shape[1 if input.ndim > 1 else 0]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            "weight tensor should be defined either for all "
            f"{classes} classes or no classes but got weight tensor of shape: "
            f"{list(weight.shape)}"
        )


def class_weights(target: Tensor, ignored: Tensor, weight: Tensor | None, dtype: Any) -> Tensor:
    """What each target counts: its class's weight, or 1; 0 where ignored."""
    if weight is None:
        # as many ones do not fit a half
        return (~ignored).to(float32 if dtype is float16 else dtype)
    index = target.masked_fill(ignored, 0).to(int64)
    return weight[index].masked_fill(ignored, 0)


def along(weight: Tensor, like: Tensor, dim: int) -> Tensor:
    """A weight per class, shaped to broadcast against `like`."""
    return weight.reshape([-1 if d == dim else 1 for d in range(like.ndim)])
