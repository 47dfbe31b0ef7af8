"""Elementwise ops of users in one call: a numpy function, a WGSL expression, gradients."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wgtorch.backends.webgpu.library import OWN_OPS
from wgtorch.dtype import ALL, DType
from wgtorch.errors import InvalidConfigError, suggestion
from wgtorch.op import Elementwise, declare
from wgtorch.registry.answers import fitted, rank, read_only
from wgtorch.registry.gradients import fitting_all
from wgtorch.registry.handles import FunctionHandle
from wgtorch.registry.integers import check_integers, ones
from wgtorch.registry.opening import check_name, make_room, opened
from wgtorch.registry.shaders import tensors_of, with_numbers
from wgtorch.tensor import Tensor

RESULTS = ("same", "float", "bool")
REAL = [dtype for dtype in ALL if dtype.category < 3]
GROUPS = tuple(
    dict.fromkeys(["", "float", "int", *[d.wgsl for d in REAL], *[d.name for d in REAL]])
)
UnaryOpFn = Callable[[Tensor], Tensor]
Formulas = dict[str, Callable[..., Any] | None]  # of gradients, by input
UnaryOpParams = dict[str, float]  # attributes of an op and their defaults


@dataclass(frozen=True, kw_only=True)
class UnaryOpConfig:
    """An elementwise op of one tensor.

    `cpu` is a numpy function; its parameters without annotation are the tensors, others are
    numbers, as are those with a number for a default. `wgsl` is an expression over the same names
    (a dict: one for each of "float", "int" ...). `backward` maps inputs to gradient formulas, or to
    None where there is no gradient; to an input without either, backward raises RuntimeError.
    `result` is "same", "float" (integers become float32) or "bool"; with "same", integers of which
    the function makes floats are TypeError.
    """

    name: str
    cpu: Callable[..., Any]
    wgsl: str | dict[str, str]
    backward: Formulas = field(default_factory=dict)
    result: str = "same"
    doc: str = ""
    override: bool = False  # whether it may take the place of another op of a user


class BinaryOpConfig(UnaryOpConfig):
    """An elementwise op of two tensors, which broadcast and promote."""


class OwnElementwise(Elementwise):
    def compute_dtype(self, *kinds: Any) -> DType:
        dtype = super().compute_dtype(*kinds)
        self.expression(dtype)
        if self.result == "same":
            attrs = {n: 1.0 if a is inspect.Parameter.empty else a for n, a in self.attrs.items()}
            arrays = dict.fromkeys(self.inputs, ones(dtype))
            own = inspect.unwrap(self.reference)  # what the user wrote, not held to an answer
            check_integers(self.name, own, arrays, attrs, dtype, 'result="float"')
        return dtype

    def expression(self, compute: DType) -> str:
        try:
            return super().expression(compute)
        except KeyError:
            raise TypeError(
                f"{self.name}(): wgsl= has no expression for {compute}, only for"
                f" {', '.join(self.wgsl)}; use .to(...), or add one"
            ) from None


def check_expressions(name: str, wgsl: Any) -> None:
    said = wgsl if isinstance(wgsl, dict) else {"": wgsl}
    if not said or not all([isinstance(text, str) and text.strip() for text in said.values()]):
        raise InvalidConfigError(
            f"{name}: wgsl= must be an expression, or a dict of them by kind of dtype, not {wgsl!r}"
        )
    unknown = [key for key in said if key not in GROUPS]
    if unknown:
        raise InvalidConfigError(
            f"{name}: wgsl= has an expression for {unknown[0]!r}, which is none of"
            f" {', '.join(dict.fromkeys(GROUPS[1:]))}.{suggestion(str(unknown[0]), GROUPS)}"
        )


def register(config: UnaryOpConfig, count: int, what: str) -> FunctionHandle:
    if not isinstance(config, UnaryOpConfig):
        raise InvalidConfigError(
            f"{what}: takes a name, a function of numpy arrays and a WGSL expression, or a"
            f" {'UnaryOpConfig' if count == 1 else 'BinaryOpConfig'}, not {type(config).__name__}"
        )
    check_name(config.name, what, config.override, in_place=True)
    if config.result not in RESULTS:
        raise InvalidConfigError(
            f"{what}: result= of {config.name} must be one of {', '.join(RESULTS)}, not"
            f" {config.result!r}"
        )
    check_expressions(config.name, config.wgsl)
    if not callable(config.cpu):
        raise InvalidConfigError(f"{what}: cpu of {config.name} is not a function")
    inputs = tensors_of(function := with_numbers(config.cpu))
    if len(inputs) != count:
        raise InvalidConfigError(
            f"{what}: the numpy function of {config.name} takes {len(inputs)} tensors"
            f" ({', '.join(inputs)}; parameters without annotation), not {count}"
        )

    @functools.wraps(function)
    def reference(*args: Any, **given: Any) -> Any:
        most = 0 if config.result == "bool" else rank(args[0].dtype)
        due = np.broadcast_shapes(*map(np.shape, args)), most
        return fitted(config.name, config.cpu(*map(read_only, args), **given), due)

    reference.__name__ = config.name
    reference.__doc__ = config.doc or config.cpu.__doc__ or f"{config.name}, registered"
    make_room(config.name)
    OWN_OPS.add(config.name)
    op = declare(
        OwnElementwise,
        wgsl=config.wgsl,
        vjp=fitting_all(config.name, function, inputs, config.backward),
        owes_vjp=config.result != "bool",
        result=config.result,
        torch="-",
    )(reference)
    return opened(op)


def config_of(
    kind: type[UnaryOpConfig], config: UnaryOpConfig | str, backward: Formulas | None,
    vjp: Formulas | None, **fields: Any,
) -> UnaryOpConfig:  # fmt: skip
    if backward and vjp:
        raise InvalidConfigError(f"{config}: backward= and vjp= mean the same; give one of them")
    if not isinstance(config, str):
        return config
    return kind(name=config, backward=backward or vjp or {}, **fields)


def register_unary_op(config: UnaryOpConfig | str, cpu: Callable[..., Any] | None = None,
                      wgsl: str | dict[str, str] = "", *, backward: Formulas | None = None,
                      vjp: Formulas | None = None, result: str = "same", doc: str = "",
                      override: bool = False) -> FunctionHandle:  # fmt: skip
    """An elementwise op of one tensor, from a `UnaryOpConfig` or from its name and other fields.

    It has what every op has: a function and a method, both also in place (`torch.NAME_`,
    `x.NAME_()`), `out=`, gradients, fusion on the GPU. `UnaryOpConfig` says what the fields are;
    `vjp` is another word for `backward`.
    """
    said = config_of(UnaryOpConfig, config, backward, vjp, cpu=cpu, wgsl=wgsl, result=result,
                     doc=doc, override=override)  # fmt: skip
    return register(said, 1, "register_unary_op()")


def register_binary_op(config: BinaryOpConfig | str, cpu: Callable[..., Any] | None = None,
                       wgsl: str | dict[str, str] = "", *, backward: Formulas | None = None,
                       vjp: Formulas | None = None, result: str = "same", doc: str = "",
                       override: bool = False) -> FunctionHandle:  # fmt: skip
    """An elementwise op of two tensors, from a `BinaryOpConfig` or from its name and other fields,
    which are those of `register_unary_op`."""
    said = config_of(BinaryOpConfig, config, backward, vjp, cpu=cpu, wgsl=wgsl, result=result,
                     doc=doc, override=override)  # fmt: skip
    return register(said, 2, "register_binary_op()")
