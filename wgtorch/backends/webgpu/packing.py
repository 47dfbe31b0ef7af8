"""How elements sit in buffers, as WGSL text: how many to a word, how they are read and written.

Buffers hold the bytes that numpy holds. A kernel sees a buffer either as quads (four neighbours
at once, by whole words) or element by element.
"""

from __future__ import annotations

from dataclasses import dataclass

from wgtorch.dtype import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)  # fmt: skip

LANES = "xyzw"


@dataclass(frozen=True)
class Dialect:
    """What the adapter's WGSL can say."""

    int64: bool = False
    f64: bool = False
    unrolls: bool = True  # whether the driver's compiler takes long functions in its stride
    halves: bool = False  # whether its own packing of float16 is exact (see halves.py)
    by_lanes: bool = False  # whether a workgroup is best one vector of a CPU's lanes
    wide: bool = False  # whether memory is best moved by 64 bits: each move is dear, however long

    def type_of(self, dtype: DType) -> str:
        """The WGSL type that a dtype is computed in (c64 is the library's alias)."""
        return "vec2<u32>" if self.emulates(dtype) else dtype.wgsl

    def suffix(self, dtype: DType) -> str:
        """What library functions for it are called: `sign_f32`, `sign_i64e`."""
        return "i64e" if self.emulates(dtype) else dtype.wgsl

    def emulates(self, dtype: DType) -> bool:
        return dtype is int64 and not self.int64

    def supports(self, dtype: DType) -> bool:
        return dtype.itemsize < 16 and (dtype is not float64 or self.f64)


DECODE = {
    bool_: "({0} != 0u)",
    uint8: "i32({0})",
    int8: "extractBits(bitcast<i32>({0}), 0u, 8u)",
    int16: "extractBits(bitcast<i32>({0}), 0u, 16u)",
    float16: "unpack_f16({0}, 0u)",
    bfloat16: "unpack_bf16({0}, 0u)",
}
ENCODE = {
    bool_: "select(0u, 1u, {0})",
    uint8: "(bitcast<u32>({0}) & 255u)",
    int8: "(bitcast<u32>({0}) & 255u)",
    int16: "(bitcast<u32>({0}) & 65535u)",
}
PAIRS = {float16: "pack2_f16", bfloat16: "pack2_bf16"}
CUT = {float16: "pack2_f16", bfloat16: "cut2_bf16"}  # of numbers that are rounded already
UNPAIRED = {float16: "unpack2_f16", bfloat16: "unpack2_bf16"}
ROUNDED = {  # what makes a result one that the dtype can hold
    uint8: "wrap_u8({0})", int8: "wrap_i8({0})", int16: "wrap_i16({0})",
    float16: "round_f16_f32({0})", bfloat16: "round_bf16_f32({0})",
}  # fmt: skip


def per_word(dtype: DType) -> int:
    """Elements to a 32-bit word; 0 where an element takes two."""
    return 4 // dtype.itemsize


def element_type(dtype: DType, dialect: Dialect) -> str:
    """Of a buffer seen element by element; packed ones are words."""
    if dtype in (int32, float32):
        return dtype.wgsl
    if dtype.itemsize == 8:
        return dialect.type_of(dtype)
    return "u32"


def quad_type(dtype: DType, dialect: Dialect) -> str:
    """Of a buffer seen by fours; element by element where that is no gain."""
    words = dtype.itemsize
    if words == 8:
        return dialect.type_of(dtype)
    if words == 4 and dialect.wide:
        return "vec2<u64>"
    kind = element_type(dtype, dialect)
    return kind if words == 1 else f"vec{words}<{kind}>"


def words_type(many: int) -> str:
    return "u32" if many == 1 else f"vec{many}<u32>"


def oct_type(dtype: DType, dialect: Dialect) -> str:
    """Of a buffer seen by eights, where `Dialect.wide`."""
    if dtype.itemsize == 4:
        return "vec4<u64>"
    return words_type(2 * dtype.itemsize) if dtype.itemsize < 4 else quad_type(dtype, dialect)


def read_one(dtype: DType, name: str, place: str) -> str:
    """WGSL for the element at `place` (an expression without side effects)."""
    many = per_word(dtype)
    if many <= 1:
        return f"{name}[{place}]"
    bits = 32 // many
    shift = f"{bits}u * (({place}) % {many}u)"
    word = f"({name}[({place}) / {many}u] >> ({shift}))"
    return decoded(dtype, f"({word} & {(1 << bits) - 1}u)")


def decoded(dtype: DType, bits: str) -> str:
    return DECODE[dtype].format(bits)


def read_quad(
    dtype: DType, name: str, quad: str, local: str, dialect: Dialect
) -> tuple[list[str], list[str]]:
    """(statements, the four elements) of quad number `quad`; `local` names a variable."""
    if dtype.itemsize == 8:
        return [], [f"{name}[{quad} * 4u + {k}u]" for k in range(4)]
    if dtype.itemsize == 4 and dialect.wide:
        return read_pairs(dtype, name, quad, local, 2)
    if dtype.itemsize == 4:
        return [f"let {local} = {name}[{quad}];"], [f"{local}.{lane}" for lane in LANES]
    return read_words(dtype, name, quad, dtype.itemsize, local)


