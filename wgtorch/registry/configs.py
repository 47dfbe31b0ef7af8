"""What is registered: kernels as functions of numpy or as shaders, and when they are used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wgtorch.dtype import DType
from wgtorch.op import Facts

CPUForwardFn = Callable[..., Any]  # numpy arrays, attributes -> numpy array, or several
ScalarCPUForwardFn = Callable[..., Any]  # the same, with a Python number among the arrays
KernelPredicate = Callable[..., bool]  # shapes, dtypes and attributes by name -> whether it fits


@dataclass(frozen=True, kw_only=True)
class BaseKernelConfig:
    """What every kernel may say: when it is used."""

    dtypes: tuple[DType, ...] = ()  # of the first tensor; empty: any
    predicate: KernelPredicate | None = None
    priority: int = 0  # of kernels that say equally much, the higher goes first
    override: bool = False  # goes before all that do not say this, however much those say


@dataclass(frozen=True, kw_only=True)
class CPUKernelConfig(BaseKernelConfig):
    """A function of numpy arrays. On other devices than the cpu it reads them back: it is slow."""

    forward: CPUForwardFn


@dataclass(frozen=True, kw_only=True)
class TensorKernelConfig(BaseKernelConfig):
    """A function of tensors, for composed dtypes: `x.NAME` is the component NAME of an operand.

    It returns what the op's result is: a tensor, components by name, or a tuple of these.
    """

    forward: Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class DispatchConfig:
    """How many workgroups run: fixed, or by `groups(facts) -> (x, y, z)`."""

    groups: tuple[int, int, int] | Callable[[Facts], tuple[int, int, int]] = (1, 1, 1)

    def of(self, facts: Facts) -> tuple[int, int, int]:
        return self.groups(facts) if callable(self.groups) else self.groups


@dataclass(frozen=True, kw_only=True)
class WebGPUKernelConfig(BaseKernelConfig):
    """A shader: either `fn value_at(i: u32) -> result_type`, element i of the result, or a whole
    one with `@compute @workgroup_size(...) fn main` and a `dispatch`.

    Inputs are read by `NAME_nth(i)`, element i in row-major order (of an elementwise op after
    broadcasting), results written by `set_result(i, value)`. Numbers that the comment at the top
    lists behind `launch:` are `launch.NAME`: an attribute of the op, `numel` of the result, or
    what `numbers(facts)` returns, in that order.
    """

    source: str
    dispatch: DispatchConfig | None = None
    numbers: Callable[[Facts], tuple[float, ...]] | None = None


class ScalarCPUKernelConfig(CPUKernelConfig):
    """A function of numpy arrays and one Python number."""


class ScalarWebGPUKernelConfig(WebGPUKernelConfig):
    """A shader; the number is `launch.NAME`, by the name of the operand."""


BinaryKernelConfigCPU = UnaryKernelConfigCPU = ReductionKernelConfigCPU = CPUKernelConfig
KernelConfigWebGPU = WebGPUKernelConfig
KernelConfig = CPUKernelConfig | TensorKernelConfig | WebGPUKernelConfig
BinaryKernelCPU = UnaryKernelCPU = ReductionKernelCPU = CPUForwardFn
KernelWebGPU = WebGPUKernelConfig
