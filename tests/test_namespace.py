"""The package as users import it: what comes with it, and what comes when it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import wgtorch

PROGRAM = """
import sys
import wgtorch as torch
late = [f"wgtorch.{name}" for name in ("nn", "optim", "utils")]
assert not [name for name in (*late, "wgpu", "torch") if name in sys.modules]
assert isinstance(torch.nn.Linear(2, 3)(torch.ones(2)), torch.Tensor)
assert torch.optim.SGD and torch.utils.data.DataLoader
import wgtorch.nn as nn
assert nn is torch.nn
assert "wgpu" not in sys.modules
"""


def test_rooms_are_imported_when_they_are_entered():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


def test_names():
    assert {"nn", "optim", "utils", "save", "load", "rand", "Generator"} <= set(dir(wgtorch))
    with pytest.raises(AttributeError, match="module 'wgtorch' has no attribute 'nothing'"):
        wgtorch.nothing  # noqa: B018
