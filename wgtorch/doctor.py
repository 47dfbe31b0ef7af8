"""The doctor says what a machine offers wgtorch, tries it, and names a remedy for what is missing.

`examine()` gathers the facts as a plain dict, `text` shows them; `python -m wgtorch` is the two in
a row. Speeds are the best of a few runs and include everything a user would wait for.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import wgtorch as torch
from wgtorch.backends.webgpu import adapter
from wgtorch.backends.webgpu.adapter import Traits

PACKAGES = ("numpy", "wgpu", "ml_dtypes", "scipy", "safetensors")
EXTRAS = {"matplotlib": "plots", "scikit-learn": "data", "rich": "progress"}
RENDER_NODES = "/dev/dri"  # where Linux shows GPUs
MIB = 1 << 20

Report = dict[str, Any]


def examine(device: str = "webgpu", test: bool = True) -> Report:
    """All facts. `chosen` is the summary of the adapter behind `device`, or None; `healthy` says
    whether tensors can be computed there, as far as it was tried."""
    report: Report = {
        "versions": versions(),
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith("WGTORCH_")},
        "adapters": [],
        "chosen": None,
        "why": "",
        "test": {},
        "remedies": [],
    }
    try:
        found = adapter.found()
        report["adapters"] = [dataclasses.asdict(each.traits) for each in found]
        _, report["why"] = adapter.chosen()
        order = adapter.order()
        for at, each in enumerate(found):
            report["adapters"][at]["device"] = f"webgpu:{order.index(each)}"
        place = number(device, len(order))
        traits = order[place].traits
        if place:
            report["why"] = f"{device}, as asked"
    except Exception as error:  # a broken driver may raise anything
        report["why"] = str(error)
    else:
        report["chosen"] = traits.summary
        report["remedies"] += shortcomings(traits)
        if test:
            report["test"] = self_test(device, traits.is_software)
    report["remedies"] += missing_packages()
    results = report["test"].values()
    report["healthy"] = report["chosen"] is not None and all(r["right"] for r in results)
    return report


def number(device: str, count: int) -> int:
    """The N of webgpu:N."""
    kind, _, index = device.partition(":")
    if kind != "webgpu" or not (index or "0").isdecimal() or int(index or 0) >= count:
        raise RuntimeError(f"{device} is none of webgpu:0 to webgpu:{count - 1}")
    return int(index or 0)


def versions() -> dict[str, str]:
    known = {"python": platform.python_version(), "system": platform.platform()}
    known["wgtorch"] = torch.__version__  # also of a checkout that is not installed
    for package in PACKAGES:
        known[package] = version(package) or "not installed"
    known["wgpu-native"] = adapter.library_version()
    return known


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


# What is missing


def shortcomings(traits: Traits) -> list[str]:
    """A sentence for each thing this adapter lacks: what it means, what to do."""
    lacks = []
    if traits.is_software:
        lacks.append(f"{traits.name} computes on the CPU. {unserved_gpu()}")
    elif traits.backend == "OpenGL":
        lacks.append("Only OpenGL serves this GPU: install its Vulkan driver, which is faster.")
    if not traits.f64:
        lacks.append("No float64 on this adapter: compute in float32, or on the cpu.")
    if not traits.int64:
        lacks.append("No native int64: it is computed in two words, right but slower.")
    if not traits.immediates:
        lacks.append("No immediates: numbers reach kernels through a buffer, a little slower.")
    if not traits.mappable:
        lacks.append("No mappable primary buffers: transfers to the device take one more copy.")
    if traits.most_binding_bytes < 1024 * MIB:
        size = traits.most_binding_bytes // MIB
        lacks.append(
            f"One tensor can have at most {size} MiB on this adapter: use smaller batches."
        )
    return lacks


def unserved_gpu() -> str:
    nodes = sorted(Path(RENDER_NODES).glob("renderD*")) if sys.platform == "linux" else []
    if nodes:
        return f"This machine shows a GPU ({nodes[0]}) without a Vulkan driver: install it."
    return "If this machine has a GPU, install its driver."


def missing_packages() -> list[str]:
    return [
        f"{package} is not installed; examples that want it: pip install 'wgtorch[{extra}]'"
        for package, extra in EXTRAS.items()
        if version(package) is None
    ]


# Trying it


def self_test(device: str, small: bool) -> dict[str, Report]:
    """By name: `right`, `ms`, and `gflops` or `gbps`; or `right` = False and the `error`."""
    trials: dict[str, Callable[[], Report]] = {
        "matmul": lambda: matmul(device, 512 if small else 2048),
        "reduction": lambda: reduction(device, (16 if small else 64) * MIB),
        "upload": lambda: upload(device, (16 if small else 64) * MIB),
        "download": lambda: download(device, (16 if small else 64) * MIB),
    }
    results = {}
    for name, trial in trials.items():
        try:
            results[name] = trial()
        except Exception as error:  # the report goes on: one broken trial is a finding
            results[name] = {"right": False, "error": f"{type(error).__name__}: {error}"}
    return results


def matmul(device: str, n: int) -> Report:
    a, b = host((n, n), 1), host((n, n), 2)
    there = torch.from_numpy(a).to(device), torch.from_numpy(b).to(device)
    ms, product = best(lambda: torch.matmul(*there), device)
    rows = slice(0, 8)  # float64 on all of it would take longer than the trial
    right = np.allclose(product.cpu().numpy()[rows], a[rows].astype(np.float64) @ b, atol=1e-3 * n)
    return {"right": bool(right), "n": n, "ms": ms, "gflops": 2 * n**3 / ms / 1e6}


def reduction(device: str, nbytes: int) -> Report:
    a = host((nbytes // 4096, 1024), 3)
    there = torch.from_numpy(a).to(device)
    ms, total = best(lambda: there.sum(), device)
    right = np.isclose(total.item(), a.sum(dtype=np.float64), rtol=1e-4, atol=1e-2)
    return bandwidth(right, nbytes, ms)


def upload(device: str, nbytes: int) -> Report:
    a = host((nbytes // 4,), 4)
    here = torch.from_numpy(a)
    ms, there = best(lambda: here.to(device), device)
    return bandwidth(np.array_equal(there.cpu().numpy(), a), nbytes, ms)


def download(device: str, nbytes: int) -> Report:
    a = host((nbytes // 4,), 5)
    there = torch.from_numpy(a).to(device)
    ms, back = best(lambda: there.cpu().numpy(), device)
    return bandwidth(np.array_equal(back, a), nbytes, ms)


def bandwidth(right: bool, nbytes: int, ms: float) -> Report:
    return {"right": bool(right), "bytes": nbytes, "ms": ms, "gbps": nbytes / ms / 1e6}


def host(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(shape, np.float32)


def best(run: Callable[[], Any], device: str, seconds: float = 0.5) -> tuple[float, Any]:
    """(milliseconds of the fastest run, its result), after one run to warm up."""
    fastest, result = float("inf"), run()
    torch.webgpu.synchronize(device)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or fastest == float("inf"):
        start = time.perf_counter()
        result = run()
        torch.webgpu.synchronize(device)
        fastest = min(fastest, time.perf_counter() - start)
    return fastest * 1e3, result


# Showing it


def text(report: Report) -> str:
    """The report for people."""
    width = max(map(len, report["versions"]))
    lines = [f"{name:{width}}  {value}" for name, value in report["versions"].items()]
    lines += [f"{name}={value}" for name, value in report["environment"].items()]
    lines += ["", "Adapters"] + [
        line for each in enumerate(report["adapters"]) for line in row(each)
    ]
    if report["chosen"]:
        lines += ["", f"Used: {report['chosen']}, because it is {report['why']}."]
    else:
        lines += [
            "  none of them is used" if report["adapters"] else "  none",
            "",
            report["why"] + ".",
        ]
    if report["test"]:
        lines += ["", "Self-test"] + [trial(*item) for item in report["test"].items()]
    if report["remedies"]:
        lines += ["", "What is missing, and what to do"] + [f"- {r}" for r in report["remedies"]]
    return "\n".join(lines)


def row(item: tuple[int, Report]) -> list[str]:
    place, a = item
    flags = ("f16", "int64", "f64", "subgroups", "timestamps", "mappable")
    has = [flag for flag in flags if a[flag]]
    lacks = [flag for flag in flags if not a[flag]]
    immediates = f"immediates of {a['immediate_bytes']} B" if a["immediate_bytes"] else ""
    limits = (
        f"{a['most_buffers']} buffers a kernel, {size(a['most_binding_bytes'])} visible of "
        f"{size(a['most_buffer_bytes'])} each; groups of {a['group_size']} "
        f"{a['group_shape'][0]}x{a['group_shape'][1]}x{a['group_shape'][2]}, "
        f"{size(a['workgroup_bytes'])} shared"
    )
    return [
        f"  {place}: {a['name']} ({a['kind']}, {a['backend']})  {a.get('device', '')}".rstrip(),
        f"     driver {a['driver'] or 'unnamed'}",
        f"     has {', '.join(filter(None, [*has, immediates])) or 'none of the extras'}"
        + (f"; lacks {', '.join(lacks)}" if lacks else ""),
        f"     {limits}",
    ]


def size(nbytes: int) -> str:
    for unit, scale in (("GiB", 1 << 30), ("MiB", MIB), ("KiB", 1 << 10)):
        if nbytes >= scale:
            return f"{nbytes / scale:.4g} {unit}"
    return f"{nbytes} B"


def trial(name: str, result: Report) -> str:
    if "error" in result:
        return f"  {name:10} failed: {result['error']}"
    speed = (
        f"{result['gflops']:.1f} GFLOP/s" if "gflops" in result else f"{result['gbps']:.2f} GB/s"
    )
    what = f"{result['n']} x {result['n']}" if "n" in result else size(result["bytes"])
    verdict = "right" if result["right"] else "WRONG"
    return f"  {name:10} {verdict}  {what:12} {result['ms']:8.2f} ms  {speed}"
