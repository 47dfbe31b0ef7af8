"""Mistakes in shaders of users: what the compiler says, at the lines that the user wrote."""

from __future__ import annotations

import re

from wgtorch.backends.webgpu.library import HEAD_LINE, NUMBERS, OWN, SPOKEN

SENTENCE = re.compile(r"(?:parsing|validation) error: (.*)")
REASON = re.compile(r"^ *= (.+)$", re.M)
ROW = re.compile(r"^ *(\d+) │")
MARK = re.compile(r"│ ( *)(\^+)(.*)")
ORDINAL = re.compile(r"(naga::ir::\w+|Some)? ?[(\[]*\[\d+\][)\]]*")  # the compiler's own numbers
READER = re.compile(r"^fn (\w+_nth\(i: u32\)|set_result\w*\([^)]*\))", re.M)
UNKNOWN = re.compile(r"identifier: [`'](\w+)[`']")
AROUND = 2  # lines shown before and after
OURS = (
    "This kernel is wgtorch's own, and so is the mistake: please report it, with what"
    " WGTORCH_DEBUG=4 shows. With WGTORCH_EAGER=1 each op is a kernel, which may get past it."
)


def complaint(name: str, source: str, error: str) -> str:
    """The text of the error, and the lines around the mistake, counted in what a user wrote."""
    line, mark = place(error)
    found = own(source, line)
    if found is None:
        shown = around(source, line, mark)
        return "\n".join([f"{name} does not compile: {sentence(error)}", *shown, OURS])
    first = source.index(found)
    line -= source.count("\n", 0, first)
    shown = around(found, line, mark)
    if not 0 < line <= found.count("\n") + 1 and "fn value_at(" in found:
        shown.append("  what calls it expects fn value_at(i: u32) -> result_type")
    readers = READER.findall(source[:first])
    if readers:
        shown.append(f"  declared for it: {', '.join(readers)}")
    unknown = UNKNOWN.search(error)
    if unknown and unknown[1] in NUMBERS.get(found, ()):
        shown.append(f"  {declaration(found, unknown[1])}")
    shown.append("  WGTORCH_DEBUG=4 shows the whole kernel")
    return "\n".join([f"{SPOKEN.get(found, name)} does not compile: {sentence(error)}", *shown])


def around(text: str, line: int, mark: str) -> list[str]:
    """The lines around one of a text, numbered, and the mark below it; all if there is no such."""
    lines = text.splitlines()
    if not 0 < line <= len(lines):
        return numbered(lines, 1).splitlines()
    start = max(line - AROUND, 1)
    shown = numbered(lines[start - 1 : line + AROUND], start).splitlines()
    shown.insert(line - start + 1, " " * 5 + mark)
    return shown


def declaration(text: str, number: str) -> str:
    """How a shader gets an attribute of its op."""
    listed = dict(HEAD_LINE.findall(text.split("\n\n", 1)[0])).get("launch", "").split()
    if number not in [field.partition(":")[0] for field in listed]:
        listed.append(f"{number}:f32")
    return (
        f"{number} is read as launch.{number}, where the shader begins with"
        f" `// launch: {' '.join(listed)}` and an empty line"
    )


def own(source: str, line: int) -> str | None:
    """What a user wrote of a kernel: where the compiler points, else the first of it."""
    texts = [text for text in (*OWN.values(), *SPOKEN) if text in source]
    for text in texts:
        first = source.count("\n", 0, source.index(text)) + 1
        if first <= line <= first + text.count("\n"):
            return text
    return texts[0] if texts else None


def sentence(error: str) -> str:
    """What the compiler says, without the lines it shows."""
    said = SENTENCE.search(error)
    parts = [said[1] if said else error.strip(), *REASON.findall(error)]
    return "; ".join(" ".join(ORDINAL.sub(" ", part).split()) for part in parts)


def place(error: str) -> tuple[int, str]:
    """(the line of the kernel, the mark under it), where the compiler points at one."""
    line = 0
    for text in error.splitlines():
        row = ROW.match(text)
        mark = MARK.search(text)
        if row:
            line = int(row[1])
        elif mark and line:
            frame = text.find("│ │") >= 0 and "╰" not in text  # of a function: one column further
            indent = mark[1][1:] if frame and mark[1] else mark[1]
            return line, indent + mark[2] + ORDINAL.sub("", mark[3]).rstrip()
    return 0, ""


def numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:4} {line}" for number, line in enumerate(lines, first))
