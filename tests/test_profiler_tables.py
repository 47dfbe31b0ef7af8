"""What the profiler adds up and writes down: tables, files, and PyTorch's forms of asking."""

import gzip
import json

import numpy as np
import pytest
from profiled import names, on, step
from recorder import N, ramp

import wgtorch as torch
from wgtorch import profiler as new
from wgtorch.autograd import profiler
from wgtorch.profiler import legacy, table, trace, units
from wgtorch.profiler.patches import straight
from wgtorch.profiler.recorder import Recorder

# Tables and files


def test_the_table(device):
    x = ramp((16, 16), device, grad=True)
    with profiler.profile(use_device=on(device)) as prof:
        for _ in range(3):
            step(x)
    averages = prof.key_averages()
    text = averages.table(sort_by="count", row_limit=2, header="Mine")
    lines = text.splitlines()
    assert "Mine" in lines[1] and "Self CPU %" in text and "# of Calls" in text
    assert len(lines) == 6 + 2 + (2 if device == "webgpu" else 1)
    assert ("Self WebGPU" in text) is (device == "webgpu")
    counts = [int(line.split()[-1]) for line in lines[5:7]]
    assert counts == sorted([a.count for a in averages], reverse=True)[:2]
    assert lines[-1].startswith("Self WebGPU time" if device == "webgpu" else "Self CPU time total")
    for name in table.SORTS:
        assert averages.table(sort_by=name) and averages.table(
            sort_by=name.replace("device", "cuda")
        )
    with pytest.raises(ValueError, match="sort_by is one of"):
        averages.table(sort_by="colour")
    assert "ms" in averages.table(time_unit="ms") and str(prof).count("\n") > 5
    narrow = averages.table(max_name_column_width=12)
    assert "..." in narrow and max(map(len, narrow.splitlines())) < max(map(len, text.splitlines()))
    top = prof.function_events.table(top_level_events_only=True)
    assert "aten::matmul" in top and "aten::mm " not in top


def test_sums(device):
    x = ramp((16, 16), device, grad=True)
    with profiler.profile() as prof:
        step(x)
        step(x)
    events, averages = prof.function_events, prof.key_averages()
    assert sum(a.count for a in averages) == len(events)
    tanh = next(a for a in averages if a.key == "aten::tanh")
    assert tanh.count == 2 and tanh.cpu_time == tanh.cpu_time_total / 2
    total = prof.total_average()
    assert total.count == len(events) and total.key is None
    assert abs(total.self_cpu_time_total - prof.self_cpu_time_total) < 1e-6
    assert "aten::tanh" in repr(tanh) and "FunctionEvent id=" in repr(events[0])
    assert "us" in tanh.cpu_time_str or "ms" in tanh.cpu_time_str


def test_stacks_for_flame_graphs(device, tmp_path):
    x = ramp((16, 16), device, grad=True)
    with profiler.profile(with_stack=True) as prof:
        step(x)
    prof.export_stacks(tmp_path / "stacks.txt")
    lines = (tmp_path / "stacks.txt").read_text().splitlines()
    assert lines and all(line.rsplit(" ", 1)[1].isdecimal() for line in lines)
    assert any(";" in line and "test_profiler_tables.py" in line for line in lines)
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(tmp_path / "no", metric="count")


def test_units():
    assert units.text_of_time(12.3456) == "12.346us" and units.text_of_time(1.5e3) == "1.500ms"
    assert units.text_of_time(2.5e6) == "2.500s" and units.text_of_time(10, "ms") == "0.010ms"
    assert units.text_of_bytes(-2048) == "-2.00 KB" and units.text_of_bytes(7) == "7 B"
    assert units.text_of_share(1, 3) == "33.33%" and units.text_of_share(1, 0) == "NaN"
    assert units.flops_unit(3e9) == (1e9, "Total GFLOPs") and units.flops_unit(5)[0] == 1.0


