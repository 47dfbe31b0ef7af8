"""Spectral normalization: a weight divided by its largest singular value (Miyato et al., 2018).

The value is estimated by the power method, which goes on by some steps with each forward.
"""

from __future__ import annotations

from typing import Any

from wgtorch import Tensor, dot, mv, no_grad
from wgtorch.nn import functional as F
from wgtorch.nn.module import Module
from wgtorch.nn.parameter import Parameter, is_lazy
from wgtorch.nn.transposed import ConvTranspose
from wgtorch.nn.utils.computed import refuse_second, taken_off


def default_dim(module: Module) -> int:
    """The dimension of the outputs in a module's weight."""
    return 1 if isinstance(module, ConvTranspose) else 0


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """`dim` first, all others as one."""
    return weight.movedim((dim,), destination=(0,)).flatten(1)


def random_direction(matrix: Tensor, size: int, eps: float) -> Tensor:
    return F.normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps)


def check_iterations(n_power_iterations: int) -> None:
    if n_power_iterations <= 0:
        raise ValueError(
            "Expected n_power_iterations to be positive, but "
            f"got n_power_iterations={n_power_iterations}"
        )


class SpectralNorm:
    """The hook that computes `weight` from `weight_orig` before each forward."""

    _version = 1  # since which `weight` is not saved, and `weight_v` is

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0,
                 eps: float = 1e-12):  # fmt: skip
        check_iterations(n_power_iterations)
        self.name, self.dim, self.eps = name, dim, eps
        self.n_power_iterations = n_power_iterations

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        weight, u, v = [getattr(module, self.name + end) for end in ("_orig", "_u", "_v")]
        matrix = self.reshape_weight_to_matrix(weight)
        with no_grad():
            for _ in range(self.n_power_iterations if do_power_iteration else 0):
                v.copy_(F.normalize(mv(matrix.t(), u), dim=0, eps=self.eps))
                u.copy_(F.normalize(mv(matrix, v), dim=0, eps=self.eps))
        return weight / dot(u, mv(matrix, v))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def remove(self, module: Module) -> None:
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for end in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def applied(self, module: Module) -> None:
        weight = module._parameters[self.name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{self.name}` is None")
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. "
                "Make sure to run the dummy forward before applying spectral normalization"
            )
        matrix = self.reshape_weight_to_matrix(weight.detach())
        u, v = [random_direction(matrix, size, self.eps) for size in matrix.shape]
        delattr(module, self.name)
        module.register_parameter(self.name + "_orig", weight)
        setattr(module, self.name, weight.data)  # for whoever initializes it before a forward
        module.register_buffer(self.name + "_u", u)
        module.register_buffer(self.name + "_v", v)
        module.register_forward_pre_hook(self)
        module._register_state_dict_hook(SpectralNormStateDictHook(self))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(self))

    def solved(self, matrix: Tensor, u: Tensor, sigma: Tensor) -> Tensor:
        """The v for which u = normalize(W v) and u W v = sigma."""
        v = (matrix.t() @ matrix).pinverse() @ (matrix.t() @ u)
        return v * (sigma / dot(u, mv(matrix, v)))


class SpectralNormStateDictHook:
    """Notes the version of the state that it saves."""

    def __init__(self, fn: SpectralNorm):
        self.fn = fn

    def __call__(self, module: Module, state_dict: Any, prefix: str, local_metadata: Any) -> None:
        noted = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in noted:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        noted[key] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """Works `weight_v` out for state of version 0, which has `weight` in its place."""

    def __init__(self, fn: SpectralNorm):
        self.fn = fn

    def __call__(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        fn = self.fn
        version = local_metadata.get("spectral_norm", {}).get(fn.name + ".version")
        if version is not None and version >= 1:
            return
        key = prefix + fn.name
        is_new = all(key + end in state_dict for end in ("_orig", "_u", "_v"))
        if version is None and is_new and key not in state_dict:
            return
        missing = [key + end for end in ("_orig", "", "_u") if key + end not in state_dict]
        if missing:
            missing_keys += missing if strict else []
            return
        with no_grad():
            original, weight = state_dict[key + "_orig"], state_dict.pop(key)
            matrix = fn.reshape_weight_to_matrix(original)
            sigma = (original / weight).mean()
            state_dict[key + "_v"] = fn.solved(matrix, state_dict[key + "_u"], sigma)


STATE_HOOKS = SpectralNormStateDictHook, SpectralNormLoadStateDictPreHook


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> Module:  # fmt: skip
    """Divide a parameter by its largest singular value before each forward; returns the module.

    `dim` is that of the outputs: 0, and 1 in transposed convolutions. The parameter is then
    `NAME_orig`, beside buffers `NAME_u` and `NAME_v`. `parametrizations.spectral_norm` is newer.
    """
    refuse_second(module, SpectralNorm, name, "spectral_norm")
    dim = default_dim(module) if dim is None else dim
    SpectralNorm(name, n_power_iterations, dim, eps).applied(module)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make the present weight a parameter again; ValueError if it is not normalized."""
    taken_off(module, SpectralNorm, name, "spectral_norm")
    for hooks in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for key, hook in list(hooks.items()):
            if isinstance(hook, STATE_HOOKS) and hook.fn.name == name:
                del hooks[key]
    return module
