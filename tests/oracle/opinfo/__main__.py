"""Report: how many of PyTorch's own samples wgtorch gets right, per op, device and dtype.

    python -m tests.oracle.opinfo [-k NAME] [--device cpu] [--dtype float32] [--cap N] [--why]

Prints a line per op: right/run per dtype on each device, then the totals.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.oracle.opinfo.counterparts import OPS
from tests.oracle.opinfo.exceptions import excepted
from tests.oracle.opinfo.trial import DEVICES, DTYPES, Tally, tallied

COLUMNS = (*DTYPES, "errors")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", default="", help="a regular expression for the op's name")
    parser.add_argument("--device", action="append", choices=DEVICES)
    parser.add_argument("--dtype", action="append", choices=COLUMNS)
    parser.add_argument("--cap", type=int, help="samples of an op and dtype, at most")
    parser.add_argument("--why", action="store_true", help="what is wrong, sample by sample")
    parser.add_argument("-n", type=int, default=2, help="processes")
    given = parser.parse_args()
    names = [name for name in sorted(OPS) if re.search(given.k, name)]
    devices, dtypes = given.device or DEVICES, given.dtype or COLUMNS
    tasks = [(name, device, dtypes, given.cap) for device in devices for name in names]
    total: Counter[tuple[str, str, str]] = Counter()
    print(f"{'':52}" + "".join(f"{dtype:>11}" for dtype in dtypes))
    with ProcessPoolExecutor(given.n, get_context("spawn")) as pool:
        for tallies in pool.map(tallied, tasks, chunksize=4):
            show(tallies, dtypes, given.why)
            for tally in tallies:
                known = excepted(tally)
                bad = {w.sample for w in tally.wrong}
                counts = {"run": len(tally.run), "wrong": len(bad), "excepted": len(bad & known)}
                for word, count in counts.items():
                    total[tally.device, tally.dtype, word] += count
                    total[tally.device, "all", word] += count
    for device in devices:
        for dtype in (*dtypes, "all"):
            run, wrong, known = (total[device, dtype, w] for w in ("run", "wrong", "excepted"))
            share = 100 * (run - wrong) / max(run, 1)
            print(f"{device:8}{dtype:12}{share:7.2f} % of {run} right, {known} of {wrong} excepted")


def show(tallies: list[Tally], dtypes: tuple[str, ...], why: bool) -> None:
    if not tallies:
        return
    by_dtype = {tally.dtype: tally for tally in tallies}
    cells = []
    for dtype in dtypes:
        tally = by_dtype.get(dtype)
        right = (
            tally and f"{len(tally.run) - len({w.sample for w in tally.wrong})}/{len(tally.run)}"
        )
        cells.append(f"{right or '':>14}")
    print(f"{tallies[0].op:44}{tallies[0].device:8}" + "".join(cells), flush=True)
    if why:
        for tally in tallies:
            for wrong in tally.wrong:
                print(f"    {tally.dtype} {wrong.form} {wrong.sample}: {wrong.why}")


if __name__ == "__main__":
    main()
