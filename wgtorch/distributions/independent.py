"""Independent distributions of a batch as one, whose events have their dimensions."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.distribution import Distribution

__all__ = ["Independent", "sum_rightmost"]


def sum_rightmost(value: Tensor, count: int) -> Tensor:
    """The sum over the last `count` dimensions."""
    return value.flatten(-count).sum(-1) if count else value


class Independent(Distribution):
    """The last `reinterpreted_batch_ndims` dimensions of a batch belong to the event."""

    arg_constraints: Any = {}

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int,
                 validate_args: bool | None = None):  # fmt: skip
        batch, count = base_distribution.batch_shape, reinterpreted_batch_ndims
        if count > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual"
                f" {count} vs {len(batch)}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, count
        cut = len(batch) - count
        event = batch[cut:] + base_distribution.event_shape
        super().__init__(batch[:cut], event, validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        support, count = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(support, count) if count else support

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def _told(self, values: bool) -> str:
        base = self.base_dist._told(values)
        return f"{type(self).__name__}({base}, {self.reinterpreted_batch_ndims})"
