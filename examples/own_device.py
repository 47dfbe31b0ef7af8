"""A device of your own, outside of the package: it computes on the cpu and logs every kernel.

A network trains on it; then a faster kernel is registered for one op, where a predicate says that
it pays.

python examples/own_device.py
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.registry import DeviceCapabilities, DeviceConfig, register_device, register_forward


class Logging:
    """A backend has a method for each *kind* of op. These log, and have the cpu do the work."""

    def __init__(self, device):
        self.device, self.home = device, backend(torch.device("cpu"))
        self.kernels, self.seconds = Counter(), 0.0

    def __getattr__(self, name):  # what needs no log: download, source, reseen, synchronize ...
        return getattr(self.home, name)

    def logged(self, op, run):
        """Runs a kernel; what it makes lives here."""
        self.kernels[op.name] += 1
        start = time.perf_counter()
        made = run()
        self.seconds += time.perf_counter() - start
        for value in made if isinstance(made, tuple) else (made,):
            value.device = self.device
        return made

    def elementwise(self, typed, args, attrs, out):
        return self.logged(typed.op, lambda: self.home.elementwise(typed, args, attrs, out))

    def reduction(self, fold, source):
        return self.logged(fold.op, lambda: self.home.reduction(fold, source))

    def structured(self, call, args):
        return self.logged(call.op, lambda: self.home.structured(call, args))

    def draw(self, op, seed, offset, out):
        return self.logged(op, lambda: self.home.draw(op, seed, offset, out))

    def upload(self, array, dtype):
        value = self.home.upload(array, dtype)
        value.device = self.device
        return value

    def send(self, value, to):
        return to.upload(value.buffer.copy(), value.dtype)

    def assign(self, storage, layout, source):
        self.home.assign(storage, layout, source)
        storage.value.device = self.device


def train(device, steps=3):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.rand(64, 16).to(device)
    for _ in range(steps):
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def many_rows(input_shape):
    return len(input_shape) == 2 and input_shape[0] > 1000


def by_table(input):
    """tanh of numbers that are few: each is computed once."""
    known, places = np.unique(input, return_inverse=True)
    return np.tanh(known)[places].reshape(input.shape)


def main() -> None:
    config = DeviceConfig(
        name="logging", factory=Logging, doc="the cpu, with a log",
        capabilities=lambda device: DeviceCapabilities("a cpu with a log", {"log": True}, {}),
    )  # fmt: skip
    with register_device(config) as handle:
        place = handle.device()
        print(f"loss {train(place):.6f} on {place}, {train('cpu'):.6f} on the cpu")
        log = backend(place)
        print(f"{sum(log.kernels.values())} kernels in {1e3 * log.seconds:.1f} ms, most often:")
        for name, count in log.kernels.most_common(3):
            print(f"  {count:3} {name}")

        few = torch.randint(0, 9, (4000, 100)).float().to(place)
        plain = few.tanh()
        with register_forward("tanh", "logging", by_table, predicate=many_rows):
            same = torch.allclose(few.tanh(), plain)
            print("a kernel of one's own for many rows: the same", same)
            before = log.kernels["tanh"]
            few.tanh(), few[:10].tanh()
            print("kernels of the device that were still used:", log.kernels["tanh"] - before)


if __name__ == "__main__":
    main()
