"""Anomaly mode: backward names the forward call of the node that fails or makes a NaN."""

from __future__ import annotations

import warnings
from typing import Any

from wgtorch.lazy import Lazy

traceback = Lazy("traceback")


class _Anomaly:
    """The setting of the whole process."""

    __slots__ = ("check_nan", "enabled")

    def __init__(self) -> None:
        self.enabled, self.check_nan = False, True


ANOMALY = _Anomaly()


def is_anomaly_enabled() -> bool:
    return ANOMALY.enabled


is_anomaly_detection_enabled = is_anomaly_enabled


def is_anomaly_check_nan_enabled() -> bool:
    return ANOMALY.check_nan


class set_detect_anomaly:
    """Turns anomaly mode on or off at once, and back where the `with` block ends."""

    def __init__(self, mode: bool, check_nan: bool = True):
        self.before = ANOMALY.enabled, ANOMALY.check_nan
        ANOMALY.enabled, ANOMALY.check_nan = mode, check_nan

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        ANOMALY.enabled, ANOMALY.check_nan = self.before


class detect_anomaly:
    """In the `with` block, nodes remember where their op was called, and backward says it."""

    def __init__(self, check_nan: bool = True):
        self.before = ANOMALY.enabled, ANOMALY.check_nan
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should"
            " only be enabled for debugging.",
            UserWarning,
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self.before = ANOMALY.enabled, ANOMALY.check_nan
        ANOMALY.enabled, ANOMALY.check_nan = True, self.check_nan

    def __exit__(self, *exception: object) -> None:
        ANOMALY.enabled, ANOMALY.check_nan = self.before


def remember_call(node: Any, running: Any) -> None:
    """Notes where `node` was recorded, and under which node's backward, if any."""
    node.more().traceback = traceback.format_stack()[:-2], running


def tell_call(node: Any) -> None:
    """Warns with the forward call of `node`, and of the nodes whose backward recorded it."""
    name, known = node.name(), node.extras and node.extras.traceback
    if not known:
        warnings.warn(
            f"Error detected in {name}. No forward pass information available. Enable detect"
            " anomaly during forward pass for more information.",
            UserWarning,
            stacklevel=2,
        )
        return
    lines, parent = known
    warnings.warn(
        f"Error detected in {name}. Traceback of forward call that caused the error:\n"
        + "".join(lines),
        UserWarning,
        stacklevel=2,
    )
    while parent is not None and parent.extras and parent.extras.traceback:
        lines, above = parent.extras.traceback
        warnings.warn(
            f"\n\nPrevious calculation was induced by {parent.name()}. Traceback of forward call"
            " that induced the previous calculation:\n" + "".join(lines),
            UserWarning,
            stacklevel=2,
        )
        parent = above


def check_nan(node: Any, grads: Any) -> None:
    for i, grad in enumerate(grads):
        if grad is not None and grad.dtype.category > 1 and bool(grad.isnan().any()):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
