"""Function: an op of the user's own, a forward and a backward in Python."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from wgtorch.autograd.function_batches import batched
from wgtorch.autograd.function_node import FunctionNode
from wgtorch.autograd.function_transforms import called_inside
from wgtorch.autograd.mode import no_grad, state
from wgtorch.autograd.node import Refused
from wgtorch.autograd.transforms.level import DTYPES, highest, levels
from wgtorch.storage import View


class FunctionCtx:
    """What `forward` may tell `backward`. Attributes of any name may be set on it, too."""

    _to_save: tuple = ()
    _to_save_forward: tuple = ()
    _dirty: tuple = ()
    _no_gradient: tuple = ()
    materialize_grads = True
    needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors (or None) for `backward`, which finds them in `ctx.saved_tensors`."""
        check_all_tensors("save_for_backward", tensors)
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keeps tensors for `jvp`."""
        check_all_tensors("save_for_forward", tensors)
        self._to_save_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Says that `forward` wrote into these inputs; it must return them."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Says that these outputs have no gradient."""
        self._no_gradient = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` is given zeros (default) or None for a missing gradient."""
        self.materialize_grads = value


def check_all_tensors(name: str, tensors: tuple) -> None:
    for i, tensor in enumerate(tensors):
        if tensor is not None and not isinstance(tensor, View):
            raise TypeError(
                f"{name} can only save variables, but argument {i} is of type"
                f" {type(tensor).__name__}"
            )


class BackwardCFunction(FunctionCtx, FunctionNode):
    """The node of a Function, which is also its `ctx`."""

    def formula(self) -> Callable[..., Any]:
        own, other = self.function.backward, self.function.vjp
        if own is not Function.backward and other is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You"
                " should only implement one of them."
            )
        return other if other is not Function.vjp else own


class FunctionMeta(type):
    """Gives each Function a node class of its own, named `<Function>Backward`."""

    def __init__(cls, name: str, bases: tuple, attrs: dict[str, Any]):
        super().__init__(name, bases, attrs)
        kind = type(name + "Backward", (BackwardCFunction,), {"function": cls})
        kind.__module__ = cls.__module__
        cls._backward_cls = kind


LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style"
    " autograd function with static forward method. (Example:"
    " https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
)


class Function(metaclass=FunctionMeta):
    """A differentiable function of the user's own.

    A subclass has static methods `forward(ctx, *args)` and `backward(ctx, *grads)`; or
    `forward(*args)` and `setup_context(ctx, inputs, output)` besides. It is called by `apply`.

    Example::

        class Exp(Function):
            @staticmethod
            def forward(ctx, x):
                result = x.exp()
                ctx.save_for_backward(result)
                return result

            @staticmethod
            def backward(ctx, grad):
                (result,) = ctx.saved_tensors
                return grad * result

        y = Exp.apply(x)
    """

    _backward_cls: type[BackwardCFunction]
    generate_vmap_rule = False

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(LEGACY)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """What the function computes, on tensors that are not recorded."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        """Says what `backward` will need; then `forward` has no `ctx`."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """A gradient (or None) for each argument of `forward`; `vjp` is another name for it."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function"
            " to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """A tangent for each output of `forward`."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with"
            " forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *args: Any) -> Any:
        """(outputs for a whole batch, where it is in each); `in_dims` says where it is in the
        arguments. `generate_vmap_rule = True` does without."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or"
            " set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs `forward` and records that it ran."""
        ctx, outputs = cls._applied(args, kwargs)
        ctx._to_save_forward = ()  # they may be outputs, which hold the context
        return outputs

    @classmethod
    def _applied(cls, args: tuple, kwargs: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """(the context, the outputs)."""
        if not isinstance(inspect.getattr_static(cls, "forward"), staticmethod):
            raise RuntimeError(LEGACY)
        apart = cls.setup_context is not Function.setup_context
        if apart:
            bound = inspect.signature(cls.forward).bind(*args, **(kwargs or {}))
            bound.apply_defaults()
            args, kwargs = bound.args, {}
        if kwargs:
            raise TypeError(f"{cls.__name__}.apply() takes no keyword arguments")
        ctx = cls._backward_cls(args)
        top = highest(args, DTYPES) if levels.stack else None
        inside = None if top is None else called_inside(cls, args, top, Ways(cls, apart))
        with no_grad():
            if top is not None:
                output = inside
                if apart:
                    cls.setup_context(ctx, args, output)
            elif apart:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        return ctx, ctx.finished(output, args)


class Ways:
    """How a Function may be called inside a transform."""

    def __init__(self, function: type[Function], is_apart: bool):
        self.is_apart = is_apart
        self.has_vmap = function.vmap is not Function.vmap

    def generated(self, *facts: Any) -> Any:
        return batched(Function, *facts)


def once_differentiable(backward: Callable) -> Callable:
    """For a `backward` written without recording: its gradients refuse to be differentiated."""

    @functools.wraps(backward)
    def run(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            answer = backward(ctx, *grads)
        wants = any(isinstance(g, View) and g.requires_grad for g in grads)  # type: ignore
        if not (state.recording and wants):
            return answer
        answers = answer if isinstance(answer, tuple) else (answer,)
        refusing = tuple([refused(a) for a in answers])
        return refusing if isinstance(answer, tuple) else refusing[0]

    return run


def refused(grad: Any) -> Any:
    if grad is None:
        return None
    alias = grad.over(grad.storage, grad.layout)
    text = "trying to differentiate twice a function that was marked with @once_differentiable"
    alias.past = Refused(text, grad.layout.shape, grad.storage.value.dtype)
    alias._wants = True
    return alias
