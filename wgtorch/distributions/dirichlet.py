"""Dirichlet's distribution, of points of the simplex."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor, finfo
from wgtorch.distributions import constraints
from wgtorch.distributions.exp_family import ExponentialFamily
from wgtorch.nn.functional import one_hot

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """prod x_k^(concentration_k - 1) gamma(sum of concentration) / prod gamma(concentration_k)"""

    arg_constraints = {
        "concentration": constraints.independent(constraints.positive, 1),
    }
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shares = self.concentration.expand(self._extended_shape(sample_shape))
        drawn = shares._log_standard_gamma().softmax(-1)
        facts = finfo(drawn.dtype)
        return drawn.clamp(min=facts.tiny, max=1 - facts.eps / 2)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return (a - 1).xlogy(value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0)
        mode = above / above.sum(-1, True)
        corners = (self.concentration < 1).all(-1, True)
        corner = one_hot(mode.argmax(-1), mode.shape[-1]).to(mode)
        return corner.where(corners, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        a, k = self.concentration, self.concentration.size(-1)
        total = a.sum(-1)
        return (
            a.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma()
            - ((a - 1) * a.digamma()).sum(-1)
        )  # fmt: skip

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
