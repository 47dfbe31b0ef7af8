"""Run the tests: python3 tools/test.py [--adapter NAME] [pytest's arguments]

Makes .venv, installs what the tests need, finds an adapter and runs pytest. Without arguments for
pytest: all tests, one third after the other, on two processes. --adapter picks llvmpipe,
swiftshader or gl (llvmpipe through OpenGL), fetching it where Debian's packages have it, or an
index, a kind or part of a name.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import drivers
from environment import ROOT, become, prepare

PARALLEL = ["-n", "2", "--dist", "worksteal"]
PARTS = 3  # what a driver compiled stays with the process: of all tests at once, Mesa kept 20 GB


def main(arguments: list[str]) -> None:
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return
    adapter, arguments = split(arguments)
    python = prepare("dev")
    variables = drivers.variables(adapter) if adapter else {}
    if drivers.find(python, variables) is None and adapter:
        sys.exit(f"--adapter {adapter}: no such adapter, so nothing was tested")
    os.chdir(ROOT)
    pytest = [str(python), "-m", "pytest"]
    if arguments:
        become([*pytest, *arguments], variables)
    command = [*pytest, *(PARALLEL if (os.cpu_count() or 1) > 1 else [])]
    sys.exit(run_in_parts(command, {**os.environ, **variables}))


def run_in_parts(command: list[str], environment: dict[str, str]) -> int:
    """The exit code of the first part that failed, or 0."""
    places = sorted(str(p) for p in Path("tests").iterdir() if holds_tests(p))
    codes: list[int] = []
    try:
        for part in range(PARTS):
            print(f"part {part + 1} of {PARTS}", flush=True)
            found = subprocess.run([*command, *places[part::PARTS]], env=environment)
            codes.append(found.returncode)
    except KeyboardInterrupt:
        return 130
    failed = [str(part) for part, code in enumerate(codes, 1) if code]
    print(f"failed in part {', '.join(failed)} of {PARTS}" if failed else "all tests passed")
    return next(filter(None, codes), 0)


def holds_tests(place: Path) -> bool:
    return place.match("test_*.py") or (place.is_dir() and any(place.glob("test_*.py")))


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
