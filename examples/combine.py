"""Techniques together: pairs composed, chosen by op, given to one module, put behind a budget.

Hooks replace each other when nested; these functions make one pair of several instead. A
checkpoint inside a pair hands it the block's input only, so the two add up as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from checkpoint import around, every_block
from small_transformer import Bench, Cost, arguments, bench_of, compare

from wgtorch.autograd.graph import (
    compose_hooks,
    compress,
    device_budget,
    hooks_for,
    pair_if,
    save_on_cpu,
    saved_tensors_hooks,
)


def small_on_the_host() -> saved_tensors_hooks:
    """8 bits, and then to the host: a quarter of the bytes travels."""
    return compose_hooks(save_on_cpu(), compress("int8"))


def by_op() -> saved_tensors_hooks:
    """What gelu saves in 8 bits on the device; everything else, exact, on the host."""
    return pair_if(lambda op, slot, t: op == "gelu", compress("int8"), otherwise=save_on_cpu())


def large_only() -> saved_tensors_hooks:
    """A predicate sees the tensor, too."""
    return pair_if(lambda op, slot, t: t.nbytes >= 256 * 1024, save_on_cpu())


def within_a_budget() -> device_budget:
    """4 MiB as they are; what no longer fits goes into 8 bits, the oldest first."""
    return device_budget(4, then=compress("int8"))


@contextmanager
def first_block(bench: Bench) -> Iterator[None]:
    """One module only: the first block, whose tensors wait longest."""
    with hooks_for(bench.model.blocks[0], save_on_cpu()):
        yield


@contextmanager
def checkpoints_on_the_host(bench: Bench) -> Iterator[None]:
    """Every block checkpointed, and their inputs on the host."""
    with around(bench, every_block)(), save_on_cpu():
        yield


def main(given: list[str] | None = None) -> list[Cost]:
    bench = bench_of(arguments(__doc__ or "", given))
    return compare(bench, [
        ("int8 on the host", small_on_the_host),
        ("gelu int8, rest on host", by_op),
        ("large ones on the host", large_only),
        ("4 MiB, then int8", within_a_budget),
        ("first block on the host", lambda: first_block(bench)),
        ("checkpoint + host", lambda: checkpoints_on_the_host(bench)),
    ])  # fmt: skip


if __name__ == "__main__":
    main()
