"""Pairs made of others: composed, chosen by op and slot, for one module, shared between slots."""

import weakref

import numpy as np
import pytest
from recorder import N, Recorder, T, close, graph, ramp, same

import wgtorch as torch
from wgtorch import nn


class Counted:
    """A pair that clones, and counts."""

    def __init__(self):
        self.packs = self.unpacks = 0

    def pack(self, t):
        self.packs += 1
        return {"data": t.detach().clone()}

    def unpack(self, packed):
        self.unpacks += 1
        return packed["data"]

    def hooks(self):
        return graph.saved_tensors_hooks(self.pack, self.unpack)


def f(x):
    return (x.exp() * x.sin()).tanh().sum()


def gradient(pair, device):
    x = ramp((16, 32), device, grad=True)
    with pair:
        y = f(x)
    y.backward()
    return N(x.grad)


def test_composed_pairs_give_the_gradients_of_the_inner_one(device):
    """Measure of composition: compressing and offloading equals compressing alone."""
    outer = [graph.save_on_cpu(), Counted().hooks(), graph.device_budget(0)]
    alone = gradient(graph.compress("int8"), device)
    for pair in outer:
        both = gradient(graph.compose_hooks(pair, graph.compress("int8")), device)
        np.testing.assert_allclose(both, alone, rtol=1e-6, atol=1e-7)  # a driver may fuse otherwise
    plain = gradient(graph.saved_tensors_hooks(same, same), device)
    both = gradient(graph.compose_hooks(outer[0], outer[1]), device)
    np.testing.assert_allclose(both, plain, rtol=1e-6, atol=1e-7)


def test_containers_of_the_inner_pair_pass_the_outer_tensor_by_tensor(device):
    shapes = []

    def note(t):
        shapes.append(tuple(t.shape))
        return t

    inner = graph.saved_tensors_hooks(
        lambda t: {"parts": [t[:1].clone(), (t[1:].clone(), 7)], "word": "as it is"},
        lambda p: torch.cat([p["parts"][0], p["parts"][1][0]]),
    )
    x = ramp((3, 2), device, grad=True)
    with graph.compose_hooks(graph.saved_tensors_hooks(note, same), inner):
        y = x.exp().sum()
    assert shapes == [(1, 2), (2, 2)]
    y.backward(retain_graph=True)
    y.backward()
    close(x.grad, 2 * np.exp(N(x)))


def halves():
    return graph.saved_tensors_hooks(lambda t: {"half": t.half()}, lambda p: p["half"].float())


def not_exp(op, slot, t):
    return op != "exp"


COMPOSABLE = {
    "identity": lambda: graph.saved_tensors_hooks(same, same),
    "in a dict": halves,
    "on the host": graph.save_on_cpu,
    "in bytes": lambda: graph.compress("int8"),
    "on a disk": lambda: graph.spill_to_disk(budget=0, min_size=0),
    "in a budget": lambda: graph.device_budget(0.001),
    "chosen": lambda: graph.pair_if(not_exp, graph.compress("int8")),
    "chosen for the host": lambda: graph.pair_if(not_exp, graph.save_on_cpu(), halves()),
    "composed": lambda: graph.compose_hooks(graph.save_on_cpu(), graph.compress("int8")),
    "shared": lambda: graph.share_packed(halves()),
}


@pytest.mark.parametrize("outer", COMPOSABLE)
def test_what_is_composed_or_chosen_may_be_composed_again(device, outer):
    plain = gradient(graph.saved_tensors_hooks(same, same), device)
    for inner in COMPOSABLE.values():
        x = ramp((16, 32), device, grad=True)
        with graph.compose_hooks(COMPOSABLE[outer](), inner()):
            y = f(x)
        y.backward(retain_graph=True)
        y.backward()
        close(x.grad, 2 * plain, atol=0.04)


def test_an_object_without_tensors_is_given_whole(device):
    """To functions; what has put the tensor elsewhere stays there."""
    given = []

    def note(packed):
        given.append(type(packed).__name__)
        return packed

    numpy = graph.saved_tensors_hooks(
        lambda t: t.detach().cpu().numpy(), lambda a: torch.tensor(a, device=device)
    )
    x = ramp((16, 32), device, grad=True)
    for inner in (numpy, graph.pair_if(not_exp, numpy), graph.spill_to_disk(budget=0)):
        with graph.compose_hooks(graph.saved_tensors_hooks(note, same), inner):
            x.sin().sum().backward()
    assert given == ["ndarray", "ndarray"]
    close(x.grad, 3 * np.cos(N(x)))


def test_composed_pairs_are_as_strict_as_the_stricter(device):
    wrong = graph.saved_tensors_hooks(lambda t: t * 2, same, check="values")
    x = T([1.0], device, grad=True)
    with (
        pytest.raises(graph.HookCheckError, match="came back as 2.0 instead of 1.0"),
        graph.compose_hooks(graph.saved_tensors_hooks(same, same), wrong),
    ):
        x.sin()
    exact = graph.saved_tensors_hooks(same, same, check="values")
    with graph.compose_hooks(exact, graph.compress("int8")):
        ramp((512,), device, grad=True).sin()  # the bound of int8 holds for both


def test_a_pair_for_some_ops_and_slots(device):
    seen, chosen, rest = [], Recorder(), Recorder()

    def wanted(op, slot, t):
        seen.append((op, slot, tuple(t.shape)))
        return op == "mul" and slot == "other"

    x, c = ramp((4,), device, grad=True), ramp((4,), device, grad=True)
    with graph.pair_if(wanted, chosen.hooks(), otherwise=rest.hooks()):
        y = (x * c).exp()
    assert seen == [("mul", "input", (4,)), ("mul", "other", (4,)), ("exp", "result", (4,))]
    assert len(chosen.packed) == 1 and len(rest.packed) == 2
    y.sum().backward()
    assert len(chosen.unpacked) == 1 and len(rest.unpacked) == 2
    close(x.grad, np.exp(N(x) * N(c)) * N(c))


