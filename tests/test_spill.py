"""Saved tensors on a disk: nothing left behind, nothing changed unseen, room found in time."""

import errno
import gc
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest
from recorder import N, T, close, graph, ramp

import wgtorch as torch
from wgtorch.autograd import spill, spill_file
from wgtorch.autograd.ledger import ledger_of
from wgtorch.autograd.spill import alive
from wgtorch.autograd.spill_file import OnDisk, SpillFile, padded

ROOT = Path(__file__).parents[1]


def network(x, length=6):
    h = x
    for i in range(length):
        h = [torch.tanh, torch.sigmoid, torch.sin][i % 3](h) * 1.1
    return (h.softmax(-1) * h).sum()


def settled():
    """Once no thread holds what it has just written."""
    met = threading.Barrier(spill.WRITERS)
    for job in [spill.workers().submit(met.wait, 30) for _ in range(spill.WRITERS)]:
        job.result()
    gc.collect()
    return OnDisk.current


@pytest.mark.parametrize("budget", [0, 0.01, 256])
@pytest.mark.parametrize("prefetch", [0, 2])
def test_gradients_are_bitwise_equal(device, tmp_path, budget, prefetch):
    x = ramp((33, 24), device, grad=True)
    want = torch.autograd.grad(network(x), x)[0]
    before = settled()
    context = graph.spill_to_disk(tmp_path, budget, prefetch=prefetch)
    with context:
        loss = network(x)
    assert context.desk.held <= budget * 2**20
    assert (OnDisk.current > before) is (budget < 1)
    assert np.array_equal(N(torch.autograd.grad(loss, x, retain_graph=True)[0]), N(want))
    assert np.array_equal(N(torch.autograd.grad(loss, x)[0]), N(want))
    del loss
    assert settled() == before and context.desk.held == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "uint8", "bool"])
def test_every_dtype_and_view_comes_back(device, tmp_path, dtype):
    base = torch.tensor([[0, 1, 2, 7], [3, 250, 7, 1]], device=device).to(getattr(torch, dtype))
    for x in (base, base.t(), base[:, ::2], base[1:], base[:, :1].expand(2, 5)):
        p = T([2.0], device, grad=True)
        with graph.spill_to_disk(tmp_path, 0, min_size=0):
            node = (x * p).grad_fn
        assert type(node._raw_saved_self.data) is spill.Slip
        back = node._saved_self
        assert back.dtype is x.dtype and back.device == x.device and back.stride() == x.stride()
        assert back.cpu().tolist() == x.cpu().tolist()


def test_what_stays_where_it_is(device, tmp_path):
    p = torch.nn.Parameter(ramp((16, 16), device))
    x = ramp((4, 16), device, grad=True)
    with graph.spill_to_disk(tmp_path, 0, min_size=512):
        y = x @ p
    assert type(y.grad_fn._raw_saved_mat2.data) is not spill.Slip  # a parameter
    assert type(y.grad_fn._raw_saved_self.data) is not spill.Slip  # 256 bytes
    with graph.spill_to_disk(tmp_path, 0, min_size=0, offload_parameters=True):
        y = x @ p
    assert type(y.grad_fn._raw_saved_mat2.data) is spill.Slip
    e = torch.zeros((0, 3), device=device).requires_grad_(True)
    with graph.spill_to_disk(tmp_path, 0, min_size=0):
        (e * e).sum().backward()
    assert tuple(e.grad.shape) == (0, 3)


def test_writes_after_saving_are_not_seen(device, tmp_path):
    for budget in (0, 1):
        x = ramp((40,), device, grad=True)
        h = x * 1.0
        with graph.spill_to_disk(tmp_path, budget, min_size=0):
            y = h * h
        with torch.no_grad():
            h[:20].mul_(100.0)
            h.add_(1.0)
        y.sum().backward()
        close(x.grad, 2 * np.linspace(-1, 1.5, 40), atol=1e-5)


def test_what_several_slots_save_is_written_once(device, tmp_path):
    x = ramp((1024,), device, grad=True)
    written = OnDisk.written
    context = graph.spill_to_disk(tmp_path, 0.5)
    with context:
        h = x.tanh()
        y = h.sin() + h.cos()
    records = context.desk.waiting
    context.desk.budget = 0
    context.desk.make_room()
    assert OnDisk.written - written == 4096 and len(records) >= 1
    y.sum().backward()
    t = np.tanh(np.linspace(-1, 1.5, 1024))
    close(x.grad, (np.cos(t) - np.sin(t)) * (1 - t * t), rtol=1e-3, atol=1e-5)


