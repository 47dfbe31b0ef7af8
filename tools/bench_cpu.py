"""The cpu device beside the numpy calls that do the same: the `cpu` part of bench.py.

Small tensors may cost 3 us more than numpy, large ones 5 % more. Both are measured by turns, all
rows in several passes: what memory and a virtual machine's core give changes within a tenth of a
second, and for seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import wgtorch as torch

RNG = np.random.default_rng(0)
HALF, ONE = np.float32(0.5), np.float32(1)
SIZES = ((16, 4, 200), (1 << 22, 2048, 1))  # elements, rows and columns, calls per measurement
PASSES, MOMENT = 5, 0.1  # over all rows; seconds of each in a pass
VIEWS = {"x[3]", "x[2:5]", "x[:, 1]", "view", "t", "permute", "unsqueeze", "item"}  # of no size


class Data(NamedTuple):
    """Two vectors, a mask, a matrix and a permutation of its rows; a vector to write into."""

    a: Any
    b: Any
    mask: Any
    m: Any
    rows: Any
    out: Any


def data(size: int, side: int) -> Data:
    a, b = (RNG.standard_normal(size).astype(np.float32) for _ in "ab")
    matrix = RNG.standard_normal((side, side)).astype(np.float32)
    return Data(a, b, a > 0, matrix, RNG.permutation(side), a.copy())


def elementwise(x: Data, n: Data) -> dict[str, tuple[Callable, Callable]]:
    return {
        "x + y": (lambda: x.a + x.b, lambda: n.a + n.b),
        "x * 2": (lambda: x.a * 2, lambda: n.a * (ONE + ONE)),
        "exp": (x.a.exp, lambda: np.exp(n.a)),
        "relu": (x.a.relu, lambda: np.maximum(n.a, 0)),
        "x > y": (lambda: x.a > x.b, lambda: n.a > n.b),
        "where": (lambda: torch.where(x.mask, x.a, x.b), lambda: np.where(n.mask, n.a, n.b)),
        "clamp": (
            lambda: x.a.clamp(-1, 1),
            lambda: np.minimum(np.maximum(n.a, -ONE), ONE),
        ),
        "addcmul": (
            lambda: x.a.addcmul(x.a, x.b, value=0.5),
            lambda: n.a + HALF * n.a * n.b,
        ),
        "masked_fill": (
            lambda: x.a.masked_fill(x.mask, 0),
            lambda: np.where(n.mask, HALF, n.a),
        ),
        "clone": (x.a.clone, n.a.copy),
        "int": (x.a.int, lambda: n.a.astype(np.int32)),
    }


def written(x: Data, n: Data) -> dict[str, tuple[Callable, Callable]]:
    def put(target: Any) -> Callable:
        return lambda: target.__setitem__(slice(2, 5), 1)

    return {
        "add_": (lambda: x.out.add_(x.b), lambda: np.add(n.out, n.b, out=n.out)),
        "mul_": (lambda: x.out.mul_(0.5), lambda: np.multiply(n.out, HALF, out=n.out)),
        "zero_": (x.out.zero_, lambda: n.out.fill(0)),
        "x[2:5] = 1": (put(x.out), put(n.out)),
    }


def looked_at(x: Data, n: Data) -> dict[str, tuple[Callable, Callable]]:
    return {
        "x[3]": (lambda: x.m[3], lambda: n.m[3]),
        "x[2:5]": (lambda: x.m[2:5], lambda: n.m[2:5]),
        "x[:, 1]": (lambda: x.m[:, 1], lambda: n.m[:, 1]),
        "view": (lambda: x.m.view(-1), lambda: n.m.reshape(-1)),
        "t": (x.m.t, lambda: n.m.T),
        "permute": (lambda: x.m.permute(1, 0), lambda: n.m.transpose(1, 0)),
        "unsqueeze": (lambda: x.m.unsqueeze(0), lambda: n.m[None]),
        "item": (lambda: x.a[0].item(), lambda: n.a[0].item()),
    }


def folded(x: Data, n: Data) -> dict[str, tuple[Callable, Callable]]:
    return {
        "sum": (x.a.sum, lambda: n.a.sum()),
        "sum(1)": (lambda: x.m.sum(1), lambda: n.m.sum(1)),
        "mean": (x.a.mean, lambda: n.a.mean()),
        "max": (x.a.max, lambda: n.a.max()),
        "argmax(1)": (lambda: x.m.argmax(1), lambda: n.m.argmax(1)),
        "any": (x.mask.any, lambda: n.mask.any()),
        "cumsum": (lambda: x.a.cumsum(0), lambda: n.a.cumsum(dtype=np.float64).astype(np.float32)),
    }


def structured(x: Data, n: Data) -> dict[str, tuple[Callable, Callable]]:
    def softmax() -> np.ndarray:
        powers = np.exp(n.m - n.m.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)

    return {
        "matmul": (lambda: x.m @ x.m, lambda: n.m @ n.m),
        "softmax": (lambda: torch.softmax(x.m, 1), softmax),
        "cat": (lambda: torch.cat([x.a, x.b]), lambda: np.concatenate([n.a, n.b])),
        "x[k]": (lambda: x.m[x.rows], lambda: n.m[n.rows]),
    }


class Row:
    """A call of ours and numpy's, and the least microseconds that each was seen to take."""

    def __init__(self, what: str, ours: Callable, theirs: Callable, count: int, small: bool):
        self.what, self.ours, self.theirs = what, ours, theirs
        self.count, self.small = count, small
        self.have = self.want = float("inf")

    def measure(self, best: Callable, each: Callable) -> None:
        """Both by turns, for a moment."""
        turns, times = (1, 12) if self.small else (4, 1)
        until = perf_counter() + MOMENT
        while turns > 0 or perf_counter() < until:
            turns -= 1
            ours, theirs = each(self.ours, self.count), each(self.theirs, self.count)
            self.have = min(self.have, best(ours, self.count, times, settle=False))
            self.want = min(self.want, best(theirs, self.count, times, settle=False))

    def tell(self, show: Callable) -> None:
        limit = self.want + 3 if self.small else max(self.want * 1.05, self.want + 3)
        note = f"numpy {self.want:.2f} ({self.have - self.want:+.2f})"
        show(self.what, self.have, floor=limit, note=note)


def main(show: Callable, best: Callable, each: Callable) -> None:
    for size, side, count in SIZES:
        n = data(size, side)
        x = Data(*[torch.from_numpy(array) for array in n])  # the same memory, wherever it lies
        rows = []
        for group in (elementwise, written, looked_at, folded, structured):
            for name, (ours, theirs) in group(x, n).items():
                small = size < 100 or name in VIEWS
                rows.append(Row(f"cpu: {name} of {size}", ours, theirs, count, small))
        for _ in range(PASSES):
            for row in rows:
                row.measure(best, each)
        for row in rows:
            row.tell(show)
