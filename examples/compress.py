"""Fewer bits: saved activations in 16, 8, 4 or 1 bits, made on the device that computes.

`graph.compress(kind)` is a pair of saved-tensor hooks. Each kind says how far an element may be
off, and `check="values"` holds it to that at every save. Masks (bools) are kept in bits, exactly,
whatever the kind; and an op that asks only for a sign, as relu does, is content with one bit.
"""

from __future__ import annotations

from pathlib import Path

from small_transformer import Bench, Cost, arguments, bench_of, compare

import wgtorch as torch
from wgtorch import nn
from wgtorch.autograd.graph import compress, pair_if, plot_saved_tensors, saved_tensor_report


def signs_of_relu(device: str) -> None:
    """relu's gradient asks where its result is positive: 1 bit of 32, and the same gradient."""
    x = torch.randn(64, 256, device=device, requires_grad=True)
    (plain,) = torch.autograd.grad(nn.functional.relu(x * 2).sum(), x)
    with pair_if(lambda op, slot, t: (op, slot) == ("relu", "result"), compress("sign1")):
        y = nn.functional.relu(x * 2).sum()
    (row,) = saved_tensor_report(y)
    (grad,) = torch.autograd.grad(y, x)
    same = bool((grad == plain).all())
    print(f"relu: {row.nbytes:,} bytes kept in {row.held:,}, gradients equal: {same}")


def largest_slots(bench: Bench, png: Path | None) -> None:
    """Where the memory of a step is, before and after."""
    for name, way in (("plain", torch.enable_grad), ("int8", lambda: compress("int8"))):
        with way():
            report = saved_tensor_report(bench.loss())
        sizes = {op: rows.nbytes for op, rows in report.by(lambda row: row.op).items()}
        most = sorted(sizes, key=sizes.__getitem__, reverse=True)[:3]
        places = ", ".join(f"{report.bytes_in(p):,} on {p}" for p in ("device", "host"))
        print(f"{name}: {places}; most is saved by {', '.join(most)}")
    if png is not None:
        plot_saved_tensors(report, png)
        print(f"every slot of int8, beside its tensor: {png}")


def main(given: list[str] | None = None) -> list[Cost]:
    options = arguments(__doc__ or "", given)
    bench = bench_of(options)
    kinds = ("float16", "bfloat16", "int8", "int4", "mask1")
    costs = compare(bench, [(kind, lambda kind=kind: compress(kind)) for kind in kinds])
    bench.step(lambda: compress("int8", check="values"))
    print("int8: every saved element was within its bound")
    largest_slots(bench, options.png)
    signs_of_relu(options.device)
    return costs


if __name__ == "__main__":
    main()
