"""Forward-mode derivatives: tensors that carry a tangent, and ops that pass it on.

Example::

    with dual_level():
        y = make_dual(x, direction).sin()
        value, derivative = unpack_dual(y)
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from wgtorch.autograd.mode import Mode
from wgtorch.autograd.transforms.dual import DualBackend
from wgtorch.autograd.transforms.level import DEVICES, levels, root_of
from wgtorch.storage import View


class DualLevel:
    """One forward-mode derivative under way."""

    kind = DualBackend
    number = 0

    def home(self, tensor: Any) -> DualBackend:
        return DEVICES[DualBackend, self.number, root_of(tensor.storage.value.device)].backend

    def paired(self, primal: Any, tangent: Any) -> Any:
        return self.home(primal).paired(primal, tangent)

    def lifted(self, tensor: Any) -> Any:
        """A tensor without a tangent."""
        return self.home(tensor).lifted(tensor)

    def parts(self, tensor: Any) -> tuple[Any, Any]:
        """(the tensor of the level below, its tangent or None)."""
        device = tensor.storage.value.device
        if device.level != self.number or device.kind is not DualBackend:
            return tensor, None
        return device.backend.primal(tensor), device.backend.tangent(tensor)


_open: list[DualLevel] = []  # those that users entered


def enter_dual_level() -> int:
    """Begins a level, in which tensors may get tangents; returns its number."""
    if _open:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    opened = DualLevel()
    levels.enter(opened)
    _open.append(opened)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Ends a level: its tensors lose their tangents."""
    if not _open:
        raise RuntimeError(
            "Trying to exit a forward AD level but no level is currently active."
            if level is None
            else "Trying to exit a forward AD level that was not the last one that was created."
        )
    if level not in (None, len(_open) - 1):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is"
            " not supported."
        )
    levels.leave(_open.pop())


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A tensor with the elements of `tensor` and that tangent."""
    if not _open:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to"
            " enter_dual_level() first."
        )
    for name, given in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(given, View):
            raise TypeError(f"make_dual(): argument '{name}' must be Tensor")
        check_kind("primal" if name == "tensor" else name, given)
    check_sizes(tensor, tangent)
    return _open[-1].paired(tensor, tangent)


def check_kind(name: str, given: Any) -> None:
    if given.dtype.category < 2:
        raise ValueError(f"Expected {name} to be floating point or complex, but got: {given.dtype}")


def check_sizes(tensor: Any, tangent: Any) -> None:
    if tensor.layout.shape != tangent.layout.shape:
        raise RuntimeError(
            f"Trying to set a forward gradient that has a different size than that of the original"
            f" Tensor, this is not supported. Tensor is of size {list(tensor.layout.shape)} while"
            f" the given forward gradient is of size {list(tangent.layout.shape)}."
        )


UnpackedDualTensor = namedtuple("UnpackedDualTensor", ("primal", "tangent"))


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """(the tensor without its tangent, the tangent or None)."""
    if not _open:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*_open[-1].parts(tensor))


class dual_level(Mode):
    """A level of forward-mode derivatives; what is left of duals outside is not to be used."""

    def __enter__(self) -> int:  # type: ignore[override]
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()
