"""A process that is forked after a GPU was opened says that it cannot use it, and does not hang."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import multiprocessing
import wgtorch as torch

there = torch.ones(2, device="webgpu")

def work(name):
    made = {"there": lambda: there * 2, "new": lambda: torch.ones(2, device="webgpu"),
            "sent": lambda: torch.ones(2).to("webgpu"), "read": there.tolist,
            "cpu": lambda: torch.ones(2) * 2}[name]
    try:
        made()
    except RuntimeError as error:
        return str(error)
    return "done"

there.tolist()
with multiprocessing.get_context("fork").Pool(1) as pool:
    for name in ("there", "new", "sent", "read", "cpu"):
        print(name, pool.apply(work, (name,)))
print((there * 3).tolist())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_refuses_the_gpu(webgpu):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT],
        cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    *refused, cpu, after = done.stdout.splitlines()
    assert [line.split()[0] for line in refused] == ["there", "new", "sent", "read"]
    for line in refused:
        assert "Cannot re-initialize webgpu in forked subprocess" in line and "'spawn'" in line
    assert cpu == "cpu done" and after == "[3.0, 3.0]"
