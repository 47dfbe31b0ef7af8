"""Programs that are recognised are those that a walk finds."""

import random

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.backends.webgpu import recognition
from wgtorch.backends.webgpu.fusion import Program, Promise

PARTS = ("steps", "loads", "stores", "load_numbers", "scalars", "joined", "joins", "rivals", "key")


@pytest.fixture
def leaves(webgpu):
    x = torch.arange(12.0, device="webgpu").reshape(3, 4).clone()
    y = x + 1
    places = [x, y, x[:1] + 2, x[0, 0] + 3, x.t().contiguous().t(), x.to(torch.float16) * 2,
              x[:, :1], y[:, :1], x[2:], y.t().contiguous().t()]  # fmt: skip
    torch.webgpu.synchronize()
    return places


@pytest.fixture
def fresh(webgpu, monkeypatch):
    """Nothing was met so far."""
    monkeypatch.setattr(recognition, "known", {})
    monkeypatch.setattr(recognition, "met", recognition.Counter())


def built(seed, leaves, kept):
    """A random chain of ops on `leaves`, whose results may be shared and may be kept."""
    draw = random.Random(seed)
    made = []
    for _ in range(draw.randint(1, 6)):
        a = draw.choice([*made[-2:], *leaves])
        b = draw.choice([*made, *leaves, 2.5, 3])
        made.append(draw.choice([torch.add, torch.mul, torch.sub])(a, b))
        if draw.random() < 0.2:
            made.append(leaves[0] @ leaves[4].t() @ leaves[1])
        if draw.random() < 0.2:
            made.append(torch.rand(3, 4, device="webgpu"))
        if draw.random() < 0.2:
            made.append(made[-1].clamp(-1.0, draw.random()))
        if draw.random() < 0.3:
            kept.append(made[-1])
    return made[-1]


def parts(program):
    return [getattr(program, name) for name in PARTS]


def promised(seed, leaves, kept):
    """The promise of such a chain, or None where a load is all it came to."""
    value = built(seed, leaves, kept).value
    kept.append(value)
    return value.promise if type(value.promise) is Promise else None


def recogniser(program):
    text, names = recognition.written(program)
    exec(text, names)
    return names["recognise"]


@pytest.mark.parametrize("seed", range(40))
def test_a_structure_is_recognised_where_a_walk_finds_the_same(leaves, seed):
    kept = []
    first = promised(seed, leaves, kept)
    if first is None or Program(first).rivals:
        pytest.skip("nothing to recognise")
    recognise, key = recogniser(Program(first)), Program(first).key
    for other in (seed, *range(40)):
        root = promised(other, leaves, kept)
        if root is None:
            continue
        walked = Program(root)
        if walked.key == key and not walked.rivals:
            assert parts(recognise(root)) == parts(walked)
        elif root.typed is first.typed:
            assert recognise(root) is None
    torch.webgpu.synchronize()


def test_the_first_of_the_loads_gives_the_numbers_of_those_that_lie_alike(fresh):
    """From the root down, another may be met first: loads stand in the order of steps by size."""
    draw = np.random.default_rng(0)
    for _ in range(2 * recognition.OFTEN):
        m, n, row = (draw.random(k).astype(np.float32) for k in (3, 3, 4))
        a, b, c = (torch.tensor(x, device="webgpu") for x in (m, n, row))
        got = a[:, None].exp().neg() + b[:, None] * c
        np.testing.assert_allclose(
            got.cpu().numpy(), -np.exp(m)[:, None] + n[:, None] * row, rtol=1e-5
        )


def test_what_is_met_often_is_recognised(fresh, monkeypatch):
    x, walks = torch.tensor([0.0, 1, 2, 3, 4], device="webgpu"), []
    init = Program.__init__
    monkeypatch.setattr(Program, "__init__", lambda p, root: (walks.append(root), init(p, root))[1])
    for n in range(2 * recognition.OFTEN):
        assert ((x + n) * x).tolist() == [(k + n) * k for k in range(5)]
    assert len(walks) == recognition.OFTEN
    y = x * 3.0
    assert ((y + 1.0) * x).tolist() == [(3 * k + 1) * k for k in range(5)]  # y is kept
    assert y.tolist() == [0, 3, 6, 9, 12] and len(walks) > recognition.OFTEN


def test_one_operand_in_two_places_is_another_structure(fresh):
    x, y = (torch.arange(4.0, device="webgpu") + n for n in range(2))
    for _ in range(2 * recognition.OFTEN):
        assert ((x * 2) + (y * 2)).tolist() == [2, 6, 10, 14]
        twice = x * 2
        assert (twice + twice).tolist() == [0, 4, 8, 12]
        assert (x * x).tolist() == [0, 1, 4, 9] and (x * y).tolist() == [0, 2, 6, 12]
