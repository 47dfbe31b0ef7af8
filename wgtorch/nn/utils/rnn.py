"""Sequences of several lengths: padded to one tensor, or packed step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import wgtorch
from wgtorch import Tensor
from wgtorch.dispatch.blame import blaming


class PackedSequence(NamedTuple):
    """The rows of all sequences that are not over, for each step; longest sequence first.

    `data` (rows, ...), `batch_sizes` (steps,) int64 on the cpu; `sorted_indices` says which
    sequence is where, `unsorted_indices` where each went; both None if nothing was moved.
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def to(self, *args: Any, **given: Any) -> PackedSequence:
        data = self.data.to(*args, **given)
        indices = [i if i is None else i.to(data.device) for i in self[2:]]
        return PackedSequence(data, self.batch_sizes, *indices)

    def cpu(self) -> PackedSequence:
        return self.to("cpu")

    def cuda(self, device: Any = None) -> PackedSequence:
        """On the default GPU, which is a webgpu device."""
        return self.to("webgpu" if device is None else device)

    def double(self) -> PackedSequence:
        return self.to(wgtorch.float64)

    def float(self) -> PackedSequence:
        return self.to(wgtorch.float32)

    def half(self) -> PackedSequence:
        return self.to(wgtorch.float16)

    def long(self) -> PackedSequence:
        return self.to(wgtorch.int64)

    def int(self) -> PackedSequence:
        return self.to(wgtorch.int32)

    def pin_memory(self) -> PackedSequence:
        """Itself: host memory is pinned where it helps."""
        return self

    @property
    def is_cuda(self) -> bool:
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Where each place went."""
    return None if permutation is None else permutation.argsort()


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs (L, N, ...) (or (N, L, ...)), whose sequences have the given lengths."""
    sequence = input.transpose(0, 1) if batch_first else input
    lengths = wgtorch.as_tensor(lengths).to(wgtorch.int64)
    if lengths.ndim != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.ndim}D"
            f" {lengths.device} Long tensor"
        )
    sizes = lengths.tolist()
    if len(sizes) != sequence.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)}"
            f" (batch_size={sequence.shape[1]})"
        )
    if not sizes or min(sizes) <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in"
                           " 'lengths' that is <= 0")  # fmt: skip
    order = None
    if enforce_sorted:
        if any(a < b for a, b in pairwise(sizes)):
            raise RuntimeError(
                "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True."
                " You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence"
                " to sidestep this requirement if you do not need ONNX exportability."
            )
    else:
        ranked = sorted(range(len(sizes)), key=lambda k: -sizes[k])
        order = wgtorch.tensor(ranked, device=input.device)
        sequence, sizes = sequence.index_select(1, order), [sizes[k] for k in ranked]
    counts = [sum(n > step for n in sizes) for step in range(sizes[0])]
    data = wgtorch.cat([sequence[step, :count] for step, count in enumerate(counts)])
    return PackedSequence(data, wgtorch.tensor(counts), order, invert_permutation(order))


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """((L, N, ...), lengths): the opposite of `pack_padded_sequence`."""
    counts = sequence.batch_sizes.tolist()
    length = len(counts) if total_length is None else total_length
    if length < len(counts):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but"
            f" got total_length={length} and max sequence length being {len(counts)}"
        )
    batch, rest = counts[0], tuple(sequence.data.shape[1:])
    rows = []
    for part in sequence.data.split(counts):
        missing = batch - part.shape[0]
        fill = part.new_full((missing, *rest), padding_value)
        rows.append(wgtorch.cat((part, fill)) if missing else part)
    rows += [sequence.data.new_full((batch, *rest), padding_value)] * (length - len(counts))
    out = wgtorch.stack(rows)
    lengths = wgtorch.tensor([sum(c > k for c in counts) for k in range(batch)])
    if sequence.unsorted_indices is not None:
        out = out.index_select(1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.cpu()]
    return out.transpose(0, 1) if batch_first else out, lengths


def pad_sequence(
    sequences: Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences (length, ...) as one tensor (longest, N, ...), filled up on a side."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type:"
            f" {type(sequences)}"
        )
    parts: list[Tensor] = list(sequences)
    if not parts:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    longest = max(p.size(0) for p in parts)
    padded = []
    for part in parts:
        fill = part.new_full((longest - part.shape[0], *part.shape[1:]), padding_value)
        both = (part, fill) if padding_side == "right" else (fill, part)
        padded.append(wgtorch.cat(both) if fill.shape[0] else part)
    return wgtorch.stack(padded, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences without their filling."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: max(n, 0)] for row, n in zip(rows.unbind(0), lengths.tolist(), strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences (length, ...)."""
    lengths = [s.size(0) for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, False, enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


for _name in ("pack_padded_sequence", "pad_packed_sequence", "pad_sequence", "unpad_sequence",
              "pack_sequence", "unpack_sequence"):  # fmt: skip
    globals()[_name] = blaming(globals()[_name], __name__)
