"""Matrices: what linear algebra asks of them, (..., n, m), and those it is tested on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wgtorch.dtype import DType
from wgtorch.errors import LinalgError
from wgtorch.ops.samples import normal


def matrices(op: str, shape: tuple[int, ...], name: str = "A") -> tuple[int, ...]:
    if len(shape) < 2:
        said = f"{name} must" if name else "must"
        raise LinalgError(f"{op}: The input tensor {said} have at least 2 dimensions.")
    return shape


def square(op: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    matrices(op, shape)
    if shape[-1] != shape[-2]:
        raise LinalgError(
            f"{op}: A must be batches of square matrices, but they are {shape[-2]} by {shape[-1]}"
            " matrices"
        )
    return shape


def check_reflections(op: str, kernel: str, input: Any, tau: Any) -> None:
    """That `tau` holds what scales each of the reflections that are columns of `input`."""
    if tau.ndim != input.ndim - 1:
        raise LinalgError(
            f"{op}: Expected tau to have one dimension less than input, but got tau.ndim equal to"
            f" {tau.ndim} and input.ndim is equal to {input.ndim}"
        )
    if tau.shape[:-1] != input.shape[:-2]:
        raise LinalgError(
            f"{op}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got"
            f" {list(tau.shape[:-1])}"
        )
    if input.dtype.category < 2:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.short}'")


def wide_floats(op: str, kernel: str = "") -> Callable[..., DType]:
    """A dtype rule: float32 and float64, and complex numbers of them, which LAPACK knows."""

    def rule(input: DType, *others: DType | None, **attrs: Any) -> DType:
        if input.category < 2:
            raise RuntimeError(
                f"{op}: Expected a floating point or complex tensor as input. Got {input.short}"
            )
        if input.itemsize < 4:
            if kernel:
                raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.short}'")
            raise RuntimeError(f"{op}: Low precision dtypes not supported. Got {input.short}")
        return input

    return rule


def each_matrix(function: Callable, *arrays: np.ndarray) -> list[np.ndarray]:
    """The function of every matrix of a batch; its results as batches."""
    batch = arrays[0].shape[:-2]
    flat = [a.reshape((-1, *a.shape[len(batch) :])) for a in arrays]
    made = [function(*parts) for parts in zip(*flat, strict=True)]
    return [np.stack(parts).reshape((*batch, *parts[0].shape)) for parts in zip(*made, strict=True)]


def which(place: int, batched: bool) -> str:
    return f"(Batch element {place}): " if batched else ""


def transposed(x: Any) -> Any:
    return x.transpose(-2, -1)


def adjoint(x: Any) -> Any:
    return x.transpose(-2, -1).conj()


def diagonal_of(x: Any) -> Any:
    return x.diagonal(0, -2, -1)


def well_conditioned(rng, *shape: int) -> np.ndarray:
    """Far from singular."""
    out = normal(rng, *shape)
    for k in range(min(shape[-2:])):
        out[..., k, k] += np.float32(4)
    return out


def positive_definite(rng, *shape: int) -> np.ndarray:
    root = well_conditioned(rng, *shape)
    return root @ root.swapaxes(-1, -2) / 4


def symmetric(rng, *shape: int) -> np.ndarray:
    """With eigenvalues apart from each other."""
    out = normal(rng, *shape)
    steps = np.diag(np.arange(shape[-1], dtype=np.float32) * 3)
    return (out + out.swapaxes(-1, -2)) / 4 + steps
