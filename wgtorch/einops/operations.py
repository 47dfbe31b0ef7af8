"""Rearrange, reduce, repeat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wgtorch.einops.pattern import parsed
from wgtorch.einops.recipe import Recipe, recipe
from wgtorch.errors import EinopsError, suggestion
from wgtorch.tensor import Tensor

REDUCTIONS: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
    "all": lambda x, dims: x.all(dims),
    "any": lambda x, dims: x.any(dims),
    "max": lambda x, dims: x.amax(dims),
    "mean": lambda x, dims: x.mean(dims),
    "min": lambda x, dims: x.amin(dims),
    "prod": lambda x, dims: product(x, dims),
    "sum": lambda x, dims: x.sum(dims),
}
Reduction = str | Callable[[Tensor, tuple[int, ...]], Tensor]


def product(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    for dim in reversed(dims):
        x = x.prod(dim)  # type: ignore[attr-defined]
    return x


def tensor_of(op: str, tensor: Any) -> Tensor:
    """One tensor; several are stacked along a new first dimension."""
    if isinstance(tensor, list | tuple):
        if not tensor:
            raise TypeError(f"{op}(): the list of tensors is empty")
        return tensor[0]._stack(tuple(tensor), 0)
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"{op}(): argument 'tensor' must be Tensor or a list of them, not"
            f" {type(tensor).__name__}"
        )
    return tensor


def steps(op: str, tensor: Any, pattern: str, sizes: dict[str, int]) -> tuple[Any, Recipe]:
    tensor = tensor_of(op, tensor)
    if not isinstance(pattern, str):
        raise TypeError(f"{op}: the pattern must be a str, not {type(pattern).__name__}")
    found = recipe(pattern, op, tuple(tensor.shape), tuple(sorted(sizes.items())))
    return tensor.reshape(found.split), found


def arranged(x: Any, found: Recipe) -> Any:
    x = x.permute(found.order)
    for place in found.added:
        x = x.unsqueeze(place)
    return (x.expand(found.expanded) if found.added else x).reshape(found.merged)


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """The same elements in another order of dimensions: transposed, split, merged, stacked.

    `rearrange(x, "b (h w) c -> b c h w", h=8)`. A list of tensors is stacked first. Nothing is
    copied where a view can show it.
    """
    x, found = steps("rearrange", tensor, pattern, axes_lengths)
    return arranged(x, found)


def reduce(tensor: Tensor | Sequence[Tensor], pattern: str, reduction: Reduction,
           **axes_lengths: int) -> Tensor:  # fmt: skip
    """As `rearrange`; axes that the right side lacks are reduced.

    `reduction`: "sum", "mean", "max", "min", "prod", "any", "all", or a function of a tensor and
    a tuple of dims. `reduce(x, "b c (h 2) (w 2) -> b c h w", "max")` is max-pooling.
    """
    if isinstance(reduction, str) and reduction not in REDUCTIONS:
        raise EinopsError(
            f"reduce(): unknown reduction {reduction!r}; there are {', '.join(REDUCTIONS)}."
            f"{suggestion(reduction, REDUCTIONS)}"
        )
    if not isinstance(reduction, str) and not callable(reduction):
        raise TypeError(
            f"reduce(): the reduction must be one of {', '.join(REDUCTIONS)}, or a function of a"
            f" tensor and dims, not {type(reduction).__name__}"
        )
    x, found = steps("reduce", tensor, pattern, axes_lengths)
    if found.lost and reduction == "mean" and not (x.is_floating_point() or x.is_complex()):
        raise EinopsError(f"reduce(): the mean of {x.dtype!r} is not defined; call .float() first")
    if found.lost:
        x = (REDUCTIONS[reduction] if isinstance(reduction, str) else reduction)(x, found.lost)
        if not isinstance(x, Tensor):
            raise TypeError(f"reduce(): the reduction returned {type(x).__name__}, not a Tensor")
    return arranged(x, found)


def repeat(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """As `rearrange`; axes that the left side lacks are new, and repeat what is there.

    `repeat(x, "h w -> h (w copies)", copies=3)`. For `Tensor.repeat` call the method.
    """
    x, found = steps("repeat", tensor, pattern, axes_lengths)
    return arranged(x, found)


def get_einops_cache_size() -> int:
    """How many patterns, and patterns with shapes, are remembered."""
    return parsed.cache_info().currsize + recipe.cache_info().currsize


def clear_einops_cache() -> None:
    """Forget all patterns."""
    parsed.cache_clear()
    recipe.cache_clear()
