"""Counterparts: the ops of PyTorch's database that wgtorch has, and torch's code run by wgtorch."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any

import torch

import wgtorch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of libraries that torch's own tests would like
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.opinfo.core import OpInfo

torch.set_num_threads(1)  # the samples are small: threads would only wait for each other


def named(library: Any, name: str) -> Any:
    """`nn.functional.relu` of a library, or a method of its tensors (`cauchy`: in place)."""
    found = library
    for part in name.split("."):
        found = getattr(found, part, None)
    methods = [getattr(library.Tensor, form, None) for form in (name, name + "_")]
    return next((f for f in (found, *methods) if f is not None), None)


def of_testing(call: Any) -> bool:
    return isinstance(call, types.FunctionType) and call.__module__.startswith("torch.testing")


def rebound(call: Any, library: Any = wgtorch) -> Any:
    """A function of torch.testing, with a library where it says torch, and the seed left alone."""
    if not of_testing(call):
        return call
    known = dict(call.__globals__)
    own = {"torch": library, "F": library.nn.functional, "wrapper_set_seed": unseeded}
    known |= {name: rebound(known[name], library) for name in call.__code__.co_names
              if name in known and name not in own} | own  # fmt: skip
    made = types.FunctionType(
        call.__code__, known, call.__name__, call.__defaults__, call.__closure__
    )
    made.__kwdefaults__ = call.__kwdefaults__
    return made


def unseeded(op: Callable, *args: Any, **kwargs: Any) -> Any:
    return op(*args, **kwargs)


def counterpart(call: Any, name: str) -> Any:
    """wgtorch's, given torch's; None where wgtorch has no such name."""
    if call is None or isinstance(call, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return None
    there = named(wgtorch, name)
    if isinstance(call, types.MethodDescriptorType):
        there = getattr(wgtorch.Tensor, name, None)
    return rebound(call) if there is not None and of_testing(call) else there


def title(op: OpInfo) -> str:
    return f"{op.name}:{op.variant_test_name}" if op.variant_test_name else op.name


OPS: dict[str, OpInfo] = {title(op): op for op in op_db if counterpart(op.op, op.name) is not None}
