"""Saved tensors wait on a disk: `spill_to_disk`, with a budget of host memory before it.

The youngest stay in memory, up to the budget; what is needed last in backward is written by
threads, and read ahead again. The file has no name: nothing is left behind, however the run ends.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

from small_transformer import Cost, arguments, bench_of, compare

from wgtorch.autograd.graph import spill_to_disk
from wgtorch.autograd.spill_file import OnDisk


def main(given: list[str] | None = None) -> list[Cost]:
    options = arguments(__doc__ or "", given)
    bench = bench_of(options)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        costs = compare(bench, [
            ("spill_to_disk", partial(spill_to_disk, folder, 0)),
            ("... 4 MiB in memory", partial(spill_to_disk, folder, 4)),
            ("... no reading ahead", partial(spill_to_disk, folder, 0, prefetch=0)),
        ])  # fmt: skip
        left = list(folder.iterdir())
    whole, tight = costs[1].on_disk, costs[2].on_disk
    print(f"on the disk: {whole:,} bytes; with 4 MiB of host memory {tight:,}")
    print(f"written in all {OnDisk.written / 2**20:.1f} MiB; left behind: {len(left)} files")
    print(
        f"a step takes {costs[1].milliseconds / costs[0].milliseconds:.2f} times as long as plain"
    )
    return costs


if __name__ == "__main__":
    main(sys.argv[1:])
