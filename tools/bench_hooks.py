"""Each measure of the saved-tensor layer, with the figure it must reach.

python tools/bench.py hooks             all of them, on the adapter in use
python tools/bench_hooks.py [WORD]...   check, mutation, bytes, compress, digits, spill, budget,
                                        share, compose, order, offload
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools"), str(ROOT / "examples"), str(ROOT / "tests")]

import small_transformer  # noqa: E402
from hook_probes import DEVICE, PROBES, hooks, is_reverse, normal, same  # noqa: E402

import wgtorch as torch  # noqa: E402
from wgtorch import nn  # noqa: E402
from wgtorch.autograd import graph  # noqa: E402
from wgtorch.autograd.saved import Slot  # noqa: E402

PLACE = "device" if DEVICE == "webgpu" else "host"


def show(what: str, value: Any, wanted: str = "", met: bool | None = None) -> None:
    judged = "" if met is None else f"{wanted}: {'met' if met else 'MISSED'}"
    print(f"{what:<64}{value!s:>22}  {judged or wanted}".rstrip(), flush=True)


def settle() -> None:
    if DEVICE == "webgpu":
        torch.webgpu.synchronize()


def stat(word: str) -> int:
    return torch.memory_stats(DEVICE).get(f"saved_tensors.{word}", 0)


def least(work: Callable[[], Any], count: int, times: int = 30) -> float:
    """Microseconds per one of `count`."""
    took = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        took.append((time.perf_counter() - start) / count * 1e6)
    return min(took)


def bench(**sizes: int) -> small_transformer.Bench:
    return small_transformer.Bench(DEVICE, **({"layers": 2, "batch": 4} | sizes))


# Verified hooks


def check() -> None:
    try:
        import hook_pairs as pairs
    except ImportError:
        print("verified hooks: the pairs are in tests/, which are not here")
    else:
        caught = 0
        for fault in pairs.FAULTS:
            pack, unpack, *more = getattr(pairs.Wrong, fault)({})
            options = more[0] if more else {}
            try:
                pairs.used(
                    graph.saved_tensors_hooks(pack, unpack, check="values", **options), DEVICE
                )
            except (RuntimeError, TypeError, KeyError):
                caught += 1
        count = len(pairs.FAULTS)
        show("wrong pairs found when they pack", f"{caught} of {count}", "all", caught == count)
        accused = 0
        for pack, unpack, *more in pairs.RIGHT.values():
            options = more[0] if more else {}
            try:
                pairs.used(
                    graph.saved_tensors_hooks(pack, unpack, check="values", **options), DEVICE
                )
            except RuntimeError:
                accused += 1
        show("right pairs accused", f"{accused} of {len(pairs.RIGHT)}", "none", accused == 0)
    kinds = ("off", "metadata", "strict", "values")
    turns = [[slot_cost(name) for name in kinds] for _ in range(3)]  # the first warms up
    costs = dict(zip(kinds, map(min, *turns), strict=True))
    for name, cost in costs.items():
        more = cost - costs["off"]
        met = more < 2 if name == "metadata" else None
        said = f"{more:+.2f} to off, floor 2" if name == "metadata" else f"{more:+.2f} to off"
        show(f'check="{name}": a slot, packed and unpacked', f"{cost:.2f} us", said, met)


def slot_cost(name: str) -> float:
    """Of one slot: identity hooks around what saves one tensor, opened once."""
    x = normal(16)
    pair = graph.saved_tensors_hooks(same, same, check=name)
    count = 200 if name != "values" else 5

    def work() -> None:
        with pair:
            nodes = [x.sin().grad_fn for _ in range(count)]
        for node in nodes:
            node.kept[0].opened(Slot(node, "input"))

    def plain() -> None:
        nodes = [x.sin().grad_fn for _ in range(count)]
        del nodes

    return least(work, count) - least(plain, count)


# Mutation


def mutation() -> None:
    right = sum(probe() for probe in PROBES)
    show("probes where PyTorch is silently wrong, right here", f"{right} of {len(PROBES)}", "all",
         right == len(PROBES))  # fmt: skip


# Bytes


def accounts() -> None:
    model = bench()
    for name, way in (("plain", hooks(same)), ("save_on_cpu", graph.save_on_cpu),
                      ("int8", lambda: graph.compress("int8"))):  # fmt: skip
        before = {place: stat(f"{place}_bytes.current") for place in ("device", "host", "disk")}
        with way():
            loss = model.loss()
        settle()
        report = graph.saved_tensor_report(loss)
        agrees = True
        for place, bytes_ in before.items():
            agrees &= stat(f"{place}_bytes.current") - bytes_ == report.bytes_in(place)
        sums = f"{report.bytes_in('device'):,} + {report.bytes_in('host'):,}"
        show(f"report of {name}: bytes on device + host", sums, "memory_stats agrees", agrees)
        del loss


# Compression


def compression(shape: tuple[int, int] = (512, 1024)) -> None:
    x = normal(*shape, grad=False)
    settle()
    start = time.perf_counter()
    for _ in range(5):
        (x + 0.0).cpu().numpy()
        settle()
    copy = (time.perf_counter() - start) / 5
    show("copy of the same tensor to the host", f"{x.nbytes / copy / 1e9:.2f} GB/s")
    bits = x > 0
    for kind in ("float16", "bfloat16", "int8", "int4", "sign1", "mask1"):
        one_kind(kind, bits if kind == "mask1" else x)


def one_kind(kind: str, t: torch.Tensor) -> None:
    pair = graph.compress(kind)
    packed = pair.packed(t)
    held = sum(n for _, _, n in packed.holdings())
    settle()
    took = []
    for _ in range(5):
        start = time.perf_counter()
        packed = pair.packed(t)
        settle()
        took.append(time.perf_counter() - start)
    rate = t.nbytes / statistics.median(took) / 1e9
    back = packed.opened()
    if kind in ("sign1", "mask1"):
        right = bool(((back > 0.5) == (t > 0)).all())
        show(f"{kind}: {rate:.2f} GB/s", f"{t.nbytes / held:.2f}x", "exact", right)
        return
    bound = pair.error(t)
    worst = ((back - t).abs() / bound).max().item()
    show(f"{kind}: {rate:.2f} GB/s, largest error {worst:.2f} of its bound",
         f"{t.nbytes / held:.2f}x", "error <= bound", worst <= 1)  # fmt: skip


def losses(steps: int = 30) -> None:
    found = {}
    for name, way in (("plain", nullcontext), ("int8", lambda: graph.compress("int8")),
                      ("int4", lambda: graph.compress("int4"))):  # fmt: skip
        model = bench(layers=1, width=32, length=32)
        optimizer = torch.optim.AdamW(model.model.parameters(), lr=0.003)
        for _ in range(steps):
            optimizer.zero_grad()
            with way():
                loss = model.loss()
            loss.backward()
            optimizer.step()
        found[name] = loss.item()
    for name, percent in (("int8", 1), ("int4", 5)):
        gap = abs(found[name] - found["plain"]) / found["plain"] * 100
        show(f"{name}: gap of the loss after {steps} steps", f"{gap:.3f} percent",
             f"floor {percent}", gap < percent)  # fmt: skip


def digits() -> None:
    """Accuracy on handwritten digits that a network was not trained on."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        print("digits: they come with scikit-learn")
        return
    import train_digits

    ways = train_digits.WAYS
    ways["int8"], ways["int4"] = lambda: graph.compress("int8"), lambda: graph.compress("int4")
    options = train_digits.arguments(["--device", DEVICE, "--epochs", "8"])
    found = {
        way: train_digits.train(way, options, 300, lambda: None).accuracy * 100
        for way in ("plain", "int8", "int4")
    }
    show("plain: digits read right", f"{found['plain']:.2f} percent")
    for way, most in (("int8", 0.5), ("int4", None)):
        gap = found["plain"] - found[way]
        wanted, met = (f"floor {most}", gap <= most) if most else ("", None)
        show(f"{way}: fewer digits read right", f"{gap:.2f} points", wanted, met)


