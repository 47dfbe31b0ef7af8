"""What an elementwise op's reference does, as calls of numpy's ufuncs: the last of them can write
where the result shall be.

A reference is called with terms in the place of arrays, which note the ufuncs that they are given
to. One that wants more of them than a ufunc does is known only by what it computes.
"""

from __future__ import annotations

from numbers import Number
from typing import Any, NoReturn

import numpy as np

from wgtorch.dtype import HALVES
from wgtorch.op import Elementwise, Table
from wgtorch.settled import TypedOp


class Term(np.lib.mixins.NDArrayOperatorsMixin):
    """An operand, whose dtype is known, or what a ufunc makes of some."""

    def __init__(self, steps: list[tuple], dtype: np.dtype | None = None):
        self.steps = steps
        if dtype is not None:
            self.dtype = dtype

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **given: Any) -> Any:
        if method != "__call__" or given or ufunc.nout > 1:
            return NotImplemented
        made = Term(self.steps)
        self.steps.append((ufunc, inputs, made))
        return made

    def __bool__(self) -> NoReturn:
        raise TypeError("what is not computed is neither true nor false")

    __pow__ = __rpow__ = None  # type: ignore[assignment]  # of an array it is no ufunc for some


class Formula:
    """Steps over values: first the operands, then what each step made. A step is a ufunc, its
    inputs (a place among the values, or None and a number), and the places that end with it."""

    def __init__(self, steps: list[tuple], operands: list[Term]):
        terms = [*operands, *[made for _, _, made in steps]]
        place = {id(term): at for at, term in enumerate(terms)}
        self.steps, seen = [], set(range(len(operands)))
        for ufunc, inputs, _ in reversed(steps):
            sources = [(place.get(id(i)), i) for i in inputs]
            ends = {at for at, _ in sources if at is not None} - seen
            seen |= ends
            self.steps.insert(0, (ufunc, sources, ends))
        whole = [(at, term) for at, term in enumerate(operands)]
        ufunc, sources, _ = self.steps[0]
        self.ufunc = ufunc if len(steps) == 1 and sources == whole else None  # if it is all

    def compute(self, arrays: list[Any], out: np.ndarray) -> None:
        values, last = list(arrays), len(self.steps) - 1
        for at, (ufunc, sources, ends) in enumerate(self.steps):
            inputs = [given if place is None else values[place] for place, given in sources]
            for place in ends:
                values[place] = None
            if at < last:
                values.append(ufunc(*inputs))
            else:
                ufunc(*inputs, out=out)


def formula(typed: TypedOp, attrs: dict[str, Any]) -> Formula | None:
    """The formula of an op; None where it is more than ufuncs, of halves, which are rounded, and of
    users' functions, which may not expect such operands."""
    if type(typed.op) is not Elementwise or typed.compute in HALVES:
        return None
    return traced(typed, attrs) if attrs else settled[typed]


def traced(typed: TypedOp, attrs: dict[str, Any]) -> Formula | None:
    steps: list[tuple] = []
    operands = [Term(steps, kind) for kind in typed.kinds]
    try:
        result = typed.op.reference(*operands, **attrs)
    except Exception:  # it asks a term for what only an array has
        return None
    if not steps or result is not steps[-1][2]:
        return None
    numbers = [i for _, inputs, _ in steps for i in inputs if not isinstance(i, Term)]
    return Formula(steps, operands) if all([isinstance(n, Number) for n in numbers]) else None


settled = Table(lambda typed: traced(typed, {}))  # of ops without attributes
