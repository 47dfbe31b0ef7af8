"""Crossing: arguments over there as arguments here, and results back."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import wgtorch
from tests.oracle.opinfo.counterparts import rebound


class Crossing:
    """Makes wgtorch's arguments of torch's: same strides, and the same tensor twice stays one."""

    def __init__(self, device: str, grad: bool = False):
        self.device, self.grad, self.known = device, grad, {}
        self.leaves: list[tuple[torch.Tensor, Any]] = []

    def __call__(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if id(value) not in self.known:
                self.known[id(value)] = (value, self.tensor(value))
            return self.known[id(value)][1]
        if isinstance(value, torch.Size):
            return wgtorch.Size(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self, value))
        if isinstance(value, list | tuple):
            return type(value)(map(self, value))
        if isinstance(value, dict):
            return {key: self(v) for key, v in value.items()}
        if isinstance(value, slice):
            return slice(self(value.start), self(value.stop), self(value.step))
        if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
            return getattr(wgtorch, str(value).rpartition(".")[2])
        if isinstance(value, torch.nn.LinearCrossEntropyOptions):
            fields = dataclasses.fields(value)
            return wgtorch.nn.LinearCrossEntropyOptions(
                **{f.name: self(getattr(value, f.name)) for f in fields}
            )
        if isinstance(value, torch.device) or value == "cpu":
            return wgtorch.device(self.device)
        if isinstance(value, torch.nn.Module):  # made again, with its settings
            kind = getattr(wgtorch.nn, type(value).__name__)
            return kind(
                **{n: v for n, v in vars(value).items() if n in kind.__init__.__annotations__}
            )
        return rebound(value) if isinstance(value, types.FunctionType) else value

    def tensor(self, value: torch.Tensor) -> Any:
        made = laid_out(value.detach(), self.device)
        if self.grad and value.requires_grad:
            made.requires_grad_()
            self.leaves.append((value, made))
        return made


def laid_out(value: torch.Tensor, device: str) -> Any:
    value = value.resolve_conj().resolve_neg()
    span = sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True)) + 1
    if value.numel() == 0 or value.is_contiguous():
        return wgtorch.tensor(array_of(value), device=device)
    offset = value.storage_offset()
    whole = value.as_strided((offset + span,), (1,), 0)
    made = wgtorch.tensor(array_of(whole), device=device)
    return made.as_strided(tuple(value.shape), value.stride(), offset).detach()


def array_of(value: torch.Tensor) -> Any:
    if value.dtype == torch.bfloat16:
        return value.float().numpy().astype(wgtorch.bfloat16.np)
    if value.dtype == torch.complex32:
        return value.to(torch.complex64).numpy()
    return value.numpy()


def strided(value: Any) -> bool:
    """That every tensor in it has strides and is on the cpu."""
    return all(t.layout == torch.strided and t.device.type == "cpu" for t in tensors(value))


def tensors(value: Any, kind: type = torch.Tensor) -> list[Any]:
    if isinstance(value, kind):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        return [t for v in value for t in tensors(v, kind)]
    return []


def back(value: Any) -> Any:
    """A result here as one over there."""
    if isinstance(value, wgtorch.Tensor):
        value = value.detach().cpu()
        if value.dtype is wgtorch.bfloat16:
            return torch.tensor(value.float().numpy()).bfloat16()
        return torch.from_numpy(np.array(value.numpy()))
    if isinstance(value, wgtorch.dtype):
        return getattr(torch, value.name)
    if isinstance(value, list | tuple):
        return tuple(map(back, value))
    return value


def over(value: Any, change: Callable) -> Any:
    """A sample's arguments with every tensor changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, list | tuple) and not isinstance(value, torch.Size):
        return type(value)([over(v, change) for v in value])
    if isinstance(value, dict):
        return {key: over(v, change) for key, v in value.items()}
    return value


def fresh(value: Any) -> Any:
    """Copies that may be written into, laid out alike."""
    return over(value, lambda t: t.detach().clone())