# Disk, budget


def spilling() -> None:
    model = bench()
    with tempfile.TemporaryDirectory() as folder:
        start, before = time.perf_counter(), stat("disk_bytes.current")
        with graph.spill_to_disk(folder, budget=0, min_size=0):
            loss = model.loss()
        settle()
        on_disk = stat("disk_bytes.current") - before
        loss.backward()
        settle()
        took = time.perf_counter() - start
        data = np.ones(on_disk or 1, np.uint8)
        start = time.perf_counter()
        (Path(folder) / "plain").write_bytes(data)
        plain = time.perf_counter() - start
        show("spilled in a step, and back", f"{on_disk / 2**20:.1f} MiB",
             f"{took * 1e3:.0f} ms a step; a plain write {plain * 1e3:.0f} ms")  # fmt: skip
        (Path(folder) / "plain").unlink()
        del loss
        left = [path for path in Path(folder).rglob("*") if path.is_file()]
        show("files left by it", len(left), "none", not left)


def models() -> dict[str, tuple[nn.Module, torch.Tensor]]:
    image, rows = normal(8, 1, 16, 16, grad=False), normal(32, 64, grad=False)

    def deep(*kinds: Callable) -> nn.Module:
        return nn.Sequential(*[kind() for kind in kinds * 6])

    convolutions = nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Tanh()
    wide = nn.Linear(64, 256), nn.Dropout(), nn.Linear(256, 64)
    return {
        "linear": (nn.Linear(64, 64), rows),
        "mlp": (deep(lambda: nn.Linear(64, 64), nn.GELU), rows),
        "norms": (deep(lambda: nn.LayerNorm(64), nn.SiLU), rows),
        "convolution": (nn.Sequential(*convolutions), image),
        "dropout": (nn.Sequential(*wide), rows),
        "softmax": (deep(lambda: nn.Linear(64, 64), lambda: nn.Softmax(-1)), rows),
    }


