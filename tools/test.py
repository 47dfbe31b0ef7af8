"""Run the tests: python3 tools/test.py [--adapter NAME] [pytest's arguments]

Makes .venv, installs what the tests need, finds an adapter and runs pytest. Without arguments for
pytest: all tests, on two processes. --adapter picks llvmpipe, swiftshader or gl (llvmpipe through
OpenGL), fetching it where Debian's packages have it, or an index, a kind or part of a name.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import drivers
from environment import ROOT, become, prepare

PARALLEL = ["-n", "2", "--dist", "worksteal"]


def main(arguments: list[str]) -> None:
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return
    adapter, arguments = split(arguments)
    python = prepare("dev")
    variables = drivers.variables(adapter) if adapter else {}
    drivers.find(python, variables)
    os.chdir(ROOT)
    if not arguments and (os.cpu_count() or 1) > 1:
        arguments = PARALLEL
    become([str(python), "-m", "pytest", *arguments], variables)


def split(arguments: list[str]) -> tuple[str, list[str]]:
    """(the adapter's name or "", what is left for pytest)."""
    rest, adapter = [], ""
    remaining = iter(arguments)
    for argument in remaining:
        if argument == "--adapter":
            adapter = next(remaining, "")
            if not adapter:
                sys.exit("--adapter needs a name: llvmpipe, swiftshader, gl, an index, a kind")
        elif argument.startswith("--adapter="):
            adapter = argument.partition("=")[2]
        else:
            rest.append(argument)
    return adapter, rest


if __name__ == "__main__":
    main(sys.argv[1:])
