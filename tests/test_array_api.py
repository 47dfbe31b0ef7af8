"""The array API standard, 2024.12: names, signatures, and numpy's answers to the same calls."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import wgtorch

xp = wgtorch.zeros(1).__array_namespace__(api_version="2024.12")

SIGNATURES = [
    "arange(start, /, stop=None, step=1, *, dtype=None, device=None)",
    "asarray(obj, /, *, dtype=None, device=None, copy=None)",
    "empty(shape, *, dtype=None, device=None)",
    "empty_like(x, /, *, dtype=None, device=None)",
    "eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)",
    "from_dlpack(x, /, *, device=None, copy=None)",
    "full(shape, fill_value, *, dtype=None, device=None)",
    "full_like(x, /, fill_value, *, dtype=None, device=None)",
    "linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)",
    "meshgrid(*arrays, indexing='xy')",
    "ones(shape, *, dtype=None, device=None)",
    "ones_like(x, /, *, dtype=None, device=None)",
    "tril(x, /, *, k=0)",
    "triu(x, /, *, k=0)",
    "zeros(shape, *, dtype=None, device=None)",
    "zeros_like(x, /, *, dtype=None, device=None)",
    "astype(x, dtype, /, *, copy=True, device=None)",
    "can_cast(from_, to, /)",
    "finfo(type, /)",
    "iinfo(type, /)",
    "isdtype(dtype, kind)",
    "result_type(*arrays_and_dtypes)",
    "clip(x, /, min=None, max=None)",
    "take(x, indices, /, *, axis=None)",
    "take_along_axis(x, indices, /, *, axis=-1)",
    "matmul(x1, x2, /)",
    "matrix_transpose(x, /)",
    "tensordot(x1, x2, /, *, axes=2)",
    "vecdot(x1, x2, /, *, axis=-1)",
    "broadcast_arrays(*arrays)",
    "broadcast_to(x, /, shape)",
    "concat(arrays, /, *, axis=0)",
    "expand_dims(x, /, *, axis=0)",
    "flip(x, /, *, axis=None)",
    "moveaxis(x, source, destination, /)",
    "permute_dims(x, /, axes)",
    "repeat(x, repeats, /, *, axis=None)",
    "reshape(x, /, shape, *, copy=None)",
    "roll(x, /, shift, *, axis=None)",
    "squeeze(x, /, axis)",
    "stack(arrays, /, *, axis=0)",
    "tile(x, repetitions, /)",
    "unstack(x, /, *, axis=0)",
    "argmax(x, /, *, axis=None, keepdims=False)",
    "argmin(x, /, *, axis=None, keepdims=False)",
    "count_nonzero(x, /, *, axis=None, keepdims=False)",
    "nonzero(x, /)",
    "searchsorted(x1, x2, /, *, side='left', sorter=None)",
    "where(condition, x1, x2, /)",
    "unique_all(x, /)",
    "unique_counts(x, /)",
    "unique_inverse(x, /)",
    "unique_values(x, /)",
    "argsort(x, /, *, axis=-1, descending=False, stable=True)",
    "sort(x, /, *, axis=-1, descending=False, stable=True)",
    "cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)",
    "cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)",
    "max(x, /, *, axis=None, keepdims=False)",
    "mean(x, /, *, axis=None, keepdims=False)",
    "min(x, /, *, axis=None, keepdims=False)",
    "prod(x, /, *, axis=None, dtype=None, keepdims=False)",
    "std(x, /, *, axis=None, correction=0.0, keepdims=False)",
    "sum(x, /, *, axis=None, dtype=None, keepdims=False)",
    "var(x, /, *, axis=None, correction=0.0, keepdims=False)",
    "all(x, /, *, axis=None, keepdims=False)",
    "any(x, /, *, axis=None, keepdims=False)",
    "diff(x, /, *, axis=-1, n=1, prepend=None, append=None)",
    "linalg.cholesky(x, /, *, upper=False)",
    "linalg.cross(x1, x2, /, *, axis=-1)",
    "linalg.det(x, /)",
    "linalg.diagonal(x, /, *, offset=0)",
    "linalg.eigh(x, /)",
    "linalg.eigvalsh(x, /)",
    "linalg.inv(x, /)",
    "linalg.matrix_norm(x, /, *, keepdims=False, ord='fro')",
    "linalg.matrix_power(x, n, /)",
    "linalg.matrix_rank(x, /, *, rtol=None)",
    "linalg.outer(x1, x2, /)",
    "linalg.pinv(x, /, *, rtol=None)",
    "linalg.qr(x, /, *, mode='reduced')",
    "linalg.slogdet(x, /)",
    "linalg.solve(x1, x2, /)",
    "linalg.svd(x, /, *, full_matrices=True)",
    "linalg.svdvals(x, /)",
    "linalg.trace(x, /, *, offset=0, dtype=None)",
    "linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)",
    "fft.fftfreq(n, /, *, d=1.0, dtype=None, device=None)",
    "fft.rfftfreq(n, /, *, d=1.0, dtype=None, device=None)",
    "fft.fftshift(x, /, *, axes=None)",
    "fft.ifftshift(x, /, *, axes=None)",
]
UNARY = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "ceil", "conj",
    "cos", "cosh", "exp", "expm1", "floor", "imag", "isfinite", "isinf", "isnan", "log", "log10",
    "log1p", "log2", "logical_not", "negative", "positive", "real", "reciprocal", "round", "sign",
    "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
]  # fmt: skip
BINARY = [
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal",
    "hypot", "less", "less_equal", "logaddexp", "logical_and", "logical_or", "logical_xor",
    "maximum", "minimum", "multiply", "nextafter", "not_equal", "pow", "remainder", "subtract",
]  # fmt: skip
SIGNATURES += [f"{name}(x, /)" for name in UNARY] + [f"{name}(x1, x2, /)" for name in BINARY]
SIGNATURES += [f"fft.{name}(x, /, *, n=None, axis=-1, norm='backward')"
               for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")]  # fmt: skip
SIGNATURES += [f"fft.{name}(x, /, *, s=None, axes=None, norm='backward')"
               for name in ("fftn", "ifftn", "rfftn", "irfftn")]  # fmt: skip
CONSTANTS = ["e", "inf", "nan", "newaxis", "pi", "linalg", "fft", "bool", "int8", "int16", "int32",
             "int64", "uint8", "float32", "float64", "complex64", "complex128",
             "__array_namespace_info__"]  # fmt: skip


def found(name: str):
    value = xp
    for part in name.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda s: s.split("(")[0])
def test_signature(signature):
    call = found(signature.split("(")[0])
    have = inspect.signature(call)
    bare = [p.replace(annotation=p.empty) for p in have.parameters.values()]
    said = str(have.replace(parameters=bare, return_annotation=have.empty))
    assert signature.rpartition("fft.")[2].rpartition("linalg.")[2] == call.__name__ + said
    assert call.__doc__


def test_names():
    assert all(hasattr(xp, name) for name in CONSTANTS)
    assert xp.__array_api_version__ == "2024.12"


RNG = np.random.default_rng(0)
GIVEN = {
    "x": RNG.standard_normal((3, 4)).astype(np.float32), "m": np.arange(12).reshape(3, 4) % 5 - 2,
    "u": np.arange(4, dtype=np.uint8), "b": np.array([[True, False, True, True]] * 3),
    "v": np.array([3.0, 1, 2, 1], np.float32), "i": np.array([2, -1, 0]),
    "c": np.array([1 + 2j, -3j, 0], np.complex64), "p": np.abs(RNG.standard_normal(4)).astype("f"),
    "s": np.eye(3, dtype=np.float32) * 4 + 1, "h": np.array([1, 2, 3], np.int16),
}  # fmt: skip
CALLS = [
    *(f"{name}(x)" for name in ("abs", "atan", "ceil", "exp", "round", "sign", "isnan", "square")),
    *(f"{name}(m)" for name in ("abs", "bitwise_invert", "ceil", "round", "sign", "negative")),
    "sign(c)", "abs(c)", "conj(x)", "real(c)", "imag(c)", "signbit(-x)", "logical_not(b)",
    "add(x, 1)", "add(1, x)", "add(m, 2)", "add(u, 2)", "multiply(x, v)", "pow(2, m * m)",
    "remainder(m, 3)", "floor_divide(m, 3)", "divide(x, 2)", "maximum(x, 0.5)", "equal(m, 1)",
    "bitwise_left_shift(m, 2)", "hypot(x, v)", "copysign(x, -1.0)", "logical_and(b, b)",
    "add(h, m[:, :3])", "less(x, v)", "atan2(x, v)", "nextafter(v, x)", "subtract(x, 1.5)",
    "clip(x, -0.5, 0.5)", "clip(m, min=0)", "clip(m, max=1)", "where(b, x, 0)",
    "where(b, m, m * 2)", "sum(m)", "sum(u)", "sum(b)", "sum(h)", "sum(x, axis=(0, 1))",
    "sum(x, axis=0, keepdims=True)", "sum(m, axis=())", "prod(m, axis=1)",
    "prod(x, axis=(0, 1), keepdims=True)", "max(x, axis=-1)", "min(m)", "mean(x, axis=1)",
    "var(x, axis=0, correction=1)", "std(x)", "all(m)", "any(m, axis=0)",
    "any(b, axis=(0, 1), keepdims=True)", "count_nonzero(m, axis=0)", "diff(m, axis=0, n=2)",
    "cumulative_sum(v, include_initial=True)", "cumulative_prod(m, axis=1)", "mean(x, axis=())",
    "cumulative_sum(m, axis=0, include_initial=True)", "diff(v, prepend=v[:1], append=v)",
    "argmax(x)", "argmin(m, axis=0, keepdims=True)", "nonzero(m)", "take(x, i, axis=1)",
    "take(v, i)", "take_along_axis(x, i[:, None], axis=1)",
    "take_along_axis(m, i[None, :1], axis=0)", "searchsorted(sort(v), x)",
    "searchsorted(v, p, side='right', sorter=argsort(v))", "sort(x, axis=0)", "argsort(v)",
    "unique_counts(v)", "unique_inverse(m)", "unique_all(m)", "concat([m, m], axis=1)",
    "concat([x, v], axis=None)", "stack([x, x], axis=-1)", "expand_dims(x, axis=1)",
    "squeeze(x[:1], 0)", "flip(x)", "flip(m, axis=(0,))", "roll(m, 2)",
    "roll(m, (1, 2), axis=(0, 1))", "moveaxis(x, 0, 1)", "permute_dims(x, (1, 0))", "repeat(m, 2)",
    "repeat(x, u, axis=1)", "tile(v, (2, 2))", "unstack(m, axis=1)", "reshape(x, (2, -1))",
    "broadcast_to(v, (2, 4))", "broadcast_arrays(x, v)", "tril(x, k=1)", "triu(x, k=-1)",
    "arange(3)", "arange(5, 0, -2)", "arange(0, 1, 0.25)", "arange(3, 0)", "linspace(0, 1, 5)",
    "linspace(0, 1, 4, endpoint=False)", "eye(3, 4, k=1)", "full((2, 2), 3)", "full(3, True)",
    "full((), 2.5)", "zeros((2, 0))", "ones_like(m)", "full_like(m, 7)",
    "asarray([[1, 2], [3, 4]])", "meshgrid(v, p)", "meshgrid(v, p[:2], indexing='ij')",
    "matmul(x, x.mT)", "vecdot(x, x)", "vecdot(c, c)", "tensordot(x, x, axes=((0, 1), (0, 1)))",
    "matrix_transpose(x)", "astype(x, int32)", "astype(m, float32)", "astype(m, bool)",
    "linalg.det(s)", "linalg.inv(s)", "linalg.solve(s, x)", "linalg.solve(s, s[0])",
    "linalg.cholesky(s)", "linalg.matrix_norm(x)", "linalg.vector_norm(x, axis=1, ord=1)",
    "linalg.vector_norm(x)", "linalg.trace(m)", "linalg.trace(x, offset=1)", "linalg.outer(v, p)",
    "linalg.slogdet(s)", "linalg.svdvals(x)", "linalg.matrix_rank(s)", "linalg.eigvalsh(s)",
    "linalg.cross(s, s + x[:, :3])", "linalg.matrix_power(s, 3)", "linalg.pinv(x)",
    "linalg.diagonal(x, offset=1)", "fft.fft(v)", "fft.rfft(x, axis=0)", "fft.irfft(c)",
    "fft.fftn(x)", "fft.fftshift(m)", "fft.hfft(c)", "fft.fftfreq(5, d=0.5)", "fft.ifft(c, n=5)",
]  # fmt: skip
WIDER = ("arange(0", "linspace", "full((), 2.5", "zeros(", "fft.fftfreq", "eye(")  # numpy's float64


def evaluated(space, call: str, arrays: dict) -> list:
    value = eval(call, {}, {**{n: getattr(space, n) for n in dir(space)}, **arrays})
    return list(value) if isinstance(value, tuple | list) else [value]


@pytest.mark.parametrize("call", CALLS)
def test_call(call, device):
    def place(array):
        return wgtorch.tensor(array, device=device)

    ours = evaluated(xp, call, {n: place(a) for n, a in GIVEN.items()})
    theirs = evaluated(np, call, GIVEN)
    assert len(ours) == len(theirs)
    for have, want in zip(ours, theirs, strict=True):
        want = np.asarray(want)
        if any(w in call for w in WIDER):
            want = want.astype(np.float32 if want.dtype.kind == "f" else want.dtype)
        want = want.astype(np.int64) if want.dtype == np.uint64 else want  # which wgtorch lacks
        have = have.cpu().numpy()
        assert have.dtype == want.dtype
        assert have.shape == want.shape
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)


def test_dtypes():
    info = xp.__array_namespace_info__()
    assert info.dtypes(kind="signed integer") == {n: getattr(xp, n) for n in
                                                  ("int8", "int16", "int32", "int64")}  # fmt: skip
    assert "float64" not in info.dtypes(device="webgpu") and "float64" in info.dtypes()
    assert info.default_dtypes()["indexing"] is xp.int64
    assert xp.isdtype(xp.int8, ("bool", "integral")) and not xp.isdtype(xp.bool, "numeric")
    assert xp.can_cast(xp.int8, xp.int16) and not xp.can_cast(xp.float64, xp.float32)
    assert xp.result_type(xp.int8, xp.uint8) is xp.int16
    assert xp.result_type(xp.ones(2, dtype=xp.float32), 1j) is xp.complex64
    assert (
        xp.finfo(xp.complex64).dtype is xp.float32
        and xp.iinfo(xp.ones(1, dtype=xp.int8)).max == 127
    )


def test_order(device):
    """numpy sorts upwards only."""
    x = wgtorch.tensor([1.0, 3, 2, 3, 1], device=device)
    assert xp.sort(x, descending=True).tolist() == [3, 3, 2, 1, 1]
    assert xp.argsort(x, descending=True).tolist() == [1, 3, 2, 0, 4]
    assert len(xp.unique_values(xp.asarray([xp.nan, 1, xp.nan]))) == 3


def test_complaints():
    x = xp.ones((2, 3))
    for refused, kind in (
        (lambda: xp.squeeze(x, 0), ValueError),
        (lambda: xp.asarray([1], copy=False), ValueError),
        (lambda: xp.reshape(x.mT, (6,), copy=False), ValueError),
        (lambda: xp.cumulative_sum(x), ValueError),
        (lambda: xp.isdtype(xp.int8, "whole"), ValueError),
        (lambda: xp.add(1, 2), TypeError),
        (lambda: x.__array_namespace__(api_version="1999.01"), ValueError),
        (lambda: xp.astype(x + 0j, xp.float32), TypeError),
    ):
        with pytest.raises(kind):
            refused()
    assert x.to_device("cpu") is x
    assert xp.asarray(x, copy=False) is x and xp.asarray(x, copy=True) is not x
