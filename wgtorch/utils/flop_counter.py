"""A counter of floating point operations: of products and convolutions, forward and backward.

It stands before the backends, so whatever leads to an op is counted once, and as it is computed.
A multiplication and an addition count as two.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable
from math import prod
from typing import Any, Self

from wgtorch.autograd.mode import state
from wgtorch.backend import Front, put_before
from wgtorch.storage import View
from wgtorch.utils.module_tracker import ROOT, ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

Shape = tuple[int, ...]
Formula = Callable[..., int]  # (*shapes, out_shape=..., **attributes) -> operations


# Formulas


def product(a: Shape, b: Shape, *_: Any, **given: Any) -> int:
    """Of matrices, vectors, or batches of them."""
    rows = a if len(a) > 1 else (1, *a)
    columns = b[-1] if len(b) > 1 else 1
    batch = max(prod(rows[:-2]), prod(b[:-2]))
    return 2 * batch * rows[-2] * rows[-1] * columns


def added(_: Shape, a: Shape, b: Shape, **given: Any) -> int:
    return product(a, b)


def linear(x: Shape, weight: Shape, *_: Any, **given: Any) -> int:
    return 2 * prod(x) * weight[0]


def convolution(x: Shape, weight: Shape, *_: Any, out_shape: Shape, transposed: bool = False,
                **given: Any) -> int:  # fmt: skip
    """The window takes as many steps as its result, or what it spreads, has places."""
    return 2 * x[0] * prod((x if transposed else out_shape)[2:]) * prod(weight)


def convolution_weight(x: Shape, grad: Shape, *, out_shape: Shape, **given: Any) -> int:
    return 2 * x[0] * prod(grad[2:]) * prod(out_shape)


FORMULAS: dict[str, Formula] = {  # by the name of the op that computes it here
    "mm": product, "bmm": product, "_matmul": product, "addmm": added, "baddbmm": added,
    "linear": linear, "convolution": convolution, "_convolution_weight": convolution_weight,
}  # fmt: skip


def counted_as(name: str, shapes: list[Any]) -> str:
    """PyTorch's name of the op that does this."""
    if name == "linear":
        name = "mm" if shapes[2] is None else "addmm"
    if name == "_convolution_weight" or (name == "convolution" and in_formula()):
        name = "convolution_backward"
    return "aten." + {"_matmul": "bmm"}.get(name, name)


def in_formula() -> bool:
    """Whether a gradient is worked out: what a checkpoint runs again is recorded, that is not."""
    return state.task is not None and (state.task.keep_graph or not state.recording)


def register_flop_formula(targets: Any) -> Callable[[Formula], Formula]:
    """Decorates `formula(*shapes, out_shape, **attributes)` of an op, or of several, by name.

    ValueError for what is no name, RuntimeError for an op that has a formula.
    """

    def register(formula: Formula) -> Formula:
        for target in targets if isinstance(targets, list | tuple) else [targets]:
            if not isinstance(target, str):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be the name of an "
                    f"op, got {target} which is of type {type(target)}"
                )
            if plain(target) in FORMULAS:
                raise RuntimeError(f"duplicate registrations for {target}")
            FORMULAS[plain(target)] = formula
        return formula

    return register


def plain(name: str) -> str:
    return name.removeprefix("aten.")


# Counting


class FlopCounterMode:
    """`with FlopCounterMode() as counter:` counts per module and op; the end prints a table.

    `get_total_flops()` is the sum, `get_flop_counts()` {module: {"aten.OP": count}}, in which
    "Global" has all. `custom_mapping` has formulas of further ops by name, and `depth` is how deep
    into modules the table goes. Other ops, elementwise ones among them, count nothing.
    """

    def __init__(self, mods: Any = None, depth: int | None = 2, display: bool = True,
                 custom_mapping: dict[str, Formula] | None = None):  # fmt: skip
        if mods is not None:
            warnings.warn(
                "mods argument is not needed anymore, you can stop passing it", stacklevel=2
            )
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.custom = {plain(name): formula for name, formula in (custom_mapping or {}).items()}
        self.mod_tracker = ModuleTracker()
        self._makers: dict[str, Any] = {}

    def get_total_flops(self) -> int:
        return sum(self.flop_counts[ROOT].values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def count(self, name: str, shapes: list[Any], out_shape: Any, attrs: dict[str, Any]) -> None:
        formula = self.custom.get(name) or FORMULAS.get(name)
        if formula is not None:
            flops = formula(*shapes, out_shape=out_shape, **attrs)
            key = counted_as(name, shapes)
            for parent in self.mod_tracker.parents:
                self.flop_counts[parent][key] += flops

    def __enter__(self) -> Self:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self._undo = put_before(lambda device, home: Counted(home, self))
        return self

    def __exit__(self, *exception: object) -> None:
        self._undo()
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def get_table(self, depth: int | None = None) -> str:
        """Counts and their part of all, by module and op."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        names = sorted(name for name in self.flop_counts if name != ROOT)
        shown = [name for name in names if depth is None or name.count(".") < depth]
        whole = any(sum(self.flop_counts[name].values()) >= total for name in shown)
        above = [] if whole or not total else [(ROOT, 0)]
        rows = [
            row
            for name, level in above + [(n, n.count(".") + len(above)) for n in shown]
            for row in rows_of(name, level, self.flop_counts[name], total)
        ]
        return table(rows or [(ROOT, "0", "0%")])


class Counted(Front):
    """A backend behind a counter."""

    def __init__(self, home: Any, counter: FlopCounterMode):
        super().__init__(home)
        self.counter = counter

    def elementwise(self, typed: Any, args: tuple, attrs: dict[str, Any], out: Any) -> Any:
        shapes = [a.layout.shape if isinstance(a, View) else a for a in args]
        self.counter.count(typed.op.name, shapes, out.shape, attrs)
        return self.home.elementwise(typed, args, attrs, out)

    def reduction(self, fold: Any, source: Any) -> Any:
        self.counter.count(fold.op.name, [fold.layout.shape], fold.out.shape, fold.attrs)
        return self.home.reduction(fold, source)

    def structured(self, call: Any, args: tuple) -> Any:
        shapes = [shape_of(layout) for layout in call.layouts]
        self.counter.count(call.op.name, shapes, call.outs[0].shape, call.attrs)
        return self.home.structured(call, args)


def shape_of(layout: Any) -> Any:
    """Of one input, or of a tuple of them; None for one that is left out."""
    return tuple(map(shape_of, layout)) if type(layout) is tuple else getattr(layout, "shape", None)


# The table

HEAD = ("Module", "FLOP", "% Total")
SUFFIXES = ("", "K", "M", "B", "T")
Row = tuple[str, str, str]


def rows_of(name: str, level: int, counts: dict[str, int], total: int) -> list[Row]:
    step = max(0, min(len(SUFFIXES) - 1, (len(str(total)) - 2) // 3))

    def row(label: str, flops: int) -> Row:
        part = f"{flops / total:.2%}" if total else "0%"
        return " " * level + label, f"{flops / 1000**step:.3f}{SUFFIXES[step]}", part

    below = [row(f" - {op}", flops) for op, flops in counts.items()]
    return [row(name, sum(counts.values())), *below]


def table(rows: list[Row]) -> str:
    widths = [
        max(len(head) + 2, *(len(row[place]) for row in rows)) for place, head in enumerate(HEAD)
    ]
    lines = [HEAD, tuple("-" * width for width in widths), *rows]
    return "\n".join(
        "  ".join([first.ljust(widths[0]), second.rjust(widths[1]), third.rjust(widths[2])])
        for first, second, third in lines
    )
