"""What offloading saved tensors costs a training step, and where the GPU's time goes.

python tools/bench_offload.py [--layers 12] [--dim 4096] [--batch 4] [--seq 512] [--png FILE]
    transfers alone; a step of a transformer plain and with save_on_cpu, looking 0, 1, 2, 4 and 8
    nodes ahead, with copies beside no kernel, of half of what is saved, and of a quarter of the
    bits; a chart of the two lanes, kernels and copies, from timestamps of one step of each
python tools/bench_offload.py overlap    whether this GPU copies and computes at the same time
python tools/bench_offload.py spill      MB/s of saved tensors to a disk and back; plain files

Sizes default to what suits the adapter. "transfers" is the time of the copies themselves; where it
is less than the compute time, offload is to cost no more than 1.10 x plain.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools"), str(ROOT / "examples")]

import bench_overlap  # noqa: E402
import numpy as np  # noqa: E402
from small_transformer import Transformer, sequences  # noqa: E402

import wgtorch as torch  # noqa: E402
from wgtorch.autograd.graph import (  # noqa: E402
    compose_hooks,
    compress,
    device_budget,
    save_on_cpu,
    spill_to_disk,
)
from wgtorch.backend import backend  # noqa: E402
from wgtorch.backends.webgpu.timing import Span, Timer  # noqa: E402
from wgtorch.device import Device  # noqa: E402

HOME: Any = backend(Device("webgpu"))
MOST_COST, LEAST_RATE = 1.10, 40.0  # x plain; GB/s each way
LEAST_SHARE = 0.1  # of a step: repeated steps differ by about as much
REAL = {"layers": 12, "dim": 4096, "batch": 4, "seq": 512, "heads": 32}
SOFTWARE = {"layers": 2, "dim": 64, "batch": 2, "seq": 32, "heads": 4}
Way = Callable[[], AbstractContextManager]


class Lanes(NamedTuple):
    """What one step did on the GPU, in milliseconds and bytes."""

    spans: list[Span]
    compute: float
    sent: int
    send: float
    fetched: int
    fetch: float
    beside: int  # bytes of both that moved while a kernel ran

    @classmethod
    def of(cls, spans: list[Span]) -> Lanes:
        def spent(kind: str) -> float:
            return sum(s.end - s.begin for s in spans if s.kind == kind) / 1e6

        def moved(kind: str) -> int:
            return sum(s.nbytes for s in spans if s.kind == kind)

        kernels = {(s.begin, s.end) for s in spans if s.kind == "kernel"}
        beside = sum(s.nbytes for s in spans if s.nbytes and (s.begin, s.end) in kernels)
        return cls(spans, spent("kernel") + spent("clear"), moved("d2h"), spent("d2h"),
                   moved("h2d"), spent("h2d"), beside)  # fmt: skip

    @property
    def stall(self) -> float:
        """Milliseconds in which copies run and no kernel does."""
        kinds = {s.kind for s in self.spans}
        busy = {kind: covered(self.spans, {kind}) for kind in ("kernel", *kinds)}
        return covered(self.spans, kinds) - busy["kernel"] - busy.get("clear", 0.0)


def covered(spans: list[Span], kinds: set[str]) -> float:
    """Milliseconds in which any span of these kinds runs."""
    bars = joined([(s.begin / 1e6, s.end / 1e6) for s in spans if s.kind in kinds])
    return sum(width for _, width in bars)


class Step:
    """One training step of a transformer."""

    def __init__(self, layers: int, dim: int, batch: int, seq: int, heads: int):
        torch.manual_seed(0)
        torch.set_default_device("webgpu")  # where its numbers are drawn
        self.model = Transformer(64, dim, heads, layers, seq)
        torch.set_default_device("cpu")
        self.data = sequences(batch, seq, 64, "webgpu")
        self.forward = 0.0  # host seconds until forward was recorded

    def __call__(self, way: Way) -> None:
        for p in self.model.parameters():
            p.grad = None
        start = time.perf_counter()
        with way():
            scores = self.model(self.data[:, :-1])
            loss = torch.nn.functional.cross_entropy(
                scores.flatten(0, 1), self.data[:, 1:].flatten()
            )
        self.forward = time.perf_counter() - start
        loss.backward()
        for p in self.model.parameters():
            HOME.fill(p.grad.storage.value)

    def first_half(self) -> float:
        """Seconds of forward alone."""
        torch.webgpu.synchronize()
        start = time.perf_counter()
        scores = self.model(self.data[:, :-1])
        HOME.fill(scores.storage.value)
        torch.webgpu.synchronize()
        return time.perf_counter() - start

    def seconds(self, way: Way, times: int = 2) -> float:
        """The least of a few, after one that compiles and fills the pools."""
        took = []
        for _ in range(times + 1):
            torch.webgpu.synchronize()
            torch.reset_peak_memory_stats()
            start = time.perf_counter()
            self(way)
            torch.webgpu.synchronize()
            took.append(time.perf_counter() - start)
        return min(took[1:])

    def lanes(self, way: Way) -> Lanes:
        torch.webgpu.synchronize()
        timer = Timer(HOME)
        timer.start()
        self(way)
        return Lanes.of(timer.stop())


def ahead(nodes: int) -> Way:
    return lambda: save_on_cpu(prefetch=nodes)


def rate(nbytes: int, ms: float) -> float:
    return nbytes / ms / 1e6 if ms else 0.0


def judged(value: float, met: bool, limit: str) -> str:
    return f"{value:.2f}  ({limit}: {'met' if met else 'MISSED'})"


def transfers(pieces: int = 16) -> tuple[float, float]:
    """Both ways through the library by the host's clock: GB/s to the host, and back."""
    numel = 1 << (24 if not HOME.gpu.traits.is_software else 18)
    here = [torch.full((numel,), float(i), device="webgpu") for i in range(pieces)]
    for x in here:
        HOME.fill(x.storage.value)
    nbytes = 4 * numel * pieces
    for _ in range(2):  # the second time staging memory is there
        torch.webgpu.synchronize()
        start = time.perf_counter()
        there = [x.to("cpu") for x in here]
        torch.webgpu.synchronize()
        away = time.perf_counter() - start
        start = time.perf_counter()
        back = [x.to("webgpu") for x in there]
        for x in back:
            HOME.fill(x.storage.value)
        torch.webgpu.synchronize()
        home = time.perf_counter() - start
        del back
    assert there[3][5].item() == 3.0
    rates = rate(nbytes, 1e3 * away), rate(nbytes, 1e3 * home)
    for way, found in zip(("device to host", "host to device"), rates, strict=True):
        print(f"{way}: {judged(found, found >= LEAST_RATE, f'GB/s, floor {LEAST_RATE:g}')}")
    return rates


