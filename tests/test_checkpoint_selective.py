"""Selective checkpoints, and what else `checkpoint` is asked for."""

from collections import Counter

import numpy as np
import pytest
from recorder import N, Recorder, T, close, graph, ramp

import wgtorch as torch
from wgtorch.autograd.mode import state
from wgtorch.device import Device
from wgtorch.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)

SAVE, AGAIN = CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_RECOMPUTE


class Ops:
    """Counts the structured ops that run on a device."""

    def __init__(self, device, monkeypatch):
        home, self.count = Device(device).backend, Counter()
        run = home.structured

        def counted(call, args):
            self.count[call.op.name.strip("_")] += 1
            return run(call, args)

        monkeypatch.setattr(home, "structured", counted)

    def since(self):
        count = dict(self.count)
        self.count.clear()
        return count


def block(x, w):
    return ((x @ w).softmax(-1) @ w).tanh() * x


def problem(device):
    return ramp((6, 6), device, grad=True), ramp((6, 6), device, grad=True, lo=-0.5, hi=0.7)


def plain(device):
    x, w = problem(device)
    block(x, w).sum().backward()
    return x.grad, w.grad


def selective(policy):
    return lambda: create_selective_checkpoint_contexts(policy)


@pytest.mark.parametrize("ops", [[torch.mm], ["mm"], (torch.Tensor.mm, "softmin")])
def test_results_of_listed_ops_are_not_computed_again(device, monkeypatch, ops):
    want = plain(device)
    x, w = problem(device)
    counts = Ops(device, monkeypatch)
    y = checkpoint(block, x, w, use_reentrant=False, context_fn=selective(ops))
    assert counts.since() == {"mm": 2, "softmax": 1}
    y.sum().backward()
    again = counts.since()
    assert again["softmax"] == 1
    whole = checkpoint(block, *problem(device), use_reentrant=False)
    counts.since()
    whole.sum().backward()
    assert counts.since()["mm"] == again["mm"] + 2
    assert np.array_equal(N(x.grad), N(want[0])) and np.array_equal(N(w.grad), N(want[1]))


def test_a_policy_is_asked_for_every_op(device):
    asked = []

    def policy(ctx, op, *args, **kwargs):
        asked.append((ctx.is_recompute, op, len(args)))
        return SAVE if op == "tanh" else AGAIN

    x, w = problem(device)
    y = checkpoint(block, x, w, use_reentrant=False, context_fn=selective(policy))
    assert [op for _, op, _ in asked] == ["mm", "softmax", "mm", "tanh", "mul"]
    assert not any(again for again, _, _ in asked)
    y.sum().backward()
    close(x.grad, plain(device)[0])


def test_kept_results_go_through_the_hooks_outside(device):
    x, w = problem(device)
    r = Recorder()
    with r.hooks():
        y = checkpoint(block, x, w, use_reentrant=False, context_fn=selective([torch.mm]))
    shapes = [shape for _, shape, _ in r.packed]
    assert shapes == [(6, 6)] * 4  # two inputs, two products
    y.sum().backward()
    assert len(r.unpacked) >= 3 and not r.live
    close(x.grad, plain(device)[0])


def test_kept_results_outlive_a_retained_graph_and_die_with_it(device):
    x, w = problem(device)
    r = Recorder()
    with r.hooks():
        y = checkpoint(block, x, w, use_reentrant=False, context_fn=selective([torch.mm])).sum()
    y.backward(retain_graph=True)
    first = N(x.grad).copy()
    assert r.live
    y.backward()
    close(x.grad, 2 * first)
    assert not r.live


def test_the_report_shows_what_is_kept(device):
    x, w = problem(device)
    place = "host" if device == "cpu" else "device"
    whole = checkpoint(block, x, w, use_reentrant=False)
    some = checkpoint(block, x, w, use_reentrant=False, context_fn=selective([torch.mm]))
    sizes = [graph.saved_tensor_report(y).bytes_in(place) for y in (whole, some)]
    assert sizes == [2 * 144, 4 * 144]


def test_writing_into_a_kept_result_is_harmless(device):
    def f(x, w):
        h = x @ w
        y = h.sin()
        with torch.no_grad():
            h.mul_(100.0)
        return y

    x, w = problem(device)
    y = checkpoint(f, x, w, use_reentrant=False, context_fn=selective([torch.mm]))
    y.sum().backward()
    a, b = problem(device)
    (a @ b).sin().sum().backward()
    close(x.grad, a.grad)
    close(w.grad, b.grad)


