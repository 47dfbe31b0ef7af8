"""Distributions of transformed numbers."""

from __future__ import annotations

from functools import reduce
from typing import Any

import wgtorch
from wgtorch import Size, Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.distribution import Distribution
from wgtorch.distributions.independent import Independent, sum_rightmost
from wgtorch.distributions.transforms import ComposeTransform, Transform

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """Of t(x), where x is of the base distribution: log p(y) = log p(x) - log |dy / dx|."""

    arg_constraints: Any = {}

    def __init__(self, base_distribution: Distribution, transforms: Any,
                 validate_args: bool | None = None):  # fmt: skip
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms = transforms
        base = base_distribution
        shape, event_dim = base.batch_shape + base.event_shape, len(base.event_shape)
        whole = ComposeTransform(transforms)
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least"
                f" {whole.domain.event_dim}, but got {shape}."
            )
        after = Size(whole.forward_shape(shape))
        before = Size(whole.inverse_shape(after))
        if shape != before:
            base = base.expand(before[: len(before) - event_dim])
        missing = whole.domain.event_dim - event_dim
        self.base_dist = Independent(base, missing) if missing > 0 else base
        cut = len(after) - whole.codomain.event_dim - max(-missing, 0)
        super().__init__(after[:cut], after[cut:], validate_args=validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        missing = len(self._event_shape) - support.event_dim
        return constraints.independent(support, missing) if missing > 0 else support

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with wgtorch.no_grad():
            drawn = self.base_dist.sample(sample_shape)
            return reduce(lambda x, t: t(x), self.transforms, drawn)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return reduce(lambda x, t: t(x), self.transforms, self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        total: Any = 0
        event_dim, y = len(self._event_shape), value
        for t in reversed(self.transforms):
            x = t.inv(y)
            event_dim += t.domain.event_dim - t.codomain.event_dim
            change = t.log_abs_det_jacobian(x, y)
            total, y = total - sum_rightmost(change, event_dim - t.domain.event_dim), x
        rest = event_dim - len(self.base_dist.event_shape)
        return total + sum_rightmost(self.base_dist.log_prob(y), rest)

    def _turned(self, value: Tensor) -> Tensor:
        """A probability, or 1 less it where the transforms fall."""
        sign = reduce(lambda s, t: s * t.sign, self.transforms, 1)
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for t in reversed(self.transforms):
            value = t.inv(value)
        if self._validate_args:  # ends of the support, where there is no density, have a cdf
            self.base_dist._validate_sample(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        value = self.base_dist.icdf(self._turned(value))
        return reduce(lambda x, t: t(x), self.transforms, value)
