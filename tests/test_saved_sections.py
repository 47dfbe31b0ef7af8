"""Statements of the saved-tensor specification that no other file tests, by section."""

import gc
import threading
import warnings
import weakref

import numpy as np
import pytest
from recorder import N, Recorder, T, close, graph, ramp, same

import wgtorch as torch
from wgtorch import nn


def test_1_the_functional_form_may_return_a_context(device):
    inner = graph.saved_tensors_hooks(same, same)
    assert graph.saved_tensors_hooks(same, same, lambda: inner) is inner
    assert graph.saved_tensors_hooks(same, same, fn=lambda: 3) == 3
    with pytest.raises(TypeError, match="fn must be callable, not int"):
        graph.saved_tensors_hooks(same, same, 3)


def test_2_slots_that_hold_nothing_never_reach_a_hook(device):
    r = Recorder()
    x, c = T([1.0, 2.0], device, grad=True), T([3.0, 4.0], device)
    with r.hooks():
        y = x * c
    assert y.grad_fn._saved_self is None and len(r.packed) == 1
    with r.hooks():
        nn.functional.layer_norm(ramp((2, 4), device, grad=True), (4,))  # no weight, no bias
    assert all(shape for _, shape, _ in r.packed)


def test_3_slots_are_packed_in_order_and_at_once(device):
    seen = []

    def pack(t):
        seen.append(N(t)[0])
        return t.detach()

    a, b = T([1.0], device, grad=True), T([2.0], device, grad=True)
    with graph.saved_tensors_hooks(pack, same):
        y = a * b
        assert seen == [1.0, 2.0]
        y.exp()
    assert seen[2:] == [pytest.approx(np.exp(2.0))]


def test_3_parameter_memory_is_known_through_any_view(device):
    layer = nn.Linear(4, 3).to(device)
    found = []

    def pack(t):
        found.append(graph.is_parameter_memory(t))
        return t

    x = ramp((2, 4), device, grad=True)
    with graph.saved_tensors_hooks(pack, same):
        layer(x)
        x @ layer.weight.t()[:, 1:]
    assert sorted(found) == [False, False, True, True]
    address = layer.weight.untyped_storage().data_ptr()
    assert layer.weight[1:].t().untyped_storage().data_ptr() == address
    assert x.untyped_storage().data_ptr() != address


def test_4_an_error_in_unpack_keeps_what_is_packed(device):
    x, z = T([1.0, 2.0], device, grad=True), T([0.0, 0.0], device, grad=True)
    broken = [True]

    def unpack(t):
        if broken[0]:
            raise OSError("the disk is gone")
        return t

    with graph.saved_tensors_hooks(lambda t: t.detach().clone(), unpack):
        y = (x.exp() + z).sum()
    with pytest.raises(OSError, match="the disk is gone"):
        y.backward()
    assert x.grad is None
    broken[0] = False
    x.grad = z.grad = None
    y.backward()
    close(x.grad, np.exp([1.0, 2.0]))
    close(z.grad, [1.0, 1.0])


def test_5_a_pair_belongs_to_its_thread_in_both_directions(device):
    main, other = Recorder(), Recorder()
    x = T([1.0], device, grad=True)
    go, done = threading.Event(), threading.Event()

    def worker():
        with other.hooks():
            go.set()
            done.wait(10)

    thread = threading.Thread(target=worker)
    thread.start()
    assert go.wait(10)
    x.exp()
    with main.hooks():
        x.exp()
    done.set()
    thread.join(10)
    assert len(main.packed) == 1 and not other.packed


def test_5_hooks_see_plain_tensors_under_vmap(device):
    r = Recorder()
    x = ramp((4, 3), device, grad=True)
    with r.hooks():
        y = torch.func.vmap(lambda t: t.sin() * t)(x)
    assert {shape for _, shape, _ in r.packed} == {(4, 3)}
    y.sum().backward()
    close(x.grad, np.cos(N(x)) * N(x) + np.sin(N(x)), rtol=1e-4)
    assert not r.live


