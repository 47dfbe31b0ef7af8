"""The node of a Function: what `apply` records, and how the engine calls `backward`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtorch.autograd import saved
from wgtorch.autograd.anomaly_mode import ANOMALY, remember_call
from wgtorch.autograd.constants import element
from wgtorch.autograd.mode import state
from wgtorch.autograd.node import Node, next_age
from wgtorch.autograd.nodes import past_of
from wgtorch.autograd.origin import FUNCTION, SEVERAL
from wgtorch.autograd.rebase import rebase
from wgtorch.autograd.saved import FREED, Packed, Slot, keep, rooted
from wgtorch.autograd.saved_tensor import SavedTensor
from wgtorch.layout import Layout
from wgtorch.storage import Storage, View

ITSELF = object()  # in place of a past: the node that saves (which must not hold itself)


class FunctionNode(Node):
    """A node with a `__dict__`: users put what they like on it."""

    function: Any  # the Function this is a call of
    materialize_grads: bool
    _to_save: tuple
    _dirty: tuple
    _no_gradient: tuple

    def __init__(self, args: tuple):
        self.age, self.extras, self.shape, self.dtype = next_age(), None, (), None
        self._tensors = [i for i, a in enumerate(args) if isinstance(a, View)]
        self._arguments = len(args)
        self.needs_input_grad = tuple([isinstance(a, View) and a.requires_grad for a in args])  # type: ignore[attr-defined]
        self._recorded = state.recording and any(self.needs_input_grad)
        self._wanting = [i for i in self._tensors if self.needs_input_grad[i]]
        self.parents, self.numbers = [], None
        if self._recorded:
            self.parents = [past_of(args[i]) for i in self._wanting]
            self.numbers = tuple([args[i].output_nr for i in self._wanting])
        self._inputs = [(args[i].layout.shape, args[i].device) for i in self._wanting]
        self._slots: list[Any] | None = []
        self._pasts: list[tuple[Any, int]] = []
        self._zeros: list[Any] = []
        self._facts: list[Any] = []
        self.outputs = 1

    # Forward

    def finished(self, output: Any, args: tuple) -> Any:
        """What `apply` returns: the outputs with this node as their past."""
        outs = list(output) if isinstance(output, tuple) else [output]
        dirty = {id(t) for t in self._dirty}
        if dirty - {id(t) for t in outs}:
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as"
                " output. The inputs that are modified inplace must all be outputs of the Function."
            )
        self.outputs = len(outs)
        self._facts = [(o.layout.shape, o.dtype) if isinstance(o, View) else None for o in outs]
        self._zeros = [element(o, 0) if isinstance(o, View) else None for o in outs]
        self.shape, self.dtype = self._facts[0] or ((), None) if outs else ((), None)
        given = {id(args[i]) for i in self._tensors}
        plain = {id(t) for t in self._no_gradient}
        self._several = len(outs) > len(plain) + 1
        results = [
            self._wrapped(o, i, id(o) in given, id(o) in dirty, id(o) in plain)
            if isinstance(o, View)
            else o
            for i, o in enumerate(outs)
        ]
        if self._recorded:
            self._save(outs, results)
            if ANOMALY.enabled:
                remember_call(self, state.running)
        self._to_save = self._dirty = self._no_gradient = ()
        return tuple(results) if isinstance(output, tuple) else results[0]

    def _wrapped(self, out: Any, number: int, given: bool, dirty: bool, plain: bool) -> Any:
        if dirty:
            out.storage.version += 1
        counts = self._recorded and not plain and out.dtype.category > 1
        base = None if plain or (given and not state.recording) else base_of(out, given)
        if not dirty and (given or out._wants):
            out = out.over(out.storage, out.layout)
        if dirty:
            if counts:
                check_writable(out)
                rebase(out, self._alias(out, number), True)
            return out
        out.past, out._wants, out.output_nr = (self, True, number) if counts else (None, False, 0)
        out._base, out._origin = base, None
        if base is not None:
            out._origin = SEVERAL if counts and self._several else FUNCTION
            out._seen = out.storage.writes
        return out

    def _alias(self, out: Any, number: int) -> Any:
        alias = out.over(Storage(out.storage.value), out.layout)
        alias.past, alias._wants, alias.output_nr = self, True, number
        return alias

    def _save(self, outs: list[Any], results: list[Any]) -> None:
        """Outputs are saved as snapshots that this node roots in itself; the rest as they are."""
        numbers = {id(o): i for i, o in enumerate(outs)}
        numbers |= {id(r): i for i, r in enumerate(results)}
        op = self.name()
        for place, tensor in enumerate(self._to_save):
            past, number = None, 0
            is_output = tensor is not None and id(tensor) in numbers and tensor.past is self
            if is_output:
                past, number = ITSELF, numbers[id(tensor)]
            elif tensor is not None and tensor.requires_grad:
                past, number = past_of(tensor), tensor.output_nr
            self._slots.append(  # type: ignore[union-attr]
                None
                if tensor is None
                else keep(tensor, state.hooks, is_output, op, self.name_at(place))
            )
            self._pasts.append((past, number))

    # Backward

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` was given; each reading unpacks again."""
        if self._slots is None:
            raise RuntimeError(FREED)
        return tuple([self.saved_at(i) for i in range(len(self._slots))])

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        if self._slots is None:
            raise RuntimeError(FREED)
        return tuple([SavedTensor._of(self, i) for i in range(len(self._slots))])

    def formula(self) -> Callable[..., Any]:
        """The user's backward."""
        raise NotImplementedError

    def run(self, grad: Any, wanted: list[bool] | None) -> list[Any]:
        grads = list(grad) if self.outputs > 1 else [grad]
        if self.materialize_grads:
            grads = [self._zero(i) if g is None else g for i, g in enumerate(grads)]
        answer = self.formula()(self, *grads)
        answers = list(answer) if isinstance(answer, tuple) else [answer]
        while len(answers) > self._arguments and answers[-1] is None:
            answers.pop()
        if len(answers) != self._arguments:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected"
                f" {self._arguments}, got {len(answers)})"
            )
        for i, g in enumerate(answers):
            if g is not None and i not in self._tensors:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different from None at position"
                    f" {i + 1}, but the corresponding forward input was not a Variable"
                )
        return [self._checked(answers[i], k) for k, i in enumerate(self._wanting)]

    def _zero(self, number: int) -> Any:
        if self._zeros[number] is None:
            return None
        one = saved.Tensor(Storage(self._zeros[number]), Layout.contiguous(()))
        return one.new_zeros(self._facts[number][0])

    def _checked(self, grad: Any, k: int) -> Any:
        if grad is None:
            return None
        place = self._tensors.index(self._wanting[k])
        if not isinstance(grad, View):
            raise TypeError(
                f"function {self.name()} returned {type(grad).__name__} as gradient {place};"
                " expected Tensor or None"
            )
        check_gradient(self.name(), place, grad, *self._inputs[k])
        return grad

    def facts_of(self, number: int) -> Any:
        return self._facts[number]

    def edges(self) -> list[tuple[Node | None, int]]:
        known = dict(zip(self._wanting, zip(self.parents, self.numbers or (), strict=False),
                         strict=False))  # fmt: skip
        return [known.get(i, (None, 0)) for i in self._tensors]

    def release(self) -> None:
        if self._slots:
            self._slots = None

    # For SavedTensor

    def slot_at(self, place: int) -> Any:
        if self._slots is None:
            raise RuntimeError(FREED)
        return self._slots[place]

    def pack_at(self, place: int, packed: Packed) -> None:
        self._slots[place] = packed  # type: ignore[index]

    def saved_at(self, place: int) -> Any:
        kept = self.slot_at(place)
        if kept is None:
            return None
        past, number = self._pasts[place]
        where = Slot(self, self.name_at(place))
        if past is ITSELF:
            return rooted(kept, where, self, number, result=True)
        return rooted(kept, where, past, number)

    def name_at(self, place: int) -> str:
        return f"saved_tensors[{place}]"

    def is_output_at(self, place: int) -> bool:
        return self._pasts[place][0] is ITSELF

    def disown(self, storage: Any) -> None:
        for kept in self._slots or ():
            if type(kept) is Packed:
                kept.disown(storage)


