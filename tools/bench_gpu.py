"""What a real GPU reaches, beside PyTorch CUDA where that is installed: the `gpu` part of bench.py.

Floors are those of an NVIDIA H200, or of an H100 where the adapter's name says so. Figures are of
the steady state: medians of 7 rounds of 64 queued pieces each, once 5 rounds agree within 1 %.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

import wgtorch as torch

try:
    import torch as cuda
except ImportError:
    cuda = None
else:
    cuda = cuda if cuda.cuda.is_available() else None  # type: ignore[assignment]

BYTES = 1 << 28  # of the tensors that bandwidth is measured with


QUEUED, ROUNDS = 64, 7  # pieces before one wait; rounds that a figure is the median of
STEADY = 0.01  # spread of a few rounds that counts as steady
WARM, PATIENCE = 0.5, 2.5  # seconds: at least until clocks are up, at most until rounds agree


def queued(work: Callable, wait: Callable, repeats: int) -> float:
    """Seconds per piece of so many that are queued before one wait."""
    start = time.perf_counter()
    for _ in range(repeats):
        kept = work()
    wait()
    took = time.perf_counter() - start
    del kept
    return took / repeats


def timed(work: Callable, wait: Callable, repeats: int = QUEUED) -> float:
    """Seconds per piece in the steady state: the median of several rounds of queued pieces.

    A GPU that idled takes its clocks down, and takes a while to bring them up: rounds go by
    unmeasured until five in a row agree.
    """

    def round_() -> float:
        return queued(work, wait, repeats)

    begin, recent = time.perf_counter(), [round_()]
    while time.perf_counter() - begin < PATIENCE:
        recent = [*recent[-4:], round_()]
        agree = len(recent) == 5 and max(recent) - min(recent) <= STEADY * max(recent)
        if agree and time.perf_counter() - begin > WARM:
            break
    return statistics.median(round_() for _ in range(ROUNDS))


def main(show: Callable, best: Callable, sync: Callable) -> None:
    name = torch.webgpu.get_device_name()
    bandwidth(show, sync, 2600 if "H100" in name else 3700)
    products(show, sync)
    ends(show, sync)
    transfers(show, sync)
    rows(show, sync)


def filled(x):
    x.device.backend.fill(x.storage.value)
    return x


def beside(work: Callable) -> float | None:
    """Seconds that PyTorch CUDA takes for the same."""
    return None if cuda is None else timed(work, cuda.cuda.synchronize)


def on_cuda(*shape: int):
    return cuda.randn(*shape, device="cuda")


def bandwidth(show: Callable, sync: Callable, floor: float) -> None:
    count = BYTES // 4
    x, y = (torch.ones(count, device="webgpu").clone() for _ in "xy")
    filled(x), filled(y)
    cases = {
        "x + 1": (lambda: filled(x + 1), 2),
        "x + y": (lambda: filled(x + y), 3),
        "((x*2+1).relu()*x).exp()": (lambda: filled(((x * 2 + 1).relu() * x).exp()), 2),
    }
    for what, (work, streams) in cases.items():
        rate = streams * BYTES / timed(work, sync) / 1e9
        show(f"elementwise {what} of 256 MiB", rate, "GB/s", floor)
    if cuda is not None:
        a = on_cuda(count)
        took = beside(lambda: a + 1)
        show("  PyTorch CUDA: x + 1", 2 * BYTES / took / 1e9, "GB/s")  # type: ignore[operator]
    for dtype in (torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.bool):
        short = torch.ones(BYTES // dtype.itemsize, device="webgpu", dtype=dtype).clone()
        filled(short)
        work = short.logical_not if dtype is torch.bool else lambda short=short: short + 1
        rate = 2 * BYTES / timed(lambda work=work: filled(work()), sync) / 1e9
        what = "~x" if dtype is torch.bool else "x + 1"
        show(f"elementwise {what} of 256 MiB {dtype.name}", rate, "GB/s", 0.8 * floor)


def products(show: Callable, sync: Callable) -> None:
    if cuda is not None:
        cuda.backends.cuda.matmul.allow_tf32 = False
    for n in (512, 1024, 2048, 4096):
        array = np.random.default_rng(n).standard_normal((n, n)).astype(np.float32)
        a = torch.tensor(array, device="webgpu")
        ours = timed(lambda a=a: filled(a @ a), sync)
        floor = note = None
        if cuda is not None:
            b = cuda.tensor(array, device="cuda")
            theirs = beside(lambda b=b: b @ b)
            note = f"PyTorch CUDA {2 * n**3 / theirs / 1e12:.1f} ({theirs / ours:.2f})"  # type: ignore[operator]
            floor = 0.8 * 2 * n**3 / theirs / 1e12 if n == 4096 else None  # type: ignore[operator]
        show(f"matmul {n}^3 f32", 2 * n**3 / ours / 1e12, "TFLOP/s", floor, note or "")
        if n == 1024:
            want = array.astype(np.float64) @ array.astype(np.float64)
            error = np.abs((a @ a).cpu().numpy() - want).max() / np.abs(want).max()
            show("  largest error, of the largest element", float(error) * 1e6, "e-6", 5)


def ends(show: Callable, sync: Callable) -> None:
    """A product with a bias and an activation at the end of its kernel, and as two kernels."""
    for n in (1024, 2048, 4096):
        array = np.random.default_rng(n).standard_normal((n, n)).astype(np.float32)
        a, b = torch.tensor(array, device="webgpu"), torch.tensor(array[0], device="webgpu")

        def joined(a=a, b=b):
            return filled((a @ a + b).relu())

        def apart(a=a, b=b):
            return filled((filled(a @ a) + b).relu())

        alone = timed(lambda a=a: filled(a @ a), sync)
        one, two = timed(joined, sync), timed(apart, sync)
        note = f"two kernels {two * 1e6:.1f}, the product alone {alone * 1e6:.1f}"
        show(f"(a @ a + b).relu() of {n}^3, one kernel", one * 1e6, "us", two * 1e6, note)


def transfers(show: Callable, sync: Callable) -> None:
    """As promises: the copy rides in a submit, and is seen through mapped memory."""
    x = torch.ones(BYTES // 4, device="webgpu").clone()
    filled(x)
    there, back = [], []
    for _ in range(6):
        sync()
        start = time.perf_counter()
        host = x.to("cpu")
        host.device.backend.download(host)
        there.append(time.perf_counter() - start)
        assert host.numpy()[-1] == 1
        del host
        host = x.to("cpu")
        x.device.backend.queue.flush()
        sync()
        start = time.perf_counter()
        again = filled(host.to("webgpu"))
        sync()
        back.append(time.perf_counter() - start)
        del host, again
    show("device to host, 256 MiB, until numpy sees it", BYTES / min(there) / 1e9, "GB/s", 40)
    show("host to device, 256 MiB, back from there", BYTES / min(back) / 1e9, "GB/s", 40)


def rows(show: Callable, sync: Callable) -> None:
    x = torch.ones(8192, 8192, device="webgpu").clone()
    filled(x)
    nbytes = 4 * 8192 * 8192
    cases = {
        "sum axis 0": (lambda: x.sum(0), 1), "sum axis 1": (lambda: x.sum(1), 1),
        "sum of all": (lambda: x.sum(), 1), "softmax axis 1": (lambda: torch.softmax(x, 1), 2),
        "transposed copy": (lambda: filled(x.t().contiguous()), 2),
    }  # fmt: skip
    for what, (work, streams) in cases.items():
        note = ""
        if cuda is not None:
            a = on_cuda(8192, 8192)
            same = {"sum axis 0": lambda a=a: a.sum(0), "sum axis 1": lambda a=a: a.sum(1),
                    "sum of all": lambda a=a: a.sum(), "transposed copy": lambda a=a: a.t()
                    .contiguous(), "softmax axis 1": lambda a=a: cuda.softmax(a, 1)}  # fmt: skip
            took = beside(same[what])
            note = f"PyTorch CUDA {streams * nbytes / took / 1e9:.0f}"  # type: ignore[operator]
        rate = streams * nbytes / timed(work, sync) / 1e9
        show(f"{what} of 8192^2", rate, "GB/s", None, note)
