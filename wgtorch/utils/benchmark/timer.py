"""A Timer runs a statement until it is known how long that takes."""

from __future__ import annotations

import ast
import timeit
from collections.abc import Callable
from enum import Enum
from statistics import median
from textwrap import dedent
from typing import Any

import wgtorch
from wgtorch import Tensor, webgpu
from wgtorch.backend import fulfil, opened
from wgtorch.utils.benchmark.measurement import Measurement, TaskSpec, set_torch_threads

MOST_RUNS = 2**31 - 1
LEAST_TIME = 1e-9  # where a clock shows none
COMPUTED = "_computed"  # the name of `computed` in statements

Callback = Callable[[int, float], Any] | None


def timer() -> float:
    """Seconds of a clock that goes on when every GPU in use has done what is queued."""
    for device in opened("webgpu"):
        webgpu.synchronize(device)
    return timeit.default_timer()


def computed(result: Any) -> None:
    """Has a GPU compute the tensors of a result, which would else be promises."""
    if isinstance(result, Tensor):
        fulfil(result)
    elif isinstance(result, list | tuple):
        for part in result:
            computed(part)


def computing(stmt: str) -> str:
    """The statement with what it ends in, or gives a name there, handed to `computed`."""
    try:
        body = ast.parse(stmt).body
    except SyntaxError:  # timeit will say so
        return stmt
    last = body[-1] if body else None
    value = ast.Name(COMPUTED, ast.Load())
    if isinstance(last, ast.Expr):
        last.value = ast.Call(value, [last.value], [])
    elif isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
        name = ast.Name(last.targets[0].id, ast.Load())
        body.append(ast.Expr(ast.Call(value, [name], [])))
    else:
        return stmt
    return ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))


class Language(Enum):
    PYTHON = 0
    CPP = 1


class Timer:
    """Times `stmt`, text of Python, after `setup`; in `globals`, to which `torch` is added.

    As `timeit.Timer`, but runs are preceded by others that warm up, `timer` waits for the GPU,
    and results are `Measurement`s, with `label`, `sub_label`, `description` and `env` to tell
    them apart. Tensors that the last line gives, or names, are computed in each run, as if somebody
    read them; those of other lines only if something does.
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ):
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can "
                "simply be moved to `setup`."
            )
        stmt, setup = without_margin(stmt), without_margin(setup)
        known = {"torch": wgtorch, **(globals or {}), COMPUTED: computed}
        self._timer = timeit.Timer(computing(stmt), setup, timer, known)
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), LEAST_TIME)

    def timeit(self, number: int = 1000000) -> Measurement:
        """The time of `number` runs, after a hundredth of them to warm up."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return Measurement(number, [self._timeit(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callback = None) -> None:
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def blocked_autorange(
        self, callback: Callback = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Blocks of as many runs as hide the timer, until `min_run_time` seconds are measured.

        `callback(number, seconds)` is called after each block.
        """
        return self._measured(min_run_time, min_run_time, None, callback, lambda found: True)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
        callback: Callback = None,
    ) -> Measurement:  # fmt: skip
        """Blocks until the interquartile range is below `threshold` of the median, or for
        `max_run_time` seconds."""

        def enough(found: Measurement) -> bool:
            return len(found.raw_times) > 3 and found.meets_confidence(threshold)

        return self._measured(0.05, min_run_time, max_run_time, callback, enough)

    def _measured(
        self, block: float, least: float, most: float | None, callback: Callback,
        enough: Callable[[Measurement], bool],
    ) -> Measurement:  # fmt: skip
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(block)
            found = Measurement(number, [], self._task_spec)
            while sum(found.raw_times) < least or not enough(found):
                found.raw_times.append(self._timeit(number))
                if callback:
                    callback(number, found.raw_times[-1])
                if most and sum(found.raw_times) > most:
                    break
        return found

    def _block_size(self, min_run_time: float) -> int:
        """Runs beside which the timer takes a ten thousandth, or that take long enough."""
        overhead = median(self._timeit(0) for _ in range(5))
        number = 1
        while number * 10 <= MOST_RUNS:
            taken = self._timeit(number)
            hidden = overhead / taken <= 1e-4 and taken >= min_run_time / 1000
            if hidden or taken > min_run_time:
                break
            number *= 10
        return number


def without_margin(text: str) -> str:
    return dedent(text).removeprefix("\n").rstrip()
