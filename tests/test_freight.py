"""Copies that run beside products of matrices: the same bytes, whoever carries them."""

import numpy as np
import pytest
from recorder import N, graph
from test_offload import race

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.backends.webgpu import deferral
from wgtorch.backends.webgpu import freight as room
from wgtorch.backends.webgpu.freight import AWAY, HOME, QUAD
from wgtorch.backends.webgpu.gauge import TURN, Gauge
from wgtorch.backends.webgpu.timing import Timer
from wgtorch.device import Device


@pytest.fixture
def freight(either_share, monkeypatch):
    """On the kernels of this adapter, and on those of the other class; of short copies too."""
    home = backend(Device(either_share))
    if not home.dock.round_trip:
        pytest.skip("no memory that both sides see")
    monkeypatch.setattr(room, "SHARE", 1)
    torch.webgpu.synchronize()
    dock, queue = home.dock, home.queue
    before = dock.pool, dock.freight, queue.ride
    dock.load_beside_kernels(least=QUAD, gauge=None)
    yield dock.freight
    torch.webgpu.synchronize()
    dock.pool, dock.freight, queue.ride = before


@pytest.fixture
def carried(freight):
    """The same, where products take long by their plan."""
    if freight.gpu.traits.is_software:
        pytest.skip("its products have no time to carry")
    return freight


def network(x, ws):
    h = x
    for w in ws:
        h = (h @ w).tanh()
    return (h * h).sum()


def operands(width=64, layers=6):
    rng = np.random.default_rng(0)
    made = [rng.standard_normal((width, width)).astype(np.float32) for _ in range(layers + 1)]
    x, *ws = [torch.tensor(a / 8, device="webgpu", requires_grad=True) for a in made]
    return x, ws


def sent(freight, tensor):
    """On its way to the host."""
    there = tensor.to("cpu")
    freight.dock.home.fill(tensor.storage.value)
    freight.queue.flush()
    assert freight.away.moves
    return there


@pytest.mark.parametrize("rate", [0.7, 5.0, 1000.0])  # some turns for one move, one, or several
@pytest.mark.parametrize("prefetch", [0, 1, 3])
def test_gradients_are_the_same(freight, rate, prefetch):
    freight.away.rate = freight.home.rate = rate
    x, ws = operands()
    want = [N(g) for g in torch.autograd.grad(network(x, ws), [x, *ws])]
    for _ in range(3):
        with graph.save_on_cpu(prefetch=prefetch):
            loss = network(x, ws)
        got = torch.autograd.grad(loss, [x, *ws])
        for a, b in zip(got, want, strict=True):
            assert np.array_equal(N(a), b)
    assert freight.gpu.traits.is_software is (freight.carried == 0)


def test_both_ways_ride(carried, monkeypatch):
    monkeypatch.setattr(deferral, "LITTLE", 0)  # one launch waits, as where operands are large
    x, ws = operands(layers=3)
    with graph.save_on_cpu(prefetch=2):
        loss = network(x, ws)
    torch.webgpu.synchronize()  # all of it has left
    before, rode = dict(carried.dock.moved), carried.carried
    torch.autograd.grad(loss, ws)
    back = carried.dock.moved["h2d"] - before["h2d"]
    assert back == 7 * 4 * 64 * 64 and carried.dock.moved["d2h"] == before["d2h"]
    assert back > carried.carried - rode >= back // 2  # not the first, for which nobody waits


def test_a_copy_begins_the_pass_of_its_carrier(carried, monkeypatch):
    x, ws = operands(layers=1)
    there, queue, seen = sent(carried, x.detach() * 3), carried.queue, []
    for name in ("close", "record"):
        plain = getattr(queue, name)

        def told(*args, plain=plain, name=name):
            seen.append(args[0].label if args else name)
            plain(*args)

        monkeypatch.setattr(queue, name, told)
    product = x.detach() @ ws[0].detach()
    carried.dock.home.fill(product.storage.value)
    place = seen.index("freight")
    assert seen[place - 1 : place + 2] == ["close", "freight", "mm"]
    assert np.array_equal(there.numpy(), 3 * N(x))


def test_what_is_needed_early_is_copied(freight):
    x, _ = operands(layers=1)
    y = sent(freight, x.detach() * 3)
    assert freight.away.left == 4 * 64 * 64
    assert np.array_equal(y.numpy(), 3 * N(x))
    assert not freight.away.moves


