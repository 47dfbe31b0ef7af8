"""Transforms of vectors and matrices, and of parts, each by its own transform."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.distributions import constraints
from wgtorch.distributions.independent import sum_rightmost
from wgtorch.distributions.mapping import SameKind, Transform
from wgtorch.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from wgtorch.nn.functional import logsigmoid, pad, softplus


class SoftmaxTransform(SameKind):
    """y = softmax(x), of which log y is one source of many"""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    inverse_shape = forward_shape


def longer(shape: Any, by: int) -> Any:
    if len(shape) < 1:
        raise ValueError("Too few dimensions on input")
    return wgtorch.Size((*shape[:-1], shape[-1] + by))


class StickBreakingTransform(SameKind):
    """A point of the simplex by K - 1 numbers, each of which says which share of the rest to take:
    sigmoid(x_k - log(K - k)), which takes equal ones at 0."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        shares = (x - rest_of(x).log()).sigmoid()
        kept = (1 - shares).cumprod(-1)
        return pad(shares, [0, 1], value=1) * pad(kept, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        first = y[..., :-1]
        rest = (1 - first.cumsum(-1)).clamp(min=wgtorch.finfo(y.dtype).tiny)
        return first.log() - rest.log() + rest_of(first).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - rest_of(x).log()
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        return longer(shape, 1)

    def inverse_shape(self, shape: Any) -> Any:
        return longer(shape, -1)


def rest_of(x: Tensor) -> Tensor:
    """How many parts are left to share at each place: n, n - 1, ... 1."""
    n = x.shape[-1]
    return wgtorch.arange(n, 0, -1, dtype=x.dtype, device=x.device)


class CorrCholeskyTransform(Transform):
    """The Cholesky factor of a correlation matrix by D (D - 1) / 2 numbers.

    z = tanh(x) are partial correlations; row by row each takes its share of what is left of the
    row's length 1: L_ij = z_ij sqrt(prod over k < j of (1 - z_ik^2)).
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = wgtorch.finfo(x.dtype).eps
        z = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - z * z).sqrt().cumprod(-1)
        ones = wgtorch.eye(z.shape[-1], dtype=z.dtype, device=z.device)
        return (z + ones) * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = 1 - (y * y).cumsum(-1)
        left = pad(left[..., :-1], [1, 0], value=1)
        z = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (z.log1p() - (-z).log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        left = 1 - (y * y).cumsum(-1)
        lengths = tril_matrix_to_vec(left, diag=-2).log().sum(-1) / 2
        return lengths - 2 * (x + softplus(-2 * x) - log(2.0)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return wgtorch.Size((*shape[:-1], size, size))

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return wgtorch.Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class LowerCholeskyTransform(SameKind):
    """Lower triangles with positive diagonals: exp of what stands there"""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(0, -2, -1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(0, -2, -1).log().diag_embed()


class PositiveDefiniteTransform(SameKind):
    """L L^T of what LowerCholeskyTransform makes"""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        lower = LowerCholeskyTransform()(x)
        return lower @ lower.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(wgtorch.linalg.cholesky(y))


class Parts(Transform):
    """A transform for each part along a dimension."""

    transforms: list[Transform]
    dim: int
    lengths: list[int]
    whole = "length"  # what errors call all of them

    @staticmethod
    def checked(tseq: Sequence[Transform], cache_size: int) -> list[Transform]:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        return [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)

    def _split(self, value: Tensor) -> Sequence[Tensor]:
        raise NotImplementedError

    def _joined(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _demand(self, value: Tensor, name: str = "x") -> None:
        wanted = sum(self.lengths)
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {value.dim()} dims")
        if (size := value.shape[self.dim]) != wanted:
            raise AssertionError(
                f"{name}.size({self.dim}) = {size} must equal {self.whole} {wanted}"
            )

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    def _call(self, x: Tensor) -> Tensor:
        self._demand(x)
        pairs = zip(self.transforms, self._split(x), strict=True)
        return self._joined([t(part) for t, part in pairs])

    def _inverse(self, y: Tensor) -> Tensor:
        self._demand(y, "y")
        pairs = zip(self.transforms, self._split(y), strict=True)
        return self._joined([t.inv(part) for t, part in pairs])


class CatTransform(Parts):
    """Transforms of parts that are `lengths` long, 1 unless they are given"""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0,
                 lengths: Sequence[int] | None = None, cache_size: int = 0):  # fmt: skip
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = self.checked(tseq, cache_size), dim
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})"
            )

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        return sum(self.lengths)

    def _remade(self, cache_size: int) -> Transform:
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _split(self, value: Tensor) -> Sequence[Tensor]:
        return value.split(self.lengths, self.dim)

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return wgtorch.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        self._demand(x)
        self._demand(y, "y")
        changes = []
        for t, part, image in zip(self.transforms, self._split(x), self._split(y), strict=True):
            change = t.log_abs_det_jacobian(part, image)
            changes.append(sum_rightmost(change, self.event_dim - t.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return wgtorch.cat(changes, dim) if dim < 0 else sum(changes[1:], changes[0])

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(Parts):
    """Transforms of the slices along a dimension"""

    whole = "len(transforms)"

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = self.checked(tseq, cache_size), dim
        self.lengths = [1] * len(self.transforms)

    def _remade(self, cache_size: int) -> Transform:
        return StackTransform(self.transforms, self.dim, cache_size)

    def _split(self, value: Tensor) -> Sequence[Tensor]:
        return value.unbind(self.dim)

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return wgtorch.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        self._demand(x)
        self._demand(y, "y")
        triples = zip(self.transforms, self._split(x), self._split(y), strict=True)
        return self._joined([t.log_abs_det_jacobian(part, image) for t, part, image in triples])

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
