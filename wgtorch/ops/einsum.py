"""Sums of products by equation: `einsum`, planned once for an equation and the shapes it meets.

Two operands at a time are multiplied, in the order that numpy's planner finds cheapest. Such a
pair becomes one batched matrix product: what both have and keep is its batch, what both have and
lose is summed.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from wgtorch.errors import (
    EinsumError,
    EinsumSublistError,
    EinsumSubscriptError,
    format_equation_error,
)
from wgtorch.op import composite
from wgtorch.ops.arguments import no_element
from wgtorch.ops.samples import normal
from wgtorch.storage import View

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
DOTS = "..."
PLANS = 256  # equations, and equations with shapes, that are remembered


class Equation(NamedTuple):
    """Subscripts, letter by letter; `...` is one of them."""

    operands: tuple[tuple[str, ...], ...]
    output: tuple[str, ...] | None  # None: what appears once, in order


def wrong(text: str) -> EinsumError:
    return EinsumError(f"einsum(): {text}")


# Reading an equation


@lru_cache(PLANS)
def parsed(equation: str) -> Equation:
    left, arrow, right = equation.partition("->")
    operands, start = [], 0
    for place, term in enumerate(left.split(",")):
        operands.append(subscripts(term, start, f"operand {place}", equation))
        start += len(term) + 1
    if not arrow:
        return Equation(tuple(operands), None)
    output = subscripts(right, len(left) + 2, "output", equation)
    check_output(output, operands)
    return Equation(tuple(operands), output)


def subscripts(term: str, start: int, who: str, equation: str) -> tuple[str, ...]:
    """The letters of one operand, or of the output."""
    found: list[str] = []
    place = 0
    while place < len(term):
        letter = term[place]
        if letter == ".":
            dots = " (...)" if who == "output" else ""
            if DOTS in found:
                known = "but an ellipsis (...) was" if dots else "for which an ellipsis was"
                raise wrong(f"found '.' for {who} {known} already found")
            if term[place : place + 3] != DOTS:
                raise wrong(f"found '.' for {who} that is not part of any ellipsis{dots}")
            found.append(DOTS)
            place += 2
        elif letter in LETTERS:
            found.append(letter)
        elif not letter.isspace():
            what = (
                f"invalid subscript given at index {start + place} in the equation string,"
                " subscripts must be in [a-zA-Z]"
            )
            raise wrong(format_equation_error(equation, start + place, what))
        place += 1
    return tuple(found)


def check_output(output: tuple[str, ...], operands: list[tuple[str, ...]]) -> None:
    known = {letter for term in operands for letter in term}
    for place, letter in enumerate(output):
        if letter == DOTS:
            continue
        if letter in output[:place]:
            raise wrong(f"output subscript {letter} appears more than once in the output")
        if letter not in known:
            raise wrong(
                f"output subscript {letter} does not appear in the equation for any input operand"
            )


def from_sublists(args: tuple) -> tuple[Equation, tuple]:
    """`einsum(a, [0, 1], b, [1, 2], [0, 2])`."""
    operands, terms = args[0 : len(args) - len(args) % 2 : 2], args[1::2]
    output = letters_of(args[-1]) if len(args) % 2 else None
    equation = Equation(tuple(letters_of(term) for term in terms), output)
    if output is not None:
        check_output(output, list(equation.operands))
    return equation, operands


def letters_of(sublist: Any) -> tuple[str, ...]:
    found = []
    for element in sublist:
        if element is Ellipsis:
            found.append(DOTS)
        elif not isinstance(element, int) or isinstance(element, bool):
            raise EinsumSublistError(
                f"einsum(): a subscript list holds ints and Ellipsis, not {element!r}"
                f" ({type(element).__name__})"
            )
        elif not 0 <= element < len(LETTERS):
            raise EinsumSubscriptError(
                "einsum(): subscript in subscript list is not within the valid range [0, 52)"
            )
        else:
            found.append(LETTERS[element])
    return tuple(found)


# From letters to dimensions


class Plan(NamedTuple):
    """What to do for operands of given shapes."""

    terms: tuple[tuple[Any, ...], ...]  # a label for each dimension; of an ellipsis a number
    output: tuple[Any, ...]
    path: tuple[tuple[int, ...], ...]  # which operands to take next; the product goes to the end


@lru_cache(PLANS)
def planned(equation: Equation, shapes: tuple[tuple[int, ...], ...]) -> Plan:
    if len(shapes) != len(equation.operands):
        few = "fewer" if len(shapes) < len(equation.operands) else "more"
        raise wrong(f"{few} operands were provided than specified in the equation")
    terms = tuple(
        labels(term, len(shape), place)
        for place, (term, shape) in enumerate(zip(equation.operands, shapes, strict=True))
    )
    sizes = sizes_of_labels(terms, shapes)
    hidden = sorted(label for label in sizes if isinstance(label, int))  # those of ellipses
    if equation.output is None:
        counts = [label for term in equation.operands for label in term]
        once = sorted(a for a in set(counts) - {DOTS} if counts.count(a) == 1)
        output = (*hidden, *once)
    else:
        each = [hidden if letter == DOTS else [letter] for letter in equation.output]
        output = tuple(label for group in each for label in group)
    return Plan(terms, output, cheapest(terms, output, sizes))


def labels(term: tuple[str, ...], rank: int, place: int) -> tuple[Any, ...]:
    """One label for each dimension; dimensions of an ellipsis are counted from the right."""
    named = len(term) - (DOTS in term)
    if DOTS not in term and named != rank:
        raise wrong(
            f"the number of subscripts in the equation ({named}) does not match the number of"
            f" dimensions ({rank}) for operand {place} and no ellipsis was given"
        )
    if named > rank:
        raise wrong(
            f"the number of subscripts in the equation ({named}) is more than the number of"
            f" dimensions ({rank}) for operand {place}"
        )
    found: list[Any] = []
    for letter in term:
        found += range(named - rank, 0) if letter == DOTS else [letter]
    return tuple(found)


def sizes_of_labels(terms: tuple, shapes: tuple) -> dict[Any, int]:
    sizes: dict[Any, int] = {}
    for place, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        own: dict[Any, int] = {}
        for label, size in zip(term, shape, strict=True):
            if own.setdefault(label, size) != size:
                raise wrong(
                    f"subscript {label} is repeated for operand {place} but the sizes don't match,"
                    f" {size} != {own[label]}"
                )
            known = sizes.setdefault(label, size)
            if known == 1:
                sizes[label] = size
            elif size not in (1, known):
                if isinstance(label, int):
                    raise wrong(
                        f"an ellipsis covers a dimension of size {size} in operand {place}, which"
                        f" does not broadcast with the size {known} seen before"
                    )
                raise wrong(
                    f"subscript {label} has size {size} for operand {place} which does not"
                    f" broadcast with previously seen size {known}"
                )
    return sizes


def cheapest(terms: tuple, output: tuple, sizes: dict[Any, int]) -> tuple[tuple[int, ...], ...]:
    """The order of products; numpy's planner sees a letter for every label."""
    if len(terms) < 3 or len(sizes) > len(LETTERS):
        return ((0, 1),) * (len(terms) - 1)
    letters = dict(zip(sizes, LETTERS, strict=False))
    spell = lambda term: "".join(letters[label] for label in dict.fromkeys(term))  # noqa: E731
    equation = ",".join(map(spell, terms)) + "->" + spell(output)
    shaped = [[sizes[label] for label in dict.fromkeys(term)] for term in terms]
    operands = [np.broadcast_to(np.float32(0), shape) for shape in shaped]
    kind = "optimal" if len(terms) <= 5 else "greedy"
    path = np.einsum_path(equation, *operands, optimize=kind)[0][1:]
    pairs: list[tuple[int, ...]] = []
    for step in path:  # a step of more than two is taken two at a time
        step, left = sorted(step), len(terms) - len(pairs)
        pairs.append(tuple(step[:2]))
        done = 2
        while done < len(step):
            left -= 1
            pairs.append((step[done] - done, left - 1))
            done += 1
    return tuple(pairs)


