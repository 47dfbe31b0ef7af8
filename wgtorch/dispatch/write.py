"""Writing into a tensor that exists: in-place ops, `out=`, and assignment through a view.

A write computes its result as usual, then puts it into the target's Storage. Autograd sees the
target take over the result's past; earlier readers keep the Value they had.

Nobody else writes between the reading and the storing: both are in one turn. Where saved-tensor
hooks may run, only the storing is, as who they wait for may wait for the turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from wgtorch.autograd.mode import state
from wgtorch.autograd.nodes import wants
from wgtorch.autograd.origin import refuse_written
from wgtorch.autograd.rebase import rebase
from wgtorch.autograd.transforms.level import levels, source_for
from wgtorch.config import DEBUG
from wgtorch.dispatch.blame import WithOut, blamed
from wgtorch.dispatch.doors import DOORS, FACES, cast, composed, named
from wgtorch.dispatch.overlap import apartness, check_apart, check_distinct, may_share
from wgtorch.dispatch.resizing import check_changeable, fit, resize
from wgtorch.dtype import can_cast, fitting
from wgtorch.op import Composite, Elementwise, Op
from wgtorch.storage import View, gift
from wgtorch.turns import turn

if TYPE_CHECKING:
    from wgtorch.tensor import Tensor

NUMBERS = frozenset((int, float, bool))


def write(target: Tensor, source: Tensor, name: str, fresh: bool = False) -> Tensor:
    """`target` becomes `source`, which broadcasts to it; checked, recorded, versioned.

    `fresh`: `source` is an op's result that nobody else holds; its dtype must not say more.
    """
    with turn:
        return written(target, source, name, fresh)


def written(target: Tensor, source: Tensor, name: str, fresh: bool = False) -> Tensor:
    """`write`, for those who have the turn."""
    storage, layout = target.storage, target.layout
    given = source.storage  # not its value, which backends want to know held once
    recording = state.recording and (
        target._wants or source._wants or storage.writes or given.writes
    )
    if (
        not recording
        and target._origin is None
        and source.layout is layout
        and layout.is_plain
        and storage.version >= 0
        and given.value.dtype is storage.value.dtype
        and given.value.device is storage.value.device
    ):
        given.value.device.backend.assign(storage, layout, source)
        storage.version += 1
        return target
    if fresh:
        check_castable(target, source)
    elif may_share(target, (source,)):
        check_apart(target, (source,), "part")
    if source.layout.shape != target.layout.shape:
        source = stretched(target, source, name)
    if state.recording and (recording or target._origin is not None):
        check_writable(target, wants(source))
    check_changeable(target)
    check_distinct(target)
    if source.dtype is not target.dtype:
        source = cast(source, target.dtype)
    if source.device is not target.device:
        source = source_for(target, source)
    put(target, source)
    if recording:
        rebase(target, source, fresh)
    return target


def put(target: View, source: View) -> None:
    """The bare write: no checks, no record."""
    storage = target.storage
    storage.value.device.backend.assign(storage, target.layout, source)
    if storage.version >= 0:  # an inference tensor counts no writes
        storage.version += 1


def is_put(target: Tensor, index: Any, value: Any) -> bool:
    """Whether a Python number became the elements at an index of numpy's, where a backend can write
    one into memory; False is no complaint: whoever asks does it another way, or says what is wrong.
    """
    storage = target.storage
    home, dtype = storage.value.device.backend, storage.value.dtype
    put_number = getattr(type(home), "put_number", None)
    recording = (target._wants or storage.writes) and state.recording
    if target._origin is not None and state.recording:
        return False
    if put_number is None or recording or storage.version < 0 or levels.stack:
        return False
    if type(value) not in NUMBERS or dtype.encoding is not None or target.layout.overlaps:
        return False
    value = fitting(value, dtype)
    with turn:
        if not put_number(home, storage, target.layout, index, value):
            return False
        storage.version += 1
        return True


def stretched(target: Tensor, source: Tensor, name: str) -> Tensor:
    shape = target.layout.shape
    try:
        layout = source.layout.expand(shape)
    except ValueError:
        raise RuntimeError(
            f"{name}: output with shape {list(shape)} doesn't match the broadcast shape"
            f" {list(source.layout.shape)}"
        ) from None
    del layout
    return DOORS["expand"](source, shape)


def check_writable(target: Tensor, with_gradient: bool = False) -> None:
    """Refuses to record a write of what may have a gradient, into a leaf or a view of one that
    wants one, or into a view whose origin forbids it."""
    base = target._base
    if base is not None and (target._wants or base._wants or with_gradient):
        if target._origin is not None:
            refuse_written(target)
        if base.past is None and (target._wants or base._wants):
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place"
                " operation."
            )
    if target._wants and target.past is None:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )


def inplace(op: Op) -> Callable[..., Tensor]:
    """The op's `name_` form."""
    if op.takes_over:
        return taking_over(op)
    door, name = FACES[op.name], op.name + "_"
    direct = isinstance(op, Elementwise) and DEBUG < 5
    door = op.method(door) if callable(op.method) else door
    shares, check = apartness(op)

    def call(self, *args, **given):
        if (self._wants or self._base is not None) and state.recording:
            check_writable(self)
        if shares(self, args, given):
            check(self, args, given, 1)
        if state.hooks is not None and is_hooked(self, args, given):
            return write(self, door(self, *args, **given), name, True)
        with turn:
            if direct and is_overwritten(op, self, args, given):
                return self
            result = door(self, *args, **given) if given else door(self, *args)
            return written(self, result, name, True)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"In-place version of :meth:`{op.name}`: writes the result into `self`."
    return call


