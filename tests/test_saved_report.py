"""Accounts of saved tensors: the report of a graph, and what memory_stats counts, to the byte."""

import contextlib
import functools
import threading

import numpy as np
import pytest
from recorder import Box, N, T, close, graph, ramp, same

import wgtorch as torch
from wgtorch import nn
from wgtorch.autograd.ledger import PLACES
from wgtorch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts


def stats(device, word):
    return torch.memory_stats(device)[f"saved_tensors.{word}"]


def settle(device):
    if device == "webgpu":
        torch.webgpu.synchronize()


@pytest.fixture
def model(device):
    layers = [nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Dropout(0.5), nn.Linear(32, 7)]
    return nn.Sequential(*layers).to(device)


def place_of(device):
    return "host" if device == "cpu" else "device"


def test_a_row_for_every_slot(device):
    x, h = T([[1.0, 2.0]], device, grad=True), T([[3.0, 4.0]], device)
    y = (x * h).exp() * x.relu()
    report = graph.saved_tensor_report(y.sum())
    facts = [(row.op, row.slot, row.shape, row.nbytes) for row in report]
    assert facts == [
        ("mul", "other", (1, 2), 8),
        ("exp", "result", (1, 2), 8),
        ("relu", "result", (1, 2), 8),
        ("mul", "input", (1, 2), 8),
        ("mul", "other", (1, 2), 8),
    ]
    groups = [row.alias for row in report]
    assert groups[1] == groups[3] and groups[2] == groups[4]
    assert len(set(groups)) == 3  # h, exp, relu
    assert {row.where for row in report} == {place_of(device)} and len(report) == 5
    assert report.bytes_in(place_of(device)) == 3 * 8 and report.nbytes == 5 * 8
    assert all(row.dtype is torch.float32 and row.device.type == device for row in report)


def test_views_of_parameters_hold_nothing(device):
    """Those that ops make for themselves, too: a norm's weight in the shape of its input."""
    layer = nn.BatchNorm2d(3).to(device)
    x = torch.ones(2, 3, 4, 4, device=device, requires_grad=True)
    for pack in (None, same, lambda t: (t, 1)):
        unpack = same if pack is same else lambda packed: packed[0]
        with graph.saved_tensors_hooks(pack, unpack) if pack else contextlib.nullcontext():
            y = layer(x)
        (row,) = [r for r in graph.saved_tensor_report(y) if r.slot == "weight"]
        assert (row.where, row.held) == ("parameter", 0)


def test_looking_unpacks_nothing(device):
    x = T([1.0, 2.0], device, grad=True)

    def unpack(packed):
        raise AssertionError("the report must not unpack")

    with graph.saved_tensors_hooks(lambda t: Box(t.detach().clone()), unpack):
        y = x.exp()
    (row,) = graph.saved_tensor_report(y)
    assert row.held == 8 and row.where == place_of(device)


def test_parameters_cost_nothing_more(device, model):
    loss = model(ramp((4, 16), device)).sum()
    report = graph.saved_tensor_report(loss)
    parameters = [row for row in report if row.where == "parameter"]
    assert {row.shape for row in parameters} == {(7, 32), (32,)}
    assert all(row.held == 0 for row in parameters)
    assert [row.op for row in report].count("linear") == 3


def test_it_agrees_with_memory_stats_to_the_byte(device, model):
    x = ramp((5, 16), device)
    place = place_of(device)
    before = stats(device, f"{place}_bytes.current"), stats(device, "packs.total")
    with graph.saved_tensors_hooks(same, same):
        loss = model(x).sum()
    report = graph.saved_tensor_report(loss)
    assert stats(device, f"{place}_bytes.current") - before[0] == report.bytes_in(place) > 0
    assert stats(device, "packs.total") - before[1] == len(report)
    unpacks = stats(device, "unpacks.total")
    loss.backward()
    assert stats(device, "unpacks.total") - unpacks == len(report)
    assert stats(device, f"{place}_bytes.current") == before[0]


def test_it_agrees_with_what_the_device_has_allocated(webgpu):
    model = nn.Sequential(nn.Linear(16, 33), nn.GELU(), nn.ReLU(), nn.Linear(33, 7)).to(webgpu)

    def forward():
        # what is saved and nothing else: the input, of which only the graph knows, and results
        return model(ramp((5, 16), webgpu, grad=True) * 2).sum()

    forward().backward()
    settle(webgpu)
    before = torch.memory_stats()["allocated_bytes.all.current"]
    loss = forward()
    loss.item()
    leaves = 5 * 16 * 4  # held by its AccumulateGrad
    more = torch.memory_stats()["allocated_bytes.all.current"] - before
    report = graph.saved_tensor_report(loss)
    assert more == report.bytes_in("device") + leaves + 4


