"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.categorical import Categorical
from wgtorch.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """The last dimension of the components' batch is what a categorical distribution chooses by."""

    arg_constraints: Any = {}

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution,
                 validate_args: bool | None = None):  # fmt: skip
        mixture, component = mixture_distribution, component_distribution
        if not isinstance(mixture, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of"
                " torch.distributions.Categorical"
            )
        if not isinstance(component, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of"
                " torch.distributions.Distribution"
            )
        batch = component.batch_shape[:-1]
        for one, other in zip(reversed(mixture.batch_shape), reversed(batch), strict=False):
            if one != 1 and other != 1 and one != other:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture.batch_shape}) is not"
                    " compatible with `component_distribution.batch_shape`"
                    f"({batch})"
                )
        wanted, found = component.batch_shape[-1], mixture.logits.shape[-1]
        if wanted != found:
            raise ValueError(
                f"`mixture_distribution component` ({found}) does not equal"
                f" `component_distribution.batch_shape[-1]` ({wanted})"
            )
        self._mixture_distribution, self._component_distribution = mixture, component
        self._num_component = found
        super().__init__(batch, component.event_shape, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        vars(new).update(vars(self))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._component_distribution = self._component_distribution.expand(
            (*batch_shape, self._num_component)
        )
        new._batch_shape = wgtorch.Size(batch_shape)
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        return self._component_distribution

    def _averaged(self, value: Tensor) -> Tensor:
        """The mean over components, by their chances."""
        dims = len(self._event_shape)
        chances = self.mixture_distribution.probs
        return (chances.reshape(*chances.shape, *[1] * dims) * value).sum(-1 - dims)

    @property
    def mean(self) -> Tensor:
        return self._averaged(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """Within components, and of their means."""
        component = self.component_distribution
        away = component.mean - self._padded(self.mean)
        return self._averaged(component.variance) + self._averaged(away.pow(2))

    def cdf(self, value: Tensor) -> Tensor:
        return self._averaged(self.component_distribution.cdf(self._padded(value)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        each = self.component_distribution.log_prob(self._padded(value))
        return (each + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with wgtorch.no_grad():
            dim, dims = len(sample_shape) + len(self._batch_shape), len(self._event_shape)
            chosen = self.mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            index = chosen.reshape(*chosen.shape, *[1] * (dims + 1))
            index = index.expand(*chosen.shape, 1, *self._event_shape)
            return drawn.gather(dim, index).squeeze(dim)

    def _padded(self, value: Tensor) -> Tensor:
        """With a dimension of one for the components."""
        return value.unsqueeze(-1 - len(self._event_shape))

    def _told(self, values: bool) -> str:
        parts = (self.mixture_distribution, self.component_distribution)
        said = ",\n  ".join(part._told(values) for part in parts)
        return f"{type(self).__name__}(\n  {said})"
