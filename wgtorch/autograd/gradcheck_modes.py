"""What gradcheck can check besides backward: forward mode, batches of gradients, and all at once
along one random direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wgtorch.autograd.forward_ad import DualLevel
from wgtorch.autograd.gradients import grad
from wgtorch.autograd.transforms.level import levels
from wgtorch.storage import View

BATCHED = "gradcheck or gradgradcheck failed while testing batched gradient computation."


@dataclass(frozen=True)
class GradcheckResult:
    """What a comparison of Jacobians found: true where they agree."""

    ok: bool
    errors: dict[tuple[int, int], float]  # (output, input) -> the largest difference

    def __bool__(self) -> bool:
        return self.ok


class GradcheckError(RuntimeError):
    """A gradient is not what the differences say. `result` has the differences, if some were."""

    result: GradcheckResult | None = None


def array(tensor: Any) -> np.ndarray:
    return tensor.detach().cpu().numpy().astype(np.float64).reshape(-1)


def floats_of(result: Any) -> list[Any]:
    """The outputs that count; of complex ones the parts."""
    results = result if isinstance(result, tuple | list) else (result,)
    found: list[Any] = [r for r in results if isinstance(r, View) and r.dtype.category > 1]
    return [r.view_as_real() if r.dtype.is_complex else r for r in found]


def by_parts(func: Callable, given: tuple) -> tuple[Callable, tuple]:
    """A function of complex numbers as one of their parts."""
    marks = [isinstance(t, View) and t.dtype.is_complex for t in given]
    if not any(marks):
        return func, given

    def of_parts(*parts: Any) -> Any:
        pairs = zip(parts, marks, strict=True)
        return func(*[p.view_as_complex() if mark else p for p, mark in pairs])

    def parts_of(t: Any) -> Any:
        return t.detach().view_as_real().clone().requires_grad_(t.requires_grad)

    return of_parts, tuple([parts_of(t) if m else t for t, m in zip(given, marks, strict=True)])


def tangents(func: Callable, inputs: Sequence[Any], place: int, along: np.ndarray) -> list[Any]:
    """How each output moves when one input moves along a direction; None: not at all."""
    current = DualLevel()
    levels.enter(current)
    try:
        point = inputs[place].detach()
        direction = point.new_tensor(along.astype(point.dtype.np)).reshape(point.layout.shape)
        args = [inside(current, t) for t in inputs]
        args[place] = current.paired(point, direction).requires_grad_()
        outputs = floats_of(func(*args))
        return [current.parts(o)[1] for o in outputs]
    finally:
        levels.leave(current)


def inside(current: DualLevel, value: Any) -> Any:
    """An argument as one of the level, where functions may differentiate by it."""
    if not isinstance(value, View) or not value.requires_grad:  # type: ignore[attr-defined]
        return value
    return current.lifted(value.detach()).requires_grad_()  # type: ignore[attr-defined]


def forward_jacobians(func: Callable, inputs: Sequence[Any], wanting: list[int],
                      sizes: list[int]) -> list[list[np.ndarray]]:  # fmt: skip
    """[output][input] -> Jacobian, a row for each element of the input, by forward mode."""
    found = [[np.zeros((inputs[i].numel(), size)) for i in wanting] for size in sizes]
    for k, i in enumerate(wanting):
        for e, unit in enumerate(np.eye(inputs[i].numel())):
            for o, moved in enumerate(tangents(func, inputs, i, unit)):
                if moved is not None:
                    found[o][k][e] = array(moved)
    return found


def check_batched(outputs: list[Any], targets: list[Any], atol: float, rtol: float) -> None:
    """That backward of two gradients at once is backward of each."""
    rng = np.random.default_rng(0)
    for o, output in enumerate(outputs):
        if not output.requires_grad:
            continue
        seeds = rng.standard_normal((2, *output.layout.shape)).astype(output.dtype.np)
        both = output.new_tensor(seeds)
        rows = [
            grad([output], targets, [both.select(0, b)], True, allow_unused=True) for b in range(2)
        ]
        try:
            got = grad([output], targets, [both], True, allow_unused=True, is_grads_batched=True)
        except Exception as error:
            text = f"While computing batched gradients, got: {error}\n\n{BATCHED}"
            raise GradcheckError(text) from error
        for k, (batch, *one) in enumerate(zip(got, *rows, strict=True)):
            if batch is None and one[0] is None:
                continue
            want = np.stack([array(g) for g in one])
            if not np.allclose(array(batch).reshape(want.shape), want, rtol=rtol, atol=atol):
                said = f"{BATCHED}\n\nGot:\n{batch}\n\nExpected:\n{want}"
                raise GradcheckError(f"For output {o} and input {k}:\n\n{said}")


class Direction:
    """One number instead of a Jacobian: its product with a random vector on either side."""

    def __init__(self, func: Callable, inputs: Sequence[Any], wanting: list[int]):
        self.func, self.inputs, self.wanting = func, inputs, wanting
        self.rng = np.random.default_rng(1)

    def unit(self, size: int) -> np.ndarray:
        vector = self.rng.standard_normal(size)
        return vector / max(float(np.linalg.norm(vector)), 1e-30)

    def compare(self, eps: float, atol: float, rtol: float, forward: bool, backward: bool) -> None:
        outputs = floats_of(self.func(*self.inputs))
        for k, i in enumerate(self.wanting):
            along = self.unit(self.inputs[i].numel())
            slopes = self.differences(i, along, eps)
            ways = {"computed with forward mode ": forward, "": backward}
            for mode in [word for word, wanted in ways.items() if wanted]:
                moved = tangents(self.func, self.inputs, i, along) if mode else None
                for o, (output, slope) in enumerate(zip(outputs, slopes, strict=True)):
                    weights = self.unit(slope.size)
                    want = float(weights @ slope)
                    if moved is None:
                        got = self.by_backward(output, k, weights, along)
                    else:
                        got = 0.0 if moved[o] is None else float(weights @ array(moved[o]))
                    self._check(got, want, atol, rtol, f"Jacobian {mode}mismatch", o, i)

    def _check(self, got: float, want: float, atol: float, rtol: float, said: str, o: int,
               i: int) -> None:  # fmt: skip
        if not np.isclose(got, want, rtol=rtol, atol=atol):
            raise GradcheckError(
                f"{said} for output {o} with respect to input {i},\nnumerical:{want}\nanalytical:"
                f"{got}\n\nThe above quantities relating the numerical and analytical jacobians are"
                f" computed in fast mode; use fast_mode=False to see them whole."
            )

    def by_backward(self, output: Any, k: int, weights: np.ndarray, along: np.ndarray) -> float:
        if not output.requires_grad:
            return 0.0
        seed = output.new_tensor(weights.astype(output.dtype.np)).reshape(output.layout.shape)
        target = self.inputs[self.wanting[k]]
        (found,) = grad([output], [target], [seed], True, allow_unused=True)
        return 0.0 if found is None else float(array(found) @ along)

    def differences(self, i: int, along: np.ndarray, eps: float) -> list[np.ndarray]:
        """(f(x + eps v) - f(x - eps v)) / 2 eps, of each output."""
        sides = []
        point = self.inputs[i].detach()
        for step in (eps, -eps):
            values = array(point) + step * along
            moved = point.new_tensor(values.astype(point.dtype.np)).reshape(point.layout.shape)
            args = list(self.inputs)
            args[i] = moved.requires_grad_()
            sides.append([array(o) for o in floats_of(self.func(*args))])
        return [(a - b) / (2 * eps) for a, b in zip(*sides, strict=True)]