# Doing it


class Term(NamedTuple):
    """A tensor and the label of each of its dimensions."""

    tensor: Any
    labels: tuple[Any, ...]

    def size(self, label: Any) -> int:
        return self.tensor.shape[self.labels.index(label)]

    def diagonal(self) -> Term:
        """With no label twice."""
        tensor, names = self
        for label in dict.fromkeys(names):
            while names.count(label) > 1:
                first = names.index(label)
                second = names.index(label, first + 1)
                tensor = tensor.diagonal(0, first, second)
                rest = [a for k, a in enumerate(names) if k not in (first, second)]
                names = (*rest, label)
        return Term(tensor, names)

    def without(self, lost: list[Any]) -> Term:
        """Those labels summed."""
        if not lost:
            return self
        dims = tuple(self.labels.index(label) for label in lost)
        ones = all(self.tensor.shape[d] == 1 for d in dims)
        tensor = self.tensor.squeeze(dims) if ones else self.tensor.sum(dims).to(self.tensor.dtype)
        return Term(tensor, tuple(a for a in self.labels if a not in lost))

    def arranged(self, order: list[Any]) -> Any:
        return self.tensor.permute(tuple(self.labels.index(label) for label in order))


def product(x: Term, y: Term, kept: set[Any]) -> Term:
    """Of two terms, summed over what neither the output nor another operand has."""
    x = x.without([a for a in x.labels if a not in kept and a not in y.labels])
    y = y.without([a for a in y.labels if a not in kept and a not in x.labels])
    both = [a for a in x.labels if a in y.labels]
    x_thin = [a for a in both if x.size(a) == 1 != y.size(a)]
    y_thin = [a for a in both if y.size(a) == 1 != x.size(a)]
    if x_thin or y_thin:  # a size of 1 broadcasts: that operand does not have the label
        return product(x.without(x_thin), y.without(y_thin), kept)
    batch = [a for a in both if a in kept]
    inner = [a for a in both if a not in kept]
    left = [a for a in x.labels if a not in both]
    right = [a for a in y.labels if a not in both]
    names = (*batch, *left, *right)
    if not inner:
        shape = [x.size(a) for a in (*batch, *left)] + [1] * len(right)
        other = [y.size(a) for a in batch] + [1] * len(left) + [y.size(a) for a in right]
        first = x.arranged([*batch, *left]).reshape(tuple(shape))
        return Term(first * y.arranged([*batch, *right]).reshape(tuple(other)), names)
    sizes = [[term.size(a) for a in group] for term, group in
             ((x, batch), (x, left), (x, inner), (y, right))]  # fmt: skip
    b, n, k, m = (prod(group) for group in sizes)
    rows, columns = x.arranged([*batch, *left, *inner]), y.arranged([*batch, *inner, *right])
    if batch:
        out = rows.reshape((b, n, k)).bmm(columns.reshape((b, k, m)))
    else:
        out = rows.reshape((n, k)).mm(columns.reshape((k, m)))
    return Term(out.reshape((*sizes[0], *sizes[1], *sizes[3])), names)


