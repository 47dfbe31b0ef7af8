"""A Recipe written out: two functions that do straight away what `noted`, `attach` and
`Recorded.answered` find out by walking it, which takes longer.

They know the usual call. Where saved-tensor hooks or anomaly mode are on, or what was kept is not
as it was, they hand over to those.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from weakref import ref

from wgtorch.autograd import saved
from wgtorch.autograd.anomaly_mode import ANOMALY
from wgtorch.autograd.mode import state
from wgtorch.autograd.node import leaf_of, next_age
from wgtorch.storage import View

FILE = str(Path(__file__).with_name("<recipe>"))  # the library's own, to who asks who called it
NAMES = {"__name__": __name__, "View": View, "state": state, "ANOMALY": ANOMALY,
         "leaf_of": leaf_of, "ref": ref, "next_age": next_age, "new": object.__new__,
         "Packed": saved.Packed, "FREED": saved.FREED}  # fmt: skip


def written(recipe: Any, walk_forward: Callable, walk_back: Callable) -> tuple[Callable, Callable]:
    """(record(inputs, out, attrs), answer(node, grad)) of a recipe of single tensors, where each
    formula answers for one."""
    names = {**NAMES, "RECIPE": recipe, "NODE": recipe.node, "made": saved.made,
             "walk_forward": walk_forward, "walk_back": walk_back}  # fmt: skip
    names |= {f"formula{n}": formula.function for n, formula in enumerate(recipe.formulas)}
    exec(compiled("\n".join([*recording(recipe), *answering(recipe)])), names)
    return names["record"], names["answer"]


@cache
def compiled(text: str) -> Any:
    """Few texts serve all recipes: they say nothing of the op."""
    return compile(text, FILE, "exec")


def recording(recipe: Any) -> list[str]:
    """The text of `record`."""

    def either(i: int, tensor: str, number: str) -> str:
        """What is said of an input that is a tensor, and of one that is a number."""
        known = i in recipe.places
        return tensor if known else f"({tensor} if isinstance(t{i}, View) else {number})"

    given = sorted({*recipe.places, *recipe.tensors, *recipe.shapes, *recipe.dtypes})
    unusual = ["ANOMALY.enabled"]
    if recipe.tensors or recipe.results:
        unusual.append("state.hooks is not None")
    unusual += [either(i, f"t{i}.storage.version < 0", "False") for i in recipe.tensors]
    kept = [either(i, snapshot(f"t{i}"), f"t{i}") for i in recipe.tensors]
    kept += [either(i, f"t{i}.layout.shape", "()") for i in recipe.shapes]
    kept += [either(i, f"t{i}.storage.value.dtype", f"type(t{i})") for i in recipe.dtypes]
    kept += [f"attrs[{name!r}]" for name in recipe.attrs]
    kept += [snapshot("out") for _ in recipe.results]
    held = f"[{', '.join(kept)}]" if kept else "()"
    parents = [f"t{i}.past or leaf_of(t{i})" for i in recipe.places]
    numbers = [f"t{i}.output_nr" for i in recipe.places]
    return [
        "def record(inputs, out, attrs={}):",
        *[f"    t{i} = inputs[{i}]" for i in given],
        f"    if {' or '.join(unusual)}:",
        "        return walk_forward(RECIPE, inputs, out, attrs)",
        "    node = new(NODE)",
        "    node.recipe, node.extras, node.age = RECIPE, None, next_age()",
        "    node.shape, node.dtype = out.layout.shape, out.storage.value.dtype",
        f"    node.kept = {held}",
        f"    node.parents = {listed(parents)}",
        f"    node.numbers = {listed(numbers)} if {' or '.join(numbers)} else None",
        "    out._wants, out.past = True, node",
    ]


def answering(recipe: Any) -> list[str]:
    """The text of `answer`."""
    count = len(recipe.names)
    facts = [f"x{n}" for n in range(1, count + 1)]
    lines = ["def answer(node, grad):"]
    if recipe.turns:
        lines += ["    if node.dtype.category == 3:", "        return walk_back(node, grad)"]
    if recipe.saves:
        lines += ["    if node.kept is None:", "        raise RuntimeError(FREED)"]
    if facts:
        lines.append(f"    {', '.join(facts)}, = node.kept")
    for x in [f"x{fact}" for fact, _ in recipe.opens]:
        lines += [
            f"    if type({x}) is tuple:",
            f"        value, layout, origin = {x}",
            f"        {x} = t = origin()",
            "        if t is None or t.layout is not layout or t.storage.value is not value:",
            f"            {x} = made(value, layout)",
            f"    elif type({x}) is Packed:",
            "        return walk_back(node, grad)",
        ]
    answers = {}
    for n, formula in enumerate(recipe.formulas):
        picked = ["grad" if fact == 0 else f"x{fact}" for fact in formula.facts]
        lines.append(f"    answer{n} = formula{n}({', '.join(picked)})")
        answers[formula.into] = f"answer{n}"
    return [*lines, f"    return {listed([answers[n] for n in range(len(recipe.places))])}"]


def snapshot(name: str) -> str:
    """As `keep` makes one."""
    return f"({name}.storage.value, {name}.layout, ref({name}))"


def listed(items: list[str]) -> str:
    return f"({', '.join(items)},)"
