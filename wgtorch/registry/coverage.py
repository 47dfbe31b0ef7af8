"""Coverage: which op runs where and how, which dtypes it takes, what backward needs of it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import wgtorch
from wgtorch.dtype import DType
from wgtorch.op import REGISTRY, Composite, Op
from wgtorch.registry.gradients import has_autograd
from wgtorch.registry.opening import named
from wgtorch.registry.questions import OpKind, get_op_kind
from wgtorch.registry.ways import KINDS, THROUGH, dtypes_of, saves_of, shaders_of, way_on_a_gpu

# Functions that are no ops, but made of them
ROOMS = {"create": OpKind.CREATION, "ranges": OpKind.CREATION, "random": OpKind.CREATION,
         "grids": OpKind.CREATION, "windows": OpKind.CREATION, "queries": OpKind.COMPOSITE,
         "einops": OpKind.COMPOSITE}  # fmt: skip


@dataclass(frozen=True)
class OpCoverageEntry:
    """One op: where it runs, and how."""

    name: str
    kind: OpKind
    devices: dict[str, str]  # device -> "native", "composite" or "through the cpu"
    has_autograd: bool
    op: Op | None = None  # None of a function that is made of ops

    @property
    def dtypes(self) -> dict[str, tuple[str, ...]]:
        """The kinds of dtype by device; on a GPU "double" is meant where the adapter has it."""
        if self.op is None:
            return {}
        return {device: dtypes_of(self.op, device) for device in self.devices}

    @property
    def differentiable(self) -> tuple[str, ...]:
        """The inputs that get gradients; of a composite its ops know."""
        return tuple(self.op.vjp) if self.op else ()

    @property
    def saves(self) -> tuple[str, ...]:
        """What is kept for backward; of a composite its ops know."""
        return saves_of(self.op) if self.op else ()

    @property
    def shaders(self) -> tuple[str, ...]:
        return shaders_of(self.op) if self.op else ()


@dataclass(frozen=True)
class CoverageReport:
    """Which op runs where. `str(report)` is a summary, `table()` a line for each op."""

    entries: tuple[OpCoverageEntry, ...]

    def missing(self, device: str = "webgpu") -> list[str]:
        """Ops that are computed on the cpu for tensors of a device."""
        return [e.name for e in self.entries if e.devices[device] == THROUGH]

    def __str__(self) -> str:
        ops = [e for e in self.entries if e.op is not None]
        lines = [f"{len(ops)} ops and {len(self.entries) - len(ops)} functions made of ops"]
        for device in ("cpu", "webgpu"):
            ways = [e.devices[device] for e in ops]
            counts = ", ".join(f"{ways.count(way)} {way}" for way in dict.fromkeys(sorted(ways)))
            lines.append(f"{device}: {counts}")
        lines.append(f"autograd: {sum(e.has_autograd for e in ops)}")
        return "\n".join(lines)

    def table(self) -> str:
        width = max(len(e.name) for e in self.entries)
        return "\n".join(
            f"{e.name:{width}}  {e.kind.value:11}  {e.devices['webgpu']:15}"
            f"  {' '.join(letters(e, 'cpu')):12}  {' '.join(letters(e, 'webgpu')):12}"
            f"  {'autograd' if e.has_autograd else ''}".rstrip()
            for e in self.entries
        )


def letters(entry: OpCoverageEntry, device: str) -> list[str]:
    """The kinds of dtype by their first letters: b i h f d c."""
    known = entry.dtypes.get(device, ())
    return [kind[0] if kind in known else "." for kind in KINDS] if known else []


@dataclass(frozen=True)
class DTypeCoverageReport:
    """Which ops take a dtype, by device."""

    dtype: DType
    devices: dict[str, tuple[str, ...]]


def coverage_of(op: Op) -> OpCoverageEntry:
    on_cpu = "composite" if isinstance(op, Composite) else "native"
    devices = {"cpu": on_cpu, "webgpu": way_on_a_gpu(op)}
    return OpCoverageEntry(op.name, get_op_kind(op), devices, has_autograd(op.name), op)


def functions() -> list[OpCoverageEntry]:
    """What the namespace has besides ops: functions that make tensors, and formulas."""
    found = []
    everywhere = {"cpu": "composite", "webgpu": "composite"}
    for room, kind in ROOMS.items():
        for name, function in vars(import_module(f"wgtorch.{room}")).items():
            if not inspect.isfunction(function) or getattr(wgtorch, name, None) is not function:
                continue
            makes = function.__annotations__.get("return") == "Tensor"
            formula = kind is OpKind.COMPOSITE
            if name not in REGISTRY and (makes or formula):
                found.append(OpCoverageEntry(name, kind, everywhere, makes and formula))
    return found


def coverage_report(ops: Iterable[str] | None = None) -> CoverageReport:
    """Which ops run where; of all public ones, and what is made of them, by default."""
    if ops is not None:
        return CoverageReport(tuple([coverage_of(named(name)) for name in ops]))
    entries = [coverage_of(op) for name, op in REGISTRY.items() if not name.startswith("_")]
    return CoverageReport(tuple(entries + functions()))


def dtype_coverage_report(dtype: DType) -> DTypeCoverageReport:
    """Which ops take a dtype (on a GPU float64 where the adapter has it)."""
    kind = kind_of(dtype)
    taking: dict[str, Any] = {
        device: tuple(
            name
            for name, op in REGISTRY.items()
            if not name.startswith("_") and kind in dtypes_of(op, device)
        )
        for device in ("cpu", "webgpu")
    }
    if dtype.itemsize == 16:
        taking["webgpu"] = ()
    return DTypeCoverageReport(dtype, taking)


def kind_of(dtype: DType) -> str:
    """The word for dtypes that ops treat alike."""
    plain = dtype.plain
    if plain.category == 2:
        return {2: "half", 4: "float", 8: "double"}[plain.itemsize]
    return ("bool", "integer", "", "complex")[plain.category]
