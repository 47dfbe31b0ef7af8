"""Exponential families: densities h(x) exp(<t(x), theta> - F(theta)), natural parameters theta."""

from __future__ import annotations

from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """What says its natural parameters and F has an entropy, and divergences from its like."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any, **none: Any) -> Tensor:
        """F."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        """The mean of log h(x)."""
        raise NotImplementedError

    def _normalizer_and_slopes(self) -> tuple[Tensor, tuple[Tensor, ...]]:
        """F and its gradient, which is the mean of t(x), at the natural parameters."""
        with wgtorch.enable_grad():
            params = [p if p.requires_grad else p.detach().requires_grad_()
                      for p in self._natural_params]  # fmt: skip
            normalizer = self._log_normalizer(*params)
            slopes = wgtorch.autograd.grad(normalizer.sum(), params, create_graph=True)
        return normalizer, slopes

    def entropy(self) -> Tensor:
        """F - <theta, grad F> - E log h(x)."""
        normalizer, slopes = self._normalizer_and_slopes()
        result = normalizer - self._mean_carrier_measure
        dims, batch = len(self._batch_shape), self._batch_shape
        for theta, slope in zip(self._natural_params, slopes, strict=True):
            product = theta * slope
            result = result - (
                product if product.dim() == dims else product.reshape(*batch, -1).sum(-1)
            )
        return result
