"""The profiler: what is recorded, on the cpu and a GPU, and that nobody pays when it is off."""

import json
import threading
from itertools import pairwise

import numpy as np
import pytest
from profiled import names, on, step
from recorder import N, T, graph, ramp

import wgtorch as torch
from wgtorch import matmul, nn
from wgtorch.autograd import profiler
from wgtorch.autograd.node import Node
from wgtorch.autograd.saved import Packed
from wgtorch.dispatch.doors import DOORS
from wgtorch.methods import Methods
from wgtorch.profiler.event import DeviceType
from wgtorch.profiler.recorder import Recorder
from wgtorch.tensor import Tensor

# What is recorded


def test_ops_and_backward_nest(device):
    x = ramp((8, 8), device, grad=True)
    with profiler.profile(use_device=on(device)) as prof:
        with profiler.record_function("mine"):
            y = (x @ x.t()).tanh().sum()
        y.backward()
    events = [e for e in prof.function_events if e.device_type is DeviceType.CPU]
    assert Recorder.current is None
    mine = next(e for e in events if e.name == "mine")
    inside = names(mine.cpu_children)
    assert inside == ["aten::t", "aten::matmul", "aten::tanh", "aten::sum"]
    assert "aten::mm" in names(mine.cpu_children[1].cpu_children)
    run = [n for n in names(events) if n.endswith("Backward0") or n == "AccumulateGrad"]
    assert run == ["SumBackward0", "TanhBackward0", "MmBackward0", "TransposeBackward0",
                   "AccumulateGrad"]  # fmt: skip
    node = next(e for e in events if e.name == "TanhBackward0")
    assert "aten::mul" in names(node.cpu_children) and node.sequence_nr >= 0
    for event in events:
        assert event.time_range.elapsed_us() >= 0
        for child in event.cpu_children:
            assert event.start <= child.start and child.end <= event.end
    total = sum(e.self_cpu_time_total for e in events)
    tops = sum(e.cpu_time_total for e in events if e.cpu_parent is None)
    assert abs(total - tops) < 1e-3 * tops


def test_what_is_alive_at_the_end_belongs_to_the_profile(webgpu):
    x = ramp((8, 8), webgpu, grad=True)
    with profiler.profile(use_device="webgpu") as prof:
        (x @ x).sum().backward()
    ran = [e.name for e in prof.function_events if e.device_type is DeviceType.WebGPU]
    assert sum(name.startswith("mm") for name in ran) == 3, ran


def test_what_a_kernel_complains_of_at_the_end_leaves_no_profiler_behind(webgpu):
    x, beyond = ramp((4,), webgpu), torch.tensor([9], device=webgpu)
    said = pytest.raises(IndexError, match="index 9 is out of bounds")
    with said, profiler.profile(use_device="webgpu"):
        y = x[beyond]
    with profiler.profile(use_device="webgpu") as prof:
        y = x + 1
    assert Recorder.current is None and y.shape == (4,)
    assert [e.name for e in prof.function_events if e.kind == "kernel"] == ["add"]


def test_every_way_to_an_op_is_seen(device):
    x = T([[1.0, 2.0], [3.0, 4.0]], device)
    with profiler.profile() as prof:
        torch.exp(x), x.exp(), x + 1, 1 + x, x.add(1), torch.nn.functional.relu(x)
        x += 1
        x.mul_(2.0), matmul(x, x), x.multiply(3), x.half(), x.to("cpu"), x[0], x < 2
        torch.zeros(3, device=device)
    found = {a.key: a.count for a in prof.key_averages()}
    for name, count in {"exp": 2, "add": 3, "add_": 1, "relu": 1, "mul_": 1, "matmul": 1,
                        "_to_copy": 1, "zeros": 1, "lt": 1}.items():  # fmt: skip
        assert found.get(f"aten::{name}", 0) >= count, name
    assert found["aten::exp"] == 2 and matmul is torch.matmul


def test_results_do_not_change(device):
    x = ramp((16, 16), device, grad=True)
    step(x)
    want, x.grad = N(x.grad), None
    with profiler.profile(use_device=on(device), record_shapes=True, profile_memory=True,
                          with_stack=True, with_flops=True, with_modules=True):  # fmt: skip
        step(x)
    assert np.array_equal(N(x.grad), want)


def test_looking_does_not_cut_kernels(webgpu, monkeypatch):
    x = ramp((64, 64), webgpu)

    def run():
        return (x.exp() * 2).sum(), (x.exp() * 2).sum(-1, keepdim=True), (x + 1).mean(dim=0)

    def labels():
        ran, queue = [], x.device.backend.queue
        dispatch = type(queue).dispatch
        with monkeypatch.context() as patch:
            patch.setattr(
                type(queue), "dispatch", lambda q, k, *a: (ran.append(k.label), dispatch(q, k, *a))
            )
            run()
            queue.flush()
        return ran

    plain = labels()
    with profiler.profile(use_device="webgpu") as prof:
        assert labels() == plain
    on_gpu = [e.name for e in prof.function_events if e.kind == "kernel"]
    assert on_gpu == plain


