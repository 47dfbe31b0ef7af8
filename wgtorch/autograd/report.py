"""A report of saved tensors: every slot of a graph, what it holds, and where that waits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from wgtorch.autograd.contents import Holding, holdings, parts_of
from wgtorch.autograd.ledger import PLACES
from wgtorch.autograd.node import Node
from wgtorch.autograd.parameters import is_parameter_memory, parameter_of
from wgtorch.autograd.saved import Packed, unrooted
from wgtorch.lazy import Lazy
from wgtorch.storage import View, memory_of

pyplot = Lazy("matplotlib.pyplot", "plots")
HEAD = ("op", "slot", "shape", "dtype", "bytes", "where", "held", "alias")


@dataclass(frozen=True)
class Row:
    """One slot of one node."""

    op: str
    slot: str
    shape: tuple[int, ...]
    dtype: Any
    device: Any  # of the tensor, wherever it waits
    nbytes: int  # of the tensor
    where: str  # device, host, disk, compressed, recompute, parameter ... or what a hook says
    alias: int  # slots with the same number share memory
    holdings: tuple[Holding, ...] = field(repr=False)

    @property
    def held(self) -> int:
        """Bytes that the slot keeps alive; those it shares with others are in each of them."""
        return sum(nbytes for _, _, nbytes in self.holdings)

    def cells(self) -> tuple[str, ...]:
        dtype = str(self.dtype).removeprefix("torch.")
        return (
            self.op, self.slot, str(list(self.shape)), dtype, f"{self.nbytes:,}", self.where,
            f"{self.held:,}", str(self.alias),
        )  # fmt: skip


class SavedTensorReport(Sequence):
    """The rows in the order of forward. Printed, a table; `bytes_in(place)` adds up a place."""

    def __init__(self, rows: list[Row]):
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        return self.rows[place]

    def bytes_in(self, place: str) -> int:
        """Bytes held on "device", "host" or "disk", each memory once, parameters' not at all."""
        if place not in PLACES:
            raise ValueError(f"bytes_in: place is one of {', '.join(PLACES)}; got {place!r}")
        found = {(at, key): n for row in self.rows for at, key, n in row.holdings}
        return sum(nbytes for (at, _), nbytes in found.items() if at == place)

    @property
    def nbytes(self) -> int:
        """Bytes of the saved tensors, as if each slot were alone."""
        return sum(row.nbytes for row in self.rows)

    def by(self, key: Callable[[Row], Any]) -> dict[Any, SavedTensorReport]:
        """Rows in groups: `report.by(lambda row: row.op)`."""
        groups: dict[Any, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(key(row), []).append(row)
        return {name: SavedTensorReport(rows) for name, rows in groups.items()}

    def table(self, row_limit: int | None = None) -> str:
        """As text, the first rows of forward first."""
        shown = [HEAD, *[row.cells() for row in self.rows[:row_limit]]]
        widths = [max(len(cells[i]) for cells in shown) for i in range(len(HEAD))]
        lines = [
            "  ".join(
                c.rjust(w) if HEAD[i] in ("bytes", "held", "alias") else c.ljust(w)
                for i, (c, w) in enumerate(zip(cells, widths, strict=True))
            )
            for cells in shown
        ]
        lines.insert(1, "-" * len(lines[0]))
        if len(shown) <= len(self.rows):
            lines.append(f"... {len(self.rows) + 1 - len(shown)} more")
        places = ", ".join(f"{self.bytes_in(place):,} on {place}" for place in PLACES)
        lines.append(f"{len(self.rows)} slots of {self.nbytes:,} bytes; held: {places}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<SavedTensorReport of {len(self.rows)} slots, {self.nbytes:,} bytes>"


def saved_tensor_report(outputs: Any) -> SavedTensorReport:
    """What the graph behind a tensor (or several) keeps for backward, slot by slot.

    Looks without unpacking anything. In the sums, memory of live parameters does not count: it is
    there anyway.
    """
    tensors: list[Any] = [outputs] if isinstance(outputs, View) else list(outputs)
    roots = [t.grad_fn for t in tensors]
    groups: dict[Any, int] = {}
    rows = [row_of(*slot, groups) for node in nodes_from(roots) for slot in slots_of(node)]
    return SavedTensorReport(rows)


def nodes_from(roots: Iterable[Node | None]) -> list[Node]:
    """All nodes that lead to these, in the order of forward."""
    found: list[Node] = [root for root in dict.fromkeys(roots) if root is not None]
    seen = set(found)
    for node in found:  # grows as it is walked
        for parent in node.parents:
            if parent not in seen:
                seen.add(parent)
                found.append(parent)
    return sorted(found, key=lambda node: node.age)


def slots_of(node: Node) -> Iterator[tuple[str, str, Any]]:
    """(op, slot, what is kept there) of every tensor that the node saves."""
    recipe = getattr(node, "recipe", None)
    kept = getattr(node, "kept", None) if recipe is not None else getattr(node, "_slots", None)
    op = node.name() if recipe is None else recipe.op.name.strip("_")
    for i, slot in enumerate(kept or ()):
        name = node.name_at(i)  # type: ignore[attr-defined]
        for j, each in enumerate(slot if type(slot) is list else (slot,)):
            if is_kept(each):
                yield op, f"{name}[{j}]" if type(slot) is list else name, each


def is_kept(slot: Any) -> bool:
    """Whether it is a saved tensor, and no size or number."""
    return type(slot) is Packed or (type(slot) is tuple and len(slot) == 3 and callable(slot[2]))


def row_of(op: str, slot: str, kept: Any, groups: dict[Any, int]) -> Row:
    if type(kept) is Packed:
        layout, dtype, device, packed = kept.layout, kept.dtype, kept.device, kept.packed
    else:
        value, layout, _ = kept
        packed = parameter_of(value)  # of which a view may be gone
        packed = unrooted(kept) if packed is None else packed
        dtype, device = value.dtype, value.device
    held = tuple(holdings(packed))
    where = None if isinstance(packed, View) else getattr(packed, "place", None)
    if not isinstance(where, str):
        parts = [packed] if isinstance(packed, View) else parts_of(packed)
        shared = any([isinstance(p, View) and is_parameter_memory(p) for p in parts])
        places = "+".join(sorted({at for at, _, _ in held}))
        where = places or ("parameter" if shared else "nowhere")
    nbytes = math.prod(layout.shape) * dtype.itemsize
    largest = max(held, key=lambda h: h[2], default=("", id(packed), 0))[1]
    if isinstance(packed, View):
        largest = id(memory_of(packed.storage).value)
    alias = groups.setdefault(largest, len(groups))
    return Row(op, slot, layout.shape, dtype, device, nbytes, where, alias, held)


def plot_saved_tensors(report: Any, path: Any = None) -> Any:
    """Draws where the memory of a step is: bytes of each slot in the order of forward, by place.

    Takes a report, or the tensors of one. Returns matplotlib's figure; `path` also writes it.
    """
    if not isinstance(report, SavedTensorReport):
        report = saved_tensor_report(report)
    figure, axes = pyplot.subplots(figsize=(10, 2 + 0.22 * len(report)), layout="constrained")
    names = [f"{row.op}.{row.slot} {list(row.shape)}" for row in report]
    for where, rows in report.by(lambda row: row.where).items():
        places = [i for i, row in enumerate(report) if row.where == where]
        axes.barh(places, [row.held / 1024 for row in rows], label=where)
    axes.barh(range(len(report)), [row.nbytes / 1024 for row in report], fill=False,
              edgecolor="grey", linewidth=0.5, label="the tensor itself")  # fmt: skip
    axes.set_yticks(range(len(report)), names, fontsize=7)
    axes.invert_yaxis()
    axes.set(xlabel="KiB", title="Saved for backward, in the order of forward")
    axes.legend()
    if path is not None:
        figure.savefig(path, dpi=120)
        pyplot.close(figure)
    return figure
