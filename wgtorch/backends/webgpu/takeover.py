"""A Takeover: a kernel writes a result into the memory of an operand that nobody needs any more.

Each element is read only by the thread that writes it, in its place and layout. That nobody else
holds the operand is read from Python's reference counts, which are exact: a count that is too high
(of another thread, or a debugger) only means a buffer more.
"""

from __future__ import annotations

import sys
from typing import Any

from wgtorch.backends.webgpu.codegen import Pairs
from wgtorch.backends.webgpu.fusion import Load, Program, Promise, load_of
from wgtorch.dtype import float32
from wgtorch.layout import PLAIN, Layout
from wgtorch.storage import Storage, Value

LEAST = 1 << 15  # elements from which it is worth the counting


def takeovers(program: Program) -> Pairs:
    """Which stores may go where which loads are: pairs of their numbers."""
    loads = [n for n, load in enumerate(program.loads) if load.form == PLAIN and dies(load)]
    if not loads:
        return ()
    uses = [id(arg) for step in program.steps for arg in step.args]
    if any_outlives(program, uses):
        return ()
    pairs = []
    free = [n for n in loads if held(program, n) == uses.count(id(program.loads[n])) + ALONE]
    for n, step in enumerate(program.stores):
        for m in free:
            if fits(program.loads[m], step):
                free.remove(m)
                pairs.append((n, m))
                break
    return tuple(pairs)


def dies(load: Load) -> bool:
    """Whether the load alone holds its buffer."""
    return load.buffer is not None and sys.getrefcount(load.buffer) == BUFFER_ALONE


def held(program: Program, place: int) -> int:
    """How many hold a load."""
    return sys.getrefcount(program.loads[place])


def any_outlives(program: Program, uses: list[int]) -> bool:
    """Whether something that is not stored now will be computed again, for somebody else."""
    stored = {id(step) for step in program.stores}
    for place in range(len(program.steps)):
        known = id(program.steps[place])
        count = sys.getrefcount(program.steps[place]) - uses.count(known)
        if known not in stored and count > STEP_ALONE:
            return True
    return False


def fits(load: Load, step: Any) -> bool:
    nbytes = step.layout.numel * step.dtype.itemsize
    return load.dtype is step.dtype and load.buffer.block.leased == nbytes


# Writing into a buffer that exists


def held_alone(storage: Any) -> bool:
    """Whether nobody but the storage holds its filled value, so that this may be overwritten."""
    known = LOADED if storage.value.load is not None else UNREAD
    return all([have <= want for have, want in zip(holders(storage), known, strict=True)])


def holders(storage: Any) -> tuple[int, int, int]:
    """What sys.getrefcount says of a value, its buffer and its load."""
    value = storage.value
    load = value.load
    loads = 0 if load is None else sys.getrefcount(load)
    return sys.getrefcount(value), sys.getrefcount(value.buffer), loads


# What the counts are of something held once


class _Held:
    """Anything."""


def counts_when_alone() -> tuple[int, int, int]:
    """Of a buffer, a load and a step that only their program holds."""
    load = load_of(_Held(), Layout.contiguous((1,)), float32)
    dying = sys.getrefcount(load.buffer)
    program = Program.__new__(Program)
    program.loads, program.steps = [load], [Promise.__new__(Promise)]
    del load
    return dying, held(program, 0), sys.getrefcount(program.steps[0])


def holders_when_alone(loaded: bool) -> tuple[int, int, int]:
    """Of what only a storage holds."""
    storage = Storage(Value(None, float32, 0, _Held()))  # type: ignore[arg-type]
    if loaded:
        storage.value.load = load_of(storage.value.buffer, Layout.contiguous((1,)), float32)
    return holders(storage)


BUFFER_ALONE, ALONE, STEP_ALONE = counts_when_alone()
LOADED, UNREAD = holders_when_alone(True), holders_when_alone(False)
