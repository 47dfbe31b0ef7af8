"""Ops at the sizes of real networks, beside PyTorch CUDA: where is this far slower?

python tools/bench_shapes.py [part of a name ...] [--small]

Prints microseconds, ours and theirs, and how many times as slow: forward, then with the gradient.
`--small` is for trying the script out on a software adapter.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import bench_gpu
from bench_gpu import cuda

import wgtorch

RNG = np.random.default_rng(0)
FAR = 3.0  # times as slow: marked
BUDGET = 0.03  # seconds of a round; the least of four counts
CASES = """
layer_norm | f8192,1024 f1024 f1024 | F.layer_norm(a, (a.shape[-1],), b, c)
rms_norm | f8192,1024 f1024 | F.rms_norm(a, (a.shape[-1],), b)
group_norm | f64,64,56,56 f64 f64 | F.group_norm(a, 8, b, c)
gelu | f8192,1024 | F.gelu(a)
softmax | f8192,1024 | a.softmax(-1)
linear gelu | f8192,1024 f4096,1024 f4096 | F.gelu(F.linear(a, b, c))
half linear | h8192,1024 h1024,1024 | F.linear(a, b)
attention | f128,1024,64 f128,1024,64 f128,1024,64 | attend(a, b, c)
attention causal | f128,1024,64 f128,1024,64 f128,1024,64 | attend(a, b, c, None, 0, True)
embedding | f32768,1024 i8192 | F.embedding(b, a)
cross_entropy | f4096,32768 i4096 | F.cross_entropy(a, b)
conv 3x3 | f64,256,14,14 f256,256,3,3 | F.conv2d(a, b, padding=1)
conv 7x7 | f64,3,224,224 f64,3,7,7 | F.conv2d(a, b, stride=2, padding=3)
conv depthwise | f64,256,28,28 f256,1,3,3 | F.conv2d(a, b, padding=1, groups=a.shape[1])
conv_transpose | f64,128,28,28 f128,64,2,2 | F.conv_transpose2d(a, b, stride=2)
batch_norm | f64,64,56,56 f64 f64 | F.batch_norm(a, None, None, b, c, training=True)
max_pool | f64,64,112,112 | F.max_pool2d(a, 3, 2, 1)
interpolate | f64,64,56,56 | F.interpolate(a, scale_factor=2, mode="bilinear")
pad reflect | f64,64,56,56 | F.pad(a, (1, 1, 1, 1), mode="reflect")
cumsum | f16777216 | a.cumsum(0)
sort | n16777216 | a.sort()[0]
sort rows | n4096,4096 | a.sort(1)[0]
topk rows | n4096,32768 | a.topk(50, 1)[0]
unique | i16777216 | a.unique()
bincount | k16777216 | a.bincount(minlength=1000)
index_add | n16777216 k16777216 | m.zeros(1000, device=a.device).index_add(0, b, a)
gather | f4096,4096 i4096,4096 | a.gather(1, b)
masked_select | n16777216 | a[a > 0]
nonzero | n16777216 | (a > 1).nonzero()
multinomial | p64,32768 | m.multinomial(a, 1)
fft rows | n4096,4096 | m.fft.fft(a)
var | f8192,1024 | a.var(1)
tanh | f16777216 | a.tanh()
"""


def array(kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Floats (h: halves, p: positive, n: without a gradient), or ints (k: below 1,000)."""
    if kind in "ik":
        return RNG.integers(0, 1000 if kind == "k" else min(1000, min(shape)), shape)
    values = RNG.standard_normal(shape).astype(np.float16 if kind == "h" else np.float32)
    return np.abs(values) if kind == "p" else values


def made(said: str, small: bool) -> tuple[str, np.ndarray]:
    shape = tuple(int(n) for n in said[1:].split(","))
    if small:
        shape = tuple(n if n < 16 else max(16, n // 64) for n in shape)
    return said[0], array(said[0], shape)


def least(work: Callable, wait: Callable) -> float:
    """Microseconds of one piece."""
    bench_gpu.queued(work, wait, 1)
    count = max(1, min(50, int(BUDGET / max(bench_gpu.queued(work, wait, 1), 1e-6))))
    return 1e6 * min(bench_gpu.queued(work, wait, count) for _ in range(4))


def filled(results: Any) -> Any:
    for result in results if isinstance(results, tuple | list) else (results,):
        bench_gpu.filled(result)
    return results


def timed(library: Any, device: str, given: list, expression: str) -> tuple[float, float | None]:
    """(forward, with the gradient where any operand has one)."""
    done = filled if library is wgtorch else lambda results: results
    wait = wgtorch.webgpu.synchronize if library is wgtorch else library.cuda.synchronize
    operands = [library.tensor(values, device=device) for _, values in given]
    functional = library.nn.functional
    names = {"m": library, "F": functional, "attend": functional.scaled_dot_product_attention}
    call = eval(f"lambda a, b=None, c=None: {expression}", names)
    forward = least(lambda: done(call(*operands)), wait)
    wanting = [
        t.requires_grad_() for t, (kind, _) in zip(operands, given, strict=True) if kind == "f"
    ]
    if not wanting:
        return forward, None
    seed = library.ones_like(call(*operands))
    return forward, least(lambda: done(library.autograd.grad(call(*operands), wanting, seed)), wait)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--small", action="store_true")
    asked = parser.parse_args()
    places = [(wgtorch, "webgpu"), *([(cuda, "cuda")] if cuda else [])]
    if cuda:
        cuda.backends.cuda.matmul.allow_tf32 = cuda.backends.cudnn.allow_tf32 = False
    warm = wgtorch.ones(1024, 1024, device="webgpu")  # a GPU that idled takes its clocks down
    least(lambda: filled(warm @ warm), wgtorch.webgpu.synchronize)
    for line in CASES.strip().splitlines():
        name, operands, expression = (part.strip() for part in line.split("|"))
        if asked.names and not any(part in name for part in asked.names):
            continue
        given = [made(said, asked.small) for said in operands.split()]
        took = [timed(*place, given, expression) for place in places]
        print(f"{name:18}", *(said(ours) for ours in zip(*took, strict=True)), flush=True)


def said(times: tuple[float | None, ...]) -> str:
    """Ours, theirs, and how many times as slow."""
    if times[0] is None:
        return ""
    text = f"{times[0]:10.1f} us"
    if len(times) == 2:
        ratio = times[0] / times[1]  # type: ignore[operator]
        text += f"{times[1]:10.1f} ({ratio:.2f}{' far' if ratio > FAR else ''})"
    return text


if __name__ == "__main__":
    main()
