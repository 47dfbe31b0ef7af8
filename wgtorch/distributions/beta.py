"""The beta distribution, of numbers from 0 to 1."""

from __future__ import annotations

from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.dirichlet import Dirichlet
from wgtorch.distributions.exp_family import ExponentialFamily
from wgtorch.distributions.utils import broadcast_all

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """x^(concentration1 - 1) (1 - x)^(concentration0 - 1) / B(concentration1, concentration0):
    the first part of a Dirichlet distribution of two."""

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    _checked_inside = True

    def __init__(self, concentration1: Any, concentration0: Any,
                 validate_args: bool | None = None):  # fmt: skip
        both = wgtorch.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        self._dirichlet._validate_args = False  # of values: they are checked here
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    @property
    def concentration1(self) -> Tensor:
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        return self._dirichlet.mean[..., 0]

    @property
    def mode(self) -> Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        return self._dirichlet.variance[..., 0]

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._dirichlet.log_prob(wgtorch.stack([value, 1 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return x.lgamma() + y.lgamma() - (x + y).lgamma()
