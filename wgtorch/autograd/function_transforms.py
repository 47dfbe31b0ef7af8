"""Functions under transforms: their `vmap` and `jvp`, called where their arguments are inside.

The call itself happens on what is held, a level below, where it is recorded for those outside; its
results are then recorded once more for those who differentiate inside the transform.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from wgtorch.autograd.transforms.batch import BatchBackend
from wgtorch.autograd.transforms.level import LevelDevice, levels, root_of
from wgtorch.autograd.transforms.vmap import Batching
from wgtorch.storage import View

MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """What `Function.vmap` is told besides its arguments."""

    batch_size: int
    randomness: str


def called_inside(function: Any, args: tuple, top: LevelDevice, ways: Any) -> Any:
    """The outputs of a Function some of whose arguments are of the level of `top`."""
    with levels.outside(top.level) as current:
        if top.kind is BatchBackend:
            return Batches(function, args, top, current).outputs(ways)
        return duals(function, args, top)


class Batches:
    """A call on batches."""

    def __init__(self, function: Any, args: tuple, top: LevelDevice, current: Batching):
        self.function, self.top, self.current = function, top, current
        self.args, self.dims = [], []
        for a in args:
            inside = isinstance(a, View) and a.storage.value.device.level == top.level
            below = a.storage.value.device.backend.below(a) if inside else a  # type: ignore
            batched = inside and a.storage.value.buffer.size is not None  # type: ignore
            self.args.append(below)
            self.dims.append(0 if batched else None)

    def outputs(self, ways: Any) -> Any:
        function = self.function
        name, overridden = function.__name__, ways.has_vmap
        if not ways.is_apart:
            raise RuntimeError(
                "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp,"
                f" jacrev, ...), it must override the setup_context staticmethod. {MORE}"
            )
        if overridden and function.generate_vmap_rule:
            raise RuntimeError(
                f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an"
                f" overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the"
                f" overridden vmap staticmethod to avoid ambiguity. {MORE}"
            )
        if not overridden and not function.generate_vmap_rule:
            raise RuntimeError(
                f"You tried to vmap over {name}, but it does not have vmap support. Please override"
                f" and implement the vmap staticmethod or set generate_vmap_rule=True. {MORE}"
            )
        if overridden:
            info = VmapInfo(self.current.size, self.current.randomness)
            out, dims = function.vmap(info, tuple(self.dims), *self.args)
            return self.wrapped(out, dims)
        rule = ways.generated(function, self.current.size, self.current.randomness, self.dims)
        return self.wrapped(rule.apply(*self.args), rule.out_dims)

    def wrapped(self, out: Any, dims: Any) -> Any:
        if isinstance(out, tuple):
            each = dims if isinstance(dims, tuple) else (dims,) * len(out)
            return tuple([self._one(o, d) for o, d in zip(out, each, strict=True)])
        return self._one(out, dims[0] if isinstance(dims, tuple) else dims)

    def _one(self, out: Any, dim: int | None) -> Any:
        if not isinstance(out, View):
            return out
        home = self.top.beside(root_of(out.storage.value.device)).backend
        return home.lifted(out) if dim is None else home.batched(out, dim % len(out.layout.shape))


def duals(function: Any, args: tuple, top: LevelDevice) -> Any:
    """The outputs with their tangents, which `jvp` gives."""
    primals: list[Any] = []
    moves: list[Any] = []
    for a in args:
        if isinstance(a, View) and a.storage.value.device.level == top.level:
            home = a.storage.value.device.backend
            primals.append(home.primal(a))
            moves.append(home.tangent(a))
        else:
            primals.append(a)
            moves.append(None)
    ctx, out = function._applied(tuple(primals))
    if all(m is None for m in moves):
        return lifted(out, None, top)
    if ctx.materialize_grads:
        moves = [zeros(p) if m is None else m for p, m in zip(primals, moves, strict=True)]
    return lifted(out, function.jvp(ForJvp(ctx), *moves), top)


class ForJvp:
    """The context as `jvp` sees it: what was saved for it are its `saved_tensors`."""

    def __init__(self, ctx: Any):
        self.__dict__.update(ctx.__dict__)
        self.needs_input_grad = ctx.needs_input_grad
        self.saved_tensors = ctx._to_save_forward or ctx.saved_tensors


def zeros(primal: Any) -> Any:
    if not isinstance(primal, View) or not primal.dtype.is_floating_point:
        return None
    return primal.detach().new_zeros(primal.layout.shape)  # type: ignore[attr-defined]


def lifted(out: Any, tangents: Any, top: LevelDevice) -> Any:
    several = isinstance(out, tuple)
    outs = out if several else (out,)
    moved: Sequence[Any] = tangents if isinstance(tangents, tuple) else (tangents,)
    if tangents is None:
        moved = [None] * len(outs)
    if len(moved) != len(outs):
        raise RuntimeError(
            f"A Function's jvp returned {len(moved)} tangents for {len(outs)} outputs"
        )
    made = []
    for o, t in zip(outs, moved, strict=True):
        if isinstance(o, View):
            home = top.beside(root_of(o.storage.value.device)).backend
            o = home.lifted(o) if t is None else home.paired(o, t)
        made.append(o)
    return tuple(made) if several else made[0]
