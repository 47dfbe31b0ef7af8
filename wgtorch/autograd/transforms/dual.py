"""Dual: the backend of forward-mode derivatives. A Value holds a tensor and its tangent.

The tangent of a result is worked out beside it. Both are laid out alike, so each view of a dual
tensor is a view of both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from wgtorch.autograd import saved
from wgtorch.autograd.transforms import level, tangents
from wgtorch.autograd.transforms.batch import apply, frozen
from wgtorch.autograd.transforms.level import LevelBackend, root_of
from wgtorch.autograd.transforms.through import seen
from wgtorch.layout import Layout
from wgtorch.op import Draw
from wgtorch.storage import Storage, Value, View


class Dual(NamedTuple):
    """What a Value holds; `tangent` is None where it is zero, else it is contiguous."""

    primal: Any
    tangent: Any
    of: Any  # the derivative under way; when that has ended, the tangent is no more

    def __str__(self) -> str:
        return "a dual number" if self.tangent is not None else "a dual number without a tangent"


class DualBackend(LevelBackend):
    """Runs ops on dual numbers."""

    def held_as(self, primal: Any, tangent: Any) -> Dual:
        return Dual(primal, tangent, level.under_way(self.device.level))

    def lifted(self, tensor: Any) -> Any:
        return self._made(self.held_as(tensor, None), tensor.storage.value.numel, tensor.layout)

    def paired(self, primal: Any, tangent: Any) -> Any:
        """A dual tensor of a tensor and its tangent."""
        primal, tangent = plain(primal), plain(tangent)
        return self._made(self.held_as(primal, tangent), primal.layout.numel, primal.layout)

    def _made(self, held: Dual, numel: int, layout: Layout) -> Any:
        value = Value(self.device, held.primal.storage.value.dtype, numel, held)
        return saved.Tensor(Storage(value), layout)

    def value_of(self, primal: Any, tangent: Any, out: Layout) -> Value:
        primal = plain(primal)
        if tangent is not None:
            if tangent.storage.value.dtype is not primal.storage.value.dtype:
                tangent = tangent.to(primal.storage.value.dtype)
            if tangent.layout.shape != out.shape:
                tangent = level.doors["expand"](tangent, out.shape)
            tangent = plain(tangent)
        held = self.held_as(primal, tangent)
        return Value(self.device, primal.storage.value.dtype, out.numel, held)

    def severed(self, tensor: Any) -> Any:
        return super().severed(self.data(tensor))

    def data(self, tensor: Any) -> Any:
        value = tensor.storage.value
        if value.buffer.tangent is None:
            return tensor.bare()
        again = Value(self.device, value.dtype, value.numel, value.buffer._replace(tangent=None))
        return tensor.over(Storage(again), tensor.layout)

    def primal(self, view: View) -> Any:
        return seen(view.storage.value.buffer.primal, view.layout)

    inside = primal

    def tangent(self, view: View) -> Any:
        tangent = self.moving(view.storage.value)
        return None if tangent is None else seen(tangent, view.layout)

    def moving(self, value: Value) -> Any:
        """The tangent of a value, if its derivative is the one under way."""
        held: Dual = value.buffer
        return held.tangent if held.of is level.under_way(self.device.level) else None

    def below(self, args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """(operands of the level below, their tangents); for several tensors, tuples."""
        primals: list[Any] = []
        moves: list[Any] = []
        for a in args:
            if isinstance(a, View):
                primals.append(self.primal(a))
                moves.append(self.tangent(a))
            elif isinstance(a, tuple):
                inner, moved = self.below(a)
                primals.append(tuple(inner))
                moves.append(tuple(moved) if any(m is not None for m in moved) else None)
            else:
                primals.append(a)
                moves.append(None)
        return primals, moves

    # The kinds

    def elementwise(self, typed: Any, args: tuple, attrs: dict[str, Any], out: Layout) -> Value:
        op = typed.op
        if not any([isinstance(a, View) for a in args]):
            return self.held(self.device.root.backend.elementwise(typed, args, attrs, out))
        primals, moves = self.below(args)
        if op.casts:
            result = level.doors["copy"].at(primals[0], typed.compute)  # type: ignore[attr-defined]
            tangent = moves[0] if typed.compute.category >= 2 else None
            if tangent is not None:
                tangent = level.doors["copy"].at(tangent, typed.compute.plain)  # type: ignore[attr-defined]
            return self.value_of(result, tangent, out)
        result = apply(op, typed.compute, args, primals, attrs)
        dtype = result.dtype
        if dtype.category < 2 or not tangents.may_move(op, moves):
            return self.value_of(result, None, out)
        if is_crossing(op, dtype, primals):
            return self.value_of(*tangents.of_any(op, primals, moves, attrs)[0], out)
        tangent = tangents.of_elementwise(op, primals, moves, attrs, result)
        return self.value_of(result, tangent, out)

    def reduction(self, fold: Any, source: View) -> Any:
        primals, moves = self.below((source,))
        outs = self._with_tangents(fold.op, primals, moves, fold.attrs)
        made = [self.value_of(result, tangent, fold.out) for result, tangent in outs]
        return tuple(made) if fold.op.outputs else made[0]

    def structured(self, call: Any, args: tuple) -> tuple[Value, ...]:
        primals, moves = self.below(args)
        outs = self._with_tangents(call.op, primals, moves, call.attrs)
        made = zip(outs, call.outs, strict=True)
        return tuple([self.value_of(*pair, out) for pair, out in made])

    def _with_tangents(
        self, op: Any, primals: list[Any], moves: list[Any], attrs: dict[str, Any]
    ) -> list[tuple[Any, Any]]:
        """The results of an op, each with its tangent."""
        if not op.vjp or all(m is None for m in moves):
            results = tangents.results_of(op, primals, attrs)
            if any([result.dtype.category > 1 for result in results]):
                tangents.may_move(op, moves)
            return [(result, None) for result in results]
        tangents.may_move(op, moves)
        if tangents.is_affine(op):
            result = tangents.results_of(op, primals, attrs)[0]
            return [(result, tangents.of_affine(op, primals, moves, attrs))]
        return tangents.of_any(op, primals, moves, attrs)

    def draw(self, op: Draw, seed: int, offset: int, out: Layout) -> Value:
        return self.held(self.device.root.backend.draw(op, seed, offset, out))

    # Memory

    def assign(self, storage: Storage, layout: Layout, source: View) -> None:
        """Writes into what is held; who keeps the old Value keeps the old elements."""
        value, new = storage.value, self.tangent(source)
        held: Dual = value.buffer
        tangent = self.moving(value)
        if tangent is None and new is not None:
            tangent = held.primal.new_zeros((value.numel,))
        primal = held.primal
        old = frozen(primal)
        value.buffer = held._replace(primal=old)
        moved = None
        if tangent is not None:
            moved = level.doors["copy"](tangent)
            if new is not None and level.level_of(new) > level.level_of(moved):
                moved = level.lift(moved, new.storage.value.device)
            seen(moved, layout).copy_(0 if new is None else new)
        storage.value = Value(self.device, value.dtype, value.numel, self.held_as(primal, moved))
        seen(primal, layout).copy_(self.primal(source))

    def take_over(self, target: Any) -> None:
        base = target._base
        if base is None or base.storage is not target.storage:
            base = target
        primal = seen(frozen(base), Layout.contiguous((base.storage.value.numel,)))
        base.storage.value = self.lifted(primal).storage.value
        for tensor in (base, target):  # the past is the primal's from now on
            tensor.past, tensor._wants, tensor.output_nr = None, False, 0

    def reseen(self, value: Value, dtype: Any) -> Value:
        """Complex numbers as pairs of real ones, or pairs as complex numbers."""
        if dtype.is_complex is value.dtype.is_complex:
            return value
        held: Dual = value.buffer
        count = value.numel // 2 if dtype.is_complex else value.numel * 2
        name = "view_as_complex" if dtype.is_complex else "view_as_real"

        def again(tensor: Any) -> Any:
            pairs = tensor.reshape((count, 2)) if dtype.is_complex else tensor
            return None if tensor is None else level.doors[name](pairs)

        tangent = None if held.tangent is None else again(held.tangent)
        again_held = held._replace(primal=again(held.primal), tangent=tangent)
        return Value(self.device, dtype, count, again_held)

    def send(self, value: Value, to: Any) -> Value:
        place = root_of(to.device)
        held: Dual = value.buffer
        tangent = None if held.tangent is None else held.tangent.to(place)
        there = held._replace(primal=held.primal.to(place), tangent=tangent)
        return Value(to.device, value.dtype, value.numel, there)

    def download(self, view: View) -> Any:
        primal = self.primal(view)
        return primal.storage.value.device.backend.download(primal)

    def check_truth(self, view: View) -> None:
        primal = self.primal(view)
        if level.level_of(primal):
            primal.storage.value.device.backend.check_truth(primal)

    def shown(self, view: View, text: Callable[[Any], str]) -> str:
        tangent = self.tangent(view)
        said = text(self.primal(view))
        return said if tangent is None else f"{said[:-1]}, tangent={text(tangent)})"


def is_crossing(op: Any, dtype: Any, operands: Sequence[Any]) -> bool:
    """Whether formulas take complex gradients for real ones, or are no complex derivatives."""
    kinds = {dtype.is_complex} | {a.dtype.is_complex for a in operands if isinstance(a, View)}
    return len(kinds) > 1 or (dtype.is_complex and not op.holomorphic)


def plain(tensor: Any) -> Any:
    """With its elements in order from the start of its memory."""
    if tensor.layout.is_plain:
        return tensor
    return level.doors["copy"](tensor)
