"""The reference backend: runs each op's own numpy definition, eagerly.

Half types are computed in float32 and rounded after each op, as PyTorch does.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

from wgtorch.arrays import seen
from wgtorch.backends import parted
from wgtorch.backends.formulas import formula, settled
from wgtorch.backends.parted import MANY, SOME
from wgtorch.backends.quiet import IGNORE, hush, restore
from wgtorch.device import Device
from wgtorch.dtype import DType, bfloat16, float16, float32
from wgtorch.errors import no_room, with_room
from wgtorch.layout import remembered
from wgtorch.op import Join
from wgtorch.storage import Lens, Storage, Value, View, gift

new = object.__new__
NO_ATTRS: dict = {}
WIDE = {float16: np.dtype(np.float32), bfloat16: np.dtype(np.float32)}  # what halves compute in


class CPU:
    def __init__(self, device: Device):
        self.device = device

    @with_room
    def upload(self, array, dtype):
        flat = np.array(array, dtype=dtype.np, order="C").reshape(-1)
        return Value(self.device, dtype, flat.size, flat)

    def adopt(self, array: np.ndarray, dtype: DType) -> Value:
        """A Value on the caller's own memory: flat, contiguous."""
        return Value(self.device, dtype, array.size, array)

    def download(self, view):
        value = view.storage.value
        flat = value.buffer if value.promise is None else self._arrive(value)
        return seen(flat, view.layout, view.is_whole)

    def send(self, value, to):
        there = value.promise and value.promise.back(to)
        return there or to.upload(self._elements(value), value.dtype)

    def elementwise(self, typed, args, attrs, out):
        op, kinds, arrays, cast, place = typed.op, typed.kinds, [], False, 0
        token = hush(IGNORE)
        try:
            for arg in args:
                kind = kinds[place]
                place += 1
                if isinstance(arg, View):
                    value = arg.storage.value
                    known = value.load
                    if known is not None and known[0] is arg.layout:
                        array = known[1]
                    else:
                        array = self._looked_at(value, arg)
                    if array.dtype is not kind:
                        array, cast = converted(array, kind), op.casts
                else:
                    array = whole_number(arg, kind) if type(arg) is int else number(arg, kind)
                    if typed.narrow:
                        array = array.astype(typed.compute.np).astype(kind)
                arrays.append(array)
            if cast:  # done: what was cast is memory of its own
                return self._made(arrays[0], typed.dtype, out)
            result = None
            if out.numel >= SOME:
                result = parted.computed(typed, arrays, attrs, out.shape)
            if result is None:
                result = op.reference(*arrays, **attrs) if attrs else op.reference(*arrays)
            return self._made(result, typed.dtype, out, arrays)
        except MemoryError as error:
            raise no_room(error) from None
        finally:
            restore(token)

    @with_room
    def draw(self, op, seed, offset, out):
        make = op.reference if out.numel < SOME else partial(parted.drawn, op)
        return self.adopt(make(seed, offset, out.numel), op.dtype)

    def source(self, view):
        return self._read(view)

    def reduction(self, fold, source):
        op, kind = fold.op, WIDE.get(fold.compute, fold.compute.np)
        array = source if source.dtype is kind else converted(source, kind)
        token = hush(IGNORE)
        try:
            large = array.size >= MANY
            results = parted.folded(fold, array) if large else op.reference(array, **fold.attrs)
            if not op.outputs:
                return self._made(results, fold.dtypes[0], fold.out, (array,))
            made = zip(results, fold.dtypes, strict=True)
            return tuple([self._made(result, dtype, fold.out, (array,)) for result, dtype in made])
        except MemoryError as error:
            raise no_room(error) from None
        finally:
            restore(token)

    def structured(self, call, args):
        ready = call.ready
        if ready is None:
            ready = call.ready = self._prepared(call)
        reference, attrs, dtype, out, computes, halves, is_list = ready
        arrays = [self._arrays(args[0])] if is_list else self._arrays(args)
        if halves:
            arrays = widened(arrays, call.dtypes)
        token = hush(IGNORE) if computes else None
        try:
            if reference is None:
                return self._several(call, args, arrays, attrs)
            return (self._made(reference(*arrays, *attrs), dtype, out, arrays),)
        except MemoryError as error:
            raise no_room(error) from None
        finally:
            if computes:
                restore(token)

    def _prepared(self, call):
        """(the reference, where it just takes the inputs, then attributes, and gives one result;
        those, or else a way to do it in parts; its dtype and layout; whether it computes, and does
        not only move, numbers; whether some of these are halves; whether a list of tensors is its
        only input)."""
        op = call.op
        way = parted.way(call)
        simple = op.is_straight and not (op.outputs or op.starts_as or way)
        attrs = [call.attrs[name] for name in op.attrs] if simple else way
        reference = op.reference if simple else None
        computes = not isinstance(op, Join)
        is_list, halves = list(map(type, call.dtypes)) == [tuple], has_halves(call.dtypes)
        return reference, attrs, call.out_dtypes[0], call.outs[0], computes, halves, is_list

    def _several(self, call, args, arrays, way):
        if call.op.starts_as:
            return (self._started(call, args, arrays),)
        results = way(call, arrays) if way else call.op.invoke(arrays, call.attrs)
        results = results if call.op.outputs else (results,)
        made = zip(results, call.out_dtypes, call.outs, strict=True)
        return tuple([self._made(result, dtype, out, arrays) for result, dtype, out in made])

    def _started(self, call, args, arrays):
        """A result that begins as one of the inputs, in that input's own memory if it is given."""
        place = call.op.inputs.index(call.op.starts_as)
        view, dtype, out = args[place], call.out_dtypes[0], call.outs[0]
        given = dtype not in WIDE and gift.taken(view)
        if given:
            self._detach(view.storage)
            arrays[place] = view.storage.value.buffer.reshape(out.shape)
        else:
            arrays[place] = np.array(arrays[place], order="C")
        result = call.op.invoke(arrays, call.attrs)
        if given:
            return Value(self.device, dtype, out.numel, view.storage.value.buffer)
        return self._made(result, dtype, out)

    def assign(self, storage, layout, source):
        whole = layout.is_plain and layout.numel == storage.value.numel
        if whole and source.is_whole:
            new = source.storage.value
            if not storage.shared:
                storage.value = new
                return
            if new.buffer is storage.value.buffer is not None:
                return
        array = self.download(source)
        if not whole or storage.shared:
            self._detach(storage)
            seen(storage.value.buffer, layout, whole)[...] = array  # numpy minds what overlaps
        else:
            storage.value = self.upload(array, source.dtype)

    def overwrite(self, typed, storage, layout, other) -> bool:
        """Lets a ufunc write over its first operand, all of a storage; False where it cannot."""
        dtype, steps = storage.value.dtype, settled.get(typed) or formula(typed, NO_ATTRS)
        ufunc = steps.ufunc if steps else None
        if ufunc is None or dtype.encoding is not None or type(storage) is Lens:
            return False
        operand = self._read(other) if isinstance(other, View) else number(other, dtype.np)
        if operand.dtype is not dtype.np:
            return False
        self._detach(storage)
        array = storage.value.buffer.reshape(layout.shape)
        token = hush(IGNORE)
        try:
            if layout.numel < MANY:
                ufunc(array, operand, out=array)
            else:
                parted.fill(ufunc, (array, operand), array)
        finally:
            restore(token)
        return True

    def put_number(self, storage, layout, index, value) -> bool:
        """Writes a number at numpy's index; False where that is wrong, or not plain memory."""
        if type(storage) is Lens:
            return False
        self._detach(storage)
        kept = storage.value
        whole = layout.is_plain and layout.numel == kept.numel
        try:
            if index is ... and layout.numel >= MANY:
                parted.write(seen(kept.buffer, layout, whole), number(value, kept.dtype.np))
            else:
                seen(kept.buffer, layout, whole)[index] = number(value, kept.dtype.np)
        except (IndexError, OverflowError, TypeError, ValueError):
            return False
        return True

    def reseen(self, value, dtype):
        self._elements(value)
        return Seen(value, dtype)

    def synchronize(self):
        pass

    def explain(self, view):
        return "the cpu computes at once; there is nothing to explain"

    def _read(self, view: View) -> np.ndarray:
        """The elements of a view, in the memory where they are."""
        value = view.storage.value
        known = value.load
        if known is not None and known[0] is view.layout:
            return known[1]
        return self._looked_at(value, view)

    def _looked_at(self, value: Value, view: View) -> np.ndarray:
        """`_read`, of a value that was last read another way; it notes this one."""
        array = self.download(view)
        value.load = (view.layout, array)
        return array

    def _arrays(self, args):
        arrays = []
        for arg in args:
            if type(arg) is tuple:
                arrays.append(self._arrays(arg))
            elif arg is None:
                arrays.append(None)
            else:
                value = arg.storage.value
                known = value.load
                if known is not None and known[0] is arg.layout:
                    arrays.append(known[1])
                else:
                    arrays.append(self._looked_at(value, arg))
        return arrays

    def _made(self, result, dtype, out, inputs=()):
        """A Value of what a reference answered; in that memory if it is new and lies well."""
        if result.dtype is dtype.np and result.shape == out.shape and result.base is None:
            for given in inputs:
                if result is given:
                    break
            else:
                value = new(Value)  # without the call of a class
                value.device, value.dtype, value.numel = self.device, dtype, out.numel
                value.promise = None
                if len(out.shape) == 1:  # in memory of its own it lies as a vector should
                    value.buffer, value.load = result, (out, result)
                else:
                    flat = value.buffer = result.ravel()  # a copy, if it does not lie row by row
                    value.load = (out, result) if flat.base is result and out.shape else None
                return value
        if result.shape != out.shape:
            if not result.shape:
                flat = np.empty(out.numel, dtype.np)
                flat[...] = result
                return Value(self.device, dtype, out.numel, flat)
            result = np.broadcast_to(result, out.shape)
        flat = np.array(result, dtype.np, order="C").reshape(-1)
        return Value(self.device, dtype, flat.size, flat)

    def _detach(self, storage: Storage) -> None:
        """Whoever else holds the Value gets a copy; the memory stays with the storage."""
        if type(storage) is Lens:
            return self._detach(storage.base)
        value = storage.value
        self._elements(value)
        if type(value) is Seen:
            storage.value = Value(self.device, value.dtype, value.numel, value.buffer.copy())
        elif sys.getrefcount(value) > ALONE:
            storage.value = Value(self.device, value.dtype, value.numel, value.buffer)
            value.buffer, value.load = value.buffer.copy(), None

    def _elements(self, value: Value) -> np.ndarray:
        return value.buffer if value.promise is None else self._arrive(value)

    def _arrive(self, value: Value) -> np.ndarray:
        """What was on its way from another device is here."""
        flat = value.promise.array().view(value.dtype.np)[: value.numel]
        value.buffer, value.promise = flat, None
        return flat