PAIRS = {
    "save_on_cpu": graph.save_on_cpu,
    "budget": lambda: graph.device_budget(0),
    "verified": lambda: graph.saved_tensors_hooks(
        lambda t: t.detach().clone(), same, check="values"
    ),
    "spill": lambda: graph.spill_to_disk(budget=0, min_size=0),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_5_derivatives_of_samples_under_hooks(device, pair):
    def f(t):
        return (t.exp() * t).sum()

    x = ramp((4, 3), device)
    with PAIRS[pair]():
        got = torch.func.vmap(torch.func.grad(f))(x)
    close(got, np.exp(N(x)) * (1 + N(x)))


def test_16_functionals_leave_nothing_packed(device):
    def f(t):
        return (t.exp() * t).sum()

    x = ramp((3,), device)
    functional = torch.autograd.functional
    for derive in (
        lambda: functional.hessian(f, x),
        lambda: functional.hessian(f, x, vectorize=True),
        lambda: functional.jacobian(torch.exp, x),
        lambda: functional.hvp(f, x, torch.ones_like(x))[1],
        lambda: torch.func.hessian(f)(x),
    ):
        r = Recorder()
        with r.hooks():
            assert np.isfinite(N(derive())).all()
        assert r.packed and not r.live


def test_7_live_values_fall_by_one_node_at_a_time(device):
    r = Recorder()
    x = ramp((4, 8), device, grad=True)
    with r.hooks():
        y = x.sin().exp().cos().sum()
    assert len(graph.saved_tensor_report(y)) == 3
    y.backward()
    assert r.live_at_unpack == [3, 2, 1] and not r.live
    assert len(graph.saved_tensor_report(y)) == 0


def test_8_anything_else_than_the_three_forms(device):
    for wrong in (3, b"no"):
        with pytest.raises(TypeError, match=r"an error message \(str\), a function .* or nothing"):
            graph.disable_saved_tensors_hooks(wrong)


def test_10_slots_have_pytorchs_names(device):
    x = ramp((2, 2), device, grad=True)
    c = ramp((2, 2), device, grad=True, lo=0.5)
    names = {
        "mul": (x * c, ("self", "other")), "div": (x / c, ("self", "other")),
        "pow": (c.pow(2.5), ("self", "exponent")), "mm": (x.mm(c), ("self", "mat2")),
        "exp": (x.exp(), ("result",)), "tanh": (x.tanh(), ("result",)),
        "sigmoid": (x.sigmoid(), ("result",)), "relu": (x.relu(), ("result",)),
        "sqrt": (c.sqrt(), ("result",)), "softmax": (x.softmax(-1), ("result",)),
        "sin": (x.sin(), ("self",)), "cos": (x.cos(), ("self",)), "log": (c.log(), ("self",)),
        "abs": (x.abs(), ("self",)),
    }  # fmt: skip
    for op, (y, slots) in names.items():
        for slot in slots:
            value = getattr(y.grad_fn, f"_saved_{slot}")
            raw = getattr(y.grad_fn, f"_raw_saved_{slot}")
            if isinstance(value, torch.Tensor):
                close(raw.unpack(), value)
                close(raw.data, value)
            else:
                assert (op, slot, value) == ("pow", "exponent", 2.5)


# 11. allow_mutation_on_saved_tensors: the probes where PyTorch gives a wrong gradient are in tools/


def run_probes(device, monkeypatch):
    probes = pytest.importorskip("tools.hook_probes")
    monkeypatch.setattr(probes, "DEVICE", device)
    return [probe() for probe in probes.PROBES]


def test_11_no_probe_gives_a_wrong_gradient(device, monkeypatch):
    assert run_probes(device, monkeypatch) == [True] * 8


def test_11_the_context_cannot_be_nested_and_leaves_nothing(device):
    with graph.allow_mutation_on_saved_tensors() as context:
        context.clear()
        with (
            pytest.raises(RuntimeError, match="contexts cannot be nested"),
            graph.allow_mutation_on_saved_tensors(),
        ):
            pass
    with pytest.raises(KeyError), graph.allow_mutation_on_saved_tensors():
        raise KeyError
    with graph.allow_mutation_on_saved_tensors():
        pass


@pytest.mark.parametrize("steps", [1, 2])
def test_11_optimizer_steps_and_backward_after_the_context(device, steps):
    layer = nn.Linear(3, 1, bias=False).to(device)
    before = N(layer.weight).copy()
    x = ramp((2, 3), device, grad=True)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    with graph.allow_mutation_on_saved_tensors():
        y = layer(x).sum()
        for _ in range(steps):
            layer.weight.grad = torch.ones_like(layer.weight)
            optimizer.step()
        torch.mul(x.detach(), 0, out=x.detach())
    y.backward()
    close(x.grad, np.repeat(before, 2, 0))
    assert not np.allclose(N(layer.weight), before)


# 18. Anomaly mode


def test_18_an_error_in_unpack_tells_the_forward_call(device):
    x = T([1.0], device, grad=True)

    def unpack(_):
        raise KeyError("lost")

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            with graph.saved_tensors_hooks(same, unpack):
                y = x.exp()  # the call that the warning shows
            with pytest.raises(KeyError) as found:
                y.backward()
    assert found.value.__notes__ == ["in the unpack hook for exp's saved 'result'"]
    texts = [str(w.message) for w in said]
    assert any("Error detected in ExpBackward0" in t and "the call that" in t for t in texts)


# 19. Nodes


def test_19_nodes_number_themselves_and_carry_metadata(device):
    x = T([1.0], device, grad=True)
    y = x.exp()
    z = (y * y).sum()
    node = z.grad_fn
    chain = []
    while node is not None:
        chain.append(node)
        node = node.next_functions[0][0] if node.next_functions else None
    assert [n.name() for n in chain] == [
        "SumBackward0", "MulBackward0", "ExpBackward0", "AccumulateGrad",
    ]  # fmt: skip
    assert all(isinstance(n, graph.Node) for n in chain) and chain[-1].variable is x
    numbers = [n._sequence_nr() for n in chain[:-1]]
    assert numbers == sorted(numbers, reverse=True)
    chain[0].metadata["mine"] = 3
    assert z.grad_fn.metadata == {"mine": 3} and chain[1].metadata == {}


@pytest.mark.parametrize("mode", ["all", "any"])
def test_19_multi_grad_hooks_once_per_backward(device, mode):
    x, z, unused = (T([v], device, grad=True) for v in (1.0, 2.0, 3.0))
    calls = []
    graph.register_multi_grad_hook([x, z, unused], calls.append, mode=mode)
    y = (x * z).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert len(calls) == 2
    if mode == "all":
        assert [None if g is None else N(g).tolist() for g in calls[0]] == [[2.0], [1.0], None]
    else:
        assert N(calls[0]).shape == (1,)
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        graph.register_multi_grad_hook([x], calls.append, mode="some")


def test_19_multi_grad_hooks_do_not_keep_the_graph(device):
    gc.disable()
    try:
        x = T([1.0], device, grad=True)
        y = x * 2
        node = weakref.ref(y.grad_fn)
        handle = graph.register_multi_grad_hook([x, y], lambda grads: None)
        del y
        assert node() is None
        handle.remove()
    finally:
        gc.enable()


def test_19_multithreading_can_be_asked_for(device):
    x = T([1.0], device, grad=True)
    with torch.autograd.set_multithreading_enabled(False):
        (x * x).backward()
    close(x.grad, [2.0])