def base_of(tensor: Any, given: bool) -> Any:
    """Whose memory an output looks at: of what was `given`, at least its own."""
    return tensor if given and tensor._base is None else tensor._base


def check_writable(tensor: Any) -> None:
    """Refuses a write into a leaf that wants a gradient, or into a view of one."""
    if tensor._wants and tensor.past is None:
        raise RuntimeError(
            "a leaf Variable that requires grad has been used in an in-place operation."
        )
    base = tensor._base
    if base is not None and base._wants and base.past is None:
        raise RuntimeError(
            "a view of a leaf Variable that requires grad has been used in an in-place operation."
        )


def check_gradient(function: str, place: int, grad: Any, shape: tuple[int, ...],
                   device: Any) -> None:  # fmt: skip
    """Of an input of this shape, on this device."""
    where = f"Function {function} returned an invalid gradient at index {place}"
    if not reducible(grad.layout.shape, shape):
        raise RuntimeError(
            f"{where} - got {list(grad.layout.shape)} but expected shape compatible with"
            f" {list(shape)}"
        )
    if grad.device != device:
        raise RuntimeError(f"{where} - expected device {device} but got {grad.device}")


def reducible(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether broadcasting from `to` may have given `shape`."""
    new = len(shape) - len(to)
    return new >= 0 and all(n in (1, m) for n, m in zip(to, shape[new:], strict=True))