def _references_of_a_value_held_once() -> int:
    storage = Storage(Value(None, float32, 0, None))  # type: ignore[arg-type]
    value = storage.value
    return sys.getrefcount(value)


ALONE = _references_of_a_value_held_once()


class Seen(Value):
    """The memory of another Value as elements of another dtype: wherever that memory is by now."""

    __slots__ = ("of",)

    def __init__(self, of: Value, dtype: DType):
        self.of = of
        super().__init__(of.device, dtype, of.nbytes // dtype.itemsize, None)

    @property
    def buffer(self) -> np.ndarray:  # type: ignore[override]
        raw = self.of.buffer.view(np.uint8)
        return raw[: self.numel * self.dtype.itemsize].view(self.dtype.np)

    @buffer.setter
    def buffer(self, buffer: None) -> None:
        pass

    @property
    def load(self) -> None:  # type: ignore[override]
        return None

    @load.setter
    def load(self, load: None) -> None:
        pass


def converted(array: np.ndarray, kind: np.dtype) -> np.ndarray:
    """As numbers of another kind; the real parts, where that has no others."""
    if array.dtype.kind == "c" and kind.kind not in "cb":
        array = array.real
    return array.astype(kind) if array.size < MANY else parted.converted(array, kind)


def has_halves(dtypes: tuple) -> bool:
    return any([has_halves(d) if type(d) is tuple else d in WIDE for d in dtypes])


def widened(arrays: list, dtypes: tuple) -> list:
    """Halves in what they are computed in."""
    return [
        widened(a, d) if type(d) is tuple else a.astype(WIDE[d]) if d in WIDE else a
        for a, d in zip(arrays, dtypes, strict=True)
    ]


def number(value: float, kind: np.dtype):
    """A Python number as an operand; integers wrap as they do on a GPU."""
    if type(value) is float or type(value) is complex:
        return kind.type(value)
    return whole_number(value, kind)


@remembered
def whole_number(value: int, kind: np.dtype):
    """Of an int or a bool, which has no second zero."""
    if type(value) is int and not -(1 << 63) <= value < 1 << 64:
        raise OverflowError(f"{value} is too big for any integer dtype")
    if kind.kind in "iu":
        bits = int(value) & ((1 << 8 * kind.itemsize) - 1)
        return np.array(bits, f"u{kind.itemsize}").view(kind)[()]
    return kind.type(value)
