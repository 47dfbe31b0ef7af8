"""Divergences of distributions of two families.

-H(p) - E log q, where the mean over p of log q needs but a few facts of p: its mean, variance, the
mean of log x, the mean of exp(-x / s). Infinite where q leaves out what p does not.
"""

from __future__ import annotations

from math import inf, log, pi, sqrt
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions.bernoulli import Bernoulli
from wgtorch.distributions.beta import Beta
from wgtorch.distributions.binomial import Binomial
from wgtorch.distributions.continuous_bernoulli import ContinuousBernoulli
from wgtorch.distributions.exponential import Exponential
from wgtorch.distributions.gamma import Gamma
from wgtorch.distributions.gumbel import EULER, Gumbel
from wgtorch.distributions.kl import register_kl
from wgtorch.distributions.laplace import Laplace
from wgtorch.distributions.normal import Normal
from wgtorch.distributions.pareto import Pareto
from wgtorch.distributions.poisson import Poisson
from wgtorch.distributions.uniform import Uniform


def each(*kinds: type, to: type) -> Any:
    """Registers a function for several families of p and one of q."""

    def enter(divergence: Any) -> Any:
        for kind in kinds:
            register_kl(kind, to)(divergence)
        return divergence

    return enter


def mean_of_log(p: Any) -> Tensor:
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -EULER - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return mean_of_log_up_to(p.low, p.high)  # uniform


def mean_of_log_up_to(low: Tensor, high: Tensor) -> Tensor:
    return (high.xlogy(high) - low.xlogy(low)) / (high - low) - 1


def mean_of_exp_minus(p: Any, s: Tensor) -> Tensor:
    """Of exp(-x / s)."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate + 1 / s)
    if isinstance(p, Gamma):
        return (1 + 1 / (p.rate * s)).pow(-p.concentration)
    if isinstance(p, Normal):
        return (-p.loc / s + (p.scale / s).pow(2) / 2).exp()
    if isinstance(p, Gumbel):
        return (-p.loc / s + (1 + p.scale / s).lgamma()).exp()
    return s * ((-p.low / s).exp() - (-p.high / s).exp()) / (p.high - p.low)  # uniform


def within(p: Any, divergence: Tensor, low: Any, high: Any = inf) -> Tensor:
    """Infinite where p, if it is uniform, goes beyond bounds; others are inside of them anyhow."""
    if not isinstance(p, Uniform):
        return divergence
    return divergence.masked_fill((p.low < low) | (p.high > high), inf)


@each(Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform, to=Normal)
def _to_normal(p: Any, q: Normal) -> Tensor:
    spread = (p.variance + (p.mean - q.loc).pow(2)) / q.scale.pow(2)
    return -p.entropy() + 0.5 * log(2 * pi) + q.scale.log() + spread / 2


@each(Beta, ContinuousBernoulli, Gamma, Pareto, Uniform, to=Exponential)
def _to_exponential(p: Any, q: Exponential) -> Tensor:
    return within(p, -p.entropy() - q.rate.log() + q.rate * p.mean, 0)


@each(Beta, Exponential, Pareto, Uniform, to=Gamma)
def _to_gamma(p: Any, q: Gamma) -> Tensor:
    a = q.concentration
    norm = a.lgamma() - a * q.rate.log() - p.entropy()
    return within(p, norm - (a - 1) * mean_of_log(p) + q.rate * p.mean, 0)


@each(Exponential, Gamma, Gumbel, Normal, Uniform, to=Gumbel)
def _to_gumbel(p: Any, q: Gumbel) -> Tensor:
    ratio = q.loc / q.scale
    tail = ratio.exp() * mean_of_exp_minus(p, q.scale)
    return -p.entropy() + q.scale.log() + p.mean / q.scale - ratio + tail


@each(Beta, Uniform, to=ContinuousBernoulli)
def _to_continuous_bernoulli(p: Any, q: ContinuousBernoulli) -> Tensor:
    norm = q._log_normalizer(q.logits)
    return within(p, norm - p.entropy() - p.mean * q.logits, 0, 1)


@each(Beta, ContinuousBernoulli, to=Uniform)
def _to_uniform(p: Any, q: Uniform) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    return result.masked_fill((q.low > 0) | (q.high < 1), inf)


@each(Uniform, to=Beta)
def _uniform_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    norm = a.lgamma() + b.lgamma() - (a + b).lgamma() - p.entropy()
    below, above = mean_of_log_up_to(p.low, p.high), mean_of_log_up_to(1 - p.high, 1 - p.low)
    return within(p, norm - (a - 1) * below - (b - 1) * above, 0, 1)


@each(Uniform, to=Pareto)
def _uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    norm = -p.entropy() - q.alpha.log() - q.alpha * q.scale.log()
    return within(p, norm + (q.alpha + 1) * mean_of_log(p), q.scale)


@each(Normal, to=Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    apart = p.loc - q.loc
    ratio = apart / p.scale
    size = sqrt(2 / pi) * p.scale * (-0.5 * ratio.pow(2)).exp() + apart * (ratio / sqrt(2)).erf()
    return -p.entropy() + (2 * q.scale).log() + size / q.scale


@each(Bernoulli, to=Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


OUTSIDE = (
    ((Poisson,), (Bernoulli, Binomial)),
    ((Beta, ContinuousBernoulli), (Pareto,)),
    ((Exponential, Gamma), (Uniform, Pareto, ContinuousBernoulli, Beta)),
    ((Gumbel, Laplace, Normal), (Uniform, Pareto, Gamma, Exponential, ContinuousBernoulli, Beta)),
    ((Pareto,), (Uniform, ContinuousBernoulli, Beta)),
)


def _infinite(p: Any, q: Any) -> Tensor:
    """q leaves out some of p."""
    like = p.mean
    return like.new_full(wgtorch.broadcast_shapes(p.batch_shape, q.batch_shape), inf)


for _kinds, _others in OUTSIDE:
    for _other in _others:
        each(*_kinds, to=_other)(_infinite)
