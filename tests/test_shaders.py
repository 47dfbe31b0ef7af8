"""Everything that can become WGSL compiles to a pipeline, on the adapter at hand.

Op expressions in every compute type, in this adapter's dialect and in that of adapters without
64-bit types; and each kernel of every other op, as three kinds of adapter have it.
"""

from __future__ import annotations

import re

import pytest

from tools import kernels, press
from wgtorch.backend import backend
from wgtorch.backends.webgpu import library
from wgtorch.backends.webgpu.codegen import Writer, op_function, taken
from wgtorch.backends.webgpu.packing import Dialect
from wgtorch.backends.webgpu.spelling import is_known
from wgtorch.device import Device
from wgtorch.dtype import ALL, float64
from wgtorch.op import REGISTRY, Elementwise, TypedOp

CHUNK = 30  # functions in one module
WEAK = Dialect()


def typed_ops(dtype):
    """Each elementwise op as it computes in a dtype, where it does."""
    for op in REGISTRY.values():
        if not isinstance(op, Elementwise) or not op.samples or refused(op, dtype):
            continue
        if dtype is not float64 or is_known(op.expression(dtype), dtype):
            yield op.at(dtype)


def refused(op, dtype):
    if dtype.is_complex:
        return not op.complex
    kinds = ("bool", "integer", "float")
    return kinds[dtype.category] in op.refuses or (op.result == "float" and dtype.category < 2)


def chunks(dtype):
    ops = list(typed_ops(dtype))
    return [ops[i : i + CHUNK] for i in range(0, len(ops), CHUNK)]


def read(kind: str, place: int) -> str:
    """A value of a WGSL type out of words."""
    word = f"source[{place}u]"
    return {
        "f32": f"bitcast<f32>({word})", "i32": f"bitcast<i32>({word})", "bool": f"({word} != 0u)",
        "vec2<u32>": f"vec2<u32>({word}, source[{place + 1}u])", "i64": f"i64({word})",
        "f64": f"f64(bitcast<f32>({word}))", "c64": f"c64(bitcast<f32>({word}), 1.5)",
    }[kind]  # fmt: skip


def written(kind: str, value: str) -> str:
    return {
        "f32": f"bitcast<u32>({value})", "i32": f"bitcast<u32>({value})",
        "bool": f"select(0u, 1u, {value})", "vec2<u32>": f"dot({value}, vec2<u32>(1u, 1u))",
        "i64": f"u32({value} & 0xffffffffli)", "f64": f"bitcast<u32>(f32({value}))",
        "c64": f"bitcast<u32>(dot({value}, vec2<f32>(1.0, 2.0)))",
    }[kind]  # fmt: skip


def module(ops: list[TypedOp], dialect: Dialect) -> str:
    """A kernel that calls every one of these functions."""
    writer = Writer(dialect)
    writer.declare("@group(0) @binding(0) var<storage, read> source: array<u32>;")
    writer.declare("@group(0) @binding(1) var<storage, read_write> results: array<u32>;")
    lines = []
    for n, typed in enumerate(ops):
        kinds = [dialect.type_of(dtype) for dtype in taken(typed)]
        args = ", ".join(read(kind, k) for k, kind in enumerate(kinds))
        call = f"{op_function(writer, typed)}({args})"
        lines.append(f"results[{n}u] = {written(dialect.type_of(typed.dtype), call)};")
    body = "\n    ".join(lines)
    main = f"@compute @workgroup_size(1)\nfn main() {{\n    {body}\n}}\n"
    declared = "\n".join([*writer.lines, "", main])
    return library.needed(declared) + declared


@pytest.mark.parametrize("weak", [False, True], ids=["native", "weak"])
@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.name)
def test_expressions(dtype, number, weak, webgpu):
    gpu = backend(Device(webgpu)).gpu
    dialect = WEAK if weak else gpu.dialect
    if not dialect.supports(dtype):
        pytest.skip(f"no {dtype.name} here")
    if weak and dialect.type_of(dtype) == gpu.dialect.type_of(dtype):
        pytest.skip("no different from the native dialect")
    found = chunks(dtype)
    if number >= len(found):
        pytest.skip("there are not so many ops")
    gpu.pipelines.get(module(found[number], dialect), f"{dtype.name} {number}")


def test_chunks_are_enough():
    assert all(len(chunks(dtype)) <= 8 for dtype in ALL)


SPECIAL = [name for name, op in REGISTRY.items() if not isinstance(op, Elementwise) and op.samples]


@pytest.mark.parametrize("index", [press.STRONG, press.WEAK, press.SOFTWARE],
                         ids=["strong", "weak", "software"])  # fmt: skip
@pytest.mark.parametrize("name", SPECIAL)
def test_kernels(name, index, webgpu, monkeypatch):
    gpu = backend(Device(webgpu)).gpu
    monkeypatch.setattr(gpu.pipelines, "cache", {})  # others are to name their kernels themselves
    if index == press.SOFTWARE and gpu.traits.compiles_slowly:
        pytest.skip("these are unrolled for llvmpipe; SwiftShader takes minutes for one")
    for about, text in kernels.kernels_of(REGISTRY[name], index).items():
        wide = re.search(r"\b[iu]64\b", library.COMMENT.sub("", text))
        if wide and not gpu.traits.int64 and index != press.WEAK:
            continue
        if gpu.traits.compiles_slowly and re.search(r"const MANY = [2-9]", text):
            continue  # unrolled, which it never gets
        if text.count("@binding(") > gpu.most_buffers:
            continue  # programs are cut to what an adapter binds
        if group_size(text) <= gpu.traits.group_size:
            gpu.pipelines.get(text, f"{name}: {about}")


def group_size(text: str) -> int:
    """Invocations of a workgroup, worked out from the constants that name them."""
    constants = dict(re.findall(r"const (\w+) = (\d+)u?;", text))
    sizes = re.search(r"@workgroup_size\(([^)]*)\)", text)[1].split(",")
    total = 1
    for size in map(str.strip, filter(str.strip, sizes)):
        number = constants.get(size, size.rstrip("u"))
        total *= int(number) if number.isdecimal() else 1  # a product of constants: try it
    return total


@pytest.mark.parametrize("path", sorted(library.folder().glob("*.wgsl")), ids=lambda p: p.name)
def test_head(path):
    """A shader begins with a sentence that says what it does, and is WGSL: nothing to fill in."""
    text = path.read_text(encoding="utf-8")
    first = text.split("\n\n")[0].split("\n//\n")[0]
    assert first.startswith("// ") and "." in first
    assert "{{" not in text and "enable f16" not in text


@pytest.mark.parametrize("path", sorted((library.folder() / "lib").glob("*.wgsl")),
                         ids=lambda p: p.name)  # fmt: skip
def test_library_file(path):
    """Nothing but functions, constants and structs, each named once in the whole library."""
    text = library.COMMENT.sub("", path.read_text(encoding="utf-8"))
    starts = [line for line in text.splitlines() if line and line[0] not in " }\t)"]
    for line in starts:
        assert re.match(r"(@\w+ )*(fn|const|struct|alias) \w+", line), line
    assert library.items()
