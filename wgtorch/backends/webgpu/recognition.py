"""Programs of a structure that was met before are recognised, which takes half as long as finding
the structure out.

For a structure met often a function is written: guards straight down it, from the root to the
loads, then the Program that a walk would have made. Guards ask for all that the key of a Program
says; where one fails, the next function is tried, at last the walk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from wgtorch.backends.webgpu.fusion import DRAWN, Deferred, Load, Program, Promise
from wgtorch.config import DEBUG
from wgtorch.layout import OFFSET, SINGLE, Layout
from wgtorch.settled import TypedOp

OFTEN = 4  # times that a structure is met before a function is written, which takes a millisecond
MOST = 16  # functions tried for one op; structures remembered for all
REMEMBERED = 1 << 12

Recogniser = Callable[[Promise], Program | None]
known: dict[TypedOp, list[Recogniser]] = {}  # by the op at the root
met: Counter[tuple] = Counter()


def program_of(root: Promise) -> Program:
    """Program(root), by recognition if it can be."""
    recognisers = known.get(root.typed, ())
    for recognise in recognisers:
        program = recognise(root)
        if program is not None:
            return program
    program = Program(root)
    if len(recognisers) < MOST and DEBUG < 3:  # from there on each program is traced
        notice(program)
    return program


def notice(program: Program) -> None:
    key = program.key
    met[key] += 1
    if met[key] == OFTEN and not program.rivals and program.steps:
        text, names = written(program)
        exec(text, names)
        known.setdefault(program.root.typed, []).append(names["recognise"])  # type: ignore[union-attr]
    elif len(met) > REMEMBERED:
        met.clear()


def written(program: Program) -> tuple[str, dict[str, Any]]:
    """The text of a function that recognises programs like this one, and the names it uses."""
    guards = Guards(program)
    guards.step(program.root, "root")  # type: ignore[arg-type]
    guards.apart()
    names = guards.names
    steps, loads = ([names[each] for each in group] for group in (program.steps, program.loads))
    joined = None if program.joined is None else names[program.joined]
    scalars = [scalar for step in program.steps for scalar in guards.scalars[step]]
    filled = {
        "root": "root",
        "steps": listed(steps),
        "loads": listed(loads),
        "stores": listed([names[each] for each in program.stores]),
        "key": "KEY",
        "joined": joined,
        "joins": program.joins,
        "rivals": "{}",
        "load_numbers": listed(guards.load_numbers(program.loads)),
        "scalars": listed(scalars),
    }
    lines = ["program = new(Program)", *[f"program.{k} = {v}" for k, v in filled.items()]]
    body = "\n    ".join([*guards.lines, *lines, "return program"])
    guards.constants |= {"KEY": program.key, "new": object.__new__, "Program": Program,
                         "Promise": Promise, "Load": Load, "Deferred": Deferred}  # fmt: skip
    return f"def recognise(root):\n    {body}", guards.constants


def listed(items: list[str]) -> str:
    return f"[{', '.join(items)}]"


class Guards:
    """The guards of a structure, from each step down to what it reads."""

    def __init__(self, program: Program):
        self.stored = program.stores
        self.lines: list[str] = []
        self.names: dict[Any, str] = {}  # of steps and loads
        self.strided: dict[Layout, Load] = {}  # the first load of each layout with axes
        self.scalars: dict[Promise, list[str]] = {}  # of each step
        self.constants: dict[str, Any] = {}

    def constant(self, value: Any) -> str:
        name = f"C{len(self.constants)}"
        self.constants[name] = value
        return name

    def unless(self, *conditions: str) -> None:
        self.lines.append(f"if {' or '.join(conditions)}: return None")

    def step(self, step: Promise, name: str) -> None:
        """Of a Promise that `name` is."""
        self.names[step] = name
        self.unless(
            f"{name}.typed is not {self.constant(step.typed)}",
            f"{name}.filled is not None",
            self.dead(step, name),
        )
        scalars = self.scalars[step] = []
        args = [f"{name}_{n}" for n in range(len(step.args))]
        if args:
            self.lines.append(f"{', '.join(args)}, = {name}.args")
        for arg, said in zip(step.args, args, strict=True):
            kind = type(arg)
            if kind is Promise and arg.filled is not None:  # type: ignore[union-attr]
                self.unless(f"{said}.__class__ is not Promise", f"{said}.filled is None")
                self.lines.append(f"{said} = {said}.filled")
                self.load(arg.filled, said)  # type: ignore[union-attr]
            elif kind is Deferred and arg.result is not None:  # type: ignore[union-attr]
                self.unless(f"{said}.__class__ is not Deferred", f"{said}.result is None")
                self.lines.append(f"{said} = {said}.read_in(root.layout)")
                self.load(arg.load, said)  # type: ignore[union-attr]
            elif kind is Load:
                self.load(arg, said)  # type: ignore[arg-type]
            elif kind is Promise and arg not in self.names:
                self.unless(f"{said}.__class__ is not Promise")
                self.step(arg, said)  # type: ignore[arg-type]
            elif kind is Deferred and arg not in self.names:
                self.deferred(arg, said)  # type: ignore[arg-type]
            elif kind is Promise or kind is Deferred:
                self.unless(f"{said} is not {self.names[arg]}")
            else:
                self.unless(f"{said}.__class__ is not {self.constant(kind)}")
                scalars += [f"{said}.real", f"{said}.imag"] if kind is complex else [said]
        if step.attrs:
            scalars.append(f"*{name}.attrs.values()")

    def dead(self, waited_for: Any, name: str) -> str:
        """Whether somebody waits for it, or nobody, unlike here."""
        return f"{name}.target() is {'' if waited_for in self.stored else 'not '}None"

    def load(self, load: Load, name: str) -> None:
        self.unless(f"{name}.__class__ is not Load")
        if load in self.names:
            self.unless(f"{name} is not {self.names[load]}")
            return
        if load.form:
            self.unless(f"{name}.kind != {self.constant(load.kind)}")
        else:
            self.unless(f"{name}.kind is not {self.constant(load.kind)}")
        self.names[load] = name
        if load.form > SINGLE:
            first = self.strided.setdefault(load.layout, load)
            if first is not load:
                self.unless(f"{name}.layout is not {self.names[first]}.layout")

    def deferred(self, deferred: Deferred, name: str) -> None:
        self.names[deferred] = name
        self.unless(
            f"{name}.__class__ is not Deferred",
            f"{name}.result is not None",
            f"{name}.dtype is not {self.constant(deferred.dtype)}",
            self.dead(deferred, name),
        )

    def apart(self) -> None:
        """What could be one and the same, and is not here."""
        groups: dict[Any, list[str]] = {}
        for each, name in self.names.items():
            kind = each.kind if type(each) is Load else getattr(each, "typed", None)
            groups.setdefault(kind, []).append(name)
        groups[Layout] = [f"{self.names[load]}.layout" for load in self.strided.values()]
        for names in groups.values():
            if len(names) > 1:
                self.unless(f"len({{{', '.join(names)}}}) != {len(names)}")

    def load_numbers(self, loads: list[Any]) -> list[str]:
        """As a Program has them: of those that lie alike, the first among its loads gives its own,
        which need not be the first that is met from the root down."""
        first = {load.layout: load for load in reversed(loads) if load.form > SINGLE}
        single = (DRAWN, OFFSET, SINGLE)
        giving = [n for n in loads if n.form in single or first.get(n.layout) is n]
        return [f"*{self.names[load]}.numbers" for load in giving]
