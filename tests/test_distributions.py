"""Distributions: what SciPy knows of them, their samples and divergences."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

import wgtorch as torch
from wgtorch import distributions as dist
from wgtorch.distributions import kl_divergence

# Name: (parameters, SciPy's distribution of the same)
KNOWN = {
    "Normal": ({"loc": 0.5, "scale": 2.0}, stats.norm(0.5, 2)),
    "Laplace": ({"loc": 0.5, "scale": 2.0}, stats.laplace(0.5, 2)),
    "Cauchy": ({"loc": 0.5, "scale": 2.0}, stats.cauchy(0.5, 2)),
    "Gumbel": ({"loc": 0.5, "scale": 2.0}, stats.gumbel_r(0.5, 2)),
    "Uniform": ({"low": -1.0, "high": 3.0}, stats.uniform(-1, 4)),
    "Exponential": ({"rate": 2.0}, stats.expon(scale=0.5)),
    "HalfNormal": ({"scale": 2.0}, stats.halfnorm(scale=2)),
    "HalfCauchy": ({"scale": 2.0}, stats.halfcauchy(scale=2)),
    "LogNormal": ({"loc": 0.5, "scale": 0.7}, stats.lognorm(0.7, scale=np.exp(0.5))),
    "Weibull": ({"scale": 2.0, "concentration": 1.5}, stats.weibull_min(1.5, scale=2)),
    "Pareto": ({"scale": 2.0, "alpha": 5.0}, stats.pareto(5, scale=2)),
    "GeneralizedPareto": ({"loc": 1.0, "scale": 2.0, "concentration": 0.2},
                          stats.genpareto(0.2, 1, 2)),
    "Gamma": ({"concentration": 1.5, "rate": 2.0}, stats.gamma(1.5, scale=0.5)),
    "Chi2": ({"df": 3.0}, stats.chi2(3)),
    "InverseGamma": ({"concentration": 5.0, "rate": 2.0}, stats.invgamma(5, scale=2)),
    "Beta": ({"concentration1": 0.7, "concentration0": 2.0}, stats.beta(0.7, 2)),
    "StudentT": ({"df": 5.0, "loc": 1.0, "scale": 2.0}, stats.t(5, 1, 2)),
    "FisherSnedecor": ({"df1": 4.0, "df2": 9.0}, stats.f(4, 9)),
    "VonMises": ({"loc": 0.5, "concentration": 3.0}, stats.vonmises(3, 0.5)),
    "Bernoulli": ({"probs": 0.3}, stats.bernoulli(0.3)),
    "Geometric": ({"probs": 0.3}, stats.geom(0.3, loc=-1)),
    "Poisson": ({"rate": 3.5}, stats.poisson(3.5)),
    "Binomial": ({"total_count": 60.0, "probs": 0.3}, stats.binom(60, 0.3)),
    "NegativeBinomial": ({"total_count": 3.0, "probs": 0.4}, stats.nbinom(3, 0.6)),
}  # fmt: skip
DISCRETE = {"Bernoulli", "Geometric", "Poisson", "Binomial", "NegativeBinomial"}
MANY = 4000


def made(name, device, dtype=torch.float32, **changes):
    parameters = {**KNOWN[name][0], **changes}
    tensors = {k: torch.tensor(v, dtype=dtype, device=device) for k, v in parameters.items()}
    return getattr(dist, name)(**tensors)


def drawn(d, count=MANY):
    return d.sample((count,)).cpu().numpy().astype(np.float64)


@pytest.mark.parametrize("name", KNOWN)
def test_what_scipy_knows(name, device):
    known, double = KNOWN[name][1], device == "cpu"
    d = made(name, device, torch.float64 if double else torch.float32)
    values = known.rvs(20, random_state=0).astype(np.float64 if double else np.float32)
    x = torch.tensor(values, dtype=d.mean.dtype, device=device)
    density = known.logpmf if name in DISCRETE else known.logpdf
    close = {"rtol": 1e-9, "atol": 1e-9} if double else {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(d.log_prob(x).cpu().numpy(), density(values), **close)
    try:
        cdf = d.cdf(x)
    except NotImplementedError:
        return
    np.testing.assert_allclose(cdf.cpu().numpy(), known.cdf(values), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("logit", [-200.0, -3.0, -0.5, -0.01, 0.0, 1e-4, 0.499, 0.7, 60.0])
def test_continuous_bernoulli_by_quadrature(device, logit):
    dtype = torch.float64 if device == "cpu" else torch.float32
    d = dist.ContinuousBernoulli(logits=torch.tensor(logit, dtype=dtype, device=device))
    top = max(logit, 0)

    def area(end, power):
        ends = [*(e for e in (0, 0.01, 0.1, 0.5, 0.9, 0.99) if e < end), end]
        return sum(
            integrate.quad(lambda x: x**power * np.exp(logit * x - top), *ab)[0]
            for ab in pairwise(ends)
        )

    whole, first, second = (area(1, power) for power in range(3))
    mean = first / whole
    found = [d.mean, d.variance, d.cdf(d.mean), d.icdf(d.cdf(d.mean)), d.entropy()]
    entropy = np.log(whole) + top - logit * mean
    wanted = [mean, second / whole - mean**2, area(mean, 0) / whole, mean, entropy]
    close = (1e-8, 1e-9) if device == "cpu" else (2e-5, 2e-6)
    np.testing.assert_allclose([float(x) for x in found], wanted, *close)


def test_the_tail_of_normal_numbers(device):
    x = torch.tensor([-10.0, -5.0], device=device)
    wanted = stats.norm.cdf([-10, -5])
    np.testing.assert_allclose(dist.Normal(0.0, 1.0).cdf(x).cpu().numpy(), wanted, rtol=1e-5)


def test_what_hardly_exceeds_a_threshold(device):
    x = torch.tensor([1e-6, 1e-3], device=device)
    wanted = stats.genpareto.cdf([1e-6, 1e-3], 0.2)
    found = dist.GeneralizedPareto(0.0, 1.0, torch.tensor(0.2, device=device)).cdf(x)
    np.testing.assert_allclose(found.cpu().numpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize("name", KNOWN)
def test_moments_and_entropies(name):
    d, known = made(name, "cpu", torch.float64), KNOWN[name][1]
    if name not in ("Cauchy", "HalfCauchy", "VonMises"):  # without a mean; of angles
        moments = [d.mean.item(), d.variance.item()]
        np.testing.assert_allclose(moments, [known.mean(), known.var()], rtol=1e-9)
    if name not in ("VonMises", "FisherSnedecor", "NegativeBinomial", "Poisson"):
        np.testing.assert_allclose(d.entropy().item(), known.entropy(), rtol=1e-5)


@pytest.mark.parametrize("name", KNOWN)
def test_samples(name, webgpu):
    """As distributed as they should be, and the same on both devices up to rounding."""
    known, values = KNOWN[name][1], {}
    for device in ("cpu", webgpu):
        torch.manual_seed(7)
        values[device] = drawn(made(name, device))
    if name in DISCRETE:
        bound = 5 * known.std() / MANY**0.5
        assert abs(values["cpu"].mean() - known.mean()) < bound
        chances = known.pmf(np.arange(100))
        counts = np.bincount(values["cpu"].astype(int), minlength=100)[:100]
        common = chances * MANY > 5
        scores = (counts - MANY * chances)[common] ** 2 / (MANY * chances)[common]
        assert stats.chi2.sf(scores.sum(), common.sum()) > 0.001
    else:
        assert stats.kstest(values["cpu"], known.cdf).pvalue > 0.001
    apart = ~np.isclose(values["cpu"], values[webgpu], rtol=1e-3, atol=1e-4)
    assert apart.mean() < 0.001  # a rejection may turn on the last digit


OTHERS = {
    "Kumaraswamy": lambda t: dist.Kumaraswamy(t(1.5, 2.0), 3.0),
    "ContinuousBernoulli": lambda t: dist.ContinuousBernoulli(logits=t(-30.0, 0.0, 0.7)),
    "LogisticNormal": lambda t: dist.LogisticNormal(t(0.0, 1.0), 0.7),
    "RelaxedBernoulli": lambda t: dist.RelaxedBernoulli(t(0.7), logits=t(0.5, -1.0)),
    "RelaxedOneHotCategorical": lambda t: dist.RelaxedOneHotCategorical(t(0.7), t(0.2, 0.8)),
    "Categorical": lambda t: dist.Categorical(logits=t([0.2, 0.8, 0.0], [1.0, 2.0, 3.0])),
    "OneHotCategorical": lambda t: dist.OneHotCategorical(t(0.2, 0.8)),
    "Multinomial": lambda t: dist.Multinomial(5, t([0.2, 0.8], [0.5, 0.5])),
    "Dirichlet": lambda t: dist.Dirichlet(t([0.2, 0.8, 3.0], [0.5, 0.5, 7.0])),
    "MultivariateNormal": lambda t: dist.MultivariateNormal(t(0.0, 1.0), t([2.0, 0.5], [0.5, 1.0])),
    "LowRankMultivariateNormal": lambda t: dist.LowRankMultivariateNormal(
        t(0.0, 1.0), t([1.0], [2.0]), t(1.0, 2.0)),
    "Wishart": lambda t: dist.Wishart(t(4.0), t([2.0, 0.5], [0.5, 1.0])),
    "LKJCholesky": lambda t: dist.LKJCholesky(3, t(0.7, 1.5)),
    "MixtureSameFamily": lambda t: dist.MixtureSameFamily(
        dist.Categorical(t(0.3, 0.7)), dist.Normal(t(0.0, 5.0), t(1.0, 2.0))),
    "TransformedDistribution": lambda t: dist.TransformedDistribution(
        dist.Normal(t(0.0, 1.0), 1.0), [dist.AffineTransform(1.0, -2.0), dist.TanhTransform()]),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_a_gpu_agrees_with_the_cpu(name, webgpu):
    found = {}
    for device in ("cpu", webgpu):
        torch.manual_seed(3)
        d = OTHERS[name](lambda *v, on=device: torch.tensor(v[0] if len(v) == 1 else v, device=on))
        numbers = drawn(d, 30)
        x = found["cpu"][1] if found else d.sample((30,))
        found[device] = numbers, x, d.log_prob(x.to(device)).cpu().numpy()
    for here, there in zip(found["cpu"][::2], found[webgpu][::2], strict=True):
        assert here.shape == there.shape
        assert np.isclose(here, there, rtol=1e-3, atol=1e-3).mean() > 0.99


def test_samples_of_choices(device):
    """Of categories, by count: each frequency within five deviations."""
    chances = np.array([[0.1, 0.2, 0.7], [0.5, 0.0, 0.5]])
    probs = torch.tensor(chances, dtype=torch.float32, device=device)
    bound = 5 * (chances * (1 - chances) / MANY) ** 0.5 + 1e-9
    one_hot = drawn(dist.OneHotCategorical(probs)).mean(0)
    relaxed = drawn(dist.RelaxedOneHotCategorical(torch.tensor(0.01, device=device), probs + 1e-9))
    sums = drawn(dist.Multinomial(5, probs), MANY // 5)
    picked = drawn(dist.Categorical(probs))
    assert (sums.sum(-1) == 5).all()
    for frequencies in (one_hot, relaxed.round().mean(0), sums.mean(0) / 5,
                        np.stack([(picked == k).mean(0) for k in range(3)], -1)):  # fmt: skip
        assert (abs(frequencies - chances) < bound).all()


def test_samples_of_vectors_and_matrices(device):
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    matrix = torch.tensor(covariance, dtype=torch.float32, device=device)
    loc = torch.tensor([1.0, -1.0], device=device)
    factor, diagonal = torch.tensor([[1.0], [0.5]], device=device), matrix.diagonal() - 0.5
    for d in (
        dist.MultivariateNormal(loc, matrix),
        dist.LowRankMultivariateNormal(loc, factor, diagonal),
    ):
        x = drawn(d)
        wanted = d.covariance_matrix.cpu().numpy()
        np.testing.assert_allclose(x.mean(0), [1, -1], atol=5 * (2 / MANY) ** 0.5)
        np.testing.assert_allclose(np.cov(x.T), wanted, atol=5 * 3 / MANY**0.5)
    wishart = drawn(dist.Wishart(torch.tensor(5.0, device=device), matrix))
    np.testing.assert_allclose(wishart.mean(0), 5 * covariance, atol=5 * 7 / MANY**0.5)
    factors = drawn(dist.LKJCholesky(3, torch.tensor(1.5, device=device)))
    np.testing.assert_allclose((factors**2).sum(-1), 1, rtol=1e-5)
    correlations = (factors @ factors.transpose(0, 2, 1))[:, [0, 0, 1], [1, 2, 2]]
    shape = 1.5 + (3 - 2) / 2  # of a correlation the marginal is a beta distribution, from -1 to 1
    for marginal in correlations.T:
        assert stats.kstest(marginal, stats.beta(shape, shape, -1, 2).cdf).pvalue > 0.001


# Divergences

PAIRS = [("Normal", "Laplace"), ("Normal", "Gumbel"), ("Gamma", "Gumbel"), ("Beta", "Gamma"),
         ("Beta", "Normal"), ("Exponential", "Gamma"), ("Exponential", "Gumbel"),
         ("Gumbel", "Normal"), ("Laplace", "Normal"), ("Pareto", "Gamma"), ("Gamma", "Gamma"),
         ("Gumbel", "Gumbel"), ("Laplace", "Laplace")]  # fmt: skip


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_divergence_is_the_integral(p, q):
    parameters = {k: v * 1.3 + 0.1 for k, v in KNOWN[q][0].items()}
    ours, other = made(p, "cpu", torch.float64), made(q, "cpu", torch.float64, **parameters)

    def height(x):
        x = torch.tensor(x, dtype=torch.float64)
        log_p = ours.log_prob(x)
        return float(log_p.exp() * (log_p - other.log_prob(x)))

    ends = KNOWN[p][1].ppf([1e-9, 0.001, 0.5, 0.999, 1 - 1e-9])
    whole = sum(integrate.quad(height, *piece)[0] for piece in pairwise(ends))
    assert float(kl_divergence(ours, other)) == pytest.approx(whole, rel=1e-4)


def test_divergence_of_what_is_no_number_is_none():
    p = dist.Gamma(torch.tensor([float("nan"), 1.0]), 1.0, validate_args=False)
    assert kl_divergence(p, dist.Exponential(1.0)).isnan().tolist() == [True, False]


def test_the_closest_pair_counts(monkeypatch):
    monkeypatch.setattr(dist.kl, "_KL_REGISTRY", {**dist.kl._KL_REGISTRY})
    monkeypatch.setattr(dist.kl, "_KL_MEMOIZE", {})

    class Sharp(dist.Normal):
        pass

    class Wide(dist.Normal):
        pass

    p, q = Sharp(0.0, 1.0), Wide(0.0, 2.0)
    assert kl_divergence(p, q) == kl_divergence(dist.Normal(0.0, 1.0), dist.Normal(0.0, 2.0))
    for first, second, value in ((Sharp, dist.Normal, 1.0), (dist.Normal, Wide, 2.0)):
        dist.register_kl(first, second)(lambda p, q, value=value: torch.tensor(value))
    with pytest.warns(RuntimeWarning, match="Ambiguous kl_divergence.Sharp, Wide.*Sharp, Wide"):
        assert kl_divergence(p, q) == 1
    assert kl_divergence(p, p) == 1 and kl_divergence(q, q) == 2


# Shapes and validation


def test_shapes(device):
    d = dist.Independent(dist.Normal(torch.zeros(3, 2, device=device), 1.0), 1)
    assert (d.batch_shape, d.event_shape) == ((3,), (2,))
    assert d.rsample((5, 4)).shape == (5, 4, 3, 2) and d.log_prob(d.sample()).shape == (3,)
    wide = d.expand((7, 3))
    assert wide.sample().shape == (7, 3, 2) and wide.entropy().shape == (7, 3)
    assert wide.base_dist.loc.stride() == (0, 2, 1)  # no data was copied


def test_what_is_invalid_raises_now_or_at_the_next_sync(device):
    """On a GPU the text tells shapes, as the values are not known when it is made."""
    x = torch.tensor([1.0, -1.0], device=device)
    text = r"Expected parameter scale \(Tensor of shape \(2,\)\) of distribution Normal\(loc: .*2\]"
    with pytest.raises(
        ValueError, match=text + ".*GreaterThan.lower_bound=0.0., but found invalid"
    ):
        dist.Normal(0.0, x).sample().tolist()
    with pytest.raises(ValueError, match=r"within the support \(Interval\(.*\) of the dist"):
        dist.Beta(x.abs(), 1.0).log_prob(x).tolist()
    with pytest.raises(ValueError, match="Expected parameter probs"):
        dist.ContinuousBernoulli(x, validate_args=True).probs.tolist()
    assert dist.ContinuousBernoulli(x, validate_args=False).probs[1].item() > 0
    unchecked = dist.Normal(0.0, x, validate_args=False).log_prob(x)
    assert unchecked[0].item() == pytest.approx(-1.418939)
    try:
        dist.Distribution.set_default_validate_args(False)
        dist.Normal(0.0, x).sample().tolist()
    finally:
        dist.Distribution.set_default_validate_args(True)


def test_classes_of_users():
    class Shifted(dist.Normal):
        def __init__(self, loc):
            super().__init__(loc + 1, 1.0)

    with pytest.raises(NotImplementedError, match="Subclass Shifted .* custom .expand"):
        Shifted(torch.zeros(2)).expand((3, 2))

    class Point(dist.Distribution):
        def __init__(self, at):
            self.at = at
            super().__init__(at.shape, validate_args=False)

        def expand(self, batch_shape, _instance=None):
            new = self._get_checked_instance(Point, _instance)
            new.__init__(self.at.expand(batch_shape))
            return new

    assert Point(torch.zeros(2)).expand((3, 2)).batch_shape == (3, 2)

    class Sure(dist.Distribution):
        arg_constraints = {}

        def log_prob(self, value):
            self._validate_sample(value)
            return value * 0

    with pytest.warns(UserWarning, match="does not define `support`"):
        assert Sure().log_prob(torch.ones(2)).tolist() == [0, 0]
    for ask in (Sure().rsample, Sure().entropy, lambda: Sure().mean):
        with pytest.raises(NotImplementedError):
            ask()


@pytest.mark.parametrize("name", [n for n in KNOWN if n != "Geometric"])  # which asks twice of one
def test_parameters_are_checked_once(name, monkeypatch):
    checked = []
    monkeypatch.setattr(dist.Distribution, "_demand", lambda *given: checked.append(given))
    made(name, "cpu")
    assert 1 <= len(checked) <= len(KNOWN[name][0])


def test_bounds_that_are_missing_or_unknown():
    for given, named in (((1,), {}), ((1, 2, 3), {}), ((1,), {"lower_bound": 2}), ((1,), {"u": 2})):
        with pytest.raises(TypeError, match="takes lower_bound and upper_bound"):
            dist.constraints.interval(*given, **named)


def test_entropy_of_an_exponential_family_by_its_normalizer(device):
    rate = torch.tensor([0.5, 3.0], device=device, requires_grad=True)
    d = dist.Gamma(2.0, rate)
    general = dist.ExponentialFamily.entropy(d)
    torch.testing.assert_close(general, d.entropy())
    grads = [torch.autograd.grad(e.sum(), rate)[0] for e in (general, d.entropy())]
    torch.testing.assert_close(*grads)
