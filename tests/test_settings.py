"""Settings of the process: what they answer, what they refuse, and what they change."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import wgtorch as torch
from wgtorch import config, settings
from wgtorch.backends import watched


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def test_determinism_is_asked_for_and_told():
    try:
        torch.use_deterministic_algorithms(True, warn_only=True)
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.is_deterministic_algorithms_warn_only_enabled()
        assert torch.get_deterministic_debug_mode() == 1
        torch.set_deterministic_debug_mode("error")
        assert torch.get_deterministic_debug_mode() == 2
        assert not torch.is_deterministic_algorithms_warn_only_enabled()
    finally:
        torch.set_deterministic_debug_mode("default")
    assert not torch.are_deterministic_algorithms_enabled()
    with pytest.raises(TypeError, match="must be bool, not int"):
        torch.use_deterministic_algorithms(1)


def scattered(device: str) -> list:
    """Sums of numbers so unlike that any other order gives others, and the last of replacements."""
    torch.manual_seed(4)
    values = torch.randn(4000).mul(torch.arange(4000.0).remainder(23).exp()).to(device)
    index = (torch.arange(4000) * 7 % 5).to(device)
    zeros = torch.zeros(5, device=device)
    return [
        zeros.scatter_add(0, index, values).tolist(),
        zeros.index_add(0, index, values).tolist(),
        zeros.scatter_reduce(0, index, values, "sum").tolist(),
        zeros.scatter(0, index, values).tolist(),
        zeros.index_put((index,), values).tolist(),
    ]


def test_deterministic_sums_are_those_of_the_cpu(webgpu, deterministic):
    assert scattered(webgpu) == scattered("cpu")


def test_plans_for_another_order_are_forgotten(webgpu):
    """The same calls before and after: only those after are in order, and no longer atomic."""
    scattered(webgpu)
    queue = torch.device(webgpu).backend.queue
    before = queue.counted["dispatches"]
    scattered(webgpu)
    torch.webgpu.synchronize()
    pushed = queue.counted["dispatches"] - before
    torch.use_deterministic_algorithms(True)
    try:
        before = queue.counted["dispatches"]
        scattered(webgpu)
        torch.webgpu.synchronize()
        assert queue.counted["dispatches"] - before > pushed
    finally:
        torch.use_deterministic_algorithms(False)


def test_precision():
    torch.set_float32_matmul_precision("medium")
    try:
        assert torch.get_float32_matmul_precision() == "medium"
        with pytest.raises(ValueError, match="highest, high, medium, got 'low'"):
            torch.set_float32_matmul_precision("low")
    finally:
        torch.set_float32_matmul_precision("highest")


def test_threads(monkeypatch):
    set_to = []

    class Pools:
        def threadpool_limits(self, limits, user_api):
            set_to.append((limits, user_api))

    monkeypatch.setattr(settings, "threadpoolctl", Pools())
    assert 1 <= torch.get_num_threads() <= os.cpu_count()
    before = settings.Process.threads
    try:
        torch.set_num_threads(3)
        assert torch.get_num_threads() == 3 and set_to == [(3, "blas")]
    finally:
        settings.Process.threads = before
    torch.set_num_interop_threads(1)
    assert torch.get_num_interop_threads() == 1
    with pytest.raises(RuntimeError, match="set_num_interop_threads expects an int, but got str"):
        torch.set_num_interop_threads("a")


def test_threads_without_what_sets_them(monkeypatch):
    class Missing:
        def __getattr__(self, name):
            raise ImportError(name)

    monkeypatch.setattr(settings, "threadpoolctl", Missing())
    monkeypatch.setattr(settings.Process, "threads", None)
    with pytest.warns(UserWarning, match="pip install threadpoolctl"):
        torch.set_num_threads(2)
    assert torch.get_num_threads() == 2


def test_default_tensor_type():
    try:
        torch.set_default_tensor_type("torch.DoubleTensor")
        assert torch.tensor(1.5).dtype is torch.float64
        torch.set_default_tensor_type(torch.HalfTensor)
        assert torch.tensor(1.5).dtype is torch.float16
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)
    with pytest.raises(TypeError, match="no tensor type"):
        torch.set_default_tensor_type("moon")


def test_a_warning_each_time(webgpu, monkeypatch):
    monkeypatch.setattr(config, "warn_always", config.warn_always)
    image = torch.ones(1, 1, 3, 3, dtype=torch.int64, device=webgpu)
    call = lambda: torch.conv_transpose2d(image, image)  # noqa: E731

    def warned() -> bool:
        with pytest.warns() as told:
            call()
            warnings.warn("at least one", UserWarning, stacklevel=1)
        return len(told) > 1

    warned()
    assert not warned()
    torch.set_warn_always(True)
    assert torch.is_warn_always_enabled() and warned() and warned()


# Environment variables


def imported(**variables: str) -> subprocess.CompletedProcess:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WGTORCH_")}
    program = [sys.executable, "-c", "import wgtorch"]
    return subprocess.run(program, env=environment | variables, capture_output=True, text=True)


def test_a_misspelt_variable_is_named():
    told = imported(WGTORCH_DEBUGG="1", WGTORCH_FALLBACK="warn", WGTORCH_FOO="1")
    assert told.returncode == 0 and "WGTORCH_FOO is none of wgtorch's.\n" in told.stderr
    assert "WGTORCH_DEBUGG is none of wgtorch's. Did you mean 'WGTORCH_DEBUG'?" in told.stderr
    assert "FALLBACK" not in told.stderr


@pytest.mark.parametrize(
    "name, text, most", [("EAGER", "7", "0 to 1"), ("DEBUG", "-1", "0 to 5"),
                         ("DEBUG", "6", "0 to 5"), ("MAX_FUSED", "0", "1 to 1000"),
                         ("MAX_HELD", "101", "0 to 100")]
)  # fmt: skip
def test_numbers_out_of_range_are_refused(name, text, most):
    told = imported(**{f"WGTORCH_{name}": text})
    assert told.returncode == 1
    assert f"ValueError: WGTORCH_{name}='{text}' is not a number from {most}\n" in told.stderr


def test_known_variables_are_those_of_the_readme():
    readme = Path("README.md").read_text(encoding="utf-8")
    table = readme[readme.index("## Environment variables") : readme.index("## Troubleshooting")]
    rows = [line.split("`")[1] for line in table.splitlines() if line.startswith("| `WGTORCH_")]
    assert sorted(rows) == sorted(f"WGTORCH_{name}" for name in settings.VARIABLES)


WATCHED = """
import wgtorch as torch

