"""Transforms in general: how one is inverted, chained, reshaped, and how it keeps what it computed.

`log_abs_det_jacobian(x, y)` is of y = t(x): what log densities lose on the way. It has the shape
of x without the dimensions of an event, `domain.event_dim`.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import reduce
from typing import Any

import wgtorch
from wgtorch import Size, Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.independent import sum_rightmost
from wgtorch.distributions.utils import lazy_property


class Transform:
    """A differentiable function y = t(x) from `domain` to `codomain`, with one for an inverse.

    With cache_size=1 it keeps the last pair, so that t.inv(t(x)) is x itself. `sign` is of the
    slope, where it is one number for all, or a tensor.
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: Any = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_inv": None}

    @property
    def event_dim(self) -> int:
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse, of which this is the inverse."""
        found = self._inv and self._inv()
        if found is None:
            found = _InverseTransform(self)
            self._inv = weakref.ref(found)
        return found

    @property
    def sign(self) -> Any:
        """1 or -1 for a monotone function of numbers."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same, which keeps so many pairs: itself if it does."""
        return self if self._cache_size == cache_size else self._remade(cache_size)

    def _remade(self, cache_size: int) -> Transform:
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._call(x)
        if x is self._cached_x_y[0]:
            return self._cached_x_y[1]
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        if y is self._cached_x_y[1]:
            return self._cached_x_y[0]
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__ + "()"

    def forward_shape(self, shape: Any) -> Any:
        """Of y, for the shape of x."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """Of x, for the shape of y."""
        return shape


class SameKind(Transform):
    """One without parameters: equal to any of its class."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)


class _InverseTransform(Transform):
    """The inverse of a transform, which stays the one that computes."""

    def __init__(self, transform: Transform):
        super().__init__(cache_size=transform._cache_size)
        self._inv: Transform = transform

    def __getstate__(self) -> dict[str, Any]:
        return vars(self)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> Any:  # type: ignore[override]
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)


def widened(constraint: Any, event_dim: int) -> Any:
    """A constraint whose events have at least so many dimensions."""
    missing = event_dim - constraint.event_dim
    return constraints.independent(constraint, missing) if missing > 0 else constraint


class ComposeTransform(Transform):
    """Transforms one after the other, the first of `parts` first."""

    def __init__(self, parts: list[Transform], cache_size: int = 0):
        self.parts = [p.with_cache(cache_size) for p in parts] if cache_size else parts
        super().__init__(cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim += part.domain.event_dim - part.codomain.event_dim
            event_dim = max(event_dim, part.domain.event_dim)
        return widened(self.parts[0].domain, event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim += part.codomain.event_dim - part.domain.event_dim
            event_dim = max(event_dim, part.codomain.event_dim)
        return widened(self.parts[-1].codomain, event_dim)

    @lazy_property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(p.bijective for p in self.parts)

    @lazy_property
    def sign(self) -> Any:
        return reduce(lambda sign, part: sign * part.sign, self.parts, 1)

    @property
    def inv(self) -> Transform:
        found = self._inv and self._inv()
        if found is None:
            found = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv, found._inv = weakref.ref(found), weakref.ref(self)
        return found

    def _remade(self, cache_size: int) -> Transform:
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        return reduce(lambda value, part: part(value), self.parts, x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return wgtorch.zeros_like(x)
        total: Any = 0
        event_dim = self.domain.event_dim
        for part in self.parts:
            after = y if part is self.parts[-1] else part(x)
            change = part.log_abs_det_jacobian(x, after)
            total = total + sum_rightmost(change, event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
            x = after
        return total

    def forward_shape(self, shape: Any) -> Any:
        return reduce(lambda s, part: part.forward_shape(s), self.parts, shape)

    def inverse_shape(self, shape: Any) -> Any:
        return reduce(lambda s, part: part.inverse_shape(s), reversed(self.parts), shape)

    def __repr__(self) -> str:
        return "".join((
            type(self).__name__, "(\n    ", ",\n    ".join(repr(p) for p in self.parts), "\n)",
        ))  # fmt: skip


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last dimensions of a batch belong to the event."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int,
                 cache_size: int = 0):  # fmt: skip
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _remade(self, cache_size: int) -> Transform:
        return IndependentTransform(
            self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size
        )

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> Any:  # type: ignore[override]
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        change = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_rightmost(change, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """The dimensions of an event seen as others."""

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0):
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _remade(self, cache_size: int) -> Transform:
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return exchanged(shape, self.out_shape, self.in_shape)


def exchanged(shape: Any, before: Size, after: Size) -> Any:
    """A shape that ends as `before`, with `after` in its place."""
    if len(shape) < len(before):
        raise ValueError("Too few dimensions on input")
    cut = len(shape) - len(before)
    if tuple(shape[cut:]) != tuple(before):
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {before}")
    return shape[:cut] + after
