"""What wgtorch costs, beside numpy and whatever peers are installed; every floor with its ratio.

python tools/bench.py [start] [ops] [cpu] [work] [gpu] [hooks]     the first four by default
    --peer PYTHON    an interpreter that has tinygrad or torch-vulkan (may be given twice)
    --beside FOLDER  another checkout whose tools/bench.py ops is run in the same minute
    --profile        where the Python time of a training step goes

Least of several runs, by turns where several things compare, as a machine's speed varies. `gpu`
needs a real GPU, and compares with PyTorch CUDA where that is installed.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import bench_cpu  # noqa: E402
import bench_work  # noqa: E402
import numpy as np  # noqa: E402

import wgtorch as torch  # noqa: E402
from wgtorch.autograd.node import leaf_of  # noqa: E402
from wgtorch.backend import backend  # noqa: E402
from wgtorch.backends.webgpu.fusion import Program  # noqa: E402
from wgtorch.device import Device  # noqa: E402

RNG = np.random.default_rng(0)
TURNS = 10
GPU = backend(Device("webgpu"))
QUEUE = GPU.queue  # type: ignore[attr-defined]


def sync() -> None:
    DONE.item()


def normal(*shape, grad=False):
    data = RNG.standard_normal(shape).astype(np.float32)
    return torch.tensor(data, device="webgpu", requires_grad=grad)


DONE = normal(1)


def best(work, count: int = 1, times: int = 30, settle=True) -> float:
    """Microseconds per one of the `count` things that `work` does."""
    work()
    took = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        took.append((time.perf_counter() - start) / count * 1e6)
        if settle:
            QUEUE.flush()
            sync()
    return min(took)


def each(work, count):
    def run():
        for _ in range(count):
            work()

    return run


def show(what: str, value: float, unit: str = "us", floor: float | None = None, note="") -> None:
    """`floor`: the most (or, for rates, the least) that the value should be."""
    judged = ""
    if floor is not None:
        is_rate = "/s" in unit
        met = value >= floor if is_rate else value <= floor
        judged = f"{'at least' if is_rate else 'at most'} {floor:.4g}: {'met' if met else 'missed'}"
    print(f"{what:<60}{value:10.2f} {unit:<8} {judged} {note}".rstrip(), flush=True)


def lower(least: dict[str, float], found: dict[str, float]) -> None:
    for name, value in found.items():
        least[name] = min(value, least.get(name, value))


# One op


def chain(z, y, length=32):
    for _ in range(length // 2):
        z = z + y
        z = z * y
    return z


def filled(x):
    GPU.fill(x.storage.value)  # type: ignore[attr-defined]


def ops() -> None:
    x, y, g, a = normal(16), normal(16), normal(16, grad=True), normal(16, 16)
    waiting = [chain(x, y, 22) for _ in range(20)]
    ends = [chain(g, y) for _ in range(20)]
    kept = leaf_of(g)  # as when g was used before

    def run(z):
        def work():
            for _ in range(20):
                filled(chain(z, y))
            QUEUE.flush()

        return work

    def walk():
        return [Program(z.storage.value.promise) for z in waiting]

    def back():
        for z in ends:
            z.backward(y, retain_graph=True)
            filled(g.grad)
            g.grad = None
        QUEUE.flush()

    many, few, fused = 1000, 60, 640
    rows = (
        ("call: x + y of 16 elements, not run yet", each(lambda: x + y, many), many, None),
        ("  recorded: g + y", each(lambda: g + y, many), many, None),
        ("  recorded, saves one: g * y", each(lambda: g * y, many), many, None),
        ("  with a number: x + 2", each(lambda: x + 2, many), many, None),
        ("launch: walk and key, per op of a fused 22", walk, 20 * 22, None),
        ("fused chain of 32, run and submitted, per op", run(x), fused, 3),
        ("  recorded for gradients", run(g), fused, 4),
        ("own kernel: x + y run at once", each(lambda: filled(x + y), few), few, None),
        ("own kernel: a.sum()", each(a.sum, few), few, 7),
        ("own kernel: a @ a", each(lambda: a @ a, few), few, 7),
        ("backward alone, per forward op", back, fused, None),
    )
    least: dict[str, float] = {}
    for _ in range(TURNS):
        lower(least, {what: best(work, count, times=3) for what, work, count, _ in rows})
    for what, _, _, floor in rows:
        show(what, least[what], floor=floor)
    del kept


# Work


def work(peers: list[str]) -> None:
    ours: dict[str, float] = {}
    numpy_ms: dict[str, float] = {}
    others: dict[str, dict[str, float]] = {}
    for _ in range(3):
        lower(ours, bench_work.measure_wgtorch("webgpu"))
        lower(numpy_ms, bench_work.measure_numpy())
        for python, peer in itertools.product(peers, bench_work.PEERS):
            lower(others.setdefault(peer, {}), bench_work.in_another(python, peer))
    for name, value in ours.items():
        beside = [f"numpy {numpy_ms[name]:.2f} ({value / numpy_ms[name]:.1f}x)"]
        times = [o[name] for o in others.values() if name in o]
        beside += [f"{peer} {o[name]:.2f}" for peer, o in others.items() if name in o]
        floor = min(times) / 2 if times else None
        show(f"{GPU.gpu.traits.name[:20]}: {name}", value, "ms", floor, ", ".join(beside))


def training(profile: bool, cuda: Any = None) -> None:
    """An MLP's step. `cuda`: PyTorch, where it has a GPU."""
    step, flush = bench_work.mlp_wgtorch("webgpu")
    for _ in range(20):
        step()
    flush()
    show("MLP 784-256-10 step: Python until submitted", best(lambda: (step(), flush())) / 1e3, "ms")
    steps("step", bench_work.mlp, cuda)
    before, kernels = Counter(QUEUE.counted), len(GPU.kernels)
    step(), flush()
    made = QUEUE.counted["bind groups"] - before["bind groups"]
    count = QUEUE.counted["dispatches"] - before["dispatches"]
    show("  bind groups made in a warm step", made, "", 0, f"{count} dispatches")
    show("  kernels written in a warm step", len(GPU.kernels) - kernels, "", 0)
    steps("of modules, AdamW", bench_work.mlp_of_modules, cuda)
    if profile:
        bench_work.profiled(step, flush, sync)