def read_words(
    dtype: DType, name: str, place: str, many: int, local: str
) -> tuple[list[str], list[str]]:
    """(statements, the elements) of `many` words, of a short dtype."""
    lines, values = [f"let {local} = {name}[{place}];"], []
    words = [local] if many == 1 else [f"{local}.{lane}" for lane in LANES[:many]]
    if dtype not in UNPAIRED:
        return lines, [value for word in words for value in unpacked(dtype, word)]
    for k, word in enumerate(words):
        lines.append(f"let {local}_{k} = {UNPAIRED[dtype]}({word});")
        values += [f"{local}_{k}.x", f"{local}_{k}.y"]
    return lines, values


def read_oct(dtype: DType, name: str, place: str, local: str) -> tuple[list[str], list[str]]:
    """(statements, the eight elements) of oct number `place`."""
    if dtype.itemsize == 8:
        return [], [f"{name}[{place} * 8u + {k}u]" for k in range(8)]
    if dtype.itemsize == 4:
        return read_pairs(dtype, name, place, local, 4)
    return read_words(dtype, name, place, 2 * dtype.itemsize, local)


def read_pairs(
    dtype: DType, name: str, place: str, local: str, many: int
) -> tuple[list[str], list[str]]:
    """(statements, the elements) of `many` times 64 bits, each of two elements."""
    vector, words = f"vec{many}<{dtype.wgsl}>", f"vec{many}<u32>"
    fetch = [
        f"let {local} = {name}[{place}];",
        f"let {local}_even = bitcast<{vector}>({words}({local}));",
        f"let {local}_odd = bitcast<{vector}>({words}({local} >> {words}(32u)));",
    ]
    return fetch, [f"{local}_{side}.{lane}" for lane in LANES[:many] for side in ("even", "odd")]


def unpacked(dtype: DType, word: str) -> list[str]:
    """The elements of a word."""
    bits = 8 * dtype.itemsize
    parts = [f"({word} >> {k}u)" for k in range(0, 32, bits)]
    return [decoded(dtype, f"({part} & {(1 << bits) - 1}u)") for part in parts]


def write_quad(
    dtype: DType, name: str, quad: str, values: list[str], dialect: Dialect,
    is_rounded: bool = False,
) -> list[str]:  # fmt: skip
    """Statements. `is_rounded`: the values are such as the dtype can hold."""
    if dtype.itemsize == 8:
        return [f"{name}[{quad} * 4u + {k}u] = {v};" for k, v in enumerate(values)]
    if dtype.itemsize == 4 and dialect.wide:
        pair = f"vec2<u64>(bitcast<vec2<u32>>(vec2<{dtype.wgsl}>({{}}, {{}})))"
        even, odd = pair.format(values[0], values[2]), pair.format(values[1], values[3])
        return [f"{name}[{quad}] = {even} | ({odd} << vec2<u32>(32u));"]
    if dtype.itemsize == 4:
        return [f"{name}[{quad}] = vec4<{dtype.wgsl}>({', '.join(values)});"]
    return [write_words(dtype, name, quad, values, is_rounded)]


def write_words(
    dtype: DType, name: str, place: str, values: list[str], is_rounded: bool = False
) -> str:
    """A statement that writes whole words of a short dtype."""
    many, words = per_word(dtype), []
    for k in range(0, len(values), many):
        if dtype in PAIRS:
            pack = (CUT if is_rounded else PAIRS)[dtype]
            words.append(f"{pack}(vec2<f32>({values[k]}, {values[k + 1]}))")
            continue
        bits = [f"({ENCODE[dtype].format(v)} << {32 // many * n}u)"
                for n, v in enumerate(values[k : k + many])]  # fmt: skip
        words.append(" | ".join(bits))
    said = words[0] if len(words) == 1 else f"vec{len(words)}<u32>({', '.join(words)})"
    return f"{name}[{place}] = {said};"


def encoded(dtype: DType, value: str) -> str:
    """The bits of a packed element."""
    if dtype in PAIRS:
        return f"({PAIRS[dtype]}(vec2<f32>({value}, 0.0)) & 65535u)"
    return ENCODE[dtype].format(value)


def write_one(dtype: DType, name: str, place: str, value: str) -> list[str]:
    """A packed element shares its word with others: words are atomic, and only its bits move."""
    many = per_word(dtype)
    if many <= 1:
        return [f"{name}[{place}] = {value};"]
    bits = 32 // many
    mask = (1 << bits) - 1
    return [
        f"let word = ({place}) / {many}u;",
        f"let shift = {bits}u * (({place}) % {many}u);",
        f"atomicAnd(&{name}[word], ~({mask}u << shift));",
        f"atomicOr(&{name}[word], {encoded(dtype, value)} << shift);",
    ]


def one_writable(dtype: DType, dialect: Dialect) -> str:
    """The element type of a buffer that `write_one` writes."""
    return "atomic<u32>" if per_word(dtype) > 1 else element_type(dtype, dialect)
