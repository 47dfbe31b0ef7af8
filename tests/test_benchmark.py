"""Timers, what they find, and what is told of a machine."""

import pytest

import wgtorch as torch
from wgtorch.utils import benchmark, collect_env, dlpack


def test_a_timer_counts_runs():
    """By a clock that goes on by half a second with each run."""
    seen = []
    timer = benchmark.Timer(
        "seen.append(start)", "start = 7", globals={"seen": seen},
        timer=lambda: len(seen) / 2, label="append", sub_label="one",
    )  # fmt: skip
    found = timer.timeit(200)
    assert seen == [7] * 202 and found.raw_times == [100] and found.median == 0.5
    assert (found.title, found.stmt, found.num_threads) == ("append: one", "seen.append(start)", 1)
    calls = []
    found = timer.blocked_autorange(lambda *told: calls.append(told), min_run_time=1.2)
    assert calls == [(1, 0.5)] * 3 and found.raw_times == [0.5] * 3
    assert timer.adaptive_autorange(max_run_time=1.2).raw_times == [0.5] * 3


def test_a_timer_waits_for_the_gpu(webgpu, monkeypatch):
    waited = []
    torch.ones(1, device=webgpu)
    monkeypatch.setattr(torch.webgpu, "synchronize", lambda device: waited.append(device.type))
    benchmark.Timer("torch.ones(1)").timeit(1)
    assert waited and set(waited) == {"webgpu"}


@pytest.mark.parametrize("stmt", ["x.exp()", "y = x.exp()", "z = 1\n(x.exp(), z)  # both"])
def test_what_a_timed_statement_ends_in_is_computed(stmt, ran):
    x = torch.ones(3, device="webgpu") + 1
    torch.webgpu.synchronize()
    ran.clear()
    benchmark.Timer(stmt, globals={"x": x}).timeit(5)
    assert ran == ["exp"] * (2 + 5)  # two to warm up
    with pytest.raises(SyntaxError):
        benchmark.Timer("x.exp(")


def test_what_a_measurement_says():
    task = benchmark.TaskSpec("f(x)", "pass", description="a try", num_threads=2)
    found = benchmark.Measurement(10, [1.0, 2.0, 3.0, 6.0, 2.0], task)
    assert found.times == [0.1, 0.2, 0.3, 0.6, 0.2] and found.median == 0.2
    assert found.iqr == pytest.approx(0.1) and not found.meets_confidence()
    assert repr(found).split("\n")[1:] == [
        "f(x)", "a try", "  Median: 200.00 ms", "  IQR:    100.00 ms (200.00 to 300.00)",
        "  5 measurements, 10 runs per measurement, 2 threads",
        "  WARNING: Interquartile range is 50.0% of the median measurement.",
        "           This suggests significant environmental influence.",
    ]  # fmt: skip
    (both,) = benchmark.Measurement.merge([found, found])
    assert both.number_per_run == 1 and len(both.raw_times) == 10


def test_what_a_timer_refuses():
    with pytest.raises(ValueError, match="Invalid language `c`"):
        benchmark.Timer(language="c")
    with pytest.raises(ValueError, match="only a `str` stmt"):
        benchmark.Timer(print)
    with pytest.raises(ValueError, match=r"global_setup is C\+\+ only, got `int`"):
        benchmark.Timer(global_setup="int")


def test_the_environment():
    told = collect_env.get_pretty_env_info()
    assert "python" in told and "Adapters" in told and torch.__version__ in told
    assert not collect_env.get_env_info()["test"]


def test_memory_through_dlpack(webgpu):
    x = torch.arange(4.0)
    y = dlpack.from_dlpack(dlpack.to_dlpack(x))
    y[0] = 9
    assert x[0] == 9 and dlpack.from_dlpack(x, copy=True).add_(1)[0] == 10 and x[0] == 9
    assert dlpack.from_dlpack(x, device=webgpu).tolist() == [9, 1, 2, 3]
    with pytest.raises(ValueError, match="without copying"):
        dlpack.from_dlpack(x, device=webgpu, copy=False)
    with pytest.raises(BufferError):
        dlpack.to_dlpack(x.to(webgpu))
    assert dlpack.DLDeviceType.kDLWebGPU == 15
