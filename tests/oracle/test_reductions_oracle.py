"""Reductions, scans and sorting against torch 2.13: numbers, dtypes, refusals, gradients."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import wgtorch  # noqa: E402

DTYPES = ["float32", "float16", "bfloat16", "int32", "int64", "uint8", "int8", "int16", "bool"]
LOOSE = {"float16": 2e-2, "bfloat16": 8e-2}
SHAPES = [(), (1,), (5,), (3, 4), (4, 1, 5), (2, 8, 12), (0, 3), (3, 3, 2, 2)]


def made(rng, dtype: str, shape):
    """The same numbers twice: torch's and ours."""
    kind = getattr(torch, dtype)
    if "float" in dtype:
        source = torch.from_numpy(rng.standard_normal(shape).astype(np.float32))
    else:
        source = torch.from_numpy(
            np.asarray(rng.integers(0 if dtype == "uint8" else -9, 10, shape))
        )
    theirs = source.to(kind)
    ours = wgtorch.tensor(source.numpy()).to(getattr(wgtorch, dtype))
    return theirs, ours


def plain(x):
    if isinstance(x, wgtorch.Tensor):
        return x.detach().cpu().double().numpy()
    return x.detach().double().numpy()


def check(theirs, ours, tolerance=2e-5):
    assert str(theirs.dtype).removeprefix("torch.") == ours.dtype.name
    np.testing.assert_allclose(plain(ours), plain(theirs), rtol=tolerance, atol=tolerance)


def attempt(call):
    """(results as a list, None) or (None, the exception)."""
    try:
        found = call()
    except Exception as refused:  # whatever torch refuses with
        return None, refused
    return (list(found) if isinstance(found, tuple) else [found]), None


def same(call, theirs, ours, tolerance=2e-5):
    want, refused = attempt(lambda: call(torch, theirs))
    got, told = attempt(lambda: call(wgtorch, ours))
    if refused is not None:
        assert told is not None, f"torch refuses: {refused}"
        assert isinstance(told, type(refused)), (refused, told)
        assert str(told).split("\n")[0] == str(refused).split("\n")[0]
        return
    assert told is None, told
    for a, b in zip(want, got, strict=True):
        check(a, b, tolerance)


FOLDS = {
    "sum": lambda lib, x, *a: lib.sum(x, *a),
    "mean": lambda lib, x, *a: lib.mean(x, *a),
    "amax": lambda lib, x, *a: lib.amax(x, *a),
    "amin": lambda lib, x, *a: lib.amin(x, *a),
    "all": lambda lib, x, *a: lib.all(x, *a),
    "any": lambda lib, x, *a: lib.any(x, *a),
    "nansum": lambda lib, x, *a: lib.nansum(x, *a),
    "var": lambda lib, x, d, k: lib.var(x, d, True, k),
    "std": lambda lib, x, d, k: lib.std(x, d, False, k),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FOLDS)
def test_folds(name, dtype):
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        theirs, ours = made(rng, dtype, shape)
        rank = len(shape)
        for dims in {(), (0,) if rank else (), tuple(range(rank)), tuple(range(1, rank, 2))}:
            for keepdim in (False, True):
                same(lambda lib, x, d=dims, k=keepdim: FOLDS[name](lib, x, d, k), theirs, ours,
                     LOOSE.get(dtype, 2e-5))  # fmt: skip


ALONG = ["argmax", "argmin", "max", "min", "prod", "median", "cummax", "cummin", "cumsum",
         "cumprod", "sort", "argsort", "count_nonzero"]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ALONG)
def test_along_a_dim(name, dtype):
    rng = np.random.default_rng(1)
    if dtype == "bool" and name in ("median",):
        pytest.skip("torch refuses by its kernel's name")
    for shape in SHAPES:
        theirs, ours = made(rng, dtype, shape)
        for dim in range(len(shape)):
            call = lambda lib, x, d=dim: getattr(lib, name)(x, d)  # noqa: E731
            if name in ("sort", "argsort"):
                call = lambda lib, x, d=dim: getattr(lib, name)(x, dim=d, stable=True)  # noqa: E731
            same(call, theirs, ours, LOOSE.get(dtype, 2e-5))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", SHAPES)
def test_whole(shape):
    rng = np.random.default_rng(2)
    theirs, ours = made(rng, "float32", shape)
    for name in ("sum", "mean", "max", "min", "prod", "median", "nanmedian", "argmax", "argmin",
                 "std", "var", "norm", "any", "all", "nansum", "nanmean",
                 "count_nonzero"):  # fmt: skip
        same(lambda lib, x, name=name: getattr(lib, name)(x), theirs, ours)


@pytest.mark.parametrize("p", ["fro", 0, 1, 2, 3, 0.5, float("inf"), float("-inf")])
def test_norm(p):
    rng = np.random.default_rng(3)
    theirs, ours = made(rng, "float32", (4, 5))
    for dim in (None, 1, (0, 1)):
        same(lambda lib, x, d=dim: lib.norm(x, p, d), theirs, ours, 1e-4)


