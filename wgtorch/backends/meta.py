"""The device without data: shapes and dtypes are worked out, nothing is computed."""

from __future__ import annotations

from typing import NoReturn

from wgtorch.device import Device
from wgtorch.storage import Value


class Meta:
    def __init__(self, device: Device):
        self.device = device

    def upload(self, array, dtype):
        return self._nothing(dtype, array.size)

    def download(self, view) -> NoReturn:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")

    def send(self, value, to):
        if to is self:
            return value
        self.download(value)

    def elementwise(self, typed, args, attrs, out):
        return self._nothing(typed.dtype, out.numel)

    def draw(self, op, seed, offset, out):
        return self._nothing(op.dtype, out.numel)

    def source(self, view):
        return view.dtype

    def reduction(self, fold, source):
        values = tuple([self._nothing(dtype, fold.out.numel) for dtype in fold.dtypes])
        return values if fold.op.outputs else values[0]

    def structured(self, call, args):
        pairs = zip(call.out_dtypes, call.outs, strict=True)
        return tuple(self._nothing(dtype, out.numel) for dtype, out in pairs)

    def assign(self, storage, layout, source):
        pass

    def reseen(self, value, dtype):
        return self._nothing(dtype, value.nbytes // dtype.itemsize)

    def synchronize(self):
        pass

    def explain(self, view):
        return "meta tensors have no data; there is nothing to explain"

    def _nothing(self, dtype, numel):
        return Value(self.device, dtype, numel, None)
