"""Offload that hides: what is sent for ahead, what travels once, and sources that change or die."""

import gc
import weakref

import numpy as np
import pytest
import wgpu
from recorder import N, T, close, graph, ramp

import wgtorch as torch
from wgtorch.autograd import offload
from wgtorch.autograd.mode import state
from wgtorch.autograd.prefetch import coming
from wgtorch.backend import backend
from wgtorch.backends.webgpu import transfer


def chain(x, length=6):
    h = x
    for _ in range(length):
        h = h.tanh()
    return h.sum()


def trail(monkeypatch):
    """What backward does with offloaded tensors, in order: ("ahead" or "back", age of the node)."""
    seen = []
    for name in ("send_for", "back"):
        plain = getattr(offload.Load, name)

        def told(load, plain=plain, name=name):
            if name == "back" or load.there is None:
                seen.append((name, load))
            return plain(load)

        monkeypatch.setattr(offload.Load, name, told)
    return seen


@pytest.mark.parametrize("depth", [0, 1, 2, 4])
def test_backward_sends_ahead_in_reverse_order(webgpu, monkeypatch, depth):
    x = ramp((32,), webgpu, grad=True)
    (want,) = torch.autograd.grad(chain(x), x)
    with graph.save_on_cpu(prefetch=depth):
        loss = chain(x)
    loads, node = [], loss.grad_fn.next_functions[0][0]
    while node is not None and hasattr(node, "_raw_saved_result"):
        loads.append(node._raw_saved_result.data)
        node = node.next_functions[0][0]
    assert len(loads) == 6
    seen = trail(monkeypatch)
    (got,) = torch.autograd.grad(loss, x)
    assert np.array_equal(N(got), N(want))
    place = {id(load): i for i, load in enumerate(loads)}
    back = [place[id(load)] for name, load in seen if name == "back"]
    ahead = [place[id(load)] for name, load in seen if name == "send_for"]
    assert back == [0, 1, 2, 3, 4, 5]  # of node k, then k-1: strict reverse of pack
    assert ahead == ([0, 1, 2, 3, 4, 5] if depth else [])
    for i in range(6 if depth else 0):  # sent when node i + depth runs, and not before
        sent = seen.index(("send_for", loads[i]))
        assert sent < seen.index(("back", loads[max(0, i - depth)]))
        if i > depth:
            assert sent > seen.index(("back", loads[i - depth - 1]))


def test_what_is_ahead_follows_the_engine_and_not_the_clock(device):
    """Branches, nodes without slots, and gradients of some inputs only."""
    x, y = ramp((4,), device, grad=True), ramp((4,), device, grad=True)
    seen = []

    class Box:
        def __init__(self, tensor):
            self.tensor = tensor

    def unpack(box):
        seen.append((box, list(coming(Box, 2))))
        return box.tensor

    def run():
        with graph.saved_tensors_hooks(Box, unpack):
            a, b = (x.exp() + 1).sin(), y.cos()
            return ((a * 2).reshape(2, 2).sum() + b.sum() * b.sum()).exp()

    def order(*inputs):
        seen.clear()
        torch.autograd.grad(run(), inputs)
        return [box for box, _ in seen]

    boxes = order(x, y)
    assert len(boxes) > 4
    for box, ahead in seen:  # a node's other slots are opened before those of the next
        later = boxes[boxes.index(box) + 1 :]
        assert ahead == [b for b in later if b in ahead]
    assert [ahead for _, ahead in seen][-1] == []
    only_y = order(y)
    assert all(set(ahead) <= set(only_y) for _, ahead in seen)
    assert state.task is None and list(coming(Box, 2)) == []


def test_hooks_around_an_offload_are_looked_through(webgpu, monkeypatch):
    x = ramp((1024,), webgpu, grad=True)
    for context in (
        graph.compose_hooks(graph.save_on_cpu(prefetch=2), graph.compress("float16")),
        graph.device_budget(0, then=graph.save_on_cpu(prefetch=2)),
        graph.device_budget(
            0, then=graph.compose_hooks(graph.save_on_cpu(prefetch=2), graph.compress("int8"))
        ),
    ):
        with context:
            loss = chain(x, 4)
        with monkeypatch.context() as patch:
            seen = trail(patch)
            (grad,) = torch.autograd.grad(loss, x)
        loads = [load for name, load in seen if name == "back"]
        first = {id(load): seen.index(("send_for", load)) for load in loads}
        node = len(loads) // 4
        for i, load in enumerate(loads[:-node]):  # those of a later node were sent before this
            assert first[id(loads[i + node])] < seen.index(("back", load))
        assert np.isfinite(N(grad)).all()


def test_a_graph_kept_goes_through_the_host_twice(webgpu):
    x = ramp((16,), webgpu, grad=True)
    with graph.save_on_cpu(prefetch=2):
        loss = chain(x)
    first = torch.autograd.grad(loss, x, retain_graph=True)[0]
    second = torch.autograd.grad(loss, x)[0]
    assert np.array_equal(N(first), N(second))


