"""What every test may ask for: a device, and the traits of the adapter behind webgpu.

Without an adapter the webgpu half of a test is skipped; WGTORCH_REQUIRE_WEBGPU=1 makes it fail.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache

import pytest

import wgtorch
from wgtorch.backend import backend
from wgtorch.backends.webgpu import adapter
from wgtorch.backends.webgpu.backend import WebGPU
from wgtorch.device import Device

REQUIRED = os.environ.get("WGTORCH_REQUIRE_WEBGPU") == "1"


def pytest_report_header() -> str:
    try:
        if not adapter.available():
            return "webgpu: no adapter"
        _, why = adapter.chosen()
    except RuntimeError as error:
        return f"webgpu: {error}"
    return f"webgpu: {adapter.order()[0].traits.summary}, {why}"


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Every test draws the same random numbers, whichever ran before it."""
    wgtorch.manual_seed(0)


@pytest.fixture
def webgpu() -> str:
    """The device "webgpu"; the test is skipped, or fails, where there is none."""
    if not adapter.available():
        (pytest.fail if REQUIRED else pytest.skip)("no WebGPU adapter")
    return "webgpu"


@pytest.fixture(params=["cpu", "webgpu"])
def device(request: pytest.FixtureRequest) -> str:
    """Each device in turn."""
    return request.getfixturevalue("webgpu") if request.param == "webgpu" else request.param


@pytest.fixture
def traits(webgpu: str) -> adapter.Traits:
    """What the adapter behind webgpu can do."""
    return adapter.order()[0].traits


@pytest.fixture
def rounding(device: str) -> float:
    """How far gradients under an offload may be from plain ones: 0, but where an adapter maps no
    buffers (OpenGL) what comes back is not fused in, and its compiler then rounds otherwise."""
    return 0.0 if device == "cpu" or adapter.order()[0].traits.mappable else 1e-6


@cache
def other_share() -> WebGPU:
    """A second webgpu backend that shares work among threads as the other class of adapters does:
    a thread per row on GPUs, workgroups with barriers on adapters that are software."""
    home = WebGPU(Device("webgpu"))
    home.gpu.traits = replace(home.gpu.traits, is_software=not home.gpu.traits.is_software)
    return home


@pytest.fixture(params=["own kernels", "other kernels"])
def either_share(webgpu: str, request: pytest.FixtureRequest, monkeypatch) -> str:
    """The device "webgpu", with the kernels for software adapters and with those for GPUs."""
    if request.param == "other kernels":
        monkeypatch.setattr(Device(webgpu), "backend", other_share())
    return webgpu


@pytest.fixture
def ran(webgpu, monkeypatch):
    """Names of the kernels that ran, in order."""
    wgtorch.ones(1, device=webgpu, requires_grad=True).backward()  # the first seed is filled here
    wgtorch.webgpu.synchronize()
    names, queue = [], type(backend(Device(webgpu)).queue)
    dispatch = queue.dispatch
    monkeypatch.setattr(
        queue, "dispatch", lambda q, k, *rest: (names.append(k.label), dispatch(q, k, *rest))[1]
    )
    return names