def einsum_samples(rng):
    a, b = normal(rng, 3, 4), normal(rng, 4, 5)
    yield ("ij,jk->ik", a, b), {}
    yield ("ij,jk->ki", a, b), {}
    yield ("ii->i", normal(rng, 3, 3)), {}
    yield ("...ij,...jk->...ik", normal(rng, 2, 3, 4), normal(rng, 1, 4, 2)), {}
    yield ("bij,bjk,bkl->bil", normal(rng, 2, 3, 4), normal(rng, 2, 4, 2), normal(rng, 2, 2, 3)), {}
    yield ("i,j->ij", normal(rng, 3), normal(rng, 4)), {}
    yield ("ij,ij->", a, normal(rng, 3, 4)), {}
    yield ("b...a,ac", normal(rng, 2, 3, 4), normal(rng, 4, 2)), {}


@composite(method=False, samples=einsum_samples)
def einsum(equation: Any, *operands):
    """Sums of products along the dimensions that the letters of `equation` name.

    `einsum("bij,bjk->bik", a, b)`; `...` stands for further dimensions, which broadcast; a letter
    that the output lacks is summed. Also `einsum(a, [0, 1], b, [1, 2], [0, 2])`.
    """
    if isinstance(equation, str):
        if len(operands) == 1 and isinstance(operands[0], list | tuple):
            operands = tuple(operands[0])
        read = parsed(equation) if operands else None
    else:
        args = (equation, *operands)
        read, operands = from_sublists(args) if len(args) > 1 else (None, ())
    if read is None:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one"
            " operand and its subscripts list"
        )
    for place, operand in enumerate(operands):
        if not isinstance(operand, View):
            raise no_element(place, operand, 1)
    plan = planned(read, tuple(tuple(t.layout.shape) for t in operands))
    return contracted(plan, operands)


def contracted(plan: Plan, operands: tuple) -> Any:
    terms = [Term(*pair).diagonal() for pair in zip(operands, plan.terms, strict=True)]
    for i, j in plan.path:
        x, y = terms[i], terms[j]
        terms = [term for k, term in enumerate(terms) if k not in (i, j)]
        kept = {*plan.output, *(label for term in terms for label in term.labels)}
        terms.append(product(x, y, kept))
    (last,) = terms
    last = last.without([a for a in last.labels if a not in plan.output])
    return last.arranged(list(plan.output))


def get_einsum_cache_size() -> int:
    """How many equations, and equations with shapes, are remembered."""
    return parsed.cache_info().currsize + planned.cache_info().currsize


def clear_einsum_cache() -> None:
    """Forget all equations."""
    parsed.cache_clear()
    planned.cache_clear()
