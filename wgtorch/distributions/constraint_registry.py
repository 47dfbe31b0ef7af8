"""From numbers without bounds to a constraint: registries of transforms, open to users.

`biject_to(constraint)` is a bijection; `transform_to(constraint)` may be none, and is the better
for optimisers, as it moves each number by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtorch.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], transforms.Transform]


class ConstraintRegistry:
    """Factories of transforms by classes of constraints; called with one, it gives a transform."""

    def __init__(self) -> None:
        self._registry: dict[type, Factory] = {}

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """For a class of constraints, or that of an instance; a decorator without a factory."""
        if factory is None:
            return lambda made: self.register(constraint, made)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got"
                f" {constraint}"
            )
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> transforms.Transform:
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints"
            ) from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def both(*kinds: Any) -> Callable[[Factory], Factory]:
    """Enters a factory in both registries, for each of several constraints."""

    def enter(factory: Factory) -> Factory:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return enter


@both(constraints.real)
def _real(constraint: Any) -> transforms.Transform:
    return transforms.identity_transform


def _independent(registry: ConstraintRegistry) -> Factory:
    return lambda constraint: transforms.IndependentTransform(
        registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims
    )


for _registry in (biject_to, transform_to):
    _registry.register(constraints.independent, _independent(_registry))


@both(constraints.positive, constraints.nonnegative)
def _exp(constraint: Any) -> transforms.Transform:
    shift = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


@both(constraints.less_than)
def _less_than(constraint: Any) -> transforms.Transform:
    shift = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


@both(constraints.interval, constraints.half_open_interval)
def _interval(constraint: Any) -> transforms.Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, int | float) and low == 0 and isinstance(high, int | float) and high == 1:
        return transforms.SigmoidTransform()
    fit = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), fit])


@biject_to.register(constraints.simplex)
def _stick_breaking(constraint: Any) -> transforms.Transform:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _softmax(constraint: Any) -> transforms.Transform:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _lower_cholesky(constraint: Any) -> transforms.Transform:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _positive_definite(constraint: Any) -> transforms.Transform:
    return transforms.PositiveDefiniteTransform()


@both(constraints.corr_cholesky)
def _corr_cholesky(constraint: Any) -> transforms.Transform:
    return transforms.CorrCholeskyTransform()


def _parts(registry: ConstraintRegistry, kind: Any) -> Factory:
    def made(constraint: Any) -> transforms.Transform:
        parts = [registry(c) for c in constraint.cseq]
        more = (constraint.lengths,) if kind is transforms.CatTransform else ()
        return kind(parts, constraint.dim, *more)

    return made


for _registry in (biject_to, transform_to):
    _registry.register(constraints.cat, _parts(_registry, transforms.CatTransform))
    _registry.register(constraints.stack, _parts(_registry, transforms.StackTransform))
