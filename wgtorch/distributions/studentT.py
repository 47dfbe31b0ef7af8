"""Student's t distribution."""

from __future__ import annotations

from math import inf, log, nan, pi
from typing import Any

from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.chi2 import Chi2
from wgtorch.distributions.distribution import Distribution
from wgtorch.distributions.draws import normals

__all__ = ["StudentT"]


class StudentT(Distribution):
    """(1 + z^2 / df)^(-(df + 1) / 2) / (scale sqrt(df) B(1 / 2, df / 2)), z = (x - loc) / scale"""

    df: Tensor
    loc: Tensor
    scale: Tensor
    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0,
                 validate_args: bool | None = None):  # fmt: skip
        self._hold(validate_args, df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df, validate_args=False)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        spread = self.scale.pow(2) * self.df / (self.df - 2)
        return spread.masked_fill(self.df <= 2, inf).masked_fill(self.df <= 1, nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        x = normals(self._extended_shape(sample_shape), self.df)
        return self.loc + self.scale * x * (self._chi2.rsample(sample_shape) / self.df).rsqrt()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        half = self.df / 2
        scale = self.scale.log() + 0.5 * self.df.log() + 0.5 * log(pi)
        norm = scale + half.lgamma() - (half + 0.5).lgamma()
        return -(half + 0.5) * (z**2 / self.df).log1p() - norm

    def entropy(self) -> Tensor:
        half = self.df / 2
        beta = half.lgamma() + 0.5 * log(pi) - (half + 0.5).lgamma()
        tail = (half + 0.5) * ((half + 0.5).digamma() - half.digamma())
        return self.scale.log() + tail + 0.5 * self.df.log() + beta
