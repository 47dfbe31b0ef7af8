"""The examples that train: what they promise, on both devices."""

import re
import sys
from pathlib import Path

import pytest

import wgtorch as wt
from wgtorch.autograd.graph import compress

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

pytest.importorskip("sklearn")
import resume_training
import train_digits
import vae_digits

LAST = re.compile(
    r'accuracy=(\d\.\d{4}) device=(\S+) adapter="(.+)" peak_bytes=(\d+) '
    r"peak_bytes_save_on_cpu=(\d+) steps_per_s=(\d+\.\d)"
)


def run(device, tmp_path, *more):
    png = tmp_path / "digits.png"
    return train_digits.main(["--device", device, "--png", str(png), *more]), png


def test_training_three_ways(device, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    others = wt.memory_stats(device).get("allocated_bytes.all.current", 0)  # held by other tests
    (plain, saved, packed), png = run(device, tmp_path, "--epochs", "1", "--batch-size", "256")
    assert plain.losses == saved.losses and len(plain.losses) == 5
    assert plain.losses[-1] < plain.losses[0]
    assert packed.losses[0] == plain.losses[0] != packed.losses[-1]
    out = capsys.readouterr().out
    assert "all 10 bitwise equal" in out
    last = LAST.fullmatch(out.splitlines()[-1])
    assert last and last[2] == device and png.stat().st_size > 10_000
    if device == "cpu":
        assert saved.saved_on_device == 0 and packed.saved_on_host < 0.45 * plain.saved_on_host
        return
    kept = plain.saved_on_device
    assert plain.saved_on_host == 0 and saved.saved_on_host >= kept > 0
    assert packed.saved_on_device < 0.45 * kept
    assert sum(plain.saved_by_block) == kept and len(plain.saved_by_block) == 3
    if wt.webgpu.get_device_properties().mappable:  # else values come back before they are read
        assert saved.peak_bytes <= plain.peak_bytes - (kept - max(plain.saved_by_block))
    assert saved.peak_bytes - others < 0.75 * (plain.peak_bytes - others)
    assert packed.peak_bytes - others < 0.85 * (plain.peak_bytes - others)
    assert (int(last[4]), int(last[5])) == (plain.peak_bytes, saved.peak_bytes)


def test_digits_are_learned_as_well_in_8_bits(webgpu, monkeypatch):
    """Under the ready-made pair the accuracy ends within half a point of the plain one."""
    monkeypatch.setitem(train_digits.WAYS, "int8", lambda: compress("int8"))
    options = train_digits.arguments(["--device", webgpu, "--epochs", "7"])
    plain, packed = (
        train_digits.train(way, options, 300, lambda: None) for way in ("plain", "int8")
    )
    assert packed.losses != plain.losses and len(packed.losses) == len(plain.losses) == 7 * 11
    assert plain.accuracy >= 0.97 and packed.accuracy >= plain.accuracy - 0.005


@pytest.mark.slow
def test_digits_are_learned(device, tmp_path):
    (plain, saved, packed), _ = run(device, tmp_path)
    assert plain.accuracy >= 0.97 and saved.accuracy == plain.accuracy
    assert packed.accuracy >= 0.96


def test_a_training_resumes_exactly(device, capsys):
    whole, parts = resume_training.main(["--device", device])
    assert whole == parts and len(whole) == resume_training.STEPS
    assert whole[-1] < 0.8 * whole[0]
    assert capsys.readouterr().out.endswith("identical\n")


def test_an_autoencoder_of_digits(device, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    png = tmp_path / "vae.png"
    first, held_back = vae_digits.main(["--device", device, "--epochs", "6", "--png", str(png)])
    assert first < 20 and held_back > 60
    assert "images held back" in capsys.readouterr().out and png.stat().st_size > 10_000


def test_a_device_that_is_not_there(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(wt, "is_webgpu_available", lambda: False)
    with pytest.raises(SystemExit):
        run("webgpu", tmp_path)
    assert "no WebGPU adapter; `python -m wgtorch` says why" in capsys.readouterr().err
