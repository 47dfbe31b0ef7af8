"""The shader files: where they are, what their heads say, and the functions of shaders/lib.

A kernel gets exactly the library functions that it names, and what those name, in front of it.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

HEAD_LINE = re.compile(r"^// (\w+): +(.+)$", re.M)
ITEM = re.compile(r"^(?:@\w+ *)*(?:fn|const|struct|alias|override) +(\w+)", re.M)
WORD = re.compile(r"[A-Za-z_]\w*")
COMMENT = re.compile(r"//[^\n]*")


@cache
def folder() -> Path:
    """In a checkout beside the package, in an installed wheel inside it."""
    package = Path(__file__).parents[2]
    inside = package / "shaders"
    return inside if inside.is_dir() else package.parent / "shaders"


OWN: dict[str, str] = {}  # shaders of users, by the names they are called by
NUMBERS: dict[str, tuple[str, ...]] = {}  # the attributes that these may read, by their text
OWN_OPS: set[str] = set()  # the ops of users that are an expression
SPOKEN: dict[str, str] = {}  # functions made of these expressions, and the op of each


@cache
def shader(name: str) -> str:
    if name in OWN:
        return OWN[name]
    return (folder() / name).read_text(encoding="utf-8")


@cache
def head(name: str) -> dict[str, str]:
    """What a shader file's first comment says: `launch`, `variants`, `expects` ... in all lines."""
    comment, said = shader(name).split("\n\n", 1)[0], {}  # type: ignore[var-annotated]
    for key, text in HEAD_LINE.findall(comment):
        said[key] = f"{said[key]} {text}" if key in said else text
    return said


@cache
def items() -> dict[str, str]:
    """Every declaration of shaders/lib, by name."""
    found: dict[str, str] = {}
    for path in sorted((folder() / "lib").glob("*.wgsl")):
        text = path.read_text(encoding="utf-8")
        starts = [(m.start(), m[1]) for m in ITEM.finditer(text)]
        ends = [start for start, _ in starts[1:]] + [len(text)]
        for (start, name), end in zip(starts, ends, strict=True):
            if name in found:
                raise ValueError(f"shaders/lib declares {name} twice ({path.name})")
            found[name] = trimmed(text[start:end])
    return found


def trimmed(text: str) -> str:
    """Without what belongs to the next item: its comment, and blank lines."""
    lines = text.rstrip().splitlines()
    while lines and (not lines[-1].strip() or lines[-1].startswith("//")):
        lines.pop()
    return "\n".join(lines)


@cache
def names_in(name: str) -> tuple[str, ...]:
    """Library items that an item of the library names."""
    words = dict.fromkeys(WORD.findall(COMMENT.sub("", items()[name])))
    return tuple(w for w in words if w != name and w in items())


def needed(text: str) -> str:
    """The library items that `text` stands on, each once."""
    known = items()
    todo = [w for w in dict.fromkeys(WORD.findall(COMMENT.sub("", text))) if w in known]
    found: dict[str, None] = {}
    for name in todo:  # grows as it is walked
        if name not in found:
            found[name] = None
            todo.extend(names_in(name))
    return "".join(known[name] + "\n" for name in found)
