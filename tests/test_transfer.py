"""Transfers are promises: nothing waits, nothing is copied, before somebody needs it."""

import gc

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.backends.webgpu import native, transfer


@pytest.fixture
def gpu():
    return backend(torch.tensor([0.0], device="webgpu").device)


@pytest.fixture
def maps(monkeypatch):
    """How often memory was mapped, which is what waits."""
    seen, mapped = [], transfer.mapped
    monkeypatch.setattr(transfer, "mapped", lambda *a: (seen.append(a), mapped(*a))[1])
    return seen


def normal(*shape, **facts):
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    return array, torch.tensor(array, device="webgpu", **facts)


def test_to_cpu_is_a_promise(gpu, maps):
    array, x = normal(5, 7)
    there = (x * 2).to("cpu")
    assert there.device.type == "cpu" and there.value.promise and not maps
    np.testing.assert_allclose((there + 1).numpy(), array * 2 + 1, rtol=1e-6)
    assert len(maps) == 1


def test_of_a_large_value_only_the_part_that_is_asked_for_travels(gpu):
    x = torch.arange(1 << 20, device="webgpu").reshape(1024, 1024)
    before = gpu.dock.moved["d2h"]
    assert x[3, 5].item() == 3 * 1024 + 5
    assert x[2:4, 7].tolist() == [2 * 1024 + 7, 3 * 1024 + 7]
    assert gpu.dock.moved["d2h"] - before == 24
    assert x.T[:3, 1].tolist() == [1024, 1025, 1026]


def test_save_on_cpu_neither_waits_nor_cuts_a_kernel(gpu, maps, monkeypatch):
    array, x = normal(6, 4, requires_grad=True)
    ran, dispatch = [], type(gpu.queue).dispatch
    monkeypatch.setattr(
        type(gpu.queue), "dispatch", lambda q, k, *a: (ran.append(k.label), dispatch(q, k, *a))[1]
    )
    with torch.autograd.graph.save_on_cpu():
        loss = (x.exp().sin() * x).sum()
    assert ran == ["sum<exp+sin+mul>"]
    gpu.queue.flush()  # what was saved has left
    loss.backward()
    assert not maps or not gpu.dock.round_trip
    want = np.sin(np.exp(array)) + array * np.cos(np.exp(array)) * np.exp(array)
    np.testing.assert_allclose(x.grad.cpu().numpy(), want, rtol=1e-4, atol=1e-5)


def test_saved_tensors_leave_the_device_as_soon_as_they_are_made(gpu):
    """Not at the next submit: a small network would otherwise keep them all."""
    _, x = normal(1000, requires_grad=True)
    gpu.queue.flush()
    pool = gpu.gpu.pool
    with torch.autograd.graph.save_on_cpu():
        y = x
        for _ in range(6):
            y = y.exp().sum() * x  # a reduction in between: each exp is a kernel of its own
    before = pool.live.peak = pool.live.current
    with torch.autograd.graph.save_on_cpu():
        for _ in range(6):
            y = y.exp().sum() * x
    assert pool.live.peak - before <= 4 * 4000


def test_a_dropped_download_never_copies(gpu):
    _, x = normal(3)
    gpu.queue.flush()
    x.to("cpu")
    assert gpu.queue.waiting == 0
    gpu.queue.flush()
    assert not gpu.dock.waiting and gpu.queue.waiting == 0


def test_an_array_keeps_its_memory(gpu):
    array, x = normal(64)
    first = x.cpu().numpy()[8:16]  # a view of mapped memory, the rest is dropped
    for number in range(5):
        other = (x * 0 + number).cpu().numpy()
        assert other[0] == number
        del other
        gc.collect()
    np.testing.assert_array_equal(first, array[8:16])


def test_staging_memory_returns(gpu):
    _, x = normal(1000)
    x.cpu().numpy()
    known = len(gpu.dock.pool.blocks)
    for _ in range(5):
        x.cpu().numpy()
    assert len(gpu.dock.pool.blocks) == known


@pytest.mark.parametrize("inside", [False, True])
def test_an_interrupted_read_leaves_the_memory_usable(gpu, inside):
    """Ctrl-C while a read waits, or while Python hears that it is done."""
    queue, x = gpu.queue, torch.arange(4.0, device="webgpu") + 1
    if not isinstance(queue, native.NativeQueue):
        pytest.skip("wgpu-py waits for itself")
    wait = queue.wait

    def interrupt():
        queue.wait = wait
        if not inside:
            raise KeyboardInterrupt
        native.interrupted(KeyboardInterrupt, KeyboardInterrupt(), None)

    queue.wait = interrupt
    try:
        with pytest.raises(KeyboardInterrupt):
            x.tolist()
    finally:
        queue.__dict__.pop("wait", None)
    assert x.tolist() == [1, 2, 3, 4] and (x * 2).sum().item() == 20
    assert not native.interrupts and not native.refusals