def test_a_late_complaint_names_the_same_line(webgpu):
    def picked(x, index):
        return x[index]

    x, index = torch.ones(3, device=webgpu), torch.tensor([9], device=webgpu)
    with profiler.profile(use_device="webgpu"), pytest.raises(IndexError) as told:
        picked(x, index)
        x.sum().item()
    assert f"line {picked.__code__.co_firstlineno + 1}, in picked" in str(told.value)


def test_nothing_is_left_when_it_is_off(device):
    def everything():
        tables = [vars(Methods), vars(Tensor), DOORS, vars(torch), vars(torch.nn.functional)]
        tables += [vars(Packed), vars(Node), vars(torch.optim.SGD), vars(nn.Module)]
        tables += [vars(kind) for kind in Node.__subclasses__()]
        return [{name: id(value) for name, value in table.items()} for table in tables]

    x = ramp((4, 4), device, grad=True)
    step(x)
    before = everything()
    with profiler.profile(use_device=on(device), with_modules=True):
        assert everything() != before
        step(x)
    assert everything() == before
    with pytest.raises(ZeroDivisionError), profiler.profile(use_device=on(device)):
        _ = 1 / 0
    assert everything() == before and Recorder.current is None
    if device == "webgpu":
        assert not {"dispatch", "copy", "open", "wait"} & set(vars(x.device.backend.queue))


def test_shapes_memory_stacks_flops_and_modules(device):
    model = nn.Sequential(nn.Linear(8, 4), nn.ReLU()).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x = ramp((5, 8), device)
    with profiler.profile(use_device=on(device), record_shapes=True, profile_memory=True,
                          with_stack=True, with_flops=True, with_modules=True) as prof:  # fmt: skip
        y = model(x)
        z = x @ T(np.ones((8, 3)).tolist(), device)
        if device == "webgpu":
            torch.webgpu.synchronize()
        y.sum().backward()
        optimizer.step()
    events = prof.function_events
    mm = [e for e in events if e.name == "aten::mm" and e.input_shapes == [[5, 8], [8, 3]]]
    assert len(mm) == 1 and mm[0].flops == 2 * 5 * 8 * 3
    assert any(__file__ in line and ": test_shapes" in line for line in mm[0].stack)
    matmul = mm[0].cpu_parent
    assert matmul.name == "aten::matmul" and matmul.flops is None
    if device == "cpu":
        assert mm[0].cpu_memory_usage == 5 * 3 * 4 and matmul.self_cpu_memory_usage == 0
    else:
        assert sum(e.self_device_memory_usage for e in events) >= 5 * 3 * 4
    assert {"nn.Module: Sequential", "nn.Module: Linear", "nn.Module: ReLU",
            "Optimizer.step#SGD.step"} <= set(names(events))  # fmt: skip
    groups = prof.key_averages(group_by_input_shape=True)
    assert any(g.key == "aten::mm" and g.input_shapes == [[5, 8], [8, 3]] for g in groups)
    by_line = prof.key_averages(group_by_stack_n=1)
    text = by_line.table(sort_by="cpu_time_total")
    assert "Source Location" in text and "FLOPs" in text and "CPU Mem" in text
    assert z.shape == (5, 3)


