"""When recorded dispatches are submitted."""

import pytest

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.backends.webgpu import native
from wgtorch.backends.webgpu import queue as queues
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
    for _ in range(10):
        x = x.sum(0, keepdim=True) + torch.ones(4, 4, device="webgpu")
    assert idle.counted["submits"] == before
    assert x.tolist() and idle.counted["submits"] == before + 1


def test_work_is_guessed_by_workgroups_where_it_is_not_known(idle):
    x, home = torch.ones(64, 64, device="webgpu").clone(), backend(Device("webgpu"))
    home.fill(x.value)
    idle.flush()
    home.fill((x + 1).value)
    assert idle.work == queues.LAUNCH + 4 * queues.TURN  # 1024 elements each
    before = idle.work
    idle.dispatch = lambda *args, known=idle.dispatch: known(*args[:4], 7000.0)
    home.fill((x + 2).value)
    del idle.dispatch
    assert idle.work == before + 7000
    torch.webgpu.synchronize()
    assert idle.work == 0


def test_portions_double_so_that_a_gpu_does_not_run_dry(idle, monkeypatch):
    sizes, submit = [], type(idle).submit
    monkeypatch.setattr(type(idle), "submit", lambda q: (sizes.append(q.waiting), submit(q))[1])
    monkeypatch.setattr(queues, "LAUNCH", queues.WORTH * 2 / 3)
    x, home = torch.ones(4, 4, device="webgpu"), backend(Device("webgpu"))
    for n in range(120):
        home.fill((x + n).value)
    assert sizes == [2, 3, 6, 12, 24, 48] and not idle.idle  # it has enough to do
    torch.webgpu.synchronize()
    assert idle.idle and idle.enough == queues.WORTH


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


@pytest.mark.parametrize("spin, asked", [(10.0, [False, False, False]), (0.0, [True])])
def test_a_wait_for_a_gpu_asks_before_it_sleeps(idle, monkeypatch, spin, asked):
    if not isinstance(idle, native.NativeQueue):
        pytest.skip("the public API has no such wait")
    calls, answers = [], [2, 2, 3]  # of which the lowest bit counts
    monkeypatch.setattr(
        native, "poll", lambda _, sleeps, __: calls.append(sleeps) or answers[len(calls) - 1]
    )
    monkeypatch.setattr(native, "SPIN", spin)
    idle.wait()
    assert calls == asked