def test_what_has_not_left_does_not_come_back(freight):
    """Its device memory is there still; the host's is filled when somebody reads that."""
    x, _ = operands(layers=1)
    before = dict(freight.dock.moved)
    with graph.save_on_cpu(prefetch=1):
        y = (x * 2.0).square()
    freight.queue.flush()
    (grad,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
    assert freight.dock.moved == before and freight.away.left
    saved = y.grad_fn._raw_saved_self.data.host
    assert np.array_equal(N(grad), 8 * N(x)) and np.array_equal(saved.numpy(), 2 * N(x))
    (again,) = torch.autograd.grad(y.sum(), x)
    assert np.array_equal(N(again), N(grad))


def test_what_comes_back_early_is_not_written_into(freight):
    """It is the memory that is to leave."""
    x, _ = operands(layers=1)
    with graph.save_on_cpu():
        y = (x * 2.0).square()
    freight.queue.flush()
    saved = y.grad_fn._saved_self.detach()
    saved.mul_(100.0)
    saved[0] = 1.0
    assert np.array_equal(N(saved)[1:], 200 * N(x)[1:])
    assert np.array_equal(N(torch.autograd.grad(y.sum(), x)[0]), 8 * N(x))


def test_a_move_that_nobody_waits_for_ends(freight):
    x, _ = operands(layers=1)
    torch.webgpu.synchronize()
    before, moved = freight.gpu.pool.live.current, dict(freight.dock.moved)
    with graph.save_on_cpu():
        y = (x * 2.0).square().sum()
    freight.queue.flush()
    assert freight.away.moves
    del y
    assert not freight.away.moves and freight.gpu.pool.live.current == before
    assert freight.dock.moved == moved


def test_memory_is_made_free(freight):
    """empty_cache, and an allocation that fails, have all leave that waits."""
    x, _ = operands(layers=1)
    with graph.save_on_cpu():
        y = (x * 2.0).square().sum()
    freight.queue.flush()
    before = freight.gpu.pool.live.current
    torch.webgpu.empty_cache()
    assert not freight.away.moves
    assert freight.gpu.pool.live.current == before - 4 * 64 * 64
    assert np.array_equal(N(torch.autograd.grad(y, x)[0]), 8 * N(x))


def test_what_waits_is_bounded(freight, monkeypatch):
    monkeypatch.setattr(room, "MOST", 3 * 64 * 64 * 4)
    x, _ = operands()
    with graph.save_on_cpu():
        h = x
        for _ in range(6):
            h = h.tanh()
            freight.dock.home.fill(h.storage.value)
    assert freight.away.left == 3 * 64 * 64 * 4
    (grad,) = torch.autograd.grad(h.sum(), x)
    assert np.isfinite(N(grad)).all()


# a slow GPU on a slow bus, a fast one on a slow bus, and one like that of the estimates
@pytest.mark.parametrize(
    ("slow", "rate", "factor"), [(3.0, 5.0, 0.375), (0.5, 10.0, 0.125), (1.1, 44.0, 1.0)]
)
def test_rates_are_measured_before_the_first_ride(freight, slow, rate, factor):
    """On a GPU that takes `slow` times as long as was estimated, with a bus of `rate` GB/s."""

    def seconds(kernel, blocks, groups, numbers, times):
        if kernel.label == "gauge":
            return 1e-3 + slow * numbers[0] * TURN * 1e-9
        return 1e-3 + times * numbers[1] * QUAD / (rate * 1e9)

    freight.gauge = lambda home: Gauge(home, seconds)
    freight.ride(1e6)
    assert freight.gauge is not None, "nothing is to move yet"
    x, _ = operands(layers=1)
    there = sent(freight, x.detach() * 3)
    freight.ride(1e6)
    assert freight.gauge is None
    rates = freight.away.rate / AWAY[0], freight.home.rate / HOME[0]
    assert rates == (pytest.approx(factor, rel=1e-3),) * 2
    assert np.array_equal(there.numpy(), 3 * N(x)) and freight.carried == there.nbytes


def test_a_measure_in_the_middle_of_a_step_changes_nothing(freight):
    x, ws = operands()
    want = [N(g) for g in torch.autograd.grad(network(x, ws), [x, *ws])]
    timer = Timer(freight.dock.home)
    for measured in (False, True):
        with graph.save_on_cpu():
            loss = network(x, ws)
        freight.gauge = Gauge
        if measured:
            timer.start()
        freight.ride(1e3)
        if measured:
            assert not any(span.name == "gauge" for span in timer.stop())
        got = torch.autograd.grad(loss, [x, *ws])
        assert all(np.array_equal(N(a), b) for a, b in zip(got, want, strict=True))
        assert freight.gauge is None and min(freight.away.rate, freight.home.rate) > 0


def test_mutated_and_freed_sources_1000_times(freight):
    """Moves that wait, that are halfway, and that are done, while others take the memory."""
    x, ws = operands(layers=1)
    freight.away.rate = freight.home.rate = 0.05

    def between(turn):
        if turn % 3:
            x @ ws[0]

    race("webgpu", 1000, between)
    assert freight.gpu.traits.is_software is (freight.carried == 0)


def test_times_and_bytes_of_what_rides(carried):
    if not carried.gpu.traits.timestamps:
        pytest.skip("no timestamps")
    x, ws = operands(layers=3)
    timer = Timer(carried.dock.home)
    torch.webgpu.synchronize()
    before = dict(carried.dock.moved)
    timer.start()
    with graph.save_on_cpu(prefetch=2):
        loss = network(x, ws)
    torch.webgpu.synchronize()
    torch.autograd.grad(loss, ws)
    spans = timer.stop()
    products = [(s.begin, s.end) for s in spans if s.name.startswith("mm")]
    for way in ("d2h", "h2d"):
        moved = [s for s in spans if s.kind == way]
        assert sum(s.nbytes for s in moved) == carried.dock.moved[way] - before[way] > 0
        assert any((s.begin, s.end) in products for s in moved)
