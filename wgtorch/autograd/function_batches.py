"""The Function that `generate_vmap_rule` stands for: another Function, run on a whole batch.

Its forward, its context and its backward are those of the other under vmap, so the gradients of
those outside the vmap come from the other's backward too.
"""

from __future__ import annotations

from typing import Any

from wgtorch.autograd.transforms.vmap import Batching
from wgtorch.storage import View


class Sample:
    """The context of one sample, which keeps what the Function put there."""

    def __init__(self, needs_input_grad: tuple[bool, ...]):
        self.needs_input_grad = needs_input_grad
        self.saved: tuple = ()
        self.forward_saved: tuple = ()
        self.plain: tuple = ()
        self.materialize_grads = True
        self.saved_tensors: tuple = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        self.forward_saved = tensors

    def mark_non_differentiable(self, *args: Any) -> None:
        self.plain = args

    def mark_dirty(self, *args: Any) -> None:
        raise RuntimeError("mark_dirty: generate_vmap_rule=True knows no inputs written in place")

    def set_materialize_grads(self, value: bool) -> None:
        self.materialize_grads = value


def several(value: Any) -> tuple:
    return value if isinstance(value, tuple) else (value,)


def taken(batching: Batching, tensors: Any) -> tuple[list[Any], list[int | None]]:
    """(what is held, where the batch is)."""
    held: list[Any] = []
    dims: list[int | None] = []
    for t in tensors:
        batched = isinstance(t, View) and batching.is_batched(t)
        dims.append(0 if batched else None)
        shared = batching.shared(t) if isinstance(t, View) else t
        held.append(batching.unwrapped(t, 0) if batched else shared)
    return held, dims


def given(batching: Batching, tensors: Any, dims: Any) -> list[Any]:
    return [
        t if d is None or t is None else batching.wrapped(t, d)
        for t, d in zip(tensors, dims, strict=True)
    ]


def batched(base: Any, function: Any, size: int, randomness: str, in_dims: list[Any]) -> Any:
    """A Function on batches; after a call `out_dims` says where they are in the outputs."""

    def forward(*args: Any) -> Any:
        with Batching(size, randomness) as batching:
            out = function.forward(*given(batching, args, in_dims))
            held, made.out_dims = taken(batching, several(out))
        made.out_dims = tuple(made.out_dims)
        return tuple(held) if isinstance(out, tuple) else held[0]

    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        with Batching(size, randomness) as batching:
            sample = Sample(ctx.needs_input_grad)
            outs = given(batching, several(output), made.out_dims)
            args = tuple(given(batching, inputs, in_dims))
            function.setup_context(
                sample, args, tuple(outs) if isinstance(output, tuple) else outs[0]
            )
            keep(ctx, batching, sample, list(zip(outs, several(output), strict=True)))

    def backward(ctx: Any, *grads: Any) -> Any:
        with Batching(size, randomness) as batching:
            sample = ctx.sample
            sample.saved_tensors = tuple(given(batching, ctx.saved_tensors, ctx.saved_dims))
            own = function.backward if ways_back(base, function) else function.vjp
            inner = own(sample, *given(batching, grads, made.out_dims))
            found = [summed(batching, g, d) for g, d in zip(several(inner), in_dims, strict=True)]
            sample.saved_tensors = ()
        return tuple(found)

    def jvp(ctx: Any, *tangents: Any) -> Any:
        with Batching(size, randomness) as batching:
            sample = ctx.sample
            sample.saved_tensors = tuple(given(batching, ctx.saved_tensors, ctx.forward_dims))
            moved = function.jvp(sample, *given(batching, tangents, in_dims))
            held = [batching.unwrapped(t, 0) if d == 0 else batching.shared(t)
                    for t, d in zip(several(moved), made.out_dims, strict=True)]  # fmt: skip
        return tuple(held) if isinstance(moved, tuple) else held[0]

    members = {m.__name__: staticmethod(m) for m in (forward, setup_context, backward, jvp)}
    made: Any = type(function.__name__, (base,), members | {"generate_vmap_rule": True})
    made.out_dims = ()
    return made


def ways_back(base: Any, function: Any) -> bool:
    return function.vjp is base.vjp


def keep(ctx: Any, batching: Batching, sample: Sample, outs: list[tuple[Any, Any]]) -> None:
    """What the sample's context was told, for the context of the batch."""
    held, ctx.saved_dims = taken(batching, sample.saved)
    own = {id(w): o for w, o in outs}  # an output is saved as itself
    pairs = zip(held, sample.saved, strict=True)
    ctx.save_for_backward(*[own.get(id(s), h) for h, s in pairs])
    forward, ctx.forward_dims = taken(batching, sample.forward_saved)
    ctx.save_for_forward(*forward)
    ctx.mark_non_differentiable(*[o for w, o in outs if any(w is p for p in sample.plain)])
    ctx.set_materialize_grads(sample.materialize_grads)
    sample.saved = sample.forward_saved = sample.plain = ()
    ctx.sample = sample


def summed(batching: Batching, grad: Any, dim: int | None) -> Any:
    """The gradient of an input; of one that all samples share, those of all added up."""
    if not isinstance(grad, View):
        return grad
    if dim is not None:
        return batching.unwrapped(grad, dim)
    if batching.is_batched(grad):
        return batching.unwrapped(grad, 0).sum(0)
    return batching.shared(grad) * batching.size
