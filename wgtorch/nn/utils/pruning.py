"""A pruning method is the hook that holds elements of a parameter at zero by a mask.

A pruned `weight` is computed before each forward from the parameter `weight_orig` and the buffer
`weight_mask`.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from wgtorch import Tensor, ones_like
from wgtorch.nn.module import Module


class BasePruningMethod(ABC):
    """Base class, and the hook: `compute_mask` says which elements stay.

    `PRUNING_TYPE` says what of a tensor that was pruned before it sees: "unstructured", the
    elements left; "structured", the channels left along `dim`; or "global", all of it.
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask, as numbers 0 and 1, that also has the zeros of `default_mask`."""

    def apply_mask(self, module: Module) -> Tensor:
        """What the module has to compute with."""
        if getattr(self, "_tensor_name", None) is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, original = [getattr(module, self._tensor_name + end) for end in ("_mask", "_orig")]
        return mask.to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> BasePruningMethod:  # fmt: skip
        """Prune a parameter, after what pruned it before; `args` are those of the class.

        The elements of the least `importance_scores`, by default the parameter, go first.
        """
        method = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name)
        scores = checked_scores(importance_scores, original, f"parameter {name} of {module}")
        earlier = hooks_of(module, name)
        if len(earlier) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module "
                f"{module}. Use a PruningContainer."
            )
        if not earlier:
            mask = method.compute_mask(scores, default_mask=ones_like(original))
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
        else:
            method = joined(module._forward_pre_hooks.pop(earlier[0]), method)
            before = getattr(module, name + "_mask").detach().clone()
            mask = method.compute_mask(scores, default_mask=before)
        module.register_buffer(name + "_mask", mask)
        method(module, ())
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """`t` with zeros where the mask has them; no module takes part."""
        scores = checked_scores(importance_scores, t, "tensor t")
        before = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=before)

    def remove(self, module: Module) -> None:
        """Make the pruned values the parameter's own."""
        weight, name = self.apply_mask(module), self._tensor_name
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.detach()
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def checked_scores(scores: Tensor | None, tensor: Tensor, whose: str) -> Tensor:
    if scores is None:
        return tensor.detach()
    if scores.shape != tensor.shape:
        raise AssertionError(
            f"importance_scores should have the same shape as {whose}, got {scores.shape} vs "
            f"{tensor.shape}"
        )
    return scores


def hooks_of(module: Module, name: str) -> list[int]:
    """The keys of the pruning hooks on a parameter."""
    hooks = module._forward_pre_hooks.items()
    return [k for k, h in hooks if isinstance(h, BasePruningMethod) and h._tensor_name == name]


def joined(before: Any, method: BasePruningMethod) -> PruningContainer:
    container = before if isinstance(before, PruningContainer) else PruningContainer(before)
    container.add_pruning_method(method)
    return container


class PruningContainer(BasePruningMethod):
    """Methods that prune one tensor one after the other."""

    def __init__(self, *args: BasePruningMethod):
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """TypeError if it is none, ValueError if it prunes another tensor."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """What the last method leaves of what those before it left."""
        method: Any = self._pruning_methods[-1]
        left = seen_by(method, t, default_mask)
        mask = default_mask.to(t.dtype, copy=True)
        mask[left] = method.compute_mask(t[left], default_mask=default_mask[left]).to(t.dtype)
        return mask


def seen_by(method: Any, t: Tensor, mask: Tensor) -> Any:
    """The index of what is left for a method."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "global":
        return ...
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    if not hasattr(method, "dim"):
        raise AttributeError(
            'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
        )
    dim = method.dim + t.ndim if method.dim < 0 else method.dim
    if dim < 0:
        raise IndexError(f"Index is out of bounds for tensor with dimensions {t.ndim}")
    others = [d for d in range(t.ndim) if d != dim]
    return (*[slice(None)] * dim, mask.sum(dim=others) != 0)


# How much


def check_amount(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    count = isinstance(amount, numbers.Integral)
    if amount < 0 or (not count and float(amount) > 1.0):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def counted(amount: Any, size: int) -> int:
    """How many of `size` to prune: `amount` itself, or that part of them."""
    count = int(amount) if isinstance(amount, numbers.Integral) else round(amount * size)
    if count > size:
        raise ValueError(
            f"amount={count} should be smaller than the number of parameters to prune={size}"
        )
    return count
