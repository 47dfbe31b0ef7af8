"""The doctor: what it finds, tries and advises, on this machine and on poorer ones."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from wgtorch import __main__ as command
from wgtorch import doctor
from wgtorch.backends.webgpu import adapter
from wgtorch.backends.webgpu.adapter import Adapter, Traits

ROOT = Path(__file__).parents[1]
RICH = Traits(
    name="GeForce 9000", kind="discrete", backend="Vulkan", driver="NVIDIA 999", is_software=False,
    int64=True, f64=True, f16=True, subgroups=True, timestamps=True, mappable=True,
    immediate_bytes=128, most_buffers=32, most_binding_bytes=2 << 30, most_buffer_bytes=4 << 30,
    workgroup_bytes=48 << 10, group_size=1024, group_shape=(1024, 1024, 64), most_groups=65535,
    storage_alignment=32, uniform_alignment=64,
)  # fmt: skip
POOR = replace(
    RICH, name="SwiftShader Device", kind="cpu", is_software=True, int64=False, f64=False,
    f16=False, mappable=False, immediate_bytes=0, most_binding_bytes=128 << 20,
)  # fmt: skip


@pytest.fixture
def machine(monkeypatch):
    """Have the doctor see these adapters, the first of them chosen."""

    def show(*offers: Traits) -> None:
        found = tuple(Adapter(None, traits) for traits in offers)
        choice = lambda: adapter.choose(offers, "")  # noqa: E731
        monkeypatch.setattr(adapter, "found", lambda: found)
        monkeypatch.setattr(adapter, "chosen", choice)

    return show


def test_a_rich_adapter_lacks_nothing():
    assert doctor.shortcomings(RICH) == []


def test_each_thing_missing_has_its_sentence():
    text = "\n".join(doctor.shortcomings(POOR))
    for word in ("computes on the CPU", "float64", "int64", "immediates", "mappable", "128 MiB"):
        assert word in text
    assert len(doctor.shortcomings(POOR)) == 6


def test_a_gpu_that_only_opengl_serves():
    (advice,) = doctor.shortcomings(replace(RICH, backend="OpenGL"))
    assert "install its Vulkan driver" in advice


def test_a_gpu_without_its_driver_is_pointed_at(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(doctor, "RENDER_NODES", str(tmp_path))
    assert "renderD" not in doctor.shortcomings(POOR)[0]
    (tmp_path / "renderD128").touch()
    assert "renderD128) without a Vulkan driver" in doctor.shortcomings(POOR)[0]


def test_a_machine_without_adapters(machine):
    machine()
    report = doctor.examine()
    assert report["adapters"] == [] and report["chosen"] is None and not report["healthy"]
    assert report["test"] == {}
    assert "no WebGPU adapter found; install" in doctor.text(report)


def test_the_chosen_adapter_is_named_with_the_reason(machine):
    machine(RICH, POOR)
    report = doctor.examine(test=False)
    assert report["chosen"] == "GeForce 9000 (discrete, Vulkan)" and report["healthy"]
    assert [a["device"] for a in report["adapters"]] == ["webgpu:0", "webgpu:1"]
    text = doctor.text(report)
    assert "Used: GeForce 9000 (discrete, Vulkan), because it is the best of 2" in text
    assert "lacks f16, int64, f64" in text
    assert "32 buffers a kernel, 2 GiB visible of 4 GiB each" in text
    assert "48 KiB shared" in text


def test_another_device_can_be_examined(machine):
    machine(RICH, POOR)
    report = doctor.examine("webgpu:1", test=False)
    assert report["chosen"].startswith("SwiftShader") and report["why"] == "webgpu:1, as asked"
    report = doctor.examine("webgpu:2", test=False)
    assert report["chosen"] is None and "webgpu:2 is none of webgpu:0 to" in report["why"]


def test_a_wrong_result_is_not_healthy(machine, monkeypatch):
    machine(RICH)
    good = {"right": True, "bytes": 1 << 20, "ms": 2.0, "gbps": 0.5}
    for name in ("reduction", "upload", "download"):
        monkeypatch.setattr(doctor, name, lambda device, nbytes: dict(good))
    bad = {"right": False, "n": 8, "ms": 4.0, "gflops": 3.0}
    monkeypatch.setattr(doctor, "matmul", lambda device, n: bad)
    report = doctor.examine()
    assert not report["healthy"]
    lines = doctor.text(report).splitlines()
    assert any("matmul" in line and "WRONG" in line for line in lines)
    assert any("upload" in line and "right" in line and "0.50 GB/s" in line for line in lines)


def test_a_broken_trial_is_a_finding_and_the_rest_goes_on(machine, monkeypatch):
    machine(RICH)

    def broken(device, n):
        raise RuntimeError("device lost")

    for name in ("matmul", "reduction", "upload", "download"):
        monkeypatch.setattr(doctor, name, broken)
    report = doctor.examine()
    assert [r["error"] for r in report["test"].values()] == ["RuntimeError: device lost"] * 4
    assert not report["healthy"] and "failed: RuntimeError: device lost" in doctor.text(report)


def test_the_command_prints_json_and_fails_without_a_gpu(machine, capsys):
    machine(RICH)
    assert command.main(["--json", "--quick"]) == 0
    assert json.loads(capsys.readouterr().out)["adapters"][0]["name"] == "GeForce 9000"
    machine()
    assert command.main(["--json", "--quick"]) == 1
    assert json.loads(capsys.readouterr().out)["chosen"] is None


def test_whoever_reads_the_report_may_stop(tmp_path):
    """The other end of the pipe is closed before a word is written."""
    reader, writer = os.pipe()
    os.close(reader)
    environment = os.environ | {"WGTORCH_ADAPTER": "none"}
    ran = subprocess.run(
        [sys.executable, "-m", "wgtorch", "--json", "--quick"], stdout=writer,
        stderr=subprocess.PIPE, text=True, env=environment, check=False,
    )  # fmt: skip
    os.close(writer)
    assert ran.stderr == "" and ran.returncode == 1


def test_this_machine_computes_right(webgpu, traits):
    report = doctor.examine()
    assert report["chosen"] == traits.summary
    results = report["test"]
    assert {name: result["right"] for name, result in results.items()} == dict.fromkeys(
        ("matmul", "reduction", "upload", "download"), True
    ), results
    assert report["healthy"]
    assert results["matmul"]["gflops"] > 0.05 and results["reduction"]["gbps"] > 0.01
    json.dumps(report)


def test_the_command_on_a_headless_machine(webgpu):
    environment = {k: v for k, v in os.environ.items() if k != "XDG_RUNTIME_DIR"}
    done = subprocess.run(
        [sys.executable, "-m", "wgtorch", "--quick"],
        cwd=ROOT, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == ""
    assert "Used: " in done.stdout and "wgpu-native" in done.stdout
