"""The way of an op: whether it is native on a device, by which shaders, for which kinds of dtype.

All of it is read off the declaration. Which dtypes an op takes is tried out on the cpu with its
samples; a GPU takes the same ones, but complex128, and float64 only where it knows the functions:
of a formula those of the ops that it runs for a sample.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any
from zlib import crc32

import numpy as np

from wgtorch.autograd.mode import no_grad
from wgtorch.backend import backend
from wgtorch.backends.webgpu.spelling import is_known
from wgtorch.create import tensor
from wgtorch.device import Device
from wgtorch.dispatch.doors import FACES
from wgtorch.dtype import DType, bool_, complex64, float16, float32, float64, int32
from wgtorch.op import (
    REGISTRY,
    Composite,
    Draw,
    Elementwise,
    Join,
    Map,
    Op,
    Reduction,
    Rowwise,
    Scan,
    Structured,
    asks,
)  # fmt: skip
from wgtorch.random import fork_rng

KINDS = {"bool": bool_, "integer": int32, "half": float16, "float": float32, "double": float64,
         "complex": complex64}  # fmt: skip
SHADER = re.compile(r"\w+\.wgsl")
GUESSES = {"float": 0.5, "bool": True, "int": 1}
COMPOSED, THROUGH = "composite", "through the cpu"


def functions_of(function: Any) -> Iterator[FunctionType]:
    """A function and those that it calls or holds, as far as names tell."""
    todo, seen = [function], set()
    while todo:
        f = todo.pop()
        if isinstance(f, type):
            todo.extend(v for v in vars(f).values() if isinstance(v, FunctionType))
        f = inspect.unwrap(f) if callable(f) else f
        if not isinstance(f, FunctionType) or f in seen:
            continue
        seen.add(f)
        yield f
        names = names_in(f.__code__)
        for name in names:
            found = f.__globals__.get(name)
            if isinstance(found, ModuleType) and found.__name__.startswith("wgtorch.ops"):
                todo.extend(getattr(found, n, None) for n in names)
            todo.append(found)
        todo.extend(cell.cell_contents for cell in f.__closure__ or ())


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """A function's code and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def names_in(code: CodeType) -> list[str]:
    return list(dict.fromkeys(name for c in codes_in(code) for name in c.co_names))


@cache
def used_by(op: Composite) -> tuple[Op, ...]:
    """The ops that a formula names."""
    words = {word for f in functions_of(op.function) for word in names_in(f.__code__)}
    return tuple([o for name, o in REGISTRY.items() if name in words and o is not op])


@cache
def way_on_a_gpu(op: Op) -> str:
    """ "native", "composite" or "through the cpu"."""
    if isinstance(op, Composite):
        below = [way_on_a_gpu(o) for o in used_by(op) if o.name.startswith("_")]
        return THROUGH if THROUGH in below else COMPOSED
    own = isinstance(op, Map | Rowwise | Scan | Join)
    if isinstance(op, Structured) and op.plan is None and not own:
        return THROUGH
    return "native"


def shaders_of(op: Op) -> tuple[str, ...]:
    """The files of shaders/ that an op's own kernels are made of."""
    if isinstance(op, Map | Rowwise):
        rows = ("rows_threads.wgsl", "rows_groups.wgsl") if isinstance(op, Rowwise) else ()
        return (op.shader, *rows)
    if isinstance(op, Elementwise | Join | Draw):
        return ("elementwise.wgsl",)
    if isinstance(op, Reduction | Scan):
        return tuple([f"{'scan' if isinstance(op, Scan) else 'fold'}_{by}.wgsl"
                      for by in ("threads", "groups")])  # fmt: skip
    if not isinstance(op, Structured) or op.plan is None:
        return ()
    found = set()
    for f in functions_of(op.plan):
        for code in codes_in(f.__code__):
            found.update(SHADER.findall(str(code.co_consts)))
        known = [f.__globals__.get(name) for name in names_in(f.__code__)]
        found.update(SHADER.findall(str([k for k in known if isinstance(k, str | tuple | dict)])))
    return tuple(sorted(found - {"elementwise.wgsl"}) or sorted(found))


def saves_of(op: Op) -> tuple[str, ...]:
    """The inputs and results that are kept for backward."""
    names = (*op.inputs, "result", "results", *getattr(op, "outputs", ()))
    asked = {ask for formula in op.vjp.values() for ask in asks(formula)}
    return tuple(name for name in dict.fromkeys(names) if name in asked)