def steps(options: argparse.Namespace, sizes: dict[str, int], rates: tuple[float, float]) -> None:
    step = Step(**sizes)
    torch.webgpu.synchronize()
    print(f"\n{' '.join(f'{k} {v}' for k, v in sizes.items())}:"
          f" {sum(p.numel() for p in step.model.parameters()) / 1e6:.1f} M parameters")  # fmt: skip
    plain = timed(step, "plain", nullcontext)
    forward = step.first_half()
    depths = (0, 1, 2, 4, 8)
    offloaded = {n: timed(step, f"save_on_cpu, {n} ahead", ahead(n), plain) for n in depths}
    best = min(offloaded, key=lambda nodes: offloaded[nodes])
    for nodes in depths:
        print(f"{nodes} ahead: kernels wait {step.lanes(ahead(nodes)).stall:.2f} ms for copies")
    apart(step, plain)
    meter = device_budget(1 << 30)
    step(lambda: meter)
    half = meter.peak / 2**21
    timed(step, "... beyond half of it", lambda: device_budget(half, save_on_cpu()), plain)
    quarter = lambda: compose_hooks(save_on_cpu(), compress("int8"))  # noqa: E731
    timed(step, "... as int8", quarter, plain)
    before, after = step.lanes(nullcontext), step.lanes(ahead(best))
    report(1e3 * plain, 1e3 * forward, 1e3 * offloaded[best], after, rates)
    if options.png:
        chart(before, after, Path(options.png))


def apart(step: Step, plain: float) -> None:
    """The same with copies one after the other with kernels, as the queue has them."""
    dock = HOME.dock
    freight, dock.freight = dock.freight, None
    HOME.queue.ride = lambda nanoseconds: None
    timed(step, "... beside no kernel", save_on_cpu, plain)
    dock.freight = freight
    if freight is not None:
        HOME.queue.ride = freight.ride


def timed(step: Step, name: str, way: Way, plain: float = 0.0) -> float:
    """Seconds of a step, printed with the peak of device memory."""
    seconds = step.seconds(way)
    peak = torch.memory_stats()["allocated_bytes.all.peak"]
    ratio = f"({seconds / plain:.3f} x plain)" if plain else ""
    print(f"{name:<24}{1e3 * seconds:9.2f} ms {ratio:<18} peak {peak / 2**20:.0f} MiB,"
          f" forward recorded in {1e3 * step.forward:.1f} ms", flush=True)  # fmt: skip
    return seconds


