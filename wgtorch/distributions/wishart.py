"""Wishart's distribution, of covariance matrices."""

from __future__ import annotations

from math import log, nan
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.covariance import OfCovariance, factored, given_matrix, half_log_det
from wgtorch.distributions.draws import normals
from wgtorch.distributions.exp_family import ExponentialFamily
from wgtorch.distributions.gamma import Gamma

__all__ = ["Wishart"]


class Wishart(OfCovariance, ExponentialFamily):
    """|X|^((df - p - 1) / 2) exp(-tr(V^-1 X) / 2) / (2^(df p / 2) |V|^(df / 2) gamma_p(df / 2))

    of p x p matrices X. V is `covariance_matrix`, or is given by its inverse or Cholesky factor.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None,
                 scale_tril: Any = None, validate_args: bool | None = None):  # fmt: skip
        matrices = scale_tril, covariance_matrix, precision_matrix
        name, matrix = given_matrix(*matrices, refusal=AssertionError)
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch"
                " dimensions"
            )
        if not isinstance(df, Tensor):
            df = wgtorch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch = wgtorch.broadcast_shapes(matrix.shape[:-2], df.shape)
        event = matrix.shape[-2:]
        self.df = df.expand(batch)
        vars(self)[name] = matrix.expand((*batch, -1, -1))
        holds = self.df > event[-1] - 1
        least = event[-1] - 1
        self._demand(holds, None, lambda values:
            f"Value of df={df if values else 'the tensor'} expected to be greater than ndim - 1 ="
            f" {least}.")  # fmt: skip
        super().__init__(batch, event, validate_args=validate_args)
        self._unbroadcasted_scale_tril = factored(name, matrix)
        rows = wgtorch.arange(event[-1], dtype=self.df.dtype, device=self.df.device)
        self._dist_gamma = Gamma((self.df.unsqueeze(-1) - rows) / 2, 0.5, validate_args=False)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, nan)
        return factor[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(0, -2, -1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df[..., None, None] * (v.pow(2) + outer)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """L A A^T L^T: squares on the diagonal of A are chi-squared numbers, what stands below is
        normal (Bartlett)."""
        below = normals(self._extended_shape(sample_shape), self.df).tril(-1)
        chi = self._dist_gamma.rsample(sample_shape).sqrt()
        root = self._unbroadcasted_scale_tril @ (below + chi.diag_embed())
        return root @ root.mT

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        p, df = self._event_shape[-1], self.df
        lower = self._unbroadcasted_scale_tril
        trace = value.cholesky_solve(lower).diagonal(0, -2, -1).sum(-1)
        norm = df * (half_log_det(lower) + p * log(2) / 2) + (df / 2).mvlgamma(p)
        return (df - p - 1) / 2 * wgtorch.linalg.slogdet(value).logabsdet - trace / 2 - norm

    def entropy(self) -> Tensor:
        p, df = self._event_shape[-1], self.df
        rows = wgtorch.arange(p, dtype=df.dtype, device=df.device) / 2
        slopes = (df.unsqueeze(-1) / 2 - rows).digamma().sum(-1)
        size = (p + 1) * (half_log_det(self._unbroadcasted_scale_tril) + p * log(2) / 2)
        return size + (df / 2).mvlgamma(p) - (df - p - 1) / 2 * slopes + df * p / 2

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.df / 2, -self.precision_matrix / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        p = y.shape[-1]
        return x * (p * log(2) - wgtorch.linalg.slogdet(-2 * y).logabsdet) + x.mvlgamma(p)
