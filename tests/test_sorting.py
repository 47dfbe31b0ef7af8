"""Scans and sorting: any length, any layout, every dtype, by every way of sharing the work."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch

RNG = np.random.default_rng(0)
LENGTHS = [1, 2, 31, 33, 1000, 2049, 5000, 70_000]
SHAPES = [((n,), 0) for n in LENGTHS] + [
    ((3, 2001), 1), ((300, 40), 0), ((7, 300, 4), 1), ((40, 7), 1), ((2, 3, 4), -2), ((5000, 3), 0),
]  # fmt: skip
DTYPES = ["float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]


def values(dtype: str, shape):
    """With ties, and NaN and both zeros among floats."""
    if dtype.startswith("float"):
        array = (RNG.standard_normal(shape) * 8).round(1).astype(dtype)
        array[RNG.random(shape) < 0.05] = np.nan
        array[RNG.random(shape) < 0.1] = 0.0
        array[RNG.random(shape) < 0.1] = -0.0
        return array
    if dtype == "bool":
        return RNG.integers(0, 2, shape).astype(bool)
    if dtype == "int64":
        return RNG.integers(-40, 40, shape) << RNG.integers(0, 50, shape)
    ends = np.iinfo(dtype)
    return RNG.integers(ends.min, ends.max, shape, endpoint=True).astype(dtype)


def stable_order(array, dim, descending):
    if not descending:
        return np.argsort(array, dim, kind="stable")
    back = np.argsort(np.flip(array, dim), dim, kind="stable")
    return array.shape[dim] - 1 - np.flip(back, dim)


# Sorting


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_sort_is_stable(either_share, shape, dim, descending):
    array = values("float32", shape)
    order = stable_order(array, dim, descending)
    sorted_, indices = torch.tensor(array, device=either_share).sort(dim, descending)
    np.testing.assert_array_equal(indices.cpu().numpy(), order)
    np.testing.assert_array_equal(sorted_.cpu().numpy(), np.take_along_axis(array, order, dim))


@pytest.mark.parametrize("length", [20, 600, 3000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_of_every_dtype(either_share, dtype, length):
    array = values(dtype, (3, length))
    for descending in (False, True):
        order = stable_order(array, 1, descending)
        x = torch.tensor(array, device=either_share)
        np.testing.assert_array_equal(x.argsort(1, descending).cpu().numpy(), order)
        flipped = torch.tensor(array.T.copy(), device=either_share).t()
        got = flipped.sort(1, descending).values.cpu().numpy()
        np.testing.assert_array_equal(got, np.take_along_axis(array, order, 1))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(("shape", "k", "dim"), [
    ((5000,), 8, 0), ((3, 4000), 32, 1), ((4000, 3), 5, 0), ((100, 100), 1, 1), ((70_000,), 17, 0),
    ((50,), 33, 0), ((7, 90, 5), 9, 1), ((4, 6), 6, 1), ((4, 6), 0, 1),
])  # fmt: skip
def test_topk(either_share, shape, k, dim, largest):
    array = values("float32", shape)
    got, indices = torch.tensor(array, device=either_share).topk(k, dim, largest)
    order = np.take(stable_order(array, dim, largest), np.arange(k), dim)
    np.testing.assert_array_equal(got.cpu().numpy(), np.take_along_axis(array, order, dim))
    np.testing.assert_array_equal(indices.cpu().numpy(), order)


@pytest.mark.parametrize("k", [7, 50, 600])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8"])
def test_topk_of_long_rows(either_share, dtype, k):
    """Many equal ones at the border too, and parts of rows that leave theirs to another pass."""
    for shape, dim in (((2, 9000), 1), ((9000, 2), 0), ((40_000,), 0)):
        array = values(dtype, shape)
        if dtype == "int64":
            array[array % 3 == 0] = 5 << 40
        got, indices = torch.tensor(array, device=either_share).topk(k, dim)
        order = np.take(stable_order(array, dim, True), np.arange(k), dim)
        np.testing.assert_array_equal(indices.cpu().numpy(), order)
        np.testing.assert_array_equal(got.cpu().numpy(), np.take_along_axis(array, order, dim))


def test_topk_of_equals(either_share):
    """They come as they came, though no value tells them apart."""
    x = torch.zeros(2, 5000, dtype=torch.int64, device=either_share)
    assert x.topk(40, 1).indices.tolist() == [[*range(40)]] * 2


@pytest.mark.parametrize("length", [1025, 2500, 4096, 4097])
def test_sort_of_rows_that_fit_in_a_workgroup(either_share, length):
    for dtype in ("float32", "int64"):
        array = values(dtype, (3, length))
        for descending in (False, True):
            order = stable_order(array, 1, descending)
            got, indices = torch.tensor(array, device=either_share).sort(1, descending)
            np.testing.assert_array_equal(indices.cpu().numpy(), order)
            np.testing.assert_array_equal(got.cpu().numpy(), np.take_along_axis(array, order, 1))


def test_the_middle_and_the_kth(device):
    array = RNG.permutation(60).reshape(5, 12).astype(np.float32)
    x = torch.tensor(array, device=device)
    np.testing.assert_array_equal(x.median(1).values.cpu().numpy(), np.sort(array, 1)[:, 5])
    assert float(x.median()) == 29
    value, index = x.kthvalue(3, 0, keepdim=True)
    np.testing.assert_array_equal(value.cpu().numpy(), np.sort(array, 0)[2:3])
    np.testing.assert_array_equal(np.take_along_axis(array, index.cpu().numpy(), 0), value.cpu())
    array[1, 3] = array[2] = np.nan
    holed = torch.tensor(array, device=device)
    assert np.isnan(holed.median(1).values.cpu().numpy()).tolist() == [
        False,
        True,
        True,
        False,
        False,
    ]
    assert holed.median(1).indices[1].item() == 3
    want = np.sort(array[1])[5]  # of eleven
    assert holed.nanmedian(1).values[1].item() == want
    assert np.isnan(holed.nanmedian(1).values[2].item())


def test_mistakes(device):
    x = torch.ones(3, 4, device=device)
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        x.topk(5)
    with pytest.raises(RuntimeError, match="selected number k out of range for dimension 1"):
        x.kthvalue(0)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.sort(2)
    with pytest.raises(RuntimeError, match="side can only be 'left' or 'right'"):
        torch.searchsorted(x[0], x, side="up")
    assert x.sort().values.sum().item() == 12


def test_gradients_go_where_the_values_came_from(device):
    x = torch.tensor([3.0, 1.0, 2.0], device=device, requires_grad=True)
    (x.sort().values * torch.tensor([1.0, 10.0, 100.0], device=device)).sum().backward()
    assert x.grad.tolist() == [100, 1, 10]


# Scans


@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_cumsum_by_every_path(either_share, shape, dim):
    array = RNG.standard_normal(shape).astype(np.float32)
    x = torch.tensor(array, device=either_share)
    want = np.cumsum(array, dim, dtype=np.float64)
    np.testing.assert_allclose(x.cumsum(dim).cpu().numpy(), want, atol=2e-3, rtol=1e-4)
    back = np.flip(np.cumsum(np.flip(array, dim), dim, dtype=np.float64), dim)
    np.testing.assert_allclose(x._cumsum(dim, True).cpu().numpy(), back, atol=2e-3, rtol=1e-4)
    got, indices = x.cummax(dim)
    np.testing.assert_array_equal(got.cpu().numpy(), np.maximum.accumulate(array, dim))
    taken = np.take_along_axis(array, indices.cpu().numpy(), dim)
    np.testing.assert_array_equal(taken, got.cpu().numpy())


@pytest.mark.parametrize("dtype", DTYPES)
def test_scans_of_every_dtype(either_share, dtype):
    array = RNG.integers(0, 2, (5, 300)).astype(dtype)
    for view in (array, array.T):
        x = torch.tensor(view, device=either_share)
        for name in ("cumsum", "cumprod"):
            got = getattr(x, name)(1)
            kind = array.dtype if dtype.startswith("float") else np.int64
            assert got.cpu().numpy().dtype == kind
            want = getattr(np, name)(view, 1, dtype=np.float64).astype(kind)
            np.testing.assert_array_equal(got.cpu().numpy(), want)
        values_, places = x.cummin(1)
        np.testing.assert_array_equal(values_.cpu().numpy(), np.minimum.accumulate(view, 1))
        latest = np.where(view == np.minimum.accumulate(view, 1), np.arange(view.shape[1]), 0)
        np.testing.assert_array_equal(places.cpu().numpy(), np.maximum.accumulate(latest, 1))


def test_scans_of_special_values(device):
    nan, inf = np.nan, np.inf
    x = torch.tensor([1, nan, 2, nan, -inf, inf], device=device)
    got, places = x.cummax(0)
    np.testing.assert_array_equal(got.cpu().numpy(), [1, nan, nan, nan, nan, nan])
    assert places.tolist() == [0, 1, 1, 3, 3, 3]
    y = torch.tensor([-inf, -inf, 1.0, 1000.0, inf], device=device)
    want = np.logaddexp.accumulate(np.array([-inf, -inf, 1.0, 1000.0, inf]))
    np.testing.assert_allclose(y.logcumsumexp(0).cpu().numpy(), want, rtol=1e-6)
    assert torch.zeros(0, 3, device=device).cumsum(0).shape == (0, 3)
    assert torch.tensor(2.5, device=device).cumprod(0).item() == 2.5


def test_a_long_scan_is_not_cut_short(either_share):
    """llvmpipe ends a thread's loops after 65,535 steps."""
    ones = torch.ones(1 << 21, device=either_share)
    sums = ones.cumsum(0)
    assert sums[-1].item() == 1 << 21
    assert sums[1 << 20].item() == (1 << 20) + 1
    rows = ones.reshape(-1, 2).cumsum(0)
    assert rows[-1].tolist() == [1 << 20] * 2


