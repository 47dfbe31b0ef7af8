"""A SpillFile is room on a disk for the bytes of saved tensors, without a name to be left behind.

The file is unlinked before it has a byte (on Windows it is deleted on close), so whatever ends the
process, the system frees it. Room is reserved before anything is written: a full disk is found when
a tensor is saved, not while it is on its way.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
import threading
import weakref
from bisect import insort
from collections import deque
from pathlib import Path

import numpy as np

SPARE = 64 << 20  # bytes that stay free for everybody else
ALIGNED = 4096


class OnDisk:
    """Bytes of all spill files of this process, and the most there ever were."""

    current = peak = written = read = 0


class SpillFile:
    """Places of given sizes; what is given back is used again, and cut off when all is."""

    def __init__(self, folder: Path, limit: int | None):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.limit = folder, limit
        self.file = tempfile.TemporaryFile(  # noqa: SIM115  (it lives as long as this)
            dir=folder, prefix="wgtorch-", buffering=0
        )
        weakref.finalize(self, self.file.close)
        self.free: list[tuple[int, int]] = []  # (offset, bytes), in order, never side by side
        self.end = self.live = 0
        self.lock = threading.Lock()
        self.returned: deque[tuple[int, int]] = deque()  # given back, and not free yet

    def take(self, nbytes: int) -> int:
        """Where so many bytes may be written; OSError (ENOSPC) if there is no room for them."""
        size = padded(nbytes)
        with self.lock:
            self._settle()
            fits = next((i for i, (_, free) in enumerate(self.free) if free >= size), None)
            if fits is None:
                self._check(size)
                offset = self._grow(size)
            else:
                offset, free = self.free.pop(fits)
                if free > size:
                    insort(self.free, (offset + size, free - size))
            self.live += size
            OnDisk.current += size
            OnDisk.peak = max(OnDisk.peak, OnDisk.current)
        return offset

    def give(self, offset: int, nbytes: int) -> None:
        """A finalizer calls this wherever garbage is collected, in the midst of `take` too."""
        self.returned.append((offset, padded(nbytes)))
        if self.lock.acquire(blocking=False):
            try:
                self._settle()
            finally:
                self.lock.release()

    def _settle(self) -> None:
        while self.returned:
            offset, size = self.returned.popleft()
            self.live -= size
            OnDisk.current -= size
            insort(self.free, (offset, size))
            self.free = joined(self.free)
        if not self.live and self.end:  # to cut a file takes milliseconds
            self.free.clear()
            self.end = 0
            self.file.truncate(0)

    def write(self, offset: int, data: np.ndarray) -> None:
        view = data.data.cast("B")
        done = 0
        while done < len(view):
            done += self._at(offset + done, view[done:], write=True)
        OnDisk.written += len(view)

    def read(self, offset: int, nbytes: int) -> np.ndarray:
        """The bytes, or as many as there are."""
        data = np.empty(nbytes, np.uint8)
        view, done = data.data, 0
        while done < nbytes:
            got = self._at(offset + done, view[done:], write=False)
            if not got:
                break
            done += got
        OnDisk.read += done
        return data[:done]

    def _at(self, offset: int, part: memoryview, write: bool) -> int:
        handle = self.file.fileno()
        if sys.platform != "win32":
            if write:
                return os.pwrite(handle, part, offset)
            return os.preadv(handle, [part], offset)
        with self.lock:  # a place and a transfer are two calls here
            self.file.seek(offset)
            return self.file.write(part) if write else self.file.readinto(part)

    def _check(self, size: int) -> None:
        if self.limit is not None and self.end + size > self.limit:
            raise self.full(size, f"the limit is {mib(self.limit)}")
        free = shutil.disk_usage(self.folder).free
        if free - SPARE < size:
            raise self.full(size, f"{mib(free)} are free, of which {mib(SPARE)} stay so")

    def _grow(self, size: int) -> int:
        offset = self.end
        if hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(self.file.fileno(), offset, size)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    raise
                self.file.truncate(offset)
                raise self.full(size, error.strerror or "") from None
        self.end = offset + size
        return offset

    def full(self, size: int, why: str) -> OSError:
        return OSError(
            errno.ENOSPC,
            f"spill_to_disk: no room for {mib(size)} beside {mib(self.live)} in {self.folder}:"
            f" {why}. Free some space, pass another folder, or raise the limit; what was saved"
            " before is unharmed",
        )


def padded(nbytes: int) -> int:
    return -(-nbytes // ALIGNED) * ALIGNED


def joined(free: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Neighbours as one."""
    found: list[tuple[int, int]] = []
    for offset, size in free:
        if found and sum(found[-1]) == offset:
            found[-1] = found[-1][0], found[-1][1] + size
        else:
            found.append((offset, size))
    return found


def mib(nbytes: int) -> str:
    return f"{nbytes / 2**20:.1f} MiB"


def usual_folder() -> Path:
    """The user's cache, which is on a disk; a temporary folder may be memory."""
    if sys.platform == "win32":
        cache = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        cache = os.path.expanduser("~/Library/Caches")
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    for folder in (Path(cache) if cache else None, Path(tempfile.gettempdir())):
        if folder is not None and folder.is_absolute() and writable(folder):
            return folder / "wgtorch" / "spill"
    return Path(tempfile.gettempdir()) / "wgtorch" / "spill"


def writable(folder: Path) -> bool:
    """Whether it can be written, or made."""
    while not folder.exists():
        if folder.parent == folder:
            return False
        folder = folder.parent
    return os.access(folder, os.W_OK)
