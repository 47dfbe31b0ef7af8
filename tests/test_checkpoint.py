"""Checkpoints: nothing is saved inside, and the function runs again in backward."""

import gc
from functools import partial

import numpy as np
import pytest
from recorder import Recorder, T, close, graph, same

import wgtorch as torch
from wgtorch.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)


class Counted:
    """A function that counts its runs, and how far they came."""

    def __init__(self):
        self.runs, self.ends = 0, 0

    def __call__(self, t):
        self.runs += 1
        out = (t.exp() * t).sin() + 1.0
        self.ends += 1
        return out


WANT = (lambda x: np.cos(np.exp(x) * x) * np.exp(x) * (1 + x))(np.array([0.5, 0.25]))


def test_it_runs_once_more_in_each_backward(device):
    x, f, r = T([0.5, 0.25], device, grad=True), Counted(), Recorder()
    with r.hooks():
        y = checkpoint(f, x, use_reentrant=False).sum()
    assert f.runs == 1 and len(r.packed) == 1, "only the input goes through the hooks outside"
    for runs in (2, 3):
        (g,) = torch.autograd.grad(y, x, retain_graph=True)
        assert f.runs == runs
        close(g, WANT)
    y.backward()
    close(x.grad, WANT)
    assert f.runs == 4


def test_it_holds_nothing_but_its_inputs(device):
    gc.collect()
    gc.disable()
    try:
        x, f = T([0.5, 0.25], device, grad=True), Counted()
        y = checkpoint(f, x)
        values = [o for o in gc.get_objects() if type(o).__name__ == "Held"]
        assert len(values) == 4
        del values, y
        assert not [o for o in gc.get_objects() if type(o).__name__ in ("Held", "Frame")]
    finally:
        gc.enable()


def test_second_derivative(device):
    x = T([0.5, 0.25], device, grad=True)
    y = checkpoint(lambda t: t * t * t, x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x)
    close(gg, [3.0, 1.5])


def test_early_stop(device):
    x = T([0.5, 0.25], device, grad=True)
    for early, ends in ((True, 1), (False, 2)):
        f = Counted()
        checkpoint(f, x, early_stop=early).sum().backward()
        assert f.ends == ends
        f = Counted()
        with set_checkpoint_early_stop(early):
            y = checkpoint(f, x).sum()
        y.backward()
        assert f.ends == ends


@pytest.mark.parametrize("outside", ["offload", "checkpoint"])
def test_offload_inside_and_outside(device, outside):
    x, f = T([0.5, 0.25], device, grad=True), Counted()

    def offloaded(t):
        with graph.save_on_cpu():
            return f(t)

    if outside == "offload":
        with graph.save_on_cpu():
            y = checkpoint(f, x)
    else:
        y = checkpoint(offloaded, x)
    y.sum().backward()
    close(x.grad, WANT)


def test_nested(device):
    x, f = T([0.5, 0.25], device, grad=True), Counted()
    y = checkpoint(lambda t: checkpoint(f, t * 1.0) * 2.0, x).sum()
    y.backward()
    close(x.grad, 2 * WANT)


def test_the_second_run_must_save_the_same(device):
    x, first = T([0.5, 0.25], device, grad=True), [True]

    def fickle(make):
        first[0] = True

        def f(t):
            was, first[0] = first[0], False
            return make(t, was)

        return checkpoint(f, x, early_stop=False).sum()

    y = fickle(lambda t, was: t.exp() if was else t.exp().sin())
    with pytest.raises(CheckpointError, match="(?s)different number.*forward: 1.*recomputation: 2"):
        y.backward()
    y = fickle(lambda t, was: (t if was else t.expand(3, 2)).exp())
    with pytest.raises(CheckpointError, match=r"(?s)different metadata.*\[2\].*\[3, 2\]"):
        y.backward()
    x.exp().sum().backward()
    close(x.grad, np.exp([0.5, 0.25]))


def test_errors_leave_the_hooks_as_they_were(device):
    x = T([0.5, 0.25], device, grad=True)
    fail = [True]

    def f(t):
        if fail[0]:
            raise KeyError("mine")
        return t.exp()

    with pytest.raises(KeyError, match="mine"):
        checkpoint(f, x)
    fail[0] = False
    y = checkpoint(f, x).sum()
    fail[0] = True
    with pytest.raises(KeyError, match="mine"):
        y.backward()
    r = Recorder()
    with r.hooks():
        x.exp()
    assert len(r.packed) == 1 and torch.is_grad_enabled()
    fail[0] = False
    y.backward()
    close(x.grad, np.exp([0.5, 0.25]))


def test_inputs_are_those_of_the_call(device):
    x = T([0.5, 0.25], device, grad=True)
    h = x * 1.0
    y = checkpoint(lambda t, by: (t * by).exp(), h, 2.0).sum()
    with torch.no_grad():
        h.zero_()
    y.backward()
    close(x.grad, 2 * np.exp([1.0, 0.5]))


def test_without_recording_it_only_calls(device):
    with torch.no_grad():
        assert not checkpoint(Counted(), T([0.5], device, grad=True)).requires_grad


def test_sequences(device):
    x = T([0.5, 0.25], device, grad=True)
    f = [torch.exp, torch.sin, torch.exp, torch.sin]
    checkpoint_sequential(f, 2, x, use_reentrant=False).sum().backward()
    want = x.detach().clone().requires_grad_(True)
    want.exp().sin().exp().sin().sum().backward()
    close(x.grad, want.grad)


def test_contexts_for_both_runs(device):
    log = []

    class Note:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            log.append(self.name)

        def __exit__(self, *exception):
            pass

    x = T([0.5], device, grad=True)
    y = checkpoint(torch.exp, x, context_fn=lambda: (Note("first"), Note("second")))
    assert log == ["first"]
    y.backward()
    assert log == ["first", "second"]
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        checkpoint(torch.exp, x, determinism_check="maybe")
    same(x)


IN_PLACE = {
    "sin_": lambda y, x: y.sin_().tanh(),
    "by another": lambda y, x: y.mul_(x + 1).tanh(),
    "what another op saved": lambda y, x: (y * y).tanh() + y.add_(1),
    "a part": lambda y, x: (y[1:].exp_().sum() + y).tanh(),
    "silu": lambda y, x: torch.nn.functional.silu(y, inplace=True).tanh(),
}


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("name", IN_PLACE)
def test_what_is_written_in_place_was_saved_as_it_was(name, early_stop, device):
    def gradient(run):
        x = torch.tensor([0.3, 0.7, -0.2, 1.1], device=device, requires_grad=True)
        run(lambda x: IN_PLACE[name](x * 2, x), x).sum().backward()
        return x.grad.tolist()

    plain = gradient(lambda function, x: function(x))
    again = gradient(partial(checkpoint, use_reentrant=False, early_stop=early_stop))
    assert again == plain
