"""Padding, as modules: each mode in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from wgtorch import Tensor
from wgtorch.nn import functional as F
from wgtorch.nn.module import Module


class Pad(Module):
    """`padding`: one number for all sides, or pairs from the last dimension."""

    dims: int
    mode = "constant"

    def __init__(self, padding: int | Sequence[int]):
        super().__init__()
        each = [padding] * (2 * self.dims) if isinstance(padding, int) else list(padding)
        if len(each) != 2 * self.dims:
            raise ValueError(f"expected {2 * self.dims} sizes of padding, got {padding}")
        self.padding = tuple(each)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return str(self.padding)


class ConstantPad(Pad):
    def __init__(self, padding: int | Sequence[int], value: float):
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


def pads(base: type[Pad], name: str, mode: str, what: str) -> list[type[Pad]]:
    """The class in one, two and three dimensions."""
    return [
        type(f"{name}{dims}d", (base,), {"dims": dims, "mode": mode, "__module__": __name__,
             "__doc__": f"Pads the last {dims} dimension(s) with {what}."})
        for dims in (1, 2, 3)
    ]  # fmt: skip


ConstantPad1d, ConstantPad2d, ConstantPad3d = pads(
    ConstantPad, "ConstantPad", "constant", "`value`"
)
ZeroPad1d, ZeroPad2d, ZeroPad3d = pads(Pad, "ZeroPad", "constant", "zeros")
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = pads(
    Pad, "ReflectionPad", "reflect", "what lies inside, mirrored"
)
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = pads(
    Pad, "ReplicationPad", "replicate", "the elements at the edge"
)
CircularPad1d, CircularPad2d, CircularPad3d = pads(
    Pad, "CircularPad", "circular", "what lies at the other end"
)
