"""A Source is where random numbers come from: a seed, and how much was drawn of it so far.

The same seed gives the same numbers on every device, whatever was drawn elsewhere: each device has
a source of its own (`of(device)`), and all of them start from one seed.
"""

from __future__ import annotations

import os
from typing import Any

from wgtorch import philox
from wgtorch.device import Device

DEFAULT_SEED = 67280421310721  # PyTorch's


class Source:
    """Draws of words; `offset` counts blocks of four of them."""

    def __init__(self, device: Any = "cpu"):
        self.device = Device(device)
        self.start, self.offset = DEFAULT_SEED, 0

    def take(self, count: int) -> tuple[int, int]:
        """(seed, offset) of a draw of `count` words that nobody else gets."""
        offset = self.offset
        self.offset += philox.blocks(count)
        return self.start, offset

    def manual_seed(self, seed: Any) -> Any:
        """Starts anew from `seed`; returns itself."""
        self.start, self.offset = checked(seed), 0
        return self

    def seed(self) -> int:
        """Starts anew from a seed that nobody can guess; returns it."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self.start

    def initial_seed(self) -> int:
        return self.start

    def get_offset(self) -> int:
        return self.offset

    def set_offset(self, offset: int) -> None:
        self.offset = int(offset)

    @property
    def state(self) -> tuple[int, int]:
        return self.start, self.offset

    @state.setter
    def state(self, state: tuple[int, int]) -> None:
        self.start, self.offset = state


def checked(seed: Any) -> int:
    """A seed as 64 bits; negative ones wrap."""
    seed = int(seed)
    if not -(1 << 63) <= seed < 1 << 64:
        raise ValueError("Overflow when unpacking long long")
    return seed % (1 << 64)


kind: type[Source] = Source  # what `of` makes; upstairs there is a Generator with tensors
sources: dict[Device, Source] = {}
common_seed = DEFAULT_SEED  # of sources not made yet


def of(device: Device, generator: Source | None = None) -> Source:
    """The generator, or else the device's own source."""
    if device.level:
        device = device.root  # type: ignore[attr-defined]
    if generator is not None:
        if generator.device.type != device.type:
            raise RuntimeError(
                f"Expected a '{device.type}' device type for generator but found"
                f" '{generator.device.type}'"
            )
        return generator
    source = sources.get(device)
    if source is None:
        source = sources[device] = kind(device)
        source.manual_seed(common_seed)
    return source


def seed_all(seed: Any) -> int:
    """Every device's source starts anew from `seed`."""
    global common_seed
    common_seed = checked(seed)
    for source in sources.values():
        source.manual_seed(common_seed)
    return common_seed
