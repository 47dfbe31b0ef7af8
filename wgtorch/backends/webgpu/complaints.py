"""Complaints: what kernels found wrong with their data, kept on the device until the next sync.

A kernel that checks gets a slot of one shared buffer for each thing it may complain about. Of
indices it leaves the worst offender there (`report_out_of_range`), of anything else only that it
was wrong (`report_refused`). A sync reads the slots in use back with its own submit, and raises
the first complaint in the order of the dispatches, with the line that called its op: the sync may
be at another tensor, far away. Where no such kernel ran it does nothing here.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

import numpy as np

from wgtorch.backends.webgpu.codegen import Writer
from wgtorch.backends.webgpu.pool import Buffer
from wgtorch.config import caller
from wgtorch.errors import OutOfRangeError

MOST = 256  # complaints between two syncs; then one is forced
BIAS = 1 << 31  # an index is kept as index + BIAS: 0 says that nothing is wrong
Said = tuple[type[Exception], str, CodeType, int]  # the error, and the line that is about
FUNCTIONS = {  # how a kernel complains: its parameter, and the word it leaves
    "report_out_of_range": ("index: u32", "max(index + 0x80000000u, 1u)"),
    "report_refused": ("", "1u"),
}


def reports(text: str) -> bool:
    """Whether a kernel may complain."""
    return any([f"{name}(" in text for name in FUNCTIONS])


def declare_report(writer: Writer, body: str) -> None:
    """In front of a kernel: what it complains with, and where to."""
    flag = writer.bind("atomic<u32>", "read_write", "range_flags")
    writer.fields["slot"] = "u32"
    for name, (parameter, word) in FUNCTIONS.items():
        if f"{name}(" in body:
            said = f"    atomicMax(&{flag}[launch.slot], {word});"
            writer.declare(f"fn {name}({parameter}) {{\n{said}\n}}")


class Complaints:
    def __init__(self, dock: Any):
        self.dock = dock
        self.buffer: Buffer | None = None
        self.slots: dict[Said, int] = {}  # since the last sync

    def slot(self, complaint: str | Exception) -> int:
        """Where a kernel about to be dispatched reports; a text is of indices, as `{index}`."""
        if isinstance(complaint, str):
            said: Said = OutOfRangeError, complaint, *caller()
        else:
            said = type(complaint), str(complaint), *caller()
        found = self.slots.get(said)
        if found is None:
            if len(self.slots) == MOST:
                self.dock.finish()
            if self.buffer is None:
                self.buffer = self.dock.home.take(4 * MOST)
                self.dock.queue.clear(self.buffer)
            found = self.slots[said] = len(self.slots)
        return found

    def leave(self) -> tuple[Buffer, list[Said]] | None:
        """Sends the slots in use to the host with the coming submit, and gives them back."""
        if not self.slots:
            return None
        said = list(self.slots)
        self.slots.clear()
        staging = self.dock.pool.take(4 * len(said))
        self.dock.queue.copy(self.buffer, staging, 4 * len(said))
        self.buffer = None
        return staging, said


def raise_first(found: np.ndarray, said: list[Said]) -> None:
    """Raises the first complaint among the words of the slots, if there is one."""
    wrong = np.flatnonzero(found)
    if wrong.size:
        place = int(wrong[0])
        error, text, code, line = said[place]
        text = text.replace("{index}", str(int(found[place]) - BIAS))
        raise error(f"{text}\n  called at {code.co_filename}, line {line}, in {code.co_name}")