x = torch.randn(40, 7, device="webgpu")
y = x.clone()
for result in (
    x[x > 0], x.nonzero(), x.topk(3), x.sort(0), (x > 1).long().unique(dim=0), x @ x.t(), x.sum(0),
    x.softmax(1), x.cumsum(0), torch.cat([x, x]), x.scatter_add(0, (x > 0).long(), x),
    torch.poisson(x.abs()), y.index_fill_(0, torch.tensor([1, 2], device="webgpu"), 3.0),
    torch.nn.functional.conv1d(x.t()[None], x[:14, :3].reshape(2, 7, 3)),
):
    result[0].tolist()
try:
    torch.bernoulli(x + 10)
except RuntimeError as error:
    print(error)
"""


def test_every_op_against_its_reference(webgpu):
    """A program under WGTORCH_CHECK=1: nothing differs, and a complaint comes at once."""
    environment = os.environ | {"WGTORCH_CHECK": "1"}
    program = [sys.executable, "-c", WATCHED]
    told = subprocess.run(program, env=environment, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("bernoulli: Expected p_in >= 0")


def test_both_parts_of_complex_numbers_are_watched():
    have, want = np.array([1 + 2j, 3j], np.complex64), np.array([1 + 2j, 4j], np.complex64)
    with pytest.raises(
        RuntimeError, match=r"op differs .* in 1 of 2 elements; the first at \(1,\)"
    ):
        watched.compare("op", have, want, 1e-5)
    assert watched.has_nan(np.array([complex(0, np.nan)])) and not watched.has_nan(have)


def test_a_device_is_the_default_within_its_block(webgpu):
    with torch.device("meta") as meta:
        assert torch.ones(2).device is meta and torch.nn.Linear(1, 1).weight.device is meta
        with pytest.raises(ZeroDivisionError), torch.device(webgpu):
            assert torch.tensor([1]).device.type == torch.rand(1).device.type == "webgpu"
            assert torch.zeros(1, device="cpu").device.type == "cpu"
            torch.set_default_device("cpu")
            1 / 0  # noqa: B018
        with meta, meta:
            pass
        assert torch.get_default_device() is meta
        with ThreadPoolExecutor(1) as other:
            assert other.submit(torch.get_default_device).result().type == "cpu"
    assert torch.get_default_device().type == "cpu"
