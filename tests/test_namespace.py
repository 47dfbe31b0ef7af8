"""The package as users import it: what comes with it, and what comes when it is asked for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import wgtorch

PROGRAM = """
import sys
import wgtorch as torch
late = [f"wgtorch.{name}" for name in ("distributions", "nn", "optim", "utils", "autograd.spill")]
assert not [name for name in (*late, "wgpu", "torch", "asyncio") if name in sys.modules]
assert isinstance(torch.nn.Linear(2, 3)(torch.ones(2)), torch.Tensor)
assert torch.optim.SGD and torch.utils.data.DataLoader and torch.distributions.Normal
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


def test_every_named_tuple_is_in_return_types():
    """What ops call results by; a name in the source that is missing here would not be found."""
    ops = Path(wgtorch.__file__).parent / "ops"
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(ops.glob("*.py")))
    found = re.findall(r'results\("(\w+)", \(([^)]*)\)', text)
    assert len(found) > 10
    for name, fields in found:
        kind = getattr(wgtorch.return_types, name)
        assert kind._fields == tuple(re.findall(r'"(\w+)"', fields)), name
    for name in re.findall(r'pair\("(\w+)"', text):
        assert getattr(wgtorch.return_types, name)._fields == ("values", "indices")
    with pytest.raises(AttributeError):
        wgtorch.return_types.add  # noqa: B018


def test_all_of_dir_can_be_had():
    for name in dir(wgtorch):
        getattr(wgtorch, name)


RESTS = """
import gc, sys
{before}
try:
    import wgtorch
except ImportError:
    pass
print(gc.isenabled())
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [("", True), ("gc.disable()", False), ("sys.modules['numpy'] = None", True)],
)
def test_the_cycle_collector_is_as_it_was_after_the_import(before, after):
    code = RESTS.format(before=before)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == str(after)


@pytest.mark.parametrize(("before", "frozen"), [("pass", False), ("gc.freeze()", True)])
def test_what_an_import_made_is_old_and_not_frozen(before, frozen):
    """A collection of the young would look through all of it, in the first steps of a program."""
    code = (
        f"import gc, numpy; {before}; frozen = gc.get_freeze_count(); import wgtorch;"
        " print(len(gc.get_objects(generation=0)), gc.get_freeze_count() == frozen)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    young, kept = ran.stdout.split()
    assert kept == "True" and (frozen or int(young) < 2000)
