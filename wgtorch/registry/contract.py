"""A backend of a user, held to the contract of wgtorch/backend.py: it answers what is due.

It stands in front of such backends only; the library's own run without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wgtorch.dtype import DType
from wgtorch.errors import RegistrationFailedError
from wgtorch.storage import Value

METHODS = ("upload", "download", "send", "elementwise", "draw", "source", "reduction",
           "structured", "assign", "reseen", "synchronize", "explain")  # fmt: skip


class Contracted:
    """What it does not check goes straight to the user's backend, as do attributes that are set."""

    def __init__(self, device: Any, made: Any):
        lacking = [method for method in METHODS if not callable(getattr(made, method, None))]
        if lacking:
            raise RegistrationFailedError(
                f"the backend of {device} lacks {', '.join(lacking)} (see wgtorch/backend.py)"
            )
        vars(self).update(made=made, place=device)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.made, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.made, name, value)

    def upload(self, array, dtype):
        return self._value("upload", self.made.upload(array, dtype), dtype, array.size)

    def download(self, view):
        array = self.made.download(view)
        if isinstance(array, np.ndarray) and array.shape == view.layout.shape:
            return array
        shape = list(view.layout.shape)
        raise self._wrong("download", array, f"an array of shape {shape}")

    def elementwise(self, typed, args, attrs, out):
        made = self.made.elementwise(typed, args, attrs, out)
        return self._value("elementwise", made, typed.dtype, out.numel)

    def draw(self, op, seed, offset, out):
        return self._value("draw", self.made.draw(op, seed, offset, out), op.dtype, out.numel)

    def reduction(self, fold, source):
        made = self.made.reduction(fold, source)
        several = self._several("reduction", made if fold.op.outputs else (made,),
                                fold.dtypes, (fold.out,) * len(fold.dtypes))  # fmt: skip
        return several if fold.op.outputs else several[0]

    def structured(self, call, args):
        made = self.made.structured(call, args)
        return self._several("structured", made, call.out_dtypes, call.outs)

    def _several(self, method: str, made: Any, dtypes: Any, outs: Any) -> tuple[Value, ...]:
        if not isinstance(made, tuple) or len(made) != len(outs):
            raise self._wrong(method, made, f"a tuple of length {len(outs)}")
        due = zip(made, dtypes, outs, strict=True)
        return tuple([self._value(method, value, dtype, out.numel) for value, dtype, out in due])

    def _value(self, method: str, made: Any, dtype: DType, numel: int) -> Value:
        if not isinstance(made, Value):
            raise self._wrong(method, made, "a Value")
        if made.device is not self.place or made.dtype is not dtype or made.numel != numel:
            found = f"one of {made.numel} {made.dtype} on {made.device}"
            raise self._wrong(method, found, f"a Value of {numel} {dtype} on {self.place}")
        return made

    def _wrong(self, method: str, made: Any, due: str) -> RegistrationFailedError:
        return RegistrationFailedError(
            f"the backend of {self.place}: {method}() returned {made}, but {due} is due"
            " (see wgtorch/backend.py)"
        )


def opener(factory: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What opens the devices of a user's type."""
    return lambda device: Contracted(device, factory(device))
