"""A distribution: parameters of one batch shape, samples of one event shape.

Subclasses name the constraints of their parameters, hand the parameters to `_hold`, and say what
is known of the distribution. Expanding, validating and printing are the same for all.
"""

from __future__ import annotations

import warnings
from typing import Any

import wgtorch
from wgtorch import Size, Tensor
from wgtorch.device import Device
from wgtorch.distributions import constraints
from wgtorch.distributions.constraints import Constraint
from wgtorch.distributions.utils import broadcast_all, lazy_property
from wgtorch.ops.requirements import require

__all__ = ["Distribution"]


class Distribution:
    """One for each element of `batch_shape`, by its parameters; each draws an `event_shape`."""

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__
    _checked_inside = False  # whether another one, which holds the parameters, has checked them
    _shared: tuple[str, ...] = ()  # tensors that expanding leaves alone: not of the batch's shape

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check parameters and values unless they are told."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (),
                 validate_args: bool | None = None):  # fmt: skip
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args and not self._checked_inside:
            self._validate_parameters()
        super().__init__()

    def _hold(self, validate_args: bool | None, **parameters: Any) -> None:
        """Parameters with an element for each of the batch, and no more."""
        tensors = broadcast_all(*parameters.values())
        vars(self).update(zip(parameters, tensors, strict=True))
        Distribution.__init__(self, tensors[0].shape, validate_args=validate_args)

    # Shapes

    @property
    def batch_shape(self) -> Size:
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with parameters expanded to a batch shape; copies no data."""
        home = __package__ + "."
        ours = next(c for c in type(self).__mro__ if c.__module__.startswith(home))
        new = self._get_checked_instance(ours, _instance)
        batch_shape, before = Size(batch_shape), len(self._batch_shape)
        for name, value in vars(self).items():
            if isinstance(value, Tensor) and name not in self._shared:
                value = value.expand(batch_shape + value.shape[before:])
            elif isinstance(value, Distribution):
                value = value.expand(batch_shape + value.batch_shape[before:])
            vars(new)[name] = value
        vars(new)["_batch_shape"] = batch_shape
        return new

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        """An instance that the `expand` of `cls` is to fill: not one that is made otherwise."""
        if _instance is not None:
            return _instance
        if type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__"
                " method must also define a custom .expand() method."
            )
        return type(self).__new__(type(self))

    # What is known

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """The constraint of each parameter, by name."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint of samples."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws of shape sample_shape + batch_shape + event_shape, without gradients."""
        with wgtorch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draws as functions of the parameters: with gradients."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        text = "`sample_n(n)` will be deprecated. Use `sample((n,))` instead."
        warnings.warn(text, FutureWarning, stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at each value."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of what is not above a value."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The value whose cdf it is."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values along a new first dimension, expanded over the batch or once for all."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Of each of the batch, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        return self.entropy().exp()

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        """`values`, all there are, as enumerate_support gives them."""
        values = values.view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values

    # Validation

    def _validate_parameters(self) -> None:
        try:
            known = self.arg_constraints
        except NotImplementedError:
            raise NotImplementedError(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints ="
                " {}` or initialize the distribution with `validate_args=False` to turn off"
                " validation."
            ) from None
        for name, constraint in known.items():
            derived = isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(constraint) or (derived and name not in vars(self)):
                continue
            value = getattr(self, name)
            what = f"parameter {name} ({type(value).__name__} of shape {tuple(value.shape)})"
            holds = constraint.check(distinct(value, constraint.event_dim))
            self._demand(holds, value, lambda values, what=what, bound=constraint:
                f"Expected {what} of distribution {self._told(values)} to satisfy the constraint"
                f" {bound.told(values)}, but found invalid values")  # fmt: skip

    def _validate_sample(self, value: Tensor) -> None:
        """ValueError where a value does not fit the shapes, or is outside of the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = value.dim() - len(self._event_shape)
        if tuple(value.shape[max(start, 0) :]) != tuple(self._event_shape):
            raise ValueError(
                "The right-most size of value must match event_shape:"
                f" {value.shape} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for got, wanted in zip(reversed(value.shape), reversed(expected), strict=False):
            if got != 1 and wanted != 1 and got != wanted:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs"
                    f" {expected}."
                )
        self._validate_support(value)

    def _validate_support(self, value: Tensor) -> None:
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please"
                " initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
            return
        what = f"value argument ({type(value).__name__} of shape {tuple(value.shape)})"
        self._demand(support.check(value), value, lambda values:
            f"Expected {what} to be within the support ({support.told(values)}) of the distribution"
            f" {self._told(values)}, but found invalid values")  # fmt: skip

    def _demand(self, holds: Tensor, value: Any, refusal: Any, broken: bool = False) -> None:
        """ValueError unless all holds: at once on the cpu, with the values, or the `broken` ones;
        at the next sync on a GPU, where the text is made before and tells shapes only."""
        if holds.device is not CPU:
            require(holds, refusal(False), ValueError)
        elif not holds.all():
            shown = value[~holds] if broken else value
            raise ValueError(refusal(True) + ("" if value is None else f":\n{shown}"))

    # Printing

    def _told(self, values: bool) -> str:
        """Its parameters: their shapes, or the values of single ones."""
        mine = {k: vars(self)[k] for k in self.arg_constraints if k in vars(self)}
        said = (f"{k}: {v if values and v.numel() == 1 else v.size()}" for k, v in mine.items())
        return f"{type(self).__name__}({', '.join(said)})"

    def __repr__(self) -> str:
        return self._told(values=True)


def distinct(value: Tensor, event_dim: int) -> Tensor:
    """One of what dimensions before those of an event only repeat."""
    for d, (size, step) in enumerate(zip(value.layout.shape, value.layout.strides, strict=True)):
        if step == 0 and size > 1 and d < value.dim() - event_dim:
            value = value.narrow(d, 0, 1)
    return value


CPU = Device("cpu")
