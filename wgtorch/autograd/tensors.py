"""Differentiable: the part of a tensor that gradients see. `Tensor` inherits it."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from wgtorch.autograd import saved
from wgtorch.autograd.gradients import backward
from wgtorch.autograd.hooks import RemovableHandle
from wgtorch.autograd.mode import state
from wgtorch.autograd.node import AccumulateGrad, Node
from wgtorch.autograd.nodes import APART, past_of, refresh, wants
from wgtorch.autograd.origin import SEVERAL
from wgtorch.autograd.parameters import adopt
from wgtorch.autograd.results import maker
from wgtorch.layout import Layout
from wgtorch.storage import Storage, View

NO_SLOTS = ()  # the class that inherits has them


class Differentiable:
    """Attributes that few tensors have are class defaults here, overridden in the instance."""

    __slots__ = NO_SLOTS

    storage: Storage
    layout: Layout
    past: Node | None  # None for a leaf; an AccumulateGrad for another name of a leaf
    _wants: bool
    output_nr = 0
    _leaf: weakref.ref[AccumulateGrad] | None = None
    _base: Any = None  # of a view: the tensor whose memory it looks at
    _seen = 0  # of a view: `storage.writes` when its past was worked out
    _origin: str | None = None  # of a view that must not be written to while ops are recorded
    _grad: Any = None
    is_parameter = False  # a module's own; see `is_parameter_memory`
    _hooks: OrderedDict[int, Callable] | None = None  # of a leaf
    _accumulate_hooks: OrderedDict[int, Callable] | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if saved.Tensor is None and issubclass(cls, View):
            saved.Tensor, saved.made = cls, maker(cls)  # what saved tensors come back as

    # Whether, and where from

    @property
    def requires_grad(self) -> bool:
        """Whether ops on this tensor are recorded."""
        return wants(self) if self.storage.writes else self._wants

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.requires_grad_(wanted)

    @property
    def _is_recorded(self) -> bool:
        """Whether ops on it are recorded now: a leaf may want a gradient while nothing is."""
        return state.recording and self.requires_grad

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Says in place whether ops on this tensor are to be recorded; only for leaves."""
        if not isinstance(requires_grad, bool | int):
            raise TypeError(f"requires_grad must be a bool, not {type(requires_grad).__name__}")
        if not self.is_leaf:
            if requires_grad:
                return self
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a"
                " computed variable in a subgraph that doesn't require differentiation use"
                " var_no_grad = var.detach()."
            )
        if requires_grad:
            check_may_require(self)
        self._wants = bool(requires_grad)
        return self

    @property
    def grad_fn(self) -> Node | None:
        """The node that computes this tensor's gradient; None for leaves."""
        if self.storage.writes:
            refresh(self)
        past = self.past
        return None if type(past) is AccumulateGrad else past

    @property
    def is_leaf(self) -> bool:
        return self.grad_fn is None

    def _is_view(self) -> bool:
        return self._base is not None

    def _taken_apart(self, name: str, views: list[Any], dim: int) -> tuple[Any, ...]:
        """Views of this tensor, one after the other along `dim`, that one function returns: while
        ops are recorded, none of them may be written to."""
        for view in views:
            if view._origin is None:
                view._origin = SEVERAL
        if views and views[0].past is not None:
            APART[name](self, views, dim)
        return tuple(views)

    def _off_base(self) -> Any:
        """Itself, no longer a view: what is written to it is no business of its base."""
        self._base = self._origin = None
        return self

    @property
    def _version(self) -> int:
        """How often this tensor's memory was written."""
        if self.storage.version < 0:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self.storage.version

    def is_inference(self) -> bool:
        return self.storage.version < 0

    # The gradient

    @property
    def grad(self) -> Any:
        """The gradient added up by `backward`, or None."""
        if self._grad is None and self.past is not None and not self.is_leaf:
            self._warn_of_lost_grad()
        return self._grad

    @grad.setter
    def grad(self, grad: Any) -> None:
        if grad is not None:
            check_assigned(self, grad)
        self._grad = grad

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def _warn_of_lost_grad(self) -> None:
        if not self.retains_grad:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its"
                " .grad attribute won't be populated during autograd.backward(). If you indeed want"
                " the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the"
                " non-leaf Tensor.",
                UserWarning,
                stacklevel=3,
            )

    def retain_grad(self) -> None:
        """Has `backward` keep this tensor's gradient in `grad`, which only leaves get otherwise."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        node = self.grad_fn
        if node is not None:
            node.more().retained[self.output_nr] = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        node = self.grad_fn
        if node is None or node.extras is None:
            return False
        reference = node.extras.retained.get(self.output_nr)
        return reference is not None and reference() is self

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Sequence[Any] | Any | None = None,
    ) -> None:
        """Adds to the `grad` of every leaf (or `inputs`) its gradient of this tensor."""
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    # Hooks

    def register_hook(self, hook: Callable) -> RemovableHandle:
        """`hook(grad)` runs when this tensor's gradient is computed; it may return another."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        return RemovableHandle.hung(self._tensor_hooks(), hook)

    def _tensor_hooks(self) -> OrderedDict[int, Callable]:
        node = self.grad_fn
        if node is not None:
            return node.more().tensor_hooks.setdefault(self.output_nr, OrderedDict())
        if self.past is not None:  # another name of a leaf
            return self.past.variable._tensor_hooks()  # type: ignore[attr-defined]
        if self._hooks is None:
            self._hooks = OrderedDict()
        return self._hooks

    def register_post_accumulate_grad_hook(self, hook: Callable) -> RemovableHandle:
        """`hook(tensor)` runs after a gradient was added to `tensor.grad`; only for leaves."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        if self._accumulate_hooks is None:
            self._accumulate_hooks = OrderedDict()
        return RemovableHandle.hung(self._accumulate_hooks, hook)

    # Without a past

    def detach(self) -> Any:
        """The same memory without a past: nothing done to it is recorded. Of transforms that are
        under way none sees where it came from."""
        device = self.storage.value.device  # type: ignore[attr-defined]
        return device.backend.severed(self).bare() if device.level >= 1 else self.bare()

    def bare(self) -> Any:
        """The same memory without a past of its own; what it holds in a transform has one still."""
        return self.over(self.storage, self.layout)  # type: ignore[attr-defined]

    @property
    def data(self) -> Any:
        device = self.storage.value.device  # type: ignore[attr-defined]
        return device.backend.data(self) if device.level >= 1 else self.bare()

    @data.setter
    def data(self, data: Any) -> None:
        if not isinstance(data, View):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        self.storage, self.layout = data.storage, data.layout
        self._leaf = None  # a graph that knows the old data still adds to `grad`
        if self.is_parameter:
            adopt(self)

    def detach_(self) -> Any:
        """Forgets, in place, where this tensor came from. What was saved for backward stays."""
        if self._base is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using"
                " DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set"
                " as True, gradients are views of DDP buckets, and hence detach_() cannot be"
                " called on these gradients."
            )
        self.past, self._wants, self.output_nr, self._leaf = None, False, 0, None
        return self

    def node(self) -> Node:
        """Where gradients for this tensor go."""
        return past_of(self)


def check_may_require(tensor: Any) -> None:
    dtype = tensor.storage.value.dtype
    if dtype.category < 2:
        raise RuntimeError(
            f"only Tensors of floating point dtype can require gradients. This one is {dtype}."
        )
    if tensor.storage.version < 0 and not state.inference:
        raise RuntimeError(
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
        )


def check_assigned(tensor: Any, grad: Any) -> None:
    if not isinstance(grad, View):
        raise TypeError(
            f"assigned grad expected to be a Tensor or None but got grad of type"
            f" {type(grad).__name__}"
        )
    value, other = tensor.storage.value, grad.storage.value
    if grad is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if other.dtype is not value.dtype.plain:
        raise RuntimeError(
            f"assigned grad has data of a different type: {other.dtype}, not {value.dtype}"
        )
    if other.device is not value.device and other.device != value.device:
        raise RuntimeError(
            f"assigned grad has data located on a different device: {other.device}, not"
            f" {value.device}"
        )
    if grad.layout.shape != tensor.layout.shape:
        raise RuntimeError(
            f"assigned grad has data of a different size: {list(grad.layout.shape)}, not"
            f" {list(tensor.layout.shape)}"
        )
