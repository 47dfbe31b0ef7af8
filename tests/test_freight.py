"""Copies that ride in products of matrices: the same bytes, whoever carries them."""

import numpy as np
import pytest
from recorder import N, graph

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.backends.webgpu.freight import QUAD, Freight
from wgtorch.device import Device


@pytest.fixture
def freight(either_share):
    """On the kernels of this adapter, and on those of the other class."""
    home = backend(Device(either_share))
    if not home.dock.round_trip:
        pytest.skip("no memory that both sides see")
    made = Freight(home, bytes_per_flop=1.0, least_bytes=64)
    pool = home.dock.pool
    made.start()
    yield made
    made.stop()
    home.dock.pool = pool


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


@pytest.mark.parametrize("share", [1.0, 1e-3])
@pytest.mark.parametrize("prefetch", [0, 1, 3])
def test_gradients_are_the_same(freight, share, prefetch):
    freight.bytes_per_flop = share
    x, ws = operands()
    want = [N(g) for g in torch.autograd.grad(network(x, ws), [x, *ws])]
    for _ in range(3):
        with graph.save_on_cpu(prefetch=prefetch):
            loss = network(x, ws)
        got = torch.autograd.grad(loss, [x, *ws])
        for a, b in zip(got, want, strict=True):
            assert np.array_equal(N(a), b)
    tiles = any(kernel is not None for kernel in freight.carriers.values())
    assert tiles is (freight.carried > 0)
    if freight.home.gpu.traits.is_software is False:  # those for GPUs can carry
        assert tiles and freight.carried >= QUAD


def test_what_is_needed_early_is_copied(freight):
    x, _ = operands(layers=1)
    y = (x.detach() * 3).to("cpu")
    freight.queue.flush()
    assert np.array_equal(y.numpy(), 3 * N(x))
    assert not freight.moves


def test_writes_and_frees_while_moves_wait(freight):
    x, ws = operands(layers=2)
    for turn in range(20):
        h = x.detach().requires_grad_(True) * 2.0
        with graph.save_on_cpu(prefetch=turn % 3):
            y = (h * h).sum()
        data = N(h)
        if turn % 2:
            h.mul_(100.0)
        else:
            del h
        for _ in range(3):
            torch.full((64, 64), float(turn), device="webgpu").add_(1)
        if turn % 4 == 0:
            x @ ws[0]
        assert np.isclose(y.item(), (data * data).sum(), rtol=1e-4)


def test_what_waits_is_bounded(freight, monkeypatch):
    monkeypatch.setattr("wgtorch.backends.webgpu.freight.MOST", 3 * 64 * 64 * 4)
    x, _ = operands()
    with graph.save_on_cpu():
        h = x
        for _ in range(6):
            h = h.tanh()
        freight.queue.flush()
    assert sum(move.nbytes for move in freight.moves) <= 3 * 64 * 64 * 4
    (grad,) = torch.autograd.grad(h.sum(), x)
    assert np.isfinite(N(grad)).all()
