"""The examples of README.md run as they are printed, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import wgtorch as torch

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_examples_run(webgpu, tmp_path, monkeypatch, capsys):
    text = README.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict = {"__name__": "readme"}
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        if not block.startswith("@elementwise"):  # which belongs in a file of ops
            exec(block, names)
    try:
        assert names["w"].grad.shape == (784, 10)
        assert names["per_sample"].shape == (64, 784, 10)
        assert names["curvature"].shape == (64, 3, 3)
        x, swish = names["x"].cpu(), names["y"].cpu()
        torch.testing.assert_close(swish, x * (1.5 * x).sigmoid(), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(names["z"].cpu(), x**3 + 1, rtol=1e-4, atol=1e-5)
        assert (tmp_path / "step.json").stat().st_size > 1000
        assert "Self WebGPU time total" in capsys.readouterr().out
    finally:
        for op in ("swish", "cube"):
            names[op].unregister()


def test_spilling_as_printed_keeps_nothing_in_host_memory(tmp_path):
    said = re.search(r"`(spill_to_disk\(.*?\))` \|", README.read_text(encoding="utf-8"))[1]
    x = torch.ones(64, 64, requires_grad=True)
    names = {"spill_to_disk": torch.autograd.graph.spill_to_disk, "folder": tmp_path}
    context = eval(said, names)
    with context:
        y = x.exp()
    del y
    assert context.desk.file is not None
