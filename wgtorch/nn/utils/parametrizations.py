"""Parametrizations of weights: as a length times a direction, of spectral norm 1, orthogonal."""

from __future__ import annotations

from typing import Any

from wgtorch import (
    Tensor,
    allclose,
    cat,
    eye,
    finfo,
    geqrf,
    mv,
    no_grad,
    orgqr,
    randn,
    vdot,
    where,
    zeros_like,
)  # fmt: skip
from wgtorch.nn import functional as F
from wgtorch.nn.module import Module
from wgtorch.nn.utils.parametrize import register_parametrization
from wgtorch.nn.utils.spectral_norm import (
    as_matrix,
    check_iterations,
    default_dim,
    random_direction,
)
from wgtorch.nn.utils.weight_norm import WHOLE, norm_except_dim, normalized

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

MAPS = ("matrix_exp", "cayley", "householder")


# Of a length and a direction


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0):
        super().__init__()
        self.dim = WHOLE if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return normalized(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


class OldNames:
    """Loads state that `nn.utils.weight_norm` saved."""

    def __init__(self, name: str):
        self.name = name

    def __call__(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        old = [f"{prefix}{self.name}_{end}" for end in "gv"]
        if all(key in state_dict for key in old):
            for place, key in enumerate(old):
                new = f"{prefix}parametrizations.{self.name}.original{place}"
                state_dict[new] = state_dict.pop(key)


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Parametrize a tensor as g * v / |v| (Salimans, Kingma, 2016); returns the module.

    g, a length for each index of `dim` or one if it is None, is original0, and v original1.
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(OldNames(name))
    return module


# Of spectral norm 1


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0,
                 eps: float = 1e-12):  # fmt: skip
        super().__init__()
        rank = weight.ndim
        if not -rank <= dim < rank:
            raise IndexError(
                "Dimension out of range (expected to be in range of "
                f"[-{rank}, {rank - 1}] but got {dim})"
            )
        check_iterations(n_power_iterations)
        self.dim, self.eps = dim % rank, eps
        if rank > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight.detach(), self.dim)
            self.register_buffer("_u", random_direction(matrix, matrix.shape[0], eps))
            self.register_buffer("_v", random_direction(matrix, matrix.shape[1], eps))
            self._power_method(matrix, 15)

    @no_grad()
    def _power_method(self, matrix: Tensor, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            self._u.copy_(F.normalize(mv(matrix, self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(mv(matrix.H, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        return weight / vdot(self._u, mv(matrix, self._v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> Module:  # fmt: skip
    """Parametrize a tensor as W / sigma(W), its largest singular value; returns the module.

    A vector is divided by its length. sigma is estimated by the power method, which goes on by
    `n_power_iterations` each time that the tensor is read in training mode (Miyato et al., 2018).
    `dim` is that of the outputs: 0, and 1 in transposed convolutions.
    """
    weight = weight_of(module, name)
    dim = default_dim(module) if dim is None else dim
    made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return register_parametrization(module, name, made)


def weight_of(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


# Orthogonal


class _Orthogonal(Module):
    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        self.trivializes = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        tall = upright(X)
        make = reflected if self.orthogonal_map == "householder" else self._rotated
        Q = make(tall)
        if self.trivializes:
            Q = self.base @ Q
        return Q if tall is X else Q.mT

    def _rotated(self, X: Tensor) -> Tensor:
        """The first columns of the exponential, or the Cayley map, of a skew matrix."""
        n, k = X.shape[-2:]
        X = X.tril()
        if n != k:
            X = cat([X, X.new_zeros(*X.shape[:-2], n, n - k)], dim=-1)
        A = X - X.mH
        if self.orthogonal_map == "matrix_exp":
            Q = A.matrix_exp()
        else:  # (I + A/2) (I - A/2)^-1
            one = eye(n, dtype=A.dtype, device=A.device)
            Q = (one - A / 2)._linalg_solve(one + A / 2)
        return Q if n == k else Q[..., :k]

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. "
                f"Got a tensor of shape {Q.shape}."
            )
        tall = upright(Q)
        if not self.trivializes:
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential "
                    "or the Cayley parametrizations when use_trivialization=False."
                )
            A = reflectors(tall)
            return A if tall is Q else A.mT
        n, k = tall.shape[-2:]
        if n == k:
            self.base = tall.clone() if is_orthogonal(tall) else orthogonalized(tall)
        else:
            more = randn(*tall.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
            self.base = orthogonalized(cat([tall, more], dim=-1))
        start = zeros_like(Q)  # whose reflections, and rotations, are the identity
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def upright(X: Tensor) -> Tensor:
    return X.mT if X.shape[-2] < X.shape[-1] else X


def reflected(X: Tensor) -> Tensor:
    """A product of reflections along the columns below the diagonal; its signs are columns' own."""
    A = X.tril(diagonal=-1)
    Q = orgqr(A, 2.0 / (1.0 + (A * A).sum(dim=-2)))
    return Q * X.detach().diagonal(dim1=-2, dim2=-1).trunc().unsqueeze(-2)


def reflectors(Q: Tensor) -> Tensor:
    """What `reflected` gives a matrix for, whose columns are made orthogonal first."""
    A, tau = geqrf(Q)
    signs = A.diagonal(dim1=-2, dim2=-1).sign()
    A.diagonal(dim1=-2, dim2=-1).copy_(where(tau == 0, -signs, signs))  # 0: no reflection
    return A


def is_orthogonal(Q: Tensor) -> bool:
    n, k = Q.shape[-2:]
    one = eye(k, dtype=Q.dtype, device=Q.device)
    return allclose(Q.mH @ Q, one, atol=10.0 * n * finfo(Q.dtype).eps)


def orthogonalized(A: Tensor) -> Tensor:
    """The Q of A = QR, whose R has no negative number on its diagonal."""
    X, tau = geqrf(A)
    return orgqr(X, tau) * X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *,
    use_trivialization: bool = True,
) -> Module:  # fmt: skip
    """Parametrize a matrix, or a batch of them, as one with Q^H Q = I (Q Q^H if it is wide).

    `orthogonal_map` is how a matrix without constraints becomes such a one: "matrix_exp",
    "cayley" or "householder"; by default the first for square and complex ones, else the last.
    With `use_trivialization` the map starts from a matrix `base` (Lezcano-Casado, 2019), and the
    weight keeps its value if it is orthogonal, else it is made so. Returns the module.
    """
    weight = weight_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
