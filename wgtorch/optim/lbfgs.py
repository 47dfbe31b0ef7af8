"""L-BFGS: quasi-Newton steps, from how the gradient changed along the last ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtorch import Tensor, cat, enable_grad, no_grad
from wgtorch.optim.line_search import Point, strong_wolfe
from wgtorch.optim.optimizer import Optimizer, Params, checked, number


class LBFGS(Optimizer):
    """Liu & Nocedal 1989: up to `max_iter` steps along -H g in each `step(closure)`, H built from
    the last `history_size` changes of parameters and gradient.

    Steps are `lr` long, or what line_search_fn="strong_wolfe" finds. One group of parameters.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ):
        checked(lr=lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Go down for some steps; returns the first loss that `closure` gave."""
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        def evaluate() -> Any:
            with enable_grad():
                loss = closure()
            state["func_evals"] += 1
            return loss

        with no_grad():
            first = evaluate()
            grad = self._gradient()
            if largest(grad) > self.param_groups[0]["tolerance_grad"]:
                self._descend(evaluate, state, float(first), grad)
        return first

    def _descend(
        self, evaluate: Callable[[], Any], state: dict[str, Any], loss: float, grad: Tensor
    ) -> None:
        group = self.param_groups[0]
        least, last = group["tolerance_change"], group["max_iter"]
        most = state["func_evals"] - 1 + group["max_eval"]
        for turn in range(1, last + 1):
            state["n_iter"] += 1
            along = state["d"] = self._direction(state, grad)
            before = state["prev_loss"] = loss
            state["prev_flat_grad"] = grad
            size = number(group["lr"])
            if state["n_iter"] == 1:
                size *= min(1.0, 1.0 / grad.abs().sum().item())
            state["t"] = size
            slope = grad.dot(along).item()
            if slope > -least:
                break
            if group["line_search_fn"] is not None:
                start = Point(0.0, loss, grad, slope)
                found = self._searched(evaluate, start, along, most - state["func_evals"], size)
                size, loss, grad = found.at, found.loss, found.grad
                state["t"] = size
                self._move(along, size)
            else:
                self._move(along, size)
                if turn < last:  # what follows the last step asks for no gradient
                    loss, grad = float(evaluate()), self._gradient()
            if turn == last or state["func_evals"] >= most:
                break
            if largest(grad) <= group["tolerance_grad"] or largest(along) * size <= least:
                break
            if abs(loss - before) < least:
                break

    def _direction(self, state: dict[str, Any], grad: Tensor) -> Tensor:
        """-H g by the two loops over the history, which read nothing back."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -grad
        size = self.param_groups[0]["history_size"]
        changes, steps, bends = state["old_dirs"], state["old_stps"], state["ro"]
        change = grad - state["prev_flat_grad"]
        step = state["d"] * number(state["t"])
        bend = change.dot(step).item()
        if bend > 1e-10:
            for old, new in ((changes, change), (steps, step), (bends, 1.0 / bend)):
                if len(old) == size:
                    old.pop(0)
                old.append(new)
            state["H_diag"] = bend / change.dot(change).item()
        shares = state["al"] = [None] * size
        along = -grad
        for i in reversed(range(len(steps))):
            shares[i] = steps[i].dot(along) * bends[i]
            along = along - shares[i] * changes[i]
        along = along * state["H_diag"]
        for i in range(len(steps)):
            along = along + steps[i] * (shares[i] - changes[i].dot(along) * bends[i])
        return along

    def _searched(
        self, evaluate: Callable[[], Any], start: Point, along: Tensor, limit: int, first: float
    ) -> Point:
        if self.param_groups[0]["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        here = [param.clone() for param in self._params]

        def look(at: float) -> Point:
            self._move(along, at)
            loss, grad = float(evaluate()), self._gradient()
            for param, values in zip(self._params, here, strict=True):
                param.copy_(values)
            return Point(at, loss, grad, grad.dot(along).item())

        least = self.param_groups[0]["tolerance_change"]
        return strong_wolfe(look, start, first, largest(along), least, limit)

    def _gradient(self) -> Tensor:
        """All gradients as one vector, a copy."""
        grads = [p.new_zeros(p.shape) if p.grad is None else p.grad for p in self._params]
        return cat([(g.view_as_real() if g.is_complex() else g).reshape(-1) for g in grads])

    def _move(self, along: Tensor, size: float) -> None:
        start = 0
        for param in self._params:
            parts = param.view_as_real() if param.is_complex() else param
            stop = start + parts.numel()
            parts.add_(along[start:stop].view(parts.shape), alpha=size)
            start = stop


def largest(values: Tensor) -> float:
    return values.abs().max().item()
