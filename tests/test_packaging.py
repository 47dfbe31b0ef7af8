"""The wheel is whole: what it carries is enough to compute on a GPU away from the repository."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MATMUL = """
import pathlib, sys
import wgtorch as torch

place = pathlib.Path(torch.__file__).resolve()
assert place.is_relative_to(pathlib.Path(sys.prefix).resolve()), place
a = torch.arange(12, dtype=torch.float32).reshape(3, 4)
product = torch.matmul(a.to("webgpu"), a.t().to("webgpu"))
assert product.device.type == "webgpu"
print(product.cpu().numpy().tolist())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = out.glob("wgtorch-*.whl")
    return path


def test_the_wheel_carries_all_it_needs_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    shaders = {p.relative_to(ROOT).as_posix() for p in (ROOT / "shaders").rglob("*.wgsl")}
    modules = {p.relative_to(ROOT).as_posix() for p in (ROOT / "wgtorch").rglob("*.py")}
    assert shaders and {f"wgtorch/{name}" for name in shaders} <= names
    assert modules <= names
    assert "wgtorch/py.typed" in names
    assert not any(name.startswith(("tests/", "tools/", "examples/")) for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_wheel_says_what_it_needs(wheel):
    archive = zipfile.ZipFile(wheel)
    (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
    lines = archive.read(name).decode().splitlines()
    needs = {
        line.split(": ")[1]
        for line in lines
        if line.startswith("Requires-Dist") and ";" not in line
    }
    assert {need.split(">")[0].split("=")[0] for need in needs} == {
        "ml-dtypes", "numpy", "safetensors", "scipy", "wgpu",
    }  # fmt: skip
    assert "Requires-Python: >=3.11" in lines and "License-Expression: BSD-3-Clause" in lines


def test_an_installed_wheel_computes_on_the_gpu(wheel, webgpu, tmp_path):
    home = tmp_path / "venv"
    venv.create(home, with_pip=False, symlinks=os.name != "nt")
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    place = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    zipfile.ZipFile(wheel).extractall(place)
    # The dependencies are those of this environment: a test may not need a network. A path in a
    # .pth file adds that folder, and not what its own .pth files name: our editable install.
    Path(place, "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    done = subprocess.run(
        [python, "-I", "-c", MATMUL], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(
        [[14.0, 38.0, 62.0], [38.0, 126.0, 214.0], [62.0, 214.0, 366.0]]
    )
    assert done.stderr == ""