def test_arguments_are_given_away():
    seen = []

    def call(a, b, *, c):
        seen.append((a, b, c))
        return len(held)

    held = [2, 1]
    assert straight(2, ("c",))(call, held, {"c": 3}) == 0 and seen == [(1, 2, 3)]


# PyTorch's older and newer forms


@pytest.mark.parametrize("name, args, what", [
    ("stop", (), "stopping trace"), ("__exit__", (None, None, None), "stopping trace"),
    ("events", (), "accessing events"), ("key_averages", (), "getting key averages"),
    ("export_chrome_trace", ("x.json",), "exporting chrome trace"),
    ("export_stacks", ("x",), "exporting stacks"),
])  # fmt: skip
def test_a_profile_that_never_began(name, args, what):
    prof = torch.profiler.profile()
    with pytest.raises(AssertionError, match=f"^Profiler must be initialized before {what}$"):
        getattr(prof, name)(*args)


def test_what_ends_twice_or_has_nothing_to_record():
    prof = torch.profiler.profile()
    prof.step()  # begins nothing
    prof.start()
    with pytest.raises(RuntimeError, match="didn't finish running"):
        prof.events()
    prof.stop()
    prof.stop()
    assert prof.events() is not None
    torch.profiler.profile(schedule=torch.profiler.schedule(wait=1, warmup=0, active=1)).stop()
    saves = torch.profiler.profile(schedule=lambda step: new.ProfilerAction.RECORD_AND_SAVE)
    with pytest.raises(AssertionError, match="must be initialized before stopping trace"):
        saves.step()


def test_forms_of_profile(device):
    with profiler.profile(enabled=False) as prof:
        ramp((3,), device).exp()
    assert prof is None
    prof = profiler.profile(use_cuda=device == "webgpu", use_kineto=True)
    assert str(prof) == "<unfinished profiler_legacy.profile>"
    with pytest.raises(RuntimeError, match="didn't finish running"):
        prof.key_averages()
    with prof:
        ramp((3,), device).exp()
        with pytest.raises(RuntimeError, match="already enabled"), profiler.profile():
            pass
    with pytest.raises(RuntimeError, match="not reentrant"), prof:
        pass
    assert "aten::exp" in str(prof)
    again = profiler.profile()
    again.start()
    ramp((3,), device).sin()
    again.stop()
    assert "aten::sin" in {a.key for a in again.key_averages()}
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        profiler.profile(colour=1)
    with pytest.raises(ValueError, match="use_device is webgpu or None"):
        profiler.profile(use_device="xpu")
    assert profiler.ProfilerContext is profiler.profile is legacy.profile
    assert profiler.ProfilerKeyAverages is profiler.EventList
    assert profiler.EmitNvtxContext is profiler.emit_nvtx and "profile" in dir(profiler)


def test_a_schedule(device, tmp_path):
    plan = new.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    actions = [plan(i).name for i in range(11)]
    cycle = ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"]
    assert actions == ["NONE", *cycle, *cycle, "NONE", "NONE"]
    no_wait = new.schedule(wait=2, warmup=0, active=1, skip_first_wait=1)
    assert [no_wait(i).name for i in range(4)] == [
        "RECORD_AND_SAVE", "NONE", "NONE", "RECORD_AND_SAVE"
    ]  # fmt: skip
    with pytest.raises(AssertionError, match="active=0"):
        new.schedule(wait=1, warmup=1, active=0)
    seen = []
    activities = [new.ProfilerActivity.CPU] + (
        [new.ProfilerActivity.CUDA] if device == "webgpu" else []
    )

    def ready(prof):
        seen.append((prof.step_num, names(prof.events())))

    x = ramp((4,), device)
    with new.profile(activities=activities, schedule=plan, on_trace_ready=ready) as prof:
        for _ in range(10):
            x.exp()
            prof.step()
    assert [number for number, _ in seen] == [5, 9]
    for number, found in seen:
        assert [n for n in found if n.startswith("ProfilerStep")] == [
            f"ProfilerStep#{number - 2}", f"ProfilerStep#{number - 1}"
        ]  # fmt: skip
        assert found.count("aten::exp") == 2
    assert Recorder.current is None


