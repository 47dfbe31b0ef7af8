"""Densities on the line that are one density moved by `loc` and stretched by `scale`."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.distribution import Distribution

__all__ = ["LocationScale"]


class LocationScale(Distribution):
    """f((x - loc) / scale) / scale"""

    loc: Tensor
    scale: Tensor
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        self._hold(validate_args, loc=loc, scale=scale)

    @property
    def mode(self) -> Tensor:
        return self.loc
