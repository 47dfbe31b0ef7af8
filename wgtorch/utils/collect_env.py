"""`python -m wgtorch.utils.collect_env`: what to tell of a machine with a report of a problem.

It is what `python -m wgtorch` finds, without trying the GPU.
"""

from __future__ import annotations

from typing import Any

from wgtorch import doctor


def get_env_info() -> dict[str, Any]:
    """Versions, settings of the environment, adapters, and which of them is used and why."""
    return doctor.examine(test=False)


def get_pretty_env_info() -> str:
    """`get_env_info()` for people."""
    return doctor.text(get_env_info())


def main() -> None:
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
