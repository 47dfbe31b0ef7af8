"""Encoded: the place of composed dtypes, whose numbers are made of other tensors.

A Value there holds these, its components. An op decodes them, runs in a plain dtype, and encodes
what is of a composed dtype again. The place is a level below all transforms (see level.py), so
ops on plain dtypes know nothing of it, and the results that are plain leave it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

from wgtorch.autograd import saved
from wgtorch.autograd.transforms import level
from wgtorch.autograd.transforms.batch import apply
from wgtorch.autograd.transforms.batch_rules import called, mapped
from wgtorch.autograd.transforms.level import DEVICES, DTYPES, LevelBackend
from wgtorch.autograd.transforms.through import seen
from wgtorch.backend import backend
from wgtorch.device import Device
from wgtorch.dtype import DType
from wgtorch.errors import DTypeComponentsMismatchError
from wgtorch.layout import Layout
from wgtorch.settled import Call, Met
from wgtorch.storage import Storage, Value, View

fitting = Met()  # (a dtype, a shape, those of components) that decode to it


class Encoded(NamedTuple):
    """What a Value of a composed dtype holds."""

    shape: tuple[int, ...]  # of the tensor that was encoded
    components: dict[str, Any]


def place_for(device: Device, dtype: DType) -> Device:
    """Where tensors of a dtype live on a device; within a transform its own place counts."""
    if dtype.encoding is None or device.level:
        return device
    backend(device)  # opened, if it was not
    return DEVICES[EncodedBackend, DTYPES, device]


class EncodedBackend(LevelBackend):
    """Runs ops on what components decode to; kernels of users see the components themselves."""

    find: Callable[[str, str, Call, tuple], Any] | None = None  # see registry/kernels.py

    def lifted(self, tensor: Any) -> Any:
        value = tensor.storage.value
        return renamed(tensor, Value(self.device, value.dtype, value.numel, value))

    def lowered(self, tensor: Any) -> Any:
        """What was lifted."""
        return renamed(tensor, tensor.storage.value.buffer)

    def decoded(self, view: Any) -> Any:
        """What a view shows, of a plain dtype and without a past."""
        value = view.storage.value
        if value.device is not self.device:
            return saved.Tensor(Storage(value), view.layout)
        if value.dtype.encoding is None:
            return saved.Tensor(Storage(value.buffer), view.layout)
        return seen(decode(value.dtype, *value.buffer), view.layout)

    def value_of(self, result: Any, dtype: DType, out: Layout) -> Value:
        """A result of the plain dtypes, or components: as a Value of `dtype`."""
        if isinstance(result, Mapping):
            return self._holding(dtype, out.shape, dict(result))
        if result.layout.shape != out.shape:
            result = level.doors["expand"](result, out.shape)
        result = result.to(dtype.plain)
        if dtype.encoding is not None and dtype.encoding.rounds:
            return self._holding(dtype, out.shape, dtype.encoding.encode(result))
        return result.storage.value if result.is_whole else level.doors["copy"](result).value

    def _holding(self, dtype: DType, shape: tuple[int, ...], made: Any) -> Value:
        parts = checked(dtype, made)
        key = dtype, shape, *[part.layout.shape for part in parts.values()]
        if key not in fitting:
            decode(dtype, shape, parts)  # what cannot be read shall not take the place of what can
            fitting.keep(key, True)
        numel = Layout.contiguous(shape).numel
        return Value(self.device, dtype, numel, Encoded(shape, parts))

    # The kinds

    def elementwise(self, typed: Any, args: tuple, attrs: dict[str, Any], out: Layout) -> Value:
        op, dtype = typed.op, typed.dtype
        views = [a for a in args if isinstance(a, View)]
        if not views:
            value = self.device.root.backend.elementwise(op.at(dtype.plain), args, attrs, out)
            return self.encoded(saved.Tensor(Storage(value), out), dtype)
        if op.casts:
            return self._cast(views[0], dtype)
        call = Call(op, layouts_of(args), dtypes_of(args), attrs, (out,), (dtype,))
        kernel = self._kernel(call, args)
        if kernel is not None:
            return kernel.run(self, call, args)[0]
        inner = [self.decoded(a) if isinstance(a, View) else a for a in args]
        return self.value_of(apply(op, typed.compute.plain, args, inner, attrs), dtype, out)

    def _cast(self, view: Any, dtype: DType) -> Value:
        value = view.storage.value
        if value.dtype is dtype and dtype.encoding is not None and view.is_whole:
            return value  # which never changes
        return self.encoded(level.doors["copy"].at(self.decoded(view), dtype.plain), dtype)  # type: ignore[attr-defined]

    def encoded(self, tensor: Any, dtype: DType) -> Value:
        """A plain tensor as a Value of `dtype`."""
        if dtype.encoding is None:
            return tensor.value
        return self._holding(dtype, tensor.layout.shape, dtype.encoding.encode(tensor))

    def reduction(self, fold: Any, source: View) -> Any:
        outs = (fold.out,) * len(fold.dtypes)
        call = Call(fold.op, (source.layout,), (source.dtype,), fold.attrs, outs, fold.dtypes)
        values = self.structured(call, (source,))
        return values if fold.op.outputs else values[0]

    def structured(self, call: Any, args: tuple) -> tuple[Value, ...]:
        kernel = self._kernel(call, args)
        if kernel is not None:
            return kernel.run(self, call, args)
        inner = [mapped(a, self.decoded) for a in args]
        made = zip(called(call.op, inner, call.attrs), call.out_dtypes, call.outs, strict=True)
        return tuple([self.value_of(result, dtype, out) for result, dtype, out in made])

    def _kernel(self, call: Call, args: tuple) -> Any:
        find = type(self).find
        return find and find(call.op.name, self.device.type, call, args)

    def draw(self, op: Any, seed: int, offset: int, out: Layout) -> Value:
        return self.device.root.backend.draw(op, seed, offset, out)

    # Memory

    def upload(self, array: Any, dtype: DType) -> Value:
        value = backend(self.device.root).upload(array, dtype.plain)
        plain = saved.Tensor(Storage(value), Layout.contiguous(array.shape))
        return self.encoded(plain, dtype)

    def download(self, view: View) -> Any:
        tensor = self.decoded(view)
        return backend(self.device.root).download(tensor)

    def send(self, value: Value, to: Any) -> Value:
        parts = {n: part.to(to.device.root) for n, part in value.buffer.components.items()}
        return Value(to.device, value.dtype, value.numel, value.buffer._replace(components=parts))

    def assign(self, storage: Storage, layout: Layout, source: Any) -> None:
        """All is encoded anew: components may depend on every number."""
        value = storage.value
        dtype, shape = value.dtype, value.buffer.shape
        if source.is_whole and layout.is_plain and layout.numel == value.numel:
            storage.value = source.value
            return
        target = level.doors["copy"](decode(dtype, *value.buffer))
        seen(target, layout).copy_(self.decoded(source))
        storage.value = self._holding(dtype, shape, dtype.encoding.encode(target))

    def reseen(self, value: Value, dtype: DType) -> Value:
        assert dtype is value.dtype, "refused by view(dtype)"
        return value

    def explain(self, view: View) -> str:
        return self.decoded(view).explain()

    def opened(self, view: Any) -> Any:
        """A view for a kernel of a user: its components, or a plain tensor as it is."""
        if view.dtype.encoding is None:
            return self.decoded(view)
        whole = view if view.is_whole else level.doors["copy"](view.detach())
        return SimpleNamespace(**whole.storage.value.buffer.components)


def renamed(tensor: Any, value: Value) -> Any:
    """A tensor with the same past, over another Value."""
    alias = tensor.over(Storage(value), tensor.layout)
    alias._wants, alias.output_nr = tensor._wants, tensor.output_nr
    alias.past = tensor.node() if tensor._wants else None
    return alias


def layouts_of(args: tuple) -> tuple:
    return tuple([a.layout if isinstance(a, View) else None for a in args])


def dtypes_of(args: tuple) -> tuple:
    return tuple([a.dtype if isinstance(a, View) else None for a in args])


# Components


def checked(dtype: DType, made: Any) -> dict[str, Any]:
    """Components as they are kept, if they are those of the dtype."""
    wanted = dtype.encoding.components
    if isinstance(made, View) and len(wanted) == 1:
        made = dict.fromkeys(wanted, made)
    if not isinstance(made, Mapping):
        raise DTypeComponentsMismatchError(
            f"{dtype}: encode must return its components by name ({', '.join(wanted)}), not"
            f" {type(made).__name__}"
        )
    found = {n: t.dtype if isinstance(t, View) else type(t).__name__ for n, t in made.items()}
    if found != dict(wanted):
        raise DTypeComponentsMismatchError(
            f"{dtype} is made of {listed(wanted)}; got {listed(found)}"
        )
    return {name: made[name].snapshot() for name in wanted}


def listed(kinds: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {kind}" for name, kind in kinds.items()) or "nothing"


def decode(dtype: DType, shape: tuple[int, ...], parts: dict[str, Any]) -> Any:
    """The plain tensor that components stand for."""
    plain = dtype.encoding.decode(**parts)
    if not isinstance(plain, View) or plain.layout.shape != shape or plain.dtype is not dtype.plain:  # type: ignore[attr-defined]
        found = f"{plain.dtype} of shape {list(plain.layout.shape)}" if isinstance(
            plain, View) else type(plain).__name__  # fmt: skip
        raise DTypeComponentsMismatchError(
            f"{dtype}: decode must return a tensor of {dtype.plain} and of the shape that was"
            f" encoded, {list(shape)}; got {found}"
        )
    return plain if plain.layout.is_plain else level.doors["copy"](plain)


def components_of(tensor: Any) -> Encoded:
    """What a tensor's whole memory is made of; of a view, that of a copy."""
    if tensor.dtype.encoding is None:
        raise DTypeComponentsMismatchError(f"{tensor.dtype} is not made of components")
    whole = tensor if tensor.is_whole else level.doors["copy"](tensor)
    shape, parts = whole.storage.value.buffer
    return Encoded(shape, {name: part.snapshot() for name, part in parts.items()})


def joined(dtype: DType, shape: tuple[int, ...], parts: Mapping[str, Any]) -> Any:
    """The tensor that components make up; DTypeComponentsMismatchError if they do not."""
    kept = checked(dtype, parts)
    shape = tuple(shape)
    root = next(iter(kept.values())).device
    value = Value(
        place_for(root, dtype), dtype, Layout.contiguous(shape).numel, Encoded(shape, kept)
    )
    decode(dtype, shape, kept)  # it may refuse them
    return saved.Tensor(Storage(value), Layout.contiguous(shape))
