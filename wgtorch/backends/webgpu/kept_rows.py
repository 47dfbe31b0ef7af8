"""Kept rows are read once: each thread has its steps of a row in registers, as far as they fit.

Registers have no numbers that a loop could count, so the loops of a row's shader are written out:
`for (...; k < count; k++)` step by step, and a loop of turns, of which there is one, as its body.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from wgtorch.backends.webgpu.folding import MAX_GROUPS, WANTED, Share, power_above, power_below
from wgtorch.backends.webgpu.walks import Place, Walk

if TYPE_CHECKING:
    from wgtorch.backends.webgpu.adapter import Traits

FILE = "rows_kept.wgsl"
MOST, MOST_ELSEWHERE = 16, 8  # quads that a thread of a discrete GPU keeps, of another one
COUNTED = "let count = steps();"
TURNS = re.compile(r"for \(var k = 0u; k < count;\) \{\s*let stop = turn_end\(k, count\);")
STEPS = re.compile(r"for \((?:var k = 0u)?; k < (?:count|stop); k\+\+\) \{")
STEP = re.compile(r"\bk\b")
LOOP = re.compile(r"\b(?:for|while|loop|stop)\b|k\+\+")


class Kept(NamedTuple):
    names: tuple[str, ...]  # of the inputs
    steps: int  # of each thread
    is_even: bool  # whether all threads have as many


def kept_share(
    body: str, inputs: list[str], way: Walk, traits: Traits
) -> tuple[Kept, Share] | None:
    """Which inputs of a row's shader to keep, and how threads share rows; None where that does
    not fit, or nothing is read twice."""
    if traits.is_software or traits.compiles_slowly or way.quads != "along" or way.outer != 1:
        return None
    places = [way.places[way.which[n]] for n in range(len(inputs))]
    names = [n for n, place in zip(inputs, places, strict=True) if is_worth_it(body, n, place)]
    quads = way.cols // 4
    most = (MOST if traits.kind == "discrete" else MOST_ELSEWHERE) // max(len(names), 1)
    wanted = max(lanes_wanted(quads, way.units), power_above(-(-quads // most)))
    lanes = min(256, power_below(quads), wanted)
    steps = -(-quads // lanes)
    if not names or lanes == 1 or steps > most or written_out(body, 1) is None:
        return None
    group = max(lanes, 64)
    side = group // lanes
    constants: dict[str, int | bool] = {"LANES": lanes, "SIDE": side, "GROUP": group}
    groups = (min(-(-way.units // side), MAX_GROUPS), 1, 1)
    kept = Kept(tuple(names), steps, steps * lanes == quads)
    return kept, Share(FILE, constants, groups, 1, quads)


def lanes_wanted(quads: int, rows: int) -> int:
    """Eight quads for each thread were found best on an H200, four where rows are short: what
    threads tell each other is dear; and where rows are few, as many threads as keep it busy."""
    by_length = max(power_below(quads // 8), min(64, power_below(quads // 4)))
    return max(by_length, power_below(WANTED // max(rows, 1)))


def is_worth_it(body: str, name: str, place: Place) -> bool:
    """Whether an input is read more than once; what all rows share, caches have."""
    reads = re.findall(rf"\b{name}_get\(row, k\)", body)
    return len(reads) > 1 and any(place.rows)


def kept_body(body: str, kept: Kept) -> str:
    """The shader, its loops written out, what it reads of kept inputs read at the start."""
    text = written_out(body, kept.steps, kept.is_even) or body
    reads = []
    for name in kept.names:
        text = re.sub(rf"\b{name}_get\(row, (\d+)u\)", rf"{name}_\1", text)
        for k in range(kept.steps):
            last = not kept.is_even and k == kept.steps - 1  # some threads have it not
            at = f"min({k}u, count - 1u)" if last else f"{k}u"
            reads.append(f"let {name}_{k} = {name}_get(row, {at});")
    return text.replace(COUNTED, "\n    ".join([COUNTED, *reads]), 1)


def written_out(body: str, count: int, is_even: bool = True) -> str | None:
    """`body` without loops; None where it has others than those of rows."""
    text = TURNS.sub("{", body)
    parts = []
    while found := STEPS.search(text):
        end = closing(text, found.end())
        inside = text[found.end() : end]
        blocks = [f"{{{STEP.sub(f'{k}u', inside)}}}" for k in range(count)]
        if not is_even:
            blocks[-1] = f"if {count - 1}u < count {blocks[-1]}"
        before = text[: found.start()]
        indent = "\n" + " " * (len(before) - len(before.rstrip(" ")))
        parts += [before, indent.join(blocks)]
        text = text[end + 1 :]
    whole = "".join([*parts, text])
    code = re.sub(r"//[^\n]*", "", whole)
    return None if LOOP.search(code) or code.count(COUNTED) != 1 else whole


def closing(text: str, start: int) -> int:
    """Where the brace closes that was opened before `start`."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if not depth:
            return place
    return len(text)
