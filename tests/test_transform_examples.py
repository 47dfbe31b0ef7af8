"""The example of per-sample gradients runs, and its two ways agree."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import per_sample_gradients


def test_per_sample_gradients(device, capsys):
    assert per_sample_gradients.main(device, samples=5) < 1e-5
    assert "5 gradients at once" in capsys.readouterr().out
