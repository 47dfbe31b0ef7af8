"""Adapters: ranked, chosen for a reason, opened with what they have, or missed with a remedy."""

import logging
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from wgtorch.backends.webgpu import adapter
from wgtorch.backends.webgpu.adapter import Adapter, Traits, choose, traits_of

ROOT = Path(__file__).parents[1]
LIMITS = {
    "max-storage-buffers-per-shader-stage": 10,
    "max-storage-buffer-binding-size": 1 << 30,
    "max-buffer-size": 1 << 28,
    "max-compute-workgroup-storage-size": 16384,
    "max-compute-invocations-per-workgroup": 256,
    "max-compute-workgroup-size-x": 256,
    "max-compute-workgroup-size-y": 128,
    "max-compute-workgroup-size-z": 64,
    "max-compute-workgroups-per-dimension": 65535,
    "max-immediate-size": 128,
    "min-storage-buffer-offset-alignment": 256,
    "min-uniform-buffer-offset-alignment": 64,
}


def offer(name="Card", kind="DiscreteGPU", backend="Vulkan", features=()) -> Traits:
    info = {"device": name, "adapter_type": kind, "backend_type": backend, "description": "Drv 9"}
    return traits_of(info, set(features), LIMITS)


CARD = offer("GeForce 9000")
CHIP = offer("Iris Chip", "IntegratedGPU")
CARD_GL = offer("GeForce 9000/PCIe", "Unknown", "OpenGL")
CARD_DX = offer("GeForce 9000", backend="D3D12")
PIPE = offer("llvmpipe (LLVM 15)", "CPU")
PIPE_GL = offer("llvmpipe (LLVM 15)", "CPU", "OpenGL")


def best_first(*offers: Traits) -> list[Traits]:
    return sorted(offers, key=lambda traits: Adapter(None, traits).rank)


def run(code: str, **variables: str) -> subprocess.CompletedProcess:
    environment = {k: v for k, v in os.environ.items() if k != "XDG_RUNTIME_DIR"} | variables
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


# Traits


def test_traits_come_from_info_features_and_limits():
    t = offer("X", "IntegratedGPU", "D3D12", ["shader-int64", "immediates", "subgroup"])
    assert (t.name, t.kind, t.backend, t.driver) == ("X", "integrated", "DX12", "Drv 9")
    assert t.int64 and t.immediates and t.subgroups
    assert not (t.f64 or t.f16 or t.timestamps or t.mappable or t.is_software)
    assert t.group_shape == (256, 128, 64) and t.group_size == 256 and t.most_buffers == 10
    assert t.uniform_alignment == 64 and t.storage_alignment == 256


def test_a_binding_cannot_be_larger_than_a_buffer():
    assert offer().most_binding_bytes == 1 << 28


def test_room_for_immediates_counts_only_with_the_feature():
    assert offer().immediate_bytes == 0 and not offer().immediates
    assert offer(features=["immediates"]).immediate_bytes == 128


@pytest.mark.parametrize("name", ["llvmpipe (LLVM 15.0.6, 256 bits)", "SwiftShader Device",
                                  "Microsoft Basic Render Driver"])  # fmt: skip
def test_software_is_known_by_name_where_the_driver_hides_it(name):
    assert offer(name, "Unknown").is_software
    assert not offer("GeForce", "Unknown").is_software


# Choosing


def test_the_best_comes_first():
    ranked = best_first(PIPE_GL, PIPE, CARD_GL, CHIP, CARD)
    assert ranked == [CARD, CHIP, CARD_GL, PIPE, PIPE_GL]


@pytest.mark.parametrize(
    "wanted, place, reason",
    [
        ("", 0, "best of 5"),
        ("3", 3, "index"),
        ("integrated", 1, "kind"),
        ("software", 3, "kind"),
        ("cpu", 3, "kind"),
        ("gl", 2, "backend"),
        ("OpenGL", 2, "backend"),
        ("LLVMpipe", 3, "name"),
        ("iris", 1, "name"),
        (" discrete ", 0, "kind"),
    ],
)
def test_a_choice_has_a_reason(wanted, place, reason):
    chosen, why = choose([CARD, CHIP, CARD_GL, PIPE, PIPE_GL], wanted)
    assert chosen == place and reason in why


def test_an_index_is_not_part_of_a_name():
    with pytest.raises(RuntimeError, match="WGTORCH_ADAPTER=9000 fits no adapter"):
        choose([CARD], "9000")