def test_the_new_profile_without_a_schedule(device, tmp_path):
    handler = new.tensorboard_trace_handler(str(tmp_path / "log"), "me", use_gzip=True)
    with new.profile(activities=[new.ProfilerActivity.CPU], on_trace_ready=handler) as prof:
        with new.record_function("part"):
            ramp((4,), device).exp()
        prof.add_metadata("who", "me")
        prof.add_metadata_json("what", '{"a": 1}')
    (path,) = (tmp_path / "log").iterdir()
    assert path.name.startswith("me.") and path.name.endswith(".pt.trace.json.gz")
    with gzip.open(path, "rt") as file:
        content = json.load(file)
    assert content["who"] == "me" and content["what"] == {"a": 1}
    assert {"part", "aten::exp"} <= {row["name"] for row in content["traceEvents"]}
    assert "part" in prof.key_averages().table() and "part" in prof.table()
    prof.export_chrome_trace(str(tmp_path / "again.json"))
    assert json.loads((tmp_path / "again.json").read_text())["schemaVersion"] == 1
    with pytest.raises(AssertionError, match="No valid profiler activities"):
        new.profile(activities=[])


def test_recording_can_be_interrupted(device):
    x = ramp((4,), device)
    with profiler.profile() as prof:
        x.exp()
        prof.toggle_collection_dynamic(False, [])
        x.sin()
        prof.toggle_collection_dynamic(True, [])
        x.cos()
    assert [n for n in names(prof.function_events) if n != "aten::item"] == [
        "aten::exp", "aten::cos"
    ]  # fmt: skip
    again = new.profile(activities=[new.ProfilerActivity.CPU])
    again.prepare_trace()
    again.start_trace()
    x.exp()
    again.toggle_collection_dynamic(False)
    x.sin()
    again.stop_trace()
    assert names(again.events()) == ["aten::exp"] and Recorder.current is None


def test_a_trace_has_arrows_to_the_gpu(webgpu):
    x = ramp((16, 16), webgpu)
    with profiler.profile(use_device="webgpu") as prof:
        (x @ x).cpu().numpy()
    rows = trace.trace_of(prof.function_events, {})["traceEvents"]
    starts = {row["id"]: row for row in rows if row["ph"] == "s"}
    ends = {row["id"]: row for row in rows if row["ph"] == "f"}
    assert starts.keys() == ends.keys() and len(starts) >= 2
    assert all(row["pid"] == trace.GPU for row in ends.values())


def test_labels_for_other_tools(webgpu, monkeypatch):
    x = ramp((8, 8), webgpu)
    x.exp().sum().item()
    queue, open_, said = x.device.backend.queue, [], []
    push, pop = type(queue).push_label, type(queue).pop_label
    record = type(queue).record
    monkeypatch.setattr(
        type(queue), "push_label", lambda q, label: (open_.append(label), push(q, label))
    )
    monkeypatch.setattr(type(queue), "pop_label", lambda q: (open_.pop(), pop(q)))
    monkeypatch.setattr(
        type(queue), "record", lambda q, *a: (said.append(list(open_)), record(q, *a))
    )
    with profiler.emit_nvtx(record_shapes=True), profiler.record_function("part"):
        total = x.exp().cumsum(0)
    assert said and said[-1][0] == "part" and said[-1][1] == "aten::cumsum [[8, 8], []]"
    assert not open_
    np.testing.assert_allclose(N(total), np.exp(N(x)).cumsum(0), rtol=1e-4)
    with profiler.emit_nvtx(enabled=False):
        assert Recorder.current is None
    assert "record" not in vars(queue)


def test_what_there_is_to_record():
    both = new.supported_activities()
    assert new.ProfilerActivity.CPU in both and new.kineto_available() is (len(both) == 2)
    assert torch.profiler is new
    assert new.profiler_allow_cudagraph_cupti_lazy_reinit_cuda12() is False