# Dtypes


@cache
def dtypes_of(op: Op, device: str = "cpu") -> tuple[str, ...]:
    """The kinds of dtype (`KINDS`) that an op takes; () where it cannot be told."""
    with no_grad(), fork_rng(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if device != "cpu":
            return tuple([kind for kind in dtypes_of(op) if kind != "double" or takes_double(op)])
        return tuple([kind for kind, dtype in KINDS.items() if takes(op, dtype)])


@cache
def takes_double(op: Op) -> bool:
    """Whether a GPU that has float64 computes an op in it."""
    if isinstance(op, Composite):
        return takes(op, float64, on_a_gpu=True)
    if isinstance(op, Elementwise):
        return is_known(op.expression(float64), float64)
    if isinstance(op, Reduction | Scan):
        leave = op.leave if isinstance(op.leave, tuple) else (op.leave,)
        said = (op.enter, op.combine, *leave)
        return not op.state and all(is_known(e, float64) for e in said)
    return not isinstance(op, Rowwise) and not is_of_complex(op)


def is_of_complex(op: Op) -> bool:
    """Whether an op is about complex numbers: what would be complex128 is on no GPU."""
    rng = np.random.default_rng(0)
    first = next(iter(op.samples(rng)), ((), {})) if op.samples else ((), {})
    return any(getattr(a, "dtype", np.dtype("f")).kind == "c" for a in flat(first[0]))


def takes(op: Op, dtype: DType, on_a_gpu: bool = False) -> bool:
    """Whether an op computes one of its samples in a dtype; on a GPU, if what it runs could run
    there."""
    rng = np.random.default_rng(crc32(op.name.encode()))
    for args, attrs in op.samples(rng) if op.samples else guessed(op):
        arrays = [a for a in flat((*args, *attrs.values())) if isinstance(a, np.ndarray)]
        numbers = "fc" if any(a.dtype.kind in "fc" for a in arrays) else "iu"
        given = [retyped(a, dtype, numbers) for a in args]
        named = {name: retyped(a, dtype, numbers) for name, a in attrs.items()}
        with watched() as met:
            try:
                FACES[op.name](*given, **named)
            except Exception:  # whatever refuses
                continue
        if not on_a_gpu or all(runs_on_a_gpu(*pair) for pair in met):
            return True
    return False


@contextmanager
def watched() -> Iterator[set[tuple[Op, DType]]]:
    """The ops that the cpu runs meanwhile, with the dtypes of their numbers."""
    home, met = backend(Device("cpu")), set()
    elementwise, reduction, structured = home.elementwise, home.reduction, home.structured

    def one(typed, *args):
        met.add((typed.op, typed.compute))
        return elementwise(typed, *args)

    def fold(fold, source):
        met.add((fold.op, fold.compute))
        return reduction(fold, source)

    def own(call, args):
        met.update([(call.op, d) for d in (*flat(call.dtypes), *call.out_dtypes) if d])
        return structured(call, args)

    vars(home).update(elementwise=one, reduction=fold, structured=own)
    try:
        yield met
    finally:
        for name in ("elementwise", "reduction", "structured"):
            del vars(home)[name]


def runs_on_a_gpu(op: Op, compute: DType) -> bool:
    if way_on_a_gpu(op) == THROUGH:
        return True
    return compute.itemsize < 16 and (compute is not float64 or takes_double(op))


def guessed(op: Op) -> list[tuple[list[Any], dict[str, Any]]]:
    """Arguments for an op without samples: its tensors a matrix, its numbers plain ones."""
    args: list[Any] = []
    for p in inspect.signature(op.reference).parameters.values():
        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD:
            matrix = np.array([[1, 0.5], [0.5, 1]], np.float32)
            args.append(GUESSES.get(str(p.annotation), matrix))
    return [(args, {})]


def flat(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from flat(value)
        else:
            yield value


def retyped(value: Any, dtype: DType, kinds: str) -> Any:
    """A sample's tensors, those of numbers as another dtype."""
    if isinstance(value, list | tuple) and any(isinstance(v, np.ndarray) for v in flat(value)):
        return type(value)([retyped(v, dtype, kinds) for v in value])
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind not in kinds:
        return tensor(value)
    if dtype.category < 3 and value.dtype.kind == "c":
        value = value.real
    if dtype.category < 2 and value.dtype.kind == "f":
        value = np.rint(value * 3)
    return tensor(value.astype(dtype.np))
