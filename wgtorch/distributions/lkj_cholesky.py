"""The LKJ distribution, of Cholesky factors of correlation matrices."""

from __future__ import annotations

from math import log, pi
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.beta import Beta
from wgtorch.distributions.distribution import Distribution
from wgtorch.distributions.draws import normals
from wgtorch.distributions.utils import broadcast_all
from wgtorch.nn.functional import pad

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Of L with L L^T = M, where M has a density of |M|^(concentration - 1) (Lewandowski,
    Kurowicka, Joe 2009)"""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None):
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)
        rows = wgtorch.arange(dim, dtype=self.concentration.dtype, device=self.concentration.device)
        others = (rows - 1).clamp(min=0)  # the first row has no length to draw
        sharpness = self.concentration.unsqueeze(-1) + 0.5 * (dim - 2) - 0.5 * others
        self._beta = Beta((others + 1) / 2, sharpness, validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Row by row, a direction on the sphere and its length (the onion method)."""
        with wgtorch.no_grad():
            squares = self._beta.sample(sample_shape).unsqueeze(-1)
            lengths = pad(squares[..., 1:, :], [0, 0, 1, 0], value=0)
            below = normals(self._extended_shape(sample_shape), self.concentration).tril(-1)
            norms = below.norm(dim=-1, keepdim=True)
            sphere = below / norms.masked_fill(norms == 0, 1)
            tiny = wgtorch.finfo(lengths.dtype).tiny
            diagonal = (1 - lengths).clamp(min=tiny).sqrt().squeeze(-1)
            return lengths.sqrt() * sphere + diagonal.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.dim - 1
        order = wgtorch.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        density = (order * value.diagonal(0, -2, -1)[..., 1:].log()).sum(-1)
        alpha = self.concentration + 0.5 * n
        norm = 0.5 * n * log(pi) + (alpha - 0.5).mvlgamma(n) - alpha.lgamma() * n
        return density - norm
