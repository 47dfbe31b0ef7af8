"""Adaptive softmax: classes that are rare share few features, and are rarely computed.

Grave et al., Efficient softmax approximation for GPUs, 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from wgtorch import Tensor, cat
from wgtorch.nn import functional as F
from wgtorch.nn.container import ModuleList, Sequential
from wgtorch.nn.linear import Linear
from wgtorch.nn.module import Module


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log probabilities of classes that are numbered by how frequent they are.

    The `head` scores the classes below `cutoffs[0]` and one cluster for each further cutoff;
    `tail[i]` scores the classes of cluster i, of `in_features / div_value**(i + 1)` features.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*checked(list(cutoffs), n_classes), n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        made = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **made)
        self.tail = ModuleList()
        for place, (low, high) in enumerate(pairwise(self.cutoffs)):
            hidden = int(in_features // div_value ** (place + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, **made),
                    Linear(hidden, high - low, bias=False, **made),
                )
            )

    def reset_parameters(self) -> None:
        for module in self.modules():
            if isinstance(module, Linear):
                module.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """(output, loss): the log probability of each target, and minus their mean.

        `input_` is (batch, in_features) and `target_` (batch,), or both without a batch.
        """
        check_shapes(input_, target_)
        if target_.dim() == 0:
            output, loss = self.forward(input_.unsqueeze(0), target_.unsqueeze(0))
            return _ASMoutput(output.squeeze(0), loss)
        output = input_.new_zeros(target_.shape[0])
        in_head = target_.clone()  # a class of the shortlist, or where its cluster is
        known = int((target_ < self.shortlist_size).logical_and(target_ >= 0).sum())
        for place, (low, high) in enumerate(pairwise(self.cutoffs)):
            rows = ((target_ >= low) & (target_ < high)).nonzero()[:, 0]
            if rows.numel() == 0:
                continue
            known += rows.numel()
            scores = self.tail[place](input_.index_select(0, rows)).log_softmax(1)
            wanted = target_.index_select(0, rows) - low
            output = output.index_copy(0, rows, scores.gather(1, wanted.unsqueeze(1)).squeeze(1))
            in_head = in_head.index_fill(0, rows, self.shortlist_size + place)
        if known != target_.shape[0]:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target_.min().item()}, {target_.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(input_), dim=1)
        output = output + head.gather(1, in_head.unsqueeze(1)).squeeze(1)
        return _ASMoutput(output, -output.mean())

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probability of every class: (batch, n_classes)."""
        return self._all(input, self.head(input))

    def _all(self, input: Tensor, head_scores: Tensor) -> Tensor:
        head = F.log_softmax(head_scores, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for place, cluster in enumerate(self.tail):
            share = head[:, self.shortlist_size + place].unsqueeze(1)
            parts.append(F.log_softmax(cluster(input), dim=1) + share)
        return cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The class of highest probability: (batch,). Clusters that win no row are left out."""
        head_scores = self.head(input)
        best = head_scores.argmax(1)
        rows = (best >= self.shortlist_size).nonzero()[:, 0]
        if rows.numel() == 0:
            return best
        scores = self._all(input.index_select(0, rows), head_scores.index_select(0, rows))
        return best.index_copy(0, rows, scores.argmax(1))


def checked(cutoffs: list[int], n_classes: int) -> list[int]:
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    rising = cutoffs == sorted(set(cutoffs)) and all(int(c) == c for c in cutoffs)
    if not rising or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
            "order, where each value is between 1 and n_classes-1"
        )
    return cutoffs


def check_shapes(input: Tensor, target: Tensor) -> None:
    rank = target.dim()
    if rank > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if rank == 1 and input.shape[0] != target.shape[0]:
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.dim() != rank + 1:
        raise RuntimeError(
            f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with size "
            f"{input.size()}"
        )
