"""Pruning: parameters of which elements, or whole channels, are held at zero by a mask."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wgtorch import Tensor, ones_like, rand, rand_like, zeros_like
from wgtorch.nn.module import Module
from wgtorch.nn.utils.pruning import (
    BasePruningMethod,
    PruningContainer,
    check_amount,
    counted,
    hooks_of,
)
from wgtorch.nn.utils.vector import parameters_to_vector

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured",
    "PruningContainer", "RandomStructured", "RandomUnstructured", "custom_from_mask",
    "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured",
    "random_structured", "random_unstructured", "remove",
]  # fmt: skip

# Single elements


class Identity(BasePruningMethod):
    """Prunes nothing, but has the names of what is pruned."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class Unstructured(BasePruningMethod):
    """The elements of the least scores: `amount` of them, or that part if it is a float."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float):
        check_amount(amount)
        self.amount = amount

    def scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = counted(self.amount, t.numel())
        if count == 0:
            return default_mask.clone()
        least = self.scores(t).reshape(-1).topk(count, largest=False).indices
        return default_mask.reshape(-1).index_fill(0, least, 0).reshape(default_mask.shape)


class RandomUnstructured(Unstructured):
    """Elements at random."""

    def scores(self, t: Tensor) -> Tensor:
        return rand_like(t)


class L1Unstructured(Unstructured):
    """The elements of the least absolute value."""

    def scores(self, t: Tensor) -> Tensor:
        return t.abs()


class CustomFromMask(BasePruningMethod):
    """What a given mask has zeros for."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor):
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        return default_mask * self.mask.to(default_mask.dtype)


# Whole channels


class Structured(BasePruningMethod):
    """The channels along `dim` of the least scores."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1):
        check_amount(amount)
        self.amount, self.dim = amount, dim

    def scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.ndim <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor "
                f"of shape {t.shape} with {t.ndim} dims"
            )
        if self.dim >= t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        count = counted(self.amount, size)
        if count == 0:
            return default_mask
        kept = self.scores(t).topk(size - count).indices
        return zeros_like(t).index_fill(self.dim, kept, 1) * default_mask.to(t.dtype)


class RandomStructured(Structured):
    """Channels at random."""

    def scores(self, t: Tensor) -> Tensor:
        return rand(t.shape[self.dim], device=t.device)


class LnStructured(Structured):
    """The channels of the least norm, of order `n`."""

    def __init__(self, amount: float, n: Any, dim: int = -1):
        super().__init__(amount, dim)
        self.n = n

    def scores(self, t: Tensor) -> Tensor:
        return t.norm(self.n, [d for d in range(t.ndim) if d != self.dim % t.ndim])


# As functions, which return the module


def identity(module: Module, name: str) -> Module:
    """Give a parameter the names of a pruned one, without pruning."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune `amount` elements of a parameter, or that part of them, at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: float, importance_scores: Tensor | None = None
) -> Module:
    """Prune `amount` elements, or that part, of the least absolute value (of the scores)."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune `amount` channels along `dim`, or that part of them, at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: Any, dim: int,
    importance_scores: Tensor | None = None,
) -> Module:  # fmt: skip
    """Prune `amount` channels along `dim`, or that part, of the least norm of order `n`."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune where `mask` is zero."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: type, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune (module, name) pairs as one vector, by an unstructured method; `kwargs` are its own.

    `importance_scores` is a dict, by such pairs.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    tensors = [getattr(module, name) for module, name in pairs]
    given = [scores.get(pair, tensor).detach() for pair, tensor in zip(pairs, tensors, strict=True)]
    before = [
        getattr(module, name + "_mask", ones_like(tensor))
        for (module, name), tensor in zip(pairs, tensors, strict=True)
    ]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "all of them"
    whole = PruningContainer(method).compute_mask(
        parameters_to_vector(given), parameters_to_vector(before)
    )
    parts = whole.split([tensor.numel() for tensor in tensors])
    for (module, name), tensor, part in zip(pairs, tensors, parts, strict=True):
        custom_from_mask(module, name, part.view(tensor.shape))


def remove(module: Module, name: str) -> Module:
    """Make the pruned values the parameter's own; ValueError if it is not pruned."""
    for key in hooks_of(module, name):
        module._forward_pre_hooks.pop(key).remove(module)
        return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module, or of one in it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for part in module.modules()
        for hook in part._forward_pre_hooks.values()
    )
