"""Constraints: where the values of parameters and samples may be.

`check(value)` says for each event of the last `event_dim` dimensions whether it is there.
`is_discrete` says whether there are gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import wgtorch
from wgtorch import Tensor

__all__ = ["Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky",
           "dependent", "dependent_property", "greater_than", "greater_than_eq",
           "half_open_interval", "independent", "integer_interval", "interval", "is_dependent",
           "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
           "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer",
           "positive_semidefinite", "real", "real_vector", "simplex", "square", "stack",
           "symmetric", "unit_interval"]  # fmt: skip


class Constraint:
    """What values must satisfy."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each event satisfies it; bool, without the event's dimensions."""
        raise NotImplementedError

    def told(self, values: bool) -> str:
        """Its text; without `values` that of tensors is their shape, which reads nothing."""
        return repr(self)

    def __repr__(self) -> str:
        return type(self).__name__.lstrip("_") + "()"


class _Dependent(Constraint):
    """What only an instance can tell; it knows at most the two facts."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        self._facts = {"is_discrete": is_discrete, "event_dim": event_dim}

    def _fact(self, name: str) -> Any:
        if self._facts[name] is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return self._facts[name]

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self._fact("is_discrete")

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self._fact("event_dim")

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        """The same with facts said."""
        given = {"is_discrete": is_discrete, "event_dim": event_dim}
        known = {k: self._facts[k] if v is NotImplemented else v for k, v in given.items()}
        return _Dependent(**known)

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Whether only an instance can tell."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):  # type: ignore[misc]
    """A property of instances; of the class it is a constraint that is not known yet."""

    def __init__(self, fn: Any = None, *, is_discrete: Any = NotImplemented,
                 event_dim: Any = NotImplemented):  # fmt: skip
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Callable) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, **self._facts)


class _Independent(Constraint):
    """Another constraint, of all events along the last dimensions together."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int):
        if not isinstance(base_constraint, Constraint):
            raise AssertionError("base_constraint must be a Constraint")
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError("reinterpreted_batch_ndims must be a non-negative int")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        holds, count = self.base_constraint.check(value), self.reinterpreted_batch_ndims
        if holds.dim() < count:
            wanted = self.base_constraint.event_dim + count
            raise ValueError(f"Expected value.dim() >= {wanted} but got {value.dim()}")
        return holds.flatten(-count).all(-1) if count else holds

    def told(self, values: bool) -> str:
        base = self.base_constraint.told(values)
        return f"IndependentConstraint({base}, {self.reinterpreted_batch_ndims})"

    def __repr__(self) -> str:
        return self.told(True)


class MixtureSameFamilyConstraint(Constraint):
    """The support of the components of a mixture: a value belongs if it does for each of them."""

    def __init__(self, base_constraint: Constraint):
        if not isinstance(base_constraint, Constraint):
            raise AssertionError("base_constraint must be a Constraint")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        event_dim = self.event_dim
        padded = value.unsqueeze(-1 - event_dim)
        holds = self.base_constraint.check(padded)
        if holds.dim() < event_dim:
            raise ValueError(f"Expected value.dim() >= {event_dim} but got {holds.dim()}")
        return holds.flatten(holds.dim() - event_dim).all(-1) if event_dim else holds.all(-1)

    def told(self, values: bool) -> str:
        return f"{type(self).__name__}({self.base_constraint.told(values)})"

    def __repr__(self) -> str:
        return self.told(True)


class _Bounded(Constraint):
    """Between bounds, which are numbers or tensors."""

    names: tuple[str, ...] = ("lower_bound", "upper_bound")

    def __init__(self, *bounds: Any, **named: Any):
        vars(self).update(zip(self.names, bounds, strict=False), **named)
        if len(bounds) + len(named) != len(self.names) or set(vars(self)) != set(self.names):
            raise TypeError(f"{type(self).__name__} takes {' and '.join(self.names)}")

    def told(self, values: bool) -> str:
        bounds = ((name, vars(self)[name]) for name in self.names)
        said = (f"{n}={b.size() if isinstance(b, Tensor) and not values else b}" for n, b in bounds)
        return f"{type(self).__name__.lstrip('_')}({', '.join(said)})"

    def __repr__(self) -> str:
        return self.told(True)


def bounded(name: str, check: Callable[..., Tensor], *names: str, **facts: Any) -> Any:
    """A class of constraints whose bounds, by name, `check(value, *bounds)` compares with."""

    def checked(self: Any, value: Tensor) -> Tensor:
        return check(value, *(getattr(self, n) for n in names))

    body = {"names": names, "check": checked, "__module__": __name__}
    return type(name, (_Bounded,), {**body, **facts})