def test_on_the_host_after_save_on_cpu(webgpu):
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 7)).to(webgpu)
    x = ramp((5, 16), webgpu)
    before = stats(webgpu, "host_bytes.current")
    with graph.save_on_cpu():
        loss = model(x).sum()
    report = graph.saved_tensor_report(loss)
    host = stats(webgpu, "host_bytes.current") - before
    assert host == report.bytes_in("host") == 4 * (5 * 16 + 5 * 32 + 5 * 32)
    assert report.bytes_in("device") == 0
    assert {row.where for row in report} == {"host", "parameter"}
    loss.backward()
    assert stats(webgpu, "host_bytes.current") == before


@pytest.mark.parametrize("way", ["chosen", "shared", "in a budget", "composed", "by hand"])
def test_it_agrees_where_tensors_move_late_within_others(device, way, tmp_path):
    """The disk is written to after packing, and a budget lets go later still."""
    budget = 6000 / 2**20
    spill = graph.spill_to_disk(tmp_path, budget, min_size=0)
    pair = {
        "chosen": lambda: graph.pair_if(lambda op, slot, t: op != "exp", spill),
        "shared": lambda: graph.share_packed(graph.device_budget(budget, then=spill)),
        "in a budget": lambda: graph.device_budget(budget, then=spill),
        "composed": lambda: graph.compose_hooks(spill, graph.saved_tensors_hooks(
            lambda t: {"a copy": t.clone()}, lambda packed: packed["a copy"])),
        "by hand": lambda: graph.saved_tensors_hooks(
            lambda t: (spill.pack_hook(t), t.shape), lambda packed: spill.unpack_hook(packed[0])),
    }[way]()  # fmt: skip
    x = ramp((16, 64), device, grad=True)
    before = {place: stats(device, f"{place}_bytes.current") for place in PLACES}
    with pair:
        y = x.exp()
        loss = (y * y.sin() * y).tanh().sum()
    spill.desk.budget = 0
    spill.desk.make_room()
    settle(device)
    report = graph.saved_tensor_report(loss)
    for place in PLACES:
        assert stats(device, f"{place}_bytes.current") - before[place] == report.bytes_in(place)
    assert report.bytes_in("disk") >= 12288
    loss.backward()
    close(x.grad, derivative(N(x)), rtol=1e-3, atol=1e-4)
    del y, loss, report
    assert {place: stats(device, f"{place}_bytes.current") for place in PLACES} == before


def derivative(a):
    """Of tanh(y * sin(y) * y) for y = exp(a)."""
    y = np.exp(a)
    return (1 - np.tanh(y * y * np.sin(y)) ** 2) * (2 * y * np.sin(y) + y * y * np.cos(y)) * y


@pytest.mark.parametrize("outside", ["save_on_cpu", "device_budget"])
def test_it_agrees_on_what_a_selective_checkpoint_keeps(device, outside):
    contexts = functools.partial(create_selective_checkpoint_contexts, ["exp", "add"])
    x = ramp((16, 64), device, grad=True)
    before = {place: stats(device, f"{place}_bytes.current") for place in PLACES}
    with graph.save_on_cpu() if outside == "save_on_cpu" else graph.device_budget(4096 / 2**20):
        y = checkpoint(lambda t: t.exp() * t.sin() + t, x * 1, context_fn=contexts)
        loss = (y.exp() * y).sum()
    settle(device)
    report = graph.saved_tensor_report(loss)
    for place in PLACES:
        assert stats(device, f"{place}_bytes.current") - before[place] == report.bytes_in(place)
    assert sum(report.bytes_in(place) for place in PLACES) >= 4 * 4096
    del y, loss, report
    assert {place: stats(device, f"{place}_bytes.current") for place in PLACES} == before


def test_every_place_has_its_name(device, tmp_path):
    x = ramp((64, 64), device, grad=True)
    pairs = {
        "compressed": graph.compress("int8"),
        "nowhere": graph.saved_tensors_hooks(lambda t: str(tmp_path), same),
    }
    for where, pair in pairs.items():
        with pair:
            (row,) = graph.saved_tensor_report(x.sin())
        assert row.where == where
    (row,) = graph.saved_tensor_report(checkpoint(torch.sin, x * 2))
    assert row.where == "recompute" and row.held == 64 * 64 * 4


