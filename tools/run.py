"""Run an example: python3 tools/run.py [example] [its arguments]

Makes .venv, installs what the example needs, finds a GPU (or a software adapter, or says what is
missing and goes on with the cpu), and runs it. Without a name, the main one: train_digits.
"""

from __future__ import annotations

import ast
import sys
from difflib import get_close_matches
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import drivers
from environment import ROOT, become, prepare, say

EXAMPLES = ROOT / "examples"
MAIN = "train_digits"


def main(arguments: list[str]) -> None:
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__ + "\n" + listing())
        return
    name = MAIN
    if arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
    path = example(name)
    python = prepare("examples")
    drivers.find(python, {})
    become([str(python), str(path), *arguments], {})


def example(name: str) -> Path:
    """`name` with or without its folder and ending. Exits where there is none."""
    for path in (EXAMPLES / f"{name}.py", EXAMPLES / name, Path(name)):
        if path.is_file():
            return path.resolve()
    near = get_close_matches(name, [path.stem for path in EXAMPLES.glob("*.py")], 1)
    meant = f"; did you mean {near[0]}?" if near else ""
    say(f"there is no example {name!r}{meant}\n\n{listing()}")
    sys.exit(2)


def listing() -> str:
    lines = ["Examples:"]
    for path in sorted(EXAMPLES.glob("*.py")):
        about = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        lines.append(f"  {path.stem:24} {(about.splitlines() or [''])[0]}")
    return "\n".join(lines)


if __name__ == "__main__":
    main(sys.argv[1:])
