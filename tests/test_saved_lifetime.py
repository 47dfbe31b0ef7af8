"""How long packed values, nodes and hooks live: by reference counting alone."""

import gc
import weakref

import numpy as np
import pytest
from recorder import Recorder, T, close, graph, same

import wgtorch as torch


def test_packed_objects_die_with_the_graph(device):
    x = T([1.0, 2.0], device, grad=True)
    r = Recorder()
    with r.hooks():
        y = (x * 2.0).exp().sin()
    assert len(r.live) == 2
    s = y.sum()
    s.backward(retain_graph=True)
    assert len(r.live) == 2
    s.backward()
    assert len(r.live) == 0
    with r.hooks():
        y = x.exp().sin()
    assert len(r.live) == 2
    del y, s
    assert len(r.live) == 0, "dropping the output must free packed values without gc"


def test_saved_values_are_unreadable_after_they_are_freed(device):
    x = T([1.0, 2.0], device, grad=True)
    r = Recorder()
    with r.hooks():
        y = x.exp()
    node = y.grad_fn
    close(node._saved_result, np.exp([1.0, 2.0]))
    assert r.unpacked == [0]
    y.sum().backward()
    with pytest.raises(RuntimeError, match="(?i)freed"):
        _ = node._saved_result
    with pytest.raises(RuntimeError, match="(?i)second time|freed"):
        y.sum().backward()


def test_identity_hooks_do_not_leak(device):
    gc.collect()
    gc.disable()
    try:
        x = T([1.0, 2.0], device, grad=True)
        for pack, unpack in ((same, same), (lambda t: (t,), lambda t: t[0]), (None, None)):
            pair = graph.saved_tensors_hooks(pack, unpack) if pack else graph.save_on_cpu()
            with pair:
                y = x.exp()
                z = (y * y).sin().mul_(x)
            dead = [weakref.ref(t) for t in (y, z, y.grad_fn, z.grad_fn)]
            del y, z
            assert [d() for d in dead] == [None] * 4
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "make",
    [
        graph.save_on_cpu, graph.compress, graph.spill_to_disk, lambda: graph.device_budget(1),
        lambda: graph.pair_if(lambda op, slot, t: True, graph.compress()),
        lambda: graph.compose_hooks(graph.save_on_cpu(), graph.compress()),
    ],
    ids=["host", "fewer bits", "disk", "budget", "chosen", "composed"],
)  # fmt: skip
def test_ready_made_pairs_make_no_cycles(device, make):
    x = T(np.linspace(-1, 1, 512), device, grad=True)
    with make():
        x.sin().sum().backward()
    gc.collect()
    gc.disable()
    try:
        pair = make()
        with pair:
            y = (x.exp() * x).sin()
        dead = [weakref.ref(pair), weakref.ref(y.grad_fn)]
        del pair, y
        assert [d() for d in dead] == [None, None]
    finally:
        gc.enable()


def test_hook_functions_are_held_by_context_and_slots_only(device):
    x = T([1.0], device, grad=True)

    class Pack:
        def __call__(self, t):
            return t.detach().clone()

    pack = Pack()
    dead = weakref.ref(pack)
    context = graph.saved_tensors_hooks(pack, same)
    with context:
        y = x.exp()
    del pack, context
    gc.collect()
    assert dead() is None, "pack is not needed any more"
    y.sum().backward()
    close(x.grad, np.exp([1.0]))


def test_the_first_derivative_keeps_what_it_needs(device):
    x = T([1.0, 2.0], device, grad=True)
    r = Recorder()
    with r.hooks():
        y = x.exp().sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert len(r.live) == 1
    del y
    assert len(r.live) == 1, "the second derivative needs it"
    del g
    assert len(r.live) == 0


def test_graphs_that_never_run_backward_leave_nothing(device):
    x = T([1.0, 2.0], device, grad=True)
    r = Recorder()
    with r.hooks():
        for _ in range(50):
            x.exp().sin()
    assert len(r.live) == 0 and len(r.packed) == 100
