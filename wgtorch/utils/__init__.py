"""What surrounds training: reading data, checkpoints, and what is told of a machine.

What `LATER` names is imported when it is first asked for.
"""

from importlib import import_module
from typing import Any

from wgtorch.absent import AbsentError
from wgtorch.utils import checkpoint, data

LATER = ("benchmark", "collect_env", "dlpack", "flop_counter", "module_tracker")

__all__ = ["benchmark", "checkpoint", "collect_env", "data", "dlpack", "flop_counter",
           "module_tracker"]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AbsentError(__name__, name)
    return import_module(f"{__name__}.{name}")
