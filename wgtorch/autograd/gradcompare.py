"""Gradients of a device compared with those of the cpu in float64: `compare_with_cpu`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wgtorch.autograd.gradcheck_modes import GradcheckError, GradcheckResult, floats_of
from wgtorch.autograd.gradients import grad
from wgtorch.device import Device
from wgtorch.dtype import complex128, float64
from wgtorch.storage import View


def compare_with_cpu(
    func: Callable[..., Any],
    inputs: Any,
    *,
    atol: float = 1e-4,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Whether backward through `func(*inputs)` gives on their device what it gives on the cpu in
    float64, from the same random gradients of the outputs.

    Runs once on each side, so it suits whole models, for which `gradcheck` takes a run for every
    element: `compare_with_cpu(lambda x, **p: functional_call(model, p, (x,)), ...)`; whatever
    `func` uses besides `inputs` must be on their device. A gradient that differs by more than
    `atol + rtol * abs(reference)` is a GradcheckError that names the worst element, or False
    without `raise_exception`.
    """
    given = (inputs,) if isinstance(inputs, View) else tuple(inputs)
    wanting = [i for i, t in enumerate(given) if isinstance(t, View) and t.requires_grad]  # type: ignore
    if not wanting:
        raise ValueError("compare_with_cpu expects at least one input tensor to require gradient.")
    twins = [reference_of(t) if isinstance(t, View) else t for t in given]
    got, want = [gradients(func, side, wanting) for side in (given, twins)]
    errors, worst = {}, ""
    for i, a, b in zip(wanting, got, want, strict=True):
        off = np.abs(a - b)
        errors[0, i] = float(off.max(initial=0.0))
        if not np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
            excess = np.nan_to_num(off - atol - rtol * np.abs(b), nan=np.inf)
            at = np.unravel_index(int(excess.argmax()), a.shape)
            place = [int(n) for n in at]
            worst = worst or f"input {i}: element {place} is {a[at]!s} instead of {b[at]!s}"
    if worst and raise_exception:
        error = GradcheckError(
            f"The gradient on {given[wanting[0]].device} is not the cpu's, {worst}"
        )
        error.result = GradcheckResult(False, errors)
        raise error
    return not worst


def reference_of(tensor: Any) -> Any:
    dtype = tensor.dtype
    wide = complex128 if dtype.is_complex else float64 if dtype.is_floating_point else dtype
    twin = tensor.detach().to(Device("cpu")).to(wide)
    return twin.clone().requires_grad_(True) if tensor.requires_grad else twin


def gradients(func: Callable[..., Any], given: Any, wanting: list[int]) -> list[np.ndarray]:
    """Of every input that wants one; zeros where none arrives."""
    outputs, draw = floats_of(func(*given)), np.random.default_rng(0)
    towards = [o.new_tensor(direction(draw, o.shape)).to(o.dtype) for o in outputs]
    found = grad(outputs, [given[i] for i in wanting], towards, materialize_grads=True)
    return [g.detach().cpu().numpy() for g in found]


def direction(draw: np.random.Generator, shape: Any) -> np.ndarray:
    """Numbers that every dtype of floats has exactly."""
    return (np.round(draw.standard_normal(shape).clip(-3, 3) * 32) / 32).astype(np.float32)
