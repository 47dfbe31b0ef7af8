"""The cases that op declarations give: every op's samples as tensors, and what must come out.

What is right is what the op's reference says in float64 on the cpu.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pytest

import wgtorch
from wgtorch.dispatch.doors import PUBLIC
from wgtorch.op import REGISTRY, Elementwise, Op

DTYPES = [wgtorch.bool, wgtorch.uint8, wgtorch.int8, wgtorch.int16, wgtorch.int32, wgtorch.int64,
          wgtorch.float16, wgtorch.bfloat16, wgtorch.float64]  # fmt: skip

# What vmap says of ops whose results or branches depend on data; PyTorch refuses these, too.
ON_DATA = ("data-dependent control flow", "dynamic shape", "differently shaped Tensor")


EITHER_ZERO = {  # of equal zeros, code for vectors and for single numbers takes either
    "clamp", "clamp_max", "clamp_min", "fmax", "fmin", "hardtanh", "maximum", "minimum", "relu6",
    "sinc", "softshrink",
}  # fmt: skip


class Case(NamedTuple):
    op: Op
    args: tuple[Any, ...]  # numpy arrays, numbers, None, or lists of arrays
    attrs: dict[str, Any]


def rng_of(op: Op) -> np.random.Generator:
    """The same numbers for an op whatever other ops there are."""
    return np.random.default_rng(crc32(op.name.encode()))


def cases_of(op: Op) -> list[Case]:
    return [Case(op, tuple(a), k) for a, k in op.samples(rng_of(op))] if op.samples else []


def parameters(keep: Callable[[Op], bool] = lambda op: True, first: bool = False) -> list[Any]:
    """A pytest parameter per case: `sigmoid-0`, `sigmoid-1`."""
    found = []
    for name, op in REGISTRY.items():
        cases = cases_of(op) if keep(op) else []
        for index, case in enumerate(cases[:1] if first else cases):
            found.append(pytest.param(case, id=f"{name}-{index}"))
    return found


def is_elementwise(op: Op) -> bool:
    return isinstance(op, Elementwise)


def has_gradient(op: Op) -> bool:
    if op.derived:
        return False  # its formulas are right only where those are: the op that calls it tells
    return bool(op.vjp) or (not hasattr(op, "wgsl") and type(op).__name__ == "Composite")


# Samples as tensors


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic)


def is_float(value: Any) -> bool:
    return is_array(value) and value.dtype.kind == "f"


def mapped(case: Case, change: Callable[[Any], Any]) -> Case:
    """The case with every array changed."""

    def each(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [each(v) for v in value]
        return change(value) if is_array(value) else value

    return case._replace(args=tuple(each(a) for a in case.args))


def is_complex(value: Any) -> bool:
    return is_array(value) and value.dtype.kind == "c"


def wide(case: Case) -> Case:
    kinds = {"f": np.float64, "c": np.complex128}
    return mapped(case, lambda a: a.astype(kinds.get(a.dtype.kind, a.dtype)))


def narrow(case: Case) -> Case:
    kinds = {"f": np.float32, "c": np.complex64}
    return mapped(case, lambda a: a.astype(kinds.get(a.dtype.kind, a.dtype)))


def tensors(case: Case, device: str, wants: bool = False) -> list[Any]:
    """The arguments on a device; float and complex arrays require grad if `wants`."""

    def on_device(a: np.ndarray) -> Any:
        wanting = wants and (is_float(a) or is_complex(a))
        return wgtorch.tensor(a, device=device, requires_grad=wanting)

    return list(mapped(case, on_device).args)


def strided(array: np.ndarray, device: str) -> Any:
    """The same elements, with gaps between them and dimensions in another order in memory."""
    if not array.ndim:
        return wgtorch.tensor([array, array], device=device).select(0, 1)
    spread = np.repeat(array.T, 2, axis=-1)
    return (
        wgtorch.tensor(spread, device=device)
        ._slice(-1, 1, None, 2)
        .permute(tuple(reversed(range(array.ndim))))
    )


def leaves(args: list[Any]) -> Iterator[Any]:
    """The tensors among the arguments that require grad."""
    for a in args:
        if isinstance(a, list | tuple):
            yield from leaves(a)
        elif isinstance(a, wgtorch.Tensor) and a.requires_grad:
            yield a


# What comes out


def run(case: Case, args: list[Any]) -> Any:
    try:
        return PUBLIC[case.op.name](*args, **case.attrs)
    except TypeError as error:
        if "use .float()" in str(error) and not is_wide(case):
            pytest.skip(str(error))
        raise


def is_wide(case: Case) -> bool:
    """Whether it was float64 from the start."""
    return any(is_array(a) and a.dtype in (np.float64, np.complex128) for a in case.args)


def results(value: Any) -> list[Any]:
    """One result or several, as a list."""
    return list(value) if isinstance(value, tuple | list) else [value]


def arrays(value: Any) -> list[np.ndarray]:
    """Results as numpy; halves widened, which is exact."""
    return [widened(np.asarray(plain(v))) for v in results(value)]


def plain(value: Any) -> Any:
    return value.detach().cpu().numpy() if isinstance(value, wgtorch.Tensor) else value


def widened(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype.kind in "fV" and array.itemsize == 2 else array


def expected(case: Case) -> list[np.ndarray]:
    """By the reference, in float64."""
    with wgtorch.no_grad():
        return arrays(run(case, tensors(wide(case), "cpu")))


def assert_same(got: list[np.ndarray], want: list[np.ndarray], tolerance: float,
                smallest: float = 0.0, signs: bool = False) -> None:  # fmt: skip
    """Equal but for rounding; NaN where NaN; with `signs`, -0 where -0."""
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape
        assert g.dtype.kind == w.dtype.kind, f"{g.dtype} where {w.dtype} was expected"
        if g.dtype.kind not in "fc":
            np.testing.assert_array_equal(g, w)
            continue
        with np.errstate(over="ignore"):
            w = w.astype(g.dtype)
        np.testing.assert_allclose(g, w, rtol=tolerance, atol=max(smallest, 1e-37), equal_nan=True)
        if signs:
            g, w = (
                a.view(a.real.dtype) for a in (np.ascontiguousarray(g), np.ascontiguousarray(w))
            )
            np.testing.assert_array_equal(np.signbit(g[w == 0]), np.signbit(w[w == 0]))


# Gradients


def gradients(case: Case, args: list[Any], create_graph: bool = False) -> list[Any]:
    """Of a weighted sum of all float results, for each argument that requires grad."""
    outs = [r for r in results(run(case, args)) if is_differentiable(r)]
    if not outs:
        return []
    weights = [weight_like(out) for out in outs]
    return list(
        wgtorch.autograd.grad(
            outs, list(leaves(args)), weights, create_graph=create_graph, allow_unused=True
        )
    )


def is_differentiable(value: Any) -> bool:
    return isinstance(value, wgtorch.Tensor) and value.requires_grad


def weight_like(x: Any) -> Any:
    """Some numbers of its shape and dtype, always the same."""
    numbers = np.cos(1 + 1.7 * np.arange(x.numel())).reshape(tuple(x.shape))
    numbers = numbers * (1 - 0.7j) if x.dtype.is_complex else numbers
    return wgtorch.tensor(numbers, dtype=x.dtype, device=x.device)


def weighted(values: list[Any]) -> float:
    """The sum whose gradient `gradients` gives; of complex numbers its real part counts."""
    return sum(float(np.sum(plain(v) * plain(weight_like(v)).conj()).real) for v in values)


def differences(value: Callable[[], float], array: np.ndarray, step: float) -> np.ndarray:
    """d value / d array, one coordinate at a time; `value` reads `array` anew each time."""
    slopes = np.zeros(array.shape, array.dtype)
    for place in np.ndindex(array.shape):
        for unit in (1, 1j) if array.dtype.kind == "c" else (1,):
            kept, ends = array[place], []
            for offset in (step * unit, -step * unit):
                array[place] = kept + offset
                ends.append(value())
            array[place] = kept
            slopes[place] += unit * (ends[0] - ends[1]) / (2 * step)
    return slopes
