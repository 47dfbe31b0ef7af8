"""The half-Cauchy distribution: sizes of Cauchy's numbers."""

from __future__ import annotations

from math import inf
from typing import Any

from wgtorch import Tensor
from wgtorch.distributions.cauchy import Cauchy
from wgtorch.distributions.half_normal import Half
from wgtorch.distributions.transforms import AbsTransform

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """|x| of a Cauchy x around 0"""

    def __init__(self, scale: Any, validate_args: bool | None = None):
        super().__init__(Cauchy(0, scale, False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale.new_full(self._extended_shape(), inf)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
