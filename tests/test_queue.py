"""When recorded dispatches are submitted."""

import pytest

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.device import Device


@pytest.fixture
def idle(webgpu, monkeypatch):
    """A queue that takes its GPU for a real one, which has nothing to do."""
    queue = backend(Device(webgpu)).queue
    torch.webgpu.synchronize()
    monkeypatch.setattr(queue, "eager", True)
    queue.waited()
    yield queue
    monkeypatch.undo()
    torch.webgpu.synchronize()


def test_an_idle_gpu_gets_little_work_at_once(idle):
    x = torch.ones(4, 4, device="webgpu")
    before = idle.counted["submits"]
    for _ in range(20):
        x = x.sum(0, keepdim=True) + torch.ones(4, 4, device="webgpu")
    assert idle.counted["submits"] == before
    assert x.tolist() and idle.counted["submits"] == before + 1


def test_an_idle_gpu_gets_much_work_soon_and_then_in_larger_portions(idle):
    idle.work = 1.0
    idle.feed((1000, 1, 1), 0.0)
    assert idle.work == 1 + 2500 + 10 * 1000
    idle.feed((1, 1, 1), 200_000.0)  # what is known of a kernel counts
    assert idle.work == 0 and idle.enough == 300_000 and idle.idle
    idle.waited()
    assert idle.idle and idle.enough == 150_000


def test_portions_double_so_that_a_gpu_does_not_run_dry(idle, monkeypatch):
    sizes, submit = [], type(idle).submit
    monkeypatch.setattr(type(idle), "submit", lambda q: (sizes.append(q.waiting), submit(q))[1])
    feed, home = type(idle).feed, backend(Device("webgpu"))
    monkeypatch.setattr(type(idle), "feed", lambda q, groups, _: feed(q, groups, 1e5))
    x = torch.ones(4, 4, device="webgpu")
    for n in range(120):
        home.fill((x + n).value)
    assert sizes == [2, 3, 6, 12, 24, 48] and not idle.idle  # it has enough to do


def test_a_software_adapter_gets_all_at_once(webgpu):
    queue = backend(Device(webgpu)).queue
    if queue.eager:
        pytest.skip("a GPU")
    x = torch.ones(1 << 20, device=webgpu)
    torch.webgpu.synchronize()
    before = queue.counted["submits"]
    for _ in range(10):
        x = x + x.sum()
    assert queue.counted["submits"] == before and x[0].item() > 1
