"""The cross entropy of a linear layer's result: of all its logits, or of a few rows at a time.

A vocabulary has far more words than a row has features, so that logits are what fills memory. With
`options` those of one chunk of rows exist at a time: backward computes them again.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from wgtorch import Tensor, bfloat16, cat, float16, float32, float64, int64, linear, log_softmax
from wgtorch.autograd.checkpoint import checkpoint
from wgtorch.config import outside
from wgtorch.nn.criterion import class_weights, cross_entropy, nll_loss, reduced

HALVES = (float16, bfloat16)
POLICIES = ("auto", "accurate", "balanced", "compact")


@dataclass(frozen=True, slots=True)
class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` goes through its rows.

    `batch_chunk_size` rows at a time, or as many as `chunking_method` says: "aspect_ratio" makes a
    chunk's logits as large as the input, "aspect_ratio:N" an N-th of that, "auto" chooses one of
    them, None leaves it to the size (all rows, if that is None, too). Logits are of `acc_dtype`:
    None means float32 for halves with the policy "auto", else the input's dtype. `acc_policy` is
    "auto", "accurate", "balanced" or "compact"; products of halves are summed in float32 by all of
    them. Backward may run again, whatever `allow_retain_graph` says: nothing is used up. ValueError
    for values that are none of these.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto") and not share_of(str(self.chunking_method)):
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in (None, *HALVES, float32, float64):
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32,"
                f" torch.float64}}, got {self.acc_dtype!r}. Pass acc_dtype=None to let the op pick"
                " automatically."
            )

    def rows(self, input: Tensor, classes: int) -> int:
        """How many rows of `input`, (N, features), a chunk has; ValueError for two answers."""
        (count, features), size, method = input.shape, self.batch_chunk_size, self.chunking_method
        if method == "auto":
            on_cpu = input.device.type == "cpu" and input.dtype in HALVES
            method = None if size else "aspect_ratio" if on_cpu else "aspect_ratio:2"
        if method is None:
            return max(1, min(size or count, count))
        wide = -(-classes // features)
        least = -(-count // wide)
        found = min((1 << (least - 1).bit_length()) // share_of(method), count)
        if size is not None and size != found:
            raise ValueError(
                f"batch_chunk_size (={size}) and chunking_method ('{method}') give different chunk"
                f" sizes ({size} vs {found}); pass only one."
            )
        return max(1, found)

    def dtype_for(self, dtype: Any) -> Any:
        """What logits of an input of `dtype` are computed in; RuntimeError where it can't be."""
        if self.acc_dtype is None:
            return float32 if self.acc_policy == "auto" and dtype in HALVES else dtype
        if self.acc_dtype is not dtype and (self.acc_dtype is not float32 or dtype not in HALVES):
            raise RuntimeError(
                "linear_cross_entropy supports float32 acc_dtype with float16/bfloat16 inputs, but"
                f" got {self.acc_dtype} acc_dtype and {dtype} inputs."
            )
        return self.acc_dtype


def share_of(method: str) -> int:
    """The N of "aspect_ratio:N", 1 where it is left out; 0 for what is no such method."""
    name, colon, share = method.partition(":")
    share = share if colon else "1"
    return int(share) if name == "aspect_ratio" and share.isdigit() else 0


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """`cross_entropy` of a linear layer's result: input (N, features) or (features), linear_weight
    (classes, ..., features), linear_bias (classes, ...), target (N, ...) of int64, or probabilities
    (N, classes, ...). RuntimeError for shapes that do not fit.

    With `options` the logits are computed a chunk of rows at a time, where the target holds class
    indices, without label smoothing and for a linear_weight of two dimensions; else a warning says
    that all are.
    """
    shape = tuple(linear_weight.shape[:-1])
    check(input, linear_weight, linear_bias)
    if ignore_index is not None and target.shape == (*input.shape[:-1], *shape):
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    if options is not None:
        if may_be_chunked(shape, target, reduction, label_smoothing):
            rest = (linear_weight, linear_bias, weight, reduction, ignored, options)
            if input.ndim == 2:
                return by_chunks(input, target, *rest)
            return by_chunks(input.unsqueeze(0), target.unsqueeze(0), *rest).squeeze(0)
        warnings.warn(
            "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in"
            " {'mean','sum','none'}, label_smoothing == 0, target.dtype == int64, out_features =="
            f" (). Got {reduction=}, {label_smoothing=}, target.dtype={target.dtype},"
            f" out_features={shape[1:]}.",
            stacklevel=outside(),
        )
    bias = None if linear_bias is None else linear_bias.flatten()
    logits = linear(input, linear_weight.flatten(0, -2), bias)
    logits = logits.reshape(*input.shape[:-1], *shape)
    return cross_entropy(logits, target, weight, None, ignored, None, reduction, label_smoothing)


def check(input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None) -> None:
    shape, features = tuple(linear_weight.shape[:-1]), input.shape[-1:]
    if input.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    if linear_weight.ndim < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {linear_weight.ndim}"
        )
    if features != linear_weight.shape[-1:]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got"
            f" {features[0]} and {linear_weight.shape[-1]}, respectively"
        )
    if linear_bias is not None and tuple(linear_bias.shape) != shape:
        raise RuntimeError(f"expected linear_bias shape {shape}, got {tuple(linear_bias.shape)}")
    if len(shape) > 1 and input.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)}"
            f" requires batched input, (N, {features[0]}), got unbatched input with shape"
            f" {tuple(input.shape)}"
        )


def may_be_chunked(shape: tuple, target: Tensor, reduction: str, smoothing: float) -> bool:
    plain = len(shape) == 1 and smoothing == 0 and target.dtype is int64
    return plain and reduction in ("mean", "sum", "none")


def by_chunks(
    input: Tensor,
    target: Tensor,
    linear_weight: Tensor,
    linear_bias: Tensor | None,
    weight: Tensor | None,
    reduction: str,
    ignored: int,
    options: LinearCrossEntropyOptions,
) -> Tensor:
    dtype, size = options.dtype_for(input.dtype), options.rows(input, linear_weight.shape[0])
    matrix, bias, scale = [
        None if t is None else t.to(dtype) for t in (linear_weight, linear_bias, weight)
    ]

    def loss_of(rows: Tensor, classes: Tensor) -> Tensor:
        logits = linear(rows.to(dtype), matrix, bias)
        how = "none" if reduction == "none" else "sum"
        return nll_loss(log_softmax(logits, 1), classes, scale, None, ignored, None, how)

    parts = [
        checkpoint(loss_of, input[i : i + size], target[i : i + size], use_reentrant=False)
        for i in range(0, input.shape[0] or 1, size)
    ]
    if reduction == "none":
        return cat(parts).to(input.dtype)
    loss = reduced(cat([part.reshape(1) for part in parts]), "sum")
    if reduction == "mean":
        loss = loss / class_weights(target, target == ignored, scale, dtype).sum()
    return loss.to(input.dtype)
