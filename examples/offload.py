"""Saved tensors wait in host memory: `save_on_cpu`, and looking ahead in backward.

What backward needs leaves the device as soon as it is made, with the kernels that go there anyway,
and comes back node by node. Results are the same to the last bit; the device keeps its memory for
what is computed on now.
"""

from __future__ import annotations

import sys

from small_transformer import Cost, arguments, bench_of, compare

import wgtorch as torch
from wgtorch.autograd.graph import save_on_cpu


def main(given: list[str] | None = None) -> list[Cost]:
    options = arguments(__doc__ or "", given)
    bench = bench_of(options)
    costs = compare(bench, [
        ("save_on_cpu", lambda: save_on_cpu(prefetch=0)),
        ("... 1 node ahead", lambda: save_on_cpu(prefetch=1)),
        ("... 4 nodes ahead", lambda: save_on_cpu(prefetch=4)),
    ])  # fmt: skip
    plain, away = costs[0], costs[1]
    if torch.device(options.device).type == "cpu":
        print("a graph of the cpu is in host memory already: nothing moves, and nothing is saved")
        return costs
    kept = plain.on_device - away.on_device
    print(f"off the device between forward and backward: {kept:,} of {plain.on_device:,} bytes")
    print(f"peak: {away.peak / plain.peak:.2f} of plain; each node ahead takes its tensors more")
    print(f"a step takes {away.milliseconds / plain.milliseconds:.2f} times as long as plain")
    return costs


if __name__ == "__main__":
    main(sys.argv[1:])