def test_recurrences(either_share):
    scale = RNG.uniform(-1, 1, (6, 900)).astype(np.float32)
    shift = RNG.standard_normal((6, 900)).astype(np.float32)
    want, h = np.empty((6, 900)), np.zeros(6)
    for n in range(900):
        h = scale[:, n] * h + shift[:, n]
        want[:, n] = h
    x, y = (torch.tensor(a, device=either_share) for a in (scale, shift))
    np.testing.assert_allclose(x._recurrence(y, 1).cpu().numpy(), want, rtol=1e-4, atol=1e-5)
    sideways = x.t()._recurrence(y.t(), 0).t()
    np.testing.assert_allclose(sideways.cpu().numpy(), want, rtol=1e-4, atol=1e-5)


def test_bools_are_not_searched_among_bools(device):
    row = torch.tensor([False, True], device=device)
    for search in (lambda: torch.bucketize(row, row), lambda: torch.searchsorted(row, row)):
        with pytest.raises(NotImplementedError, match="searchsorted_out_cpu"):
            search()
    assert torch.bucketize(row, torch.tensor([0.0, 1.0], device=device)).tolist() == [0, 1]


# The different ones


@pytest.mark.parametrize("spread", [9, 4000, 1 << 50])
@pytest.mark.parametrize("dtype", ["int64", "int16", "uint8"])
def test_unique(either_share, dtype, spread):
    """Whether integers are near to each other, so that none need be sorted, or not."""
    array = RNG.integers(0 if dtype == "uint8" else -spread, spread, 5000).astype(dtype)
    x = torch.tensor(array, device=either_share)
    wanted = np.unique(array, return_inverse=True, return_counts=True)
    for got, want in zip(x.unique(return_inverse=True, return_counts=True), wanted, strict=True):
        np.testing.assert_array_equal(got.cpu().numpy(), want)
    np.testing.assert_array_equal(x.unique().cpu().numpy(), wanted[0])


@pytest.mark.parametrize("size", [1, 2047, 2049, 9_000_000])
def test_true_places(either_share, size):
    """Chunks begin where those before end, whoever counts them."""
    for share in (0.3,) if size > 1e6 else (0.0, 1.0, 0.3):
        mask = RNG.random(size) < share
        x = torch.tensor(mask, device=either_share)
        np.testing.assert_array_equal(x.nonzero()[:, 0].cpu().numpy(), np.flatnonzero(mask))
    np.testing.assert_array_equal(x[::2].nonzero()[:, 0].cpu().numpy(), np.flatnonzero(mask[::2]))
