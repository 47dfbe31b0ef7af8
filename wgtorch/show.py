"""Tensors as text, in PyTorch's format. Reads back only what is printed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wgtorch.backend import backend
from wgtorch.dtype import bfloat16, bool_, get_default_dtype, int64
from wgtorch.layout import Layout
from wgtorch.storage import Storage, View


@dataclass(frozen=True)
class Options:
    precision: int = 4  # digits behind the point
    threshold: float = 1000  # elements from which on the middle is left out
    edgeitems: int = 3  # what is shown of each side then
    linewidth: int = 80
    sci_mode: bool | None = None  # None: where it is clearer


PROFILES = {
    "default": Options(),
    "short": Options(precision=2, edgeitems=2),
    "full": Options(threshold=math.inf),
}
options = Options()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """How tensors print; `profile` is "default", "short" or "full"."""
    global options
    if profile is not None:
        if profile not in PROFILES:
            raise ValueError(f"profile must be one of {', '.join(PROFILES)}, got {profile!r}")
        options = PROFILES[profile]
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems,
             "linewidth": linewidth}  # fmt: skip
    known = {name: value for name, value in given.items() if value is not None}
    options = replace(options, **known, sci_mode=sci_mode)  # type: ignore[arg-type]


def get_printoptions() -> dict[str, Any]:
    return dict(vars(options))


def text(x: Any) -> str:
    """`tensor([...], device=..., dtype=..., grad_fn=...)`."""
    if x.device.level >= 1:
        return x.device.backend.shown(x, text)
    prefix = "Parameter containing:\ntensor(" if type(x).__name__ == "Parameter" else "tensor("
    indent = len("tensor(")
    facts = []
    if x.device.type != "cpu":
        facts.append(f"device='{x.device}'")
    dtype, empty = x.dtype, not x.layout.numel
    if x.device.type == "meta":
        body = "..."
        facts.append(f"size={tuple(x.layout.shape)}")
    elif empty:
        body = "[]"
        if len(x.layout.shape) != 1:
            facts.append(f"size={tuple(x.layout.shape)}")
    else:
        body = elements(x, indent)
    natural = (get_default_dtype(), get_default_dtype().to_complex(), int64, bool_)
    if dtype not in natural or (empty and dtype is not get_default_dtype()):
        facts.append(f"dtype={dtype!r}")
    if dtype.encoding is not None:
        facts += dtype.encoding.facts(x)
    past = name_of_past(x)
    if past:
        facts.append(f"grad_fn=<{past}>")
    elif x.requires_grad:
        facts.append("requires_grad=True")
    return prefix + wrapped(body, facts, indent) + ")"


def name_of_past(x: Any) -> str:
    """Of its `grad_fn`; "" for leaves."""
    try:
        return x.grad_fn.name() if x.grad_fn is not None else ""
    except RuntimeError:  # of a view that a write to its base has made useless
        return "Invalid"


def wrapped(body: str, facts: list[str], indent: int) -> str:
    """The facts behind the body, on a new line where the last one is full."""
    line = len(body) - body.rfind("\n") + (indent if "\n" not in body else 0)
    for fact in facts:
        if line + len(fact) + 2 > options.linewidth:
            body += ",\n" + " " * indent + fact
            line = indent + len(fact)
        else:
            body += ", " + fact
            line += len(fact) + 2
    return body


def elements(x: Any, indent: int) -> str:
    summarize = x.layout.numel > options.threshold
    shown = corners(x) if summarize else read(x, x.layout)
    if shown.dtype.kind == "V" or x.dtype is bfloat16:
        shown = shown.astype(np.float32)
    form: Any = Pair(shown) if shown.dtype.kind == "c" else Form(shown)
    if x.dtype.encoding is not None and x.dtype.encoding.display.element is not None:
        form = Words(shown, x.dtype.encoding.text)
    if not shown.ndim:
        return form(shown.item())
    return nested(shown, x.layout.shape, form, indent, summarize)


def read(x: Any, layout: Layout) -> np.ndarray:
    view = View(x.storage, layout)
    home = backend(x.device)
    if layout.numel < x.storage.value.numel // 4 and hasattr(home, "copied"):
        value = home.copied(view)
        held = Storage(value)
        view = View(held, Layout.contiguous(layout.shape))
    return home.download(view)


def corners(x: Any) -> np.ndarray:
    """Only the first and last elements of each long axis: those that are shown."""
    layouts, edge = [x.layout], max(options.edgeitems, 0)
    for d, size in enumerate(x.layout.shape):
        if size > 2 * edge:
            layouts = [
                part
                for layout in layouts
                for part in (layout.slice(d, 0, edge, 1), layout.slice(d, size - edge, edge, 1))
            ]
    blocks = [read(x, layout) for layout in layouts]
    for d in reversed(range(len(x.layout.shape))):
        if x.layout.shape[d] > 2 * edge:
            pairs = zip(blocks[::2], blocks[1::2], strict=True)
            blocks = [np.concatenate(pair, d) for pair in pairs]
    return blocks[0]


class Form:
    """How every element of a tensor is written: all as wide as the widest."""

    def __init__(self, shown: np.ndarray):
        self.floating = shown.dtype.kind == "f"
        self.scientific, self.whole = False, self.floating
        self.width = 1
        flat = shown.reshape(-1)
        if not self.floating:
            self.width = max([self.width, *(len(str(v)) for v in flat.tolist())])
            return
        finite = flat[np.isfinite(flat) & (flat != 0)].astype(np.float64)
        if finite.size:
            self._choose(np.abs(finite), finite)
            self.width = max(len(self.write(v)) for v in finite.tolist())

    def _choose(self, sizes: np.ndarray, finite: np.ndarray) -> None:
        least, most = float(sizes.min()), float(sizes.max())
        self.whole = bool(np.all(finite == np.ceil(finite)))
        self.scientific = most / least > 1000.0 or most > 1e8 or (not self.whole and least < 1e-4)
        if options.sci_mode is not None:
            self.scientific = options.sci_mode

    def write(self, value: Any) -> str:
        if not self.floating:
            return str(value)
        if self.scientific:
            return f"{value:.{options.precision}e}"
        if self.whole:
            return f"{value:.0f}." if math.isfinite(value) else str(value)
        return f"{value:.{options.precision}f}"

    def __call__(self, value: Any) -> str:
        return self.write(value).rjust(self.width)


class Pair:
    """How complex numbers are written: each part as its like are."""

    def __init__(self, shown: np.ndarray):
        self.real, self.imag = Form(shown.real), Form(shown.imag)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: complex) -> str:
        imaginary = self.imag(value.imag).lstrip() + "j"
        sign = "" if imaginary[0] in "+-" else "+"
        return self.real(value.real) + sign + imaginary


class Words:
    """How a dtype of a user has its elements written."""

    def __init__(self, shown: np.ndarray, write: Callable[[Any], str]):
        self.write = write
        self.width = max([len(write(v)) for v in shown.reshape(-1).tolist()], default=1)

    def __call__(self, value: Any) -> str:
        return self.write(value).rjust(self.width)


def nested(
    shown, shape: tuple[int, ...], form: Form | Pair | Words, indent: int, summarize: bool
) -> str:
    edge = max(options.edgeitems, 0)
    cut = summarize and shape[0] > 2 * edge
    if len(shape) == 1:
        return row([form(v) for v in shown.tolist()], cut, form.width, indent)
    rows = [nested(part, shape[1:], form, indent + 1, summarize) for part in shown]
    if cut:
        rows = [*rows[:edge], "...", *rows[edge:]]
    return (
        "["
        + (",\n" * (len(shape) - 1) + " " * (indent + 1))
        .join(rows[:1] + rows[1:])
        .replace(",\n" * (len(shape) - 1), "," + "\n" * (len(shape) - 1))
        + "]"
    )


def row(words: list[str], cut: bool, width: int, indent: int) -> str:
    edge = max(options.edgeitems, 0)
    if cut:
        words = [*words[:edge], " ...", *words[edge:]]
    per_line = max(1, (options.linewidth - indent) // (width + 2))
    lines = [words[k : k + per_line] for k in range(0, len(words), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(", ".join(line) for line in lines) + "]"
