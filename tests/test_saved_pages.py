"""The pages on where saved tensors wait: what they print is so, on both devices."""

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import budget
import offload
import spill
import trace_step

SMALL = ["--steps", "1", "--layers", "2", "--batch", "8", "--width", "32", "--length", "32"]


def run(page, device):
    return page.main(["--device", device, *SMALL])


def test_offload(device, capsys, rounding):
    plain, *away = run(offload, device)
    out = capsys.readouterr().out
    assert len(away) == 3 and max([cost.error for cost in away]) <= rounding
    if device == "cpu":
        assert out.endswith("nothing moves, and nothing is saved\n")
        return
    for cost in away:
        assert cost.on_device < 0.05 * plain.on_device and cost.on_host >= 0.9 * plain.on_device
    assert away[0].peak < plain.peak - 0.5 * plain.on_device
    assert f"of {plain.on_device:,} bytes" in out


def test_spill(device, capsys, rounding):
    plain, whole, some, late = run(spill, device)
    assert max(whole.error, some.error, late.error) <= rounding
    assert whole.on_disk == late.on_disk > 0 and plain.on_disk == some.on_disk == 0
    if device == "webgpu":
        assert whole.on_device < 0.05 * plain.on_device
    assert "left behind: 0 files" in capsys.readouterr().out


def test_budget(device, capsys, rounding):
    plain, *costs = run(budget, device)
    assert len(costs) == 4 and max([cost.error for cost in costs]) <= rounding
    lines = re.findall(r"held at most ([\d,]+) bytes, sent away ([\d,]+)", capsys.readouterr().out)
    held, gone = zip(*[[int(n.replace(",", "")) for n in line] for line in lines], strict=True)
    assert len(held) == 4 and gone[0] == 0 < gone[1]
    if device == "webgpu":
        assert list(held) == sorted(held, reverse=True) and list(gone) == sorted(gone)
        assert gone[3] <= held[0] + 100
        kept = [cost.on_device for cost in costs]
        assert kept == sorted(kept, reverse=True) and kept[0] == plain.on_device


def test_trace_step(device, capsys):
    events = run(trace_step, device)
    out = capsys.readouterr().out
    packs = int(re.search(r"saved_tensors::pack +(\d+) events", out)[1])
    assert packs == sum(event.name == "saved_tensors::pack" for event in events) > 10
    tops = [event.name for event in events if event.cpu_parent is None and not event.is_on_device]
    assert {"forward", "backward", "wait"} <= set(tops)
    assert ("Self WebGPU" in out) is (device == "webgpu") and "the trace has" in out


def test_the_benchmark(webgpu, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    bench = import_module("bench_offload")
    png = tmp_path / "lanes.png"
    bench.main(["--png", str(png), "--layers", "1", "--dim", "32", "--seq", "16"])
    out = capsys.readouterr().out
    for row in (
        "device to host: ",
        "plain ",
        "save_on_cpu, 4 ahead",
        "... as int8",
        "to the device",
    ):
        assert f"\n{row}" in f"\n{out}", row
    assert png.read_bytes()[1:4] == b"PNG" and png.stat().st_size > 10_000
    kinds = ("to the host", "to the device")
    moved = [float(re.search(rf"\n{kind} ([\d.]+) MiB", out)[1]) for kind in kinds]
    assert moved[0] > 0 and (moved[1] > 0 or not bench.HOME.dock.round_trip)
