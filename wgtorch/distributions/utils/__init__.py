"""What distributions are written with: numbers as tensors, properties worked out once, vectors
and triangles of each other."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.layout import broadcast

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits",
           "tril_matrix_to_vec", "vec_to_tril_matrix"]  # fmt: skip


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape; numbers are as the first tensor is."""
    if not all(isinstance(v, Tensor | Number) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing"
            " __torch_function__."
        )
    like = next((v for v in values if isinstance(v, Tensor)), None)
    dtype, device = (like.dtype, like.device) if like is not None else (None, None)
    dtype = dtype or wgtorch.get_default_dtype()
    tensors = [
        v if isinstance(v, Tensor) else wgtorch.tensor(v, dtype=dtype, device=device)
        for v in values
    ]
    shape = broadcast(*(t.layout.shape for t in tensors))
    return tuple(t if t.layout.shape == shape else t.expand(shape) for t in tensors)


class lazy_property:
    """A property that is worked out when it is first asked for, with gradients, and kept."""

    def __init__(self, work_out: Callable[[Any], Any]):
        self.work_out, self.__doc__ = work_out, work_out.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with wgtorch.enable_grad():
            value = vars(instance)[self.name] = self.work_out(instance)
        return value


def clamp_probs(probs: Tensor) -> Tensor:
    """Away from 0 and 1 by what the dtype can tell from them."""
    eps = wgtorch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of log odds (`is_binary`), or of unnormalized logarithms along the last dim."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log odds of probabilities (`is_binary`), or their logarithms; none is infinite."""
    probs = clamp_probs(probs)
    return probs.log() - (-probs).log1p() if is_binary else probs.log()


def places(size: int, diag: int, device: Any) -> Tensor:
    """Where the elements of a triangle are among those of a square, row by row."""
    rows, columns = wgtorch.tril_indices(size, size, diag, device=device)
    return rows * size + columns


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of lower triangles, up to diagonal `diag`, as vectors."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat.flatten(-2).index_select(-1, places(n, diag, mat.device))


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Square matrices whose lower triangles, up to diagonal `diag`, are made of vectors."""
    count = vec.shape[-1]
    root = ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5
    n = (root - 1 - 2 * diag) / 2
    size = round(n)
    if abs(n - size) > wgtorch.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower"
            " triangular part of a square D x D matrix."
        )
    flat = vec.new_zeros((*vec.shape[:-1], size * size))
    index = places(size, diag, vec.device).expand(vec.shape)
    return flat.scatter(-1, index, vec).unflatten(-1, (size, size))