def test_memory_shared_by_slots_counts_once(device):
    h = ramp((8, 8), device, grad=True) * 2
    before = stats(device, f"{place_of(device)}_bytes.current")
    with graph.saved_tensors_hooks(same, same):
        y = h * h + h.sin() + h[2:].cos().sum()
    del h
    report = graph.saved_tensor_report(y)
    assert report.bytes_in(place_of(device)) == 256 and report.nbytes == 3 * 256 + 192
    assert stats(device, f"{place_of(device)}_bytes.current") - before == 256
    assert len({row.alias for row in report}) == 1
    del y, report
    assert stats(device, f"{place_of(device)}_bytes.current") == before


def test_peaks_are_kept_until_reset(device):
    x = ramp((32,), device, grad=True)
    torch.reset_peak_memory_stats(device)
    key = f"{place_of(device)}_bytes.peak"
    before = stats(device, key)
    with graph.saved_tensors_hooks(lambda t: t.detach().clone(), same):
        x.exp()
        x.exp()
    assert stats(device, key) == before + 128
    torch.reset_peak_memory_stats(device)
    assert stats(device, key) == before


def test_it_prints_a_table(device):
    x = T([1.0, 2.0], device, grad=True)
    lines = str(graph.saved_tensor_report(x.sin().exp())).splitlines()
    assert lines[0].split() == ["op", "slot", "shape", "dtype", "bytes", "where", "held", "alias"]
    assert lines[2].split() == ["sin", "input", "[2]", "float32", "8", place_of(device), "8", "0"]
    sums = {"cpu": "0 on device, 16 on host", "webgpu": "16 on device, 0 on host"}[device]
    assert lines[-1] == f"2 slots of 16 bytes; held: {sums}, 0 on disk"
    short = graph.saved_tensor_report(x.sin().exp()).table(row_limit=1)
    assert "... 1 more" in short and "exp" not in short


def test_sums_by_op(device):
    x = ramp((4, 4), device, grad=True)
    groups = graph.saved_tensor_report([x.sin(), x.cos() * x]).by(lambda row: row.op)
    assert {op: rows.nbytes for op, rows in groups.items()} == {"sin": 64, "cos": 64, "mul": 128}
    with pytest.raises(ValueError, match="place is one of device, host, disk; got 'attic'"):
        groups["sin"].bytes_in("attic")


def test_functions_and_freed_graphs(device):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None, x * x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad):
            return 3 * ctx.saved_tensors[2] * grad

    x = T([2.0], device, grad=True)
    y = Cube.apply(x)
    slots = [(row.op, row.slot) for row in graph.saved_tensor_report(y)]
    assert slots == [("CubeBackward", "saved_tensors[0]"), ("CubeBackward", "saved_tensors[2]")]
    y.sum().backward()
    assert len(graph.saved_tensor_report(y)) == 0 and N(x.grad) == np.float32(12.0)


def test_it_can_be_drawn(device, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    x = ramp((32, 32), device, grad=True)
    with graph.compress("int8"):
        y = x.sin()
    report = graph.saved_tensor_report([y, x.cos()])
    figure = graph.plot_saved_tensors(report, tmp_path / "saved.png")
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "sin.input [32, 32]", "cos.input [32, 32]",
    ]  # fmt: skip
    widths = {round(bar.get_width() * 1024) for bar in axes.patches}
    assert widths == {row.held for row in report} | {4096}
    assert (tmp_path / "saved.png").stat().st_size > 5000


def test_what_moves_later_is_counted_where_it_is_then(webgpu):
    """A budget sends the oldest away while forward goes on: the accounts follow."""
    x = ramp((32, 32), webgpu, grad=True)
    before = {place: stats(webgpu, f"{place}_bytes.current") for place in ("device", "host")}
    with graph.device_budget(2 * 4096 / 2**20):
        y = x.sin().exp().cos().tanh()
        y = y * y
    report = graph.saved_tensor_report(y.sum())
    for place, bytes_ in before.items():
        now = stats(webgpu, f"{place}_bytes.current") - bytes_
        assert now == report.bytes_in(place) > 0
    del y, report
    for place, bytes_ in before.items():
        assert stats(webgpu, f"{place}_bytes.current") == bytes_


def test_threads_share_one_ledger(device):
    x = ramp((64,), device, grad=True)
    place = f"{place_of(device)}_bytes.current"
    before, packs = stats(device, place), stats(device, "packs.total")

    def work():
        for _ in range(20):
            with graph.saved_tensors_hooks(lambda t: Box(t.detach().clone()), lambda box: box.t):
                y = x.sin().exp()
            del y

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert stats(device, place) == before and stats(device, "packs.total") - packs == 160