def is_overwritten(op: Any, target: Tensor, args: tuple, given: dict[str, Any]) -> bool:
    """Whether a tensor became the op's result in its own memory, where a backend can do that: fresh
    memory, or a tensor for the result, takes longer to get than a sum takes to compute."""
    storage, layout = target.storage, target.layout
    over = getattr(type(storage.value.device.backend), "overwrite", None)
    if over is None or given or len(args) != 1 or levels.stack or not target.is_whole:
        return False
    if op.gate is not None or op.attrs or len(op.inputs) != 2:  # a gate may refuse, or know better
        return False
    (other,) = args
    if isinstance(other, View):
        kinds = storage.value.dtype, other.storage.value.dtype
        if other.layout is not layout or kinds[0] is not kinds[1]:
            return False
    elif type(other) in NUMBERS and op.tensors < 2:
        kinds = storage.value.dtype, type(other)
    else:
        return False
    typed = op.typed[kinds]
    if not is_free(target, args) or typed.dtype is not kinds[0]:
        return False
    if not over(storage.value.device.backend, typed, storage, layout, other):
        return False
    storage.version += 1
    return True


def taking_over(op: Op) -> Callable[..., Tensor]:
    """The `name_` form of an op that changes few of its input's elements."""
    door, name = FACES[op.name], op.name + "_"
    shares, check = apartness(op)

    def call(self, *args, **given):
        if shares(self, args, given):
            check(self, args, given, 1)
        return overwritten(door, name, self, *args, **given)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"In-place version of :meth:`{op.name}`: writes the result into `self`."
    return call


def overwritten(door: Callable, name: str, target: Tensor, *args: Any, **given: Any) -> Tensor:
    """`target`, with what `door` makes of it; computed in its own memory where that may be."""
    if state.recording and (target._wants or target._base is not None):
        check_writable(target)
    if state.hooks is not None and is_hooked(target, args, given):
        return write(target, door(target, *args, **given), name, True)
    with turn:
        gift.storage = target.storage if is_free(target, (*args, *given.values())) else None
        try:
            result = door(target, *args, **given)
        finally:
            gift.storage = None
        return written(target, result, name, True)


def is_hooked(target: Tensor, args: tuple, given: dict[str, Any]) -> bool:
    """Whether active saved-tensor hooks may run when an op on these does."""
    return state.recording and not is_free(target, (*args, *given.values()))


def is_free(target: Tensor, others: Sequence[Any]) -> bool:
    """Whether nobody needs what `target` holds: it is not recorded and not read by the others."""
    storage = target.storage
    if storage.version < 0 or (state.recording and (target._wants or storage.writes)):
        return False
    for other in others:
        if isinstance(other, View):
            if other.storage is storage or (state.recording and other._wants):  # type: ignore[attr-defined]
                return False
        elif isinstance(other, list | tuple) and not is_free(target, other):
            return False
    return True


def check_castable(target: View, result: View) -> None:
    have, want = result.storage.value.dtype, target.storage.value.dtype
    if have is not want and not can_cast(have, want):
        raise RuntimeError(
            f"result type {result.dtype.short} can't be cast to the desired output type"
            f" {target.dtype.short}"
        )


def into(out: Tensor, result: Tensor, name: str, warns: bool = True) -> Tensor:
    """What `out=` does: `out` takes the result's shape if it has another. PyTorch warns of that,
    but not where tensors are made of no others."""
    if not isinstance(out, View):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if state.recording and (out._wants or result._wants):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation,"
            f" but one of the arguments requires grad."
        )
    check_castable(out, result)
    check_distinct(out)
    if out.dtype.encoding is not None or result.dtype.encoding is not None:
        result = cast(result, out.dtype)  # which is in a place of its own
    if out.device is not result.device:
        raise RuntimeError(
            f"Expected out tensor to have device {result.device}, but got {out.device} instead"
        )
    if out.layout is not result.layout and out.layout.shape != result.layout.shape:
        (fit if warns else resize)(out, result.layout.shape)
    return write(out, result, name)


def public(op: Op) -> Callable[..., Any]:
    """The op as `wgtorch.name`: its door, and `out=` (one tensor, or one per result)."""
    door, name = FACES[op.name], op.name
    shares, check = apartness(op)

    def call(*args, out=None, **given):
        if out is None:
            try:
                return door(*args, **given) if given else door(*args)
            except AttributeError as error:
                raise blamed(op, args, given, error) from None
        result = door(*args, **given)
        for place in out if isinstance(out, list | tuple) else (out,):
            if isinstance(place, View) and shares(place, args, given):
                check(place, args, given)
        if isinstance(result, tuple):
            if not isinstance(out, list | tuple):
                what = type(out).__name__
                raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {what}")
            if len(out) != len(result):
                raise TypeError(f"expected tuple of {len(result)} elements but got {len(out)}")
            pairs = zip(out, result, strict=True)
            filled = [into(o, r, name) for o, r in pairs]
            return tuple(filled) if type(result) is tuple else type(result)(*filled)
        return into(out, result, name)

    if isinstance(op, Composite) and getattr(door, "__wrapped__", None) is op.function:
        return composed(op, fill=call)  # a call less
    call.__wrapped__ = WithOut(door)  # type: ignore[attr-defined]
    return named(op, call)
