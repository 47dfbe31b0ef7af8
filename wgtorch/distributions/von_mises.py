"""Von Mises' distribution, of angles."""

from __future__ import annotations

from math import log, pi
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.distribution import Distribution
from wgtorch.distributions.draws import between
from wgtorch.distributions.utils import lazy_property

__all__ = ["VonMises"]

TRIES = 32  # each is accepted with a chance of 0.65 at least


class VonMises(Distribution):
    """exp(concentration cos(x - loc)) / (2 pi I0(concentration)), x from -pi to pi"""

    loc: Tensor
    concentration: Tensor
    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None):
        self._hold(validate_args, loc=loc, concentration=concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        k = self.concentration
        return k * ((value - self.loc).cos() - 1) - log(2 * pi) - wgtorch.special.i0e(k).log()

    @property
    def mean(self) -> Tensor:
        return self.loc

    mode = mean

    @lazy_property
    def variance(self) -> Tensor:
        """The circular one, 1 - E cos(x - loc)."""
        k = self.concentration
        return 1 - wgtorch.special.i1e(k) / wgtorch.special.i0e(k)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """By rejection from a wrapped Cauchy distribution (Best and Fisher 1979): the first of
        several tries, drawn at once, that fits."""
        with wgtorch.no_grad():
            k = self.concentration
            tau = 1 + (1 + 4 * k * k).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * k)
            r = ((1 + rho * rho) / (2 * rho)).where(k > 1e-3, 1 / k + k)
            shape = (TRIES, *self._extended_shape(sample_shape))
            z = (pi * between(shape, k)).cos()
            f = (1 + r * z) / (r + z)
            c = k * (r - f)
            u = between(shape, k)
            fits = (c * (2 - c) > u) | ((c / u).log() + 1 - c >= 0)
            first = f.gather(0, fits.to(wgtorch.int32).argmax(0, keepdim=True)).squeeze(0)
            side = between(shape[1:], k) - 0.5
            angle = side.sign() * first.clamp(min=-1, max=1).acos() + self.loc
            return (angle + pi) % (2 * pi) - pi
