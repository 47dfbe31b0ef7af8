"""PyTorch's own samples of every op that wgtorch has: values, dtypes, gradients and refusals.

Some of each op and dtype, spread over the list; `python -m tests.oracle.opinfo` runs
all of them and prints a table. What is known to differ stands in opinfo/exceptions.py.
"""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="torch's database of samples needs it")

from tests.oracle.opinfo.counterparts import OPS
from tests.oracle.opinfo.exceptions import KNOWN, expected
from tests.oracle.opinfo.trial import DTYPES, Tally, refusals, trial

pytestmark = pytest.mark.filterwarnings("ignore")
CAP = {"cpu": 20, "webgpu": 3}  # samples of an op and dtype


def assert_as_expected(tally: Tally | None) -> None:
    if tally is None:
        return
    known = expected(tally)
    new = [w for w in tally.wrong if w[:2] not in known]
    assert not new, f"{tally.dtype}: {len(new)} wrong, as {new[0]}"
    healed = known - {w[:2] for w in tally.wrong}
    assert not healed, f"{tally.dtype}: right by now, so no exceptions: {sorted(healed)}"


@pytest.mark.parametrize("name", sorted(OPS))
def test_samples(name, device):
    for dtype in DTYPES:
        assert_as_expected(trial(name, device, dtype, CAP[device]))


@pytest.mark.parametrize("name", [n for n in sorted(OPS) if OPS[n].error_inputs_func])
def test_refusals(name, device):
    assert_as_expected(refusals(name, device))


def test_exceptions_are_of_ops_there_are():
    assert {op for op, _, _ in KNOWN} <= set(OPS)
