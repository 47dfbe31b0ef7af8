"""New arrays, by the array API standard."""

from __future__ import annotations

from typing import Any

import wgtorch
from wgtorch import Tensor

__all__ = ["arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like",
           "linspace", "meshgrid", "ones", "ones_like", "tril", "triu", "zeros",
           "zeros_like"]  # fmt: skip


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Tensor:
    """An array of an array, a number, nested sequences or a buffer; a copy if and only if asked."""
    if isinstance(obj, Tensor):
        result = obj.to(device=device or obj.device, dtype=dtype or obj.dtype)
        if copy is False and result is not obj:
            raise ValueError("asarray: another dtype or device is a copy, which copy=False forbids")
        return result.clone() if copy and result is obj else result
    if copy is False and not hasattr(obj, "__dlpack__"):
        raise ValueError(f"asarray: {type(obj).__name__} cannot be an array without a copy")
    return wgtorch.asarray(obj, dtype=dtype, device=device, copy=copy)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """The memory of another library's array; on another device, or with `copy`, a copy of it."""
    result = x if isinstance(x, Tensor) else wgtorch.from_dlpack(x)
    return asarray(result, device=device, copy=copy)


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: Any = None,
    device: Any = None,
) -> Tensor:  # fmt: skip
    """Numbers from start (or 0) up to stop, step apart; none where the step leads away."""
    start, stop = (0, start) if stop is None else (start, stop)
    if (stop - start) * step <= 0:
        kind = dtype or (wgtorch.int64 if all_integers(start, stop, step) else None)
        return wgtorch.empty(0, dtype=kind, device=device)
    return wgtorch.arange(start, stop, step, dtype=dtype, device=device)


def all_integers(*numbers: float) -> bool:
    return all(isinstance(n, int) for n in numbers)


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None,
    endpoint: bool = True,
) -> Tensor:  # fmt: skip
    """`num` numbers evenly from start to stop, which is left out without `endpoint`."""
    if dtype is None and (isinstance(start, complex) or isinstance(stop, complex)):
        dtype = wgtorch.get_default_dtype().to_complex()
    if endpoint:
        return wgtorch.linspace(start, stop, num, dtype=dtype, device=device)
    return wgtorch.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere."""
    columns = n_rows if n_cols is None else n_cols
    ones = wgtorch.ones((n_rows, columns), dtype=dtype, device=device)
    return ones.triu(k).tril(k)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A number everywhere; its kind says the dtype unless one is given."""
    return wgtorch.full(listed(shape), fill_value, dtype=dtype, device=device)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Any numbers."""
    return wgtorch.empty(listed(shape), dtype=dtype, device=device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones everywhere."""
    return wgtorch.ones(listed(shape), dtype=dtype, device=device)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Zeros everywhere."""
    return wgtorch.zeros(listed(shape), dtype=dtype, device=device)


def listed(shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def full_like(x: Tensor, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A number everywhere, in the shape of x."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def empty_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Any numbers, in the shape of x."""
    return empty(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def ones_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones, in the shape of x."""
    return ones(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def zeros_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Zeros, in the shape of x."""
    return zeros(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """The coordinates of a grid; "xy" has the first array along dimension 1, "ij" along 0."""
    if not arrays:
        return ()
    return tuple(wgtorch.meshgrid(list(arrays), indexing=indexing))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The lower triangles of matrices, up to the k-th diagonal."""
    return wgtorch.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The upper triangles of matrices, from the k-th diagonal on."""
    return wgtorch.triu(x, k)