def test_memory_keeps_to_the_budget(device, tmp_path):
    x = ramp((64, 256), device, grad=True)  # 64 KiB a slot
    budget = 0.25
    context = graph.spill_to_disk(tmp_path, budget)
    most = []
    hold = context.desk.hold

    def watched(nbytes):
        hold(nbytes)
        most.append(context.desk.held)

    context.desk.hold = watched
    with context:
        loss = network(x, 20)
    assert len(most) > 20
    assert max(most) <= budget * 2**20 + 64 * 256 * 4
    assert len(context.desk.waiting) <= 2 + budget * 16  # the youngest are in memory
    loss.backward()


def test_unused_graphs_leave_the_disk(device, tmp_path):
    x = ramp((512,), device, grad=True)
    before = settled()
    context = graph.spill_to_disk(tmp_path, 0)
    ends = set()
    for _ in range(30):
        with context:
            loss = network(x)
        assert OnDisk.current > before
        ends.add(context.desk.file.end)
        del loss
    assert settled() == before and len(ends) == 1 and context.desk.file.end == 0
    assert len(context.desk.leaving) < 50 and len(context.desk.waiting) < 50


def test_forms(device, tmp_path):
    x = ramp((300,), device, grad=True)
    want = torch.autograd.grad(network(x), x)[0]
    for loss in (
        graph.spill_to_disk(lambda: network(x), tmp_path, 0),
        graph.spill_to_disk(fn=lambda: network(x), folder=str(tmp_path), budget=0),
    ):
        close(torch.autograd.grad(loss, x)[0], want)
    for wrong in ({"budget": -1}, {"limit": "2"}, {"prefetch": -1}):
        with pytest.raises(ValueError, match="spill_to_disk: " + next(iter(wrong))):
            graph.spill_to_disk(tmp_path, **wrong)


# Bytes that change


