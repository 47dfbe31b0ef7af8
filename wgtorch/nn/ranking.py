"""Criteria that ask for margins, rankings or likelihoods, as functions of tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.nn.criterion import check_reduction, named_reduction, reduced
from wgtorch.ops.requirements import require

Old = Any  # the deprecated arguments size_average and reduce


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Old = None,
    reduce: Old = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin); target 1 wants input1 larger, -1 input2."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes:"
            f" input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    loss = (-target * (input1 - input2) + float(margin)).clamp(min=0)
    return reduced(loss, named_reduction(size_average, reduce, reduction))


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Old = None,
    reduce: Old = None,
    reduction: str = "mean",
) -> Tensor:
    """input where target is 1, max(0, margin - input) where it is -1."""
    margin = margin if input.is_floating_point() else int(margin)
    far = (margin - input).clamp(min=0).masked_fill(target == 1, 0)
    near = input.masked_fill(target == -1, 0)
    return reduced(near + far, named_reduction(size_average, reduce, reduction))


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Old = None,
    reduce: Old = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    if target.ndim + 1 != input1.ndim or input1.ndim != input2.ndim or target.ndim > 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found"
            f" inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    epsilon = 1e-12  # as PyTorch adds to squares
    dots = (input1 * input2).sum(-1)
    squares = (input1.square().sum(-1) + epsilon) * (input2.square().sum(-1) + epsilon)
    cosine = dots / squares.sqrt()
    loss = wgtorch.where(target == 1, 1 - cosine, (cosine - margin).clamp(min=0))
    loss = loss.masked_fill((target != 1) & (target != -1), 0)
    return reduced(loss, named_reduction(size_average, reduce, reduction))


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Old = None,
    reduce: Old = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input))."""
    loss = wgtorch.softplus(input * -target)
    return reduced(loss, named_reduction(size_average, reduce, reduction))


