"""The normal distribution of vectors whose covariance is a diagonal and a matrix of low rank."""

from __future__ import annotations

from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.covariance import half_log_det, identity
from wgtorch.distributions.draws import normals
from wgtorch.distributions.multivariate_normal import Gaussian, mahalanobis
from wgtorch.distributions.utils import lazy_property
from wgtorch.linalg import cholesky, solve_triangular

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Gaussian):
    """Of covariance W W^T + D, W = cov_factor with few columns, D = diag(cov_diag)

    With the small matrix C = I + W^T D^-1 W, the inverse is D^-1 - D^-1 W C^-1 W^T D^-1 (Woodbury)
    and the determinant |C| |D|.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor,
                 validate_args: bool | None = None):  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch"
                " dimensions"
            )
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        shapes = (loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        try:
            batch = wgtorch.broadcast_shapes(*shapes)
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape},"
                f" cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = loc.expand((*batch, -1)), cov_diag.expand((*batch, -1))
        self.cov_factor = cov_factor.expand((*batch, -1, -1))
        super().__init__(batch, event, validate_args=validate_args)

    @lazy_property
    def _capacitance_tril(self) -> Tensor:
        """Cholesky's factor of C."""
        scaled = self.cov_factor / self.cov_diag.sqrt().unsqueeze(-1)
        small = scaled.mT @ scaled
        return cholesky(small + identity(small))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @lazy_property
    def scale_tril(self) -> Tensor:
        return cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        part = solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self.cov_diag.reciprocal().diag_embed() - part.mT @ part

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        return self.cov_factor.pow(2).sum(-1) + self.cov_diag

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        few = normals((*shape[:-1], self.cov_factor.shape[-1], 1), self.loc)
        own = self.cov_diag.sqrt() * normals(shape, self.loc)
        return self.loc + (self.cov_factor @ few).squeeze(-1) + own

    def _log_det(self) -> Tensor:
        return 2 * half_log_det(self._capacitance_tril) + self.cov_diag.log().sum(-1)

    def _squared(self, difference: Tensor) -> Tensor:
        scaled = difference / self.cov_diag.unsqueeze(-2)
        within = mahalanobis(self._capacitance_tril, scaled @ self.cov_factor)
        return (difference * scaled).sum(-1) - within

    def _columns(self) -> Tensor:
        return wgtorch.cat([self.cov_factor.mT, self.cov_diag.sqrt().diag_embed()], -2)
