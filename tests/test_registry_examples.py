"""The pages about what users can add: they run, and what they print is true."""

import re
import runpy
import sys
from pathlib import Path

import pytest

import wgtorch as torch

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import own_device
import own_dtype


@pytest.fixture(params=["cpu", "webgpu"])
def printed(request, monkeypatch, capsys):
    """What a page prints on a device."""
    if request.param == "webgpu":
        request.getfixturevalue("webgpu")
    monkeypatch.setattr(torch, "is_webgpu_available", lambda: request.param == "webgpu")

    def of(main):
        main()
        return capsys.readouterr().out

    return of


def test_a_dtype(printed):
    out = printed(own_dtype.main)
    assert "dtype=torch.int8_blocks, blocks=" in out and "512 bytes become 144" in out
    assert "torch.int8_blocks torch.float32 torch.bool" in out and "True\non the cpu" in out
    far, near = re.search(r"weights is (\S+)% off, its own kernel (\S+) from", out).groups()
    assert 0 < float(far) < 2 and float(near) < 1e-5
    assert not torch.has_dtype("int8_blocks")


def test_a_shader(printed):
    page = runpy.run_path(str(Path(own_dtype.__file__).with_name("own_shader.py")))
    with page["snake"]:  # its op must not stay
        out = printed(page["main"])
    assert "as a method" in out
    assert float(re.search(r"largest difference to numpy: (\S+)", out).group(1)) < 1e-3


def test_a_device(capsys):
    own_device.main()
    out = capsys.readouterr().out
    mine, cpu = re.search(r"loss (\S+) on logging:0, (\S+) on the cpu", out).groups()
    assert mine == cpu
    assert "many rows: the same True" in out and "still used: 1" in out
    lines = (Path(own_device.__file__)).read_text(encoding="utf-8").splitlines()
    assert len(lines) < 120 and not torch.has_device("logging")