def check_rows(input: Tensor) -> None:
    """(batch, classes) or (classes,) or one number; only the batch may be empty."""
    if input.ndim > 2 or 0 in input.shape[-1:]:
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got:"
            f" {list(input.shape)}"
        )


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Old = None,
    reduce: Old = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over the other classes of max(0, margin - input[target] + input)^p, times weight."""
    check_reduction(reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    check_rows(input)
    batch = input.shape[0] if input.ndim == 2 else 1
    if target.ndim > 1 or target.numel() != batch:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input"
            f" samples (batch size). Expected target size [{batch}], but got {list(target.shape)}."
            f" Input has shape {list(input.shape)}."
        )
    if weight is not None and weight.numel() != input.shape[-1]:
        raise RuntimeError(
            f"inconsistent weight size, expected {input.shape[-1]} but got {list(weight.shape)}"
        )
    if target.dtype is not wgtorch.int64:
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.short}")
    rows = input if input.ndim == 2 else input.reshape(1, -1)
    places = target.reshape(-1, 1)
    classes = rows.shape[1]
    require((target >= 0) & (target < classes), "multi_margin_loss: target out of range")
    slack = (margin - rows.gather(1, places) + rows).clamp(min=0)
    slack = slack if p == 1 else slack.square()
    if weight is not None:
        slack = slack * weight.index_select(0, target.reshape(-1)).unsqueeze(1)
    loss = slack.scatter(1, places, 0.0).sum(1) / classes
    loss = loss if input.ndim == 2 else loss.squeeze(0)
    return reduced(loss, named_reduction(size_average, reduce, reduction))


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Old = None,
    reduce: Old = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over classes of max(0, 1 - input[label] + input[other]); labels end at the first -1."""
    check_reduction(reduction)
    check_rows(input)
    if target.shape != input.shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
    rows = input if input.ndim == 2 else input.reshape(1, -1)
    labels = target if target.ndim == 2 else target.reshape(1, -1)
    given = (labels < 0).cumsum(1) == 0
    places = labels.masked_fill(~given, 0)
    marks = wgtorch.zeros_like(rows).scatter_add(1, places, given.to(rows.dtype))
    slack = (1 - rows.gather(1, places).unsqueeze(2) + rows.unsqueeze(1)).clamp(min=0)
    slack = slack * given.unsqueeze(2) * (marks == 0).unsqueeze(1)
    loss = slack.sum((1, 2)) / rows.shape[1]
    loss = loss if input.ndim == 2 else loss.squeeze(0)
    return reduced(loss, named_reduction(size_average, reduce, reduction))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Old = None,
    reduce: Old = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over classes of the cross entropy of sigmoid(input) with targets 0 or 1."""
    loss = -(target * wgtorch.logsigmoid(input) + (1 - target) * wgtorch.logsigmoid(-input))
    loss = loss if weight is None else loss * weight
    loss = loss.sum(-1) / input.shape[-1]
    return reduced(loss, named_reduction(size_average, reduce, reduction))


def distance(a: Tensor, b: Tensor, p: float, eps: float) -> Tensor:
    return (a - b + eps).norm(p, -1)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Old = None,
    reduce: Old = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, |anchor - positive|_p - |anchor - negative|_p + margin)."""
    return triplet(
        anchor,
        positive,
        negative,
        lambda a, b: distance(a, b, p, eps),
        margin,
        swap,
        named_reduction(size_average, reduce, reduction),
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """As `triplet_margin_loss`, with a distance of one's own."""
    measure = distance_function or (lambda a, b: distance(a, b, 2.0, 1e-6))
    return triplet(anchor, positive, negative, measure, margin, swap, reduction)


def triplet(anchor, positive, negative, measure, margin: float, swap: bool, reduction: str):
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    ranks = [x.ndim for x in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of"
            f" dimensions, but got: anchor {ranks[0]}D, positive {ranks[1]}D, and negative"
            f" {ranks[2]}D inputs"
        )
    near, far = measure(anchor, positive), measure(anchor, negative)
    if swap:
        far = far.minimum(measure(positive, negative))
    return reduced((near - far + margin).clamp(min=0), reduction)


# Likelihoods


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Old = None,
    eps: float = 1e-8,
    reduce: Old = None,
    reduction: str = "mean",
) -> Tensor:
    """-log of the Poisson probability of target; `full` adds Stirling's log(target!)."""
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, named_reduction(size_average, reduce, reduction))


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """0.5 (log var + (input - target)^2 / var), the variance at least `eps`."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    spread = input.new_full((), var) if isinstance(var, int | float) else var
    if spread.ndim and spread.shape != input.shape:
        if tuple(input.shape[:-1]) == tuple(spread.shape):
            spread = spread.unsqueeze(-1)
        elif len(spread.shape) != input.ndim or spread.shape[-1] != 1:
            raise ValueError("var is of incorrect size")
    require(spread >= 0, "gaussian_nll_loss: var has negative entry/entries", ValueError)
    held = spread + (spread.detach().clamp(min=eps) - spread.detach())  # its gradient is var's
    loss = 0.5 * (held.log() + (input - target).square() / held)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """-log of the probability of all ways to say the targets (A. Graves and others, 2006).

    `log_probs` (T, N, C) or (T, C); `targets` (N, S), or all of them in a row; lengths (N,).
    """
    single = log_probs.ndim == 2
    logs = log_probs.unsqueeze(1) if single else log_probs
    steps, batch, classes = logs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    long = lengths_of(input_lengths, batch, "input_lengths")
    many = lengths_of(target_lengths, batch, "target_lengths")
    if max(long) > steps:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {steps}, but got value {max(long)}"
        )
    rows = padded_targets(targets.unsqueeze(0) if single and targets.ndim == 1 else targets, many)
    losses = paths(logs, rows, long, many, blank)
    for said, loss in ((False, 0.0), (True, math.inf)):  # in no time only nothing can be said
        silent = [not n and bool(m) is said for n, m in zip(long, many, strict=True)]
        if any(silent):
            losses = losses.masked_fill(wgtorch.tensor(silent, device=logs.device), loss)
    # the gradient is that of normalized probabilities, as PyTorch's
    when = wgtorch.arange(steps, device=logs.device).unsqueeze(1)
    running = when < wgtorch.tensor(long, device=logs.device)
    mass = logs.exp().sum(-1).masked_fill(~running, 0).sum(0)
    losses = losses + (mass - mass.detach())
    if zero_infinity:
        losses = losses.masked_fill(losses == math.inf, 0)
    if reduction == "mean":
        return (losses / losses.new_tensor([float(max(n, 1)) for n in many])).mean()
    return reduced(losses.squeeze(0) if single else losses, reduction)


def lengths_of(lengths: Any, batch: int, name: str) -> list[int]:
    found = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    found = [found] if isinstance(found, int) else [int(n) for n in found]
    if len(found) != batch:
        raise RuntimeError(f"{name} must be of size batch_size")
    if min(found) < 0:
        raise RuntimeError(f"Expected {name} to have value at least 0, but got value {min(found)}")
    return found


def padded_targets(targets: Tensor, many: list[int]) -> Tensor:
    """(N, longest)."""
    if targets.ndim == 2:
        if targets.shape[1] < max(many):
            raise RuntimeError(
                f"Expected tensor to have size at least {max(many)} at dimension 1, but got size"
                f" {targets.shape[1]} for argument #2 'targets'"
            )
        return targets
    return wgtorch.nn.utils.rnn.pad_sequence(list(targets.split(many)), batch_first=True)


def paths(logs: Tensor, rows: Tensor, long: list[int], many: list[int], blank: int) -> Tensor:
    """The forward recursion over labels with blanks between them, all sequences at once."""
    batch, size = rows.shape
    width = 2 * size + 1
    labels = rows.new_full((batch, width), blank)
    labels[:, 1::2] = rows
    before = wgtorch.cat((labels.new_full((batch, 2), -1), labels[:, :-2]), 1)
    skips = (labels != blank) & (labels != before[:, :width])
    place = wgtorch.arange(width, device=logs.device)
    emitted = logs.gather(2, labels.unsqueeze(0).expand(logs.shape[0], -1, -1))
    never = logs.new_full((batch, 2), -math.inf)
    state = emitted[0].masked_fill(place > 1, -math.inf)
    lengths = wgtorch.tensor(long, device=logs.device).unsqueeze(1)
    for step in range(1, max(long)):
        wide = wgtorch.cat((never, state), 1)
        two = wide[:, :width].masked_fill(~skips, -math.inf)
        ways = wgtorch.stack((state, wide[:, 1 : width + 1], two))
        moved = safe_logsumexp(ways) + emitted[step]
        state = wgtorch.where(lengths > step, moved, state)
    ends = wgtorch.tensor([[2 * n, max(2 * n - 1, 0)] for n in many], device=logs.device)
    last = state.gather(1, ends)
    alone = wgtorch.tensor([[False, n == 0] for n in many], device=logs.device)
    return -safe_logsumexp(last.masked_fill(alone, -math.inf).t())


def safe_logsumexp(x: Tensor) -> Tensor:
    """Over the first dimension; -inf, and no gradient, where there is nothing."""
    nothing = (x.detach() == -math.inf).all(0)
    return x.masked_fill(nothing, 0).logsumexp(0).masked_fill(nothing, -math.inf)
