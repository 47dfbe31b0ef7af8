"""torch.distributions: random variables by their parameters, and what is known of them.

Samples come from the generators of their parameters' device, the same numbers on all devices.
`rsample` draws functions of the parameters, through which gradients flow. Parameters and values
are validated: at once on the cpu, and on a GPU at the next read-back, as other errors of data.
"""

from wgtorch.absent import answer_for
from wgtorch.distributions import constraints, kl_across, kl_alike, transforms
from wgtorch.distributions.bernoulli import Bernoulli
from wgtorch.distributions.beta import Beta
from wgtorch.distributions.binomial import Binomial
from wgtorch.distributions.categorical import Categorical
from wgtorch.distributions.cauchy import Cauchy
from wgtorch.distributions.chi2 import Chi2
from wgtorch.distributions.constraint_registry import biject_to, transform_to
from wgtorch.distributions.continuous_bernoulli import ContinuousBernoulli
from wgtorch.distributions.dirichlet import Dirichlet
from wgtorch.distributions.distribution import Distribution
from wgtorch.distributions.exp_family import ExponentialFamily
from wgtorch.distributions.exponential import Exponential
from wgtorch.distributions.fishersnedecor import FisherSnedecor
from wgtorch.distributions.gamma import Gamma
from wgtorch.distributions.generalized_pareto import GeneralizedPareto
from wgtorch.distributions.geometric import Geometric
from wgtorch.distributions.gumbel import Gumbel
from wgtorch.distributions.half_cauchy import HalfCauchy
from wgtorch.distributions.half_normal import HalfNormal
from wgtorch.distributions.independent import Independent
from wgtorch.distributions.inverse_gamma import InverseGamma
from wgtorch.distributions.kl import kl_divergence, register_kl
from wgtorch.distributions.kumaraswamy import Kumaraswamy
from wgtorch.distributions.laplace import Laplace
from wgtorch.distributions.lkj_cholesky import LKJCholesky
from wgtorch.distributions.log_normal import LogNormal
from wgtorch.distributions.logistic_normal import LogisticNormal
from wgtorch.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from wgtorch.distributions.mixture_same_family import MixtureSameFamily
from wgtorch.distributions.multinomial import Multinomial
from wgtorch.distributions.multivariate_normal import MultivariateNormal
from wgtorch.distributions.negative_binomial import NegativeBinomial
from wgtorch.distributions.normal import Normal
from wgtorch.distributions.one_hot_categorical import (
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from wgtorch.distributions.pareto import Pareto
from wgtorch.distributions.poisson import Poisson
from wgtorch.distributions.relaxed_bernoulli import RelaxedBernoulli
from wgtorch.distributions.relaxed_categorical import RelaxedOneHotCategorical
from wgtorch.distributions.studentT import StudentT
from wgtorch.distributions.transformed_distribution import TransformedDistribution
from wgtorch.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from wgtorch.distributions.uniform import Uniform
from wgtorch.distributions.von_mises import VonMises
from wgtorch.distributions.weibull import Weibull
from wgtorch.distributions.wishart import Wishart

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "CatTransform",
    "Categorical", "Cauchy", "Chi2", "ComposeTransform", "ContinuousBernoulli",
    "CorrCholeskyTransform", "CumulativeDistributionTransform", "Dirichlet", "Distribution",
    "ExpTransform", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma",
    "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent",
    "IndependentTransform", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal",
    "LogisticNormal", "LowRankMultivariateNormal", "LowerCholeskyTransform", "MixtureSameFamily",
    "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical",
    "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "PositiveDefiniteTransform",
    "PowerTransform", "RelaxedBernoulli", "RelaxedOneHotCategorical", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform",
    "StickBreakingTransform", "StudentT", "TanhTransform", "Transform", "TransformedDistribution",
    "Uniform", "VonMises", "Weibull", "Wishart", "biject_to", "identity_transform",
    "kl_divergence", "register_kl", "transform_to",
]  # fmt: skip

answer_for(__name__)
