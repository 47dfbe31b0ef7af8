"""The drivers that offer adapters: found, or fetched where Debian's packages have them.

`find` looks for any adapter; `variables` names the environment that brings out one by its name:
llvmpipe (Mesa's software Vulkan), swiftshader (the weak device that Chromium ships), gl (llvmpipe
through OpenGL), or anything that WGTORCH_ADAPTER understands.
"""

from __future__ import annotations

import ctypes.util
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from environment import ROOT, VENV, apt_install, apt_update, remember, say

MANIFESTS = ("/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d")
CHROMIUMS = ("/usr/lib/chromium", "/usr/lib/chromium-browser", "/opt/google/chrome",
             "/opt/chromium.org/chromium")  # fmt: skip
SWIFTSHADER = "vk_swiftshader_icd.json"
FETCHED = VENV / "swiftshader"
SELECTORS = ("WGTORCH_ADAPTER", "VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES",
             "LIBGL_ALWAYS_SOFTWARE", "__EGL_VENDOR_LIBRARY_FILENAMES")  # fmt: skip


def find(python: Path, variables: dict[str, str]) -> str | None:
    """The adapter that wgtorch will use, its drivers installed if need be; None = only the cpu."""
    environment = {**os.environ, **variables}
    key = "adapter " + repr([environment.get(name) for name in SELECTORS])
    known = remember().get(key)
    if known:
        return known
    if environment.get("WGTORCH_ADAPTER") == "none":
        return None
    report = ask(python, environment)
    if lacks_vulkan(report, environment) and sys.platform.startswith("linux"):
        found = "only an OpenGL one" if report["adapters"] else "none"
        say(f"WebGPU adapters here: {found}; Mesa's software Vulkan would be one that does more")
        if apt_install("mesa-vulkan-drivers"):
            report = ask(python, environment)
    if report["chosen"] is None:
        say(f"{report['why']}." + " Continuing on the cpu." * ("WGTORCH_ADAPTER" not in variables))
        return None
    remember(**{key: report["chosen"]})
    return report["chosen"]


def lacks_vulkan(report: dict, environment: dict[str, str]) -> bool:
    """Whether software Vulkan would be the best adapter: there is none, or llvmpipe's OpenGL."""
    if environment.get("WGTORCH_ADAPTER") and report["adapters"]:
        return False
    return all(a["is_software"] and a["backend"] == "OpenGL" for a in report["adapters"])


def ask(python: Path, environment: dict[str, str]) -> dict:
    """What the doctor says, without its self-test."""
    command = [str(python), "-m", "wgtorch", "--json", "--quick"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        say(done.stdout + done.stderr)
        sys.exit("wgtorch does not start: see above")


def variables(name: str) -> dict[str, str]:
    """The environment in which wgtorch uses the adapter `name`, and nothing but a GPU."""
    always = {"WGTORCH_REQUIRE_WEBGPU": "1"}
    if name == "llvmpipe":
        return {**always, "WGTORCH_ADAPTER": name, **driver(llvmpipe())}
    if name == "swiftshader":
        return {**always, "WGTORCH_ADAPTER": name, **driver(swiftshader())}
    if name == "gl":
        if not ctypes.util.find_library("EGL") and sys.platform.startswith("linux"):
            apt_install("libegl1", "libgl1-mesa-dri")
        return {**always, "WGTORCH_ADAPTER": name, "LIBGL_ALWAYS_SOFTWARE": "1"}
    return {**always, "WGTORCH_ADAPTER": name}


def driver(manifest: Path) -> dict[str, str]:
    """Have the Vulkan loader know this driver only; old loaders read the second name."""
    return {"VK_DRIVER_FILES": str(manifest), "VK_ICD_FILENAMES": str(manifest)}


def llvmpipe() -> Path:
    """The manifest of Mesa's software Vulkan, installed if need be."""
    for _ in range(2):
        for folder in MANIFESTS:
            for path in sorted(Path(folder).glob("lvp_icd*.json")):
                return path
        if not apt_install("mesa-vulkan-drivers"):
            break
    sys.exit("llvmpipe is not installed: on Debian or Ubuntu, apt-get install mesa-vulkan-drivers")


def swiftshader() -> Path:
    """The manifest of SwiftShader: an installed Chromium's, or the one file of Debian's package."""
    for folder in (*CHROMIUMS, FETCHED):
        path = Path(folder) / SWIFTSHADER
        if path.exists():
            return path
    if shutil.which("dpkg-deb") and (fetch() or (apt_update() and fetch())):
        return FETCHED / SWIFTSHADER
    sys.exit(f"SwiftShader is not here: install chromium, or a browser that has {SWIFTSHADER}")


def fetch() -> bool:
    """Whether the driver could be taken out of Debian's package, which needs no rights."""
    if not shutil.which("apt-get"):
        return False
    say("Fetching SwiftShader from Debian's package chromium-common (32 MB, once)")
    with tempfile.TemporaryDirectory() as folder:
        command = ["apt-get", "-qq", "download", "chromium-common"]
        subprocess.run(command, cwd=folder, capture_output=True)
        packages = list(Path(folder).glob("*.deb"))
        if not packages:
            return False
        FETCHED.mkdir(parents=True, exist_ok=True)
        take_out(packages[0], {SWIFTSHADER, "libvk_swiftshader.so"})
    return (FETCHED / SWIFTSHADER).exists()


def take_out(package: Path, names: set[str]) -> None:
    """Write the files called `names` in a Debian package to FETCHED."""
    unpack = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE)
    with unpack, tarfile.open(fileobj=unpack.stdout, mode="r|") as archive:
        for member in archive:
            name = Path(member.name).name
            if member.isfile() and name in names:
                (FETCHED / name).write_bytes(archive.extractfile(member).read())
