"""Gradients checked against differences: `gradcheck` and `gradgradcheck`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wgtorch.autograd.gradcheck_modes import (
    Direction,
    GradcheckError,
    GradcheckResult,
    array,
    by_parts,
    check_batched,
    floats_of,
    forward_jacobians,
)
from wgtorch.autograd.gradients import grad
from wgtorch.autograd.mode import enable_grad, no_grad
from wgtorch.storage import View


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of `func(*inputs)` are those of central differences of width `eps`.

    Meant for float64 inputs (eps 1e-6, atol 1e-5, rtol 1e-3). Where every input that wants a
    gradient is float32 on a device without float64, eps, atol and rtol are 1e-2, which a warning
    says. A mismatch is a
    GradcheckError that shows both Jacobians, or False without `raise_exception`; its `result` is a
    GradcheckResult.
    `check_forward_ad` compares the Jacobian of forward mode besides, `check_batched_grad` two
    gradients at once with each; `fast_mode` compares in one random direction.
    """
    del check_undefined_grad, check_batched_forward_grad, masked
    given = (inputs,) if isinstance(inputs, View) else tuple(inputs)
    wanting = [i for i, t in enumerate(given) if isinstance(t, View) and t.requires_grad]  # type: ignore
    if not wanting:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them"
            " have requires_grad=True."
        )
    loose = all(
        given[i].dtype.to_real().itemsize < 8 and given[i].device.type != "cpu" for i in wanting
    )
    silent = loose and None not in (eps, atol, rtol)
    warn_of_precision([given[i] for i in wanting], loose, silent)
    eps, atol, rtol = (
        (1e-2 if loose else fine) if asked is None else asked
        for asked, fine in ((eps, 1e-6), (atol, 1e-5), (rtol, 1e-3))
    )
    func, given = by_parts(func, given)
    check = Check(func, given, wanting, check_grad_dtypes)
    try:
        if fast_mode:
            at = Direction(func, given, wanting)
            at.compare(eps, atol, rtol, check_forward_ad, check_backward_ad)
        else:
            if check_forward_ad:
                check.compare_forward(eps, atol, rtol)
            if check_backward_ad:
                check.compare(eps, atol, rtol, nondet_tol)
        if check_batched_grad:
            check_batched(check.outputs(), [given[i] for i in wanting], atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def warn_of_precision(tensors: Sequence[Any], loose: bool, silent: bool) -> None:
    likely = (
        "This check will likely fail if all the inputs are not of double precision floating point"
        " or complex."
    )
    for i, t in enumerate(tensors):
        if t.dtype.to_real().itemsize < 8 and not silent:
            loosened = (
                f"On {t.device.type} eps, atol and rtol are 1e-2 where they are not given;"
                " compare_with_cpu compares with float64."
            )
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or"
                f" complex. {loosened if loose else likely}",
                UserWarning,
                stacklevel=3,
            )