def test_backends_go_by_the_name_users_know():
    assert choose([CARD, CARD_DX], "dx12")[0] == choose([CARD, CARD_DX], "d3d12")[0] == 1


def test_a_wish_that_cannot_be_met_names_what_is_there():
    with pytest.raises(RuntimeError, match=r"metal fits no adapter here; there are 0: Iris Chip"):
        choose([CHIP], "metal")


def test_no_adapter_names_the_remedy():
    with pytest.raises(RuntimeError, match="no WebGPU adapter found; install"):
        choose([], "")


@pytest.mark.parametrize(
    "system, word",
    [("linux", "mesa-vulkan"), ("darwin", "Metal"), ("win32", "driver"), ("aix", "Vulkan")],
)
def test_the_remedy_is_of_this_system(monkeypatch, system, word):
    monkeypatch.setattr(sys, "platform", system)
    assert word in adapter.remedy()


def test_order_puts_the_chosen_one_first(monkeypatch):
    offers = tuple(Adapter(None, traits) for traits in (CARD, CHIP, PIPE))
    monkeypatch.setattr(adapter, "found", lambda: offers)
    monkeypatch.setattr(adapter, "chosen", lambda: (1, "because"))
    assert [each.traits for each in adapter.order()] == [CHIP, CARD, PIPE]
    assert adapter.count() == 3


# On this machine


def test_a_device_has_all_that_its_adapter_offers(traits):
    device, opened = adapter.open_device(0)
    assert opened == traits
    assert device.limits["max-storage-buffers-per-shader-stage"] == traits.most_buffers > 0
    assert ("shader-int64" in device.features) == traits.int64
    assert ("immediates" in device.features) == traits.immediates


def test_an_index_beyond_the_last_adapter(webgpu):
    count = adapter.count()
    with pytest.raises(RuntimeError, match=rf"invalid device ordinal: webgpu:{count}; .*webgpu:0"):
        adapter.open_device(count)


def test_a_refusal_names_adapter_and_remedy(traits, monkeypatch):
    class Refusing:
        features = ()
        limits = LIMITS

        def request_device_sync(self, **_):
            raise RuntimeError("limit too high")

    monkeypatch.setattr(adapter, "order", lambda: [Adapter(Refusing(), replace(CARD, name="Bad"))])
    with pytest.raises(RuntimeError, match="Bad .*gives no device: limit too high; update"):
        adapter.open_device(0)


def test_drivers_say_nothing_on_a_headless_machine(webgpu):
    done = run(
        "import os; from wgtorch.backends.webgpu import adapter; adapter.open_device()\n"
        "print(os.environ.get('XDG_RUNTIME_DIR'))"
    )
    assert done.stderr == "" and done.returncode == 0
    assert done.stdout.strip() == "None"  # and the environment is as it was


def test_a_warning_that_says_nothing_new_is_dropped(caplog):
    logger = logging.getLogger("wgpu")
    logger.warning("Feature MAPPABLE_PRIMARY_BUFFERS enabled on a discrete gpu.")
    logger.warning("the adapter is on fire")
    assert [r.getMessage() for r in caplog.records] == ["the adapter is on fire"]


def test_a_machine_without_drivers():
    code = (
        "from wgtorch.backends.webgpu import adapter\n"
        "print(adapter.available(), adapter.count())\n"
        "adapter.open_device()"
    )
    nowhere = {"VK_DRIVER_FILES": "/nowhere", "__EGL_VENDOR_LIBRARY_FILENAMES": "/nowhere"}
    done = run(code, WGTORCH_ADAPTER="", VK_ICD_FILENAMES="/nowhere", **nowhere)
    if "True" in done.stdout:
        pytest.skip("this system's drivers cannot be hidden by environment variables")
    assert done.stdout.split() == ["False", "0"]
    assert "RuntimeError: no WebGPU adapter found; install" in done.stderr


def test_webgpu_can_be_switched_off():
    code = "from wgtorch.backends.webgpu import adapter\nprint(adapter.available())"
    done = run(code, WGTORCH_ADAPTER="none")
    assert done.stdout.strip() == "False" and done.stderr == ""


def test_a_misspelt_adapter_is_heard(webgpu):
    code = "from wgtorch.backends.webgpu import adapter\nprint(adapter.available())"
    done = run(code, WGTORCH_ADAPTER="nosuch")
    assert done.stdout.strip() == "False"
    assert (
        "RuntimeWarning: WGTORCH_ADAPTER=nosuch fits no adapter here; there are 0:" in done.stderr
    )
