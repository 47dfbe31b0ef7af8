"""Recorded: the node of an op. It has the formulas backward will run, and what they asked for."""

from __future__ import annotations

from typing import Any

from wgtorch.autograd.mode import state
from wgtorch.autograd.node import Node, next_age
from wgtorch.autograd.saved import FREED, Packed, Slot, rooted, unrooted
from wgtorch.autograd.saved_tensor import SavedTensor

OUT = -1  # in place of a parent: the first output of the node itself; -2 the second, and so on
NAMES = {"self": "input", "self_sizes": "input_shape", "self_sym_sizes": "input_shape"}


class Recorded(Node):
    """One op. `kept` is what its recipe says, and None once that was let go."""

    __slots__ = ("kept", "recipe")
    differentiable: tuple[bool, ...] = (True,)  # which outputs have a gradient

    def __init__(self, recipe: Any, shape: Any, dtype: Any, parents: Any, numbers: Any, kept: Any):
        # not super(): this runs once per op
        self.recipe, self.shape, self.dtype, self.kept = recipe, shape, dtype, kept
        self.parents, self.numbers, self.extras = parents, numbers, None
        self.age = next_age()

    def release(self) -> None:
        if self.recipe.saves:
            self.kept = None

    def run(self, grad: Any, wanted: list[bool] | None) -> Any:
        if grad is None:
            return [None] * len(self.parents)
        if wanted is None and not state.recording:
            return self.recipe.answer(self, grad)
        return self.answered(grad, wanted)

    def answered(self, grad: Any, wanted: list[bool] | None = None) -> Any:
        """What the formulas say."""
        recipe = self.recipe
        if self.kept is None:
            raise RuntimeError(FREED)
        # what a function of real numbers owes, conjugated on the way in and out, is what one of
        # complex numbers owes
        turns = recipe.turns and self.dtype.category == 3
        facts = [conjugate(grad) if turns else grad, *self.kept]
        if recipe.opens:
            needed = None if wanted is None else recipe.needed(wanted)
            with_past = state.recording
            for fact, past in recipe.opens:
                kept = facts[fact]
                if type(kept) is tuple and not with_past:
                    facts[fact] = unrooted(kept)
                elif needed is None or fact in needed:
                    facts[fact] = self._opened(kept, past, fact, with_past)
        grads = [None] * len(self.parents)
        for function, pick, into, members, _ in recipe.formulas:
            if wanted is not None and not any([wanted[parent] for parent, _ in members]):
                continue
            answer = function(*pick(facts))
            if turns:
                answer = conjugate(answer)
            if into is not None:
                grads[into] = answer
            elif answer is not None:
                for parent, member in members:
                    grads[parent] = answer[member]
        return grads

    def _opened(self, kept: Any, past: Any, fact: int, with_past: bool) -> Any:
        if type(kept) is list:
            pairs = zip(kept, past, strict=True)
            return tuple([self._one(k, p, fact, with_past) for k, p in pairs])
        return self._one(kept, past, fact, with_past)

    def _one(self, kept: Any, past: int | None, fact: int, with_past: bool) -> Any:
        if type(kept) is tuple:
            if not with_past:
                return unrooted(kept)
        elif type(kept) is not Packed:
            return kept
        where = Slot(self, self.recipe.names[fact - 1])
        if not with_past:
            return kept.opened(where)
        if past is None:
            return rooted(kept, where, None)
        if past < 0:
            number = OUT - past
            own = self if self.differentiable[number] else None
            return rooted(kept, where, own, number, result=True)
        return rooted(kept, where, self.parents[past], self.numbers[past] if self.numbers else 0)

    # What users see

    def edges(self) -> list[tuple[Node | None, int]]:
        edges: list[tuple[Node | None, int]] = [(None, 0)] * self.recipe.width
        numbers = self.numbers or (0,) * len(self.parents)
        for place, edge in zip(self.recipe.places, zip(self.parents, numbers, strict=True),
                               strict=True):  # fmt: skip
            edges[place] = edge
        return edges

    def places(self) -> list[int]:
        return self.recipe.places

    def __getattr__(self, name: str) -> Any:
        raw = name.startswith("_raw_saved_")
        if not raw and not name.startswith("_saved_"):
            raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")
        asked = name.removeprefix("_raw_saved_" if raw else "_saved_")
        asked = NAMES.get(asked, asked)
        if asked not in self.recipe.asked:
            raise AttributeError(f"'{self.name()}' saves no '{asked}' (asked as {name})")
        if self.kept is None:
            raise RuntimeError(FREED)
        fact = self.recipe.names.index(asked) if asked in self.recipe.names else None
        if raw:
            return SavedTensor._of(self, fact)
        return None if fact is None else self.saved_at(fact)

    # For SavedTensor

    def slot_at(self, fact: int) -> Any:
        if self.kept is None:
            raise RuntimeError(FREED)
        return self.kept[fact]

    def pack_at(self, fact: int, packed: Packed) -> None:
        self.kept[fact] = packed

    def saved_at(self, fact: int) -> Any:
        """The fact as users see it: a tensor with its past."""
        kept = self.slot_at(fact)
        for opened, past in self.recipe.opens:
            if opened == fact + 1:
                return self._opened(kept, past, opened, True)
        return kept

    def name_at(self, fact: int) -> str:
        return self.recipe.names[fact]

    def is_output_at(self, fact: int) -> bool:
        return self.recipe.names[fact] in self.recipe.results

    def disown(self, storage: Any) -> None:
        for kept in self.kept or ():
            if type(kept) is Packed:
                kept.disown(storage)


def conjugate(grad: Any) -> Any:
    """Of a gradient, or of each of several."""
    if grad is None:
        return None
    return tuple([conjugate(g) for g in grad]) if isinstance(grad, tuple | list) else grad.conj()


class RecordedMany(Recorded):
    """An op with several results. `grad` of its formulas is the first result's gradient, or a
    tuple of all gradients where several results are differentiable."""

    __slots__ = ("differentiable", "facts")

    @property
    def outputs(self) -> int:  # type: ignore[override]
        return len(self.facts)

    def facts_of(self, number: int) -> tuple[tuple[int, ...], Any]:
        return self.facts[number]

    def run(self, grad: Any, wanted: list[bool] | None) -> list[Any]:
        given = [g for g, counts in zip(grad, self.differentiable, strict=True) if counts]
        if all(g is None for g in given):
            return [None] * len(self.parents)
        return super().run(given[0] if len(given) == 1 else tuple(given), wanted)