def test_what_no_pair_was_chosen_for_is_kept_as_ever(device):
    x = ramp((4,), device, grad=True)
    h = x * 2
    with graph.pair_if(lambda op, slot, t: op == "exp", graph.save_on_cpu()):
        y = h.sin() * 1.0
    with torch.no_grad():
        h.add_(100.0)
    assert y.grad_fn.next_functions[0][0]._saved_self is not h
    y.sum().backward()
    close(x.grad, 2 * np.cos(2 * N(x)))


def test_a_pair_chosen_by_its_op_may_be_verified(device):
    pair = graph.pair_if(
        lambda op, slot, t: op == "sin", graph.compress("int8", check="values"), graph.save_on_cpu()
    )
    x = ramp((512,), device, grad=True)
    with pair:
        y = x.sin() + x.exp()
    y.sum().backward()
    lossy = graph.saved_tensors_hooks(lambda t: t + 1, same, check="values")
    with (
        pytest.raises(graph.HookCheckError, match="for sin's saved 'input'"),
        graph.pair_if(lambda op, slot, t: op == "sin", lossy),
    ):
        x.sin()


def test_a_pair_for_one_module(device):
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)).to(device)
    r, x = Recorder(), ramp((3, 4), device)
    handle = graph.hooks_for(model[1], r.hooks())
    model(x).sum().backward()
    assert [shape for _, shape, _ in r.packed] == [(3, 8)] and len(r.unpacked) == 1
    outer = Recorder()
    with outer.hooks():
        model(x).sum().backward()
    assert len(r.packed) == 2 and (3, 8) in [shape for _, shape, _ in outer.packed]
    handle.remove()
    model(x)
    assert len(r.packed) == 2
    with graph.hooks_for(model, r.hooks()):
        model(x)
    assert len(r.packed) > 4
    count = len(r.packed)
    model(x)
    assert len(r.packed) == count


def test_a_module_that_fails_leaves_no_pair_behind(device):
    class Fails(nn.Module):
        def forward(self, x):
            return x.exp() / 0 if x is None else 1 // 0

    r, module = Recorder(), Fails()
    with graph.hooks_for(module, r.hooks()), pytest.raises(ZeroDivisionError):
        module(T([1.0], device, grad=True))
    T([1.0], device, grad=True).exp()
    assert not r.packed
    with pytest.raises(TypeError, match="expected a Module, got function"):
        graph.hooks_for(same, r.hooks())


def test_one_memory_is_packed_once_and_brought_back_once(device):
    counted = Counted()
    x = ramp((8,), device, grad=True)
    h = x * 1
    with graph.share_packed(counted.hooks()):
        y = h * h + h.sin() + h.cos()  # four slots of h
    assert counted.packs == 1
    y.sum().backward(retain_graph=True)
    assert counted.unpacks <= 3  # twice for one node, once
    close(x.grad, 2 * N(x) + np.cos(N(x)) - np.sin(N(x)), rtol=1e-4)


def test_a_written_memory_is_another(device):
    counted = Counted()
    x = ramp((8,), device, grad=True)
    h = x * 1
    with graph.share_packed(counted.hooks()):
        y = h.sin()
        with torch.no_grad():
            h.mul_(2)
        z = h.detach().requires_grad_().cos()
        v = h.detach()[2:].requires_grad_().cos()
    assert counted.packs == 3
    for slot, want in ((y, N(x)), (z, 2 * N(x)), (v, 2 * N(x)[2:])):
        close(slot.grad_fn._saved_self, want)


def test_an_address_used_again_is_not_taken_for_the_old_tensor(device):
    """Forty turns in which memory and ids come back; a table of addresses would mix them up."""
    pair = graph.share_packed(Counted().hooks())
    graphs = []
    for turn in range(40):
        x = T([float(turn), 1.0], device, grad=True)
        h = x * 1
        with pair:
            y = h.sin()
        if turn % 3:
            graphs.append((turn, y))
        del x, h  # counted references alone give memory and ids back
    for turn, y in graphs:
        close(y.grad_fn._saved_self, [float(turn), 1.0])


def test_sharing_keeps_nothing_alive(device):
    boxes = weakref.WeakSet()

    class Kept:
        def __init__(self, t):
            self.t = t
            boxes.add(self)

    pair = graph.share_packed(
        graph.saved_tensors_hooks(lambda t: Kept(t.detach().clone()), lambda kept: kept.t)
    )
    h = ramp((4,), device, grad=True) * 1
    with pair:
        y = h * h
    assert len(boxes) == 1
    y.sum().backward()
    assert not boxes  # though h and the pair are still here


def test_bytes_of_an_attention_block_are_those_of_its_distinct_memory(webgpu):
    q, k, v = (ramp((2, 16, 16), webgpu, grad=True) * s for s in (0.1, 0.2, 0.3))
    before = torch.memory_stats()["saved_tensors.d2h_bytes.total"]
    with graph.save_on_cpu():
        h = (q @ k.transpose(1, 2)).softmax(-1)
        out = h @ v + q.sin() + k.cos()  # q, k and h are in several slots
    report = graph.saved_tensor_report(out)
    torch.webgpu.synchronize()
    moved = torch.memory_stats()["saved_tensors.d2h_bytes.total"] - before
    assert len(report) == 7 and report.nbytes == 7 * 2048
    assert moved == report.bytes_in("host") == 4 * 2048
