"""Exceptions that PyTorch has no builtin for, and notes that say where one came from."""

from __future__ import annotations


class OutOfMemoryError(RuntimeError):
    """The device has no room for a buffer, even after its pool was emptied."""


class DeviceLostError(RuntimeError):
    """The device is gone, and what its tensors held with it. New tensors open it again."""


class OutOfRangeError(IndexError, RuntimeError):
    """An index that points past its dimension: PyTorch raises one or the other, by op."""
