"""Divergences of two distributions of one family."""

from __future__ import annotations

from math import inf
from typing import Any

from wgtorch import Tensor
from wgtorch.distributions.bernoulli import Bernoulli
from wgtorch.distributions.beta import Beta
from wgtorch.distributions.binomial import Binomial
from wgtorch.distributions.categorical import Categorical
from wgtorch.distributions.cauchy import Cauchy
from wgtorch.distributions.continuous_bernoulli import ContinuousBernoulli
from wgtorch.distributions.dirichlet import Dirichlet
from wgtorch.distributions.exp_family import ExponentialFamily
from wgtorch.distributions.exponential import Exponential
from wgtorch.distributions.gamma import Gamma
from wgtorch.distributions.geometric import Geometric
from wgtorch.distributions.half_normal import HalfNormal
from wgtorch.distributions.independent import Independent, sum_rightmost
from wgtorch.distributions.kl import kl_divergence, register_kl
from wgtorch.distributions.laplace import Laplace
from wgtorch.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from wgtorch.distributions.multivariate_normal import MultivariateNormal
from wgtorch.distributions.normal import Normal
from wgtorch.distributions.one_hot_categorical import OneHotCategorical
from wgtorch.distributions.pareto import Pareto
from wgtorch.distributions.poisson import Poisson
from wgtorch.distributions.transformed_distribution import TransformedDistribution
from wgtorch.distributions.uniform import Uniform
from wgtorch.nn.functional import softplus
from wgtorch.ops.requirements import require


def alike(kind: type) -> Any:
    return register_kl(kind, kind)


@alike(Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    yes = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    no = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    yes = yes.masked_fill(q.probs == 0, inf).masked_fill(p.probs == 0, 0)
    no = no.masked_fill(q.probs == 1, inf).masked_fill(p.probs == 1, 0)
    return yes + no


@alike(Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    return kl_divergence(p._dirichlet, q._dirichlet)


@alike(Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    refusal = "KL between Binomials where q.total_count > p.total_count is not implemented"
    require(q.total_count <= p.total_count, refusal, NotImplementedError)
    gain = p.probs * (p.logits - q.logits) - softplus(p.logits) + softplus(q.logits)
    return (p.total_count * gain).masked_fill(q.total_count < p.total_count, inf)


@alike(Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    each = p.probs * (p.logits - q.logits)
    return each.masked_fill(q.probs == 0, inf).masked_fill(p.probs == 0, 0).sum(-1)


@alike(OneHotCategorical)
def _one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@alike(ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    norms = q._log_normalizer(q.logits) - p._log_normalizer(p.logits)
    return p.mean * (p.logits - q.logits) + norms


@alike(Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    norms = total.lgamma() - b.sum(-1).lgamma() + (b.lgamma() - a.lgamma()).sum(-1)
    return norms + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@alike(Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@alike(ExponentialFamily)
def _exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """F(q) - F(p) - <theta_q - theta_p, grad F(p)>, Bregman's divergence of q and p."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot"
            " be computed using Bregman divergences"
        )
    normalizer, slopes = p._normalizer_and_slopes()
    result = q._log_normalizer(*q._natural_params) - normalizer
    for one, other, slope in zip(p._natural_params, q._natural_params, slopes, strict=True):
        product = (other - one) * slope
        result = result - sum_rightmost(product, product.dim() - result.dim())
    return result


@alike(Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    norms = b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma()
    return norms + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@alike(Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@alike(HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@alike(Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * (-apart / p.scale).exp() - 1


@alike(Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@alike(MultivariateNormal)
@alike(LowRankMultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Tensor:
    """(log |Q| - log |P| + tr(Q^-1 P) + d^T Q^-1 d - n) / 2, d = the difference of means."""
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be"
            " computed"
        )
    trace = q._squared(p._columns()).sum(-1)
    away = q._squared((q.loc - p.loc).unsqueeze(-2)).squeeze(-1)
    return 0.5 * (q._log_det() - p._log_det() + trace + away - p.event_shape[0])


@alike(Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return result.masked_fill(p.scale < q.scale, inf)


@alike(Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@alike(Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), inf)


@alike(Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    apart = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return apart.log() - (4 * p.scale * q.scale).log()


@alike(Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@alike(TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    """That of the base distributions: a bijection changes nothing."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)