def test_threads_have_stacks_of_their_own(device):
    x = ramp((8,), device)

    def work():
        with profiler.record_function("other"):
            x.exp()

    with profiler.profile() as prof, profiler.record_function("main"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    other, main = [next(e for e in prof.function_events if e.name == n) for n in ("other", "main")]
    assert other.cpu_parent is None and other.thread != main.thread
    assert "aten::exp" in names(other.cpu_children) and not main.cpu_children


def test_record_function_decorates(device):
    @profiler.record_function("work")
    def work(n):
        return ramp((n,), device).exp() if n else None

    assert work(3).shape == (3,)
    with profiler.profile() as prof:
        work(3), work(2)
    assert [a.count for a in prof.key_averages() if a.key == "work"] == [2]


# On the GPU


def test_kernels_hang_on_the_op_that_asked(webgpu):
    x = ramp((64, 64), webgpu, grad=True)
    step(x)
    torch.webgpu.synchronize()
    x.grad = None
    with profiler.profile(use_device="webgpu") as prof:
        step(x)
    events = prof.function_events
    kernels = [e for e in events if e.kind == "kernel"]
    assert kernels and all(k.end >= k.start for k in kernels)
    assert all(a.start <= b.start for a, b in pairwise(kernels))
    known = {e.id: e for e in events}
    for kernel in kernels:
        op = known[kernel.facts["op id"]]
        assert any(k.name == kernel.name for k in op.kernels) and not op.is_on_device
        assert kernel.end >= op.start - 2000  # clocks agree to a few milliseconds
    whole = sum(k.end - k.start for k in kernels)
    ops = sum(e.self_device_time_total for e in events if not e.is_on_device)
    assert abs(ops - sum(e.end - e.start for e in events if e.is_on_device)) < 1e-6 * whole + 1
    mm = next(a for a in prof.key_averages() if a.key == "aten::mm")
    assert mm.self_device_time_total > 0 and mm.cuda_time == mm.device_time > 0


def test_without_timestamps_the_host_measures(webgpu, monkeypatch):
    x = ramp((32, 32), webgpu, grad=True)
    step(x)
    home = x.device.backend
    traits = type(home.gpu.traits)
    slow = {name: getattr(home.gpu.traits, name) for name in traits.__slots__}
    monkeypatch.setattr(home.gpu, "traits", traits(**(slow | {"timestamps": False})))
    x.grad = None
    with profiler.profile(use_device="webgpu") as prof, graph.save_on_cpu():
        step(x)
    kernels = [e for e in prof.function_events if e.kind == "kernel"]
    assert kernels and all(k.end > k.start for k in kernels)


@pytest.mark.parametrize("depth", [0, 2])
def test_saved_tensors_in_the_trace(webgpu, tmp_path, depth):
    """Slot ids lead from pack to copy to unpack; every byte agrees with memory_stats."""
    x = ramp((32, 32), webgpu, grad=True)
    torch.webgpu.synchronize()
    keys = [f"saved_tensors.{way}_bytes.total" for way in ("d2h", "h2d")]
    before = [torch.memory_stats()[key] for key in keys]
    with profiler.profile(use_device="webgpu") as prof:
        with graph.save_on_cpu(prefetch=depth):
            y = x.exp().sin().tanh().sum()
        torch.webgpu.synchronize()
        y.backward()
        torch.webgpu.synchronize()
    after = [torch.memory_stats()[key] for key in keys]
    prof.export_chrome_trace(tmp_path / "trace.json")
    rows = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]

    def of(name):
        found = [row for row in rows if row["ph"] == "X" and row["name"] == name]
        return sorted(found, key=lambda row: row["ts"])

    packs, unpacks = of("saved_tensors::pack"), of("saved_tensors::unpack")
    sent, fetched = of("saved_tensors::d2h"), of("saved_tensors::h2d")
    slots = [(row["args"]["op"], row["args"]["slot"], row["args"]["bytes"]) for row in packs]
    assert slots == [("exp", "result", 4096), ("sin", "input", 4096), ("tanh", "result", 4096)]
    ids = [row["args"]["slot id"] for row in packs]
    assert len(set(ids)) == 3 and [r["args"]["slot id"] for r in unpacks] == ids[::-1]
    assert [sum(row["args"]["bytes"] for row in copies) for copies in (sent, fetched)] == [
        b - a for a, b in zip(before, after, strict=True)
    ]
    assert {row["args"]["slot id"] for row in sent} <= set(ids)
    if torch.webgpu.get_device_properties().mappable:
        back = [row["args"]["slot id"] for row in fetched]
        assert back == sorted(back, reverse=True) and set(back) <= set(ids)
        assert all(row["cat"] == "gpu_memcpy" and row["tid"] == 2 for row in sent + fetched)
    waits = [row for row in rows if row.get("cat") == "stall"]
    assert any(row["name"] == "stall: GPU" for row in waits) and all(w["dur"] >= 0 for w in waits)
    lanes = {(row["pid"], row["tid"]): row["args"]["name"] for row in rows
             if row["name"] == "thread_name"}  # fmt: skip
    assert {"kernels", "copies"} <= set(lanes.values())


def test_a_stall_for_a_slot_names_it(webgpu):
    x = ramp((32,), webgpu, grad=True)
    with profiler.profile(use_device="webgpu") as prof:
        with graph.save_on_cpu():
            y = x.exp()
        y.grad_fn._raw_saved_result.data.host.numpy()
    (stall,) = [e for e in prof.function_events if e.name == "stall: copy to host"]
    assert (stall.facts["op"], stall.facts["slot"]) == ("exp", "result")


def test_spills_are_events(device, tmp_path):
    x = ramp((1024,), device, grad=True)
    with profiler.profile() as prof:
        with graph.spill_to_disk(tmp_path, 0):
            y = x.exp()
        y.sum().backward()
    found = {a.key for a in prof.key_averages()}
    assert {"saved_tensors::write", "saved_tensors::read", "saved_tensors::pack"} <= found


def test_unpack_order_on_random_graphs(device, rounds=50):
    """The order contract, read from the trace: nodes from the youngest, slots in theirs."""
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        values = [ramp((3,), device, grad=True) for _ in range(3)]
        with profiler.profile() as prof:
            with graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
                for _ in range(8):
                    a, b = (values[int(i)] for i in rng.integers(0, len(values), 2))
                    kind = int(rng.integers(4))
                    values.append(a * b if not kind else [a.sin, a.tanh, a.square][kind - 1]())
                loss = sum(v.sum() for v in values)
            loss.backward()
        packs = [e for e in prof.function_events if e.name == "saved_tensors::pack"]
        unpacks = [e for e in prof.function_events if e.name == "saved_tensors::unpack"]
        nodes = [e.cpu_parent.sequence_nr for e in unpacks]
        assert nodes == sorted(nodes, reverse=True)
        assert sorted(e.facts["slot id"] for e in unpacks) == [e.facts["slot id"] for e in packs]
