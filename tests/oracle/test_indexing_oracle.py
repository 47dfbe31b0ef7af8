"""Random index expressions mean what they mean to PyTorch: read, written, and differentiated."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import wgtorch as torch

SHAPES = [(), (4,), (3, 4), (2, 3, 4), (2, 1, 3, 2), (0, 3), (3, 0, 2)]
COUNT = 120  # expressions for each shape


class Array:
    """An index tensor, before it belongs to one of the two libraries."""

    def __init__(self, values: Any):
        self.values = np.asarray(values)

    def __repr__(self) -> str:
        return f"{self.values.dtype}{self.values.tolist()}"


def slice_of(rng, size: int) -> slice:
    ends = [None if rng.random() < 0.3 else int(rng.integers(-size - 1, size + 2)) for _ in "ab"]
    return slice(*ends, None if rng.random() < 0.5 else int(rng.integers(1, 4)))


def integers(rng, size: int, common: list[tuple[int, ...]]) -> Array:
    shape = common[int(rng.integers(len(common)))]
    dtype = np.int64 if rng.random() < 0.8 else np.int32
    if not size:
        return Array(np.zeros(0, dtype))
    return Array(rng.integers(-size, size, shape).astype(dtype))


def expression(rng, shape: tuple[int, ...]) -> Any:
    """A random index into a tensor of `shape`."""
    parts: list[Any] = []
    size = int(rng.integers(1, 4))
    common = [(size,), (1,), (2, size), (2, 1), ()]
    dim, ellipsis = 0, False
    while dim < len(shape) and rng.random() < 0.85:
        kind = rng.integers(0, 100)
        if kind < 20 and shape[dim]:
            parts.append(int(rng.integers(-shape[dim], shape[dim])))
        elif kind < 50:
            parts.append(slice_of(rng, shape[dim]))
        elif kind < 60:
            parts.append(None)
            continue
        elif kind < 65:
            parts.append(bool(rng.integers(2)))
            continue
        elif kind < 75 and not ellipsis:
            parts.append(Ellipsis)
            ellipsis = True
            dim += int(rng.integers(0, len(shape) - dim + 1))
            continue
        elif kind < 80 and shape[dim]:
            parts.append([int(n) for n in rng.integers(-shape[dim], shape[dim], size)])
        elif kind < 90:
            parts.append(integers(rng, shape[dim], common))
        else:
            covered = int(rng.integers(1, len(shape) - dim + 1))
            parts.append(Array(rng.random(shape[dim : dim + covered]) < 0.5))
            dim += covered
            continue
        dim += 1
    return parts[0] if len(parts) == 1 and rng.random() < 0.7 else tuple(parts)


def resolved(index: Any, library: Any, device: str) -> Any:
    if isinstance(index, tuple):
        return tuple(resolved(part, library, device) for part in index)
    if isinstance(index, Array):
        return library.tensor(index.values, device=device)
    return index


def outcome(action) -> Any:
    """What came out, or the exception, which on a GPU shows at the next sync."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = action()
            if isinstance(result, torch.Tensor) and result.is_webgpu:
                torch.webgpu.synchronize()
            return result
        except (IndexError, RuntimeError, TypeError, ValueError) as error:
            return error


def same(got: Any, want: Any, index: Any) -> bool:
    """Asserts that the outcomes are alike; whether there is a result."""
    if isinstance(want, Exception):
        assert isinstance(got, type(want)), f"{index!r}: {got!r} instead of {want!r}"
        return False
    assert not isinstance(got, Exception), f"{index!r}: {got!r} instead of a result"
    got, want = got.detach().cpu().numpy(), want.detach().numpy()
    np.testing.assert_array_equal(got, want, err_msg=repr(index), strict=True)
    return True


def cases(shape):
    rng = np.random.default_rng(len(shape) * 100 + sum(shape))
    for _ in range(COUNT if shape else 20):
        yield rng, expression(rng, shape)


@pytest.mark.parametrize("layout", ["plain", "strided"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_read(shape, layout, device):
    def laid_out(library, place):
        if layout == "plain" or not shape:
            return library.tensor(values, device=place)
        wide = np.repeat(values.T, 2, axis=-1)
        whole = library.tensor(wide, device=place)[..., 1::2]
        return whole.permute(tuple(reversed(range(len(shape)))))

    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    mine, theirs = laid_out(torch, device), laid_out(pytorch, "cpu")
    for _, index in cases(shape):
        got = outcome(lambda: mine[resolved(index, torch, device)])  # noqa: B023
        want = outcome(lambda: theirs[resolved(index, pytorch, "cpu")])  # noqa: B023
        same(got, want, index)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_write(shape, device):
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    for rng, index in cases(shape):
        mine, theirs = torch.tensor(values, device=device), pytorch.tensor(values)
        want = outcome(lambda: theirs[resolved(index, pytorch, "cpu")])  # noqa: B023
        if isinstance(want, Exception) or repeats(index, shape):
            continue
        value = written(rng, tuple(want.shape))
        outcome(lambda: assign(theirs, index, value, pytorch, "cpu"))  # noqa: B023
        got = outcome(lambda: assign(mine, index, value, torch, device))  # noqa: B023
        assert not isinstance(got, Exception), f"{index!r}: {got!r}"
        same(mine, theirs, (index, value))


def assign(target, index, value, library, device):
    if isinstance(value, np.ndarray):
        value = library.tensor(value, device=device)
    target[resolved(index, library, device)] = value


def written(rng, shape: tuple[int, ...]) -> Any:
    """A number, or an array that broadcasts to `shape`."""
    if rng.random() < 0.3:
        return float(rng.integers(100, 200))
    kept = shape[int(rng.integers(0, len(shape) + 1)) :]
    kept = tuple(n if rng.random() < 0.7 else 1 for n in kept)
    return rng.integers(100, 200, kept).astype(np.float32)


def repeats(index, shape) -> bool:
    """Whether the expression names an element twice: then either value may stay."""
    places = pytorch.arange(int(np.prod(shape))).reshape(shape)
    named = places[resolved(index, pytorch, "cpu")]
    return named.unique().numel() < named.numel()


@pytest.mark.parametrize("shape", [s for s in SHAPES if 0 not in s], ids=str)
def test_gradient(shape, device):
    """Of what is read, and of what is written: of the target and of the value."""
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 4
    for rng, index in list(cases(shape))[:40]:
        want = outcome(lambda: pytorch.tensor(values)[resolved(index, pytorch, "cpu")])  # noqa: B023
        if isinstance(want, Exception):
            continue
        weights = rng.integers(1, 9, tuple(want.shape)).astype(np.float32)
        once = not repeats(index, shape)
        grads = [
            gradients(library, place, values, index, weights, once)
            for library, place in ((torch, device), (pytorch, "cpu"))
        ]
        for got, expected in zip(*grads, strict=True):
            np.testing.assert_allclose(
                got.cpu().numpy(), expected.numpy(), rtol=1e-6, err_msg=repr(index), strict=True
            )


def gradients(library, device, values, index, weights, once) -> list[Any]:
    x = library.tensor(values, device=device, requires_grad=True)
    weight = library.tensor(weights, device=device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read = x[resolved(index, library, device)]
        (x * x)[resolved(index, library, device)].backward(weight)
        found = [x.grad]
        if once:
            value = library.tensor(weights, device=device, requires_grad=True)
            y = x * 2
            y[resolved(index, library, device)] = value * 3
            loss = (y * y).sum() + (read * weight).sum()
            found += library.autograd.grad(loss, [x, value])
    return list(found)
