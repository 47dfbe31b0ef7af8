"""Probes of saved tensors: graphs whose gradient, or order of unpacking, is known."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import numpy as np

import wgtorch as torch
from wgtorch.autograd import graph

DEVICE = "webgpu" if torch.is_webgpu_available() else "cpu"


def same(t: Any) -> Any:
    return t


def normal(*shape: int, grad: bool = True) -> torch.Tensor:
    data = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    return torch.tensor(data, device=DEVICE, requires_grad=grad)


def is_reverse(draw: random.Random) -> bool:
    """Whether a random graph unpacks node by node, in descending order of creation."""
    unpacked: list[int] = []
    count = iter(range(10**6))

    def pack(t: Any) -> Any:
        return next(count), t

    def unpack(packed: Any) -> Any:
        unpacked.append(packed[0])
        return packed[1]

    known = [normal(2) for _ in range(3)]
    with graph.saved_tensors_hooks(pack, unpack):
        for _ in range(draw.randint(3, 15)):
            op = draw.choice(["sin", "exp", "mul"])
            a, b = draw.choice(known), draw.choice(known)
            known.append(a * b if op == "mul" else getattr(a * 0.1, op)())
        loss = sum(t.sum() for t in known)
    loss.backward()
    falls = all(b < a or b == a + 1 for a, b in pairwise(unpacked))  # a product has two slots
    return falls and sorted(unpacked) == list(range(len(unpacked)))


def probe_of(save: Callable, write: Callable, want: Callable) -> Callable[[], bool]:
    """Whether the gradient is that of what was saved, though it was written since."""

    def probe() -> bool:
        x = normal(6)
        y, h = save(x)
        with torch.no_grad():
            write(h)
        y.sum().backward()
        a = x.detach().cpu().numpy()
        return bool(np.allclose(x.grad.cpu().numpy(), want(a), rtol=1e-4, atol=1e-5))

    return probe


def saved_under(context: Callable, view: Callable = same, base: bool = False) -> Callable:
    def save(x: torch.Tensor) -> tuple:
        h = x * 2
        with context():
            y = view(h).square()
        return y, h if base else view(h)

    return save


def hooks(pack: Callable, unpack: Callable = same) -> Callable:
    return lambda: graph.saved_tensors_hooks(pack, unpack)


def square_of(part: slice) -> Callable:
    def want(a: np.ndarray) -> np.ndarray:
        grad = np.zeros_like(a)
        grad[part] = 8 * a[part]
        return grad

    return want


ALL, TAIL = slice(None), slice(2, None)
PROBES = [
    probe_of(saved_under(hooks(lambda t: t.detach())), lambda h: h.mul_(9), square_of(ALL)),
    probe_of(saved_under(hooks(lambda t: t[:])), lambda h: h.mul_(9), square_of(ALL)),
    probe_of(saved_under(graph.save_on_cpu), lambda h: h.zero_(), square_of(ALL)),
    probe_of(saved_under(nullcontext), lambda h: h.add_(5), square_of(ALL)),
    probe_of(saved_under(graph.allow_mutation_on_saved_tensors, lambda h: h[2:], True),
             lambda h: h.mul_(9), square_of(TAIL)),
    probe_of(saved_under(graph.allow_mutation_on_saved_tensors, lambda h: h[2:]),
             lambda h: h.mul_(9), square_of(TAIL)),
    probe_of(saved_under(graph.save_on_cpu, lambda h: h[2:], True),
             lambda h: h.copy_(h * 3), square_of(TAIL)),
    probe_of(saved_under(graph.allow_mutation_on_saved_tensors),
             lambda h: torch.mul(h, 9, out=h), square_of(ALL)),
]  # fmt: skip