def test_what_is_sent_for_ahead_is_dropped_with_the_graph(webgpu):
    x = ramp((1024,), webgpu, grad=True)
    base = x.detach()

    def fail(grad):
        raise KeyboardInterrupt

    torch.webgpu.synchronize()
    before = torch.memory_stats()["allocated_bytes.all.current"]
    with graph.save_on_cpu(prefetch=3):
        h = x.tanh().tanh().tanh()
        h.register_hook(lambda g: g)
        y = h.tanh()
    h.register_hook(fail)
    loss = y.sum()
    del h, y
    with pytest.raises(KeyboardInterrupt):
        loss.backward()
    del loss
    gc.collect()
    assert torch.memory_stats()["allocated_bytes.all.current"] - before <= 4096
    assert base.shape == (1024,)


def test_no_memory_to_look_ahead_is_no_error(webgpu, monkeypatch):
    x = ramp((512,), webgpu, grad=True)
    (want,) = torch.autograd.grad(chain(x), x)
    with graph.save_on_cpu(prefetch=3):
        loss = chain(x)
    torch.webgpu.synchronize()
    send_for, depth = offload.Load.send_for, []

    def short(load):
        depth.append(load)
        if len(depth) % 4:  # those that are looked ahead for
            raise torch.OutOfMemoryError("webgpu out of memory")
        return send_for(load)

    seen, unload = [], offload.unload
    monkeypatch.setattr(offload.Load, "send_for", short)

    def told(packed):
        depth[:] = [None, None, None]  # the one that is needed now has room
        seen.append(packed)
        return unload(packed)

    monkeypatch.setattr(offload, "unload", told)
    node = loss.grad_fn.next_functions[0][0]
    while hasattr(node, "_raw_saved_result"):
        node._raw_saved_result._node.slot_at(0).unpack = told
        node = node.next_functions[0][0]
    (got,) = torch.autograd.grad(loss, x)
    assert len(seen) == 6 and np.array_equal(N(got), N(want))


def test_a_failed_transfer_leaves_the_graph_usable(webgpu, monkeypatch):
    """Memory for what comes back, or the mapping of the copy: backward again, when it is there."""
    home = backend(torch.device(webgpu))
    x = ramp((512,), webgpu, grad=True)
    (want,) = torch.autograd.grad(chain(x), x)
    for ahead in (0, 2):
        with graph.save_on_cpu(prefetch=ahead):
            loss = chain(x)
        torch.webgpu.synchronize()
        take = home.take

        def none(nbytes):
            raise torch.OutOfMemoryError("webgpu out of memory")

        with monkeypatch.context() as patch:
            patch.setattr(home, "take", none)
            with pytest.raises(torch.OutOfMemoryError):
                torch.autograd.grad(loss, x)
        assert home.take is take
        (got,) = torch.autograd.grad(loss, x)
        assert np.array_equal(N(got), N(want))
    there = (x.detach() * 2).to("cpu")
    mapped, tries = transfer.mapped, []

    def fails_once(*args):
        tries.append(args)
        if len(tries) == 1:
            raise wgpu.GPUError("the map was interrupted")
        return mapped(*args)

    monkeypatch.setattr(transfer, "mapped", fails_once)
    with pytest.raises(RuntimeError, match="the map was interrupted"):
        there.numpy()
    assert np.array_equal(there.numpy(), 2 * N(x))


@pytest.mark.parametrize("prefetch", [-1, 1.5, True, "2"])
def test_prefetch_counts_nodes(prefetch):
    with pytest.raises(ValueError, match="save_on_cpu: prefetch counts nodes"):
        graph.save_on_cpu(prefetch=prefetch)


# Once for all slots


def hosts(*raws):
    return {id(raw.data.host.storage.value) for raw in raws}


def test_an_output_and_its_readers_share_one_copy(webgpu):
    x = ramp((64,), webgpu, grad=True)
    with graph.save_on_cpu():
        h = x.tanh()  # saves its result
        y = h.sin()  # saves it as its input
        z = h.cos()
    raws = (h.grad_fn._raw_saved_result, y.grad_fn._raw_saved_self, z.grad_fn._raw_saved_self)
    assert len(hosts(*raws)) == 1
    h.mul_(2.0)  # another value now
    with graph.save_on_cpu():
        w = h.exp().sin()
    assert len(hosts(*raws, w.grad_fn._raw_saved_self)) == 2
    (y + z).sum().backward()
    t = np.tanh(np.linspace(-1, 1.5, 64))
    close(x.grad, (np.cos(t) - np.sin(t)) * (1 - t * t), rtol=1e-4, atol=1e-5)