def report(
    plain: float, forward: float, offloaded: float, after: Lanes, rates: tuple[float, float]
) -> None:
    """Of milliseconds: a step, its forward, and a step that moved what its lanes show."""
    away, back = (rate_time(n, r) for n, r in zip((after.sent, after.fetched), rates, strict=True))
    backward = plain - forward
    print(f"\nto the host {after.sent / 2**20:.1f} MiB, {away:.2f} ms of the bus alone;"
          f" forward takes {forward:.2f} ms")  # fmt: skip
    print(f"to the device {after.fetched / 2**20:.1f} MiB, {back:.2f} ms; backward {backward:.2f}")
    if HOME.dock.freight is not None:
        print(f"{after.beside / 2**20:.1f} MiB of both moved beside kernels")
    cost, share = offloaded / plain, (away + back) / plain
    print(f"transfers are {share:.2f} of the step; {hidden(cost - 1, share)}")
    if away < forward and back < backward:
        print(f"step, x plain: {judged(cost, cost <= MOST_COST, f'ceiling {MOST_COST:g}')}")
    else:
        print(f"step, x plain: {cost:.2f} (no ceiling: transfers take longer than compute)")


def hidden(longer: float, share: float) -> str:
    """How much of the transfers a step did not notice; both are parts of the plain step."""
    if share < LEAST_SHARE:
        return "how many are hidden is less than the noise"
    return f"hidden: {min(max(1 - longer / share, 0.0), 1.0):.2f} of them"


def rate_time(nbytes: int, gigabytes: float) -> float:
    """Milliseconds at so many GB/s."""
    return nbytes / gigabytes / 1e6


def spill(pieces: int = 48, numel: int = 1 << 20) -> None:
    """To the disk in forward and back in backward, beside the plain calls of the system."""
    nbytes, data = 4 * numel * pieces, np.random.default_rng(0).random(numel, np.float32)
    x = torch.tensor(data, device="webgpu", requires_grad=True)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        start = time.perf_counter()
        with open(Path(folder) / "plain", "wb", buffering=0) as file:
            for _ in range(pieces):
                file.write(data.data)
        plain = time.perf_counter() - start
        start = time.perf_counter()
        context = spill_to_disk(folder, 16)
        with context:
            ends = [(x * float(i)).sin() for i in range(pieces)]
        context.desk.budget = 0
        context.desk.make_room()
        away = time.perf_counter() - start
        start = time.perf_counter()
        torch.autograd.backward(ends, [x.detach()] * pieces)
        HOME.fill(x.grad.storage.value)
        torch.webgpu.synchronize()
        back = time.perf_counter() - start
    for what, seconds in (("plain write", plain), ("forward, to the disk", away),
                          ("backward, from it", back)):  # fmt: skip
        print(f"{what:<24}{nbytes / seconds / 1e6:9.0f} MB/s")


# The chart

COLOURS = {"kernel": "tab:blue", "clear": "tab:blue", "copy": "tab:gray", "d2h": "tab:orange",
           "h2d": "tab:green"}  # fmt: skip
WORDS = {"kernel": "kernels", "d2h": "to the host", "h2d": "back to the device"}


def chart(before: Lanes, after: Lanes, path: Path) -> None:
    """Two lanes for each way, time from left to right."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 1, figsize=(12, 4.6), sharex=True, layout="constrained")
    for axis, lanes, title in ((axes[0], before, "plain"), (axes[1], after, "save_on_cpu")):
        zero = min(span.begin for span in lanes.spans)
        for kind, words in WORDS.items():
            lane = 1 if kind == "kernel" else 0
            spans = [s for s in lanes.spans if s.kind == kind]
            bars = joined([((s.begin - zero) / 1e6, (s.end - zero) / 1e6) for s in spans])
            label = f"{words}: {sum(width for _, width in bars):.1f} ms"
            if kind != "kernel":
                label += f", {sum(s.nbytes for s in spans) / 2**20:.0f} MiB"
            axis.broken_barh(bars, (lane - 0.35, 0.7), color=COLOURS[kind], label=label)
        axis.set_yticks([0, 1], ["copies", "compute"])
        axis.set_title(title, loc="left")
        axis.legend(loc="upper right", ncols=3, fontsize=8, framealpha=0.9)
        axis.set_ylim(-0.6, 2.1)
    axes[1].set_xlabel("ms on the GPU's clock")
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(f"chart: {path}")


def joined(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """(begin, width) of what these spans, each from begin to end, cover together."""
    bars: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if bars and begin <= sum(bars[-1]):
            begin, end = bars[-1][0], max(end, sum(bars.pop()))
        bars.append((begin, end - begin))
    return bars


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("steps", "overlap", "spill"), default="steps")
    sizes = SOFTWARE if HOME.gpu.traits.is_software else REAL
    for name, value in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--png", default="offload.png", help="where the chart goes; '' for none")
    options = parser.parse_args(given)
    if options.what == "overlap":
        bench_overlap.main()
        return
    if options.what == "spill":
        spill()
        return
    print(torch.webgpu.get_device_name())
    rates = transfers()
    steps(options, {name: getattr(options, name) for name in sizes}, rates)


if __name__ == "__main__":
    main()
