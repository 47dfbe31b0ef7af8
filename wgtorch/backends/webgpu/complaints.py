"""Complaints: what kernels found wrong with indices, kept on the device until the next sync.

A kernel that checks indices gets a slot of one shared buffer for each text it may complain with,
and leaves the worst offender there (`report_out_of_range` in structured.py). A sync reads the slots
in use back with its own submit, and raises the first complaint in the order of the dispatches.
Syncs after which no such kernel ran do nothing here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wgtorch.backends.webgpu.pool import Buffer
from wgtorch.errors import OutOfRangeError

MOST = 256  # texts between two syncs; then one is forced
BIAS = 1 << 31  # an index is kept as index + BIAS: 0 says that nothing is wrong


class Complaints:
    def __init__(self, dock: Any):
        self.dock = dock
        self.buffer: Buffer | None = None
        self.slots: dict[str, int] = {}  # by text, since the last sync

    def slot(self, text: str) -> int:
        """Where a kernel about to be dispatched reports; `text` has a place for the `{index}`."""
        found = self.slots.get(text)
        if found is None:
            if len(self.slots) == MOST:
                self.dock.finish()
            if self.buffer is None:
                self.buffer = self.dock.home.take(4 * MOST)
                self.dock.queue.clear(self.buffer)
            found = self.slots[text] = len(self.slots)
        return found

    def leave(self) -> tuple[Buffer, list[str]] | None:
        """Sends the slots in use to the host with the coming submit, and gives them back."""
        if not self.slots:
            return None
        texts = list(self.slots)
        self.slots.clear()
        staging = self.dock.pool.take(4 * len(texts))
        self.dock.queue.copy(self.buffer, staging, 4 * len(texts))
        self.buffer = None
        return staging, texts


def raise_first(found: np.ndarray, texts: list[str]) -> None:
    """Raises the first complaint among the words of the slots, if there is one."""
    wrong = np.flatnonzero(found)
    if wrong.size:
        place = int(wrong[0])
        raise OutOfRangeError(texts[place].format(index=int(found[place]) - BIAS))