def test_a_transposed_view_is_the_same_memory(webgpu):
    base = ramp((6, 4), webgpu)
    p = T([1.0], webgpu, grad=True)
    with graph.save_on_cpu():
        a, b = base * p, base.t() * p
    first, second = a.grad_fn._raw_saved_self, b.grad_fn._raw_saved_self
    assert len(hosts(first, second)) == 1
    assert np.array_equal(N(b.grad_fn._saved_self), N(base.t()))
    assert b.grad_fn._saved_self.stride() == base.t().stride()


def test_a_value_comes_back_once_while_it_is_there(webgpu):
    home = backend(torch.device(webgpu))
    x = ramp((256,), webgpu, grad=True)
    with graph.save_on_cpu():
        h = x.tanh()
        y = h.sin()
        del h
    torch.webgpu.synchronize()
    before = home.dock.moved["h2d"]
    first = y.grad_fn._saved_self.clone()
    assert N(first).shape == (256,)
    assert home.dock.moved["h2d"] - before in (0, 1024)  # 0 where it has not left yet
    left, right = y.grad_fn._saved_self, y.grad_fn._saved_self
    assert left.storage is not right.storage
    left[:128] = 7.0  # whoever writes into what came back changes only his own
    assert np.array_equal(N(right), N(first)) and np.array_equal(N(y.grad_fn._saved_self), N(first))


def test_40_turns_of_reused_addresses(webgpu):
    """Dedupe goes by live identity: a new tensor in the memory of a dead one is another."""
    for turn in range(40):
        x = T([float(turn), turn + 1.0], webgpu, grad=True)
        with graph.save_on_cpu():
            y = (x * 1.0).square()
        storage = weakref.ref(x.storage)
        y.sum().backward()
        close(x.grad, [2.0 * turn, 2.0 * turn + 2])
        del x, y
        assert storage() is None
    assert all(kept() is not None for kept in offload._sent.keyrefs())


def test_an_attention_block_moves_each_storage_once(webgpu):
    x = ramp((2, 8, 16), webgpu)
    w = ramp((16, 48), webgpu, grad=True)
    home = backend(torch.device(webgpu))
    torch.webgpu.synchronize()
    before = home.dock.moved["d2h"]
    with graph.save_on_cpu(offload_parameters=True):
        q, k, v = (x @ w).chunk(3, -1)
        a = (q @ k.transpose(-2, -1)).softmax(-1)
        out = a @ v
    loss = out.sum()
    torch.webgpu.synchronize()
    elements = 2 * 8 * 16 + 3 * 2 * 8 * 16 + 2 * 8 * 8  # x; q, k and v; a
    assert home.dock.moved["d2h"] - before <= 4 * elements
    loss.backward()
    assert np.isfinite(N(w.grad)).all()


def test_a_view_does_not_keep_its_base_on_the_device(webgpu):
    x = ramp((64, 64), webgpu, grad=True)
    torch.webgpu.synchronize()
    before = torch.memory_stats()["allocated_bytes.all.current"]
    with graph.save_on_cpu():
        base = x * 2.0
        y = base[:, :8].sin().sum() + base.t()[3].cos().sum()
    del base
    torch.webgpu.synchronize()
    assert torch.memory_stats()["allocated_bytes.all.current"] - before < 64 * 64 * 4
    y.backward()
    want = np.zeros((64, 64), np.float32)
    data = N(x)
    want[:, :8] = 2 * np.cos(2 * data[:, :8])
    want[:, 3] -= 2 * np.sin(2 * data[:, 3])
    close(x.grad, want, rtol=1e-4, atol=1e-5)


# Races


def race(webgpu, turns, between=lambda turn: None):
    """Sources are written to and freed at once, and their memory given to others."""
    rng = np.random.default_rng(0)
    for turn in range(turns):
        size = int(rng.integers(1, 70))
        data = rng.standard_normal(size).astype(np.float32)
        x = torch.tensor(data, device=webgpu, requires_grad=True)
        h = x * 2.0
        with graph.save_on_cpu(prefetch=turn % 3):
            y = h.sin() if turn % 2 else h * h
        kind = turn % 5
        if kind == 0:
            h.mul_(100.0)
        elif kind == 1:
            h[: size // 2 + 1].fill_(-5.0)
        elif kind == 2:
            with torch.no_grad():
                h.copy_(torch.full((size,), float(turn), device=webgpu))
        elif kind == 3:
            torch.webgpu.synchronize()
        del h
        between(turn)
        noise = [torch.full((size,), 9.0 + turn, device=webgpu) * 1.5 for _ in range(2)]
        noise[0].add_(noise[1])
        if turn % 7 == 0:
            backend(torch.device(webgpu)).queue.flush()
        y.sum().backward()
        want = 2 * np.cos(2 * data) if turn % 2 else 8 * data
        np.testing.assert_allclose(N(x.grad), want, rtol=2e-4, atol=2e-5, err_msg=f"turn {turn}")


def test_mutated_and_freed_sources_1000_times(webgpu):
    race(webgpu, 1000)
