"""What a kernel of a user must be, said when it is registered: before a call can meet it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from wgtorch.dtype import DType
from wgtorch.errors import (
    InvalidConfigError,
    KernelSignatureMismatchError,
    OpKindMismatchError,
)
from wgtorch.op import Composite, Draw, Op, Structured, ViewOp
from wgtorch.registry.configs import (
    KernelConfig,
    TensorKernelConfig,
    WebGPUKernelConfig,
)
from wgtorch.registry.shaders import check_source


def checked(op: Op, device: str, config: KernelConfig) -> None:
    if isinstance(op, Composite | ViewOp | Draw):
        kind = type(op).__name__
        why = {
            "Composite": "it is a formula of other ops: register a kernel for those",
            "ViewOp": "it moves no data",
            "Draw": "its numbers are those of a counter, the same on every device",
        }[kind]
        raise OpKindMismatchError(f"{op.name} ({kind}) has no kernels: {why}")
    if not isinstance(config, KernelConfig):
        raise no_kernel(config)
    if type(config.priority) is not int:
        raise InvalidConfigError(
            f"a kernel of {op.name}: priority= must be an int, not {config.priority!r}"
        )
    if config.predicate is not None:
        check_predicate(op, config.predicate)
    if isinstance(config, WebGPUKernelConfig):
        if device != "webgpu":
            raise InvalidConfigError(f"a shader runs on webgpu, not on {device}")
        if isinstance(op, Structured) and (op.starts_as or "Tensors" in op.markers.values()):
            raise OpKindMismatchError(
                f"{op.name} takes a list of tensors or writes into one, which shaders of users"
                " cannot; register a function of numpy arrays"
            )
        check_source(op.name, config)
        return
    if not callable(config.forward):
        raise no_kernel(config)
    check_parameters(op, "a kernel", config.forward, op.inputs, (*op.inputs, *op.attrs))


def no_kernel(given: Any) -> InvalidConfigError:
    return InvalidConfigError(
        f"a kernel is a function, WGSL, a CPUKernelConfig or a WebGPUKernelConfig, not {given!r}"
    )


def check_predicate(op: Op, predicate: Any) -> None:
    if not callable(predicate):
        raise InvalidConfigError(
            f"a kernel of {op.name}: predicate= must be a function, not {predicate!r}"
        )
    facts = [f"{name}_{what}" for name in op.inputs for what in ("shape", "dtype")]
    check_parameters(op, "a predicate", predicate, (), (*facts, *op.attrs))


def check_parameters(op: Op, what: str, function: Callable[..., Any], needed: tuple[str, ...],
                     known: tuple[str, ...]) -> None:  # fmt: skip
    """It names all that is `needed`, and of what else is `known` as much as it wants."""
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:
        return  # numpy's own functions have no signature to ask
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    unknown = [n for n, p in parameters.items() if n not in known and p.default is p.empty]
    missing = [n for n in needed if n not in parameters]
    if unknown or missing:
        rest = ", ".join(known[len(needed) :]) or "no others"
        must = f"has the parameters {', '.join(needed)} and may have" if needed else "may have"
        raise KernelSignatureMismatchError(
            f"{what} of {op.name} {must} {rest}; this one has {', '.join(parameters)}"
        )


def check_dtypes(config: KernelConfig, dtypes: tuple[DType, ...]) -> None:
    """Kernels are for plain dtypes, or for composed ones."""
    composed = [dtype for dtype in dtypes if dtype.encoding is not None]
    of_tensors = isinstance(config, TensorKernelConfig)
    if composed and not of_tensors:
        raise InvalidConfigError(
            f"{composed[0]} is made of components: its kernels are functions of tensors"
            " (TensorKernelConfig)"
        )
    if of_tensors and (not composed or len(composed) < len(dtypes)):
        raise InvalidConfigError("TensorKernelConfig: dtypes must be composed ones, at least one")
