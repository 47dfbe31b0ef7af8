"""The same five pieces of work for wgtorch, numpy and each peer: what a peer's run is made of.

python tools/bench_work.py tinygrad|torchvulkan      prints {name: milliseconds} as JSON

tinygrad finds Dawn's library by WEBGPU_PATH.
"""

from __future__ import annotations

import cProfile
import json
import os
import pstats
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

RNG = np.random.default_rng(0)
A = RNG.standard_normal((512, 512)).astype(np.float32)
B = RNG.standard_normal((512, 512)).astype(np.float32)
LINE = (RNG.standard_normal(1 << 20) * 0.1).astype(np.float32)
SQUARE = RNG.standard_normal((2048, 2048)).astype(np.float32)
ROWS = RNG.standard_normal((1024, 1024)).astype(np.float32)
IMAGES = RNG.standard_normal((128, 784)).astype(np.float32)
LABELS = np.eye(10, dtype=np.float32)[RNG.integers(0, 10, 128)]
SIZES = ((784, 256), (1, 256), (256, 10), (1, 10))
WEIGHTS = [(RNG.standard_normal(s) * 0.05).astype(np.float32) for s in SIZES]
RATE, REPEATS = 0.1, 5


def least(work: Callable, times: int = 12) -> float:
    """Milliseconds."""
    work()
    took = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        took.append((time.perf_counter() - start) * 1e3)
    return min(took)


def queued(work: Callable, done: Callable) -> float:
    """Milliseconds per piece when several are queued before one wait."""

    def several():
        kept = [work() for _ in range(REPEATS)]
        done(kept[-1])

    return least(several) / REPEATS


def measure_numpy() -> dict[str, float]:
    weights = [w.copy() for w in WEIGHTS]

    def softmax():
        e = np.exp(ROWS - ROWS.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def step():
        w1, b1, w2, b2 = weights
        pre = IMAGES @ w1 + b1
        hidden = np.maximum(pre, 0)
        logits = hidden @ w2 + b2
        e = np.exp(logits - logits.max(1, keepdims=True))
        grad = (e / e.sum(1, keepdims=True) - LABELS) / 128
        back = (grad @ w2.T) * (pre > 0)
        grads = IMAGES.T @ back, back.sum(0, keepdims=True), hidden.T @ grad, grad.sum(0)[None]
        for w, g in zip(weights, grads, strict=True):
            w -= RATE * g

    return {
        "matmul 512": least(lambda: A @ B),
        "chain 1M": least(lambda: np.exp(np.maximum(LINE * 2 + 1, 0) * LINE)),
        "sum axis 0 of 2048^2": least(lambda: SQUARE.sum(0)),
        "sum axis 1 of 2048^2": least(lambda: SQUARE.sum(1)),
        "softmax 1024^2": least(softmax),
        "MLP step": least(step),
    }


def measure_torchlike(torch, device: str, done: Callable, fill: Callable) -> dict[str, float]:
    a, b, line, square, rows = (torch.tensor(x).to(device) for x in (A, B, LINE, SQUARE, ROWS))
    step = mlp(torch, device)
    return {
        "matmul 512": queued(lambda: a @ b, done),
        "chain 1M": queued(lambda: fill(((line * 2 + 1).relu() * line).exp()), done),
        "sum axis 0 of 2048^2": queued(lambda: square.sum(0), done),
        "sum axis 1 of 2048^2": queued(lambda: square.sum(1), done),
        "softmax 1024^2": queued(lambda: torch.softmax(rows, 1), done),
        "MLP step": queued(step, done),
    }


def mlp(torch, device: str) -> Callable:
    images, labels = torch.tensor(IMAGES).to(device), torch.tensor(LABELS).to(device)
    weights = [torch.tensor(w).to(device).requires_grad_(True) for w in WEIGHTS]

    def step():
        w1, b1, w2, b2 = weights
        logits = (images @ w1 + b1).relu() @ w2 + b2
        loss = -(torch.log_softmax(logits, 1) * labels).sum() / 128
        loss.backward()
        with torch.no_grad():
            for w in weights:
                w.sub_(w.grad * RATE)
                w.grad = None
        return loss

    return step


def mlp_wgtorch(device: str) -> tuple[Callable, Callable]:
    """(a training step, what submits it)."""
    torch, fill = wgtorch_and_fill(device)
    step = mlp(torch, device)

    def run():
        fill(step())

    return run, torch.zeros(1, device=device).device.backend.queue.flush


def mlp_of_modules(torch, device: str) -> Callable:
    """The same network of `nn` modules, with cross entropy of classes and AdamW: a step of it."""
    nn = torch.nn
    images = torch.tensor(IMAGES).to(device)
    classes = torch.tensor(LABELS.argmax(1)).to(device)
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), classes)
        loss.backward()
        optimizer.step()
        return loss

    return step


