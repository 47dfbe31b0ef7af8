"""Sampling in place: methods that fill a tensor with random numbers.

A fill is a write like any other: autograd sees it, and whoever read the tensor before keeps what
it read.
"""

from __future__ import annotations

import math
from typing import Any

from wgtorch.dispatch.write import write
from wgtorch.dtype import DType
from wgtorch.integers import integer
from wgtorch.ops.noise import NO_CHANCE
from wgtorch.ops.requirements import within
from wgtorch.random import (
    bounds,
    checked_deviation,
    drawn,
    integers,
    normals,
    parts,
    uniform,
)  # fmt: skip
from wgtorch.storage import View
from wgtorch.tensor import Tensor

MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def filled(target: Tensor, source: Tensor, name: str) -> Tensor:
    return write(target, source.to(target.dtype), name, True)


def facts(x: Tensor) -> tuple[tuple[int, ...], Any, DType]:
    return x.layout.shape, x.device, x.dtype


def uniform_(
    self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Any = None, **named: Any
) -> Tensor:
    """Uniform in [from, to)."""
    low = named.pop("from", from_)
    no_more("uniform_", named)
    if self.is_complex():  # each part by itself
        return filled(self, parts(uniform, *facts(self), generator), "uniform_")
    if self.is_floating_point() and not low <= to:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={to:g}"
        )
    numbers = uniform(*facts(self), generator)
    if (low, to) != (0, 1):
        numbers = numbers * (to - low) + low
    return filled(self, numbers, "uniform_")


def no_more(name: str, named: dict[str, Any]) -> None:
    if named:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(named))}'")


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Normal, of mean `mean` and standard deviation `std`."""
    if not isinstance(std, View):
        checked_deviation(std)
    numbers = parts(normals, *facts(self), generator)
    if self.is_complex():  # both parts together have the variance
        numbers = numbers * 0.5**0.5
    return filled(self, numbers * std + mean, "normal_")


def log_normal_(
    self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None
) -> Tensor:
    """e to the power of normal numbers of that mean and deviation."""
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    numbers = normals(*facts(self), generator)
    return filled(self, (numbers * std + mean).exp(), "log_normal_")


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Exponentially distributed with the rate `lambd`; never 0."""
    if not self.is_floating_point():
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a"
            f" floating point but you specified {self.dtype.short}"
        )
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return filled(self, waits(self, generator) / lambd, "exponential_")


def waits(like: Tensor, generator: Any) -> Tensor:
    """Exponential numbers above 0, in float32."""
    shape, device, _ = facts(like)
    return drawn("_draw_exponential", shape, device, generator).clamp(min=2.0**-25)


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """How many trials it takes until one succeeds, each with probability `p`."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    numbers = waits(self, generator) / -math.log1p(-p)
    return filled(self, numbers.ceil(), "geometric_")


def cauchy_(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None
) -> Tensor:
    """Of the Cauchy distribution."""
    if not self.is_floating_point():
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. dtype must be a"
            f" floating point but you specified {self.dtype.short}"
        )
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    shape, device, _ = facts(self)
    numbers = drawn("_draw_uniform", shape, device, generator)
    return filled(self, ((numbers - 0.5) * math.pi).tan() * sigma + median, "cauchy_")


def random_(self: Tensor, *ends: int, generator: Any = None, **named: Any) -> Tensor:
    """`random_([from=0,] [to])`: whole numbers below `to`, or as large as the dtype can hold."""
    low, high = named.pop("from", 0), named.pop("to", None)
    no_more("random_", named)
    if len(ends) == 1 and high is None:
        high = ends[0]
    elif ends:
        low, high = ends[0], ends[1] if len(ends) > 1 else high
    shape, device, dtype = facts(self)
    if high is None:
        high = 1 << MANTISSA[dtype.name] if dtype.is_floating_point else bounds(dtype)[1]
        high += 1
    low, high = integer("random_", "from", low), integer("random_", "to", high)
    return filled(self, integers(low, high, shape, device, dtype, generator), "random_")


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """1 with probability `p`, a number or a tensor that broadcasts, else 0."""
    if not isinstance(p, View) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    shape, device, _ = facts(self)
    chance = p.detach() if isinstance(p, View) else p  # type: ignore[attr-defined]
    if isinstance(p, View):
        within(chance, 0, 1, NO_CHANCE)
    numbers = drawn("_draw_uniform", shape, device, generator)
    return filled(self, numbers < chance, "bernoulli_")


for _method in (
    uniform_,
    normal_,
    log_normal_,
    exponential_,
    geometric_,
    cauchy_,
    random_,
    bernoulli_,
):
    setattr(Tensor, _method.__name__, _method)
