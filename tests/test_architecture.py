"""The house stays the house: layers, sizes, door signs, and what an import costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = sorted((ROOT / "wgtorch").rglob("*.py"))
SOURCES = [
    *LIBRARY,
    *sorted((ROOT / "tools").glob("*.py")),
    *sorted((ROOT / "examples").glob("*.py")),
]
MOST_LINES, LONGEST_FUNCTION = 400, 40
# A backend loads its driver when it is first used, and lazy.py loads what is heavy and optional.
MAY_IMPORT_LATE = {
    "wgtorch/lazy.py",
    "wgtorch/backends/__init__.py",
    "wgtorch/backends/webgpu/gpu.py",
}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def body_lines(function: ast.FunctionDef) -> int:
    """How long a function is without its signature and docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_each_room_looks_only_downstairs():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()",
               "--no-cache"]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_importing_wgtorch_opens_no_driver():
    code = "import sys, wgtorch; print({'wgpu', 'torch', 'scipy.linalg'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stdout + done.stderr


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_file_says_what_it_is_and_stays_small(path):
    module = tree(path)
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    assert not text or ast.get_docstring(module), f"{name(path)} has no docstring"
    assert lines <= MOST_LINES, f"{name(path)} has {lines} lines: split it by idea"


@pytest.mark.parametrize("path", LIBRARY, ids=name)
def test_functions_stay_short_and_import_nothing(path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef):
            lines = body_lines(node)
            assert lines <= LONGEST_FUNCTION, f"{name(path)}: {node.name} has {lines} lines"
            if name(path) not in MAY_IMPORT_LATE:
                late = [n for n in ast.walk(node) if isinstance(n, ast.Import | ast.ImportFrom)]
                assert not late, f"{name(path)}: {node.name} imports inside"


def test_no_file_is_called_after_nothing():
    vague = {"utils.py", "helpers.py", "common.py", "misc.py"}
    assert not [name(path) for path in LIBRARY if path.name in vague]


def test_only_native_touches_private_handles():
    for path in LIBRARY:
        if path.name != "native.py":
            assert "._internal" not in path.read_text(encoding="utf-8"), name(path)
