"""Fisher and Snedecor's F distribution."""

from __future__ import annotations

from math import nan
from typing import Any

from wgtorch import Tensor, finfo
from wgtorch.distributions import constraints
from wgtorch.distributions.distribution import Distribution
from wgtorch.distributions.gamma import Gamma

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """Of the ratio of two chi-squared numbers, each over its `df`"""

    df1: Tensor
    df2: Tensor
    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None):
        self._hold(validate_args, df1=df1, df2=df2)
        self._gamma1 = Gamma(self.df1 / 2, self.df1, False)
        self._gamma2 = Gamma(self.df2 / 2, self.df2, False)

    @property
    def mean(self) -> Tensor:
        return (self.df2 / (self.df2 - 2)).masked_fill(self.df2 <= 2, nan)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, nan)

    @property
    def variance(self) -> Tensor:
        df1, df2 = self.df1, self.df2
        spread = 2 * df2.pow(2) * (df1 + df2 - 2) / (df1 * (df2 - 2).pow(2) * (df2 - 4))
        return spread.masked_fill(df2 <= 4, nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        tiny = finfo(self.df2.dtype).tiny
        above, below = (g.rsample(sample_shape) for g in (self._gamma1, self._gamma2))
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        first, second = self.df1 / 2, self.df2 / 2
        ratio = self.df1 / self.df2
        norm = (first + second).lgamma() - first.lgamma() - second.lgamma()
        shape = first * ratio.log() + (first - 1) * value.log()
        return norm + shape - (first + second) * (ratio * value).log1p()
