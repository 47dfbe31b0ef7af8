"""A Recipe is what an op keeps for backward when some of its inputs want a gradient.

This is the one path on which ops are recorded: `remember` before the op runs, `attach` after; or
the recipe's own `record` after, which does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple
from weakref import ref

from wgtorch.autograd.anomaly_mode import ANOMALY, remember_call
from wgtorch.autograd.mode import state
from wgtorch.autograd.node import leaf_of, next_age
from wgtorch.autograd.nodes import refresh
from wgtorch.autograd.recorded import OUT, Recorded, RecordedMany
from wgtorch.autograd.saved import keep
from wgtorch.autograd.written import written
from wgtorch.op import Elementwise, Op, Table, asks
from wgtorch.storage import View

new = object.__new__


class Formula(NamedTuple):
    """How the gradients of one input are computed, or of several that a function `answers` for."""

    function: Callable[..., Any]
    pick: Callable[[list], list]  # its arguments, of all facts of the node
    into: int | None  # the parent that gets what it answers; None: one answer for each member
    members: list[tuple[int, int]]  # (parent, place in the list that the input is)
    facts: list[int]  # what `pick` picks


def picker(places: list[int]) -> Callable[[list], Any]:
    """Picks these places out of a list."""
    if len(places) > 1:
        return itemgetter(*places)
    return itemgetter(slice(places[0], places[0] + 1) if places else slice(0))


class Recipe:
    """Places are those of the inputs, the members of a list of tensors counted one by one."""

    __slots__ = ("_needed", "answer", "asked", "attrs", "dtypes", "formulas", "keeps", "more",
                 "names", "node", "op", "opens", "owed", "places", "plain", "record", "results",
                 "saves", "shapes", "tensors", "turns", "width")  # fmt: skip

    answer: Callable[..., Any]  # (node, grad) -> a gradient for each parent
    record: Callable[..., None]  # (inputs, out, attrs): `record` below

    def __init__(self, op: Op, mask: int, sizes: tuple[int | None, ...] | None = None):
        self.op, self.node, vjp = op, NODES[op], op.vjp
        self.owed = op.owes_vjp and not vjp
        if op.owes_vjp:
            vjp = {n: vjp.get(n) or owed(op, n) for n in op.inputs}
        spans = spans_of(op, sizes)
        self.width = sum(len(span) for span in spans.values())
        wanting = {n: [i for i in spans[n] if mask >> i & 1] for n in op.inputs if n in vjp}
        wanting = {n: places for n, places in wanting.items() if places}
        self.places = [i for places in wanting.values() for i in places]
        single = sizes is None and not any([hasattr(vjp[n], "answers") for n in wanting])
        asked = {n: asks(vjp[n]) for n in wanting}
        self.asked = {ask for formula in vjp.values() for ask in asks(formula)}
        self._plan_facts({ask for every in asked.values() for ask in every})
        self._plan_pasts(spans, sizes)
        place = {name: i for i, name in enumerate(["grad", *self.names])}
        self.formulas = []
        # the first input's comes last: the ops that its gradient goes on to may end that kernel
        met = set()
        for n, places in reversed(wanting.items()):
            if vjp[n] in met:
                continue
            parents = [self.places.index(i) for i in places]
            members = list(zip(parents, [i - spans[n].start for i in places], strict=True))
            into = None if sizes and sizes[op.inputs.index(n)] is not None else parents[0]
            answers = getattr(vjp[n], "answers", ())
            if answers:
                met.add(vjp[n])
                found = [(wanting.get(name), k) for k, name in enumerate(answers)]
                members = [(self.places.index(at[0]), k) for at, k in found if at]
                into = None
            picks = [place[ask] for ask in asked[n]]
            self.formulas.append(Formula(vjp[n], picker(picks), into, members, picks))
        self._needed: dict[tuple[bool, ...], set[int]] = {}
        self.answer, self.record = self.node.answered, partial(record, self)
        if single and self.places and not self.owed and "results" not in self.results:
            self.record, self.answer = written(self, record, self.answer)

    def _plan_facts(self, needed: set[str]) -> None:
        """What is kept, in this order: inputs, shapes, dtypes, attributes, results."""
        op, numbered = self.op, list(enumerate(self.op.inputs))
        self.tensors = [i for i, n in numbered if n in needed]
        self.shapes = [i for i, n in numbered if f"{n}_shape" in needed]
        self.dtypes = [i for i, n in numbered if f"{n}_dtype" in needed]
        self.attrs = [n for n in op.attrs if n in needed]
        outputs = ("result", "results", *getattr(op, "outputs", ()))
        self.results = [n for n in outputs if n in needed and n not in op.inputs]
        self.names = [op.inputs[i] for i in self.tensors]
        self.names += [f"{op.inputs[i]}_shape" for i in self.shapes]
        self.names += [f"{op.inputs[i]}_dtype" for i in self.dtypes]
        self.names += [*self.attrs, *self.results]
        self.saves = bool(self.tensors or self.results)
        numbers = self.attrs if isinstance(op, Elementwise) else ()
        self.turns = op.holomorphic and (self.saves or bool(numbers))
        self.more = bool(self.shapes or self.dtypes or self.attrs)
        self.keeps = bool(self.names)
        self.plain = not self.results and not self.owed  # whether `attach` has nothing to ask

    def _plan_pasts(self, spans: dict[str, range], sizes: tuple[int | None, ...] | None) -> None:
        """Which facts may be tensors, and whose past they have: a parent's, the node's, none.
        Facts are counted from 1, the gradient being number 0."""
        parent = {i: k for k, i in enumerate(self.places)}
        self.opens: list[tuple[int, Any]] = []
        for fact, i in enumerate(self.tensors, 1):
            pasts = [parent.get(place) for place in spans[self.op.inputs[i]]]
            self.opens.append((fact, pasts if sizes and sizes[i] is not None else pasts[0]))
        for fact, name in enumerate(self.results, 1 + len(self.names) - len(self.results)):
            outputs = getattr(self.op, "outputs", ()) or ("result",)
            number = outputs.index(name) if name in outputs else 0
            several = [OUT - i for i in range(len(outputs))]
            self.opens.append((fact, several if name == "results" else OUT - number))

    def add_facts(self, kept: list[Any], inputs: tuple, attrs: dict[str, Any]) -> None:
        """What is kept besides tensors."""
        for i in self.shapes:
            t = inputs[i]
            kept.append(t.layout.shape if isinstance(t, View) else ())
        for i in self.dtypes:
            t = inputs[i]
            kept.append(t.storage.value.dtype if isinstance(t, View) else type(t))
        for name in self.attrs:
            kept.append(attrs[name])

    def needed(self, wanted: list[bool]) -> set[int]:
        """The facts that the gradients of some parents ask for."""
        key = tuple(wanted)
        if key not in self._needed:
            self._needed[key] = {
                fact
                for formula in self.formulas
                if any(wanted[parent] for parent, _ in formula.members)
                for fact in formula.facts
            }
        return self._needed[key]


def owed(op: Op, name: str) -> Callable[[], Any]:
    """Stands for the formula of an input that should have one."""
    whose = f" for {name!r}" if op.vjp else ""
    none = f" (None, if there is no gradient for {name!r})" if op.vjp else ""

    def formula() -> Any:
        raise RuntimeError(
            f"Trying to backward through {op.name} but no autograd formula was registered{whose}."
            f" Please use register_autograd to add one: registry.register_autograd({op.name!r},"
            f" ...), or backward= where the op is declared{none}"
        )

    return formula


def spans_of(op: Op, sizes: tuple[int | None, ...] | None) -> dict[str, range]:
    """The places of each input."""
    spans, at = {}, 0
    for name, size in zip(op.inputs, sizes or (None,) * len(op.inputs), strict=True):
        count = 1 if size is None else size
        spans[name] = range(at, at + count)
        at += count
    return spans


NO_ATTRS: dict[str, Any] = {}
NOTHING: Any = ()  # kept by nodes that keep nothing


def recipes_of(op: Op) -> Table:
    """The recipes of an op, by mask; by mask and sizes where it takes lists of tensors."""
    return Table(lambda key: Recipe(op, *key) if type(key) is tuple else Recipe(op, key))


RECIPES = Table(recipes_of)


def node_class(op: Op) -> type[Recorded]:
    """`MulBackward0` and the like: a class for each op, so that nodes can be told apart."""
    name = "".join(part[:1].upper() + part[1:] for part in op.name.split("_")) + "Backward0"
    kind = RecordedMany if getattr(op, "outputs", ()) else Recorded
    return type(name, (kind,), {"__slots__": (), "__module__": kind.__module__})


NODES = Table(node_class)


def remember(
    op: Op, inputs: tuple, attrs: dict[str, Any], shape: tuple[int, ...], dtype: Any
) -> Recorded | None:
    """The node of an op about to run, complete but for its result; None if nobody wants one."""
    for t in inputs:
        if type(t) is tuple:
            return remember_lists(op, inputs, attrs, shape, dtype)
    return noted(RECIPES[op][mask_of(inputs)], inputs, attrs, shape, dtype)


def mask_of(inputs: Sequence[Any]) -> int:
    """Which inputs want a gradient, a bit for each, after what was written to their memory."""
    mask, bit = 0, 1
    for t in inputs:
        if isinstance(t, View):
            if t.storage.writes:
                if refresh(t):
                    mask |= bit
            elif t._wants:  # type: ignore[attr-defined]
                mask |= bit
        bit += bit
    return mask


def noted(
    recipe: Recipe, inputs: tuple, attrs: dict[str, Any], shape: tuple[int, ...], dtype: Any
) -> Recorded | None:
    """A node by its recipe, with what the inputs have for it."""
    if not recipe.places:
        return None
    parents, numbers = [], None
    for i in recipe.places:
        t = inputs[i]
        parents.append(t.past or leaf_of(t))
        if t.output_nr:
            numbers = tuple([inputs[i].output_nr for i in recipe.places])
    kept: Any = [] if recipe.keeps else NOTHING
    if recipe.tensors:
        pair = state.hooks
        for i in recipe.tensors:
            t = inputs[i]
            if not isinstance(t, View):
                kept.append(t)
            elif pair is None and t.storage.version >= 0:
                kept.append((t.storage.value, t.layout, ref(t)))  # `keep`, without the call
            else:
                kept.append(keep(t, pair, False, recipe.op.name, recipe.op.inputs[i]))
    if recipe.more:
        recipe.add_facts(kept, inputs, attrs)
    node = new(recipe.node)  # and not by a call of the class: this runs once per op
    node.recipe, node.shape, node.dtype, node.kept = recipe, shape, dtype, kept
    node.parents, node.numbers, node.extras, node.age = parents, numbers, None, next_age()
    return node


def remember_lists(
    op: Op, inputs: tuple, attrs: dict[str, Any], shape: tuple[int, ...], dtype: Any
) -> Recorded | None:
    """`remember` for ops that take several tensors as one input."""
    sizes = tuple([len(t) if type(t) is tuple else None for t in inputs])
    flat = [t for given in inputs for t in (given if type(given) is tuple else (given,))]
    mask = sum([1 << i for i, t in enumerate(flat) if isinstance(t, View) and wants(t)])
    recipe = RECIPES[op][mask, sizes]
    if not recipe.places:
        return None
    parents = [flat[i].past or leaf_of(flat[i]) for i in recipe.places]
    numbers = tuple([flat[i].output_nr for i in recipe.places])
    pair = state.hooks

    def each(given: Any, fact: Any) -> Any:
        if type(given) is tuple:
            return [fact(t) for t in given]
        return fact(given) if isinstance(given, View) else given

    kept = [
        each(inputs[i], lambda t, i=i: keep(t, pair, False, op.name, op.inputs[i]))
        for i in recipe.tensors
    ]
    kept += [each(inputs[i], lambda t: t.layout.shape) for i in recipe.shapes]
    kept += [each(inputs[i], lambda t: t.dtype) for i in recipe.dtypes]
    kept += [attrs[name] for name in recipe.attrs]
    return recipe.node(recipe, shape, dtype, parents, numbers if any(numbers) else None, kept)


def wants(t: Any) -> bool:
    return t.requires_grad


def attach(node: Recorded | None, out: Any) -> None:
    """The result gets the node as its past; the node saves the result if a formula asked."""
    if node is None or (node.recipe.owed and node.dtype.category < 2):
        return
    recipe = node.recipe
    if recipe.results:
        node.kept.append(keep(out, state.hooks, True, recipe.op.name, recipe.results[0]))
    out._wants, out.past = True, node
    if ANOMALY.enabled:
        remember_call(node, state.running)


def record(recipe: Recipe, inputs: tuple, out: Any, attrs: dict[str, Any] = NO_ATTRS) -> None:
    """`remember` and `attach` in one, for an op that has run."""
    node = noted(recipe, inputs, attrs, out.layout.shape, out.storage.value.dtype)
    if node is None or not recipe.plain or ANOMALY.enabled:
        attach(node, out)
    else:
        out._wants, out.past = True, node


def attach_many(node: Any, outs: Sequence[Any], differentiable: Sequence[bool]) -> None:
    """`attach` for an op with several results, some of which have no gradient."""
    if not node:
        return
    node.facts = [(out.layout.shape, out.storage.value.dtype) for out in outs]
    if node.recipe.owed:
        differentiable = [dtype.category > 1 for _, dtype in node.facts]
    node.differentiable = tuple(differentiable)
    op = node.recipe.op
    for name in node.recipe.results:
        if name == "results":
            node.kept.append([keep(out, state.hooks, True, op.name, name) for out in outs])
        else:
            number = 0 if name == "result" else op.outputs.index(name)
            node.kept.append(keep(outs[number], state.hooks, True, op.name, name))
    for number, (out, counts) in enumerate(zip(outs, differentiable, strict=True)):
        if counts:
            out._wants, out.past, out.output_nr = True, node, number
    if ANOMALY.enabled:
        remember_call(node, state.running)
