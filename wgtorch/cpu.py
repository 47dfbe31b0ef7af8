"""torch.cpu: the cpu in the words in which other devices are asked."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any


def is_available() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> str:
    return "cpu"


def synchronize(device: Any = None) -> None:
    """Nothing is ever under way."""


def empty_cache() -> None:
    """Nothing is kept."""


def device(device: Any = None) -> nullcontext:
    """A context that changes nothing."""
    return nullcontext()
