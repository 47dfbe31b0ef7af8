"""The normal distribution of vectors."""

from __future__ import annotations

from math import log, pi
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.covariance import OfCovariance, factored, given_matrix, half_log_det
from wgtorch.distributions.distribution import Distribution
from wgtorch.distributions.draws import normals
from wgtorch.linalg import solve_triangular

__all__ = ["MultivariateNormal"]


def mahalanobis(lower: Tensor, difference: Tensor) -> Tensor:
    """The squared lengths of L^-1 x of rows x (..., any number, n); all rows of one L at once."""
    if lower.dim() == 2:
        rows = difference.reshape(-1, difference.shape[-1])
        solved = solve_triangular(lower, rows.mT, upper=False)
        return solved.pow(2).sum(-2).reshape(difference.shape[:-1])
    return solve_triangular(lower, difference.mT, upper=False).pow(2).sum(-2)


class Gaussian(Distribution):
    """What is normal, by the quadratic form and the determinant of its covariance."""

    support = constraints.real_vector
    has_rsample = True
    loc: Tensor

    def _squared(self, difference: Tensor) -> Tensor:
        """x^T S^-1 x of each of the rows (..., any number, n) that belong to a batch."""
        raise NotImplementedError

    def _log_det(self) -> Tensor:
        raise NotImplementedError

    def _columns(self) -> Tensor:
        """The columns, as rows, of a matrix whose product with its transpose is the covariance."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        return self.loc

    mode = mean

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        away = self._squared((value - self.loc).unsqueeze(-2)).squeeze(-1)
        return -0.5 * (self._event_shape[0] * log(2 * pi) + self._log_det() + away)

    def entropy(self) -> Tensor:
        return 0.5 * (self._event_shape[0] * (1 + log(2 * pi)) + self._log_det())


class MultivariateNormal(OfCovariance, Gaussian):
    """Of mean `loc` and a covariance: `covariance_matrix`, its inverse `precision_matrix`, or its
    lower Cholesky factor `scale_tril`."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }

    def __init__(self, loc: Tensor, covariance_matrix: Any = None, precision_matrix: Any = None,
                 scale_tril: Any = None, validate_args: bool | None = None):  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = given_matrix(scale_tril, covariance_matrix, precision_matrix)
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch = wgtorch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        vars(self)[name] = matrix.expand((*batch, -1, -1))
        self.loc = loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factored(name, matrix)

    @property
    def variance(self) -> Tensor:
        spread = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return spread.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = normals(self._extended_shape(sample_shape), self.loc)
        return self.loc + (self._unbroadcasted_scale_tril @ drawn.unsqueeze(-1)).squeeze(-1)

    def _squared(self, difference: Tensor) -> Tensor:
        return mahalanobis(self._unbroadcasted_scale_tril, difference)

    def _log_det(self) -> Tensor:
        return (2 * half_log_det(self._unbroadcasted_scale_tril)).expand(self._batch_shape)

    def _columns(self) -> Tensor:
        return self._unbroadcasted_scale_tril.mT