class Check:
    """A function at a point, and its Jacobians there: what backward says, what differences say."""

    def __init__(self, func: Callable, inputs: tuple, wanting: list[int], check_dtypes: bool):
        self.func, self.inputs, self.wanting = func, inputs, wanting
        self.check_dtypes = check_dtypes

    def outputs(self) -> list[Any]:
        return floats_of(self.func(*self.inputs))

    def compare(self, eps: float, atol: float, rtol: float, nondet_tol: float) -> None:
        numerical = self.numerical(eps)
        analytical, again = self.analytical(), self.analytical()
        for o, row in enumerate(numerical):
            for k, want in enumerate(row):
                got = analytical[o][k]
                if not np.allclose(got, again[o][k], rtol=0, atol=nondet_tol, equal_nan=True):
                    raise GradcheckError(
                        "Backward is not reentrant, i.e., running backward with same input and"
                        " grad_output multiple times gives different values, although analytical"
                        " gradient matches numerical gradient. The tolerance for nondeterminism"
                        f" was {nondet_tol}."
                    )
                if not np.allclose(got, want, rtol=rtol, atol=atol):
                    text = (
                        f"Jacobian mismatch for output {o} with respect to input"
                        f" {self.wanting[k]},\nnumerical:{want}\nanalytical:{got}\n"
                    )
                    raise self.mismatch(text, numerical, analytical)

    def compare_forward(self, eps: float, atol: float, rtol: float) -> None:
        numerical = self.numerical(eps)
        sizes = [row[0].shape[1] for row in numerical]
        found = forward_jacobians(self.func, self.inputs, self.wanting, sizes)
        for o, row in enumerate(numerical):
            for k, want in enumerate(row):
                if not np.allclose(found[o][k], want, rtol=rtol, atol=atol):
                    text = (
                        f"Jacobian computed with forward mode mismatch for output {o} with respect"
                        f" to input {self.wanting[k]},\nnumerical:{want}\nanalytical:"
                        f"{found[o][k]}\n"
                    )
                    raise self.mismatch(text, numerical, found)

    def mismatch(self, text: str, numerical: Any, found: Any) -> GradcheckError:
        """The complaint, with how far every Jacobian is off."""
        error = GradcheckError(text)
        errors = {
            (o, self.wanting[k]): float(np.abs(found[o][k] - want).max(initial=0))
            for o, row in enumerate(numerical)
            for k, want in enumerate(row)
        }
        error.result = GradcheckResult(False, errors)
        return error

    def analytical(self) -> list[list[np.ndarray]]:
        """[output][input] -> Jacobian, a row for each element of the input."""
        targets = [self.inputs[i] for i in self.wanting]
        jacobians = []
        for output in self.outputs():
            columns = [np.zeros((t.numel(), output.numel())) for t in targets]
            for e in range(output.numel() if output.requires_grad else 0):
                seed = np.zeros(output.numel(), output.dtype.np)
                seed[e] = 1
                seed = output.new_tensor(seed).reshape(output.layout.shape)
                grads = grad([output], targets, [seed], retain_graph=True, allow_unused=True)
                for k, g in enumerate(grads):
                    if g is not None:
                        self._check_fits(targets[k], g)
                        columns[k][:, e] = array(g)
            jacobians.append(columns)
        return jacobians

    def _check_fits(self, target: Any, g: Any) -> None:
        if g.layout.shape != target.layout.shape:
            raise GradcheckError("grad is incorrect size")
        if self.check_dtypes and g.dtype is not target.dtype:
            raise GradcheckError("grad is incorrect type")

    def numerical(self, eps: float) -> list[list[np.ndarray]]:
        """The same from (f(x + eps) - f(x - eps)) / 2 eps."""
        with no_grad():
            sizes = [o.numel() for o in self.outputs()]
            jacobians = [
                [np.zeros((self.inputs[i].numel(), size)) for i in self.wanting] for size in sizes
            ]
            for k, i in enumerate(self.wanting):
                kept = self.inputs[i].detach().clone()
                try:
                    for e in range(kept.numel()):
                        above = self._moved(i, kept, e, eps)
                        below = self._moved(i, kept, e, -eps)
                        for o, (a, b) in enumerate(zip(above, below, strict=True)):
                            jacobians[o][k][e] = (a - b) / (2 * eps)
                finally:
                    self.inputs[i].copy_(kept)
        return jacobians

    def _moved(self, i: int, kept: Any, element: int, step: float) -> list[np.ndarray]:
        """The outputs with one element of an input moved."""
        values = array(kept)
        values[element] += step
        moved = kept.new_tensor(values.astype(kept.dtype.np)).reshape(kept.layout.shape)
        self.inputs[i].copy_(moved)
        return [array(o) for o in self.outputs()]


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    **options: Any,
) -> bool:
    """`gradcheck` of the gradients of `func`, also with respect to `grad_outputs`.

    Without `grad_outputs` they are drawn at random, the same each time.
    """
    del gen_non_contig_grad_outputs
    given = (inputs,) if isinstance(inputs, View) else tuple(inputs)
    wanting = [i for i, t in enumerate(given) if isinstance(t, View) and t.requires_grad]  # type: ignore
    func, given = by_parts(func, given)
    outputs = Check(func, given, wanting, False).outputs()
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        seeds = []
        for o in outputs:
            numbers = rng.standard_normal(o.layout.shape).astype(o.dtype.np)
            seeds.append(o.new_tensor(numbers).requires_grad_(True))
    else:
        seeds = [grad_outputs] if isinstance(grad_outputs, View) else list(grad_outputs)

    def gradients(*arguments: Any) -> tuple:
        args, chosen = arguments[: len(given)], arguments[len(given) :]
        with enable_grad():
            outs = Check(func, args, wanting, False).outputs()
            targets = [args[i] for i in wanting]
            found = grad(outs, targets, chosen, create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradcheck(gradients, (*given, *seeds), raise_exception=raise_exception, **options)
