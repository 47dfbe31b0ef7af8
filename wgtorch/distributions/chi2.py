"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """Of the sum of `df` squares of normal numbers: Gamma(df / 2, 1 / 2)"""

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        return self.concentration * 2
