"""The pages on saved tensors: what each of them promises, on both devices."""

import sys
from pathlib import Path

import wgtorch as torch

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import checkpoint
import combine
import compress
import pytest
import small_transformer

SMALL = ["--layers", "2", "--batch", "2", "--width", "32", "--length", "32", "--steps", "1"]


def costs_of(page, device, *more):
    costs = page.main(["--device", device, *SMALL, *more])
    assert costs[0].way == "plain" and costs[0].error == 0
    return {cost.way: cost for cost in costs}


def kept(cost):
    return cost.on_device + cost.on_host + cost.on_disk


def test_compress(device, capsys, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    costs = costs_of(compress, device, "--png", str(tmp_path / "slots.png"))
    assert (tmp_path / "slots.png").stat().st_size > 10_000
    plain = kept(costs["plain"])
    for kind, ratio, error in (("float16", 1.9, 2e-3), ("bfloat16", 1.9, 2e-2), ("int8", 3.3, 5e-2),
                               ("int4", 5.0, 0.6)):  # fmt: skip
        assert plain / kept(costs[kind]) > ratio and 0 < costs[kind].error < error
    assert costs["mask1"].error == 0 and kept(costs["mask1"]) < plain
    out = capsys.readouterr().out
    assert "int8: every saved element was within its bound" in out
    assert "relu: 65,536 bytes kept in 2,048, gradients equal: True" in out


def test_checkpoint(device):
    costs = costs_of(checkpoint, device)
    sizes = [kept(costs[way]) for way in ("every block", "every other block", "selective", "plain")]
    assert sizes[0] < sizes[1] < sizes[2] < sizes[3]
    assert all(cost.error == 0 for cost in costs.values())


def test_combine(device, rounding):
    costs = costs_of(combine, device)
    plain = kept(costs["plain"])
    assert kept(costs["int8 on the host"]) < plain / 3
    for way in ("large ones on the host", "first block on the host"):
        assert costs[way].error <= rounding
    assert kept(costs["checkpoint + host"]) < plain / 4 and costs["checkpoint + host"].error == 0
    if device == "webgpu":
        assert costs["int8 on the host"].on_device == 0 < costs["int8 on the host"].on_host
        assert costs["checkpoint + host"].on_device == 0
        assert 0 < costs["first block on the host"].on_host < plain / 2 + 4096


def test_the_model_learns(device):
    bench = small_transformer.Bench(device, batch=4, layers=1, width=32, length=32)
    optimizer = torch.optim.AdamW(bench.model.parameters(), lr=0.01)
    losses = []
    for _ in range(12):
        optimizer.zero_grad()
        loss = bench.loss()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
