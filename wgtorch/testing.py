"""Testing: `assert_close`, which says how far apart tensors are, and where."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wgtorch.backend import backend
from wgtorch.create import as_tensor
from wgtorch.dtype import (
    DType,
    bfloat16,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    of_number,
    promote_types,
)  # fmt: skip
from wgtorch.tensor import Tensor

TOLERANCES = {  # (relative, absolute)
    float16: (1e-3, 1e-5), bfloat16: (1.6e-2, 1e-5), float32: (1.3e-6, 1e-5), float64: (1e-7, 1e-7),
    complex64: (1.3e-6, 1e-5), complex128: (1e-7, 1e-7),
}  # fmt: skip
Numbers = bool | int | float | complex


@dataclass(frozen=True)
class Terms:
    """What counts as close."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_stride: bool
    msg: str | Callable[[str], str] | None

    def tolerances(self, *dtypes: DType) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        known = [TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
        return max(k[0] for k in known), max(k[1] for k in known)

    def fail(self, text: str, place: str) -> AssertionError:
        text += f"\n\nThe failure occurred for item {place}" if place else ""
        said = self.msg(text) if callable(self.msg) else self.msg
        return AssertionError(text if said is None else said)


def assert_close(
    actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
    atol: float | None = None, equal_nan: bool = False, check_device: bool = True,
    check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:  # fmt: skip
    """AssertionError unless |actual - expected| <= atol + rtol |expected| everywhere.

    Of tensors, numbers, numpy's arrays, and sequences and mappings of them. Tolerances that are
    left out follow from the dtype; integers must be equal.
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no"
            f" {'rtol' if rtol is None else 'atol'}."
        )
    terms = Terms(rtol, atol, equal_nan, check_device, check_dtype, check_stride, msg)
    compare(actual, expected, terms, "")


def compare(actual: Any, expected: Any, terms: Terms, place: str) -> None:
    if actual is None and expected is None:
        return
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        compare_mappings(actual, expected, terms, place)
    elif is_sequence(actual) and is_sequence(expected):
        if len(actual) != len(expected):
            told = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise terms.fail(told, place)
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            compare(a, e, terms, f"{place}[{i}]")
    elif isinstance(actual, Numbers) and isinstance(expected, Numbers):
        compare_numbers(actual, expected, terms, place)
    elif is_array(actual) and is_array(expected):
        compare_tensors(as_tensor(actual), as_tensor(expected), terms, place)
    else:
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(actual)} and"
            f" {type(expected)}."
        )


def is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def is_array(value: Any) -> bool:
    return isinstance(value, Tensor | np.ndarray)


def compare_mappings(actual: Mapping, expected: Mapping, terms: Terms, place: str) -> None:
    missing = [key for key in expected if key not in actual]
    more = [key for key in actual if key not in expected]
    if missing or more:
        raise terms.fail(
            "The keys of the mappings do not match:\nMissing keys in the actual mapping:"
            f" {missing}\nAdditional keys in the actual mapping: {more}",
            place,
        )
    for key in actual:
        compare(actual[key], expected[key], terms, f"{place}[{key!r}]")


def compare_numbers(actual: Any, expected: Any, terms: Terms, place: str) -> None:
    if terms.check_dtype and type(actual) is not type(expected):
        told = f"The (d)types do not match: {type(actual)} != {type(expected)}."
        raise terms.fail(told, place)
    kinds = [float64 if type(v) is float else of_number(type(v)) for v in (actual, expected)]
    said = scalars_apart(actual, expected, terms.tolerances(*kinds), terms.equal_nan)
    if said:
        raise terms.fail(said, place)


def compare_tensors(actual: Tensor, expected: Tensor, terms: Terms, place: str) -> None:
    for name, a, e, asked in (
        ("shape", actual.shape, expected.shape, True),
        ("device", actual.device, expected.device, terms.check_device),
        ("dtype", actual.dtype, expected.dtype, terms.check_dtype),
        ("stride()", actual.stride(), expected.stride(), terms.check_stride),
    ):
        if asked and a != e:
            raise terms.fail(f"The values for attribute '{name}' do not match: {a} != {e}.", place)
    if actual.is_meta or expected.is_meta:
        return
    tolerances = terms.tolerances(actual.dtype, expected.dtype)
    common = promote_types(actual.dtype, expected.dtype)
    left, right = (elements(t, common) for t in (actual, expected))
    if left.ndim:
        said = arrays_apart(left, right, tolerances, terms.equal_nan)
    else:
        said = scalars_apart(left.item(), right.item(), tolerances, terms.equal_nan)
    if said:
        raise terms.fail(said, place)


def elements(tensor: Tensor, dtype: DType) -> np.ndarray:
    tensor = tensor.detach()
    array = backend(tensor.device).download(tensor).astype(dtype.np)
    return array.astype(np.int64) if array.dtype.kind in "bui" else array


def are_close(actual: Any, expected: Any, tolerances: tuple, equal_nan: bool) -> np.ndarray:
    rtol, atol = tolerances
    a, e = (np.asarray(v) for v in (actual, expected))
    wide = np.complex128 if "c" in (a.dtype.kind, e.dtype.kind) else np.float64
    with np.errstate(all="ignore"):
        equal = a == e
        if a.dtype.kind == "i" and e.dtype.kind == "i" and rtol == atol == 0:
            return equal
        return equal | np.isclose(a.astype(wide), e.astype(wide), rtol, atol, equal_nan)


def allowed(tolerance: float, tolerances: tuple) -> str:
    return f" (up to {tolerance} allowed)" if any(tolerances) else ""


def scalars_apart(actual: Any, expected: Any, tolerances: tuple, equal_nan: bool) -> str:
    """What is said of two numbers that are not close; nothing of others."""
    if are_close(actual, expected, tolerances, equal_nan):
        return ""
    apart = abs(actual - expected)
    share = apart / abs(expected) if expected else float("inf")
    return (
        f"Scalars are not {'close' if any(tolerances) else 'equal'}!\n\nExpected {expected} but got"
        f" {actual}.\nAbsolute difference: {apart}{allowed(tolerances[1], tolerances)}\n"
        f"Relative difference: {share}{allowed(tolerances[0], tolerances)}"
    )


def arrays_apart(left: np.ndarray, right: np.ndarray, tolerances: tuple, equal_nan: bool) -> str:
    close = are_close(left, right, tolerances, equal_nan)
    wrong = int(close.size - np.count_nonzero(close))
    if not wrong:
        return ""
    with np.errstate(all="ignore"):
        apart = np.where(close, np.zeros((), left.dtype), abs(left - right))
        apart = abs(apart)
        share = apart.astype(np.float32) if apart.dtype.kind == "i" else apart
        share = np.where(close, np.zeros((), share.dtype), share / abs(right).astype(share.dtype))
    lines = [f"Tensor-likes are not {'close' if any(tolerances) else 'equal'}!\n"]
    lines.append(f"Mismatched elements: {wrong} / {close.size} ({100 * wrong / close.size:.1f}%)")
    for word, values, tolerance in (
        ("absolute", apart, tolerances[1]), ("relative", share, tolerances[0]),
    ):  # fmt: skip
        place = np.unravel_index(int(np.argmax(values)), values.shape)
        number = np.asarray(values[place]).astype(values.dtype if word == "absolute" else float)
        found = number.item() if number.dtype.kind != "V" else float(number)
        where = tuple(int(i) for i in place)
        lines.append(
            f"Greatest {word} difference: {found} at index {where}{allowed(tolerance, tolerances)}"
        )
    return "\n".join(lines)
