"""Random programs under random pairs of hooks, nested in each other, of which one fails once."""

import functools
import gc
import random

import numpy as np
import pytest
from recorder import N, graph, ramp, same

import wgtorch as torch
from wgtorch.autograd.ledger import PLACES
from wgtorch.autograd.mode import state
from wgtorch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts


class Failure(Exception):
    """What a hook raises."""


SIMPLE = [
    graph.save_on_cpu,
    lambda: graph.spill_to_disk(budget=0.0004, min_size=0),
    lambda: graph.device_budget(0.0004),
    lambda: graph.saved_tensors_hooks(lambda t: (t,), lambda packed: packed[0]),
    lambda: graph.saved_tensors_hooks(lambda t: {"a": t.clone()}, lambda packed: packed["a"]),
]


def pair(draw, depth=0):
    """Any exact pair; deeper ones are made of others."""
    kind = draw.randrange(9 if depth < 2 else 5)
    if kind < 5:
        return SIMPLE[kind]()
    inner = pair(draw, depth + 1)
    if kind == 5:
        return graph.compose_hooks(pair(draw, depth + 1), inner)
    if kind == 6:
        chosen = draw.choice(["input", "result"])
        return graph.pair_if(lambda op, slot, t: slot == chosen, inner, pair(draw, depth + 1))
    if kind == 7:
        return graph.share_packed(inner)
    return graph.device_budget(0.0008, then=inner)


def chain(t, draw):
    for _ in range(3):
        t = draw.choice([torch.sin, torch.tanh, lambda a: a * 0.5 + a * a])(t)
    return t


OPS = [
    lambda a, b: a * b, lambda a, b: a @ b * 0.2, lambda a, b: (a * 1).mul_(b),
    lambda a, b: a.t().softmax(-1),
]  # fmt: skip


def program(x, seed, context, region):
    """Ops, writes in place and regions, each step in a context of its own."""
    draw, known = random.Random(seed), [x]
    for step in range(4):
        a, b, inner = draw.choice(known), draw.choice(known), draw.random()
        with context():
            h = draw.choice(OPS)(a, b)
            known.append(h.tanh())
            if step % 2:
                known.append(region(lambda t, inner=inner: chain(t, random.Random(inner)), b))
    return sum((h * h).mean() for h in known)


def held(device):
    return [torch.memory_stats(device)[f"saved_tensors.{p}_bytes.current"] for p in PLACES]


@pytest.mark.parametrize("seed", range(5))
def test_gradients_of_random_programs(device, seed):
    x = ramp((5, 5), device, grad=True)
    program(x, seed, torch.enable_grad, lambda f, t: f(t)).backward()
    want, x.grad = N(x.grad).copy(), None
    gc.collect()
    gc.disable()
    try:
        before, draw = held(device), random.Random(seed)
        fails_at, unpacked = draw.randrange(3), []

        def fails(t):
            unpacked.append(1)
            if len(unpacked) == fails_at + 1:
                raise Failure
            return t

        def context():
            failing = graph.saved_tensors_hooks(same, fails)
            both = [failing, pair(draw)]
            draw.shuffle(both)
            return graph.compose_hooks(*both)

        kept = functools.partial(create_selective_checkpoint_contexts, ["sin", "mul"])
        loss = program(x, seed, context, functools.partial(checkpoint, context_fn=kept))
        with pytest.raises(Failure) as found:
            loss.backward(retain_graph=True)
        assert "in the unpack hook for" in "".join(found.value.__notes__)
        del found
        assert not state.stack and not state.in_hook and torch.is_grad_enabled()
        x.grad = None
        loss.backward()
        np.testing.assert_allclose(N(x.grad), want, rtol=1e-4, atol=1e-6)
        del loss
        assert held(device) == before
    finally:
        gc.enable()