def whole(value: Tensor, inside: Tensor) -> Tensor:
    """Where whole numbers are inside; integers are whole."""
    return inside & (value % 1 == 0) if value.is_floating_point() else inside


LOW, HIGH = "lower_bound", "upper_bound"
_GreaterThan = bounded("_GreaterThan", lambda x, low: x > low, LOW)
_GreaterThanEq = bounded("_GreaterThanEq", lambda x, low: x >= low, LOW)
_LessThan = bounded("_LessThan", lambda x, high: x < high, HIGH)
_Interval = bounded("_Interval", lambda x, low, high: (x >= low) & (x <= high), LOW, HIGH)
_HalfOpenInterval = bounded(
    "_HalfOpenInterval", lambda x, low, high: (x >= low) & (x < high), LOW, HIGH
)
_IntegerInterval = bounded(
    "_IntegerInterval", lambda x, low, high: whole(x, (x >= low) & (x <= high)), LOW, HIGH,
    is_discrete=True,
)  # fmt: skip
_IntegerGreaterThan = bounded(
    "_IntegerGreaterThan", lambda x, low: whole(x, x >= low), LOW, is_discrete=True
)


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return boolean.check(value).all(-1) & (value.sum(-1) == 1)


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return ~value.isnan()


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Counts of so many trials in all."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any):
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Tensor:
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


# Of matrices


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return lower_triangular.check(value) & (value.diagonal(0, -2, -1) > 0).all(-1)


class _CorrCholesky(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        tolerance = wgtorch.finfo(value.dtype).eps * value.shape[-1] * 10
        unit = ((value * value).sum(-1).sqrt() - 1).abs() < tolerance
        return lower_cholesky.check(value) & unit.all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        shape = value.shape
        return wgtorch.full(shape[:-2], shape[-2] == shape[-1], device=value.device)


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return value.isclose(value.mT, atol=1e-6).flatten(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return symmetric
        return symmetric & (wgtorch.linalg.eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return symmetric
        return symmetric & (wgtorch.linalg.cholesky_ex(value).info == 0)


# Of parts


class _Parts(Constraint):
    """A constraint for each part along a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0):
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return max(c.event_dim for c in self.cseq)


class _Cat(_Parts):
    def __init__(self, cseq: Sequence[Constraint], dim: int = 0,
                 lengths: Sequence[int] | None = None):  # fmt: skip
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})"
            )

    def check(self, value: Tensor) -> Tensor:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dims")
        parts = value.split(self.lengths, self.dim)
        return wgtorch.cat([c.check(p) for c, p in zip(self.cseq, parts, strict=True)], self.dim)


class _Stack(_Parts):
    @property
    def event_dim(self) -> int:  # type: ignore[override]
        most = max(c.event_dim for c in self.cseq)
        return most + 1 if self.dim + most < 0 else most

    def check(self, value: Tensor) -> Tensor:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dims")
        parts = value.unbind(self.dim)
        return wgtorch.stack([c.check(p) for c, p in zip(self.cseq, parts, strict=True)], self.dim)


dependent: Any = _Dependent()
dependent_property = _DependentProperty
independent = _Independent
boolean: Any = _Boolean()
one_hot: Any = _OneHot()
nonnegative_integer: Any = _IntegerGreaterThan(0)
positive_integer: Any = _IntegerGreaterThan(1)
integer_interval: Any = _IntegerInterval
real: Any = _Real()
real_vector: Any = independent(real, 1)
positive: Any = _GreaterThan(0.0)
nonnegative: Any = _GreaterThanEq(0.0)
greater_than: Any = _GreaterThan
greater_than_eq: Any = _GreaterThanEq
less_than: Any = _LessThan
multinomial = _Multinomial
unit_interval: Any = _Interval(0.0, 1.0)
interval: Any = _Interval
half_open_interval: Any = _HalfOpenInterval
simplex: Any = _Simplex()
lower_triangular: Any = _LowerTriangular()
lower_cholesky: Any = _LowerCholesky()
corr_cholesky: Any = _CorrCholesky()
square: Any = _Square()
symmetric: Any = _Symmetric()
positive_semidefinite: Any = _PositiveSemidefinite()
positive_definite: Any = _PositiveDefinite()
cat = _Cat
stack = _Stack