def test_ops_outside_pass_untouched(device):
    x, w = problem(device)
    home = Device(device).backend
    y = checkpoint(block, x, w, use_reentrant=False, context_fn=selective([torch.mm]))
    assert Device(device).backend is home
    with pytest.raises(ZeroDivisionError):
        checkpoint(lambda t: t.sin() / (1 // 0), x, context_fn=selective(["sin"]))
    y.sum().backward()
    assert Device(device).backend is home
    assert state.keeper is None


def test_what_is_no_policy_is_refused():
    with pytest.raises(TypeError, match="must be either a function or a list of ops"):
        create_selective_checkpoint_contexts(3)
    with pytest.raises(TypeError, match="functions or names of ops, not 3"):
        create_selective_checkpoint_contexts([3])


# The whole of checkpoint


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_nested_to_any_depth(device, depth, early_stop):
    def nest(f, n):
        return f if n == 0 else lambda t: checkpoint(nest(f, n - 1), t.sin(), use_reentrant=False)

    def f(t):
        return (t * t).exp().cos()

    x, want = ramp((5,), device, grad=True), ramp((5,), device, grad=True)
    with set_checkpoint_early_stop(early_stop):
        y = nest(f, depth)(x)
    h = want
    for _ in range(depth):
        h = h.sin()
    f(h).sum().backward()
    y.sum().backward(retain_graph=True)
    close(x.grad, want.grad)
    y.sum().backward()
    close(x.grad, 2 * want.grad)


@pytest.mark.parametrize("preserve", [True, False])
def test_random_numbers_are_replayed_on_the_device_that_draws_them(device, preserve):
    def f(t):
        return torch.nn.functional.dropout(t, 0.5, training=True) * torch.rand_like(t)

    x = T(np.ones(256).tolist(), device, grad=True)
    y = checkpoint(f, x, use_reentrant=False, preserve_rng_state=preserve)
    after = torch.rand(1, device=device).item()
    (g,) = torch.autograd.grad(y.sum(), x)
    assert np.array_equal(N(g), N(y)) is preserve
    torch.manual_seed(0)
    f(x)
    assert torch.rand(1, device=device).item() == after  # the second run drew nothing of ours


@pytest.mark.parametrize("use_reentrant", [True, False, None])
def test_reentrant_or_not(device, use_reentrant):
    x, w = problem(device)
    checkpoint(block, x, w, use_reentrant=use_reentrant).sum().backward()
    close(w.grad, plain(device)[1])
    y = checkpoint_sequential([torch.sin, torch.exp, torch.cos], 3, x, use_reentrant=use_reentrant)
    close(y, x.sin().exp().cos())
    for refused in ({"context_fn": selective(["sin"])}, {"debug": True}):
        with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
            checkpoint(torch.sin, x, use_reentrant=True, **refused)


def test_debug_lists_what_both_runs_saved(device):
    runs = [0]

    def f(t):
        runs[0] += 1
        return t.sin().exp() if runs[0] == 1 else t.sin().cos() * t

    x = T([0.5, 0.25], device, grad=True)
    y = checkpoint(f, x, use_reentrant=False, debug=True, early_stop=False)
    with pytest.raises(CheckpointError) as found:
        y.sum().backward()
    lines = str(found.value).splitlines()
    assert "Saved in forward / in recomputation:" in lines
    assert lines[-4].split() == ["0", "sin.input", "sin.input"]
    assert lines[-3].split() == ["1", "exp.result", "cos.input", "<-", "differs"]
    assert lines[-1].split() == ["3", "-.-", "mul.other", "<-", "differs"]
    runs[0] = 0
    y = checkpoint(f, x, use_reentrant=False, debug=True, early_stop=False)
    with (
        set_checkpoint_debug_enabled(False),
        pytest.raises(CheckpointError, match="A different number") as found,
    ):
        y.sum().backward()
    assert "in recomputation:" not in str(found.value).replace("during recomputation: ", "")


def test_the_determinism_check_names_the_slot(device):
    sizes = iter([2, 3])

    def f(t):
        return (t.reshape(1, 2).expand(next(sizes), 2) * t).sum()

    x = T([0.5, 0.25], device, grad=True)
    y = checkpoint(f, x, use_reentrant=False)
    with pytest.raises(
        CheckpointError, match=r"(?s)position 0 \(input of mul\):.*\[2, 2\].*\[3, 2\]"
    ):
        y.backward()


def test_the_closure_lives_only_as_long_as_the_graph(device):
    """C58: inputs of a checkpoint are held while backward may come, and no longer."""
    r = Recorder()
    x = T([0.5, 0.25], device, grad=True)
    with r.hooks():
        y = checkpoint(torch.sin, x * 2, use_reentrant=False).sum()
    assert len(r.live) == 1
    y.backward()
    assert not r.live
    with r.hooks():
        y = checkpoint(torch.sin, x * 2, use_reentrant=False)
    del y
    assert not r.live
