"""Weight normalization: a weight as a length times a direction (Salimans, Kingma, 2016)."""

from __future__ import annotations

import warnings
from typing import Any

from wgtorch import Tensor
from wgtorch.layout import wrap_dim
from wgtorch.nn.module import Module
from wgtorch.nn.parameter import Parameter, is_lazy
from wgtorch.nn.utils.computed import refuse_second, taken_off

WHOLE = -1  # the `dim` that stands for none


def norm_except_dim(v: Tensor, pow: float = 2, dim: int = 0) -> Tensor:
    """Norms of all that shares an index of `dim`, which stays; of the whole tensor if it is -1."""
    if dim == WHOLE:
        return v.norm(pow)
    kept = wrap_dim(dim, v.ndim)
    others = [d for d in range(v.ndim) if d != kept]
    return v.norm(pow, others, keepdim=True) if others else v.abs()


def normalized(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """g * v / |v|"""
    return v * (g / norm_except_dim(v, 2, dim))


class WeightNorm:
    """The hook that computes `weight` from `weight_g` and `weight_v` before each forward."""

    def __init__(self, name: str, dim: int | None):
        self.name, self.dim = name, WHOLE if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return normalized(v, g, self.dim)

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))

    def remove(self, module: Module) -> None:
        weight = self.compute_weight(module)
        for name in (self.name, self.name + "_g", self.name + "_v"):
            delattr(module, name)
        setattr(module, self.name, Parameter(weight.detach()))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train the length `NAME_g` and the direction `NAME_v` of a parameter; returns the module.

    A length for each index of `dim`, or one if it is None. The weight is computed before each
    forward. Deprecated, as in PyTorch: `parametrizations.weight_norm` takes its state over.
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated "
        "in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    refuse_second(module, WeightNorm, name, "weight_norm")
    made = WeightNorm(name, dim)
    weight = getattr(module, name)
    if is_lazy(weight):
        raise ValueError(
            "The module passed to `WeightNorm` can't have uninitialized parameters. "
            "Make sure to run the dummy forward before applying weight normalization"
        )
    del module._parameters[name]
    length = norm_except_dim(weight, 2, made.dim).detach()
    module.register_parameter(name + "_g", Parameter(length))
    module.register_parameter(name + "_v", Parameter(weight.data))
    made(module, ())
    module.register_forward_pre_hook(made)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the present weight a parameter again; ValueError if it is not normalized."""
    taken_off(module, WeightNorm, name, "weight_norm")
    return module