def wgtorch_and_fill(device: str):
    import wgtorch as torch  # not for the peers' interpreters

    home = torch.zeros(1, device=device).device.backend

    def fill(x):
        home.fill(x.storage.value)
        return x

    return torch, fill


def measure_wgtorch(device: str) -> dict[str, float]:
    torch, fill = wgtorch_and_fill(device)
    return measure_torchlike(torch, device, lambda x: torch.webgpu.synchronize(), fill)


def measure_torchvulkan() -> dict[str, float]:
    import torch
    import torchvulkan  # noqa: F401  (registers the device)

    return measure_torchlike(torch, "vulkan", lambda x: x.cpu(), lambda x: x)


def measure_tinygrad() -> dict[str, float]:
    os.environ.setdefault("DEV", "WEBGPU")
    from tinygrad import Tensor, TinyJit

    a, b, line, square, rows = (Tensor(x).realize() for x in (A, B, LINE, SQUARE, ROWS))
    images, labels = Tensor(IMAGES).realize(), Tensor(LABELS).realize()
    weights = [Tensor(w).realize() for w in WEIGHTS]
    for w in weights:
        w.requires_grad = True

    @TinyJit
    def step():
        w1, b1, w2, b2 = weights
        logits = (images @ w1 + b1).relu() @ w2 + b2
        loss = -(logits.log_softmax(1) * labels).sum() / 128
        loss.backward()
        for w in weights:
            w.assign(w.detach() - w.grad * RATE).realize()
            w.grad = None
        return loss.realize()

    pieces = {
        "matmul 512": TinyJit(lambda: (a @ b).realize()),
        "chain 1M": TinyJit(lambda: ((line * 2 + 1).relu() * line).exp().realize()),
        "sum axis 0 of 2048^2": TinyJit(lambda: square.sum(0).realize()),
        "sum axis 1 of 2048^2": TinyJit(lambda: square.sum(1).realize()),
        "softmax 1024^2": TinyJit(lambda: rows.softmax(1).realize()),
        "MLP step": step,
    }
    for piece in pieces.values():
        for _ in range(3):
            piece()
    return {name: queued(piece, lambda x: x.numpy()) for name, piece in pieces.items()}


PEERS = {"tinygrad": measure_tinygrad, "torchvulkan": measure_torchvulkan}


def in_another(python: str, peer: str) -> dict[str, float]:
    """A peer's times, from an interpreter that has it; nothing where it does not run."""
    ran = subprocess.run([python, __file__, peer], capture_output=True, text=True, timeout=600)
    lines = ran.stdout.strip().splitlines()
    return json.loads(lines[-1]) if ran.returncode == 0 and lines else {}


def profiled(step: Callable, flush: Callable, sync: Callable) -> None:
    profile = cProfile.Profile()
    for _ in range(20):
        sync()  # a software adapter computes on the processor that we measure
        profile.enable()
        step()
        flush()
        profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(18)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    print(json.dumps(PEERS[sys.argv[1]]()))
