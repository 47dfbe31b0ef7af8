"""How fast folds, scans, sorts, norms and pools are, beside what the memory allows.

python tools/bench_folds.py [--device webgpu] [--peer cuda] [--small] [name part]

GB/s counts what must move: each input once, each result once. `--peer cuda` measures PyTorch's
CUDA in the same run; `--small` takes sizes that a CPU bears.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Piece = tuple[str, Callable[[], Any], int]  # its name, the work, bytes that must move


def pieces(torch: Any, device: str, small: bool) -> Iterator[Piece]:
    """What is measured, on tensors of `torch`: PyTorch or wgtorch."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return torch.tensor(rng.standard_normal(shape).astype(np.float32), device=device)

    n = 2048 if small else 8192
    x = normal(n, n)
    for dim in (1, 0):
        yield f"sum {n}^2 dim {dim}", lambda d=dim: x.sum(d), 4 * n * n
        yield f"argmax {n}^2 dim {dim}", lambda d=dim: x.argmax(d), 4 * n * n
        yield f"var {n}^2 dim {dim}", lambda d=dim: x.var(d), 4 * n * n
        yield f"softmax {n}^2 dim {dim}", lambda d=dim: x.softmax(d), 8 * n * n
    yield f"sum {n}^2", lambda: x.sum(), 4 * n * n
    yield f"(x * 3).sum() {n}^2", lambda: (x * 3).sum(), 4 * n * n
    yield f"logsumexp {n}^2", lambda: x.logsumexp(1), 4 * n * n
    halves = x.half()
    yield f"sum float16 {n}^2", lambda: halves.sum(1), 2 * n * n
    weight = normal(n)
    norm = torch.nn.functional.layer_norm
    yield f"layer_norm {n}^2", lambda: norm(x, (n,), weight, weight), 8 * n * n
    yield f"cumsum {n}^2 dim 1", lambda: x.cumsum(1), 8 * n * n
    yield f"cumsum {n}^2 dim 0", lambda: x.cumsum(0), 8 * n * n
    line = normal(1 << (20 if small else 24))
    yield f"cumsum {len(line)}", lambda: line.cumsum(0), 8 * len(line)
    yield f"sort {len(line)}", lambda: line.sort()[0], 16 * len(line)
    yield f"topk 8 of {len(line)}", lambda: line.topk(8)[0], 4 * len(line)
    rows = normal(1024, 1024)
    yield "sort 1024^2 rows", lambda: rows.sort(-1)[0], 16 << 20
    yield "topk 8 of 1024^2 rows", lambda: rows.topk(8, -1)[0], 4 << 20
    yield "softmax 1024^2", lambda: rows.softmax(-1), 8 << 20
    images = normal(*((32, 16, 64, 64) if small else (128, 64, 56, 56)))
    size = 4 * images.numel()
    pool = torch.nn.functional
    yield "var_mean of channels", lambda: torch.var_mean(images, (0, 2, 3))[0], size
    yield "max_pool2d 2", lambda: pool.max_pool2d(images, 2), size * 5 // 4
    yield "avg_pool2d 3 by 2", lambda: pool.avg_pool2d(images, 3, 2, 1), size * 5 // 4
    tiny = normal(16, 16)
    yield "sum 16^2 (the call)", lambda: tiny.sum(), 0
    yield "softmax 16^2 (the call)", lambda: tiny.softmax(1), 0


def milliseconds(work: Callable[[], Any], done: Callable[[], None]) -> float:
    """Of one, of many queued before a wait; the best of several tries."""
    work()
    done()
    start = time.perf_counter()
    work()
    done()
    many = max(3, min(200, int(0.05 / max(time.perf_counter() - start, 1e-6))))
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(many):
            work()
        done()
        best = min(best, (time.perf_counter() - start) / many)
    return best * 1e3


def ours(device: str) -> tuple[Any, Callable[[], None]]:
    import wgtorch

    return wgtorch, wgtorch.webgpu.synchronize if device != "cpu" else lambda: None


def theirs(device: str) -> tuple[Any, Callable[[], None]]:
    import torch

    return torch, torch.cuda.synchronize if device == "cuda" else lambda: None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", default="", help="only what has this in its name")
    parser.add_argument("--device", default="webgpu")
    parser.add_argument(
        "--peer", default="", help="a device of PyTorch to measure beside: cuda, cpu"
    )
    parser.add_argument("--small", action="store_true")
    wanted = parser.parse_args()
    torch, done = ours(wanted.device)
    beside: Iterator[Piece] = iter(())
    if wanted.peer:
        peer, peer_done = theirs(wanted.peer)
        beside = pieces(peer, wanted.peer, wanted.small)
    for name, work, moved in pieces(torch, wanted.device, wanted.small):
        other = next(beside, None)
        if wanted.part not in name:
            continue
        took = milliseconds(work, done)
        line = f"{name:28s} {took:9.4f} ms {moved / took / 1e6:8.0f} GB/s"
        if other is not None:
            took = milliseconds(other[1], peer_done)
            line += f"   {wanted.peer} {took:9.4f} ms {moved / took / 1e6:8.0f} GB/s"
        print(line, flush=True)


if __name__ == "__main__":
    main()
