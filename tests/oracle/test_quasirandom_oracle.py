"""Sobol' points are torch's to the bit; scrambled ones are another shuffle, just as even."""

from __future__ import annotations

import numpy as np
import pytest
import torch as pytorch

import wgtorch

STEPS = ["draw(1)", "draw(5)", "fast_forward(10)", "draw_base2(4)", "draw_base2(3)", "reset()",
         "draw(3, dtype=torch.float64)", "num_generated", "draw_base2(0)"]  # fmt: skip


@pytest.mark.parametrize("dimension", [1, 2, 7, 40])
def test_points(dimension):
    ours, theirs = (library.quasirandom.SobolEngine(dimension) for library in (wgtorch, pytorch))
    assert repr(ours) == repr(theirs)
    for step in STEPS:
        assert answer(ours, step, wgtorch) == answer(theirs, step, pytorch), step


def answer(engine, step, library):
    try:
        value = eval(f"engine.{step}", {"engine": engine, "torch": library})
    except ValueError as error:
        return str(error)
    return (value.tolist(), str(value.dtype)) if hasattr(value, "dtype") else str(value)


@pytest.mark.parametrize("dimension", [0, 21202])
def test_dimensions_there_are_not(dimension):
    for library in (wgtorch, pytorch):
        with pytest.raises(ValueError, match=r"Supported range of .* SobolEngine is \[1, 21201\]"):
            library.quasirandom.SobolEngine(dimension)


def test_scrambled_points_are_even_and_repeat():
    engine = wgtorch.quasirandom.SobolEngine(3, scramble=True, seed=5)
    points = engine.draw(256)
    assert wgtorch.equal(engine.reset().draw(256), points) and points.min() > 0
    other = wgtorch.quasirandom.SobolEngine(3, True, 6).draw(256)
    assert not wgtorch.equal(other, points)
    for column in points.T:  # every 256th of the unit interval has one
        assert sorted((column * 256).int().tolist()) == list(range(256))


def test_a_result_of_ones_own():
    out = wgtorch.empty(0)
    found = wgtorch.quasirandom.SobolEngine(2).draw(2, out=out)
    assert found is out and np.array_equal(out.tolist(), [[0, 0], [0.5, 0.5]])
