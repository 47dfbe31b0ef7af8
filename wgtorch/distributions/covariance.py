"""Covariances, given as such, by their inverse, or by their lower Cholesky factor."""

from __future__ import annotations

from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions.distribution import Distribution
from wgtorch.distributions.utils import lazy_property
from wgtorch.linalg import cholesky, solve_triangular

MATRICES = ("scale_tril", "covariance_matrix", "precision_matrix")


def given_matrix(*matrices: Any, refusal: type[Exception] = ValueError) -> tuple[str, Tensor]:
    """The name and the matrix of the one that is given, of three in the order of `MATRICES`."""
    found = [(name, m) for name, m in zip(MATRICES, matrices, strict=True) if m is not None]
    if len(found) != 1:
        raise refusal(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
        )
    return found[0]


def factored(name: str, matrix: Tensor) -> Tensor:
    """The lower Cholesky factor of the covariance."""
    if name == "scale_tril":
        return matrix
    return factor_of_precision(matrix) if name == "precision_matrix" else cholesky(matrix)


def factor_of_precision(precision: Tensor) -> Tensor:
    """The lower L with (L L^T)^-1 = precision: of the matrix turned around, factors are upper."""
    turned = cholesky(precision.flip((-2, -1))).flip((-2, -1)).mT
    return solve_triangular(turned, identity(precision), upper=False)


def identity(matrix: Tensor) -> Tensor:
    return wgtorch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


def half_log_det(lower: Tensor) -> Tensor:
    """Of L L^T: the logarithms of the diagonal, added up."""
    return lower.diagonal(0, -2, -1).log().sum(-1)


class OfCovariance(Distribution):
    """What is given one of the three matrices, and works out the others from its factor."""

    _unbroadcasted_scale_tril: Tensor
    _shared = ("_unbroadcasted_scale_tril",)

    @property
    def _matrix_shape(self) -> tuple[int, ...]:
        return (*self._batch_shape, *self._event_shape[-1:], *self._event_shape[-1:])

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._unbroadcasted_scale_tril.expand(self._matrix_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        lower = self._unbroadcasted_scale_tril
        return (lower @ lower.mT).expand(self._matrix_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._unbroadcasted_scale_tril.cholesky_inverse().expand(self._matrix_shape)
