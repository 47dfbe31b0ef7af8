"""Slopes of what is sampled at points along dimensions.

B. Fornberg, "Generation of finite difference formulas on arbitrarily spaced grids" (1988): those of
two and three points.
"""

from __future__ import annotations

from typing import Any

from wgtorch.layout import wrap_dim
from wgtorch.op import composite
from wgtorch.ops.samples import normal
from wgtorch.storage import View


def asked_dims(input: Any, dim: Any) -> list[int]:
    if dim is None:
        return list(range(input.ndim))
    dims = [wrap_dim(d, input.ndim) for d in ([dim] if isinstance(dim, int) else dim)]
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return dims


def asked_spacing(input: Any, spacing: Any, dims: list[int], dim: Any) -> list[Any]:
    """For each dim the distance of its points, or their places."""
    if not isinstance(spacing, list | tuple):
        return [spacing] * len(dims)
    if len(spacing) != len(dims):
        said = "torch.gradient expected spacing to be unspecified, a scalar"
        raise RuntimeError(
            f"{said}, or a list of length equal to 'self.dim() = {input.ndim}', since dim argument"
            f" was not given, but got a list of length {len(spacing)}"
            if dim is None
            else f"{said} or it's spacing and dim arguments to have the same length, but got a"
            f" spacing argument of length {len(spacing)} and a dim argument of length {len(dims)}."
        )
    return list(spacing)


def slope(input: Any, dim: int, spacing: Any, edge_order: int) -> Any:
    """Along one dim, of the distance of its points or their places."""
    size = input.layout.shape[dim]
    points = [input._slice(dim, k, k + 1) for k in (0, 1, 2, size - 1, size - 2, size - 3)]
    before, at, behind = (input._slice(dim, k, size - 2 + k) for k in range(3))
    if isinstance(spacing, View):
        steps: Any = spacing.diff().reshape((-1,) + (1,) * (input.ndim - 1 - dim))  # type: ignore[attr-defined]
        left, right = steps._slice(0, 0, size - 2), steps._slice(0, 1, size - 1)
        h, k = steps._slice(0, 0, 1), steps._slice(0, 1, 2)
        m, n = steps._slice(0, size - 2, size - 1), steps._slice(0, size - 3, size - 2)
        inside = middle(left, right, before, at, behind)
    else:
        h = k = m = n = spacing
        inside = (behind - before) / (2 * h)
    if edge_order == 1:
        first, last = (points[1] - points[0]) / h, (points[3] - points[4]) / m
    else:
        first, last = end(h, k, *points[:3]), -end(m, n, *points[3:])
    return input._cat((first, inside, last), dim)


def middle(left: Any, right: Any, a: Any, b: Any, c: Any) -> Any:
    """The slope at b, of a before it and c behind."""
    whole = left + right
    outer = c * (left / (right * whole)) - a * (right / (left * whole))
    return outer + b * ((right - left) / (left * right))


def end(h: Any, k: Any, a: Any, b: Any, c: Any) -> Any:
    """The slope at a, of b at distance h and c at h + k."""
    whole = h + k
    return b * (whole / (h * k)) - a * ((h + whole) / (h * whole)) - c * (h / (k * whole))


@composite(
    samples=lambda rng: [
        ((normal(rng, 5),), {}),
        ((normal(rng, 4, 5),), {"spacing": 0.5, "edge_order": 2}),
        ((normal(rng, 4, 5),), {"spacing": (2, 3.0), "dim": (1, 0)}),
    ]
)
def gradient(input, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1):
    """The slope along each dim (default: all), as a tuple of tensors of the input's shape.

    `spacing` is the distance of the points, for all dims or one for each, or a list of vectors:
    where the points of each dim are. Central differences; at the ends of first or second order.
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims, spacing = asked_dims(input, dim), 1 if spacing is None else spacing
    if any(input.layout.shape[d] < edge_order + 1 for d in dims):
        raise RuntimeError(
            "torch.gradient expected each dimension size to be at least edge_order+1"
        )
    each = asked_spacing(input, spacing, dims, dim)
    return tuple(slope(input, d, h, edge_order) for d, h in zip(dims, each, strict=True))
