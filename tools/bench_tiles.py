"""How long a step along k takes each Tile of products on this GPU: `TILES` of ops/product.py.

python tools/bench_tiles.py

Products in a chain, each of which reads the one before, so none begins early; and handed over as
one, so no time but the GPU's counts. `alone`: nanoseconds where every unit has a group or none;
`each`: for each of so many groups that share a unit. A GPU that does little takes its clock down,
so it multiplies large matrices before every chain.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.backends.webgpu.structured import Launcher
from wgtorch.device import Device
from wgtorch.ops import product
from wgtorch.ops.product import Tile

K = 1024  # and columns: a result is the next product's operand
SHARING = (0.25, 1, 2, 4, 8)  # groups for each unit
CHAIN, TURNS = 30, 8  # products handed over as one; the least of so many chains counts
HEAT = 40  # products of 4096^3


class Chains:
    """On one GPU."""

    def __init__(self) -> None:
        self.home: Any = backend(Device("webgpu"))
        self.queue, self.traits = self.home.queue, self.home.gpu.traits
        self.submit, self.queue.submit = self.queue.submit, self.submitted
        self.rng = np.random.default_rng(0)
        self.weights, self.large = self.matrix(K, K), self.matrix(4096, 4096)
        self.launch = self.microseconds(self.matrix(16, 16), self.matrix(16, 16))

    def matrix(self, rows: int, cols: int) -> Any:
        data = self.rng.standard_normal((rows, cols)) / np.sqrt(cols)
        return torch.tensor(data.astype(np.float32), device="webgpu")

    def submitted(self) -> None:
        self.submit()
        self.handed_over = time.perf_counter()

    def microseconds(self, x: Any, y: Any) -> float:
        """Of one product in a chain."""
        least = float("inf")
        for _ in range(TURNS):
            torch.webgpu.synchronize()
            self.queue.idle = False  # nothing goes ahead
            z = x
            for _ in range(CHAIN):
                z = z.mm(y)
            torch.webgpu.synchronize()
            least = min(least, time.perf_counter() - self.handed_over)
        return least / CHAIN * 1e6

    def heat(self) -> None:
        self.use(None)
        z = self.large
        for _ in range(HEAT):
            z = z.mm(self.large)
        torch.webgpu.synchronize()

    def use(self, tile: Tile | None) -> None:
        """For all products from here on; None: whatever is best."""
        self.home.structured = Launcher(self.home).structured  # which remembers nothing
        product.choose = chosen if tile is None else lambda p, traits: product.tiled(p, tile, 1)

    def step(self, tile: Tile, sharing: float) -> float:
        """Nanoseconds that a step along k takes, of each slice at a time."""
        units = product.UNITS.get(self.traits.kind, 64)
        rows = max(1, round(sharing * units / (K / tile.cols)))
        x = self.matrix(rows * tile.rows, K)
        self.heat()
        self.use(tile)
        return (self.microseconds(x, self.weights) - self.launch) * 1e3 / (K / tile.slices)


chosen = product.choose


def main() -> None:
    chains = Chains()
    if chains.traits.is_software:
        raise SystemExit(f"{chains.traits.name} is no GPU: it does not multiply by tiles")
    print(f"{chains.traits.name}: a product of 16^3 in a chain takes {chains.launch:.1f} us")
    print("Nanoseconds:")
    for tile in product.TILES:
        if tile.nbytes > chains.traits.workgroup_bytes or tile.group > chains.traits.group_size:
            continue
        few, *many = (chains.step(tile, sharing) for sharing in SHARING)
        each = ", ".join(f"{took / n:.1f}" for took, n in zip(many, SHARING[1:], strict=True))
        title = f"{tile.rows} x {tile.cols}" + (f" in {tile.slices}" if tile.slices > 1 else "")
        known = f"known: {tile.alone:g}, {tile.each:g}"
        print(f"{title:16} alone {few:6.1f}   each {each} of {SHARING[1:]}   {known}", flush=True)


if __name__ == "__main__":
    main()
