"""Computing again: a checkpointed block keeps its input, and runs once more in backward.

Gradients are the same to the bit, dropout included; what is paid is time. `selective` keeps the
results of the ops that cost most, so that only the cheap ones run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from small_transformer import Bench, Cost, arguments, bench_of, compare

from wgtorch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

PRODUCTS = ["linear", "matmul", "bmm", "mm"]


def around(bench: Bench, call: Callable) -> Callable[[], AbstractContextManager]:
    """A way of saving: each block of the transformer is called by `call(block, x, mask)`."""

    @contextmanager
    def way() -> Iterator[None]:
        before, bench.model.around = bench.model.around, call
        try:
            yield
        finally:
            bench.model.around = before

    return way


def every_block(block: Callable, *args: object) -> object:
    return checkpoint(block, *args, use_reentrant=False)


def selective(block: Callable, *args: object) -> object:
    """Products are kept: what runs again is norms, softmax, gelu and additions."""
    return checkpoint(
        block, *args, use_reentrant=False,
        context_fn=lambda: create_selective_checkpoint_contexts(PRODUCTS),
    )  # fmt: skip


class EveryOther:
    """Half the memory for half the time."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, block: Callable, *args: object) -> object:
        self.count += 1
        return every_block(block, *args) if self.count % 2 else block(*args)


def main(given: list[str] | None = None) -> list[Cost]:
    bench = bench_of(arguments(__doc__ or "", given))
    ways = {"every block": every_block, "every other block": EveryOther(), "selective": selective}
    return compare(bench, [(name, around(bench, call)) for name, call in ways.items()])


if __name__ == "__main__":
    main()
