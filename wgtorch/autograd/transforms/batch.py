"""Batch: the backend of vmap. A Value holds a tensor with one more axis, or one without it.

A position in the memory of a batched tensor is that of sample 0; sample b lies `step * b` behind
it. So each view of a batched tensor is a view of what it holds, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from wgtorch import generator
from wgtorch.autograd import saved
from wgtorch.autograd.transforms import batch_places as _places  # noqa: F401
from wgtorch.autograd.transforms import batch_rules, level
from wgtorch.autograd.transforms import batch_windows as _windows  # noqa: F401
from wgtorch.autograd.transforms.level import (
    DEVICES,
    LevelBackend,
    LevelDevice,
    levels,
    raw,
    root_of,
)
from wgtorch.autograd.transforms.through import seen
from wgtorch.device import Device
from wgtorch.layout import Layout
from wgtorch.op import Draw
from wgtorch.storage import Storage, Value, View


class Batched(NamedTuple):
    """What a Value holds; `size` is None where every sample has the same elements."""

    tensor: Any
    size: int | None
    step: int
    of: Any  # the vmap under way

    def __str__(self) -> str:
        return f"a batch of {self.size}" if self.size is not None else "the same for all of a batch"


ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling"
    " .item() on a Tensor, please try to rewrite what you're doing with other operations: a tensor"
    " of one element serves in arithmetic and as an index as it is."
)
CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We"
    " don't support that yet, please compute both outcomes and choose by torch.where."
)
IN_PLACE = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor"
    " `other` in extra_args that has more elements than `self`. This happened due to `other` being"
    " vmapped over but `self` not being vmapped over in a vmap. Please try to use out-of-place"
    " operators instead of inplace arithmetic."
)
RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or"
    " 'different' randomness flags on vmap or perform the randomness operation out of vmap"
)


ESCAPED = (
    "Your tensor has escaped from inside a function being vmapped, which has returned: please let"
    " the function return the tensor, instead of keeping it elsewhere"
)


class BatchBackend(LevelBackend):
    """Runs ops on whole batches."""

    @property
    def current(self) -> Any:
        """The vmap under way whose tensors live here."""
        found = level.under_way(self.device.level)
        if getattr(found, "kind", None) is not BatchBackend:
            raise RuntimeError(ESCAPED)
        return found

    def lifted(self, tensor: Any) -> Any:
        return self._made(
            Batched(tensor, None, 0, self.current), tensor.storage.value.numel, tensor.layout
        )

    def batched(self, tensor: Any, dim: int) -> Any:
        """A tensor of a level below, `dim` of which is the batch."""
        layout = tensor.layout
        kept = [d for d in range(len(layout.shape)) if d != dim]
        one = Layout.of(
            tuple([layout.shape[d] for d in kept]),
            tuple([layout.strides[d] for d in kept]),
            layout.offset,
        )
        size, step = layout.shape[dim], layout.strides[dim]
        numel = one.numel if one.is_plain else tensor.storage.value.numel
        return self._made(Batched(tensor, size, step, self.current), numel, one)

    def _made(self, held: Batched, numel: int, layout: Layout) -> Any:
        value = Value(self.device, held.tensor.storage.value.dtype, numel, held)
        return saved.Tensor(Storage(value), layout)

    # What is held, seen through a view

    def size(self, args: Sequence[Any]) -> int | None:
        """Of the batch that these operands have; None where all are the same for all samples."""
        for a in args:
            if isinstance(a, View):
                if a.storage.value.buffer.size is not None:
                    return a.storage.value.buffer.size
            elif isinstance(a, tuple):
                size = self.size(a)
                if size is not None:
                    return size
        return None

    def below(self, view: View, rank: int | None = None) -> Any:
        """The tensor with the batch as its first axis, if it is batched; ones put behind that make
        it of `rank` dimensions besides."""
        self.known(view.storage.value)
        return self.inside(view, rank)

    def known(self, value: Value) -> Batched:
        """What a value holds, if its vmap is the one under way."""
        held: Batched = value.buffer
        if held.of is not self.current:
            raise RuntimeError(ESCAPED)
        return held

    def inside(self, view: View, rank: int | None = None) -> Any:
        """The same, of a vmap that may have ended."""
        held: Batched = view.storage.value.buffer
        layout = view.layout
        if held.size is None:
            return seen(held.tensor, layout)
        ones = 0 if rank is None else rank - len(layout.shape)
        shape = (held.size, *[1] * ones, *layout.shape)
        return seen(
            held.tensor, Layout.of(shape, (held.step, *[0] * ones, *layout.strides), layout.offset)
        )

    def whole(self, view: View, size: int) -> Any:
        """The tensor with the batch as its first axis, always."""
        tensor = self.below(view)
        if view.storage.value.buffer.size is not None:
            return tensor
        return level.doors["expand"](tensor, (size, *view.layout.shape))

    def value_of(self, tensor: Any, size: int | None, out: Layout) -> Value:
        """A result of the level below, the batch as its first axis."""
        want = out.shape if size is None else (size, *out.shape)
        if tensor.layout.shape != want:
            tensor = level.doors["expand"](tensor, want)
        if not tensor.layout.is_plain:
            tensor = level.doors["copy"](tensor)
        step = 0 if size is None else max(out.numel, 1)
        held = Batched(tensor, size, step, self.current)
        return Value(self.device, tensor.storage.value.dtype, out.numel, held)

    # The kinds

    def elementwise(self, typed: Any, args: tuple, attrs: dict[str, Any], out: Layout) -> Value:
        if not any([isinstance(a, View) for a in args]):
            return self.held(self.device.root.backend.elementwise(typed, args, attrs, out))
        size, rank, op = self.size(args), len(out.shape), typed.op
        inner = [self.below(a, rank) if isinstance(a, View) else a for a in args]
        if op.casts:
            result = level.doors["copy"].at(inner[0], typed.compute)  # type: ignore[attr-defined]
        else:
            result = apply(op, typed.compute, args, inner, attrs)
        return self.value_of(result, size, out)

    def reduction(self, fold: Any, source: View) -> Any:
        size = self.size((source,))
        attrs, tensor, dims = dict(fold.attrs), self.below(source), fold.dims
        if not dims:  # () would fold the batch too
            tensor, dims = level.doors["unsqueeze"](tensor, len(tensor.layout.shape)), (-1,)
            attrs["keepdim"] = False
        elif size is not None:
            dims = tuple([d + 1 for d in dims])
        if fold.op.arg and len(dims) > 1 and size is not None:  # an index into all that is folded
            flat = level.doors["reshape"](tensor, (size, fold.count))
            result = raw[fold.op](flat, dim=(1,), keepdim=False)
            return self.value_of(result.reshape((size, *fold.out.shape)), size, fold.out)
        attrs["dim"] = dims
        result = raw[fold.op](tensor, **attrs)
        if fold.op.outputs:
            return tuple([self.value_of(r, size, fold.out) for r in result])
        return self.value_of(result, size, fold.out)

    def structured(self, call: Any, args: tuple) -> tuple[Value, ...]:
        size = self.size(args)
        if size is None:
            inner = [batch_rules.mapped(a, self.below) for a in args]
            results = batch_rules.called(call.op, inner, call.attrs)
        else:
            results = batch_rules.run(self, call, args, size)
        made = zip(results, call.outs, strict=True)
        return tuple([self.value_of(result, size, out) for result, out in made])

    def each(self, op: str, function: Callable, args: Sequence[Any]) -> Any:
        """A function of the tensors of each sample, and what it gave for all of them, stacked."""
        size = self.size([a for a in args if self.is_own(a)])
        if size is None:
            return super().each(op, function, args)
        batch_rules.tell(op, size)
        wholes = [self.whole(a, size) if self.is_own(a) else None for a in args]
        pairs = [*zip(args, wholes, strict=True)]
        rows = [
            function(*[a if whole is None else whole.select(0, i) for a, whole in pairs])
            for i in range(size)
        ]
        if not isinstance(rows[0], tuple):
            return self.batched(level.doors["stack"](rows), 0)
        columns = [self.batched(level.doors["stack"](c), 0) for c in zip(*rows, strict=True)]
        return type(rows[0])(*columns)

    def draw(self, op: Draw, seed: int, offset: int, out: Layout) -> Value:
        current = self.current
        if current.randomness == "error":
            raise RuntimeError(RANDOM)
        size = current.size if current.randomness == "different" else None
        layout = out
        if size is not None:
            layout = Layout.contiguous((size, *out.shape))
            generator.of(self.device.root).take(out.numel * (size - 1))
        place = place_below(self.device)
        tensor = saved.Tensor(Storage(place.backend.draw(op, seed, offset, layout)), layout)
        return self.value_of(tensor, size, out)

    # Memory

    def assign(self, storage: Storage, layout: Layout, source: View) -> None:
        """Writes into what is held; who keeps the old Value keeps the old elements."""
        size = self.known(source.storage.value).size
        self.known(storage.value)
        if size is not None:
            self._spread(storage, size)
        old = storage.value
        held: Batched = old.buffer
        storage.value = Value(self.device, old.dtype, old.numel, held)
        old.buffer = held._replace(tensor=frozen(held.tensor))
        if held.size is None:
            seen(held.tensor, layout).copy_(self.below(source))
            return
        shape, strides = (held.size, *layout.shape), (held.step, *layout.strides)
        target = seen(held.tensor, Layout.of(shape, strides, layout.offset))
        target.copy_(self.whole(source, held.size))

    def _spread(self, storage: Storage, size: int) -> None:
        """Gives each sample its own of what was the same for all."""
        value = storage.value
        held: Batched = value.buffer
        if held.size is None:
            memory = seen(held.tensor, Layout.contiguous((value.numel,)))
            each = level.doors["copy"](level.doors["expand"](memory, (size, value.numel)))
            held = Batched(each, size, max(value.numel, 1), held.of)
            storage.value = Value(self.device, value.dtype, value.numel, held)

    def reseen(self, value: Value, dtype: Any) -> Value:
        """Complex numbers as pairs of real ones, or pairs as complex numbers."""
        held: Batched = value.buffer
        if dtype is value.dtype:
            return value
        if dtype.is_complex is value.dtype.is_complex:
            return self._as_bytes(value, dtype)
        if dtype.is_complex:
            count = value.numel // 2
            shape, strides = (count, 2), (2, 1)
            if held.size is not None:
                shape, strides = (held.size, *shape), (held.step, *strides)  # type: ignore[assignment]
            pairs = seen(held.tensor, Layout.of(shape, strides, 0))
            tensor, step = level.doors["view_as_complex"](pairs), held.step // 2
        else:
            tensor, step = level.doors["view_as_real"](held.tensor), held.step * 2
            count = value.numel * 2
        return Value(self.device, dtype, count, held._replace(tensor=tensor, step=step))

    def _as_bytes(self, value: Value, dtype: Any) -> Value:
        """The same bytes of each sample as other elements."""
        held: Batched = value.buffer
        shape, strides = (value.numel,), (1,)
        if held.size is not None:
            shape, strides = (held.size, *shape), (held.step, *strides)  # type: ignore[assignment]
        memory = seen(held.tensor, Layout.of(shape, strides, 0))
        tensor = level.doors["_view_dtype"](memory, dtype, value.dtype)
        step = tensor.layout.strides[0] if held.size is not None else held.step
        again = held._replace(tensor=tensor, step=step)
        return Value(self.device, dtype, tensor.layout.shape[-1], again)

    def for_all(self, view: View) -> Any:
        """The one tensor that all samples have."""
        return self.below(view) if self.known(view.storage.value).size is None else None

    def take_over(self, target: Any) -> None:
        raise RuntimeError(IN_PLACE)

    def check_truth(self, view: View) -> None:
        if self.is_batched(view):
            raise RuntimeError(CONTROL_FLOW)

    def is_batched(self, view: View) -> bool:
        return self.known(view.storage.value).size is not None or super().is_batched(view)

    def send(self, value: Value, to: Any) -> Value:
        held = self.known(value)
        tensor = held.tensor.to(root_of(to.device))
        return Value(to.device, value.dtype, value.numel, held._replace(tensor=tensor))

    def download(self, view: View) -> Any:
        held = self.known(view.storage.value)
        if held.size is not None:
            raise RuntimeError(ITEM)
        tensor = seen(held.tensor, view.layout)
        return tensor.storage.value.device.backend.download(tensor)

    def shown(self, view: View, text: Callable[[Any], str]) -> str:
        """As it is printed; the batch is the first axis."""
        held: Batched = view.storage.value.buffer
        inside = "\n".join("    " + line for line in text(self.inside(view)).split("\n"))
        dim = "" if held.size is None else "bdim=0, "
        return f"BatchedTensor(lvl={self.device.level}, {dim}value=\n{inside}\n)"


def frozen(tensor: Any) -> Any:
    """The tensor as it is now, with its past, deaf to later writes."""
    alias = tensor.over(Storage(tensor.storage.value), tensor.layout)
    alias.past, alias._wants, alias.output_nr = tensor.past, tensor._wants, tensor.output_nr
    if tensor._wants and tensor.past is None:
        alias.past = tensor.node()
    return alias


def apply(op: Any, compute: Any, args: Sequence, inner: list[Any], attrs: dict[str, Any]) -> Any:
    """An elementwise op in the dtype that its operands had before they got a batch dimension."""
    dtypes = {a.storage.value.dtype for a in args if isinstance(a, View)}
    if len(dtypes) > 1 or any(not isinstance(a, View) for a in args):
        marks = op.markers.values()
        if any(isinstance(a, View) and not a.layout.shape for a in args):
            inner = [
                i if mark or not isinstance(i, View) else i.to(compute)  # type: ignore[attr-defined]
                for i, mark in zip(inner, marks, strict=True)
            ]
    if len(op.inputs) <= 2 and not attrs and not op.defaults:
        return raw[op](*inner)
    return raw[op](**dict(zip(op.inputs, inner, strict=True)), **attrs)


def place_below(device: LevelDevice) -> Device:
    """Where the next vmap outside draws its random numbers."""
    for current in reversed(levels.stack[: device.level - 1]):
        if current.kind is BatchBackend:
            return DEVICES[BatchBackend, current.number, device.root]
    return device.root


def device_of(number: int, device: Any) -> Any:
    """Where the tensors of a vmap under way live whose elements are on `device`."""
    return DEVICES[BatchBackend, number, root_of(device)]
