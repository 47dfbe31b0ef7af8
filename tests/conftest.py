"""What every test may ask for: a device, and the traits of the adapter behind webgpu.

Without an adapter the webgpu half of a test is skipped; WGTORCH_REQUIRE_WEBGPU=1 makes it fail.
"""

from __future__ import annotations

import os

import pytest

import wgtorch
from wgtorch.backends.webgpu import adapter

REQUIRED = os.environ.get("WGTORCH_REQUIRE_WEBGPU") == "1"


def pytest_report_header() -> str:
    if not adapter.available():
        return "webgpu: no adapter"
    _, why = adapter.chosen()
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
