"""Expressions of ops as this adapter's WGSL says them.

An expression is written once, over scalars. Here its functions find their variant for a compute
type, and where WGSL has no such type (64-bit integers on weak adapters, complex numbers) its
operators become calls too. The expressions are simple enough that Python's own parser reads them.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import Any

from wgtorch.backends.webgpu import library
from wgtorch.backends.webgpu.packing import Dialect
from wgtorch.dtype import DType, float32

CALL = re.compile(r"\b([a-z_]\w*)(?=\()")
EMULATED = {
    ast.Add: "i64_add", ast.Sub: "i64_sub", ast.Mult: "i64_mul", ast.BitAnd: "i64_and",
    ast.BitOr: "i64_or", ast.BitXor: "i64_xor", ast.LShift: "i64_shl", ast.RShift: "i64_shr",
    ast.Eq: "i64_eq", ast.NotEq: "i64_ne", ast.Lt: "i64_lt", ast.LtE: "i64_le", ast.Gt: "i64_gt",
    ast.GtE: "i64_ge", ast.USub: "i64_neg", ast.Invert: "i64_not",
}  # fmt: skip


COMPLEX = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Eq: "eq", ast.NotEq: "ne",
    ast.USub: "neg",
}  # fmt: skip


@cache
def spelled(expression: str, compute: DType, dialect: Dialect) -> str:
    """The WGSL of an op's expression in a compute type."""
    if dialect.emulates(compute) or compute.wgsl == "c64":
        return emulated(expression, dialect.suffix(compute))
    suffix = dialect.suffix(compute)
    known = library.items()

    def variant(match: re.Match) -> str:
        name = f"{match[1]}_{suffix}"
        return name if name in known else match[1]

    return CALL.sub(variant, expression)


F64 = frozenset(("abs", "ceil", "floor", "round", "select", "sqrt", "trunc"))  # what WGSL computes


def is_known(expression: str, compute: DType) -> bool:
    """Whether every function in it has a variant for a compute type that has few builtins."""
    names = CALL.findall(expression)
    return all(n in F64 or f"{n}_{compute.wgsl}" in library.items() for n in names)


NARROW = re.compile(  # built-ins that compute no float64, of what is not narrowed before
    r"\b(a?(sin|cos|tan)h?|atan2|exp2?|log2?|pow|degrees|radians)\(\s*-?\s*(?!f32\()"
)
RAW = re.compile(r"(?<!f32\()(?<!fn )\b\w+_(nth|at)\(")  # a number read as it is


def computes_double(source: str, is_result: bool) -> bool:
    """Whether a user's shader may be given float64: one that narrows it, to f32 or to the type of
    a result that `is_result` none, or asks nothing of it that GPUs lack."""
    text = library.COMMENT.sub("", source)
    if not is_result:
        text = text.replace("result_type(", "f32(")
    return not (NARROW.search(text) and RAW.search(text))


def lacks_double(name: str, device: Any) -> TypeError:
    return TypeError(
        f"{name.strip('_')}(): {device} cannot compute it in float64; use .float(), or .cpu() to"
        " keep the precision"
    )


def emulated(expression: str, suffix: str = "i64e") -> str:
    source = expression.replace("&&", " and ").replace("||", " or ")
    source = re.sub(r"!(?!=)", " not ", source).strip()
    return _say(ast.parse(source, mode="eval").body, suffix)


def _say(node: ast.expr, suffix: str) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=whole, attr=part):
            return f"{_say(whole, suffix)}.{part}"
        case ast.Constant(value=value):
            return constant(int(value)) if suffix == "i64e" else f"c64({float(value)}, 0.0)"
        case ast.BinOp(left=left, op=op, right=right):
            return f"{_operator(op, suffix)}({_say(left, suffix)}, {_say(right, suffix)})"
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return f"{_operator(op, suffix)}({_say(left, suffix)}, {_say(right, suffix)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"!({_say(operand, suffix)})"
        case ast.UnaryOp(op=op, operand=operand):
            return f"{_operator(op, suffix)}({_say(operand, suffix)})"
        case ast.BoolOp(op=op, values=values):
            word = " & " if isinstance(op, ast.And) else " | "  # && would branch
            return "(" + word.join(_say(v, suffix) for v in values) + ")"
        case ast.Call(func=ast.Name(id=name), args=args):
            said = ", ".join(_say(a, suffix) for a in args)
            variant = f"{name}_{suffix}"
            return f"{variant if variant in library.items() else name}({said})"
    raise SyntaxError(f"cannot say {ast.unparse(node)!r} with functions for {suffix}")


def _operator(op: ast.AST, suffix: str) -> str:
    return EMULATED[type(op)] if suffix == "i64e" else f"{COMPLEX[type(op)]}_{suffix}"


def constant(value: int) -> str:
    return f"vec2<u32>({value & 0xFFFFFFFF}u, {value >> 32 & 0xFFFFFFFF}u)"


def reaches_beyond(have: DType, want: DType) -> bool:
    """Whether numbers of one dtype may be none of an integer dtype."""
    unlike = have.category == 1 and have.is_signed != want.is_signed
    return have.itemsize > want.itemsize or (unlike and have.itemsize == want.itemsize)


def converted(value: str, have: DType, want: DType, dialect: Dialect) -> str:
    """`value` of compute dtype `have` as compute dtype `want`, by PyTorch's rules."""
    a, b = dialect.suffix(have), dialect.suffix(want)
    if a == b:
        return value
    if b == "c64":
        return f"c64({converted(value, have, float32, dialect)}, 0.0)"
    if a == "c64":
        if b == "bool":
            return f"to_bool_c64({value})"
        return converted(f"{value}.x", float32, want, dialect)
    if a == "i64e":
        return f"i64_to_{b}({value})" if b != "f64" else f"f64(i64_to_f32({value}))"
    if b == "i64e":
        return f"i64_from_{a}({value})"
    if b == "bool":
        known = f"to_bool_{a}"  # by bits where a compiler may assume that there is no NaN
        return f"{known}({value})" if known in library.items() else f"({value} != {a}(0))"
    if a == "f32" and b in ("i32", "i64"):
        return f"to_{b}_f32({value})" if f"to_{b}_f32" in library.items() else f"{b}({value})"
    if (a, b) == ("i32", "i64"):
        return f"i64_of_i32({value})"
    return f"{b}({value})"