def budgets() -> None:
    for name, (model, given) in models().items():
        model.to(DEVICE)
        with hooks(same)():
            report = graph.saved_tensor_report(model(given).square().sum())
        whole = report.bytes_in(PLACE)
        largest = max(row.nbytes for row in report)
        settle()
        before = stat("d2h_bytes.total")
        budget = graph.device_budget(whole / 2 / 2**20, then=graph.save_on_cpu())
        with budget:
            loss = model(given).square().sum()
        settle()
        moved, least = stat("d2h_bytes.total") - before, whole - whole // 2
        loss.backward()
        met = budget.peak <= whole // 2 + largest
        show(f"budget of {whole // 2:,} for {name} ({whole:,})", f"peak {budget.peak:,}",
             "budget + largest slot", met)  # fmt: skip
        if DEVICE == "webgpu":
            show("    moved; the least that must", f"{moved:,}; {least:,}",
                 "least + largest slot", moved <= least + largest)  # fmt: skip


# Sharing, composition, order


def sharing() -> None:
    if DEVICE != "webgpu":
        return
    attention = small_transformer.Attention(64, 4).to(DEVICE)
    mask = torch.zeros(64, 64, device=DEVICE) > 0
    x = normal(4, 64, 64)
    settle()
    before = stat("d2h_bytes.total")
    with graph.save_on_cpu():
        out = attention(x * 1, mask)
    report = graph.saved_tensor_report(out)
    settle()
    moved = stat("d2h_bytes.total") - before
    slots = sum(row.nbytes for row in report if row.where == "host")
    show("attention: bytes moved", f"{moved:,}",
         f"{slots:,} in slots; each memory once", moved == report.bytes_in("host"))  # fmt: skip


def composing() -> None:
    model = bench()

    def gradients(way: Callable) -> list:
        model.step(way)
        return [p.grad.cpu().numpy() for p in model.model.parameters()]

    alone = gradients(lambda: graph.compress("int8"))
    both = gradients(lambda: graph.compose_hooks(graph.save_on_cpu(), graph.compress("int8")))
    equal = all(np.array_equal(a, b) for a, b in zip(alone, both, strict=True))
    show("int8 and on the host: gradients those of int8 alone", equal, "equal", equal)


def order(graphs: int = 50) -> None:
    kept = sum(is_reverse(random.Random(seed)) for seed in range(graphs))
    show("random graphs unpacked from the youngest node to the oldest", f"{kept} of {graphs}",
         "all", kept == graphs)  # fmt: skip


def offload() -> None:
    if DEVICE == "webgpu":
        import bench_offload  # its lanes need timestamps

        bench_offload.main(["--png", ""])


PARTS: dict[str, list[Callable[[], None]]] = {
    "check": [check], "mutation": [mutation], "bytes": [accounts],
    "compress": [compression, losses], "digits": [digits], "spill": [spilling], "budget": [budgets],
    "share": [sharing], "compose": [composing], "order": [order], "offload": [offload],
}  # fmt: skip


def main(words: list[str] | None = None) -> None:
    for word in words or list(PARTS):
        for part in PARTS[word]:
            part()


if __name__ == "__main__":
    main(sys.argv[1:])