@pytest.mark.parametrize("prefetch", [0, 2])
def test_every_flipped_bit_is_found(device, tmp_path, prefetch):
    x = ramp((256,), device, grad=True)
    context = graph.spill_to_disk(tmp_path, 0, prefetch=prefetch)
    with context:
        loss = x.exp().sum()
    handle = context.desk.file.file.fileno()
    plain = os.pread(handle, 1024, 0)
    want = N(torch.autograd.grad(loss, x, retain_graph=True)[0])
    rng = np.random.default_rng(0)
    places = {0, 1, 7, 8, 4095, 8191, *(int(n) for n in rng.integers(0, 8192, 60))}
    for bit in places:
        flipped = bytearray(plain)
        flipped[bit // 8] ^= 1 << bit % 8
        os.pwrite(handle, flipped, 0)
        with pytest.raises(RuntimeError, match=r"1024 bytes of a saved tensor of shape \[256\]"):
            torch.autograd.grad(loss, x, retain_graph=True)
    os.pwrite(handle, plain, 0)  # the graph is as it was
    assert np.array_equal(N(torch.autograd.grad(loss, x)[0]), want)


def test_a_file_cut_short_is_found(device, tmp_path):
    x = ramp((256,), device, grad=True)
    context = graph.spill_to_disk(tmp_path, 0)
    with context:
        loss = x.exp().sum()
    os.ftruncate(context.desk.file.file.fileno(), 100)
    with pytest.raises(RuntimeError, match="came back changed from the disk"):
        loss.backward()
    assert x.grad is None


# No room


def test_a_full_disk_is_found_when_saving(device, tmp_path):
    x = ramp((4096,), device, grad=True)  # 16 KiB a slot
    context = graph.spill_to_disk(tmp_path, 0, limit=0.04)
    no_room = pytest.raises(OSError, match=r"no room for 0.0 MiB beside 0.0 MiB in .*: the limit")
    with no_room as e, context:
        a = x.exp()
        b = (a * 2).sin()
        b.cos()
    assert e.value.errno == errno.ENOSPC
    assert context.desk.held <= 4 * 4096
    want = 2 * np.cos(2 * np.exp(N(x))) * np.exp(N(x))
    b.sum().backward()  # what was saved before is unharmed
    close(x.grad, want, rtol=1e-4, atol=1e-5)
    x.grad = None
    del a, b
    with context:  # and there is room again
        x.exp().sum().backward()
    close(x.grad, np.exp(N(x)), rtol=1e-5)


def test_free_space_is_asked_for(device, tmp_path, monkeypatch):
    usage = spill_file.shutil.disk_usage(tmp_path)._replace(free=spill_file.SPARE + 1000)
    monkeypatch.setattr(spill_file.shutil, "disk_usage", lambda folder: usage)
    x = ramp((4096,), device, grad=True)
    with (
        pytest.raises(OSError, match="64.0 MiB are free, of which 64.0 MiB stay so"),
        graph.spill_to_disk(tmp_path, 0),
    ):
        x.exp()


def test_a_write_that_fails_keeps_the_bytes(device, tmp_path, monkeypatch):
    x = ramp((4096,), device, grad=True)

    def fail(file, offset, data):
        raise OSError(errno.EIO, "the disk is gone")

    context = graph.spill_to_disk(tmp_path, 0)
    with monkeypatch.context() as patch:
        patch.setattr(SpillFile, "write", fail)
        with pytest.raises(OSError, match="the disk is gone"), context:
            x.exp()
    with context:
        y = x.exp()
    y.sum().backward()
    close(x.grad, np.exp(N(x)), rtol=1e-5)

    loose = graph.spill_to_disk(tmp_path, 0.02)
    with monkeypatch.context() as patch:
        patch.setattr(SpillFile, "write", fail)
        with loose:
            y = x.exp()
            with pytest.raises(OSError, match="the disk is gone"):
                (y * 2).sin()
    x.grad = None
    y.sum().backward()  # its own bytes never left
    close(x.grad, np.exp(N(x)), rtol=1e-5)


# How processes end

ENDS = {
    "normally": "",
    "by an exception": "raise RuntimeError('on purpose')",
    "by sys.exit": "sys.exit(3)",
    "by SIGTERM": "os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)",
    "by os._exit": "os._exit(9)",
    "by SIGKILL": "os.kill(os.getpid(), signal.SIGKILL); time.sleep(60)",
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_left_behind(tmp_path, end):
    code = f"""
        import os, signal, sys, time
        import wgtorch as torch
        from wgtorch.autograd.spill_file import OnDisk
        x = torch.linspace(0, 1, 50000, requires_grad=True)
        with torch.autograd.graph.spill_to_disk({str(tmp_path)!r}, 0):
            loss = x.exp().sin().sum()
        print(OnDisk.current, flush=True)
        {ENDS[end]}
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert int(done.stdout) >= 200_000, done.stderr
    assert (done.returncode == 0) is (end == "normally")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="resource limits")
def test_a_file_that_may_not_grow(tmp_path):
    """The system's own refusal, with the same words."""
    code = f"""
        import resource
        import wgtorch as torch
        x = torch.linspace(0, 1, 1 << 18, requires_grad=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        with torch.autograd.graph.spill_to_disk({str(tmp_path)!r}, 0):
            y = x.exp()
            try:
                (y * 2).sin()
            except OSError as error:
                print(error)
        y.sum().backward()
        print(float((x.grad - y).abs().max()))
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    assert "no room for 1.0 MiB beside 1.0 MiB" in lines[0], done.stderr
    assert float(lines[1]) == 0.0


# The file


def test_places_are_used_again(tmp_path):
    file = SpillFile(tmp_path, None)
    a, b, c = file.take(5000), file.take(4096), file.take(1)
    assert (a, b, c) == (0, 8192, 12288) and file.end == 16384
    file.give(a, 5000)
    assert file.free == [(0, 8192)] and file.take(100) == 0
    file.give(b, 4096)
    assert file.free == [(4096, 8192)]
    assert file.take(8000) == 4096
    file.give(4096, 8000)
    file.give(c, 1)
    assert file.free == [(4096, 12288)] and file.end == 16384
    file.give(0, 100)
    assert file.end == file.live == 0 and not file.free
    assert os.fstat(file.file.fileno()).st_size == 0


def test_the_usual_folder_is_the_users_cache(tmp_path, monkeypatch):
    if sys.platform not in ("win32", "darwin"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert spill_file.usual_folder() == tmp_path / "wgtorch" / "spill"
        assert graph.spill_to_disk().folder == tmp_path / "wgtorch" / "spill"
        assert not list(tmp_path.iterdir())  # made when there is something to write


def test_the_ledger_knows_what_is_on_the_disk(device, tmp_path):
    x = ramp((64, 256), device, grad=True)
    ledger = ledger_of(torch.device(device))

    def held(place):
        gc.collect()
        return ledger.stats()[f"saved_tensors.{place}_bytes.current"]

    before = {place: held(place) for place in ("host", "disk")}
    context = graph.spill_to_disk(tmp_path, 0)
    with context:
        loss = network(x, 4)
    written = sum(padded(r.nbytes) for r in alive(context.desk.leaving)) or OnDisk.current
    assert held("disk") - before["disk"] > 0 and written > 0
    whole = graph.spill_to_disk(tmp_path, 64)
    with whole:
        other = network(x, 4)
    assert held("host") - before["host"] >= whole.desk.held > 0
    on_disk = held("disk")
    whole.desk.budget = 0
    whole.desk.make_room()
    assert held("disk") == 2 * on_disk - before["disk"] and whole.desk.held == 0
    (loss + other).backward()
    del loss, other
    assert {place: held(place) for place in ("host", "disk")} == before


def test_what_is_collected_while_room_is_sought(tmp_path):
    file = SpillFile(tmp_path, None)
    first, second = file.take(1000), file.take(1000)
    with file.lock:
        file.give(first, 1000)  # as a finalizer does
    assert file.take(1000) == first
    file.give(first, 1000), file.give(second, 1000)
    assert file.live == 0 and file.take(10) == 0