def steps(name: str, mlp: Callable, cuda: Any) -> None:
    """Until all is computed; beside PyTorch CUDA by turns, as a host's speed varies. Besides
    medians, what is left of the times where the slower nine tenths are left out."""
    pairs = [(mlp(torch, "webgpu"), torch.webgpu.synchronize)]
    if cuda is not None:
        pairs.append((mlp(cuda, "cuda"), cuda.cuda.synchronize))
    for what, count in (("until done", 1), ("of 20 in a row", 20)):
        took = by_turns(pairs, count)
        for part, least in (("median", statistics.median), ("quietest tenth", tenth)):
            ours, *others = (least(times) for times in took)
            note = f"PyTorch CUDA eager {others[0]:.3f} ({ours / others[0]:.2f})" if others else ""
            show(f"MLP 784-256-10 {name}: {what}, {part}", ours, "ms", *others, note=note)


def tenth(times: list[float]) -> float:
    """What nine of ten exceed."""
    return statistics.quantiles(times, n=10)[0]


def by_turns(pairs: Sequence[tuple[Callable, Callable]], count: int) -> list[list[float]]:
    """Milliseconds of each (work, wait): so many pieces of work and one wait, again and again. A
    turn lasts for 20 pieces, the first of which find a GPU that has worked for another."""
    took: list[list[float]] = [[] for _ in pairs]
    for _ in range(25):
        for (work, wait), times in zip(pairs, took, strict=True):
            for _ in range(5):
                kept = work()
                wait()
            for _ in range(20 // count):
                start = time.perf_counter()
                for _ in range(count):
                    kept = work()
                wait()
                times.append((time.perf_counter() - start) / count * 1e3)
            del kept
    return took


def start() -> None:
    """How long `import wgtorch` takes in a fresh process."""
    code = "import time; s = time.perf_counter(); import wgtorch, sys; " \
        "print((time.perf_counter() - s) * 1e3, 'wgpu' in sys.modules)"  # fmt: skip
    took, brings = [], False
    cached = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(TURNS):
        ran = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, env=cached
        )
        ms, wgpu_too = ran.stdout.split()
        took.append(float(ms))
        brings |= wgpu_too == "True"
    note = "with wgpu" if brings else "without wgpu"
    show("import wgtorch, numpy included", min(took), "ms", 150, note)


PARTS = ["start", "ops", "cpu", "work", "gpu", "hooks"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("parts", nargs="*", default=PARTS[:4], metavar="|".join(PARTS))
    parser.add_argument("--peer", action="append", default=[], metavar="PYTHON")
    parser.add_argument("--beside", metavar="FOLDER")
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"no part is called {', '.join(sorted(unknown))}: {', '.join(PARTS)} are")
    print(f"{GPU.gpu.traits.summary}; numpy {np.__version__}")
    if "start" in given.parts:
        start()
    if "ops" in given.parts:
        ops()
        if given.beside:
            print(f"-- {given.beside}")
            subprocess.run([sys.executable, "tools/bench.py"], cwd=given.beside, check=False)
    if "cpu" in given.parts:
        bench_cpu.main(show, best, each)
    if "work" in given.parts:
        work(given.peer)
        training(given.profile)
    if "gpu" in given.parts:
        import bench_gpu  # only where a real GPU is asked for: it may import torch

        bench_gpu.main(show, best, sync)
        training(given.profile, bench_gpu.cuda)
    if "hooks" in given.parts:
        import bench_hooks  # it looks for the tests' pairs of hooks

        bench_hooks.main()


if __name__ == "__main__":
    main()