GRADIENTS = {
    "sum": lambda x: x.sum(1), "mean": lambda x: x.mean(0), "prod": lambda x: x.prod(1),
    "amax": lambda x: x.amax(1), "max": lambda x: x.max(1)[0], "max all": lambda x: x.max(),
    "var": lambda x: x.var(1), "std": lambda x: x.std(0), "logsumexp": lambda x: x.logsumexp(1),
    "norm": lambda x: x.norm(dim=1), "norm 3": lambda x: x.norm(3, 1),
    "norm 1": lambda x: x.norm(1),
    "median": lambda x: x.median(1)[0], "cumsum": lambda x: x.cumsum(1),
    "cumprod": lambda x: x.cumprod(0), "cummax": lambda x: x.cummax(1)[0],
    "logcumsumexp": lambda x: x.logcumsumexp(1), "sort": lambda x: x.sort(0)[0],
    "topk": lambda x: x.topk(2, 1)[0], "kthvalue": lambda x: x.kthvalue(2, 0)[0],
}  # fmt: skip


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name, zeros, device):
    """First and second, also beside zeros and ties."""
    array = np.random.default_rng(4).standard_normal((4, 5)).astype(np.float32)
    if zeros:
        array[1, 2:4] = array[2, 0] = 0
    theirs = torch.tensor(array, requires_grad=True)
    ours = wgtorch.tensor(array, device=device, requires_grad=True)
    first, second = GRADIENTS[name](theirs), GRADIENTS[name](ours)
    shift = 0.1  # where logcumsumexp is given a zero, PyTorch's second gradient lacks a term
    (want,) = torch.autograd.grad(((first + shift) ** 2).sum(), theirs, create_graph=True)
    (got,) = wgtorch.autograd.grad(((second + shift) ** 2).sum(), ours, create_graph=True)
    check(want, got, 1e-4)
    (want,) = torch.autograd.grad((want * want).sum(), theirs)
    (got,) = wgtorch.autograd.grad((got * got).sum(), ours)
    check(want, got, 1e-3)


# Order


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_special_values(dtype, descending):
    """NaN is above all, zeros of both signs are equal, equals keep their order."""
    values = [1, 0, 1, 2, 0, 2, 1]
    if "float" in dtype:
        values += [float("nan"), -0.0, float("inf"), 0.0, float("-inf"), float("nan"), 1]
    theirs = torch.tensor(values).to(getattr(torch, dtype))
    ours = wgtorch.tensor(values).to(getattr(wgtorch, dtype))
    same(lambda lib, x: lib.sort(x, dim=0, descending=descending, stable=True), theirs, ours)


def test_different_ones(device):
    array = np.random.default_rng(5).integers(0, 4, (5, 7))
    theirs, ours = torch.tensor(array), wgtorch.tensor(array, device=device)
    for name in ("unique", "unique_consecutive"):
        for dim in (None, 0, 1):
            want = getattr(torch, name)(theirs, return_inverse=True, return_counts=True, dim=dim)
            got = getattr(wgtorch, name)(ours, return_inverse=True, return_counts=True, dim=dim)
            for a, b in zip(want, got, strict=True):
                check(a, b)
    check(theirs.mode(1)[0], ours.mode(1)[0])
    empty = ours.reshape(-1)[:0].unique()
    assert empty.shape == (0,)


@pytest.mark.parametrize("dtype", ["int64", "float32", "bool", "int16"])
@pytest.mark.parametrize(
    "shape, dim", [((9,), 0), ((12, 1), 0), ((30, 3), 0), ((4, 21), -1), ((5, 40, 3), 1)]
)
def test_different_slices(shape, dim, dtype, device):
    most = 2 if dtype == "bool" or shape[-1] > 1 else 4
    array = np.random.default_rng(7).integers(0, most, shape).astype(dtype)
    theirs, ours = torch.tensor(array), wgtorch.tensor(array, device=device)
    for name in ("unique", "unique_consecutive"):
        want = getattr(torch, name)(theirs, return_inverse=True, return_counts=True, dim=dim)
        got = getattr(wgtorch, name)(ours, return_inverse=True, return_counts=True, dim=dim)
        for a, b in zip(want, got, strict=True):
            check(a, b)


def test_different_slices_of_nothing(device):
    for lib, options in ((torch, {}), (wgtorch, {"device": device})):
        assert lib.unique(lib.zeros(0, 3, **options), dim=0).shape == (0, 3)
        with pytest.raises(RuntimeError, match="There are 0 sized dimensions"):
            lib.unique(lib.zeros(3, 0, **options), dim=0)
        with pytest.raises(IndexError, match="Dimension specified as 0 but tensor has no dim"):
            lib.unique(lib.tensor(3.0, **options), dim=0)


@pytest.mark.parametrize("right", [False, True])
def test_where_values_go(right, device):
    rng = np.random.default_rng(6)
    rows, values = np.sort(rng.integers(0, 9, (3, 20)), 1), rng.integers(-1, 11, (3, 7))
    for sequence in (rows, rows[0]):
        want = torch.searchsorted(torch.tensor(sequence), torch.tensor(values), right=right)
        ours = wgtorch.tensor(sequence, device=device), wgtorch.tensor(values, device=device)
        check(want, wgtorch.searchsorted(*ours, right=right))
    want = torch.bucketize(torch.tensor(values), torch.tensor(rows[0]), right=right)
    got = wgtorch.bucketize(ours[1], ours[0], right=right)
    check(want, got)
