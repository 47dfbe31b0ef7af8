"""Scattering: elements written where indices say, in every dtype, where they meet and where not."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.backends.webgpu.structured import fallbacks

DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
          torch.float16, torch.bfloat16, torch.float32, torch.float64]  # fmt: skip
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
UFUNCS = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def numbers(dtype, *shape, seed=0, most=5):
    """Small whole numbers, whose sums every dtype holds exactly."""
    rng = np.random.default_rng(seed)
    low = 0 if dtype is torch.bool or dtype is torch.uint8 else -most
    return rng.integers(low, 2 if dtype is torch.bool else most, shape).astype(dtype.np)


def given(array, device):
    """A tensor of it; the test is skipped where the device lacks the dtype."""
    try:
        return torch.tensor(array, device=device)
    except TypeError as lacking:
        if array.dtype != np.float64:
            raise
        pytest.skip(str(lacking))


def same(got, want):
    got = got.cpu().numpy()
    np.testing.assert_array_equal(got.astype(np.float64), np.asarray(want).astype(np.float64))
    assert got.dtype == np.asarray(want).dtype


def joined(array, places, source, how):
    """What numpy makes of it, where several elements meet one after the other."""
    wide = array.astype(np.int64)
    UFUNCS[how].at(wide, places, source.astype(np.int64))
    return wide.astype(array.dtype)


# One element to a place


@every_dtype
def test_replacing(dtype, device):
    array, source = numbers(dtype, 6, 5), numbers(dtype, 4, 3, seed=1)
    x, s = given(array, device), given(source, device)
    rng = np.random.default_rng(2)
    index = np.stack([rng.permutation(6)[:4] for _ in range(3)], 1)
    wanted = array.copy()
    np.put_along_axis(wanted[:, :3], index, source, 0)
    same(x.scatter(0, torch.tensor(index, device=device), s), wanted)
    wanted = array.copy()
    wanted[[5, 0, 2, 3], 1:4] = source
    rows = torch.tensor([-1, 0, 2, 3], device=device)
    y = x.clone()
    y[rows, 1:4] = s
    same(y, wanted)
    y = x.clone()
    y[:, 1:4].index_copy_(0, rows.remainder(6), s)
    same(y, wanted)
    wanted[:, [0, 4]] = 1
    same(y.index_fill(1, torch.tensor([0, -1], device=device), 1), wanted)
    wanted.reshape(-1)[[7, 3]] = source[0, :2]
    same(y.index_fill(1, torch.tensor([0, 4], device=device), 1)
         .put(torch.tensor([7, 3], device=device), s[0, :2]), wanted)  # fmt: skip


@every_dtype
def test_masked_scatter(dtype, device):
    array, source = numbers(dtype, 6, 5), numbers(dtype, 30, seed=1)
    mask = numbers(torch.bool, 6, 5, seed=2)
    wanted = array.copy()
    wanted[mask] = source[: mask.sum()]
    x, m, s = given(array, device), torch.tensor(mask, device=device), given(source, device)
    same(x.masked_scatter(m, s), wanted)
    x[m] = s[: int(mask.sum())]
    same(x, wanted)


def test_one_of_several_stays(device):
    """Where elements that replace meet, one of them wins; bits of two are never mixed."""
    for dtype in DTYPES[1:8]:
        source = np.array([3, 12, 48, 96], dtype.np).repeat(64)
        x = torch.zeros(7, dtype=dtype, device=device)
        index = torch.tensor(np.tile([2, 3], 128), device=device)
        got = x.scatter(0, index, torch.tensor(source, device=device)).tolist()
        assert got[2] in (3, 12, 48, 96)
        assert got[3] in (3, 12, 48, 96)
        assert got[:2] + got[4:] == [0] * 5


# Several elements to a place


@every_dtype
def test_adding(dtype, device):
    array, source = numbers(dtype, 6, 5), numbers(dtype, 40, 5, seed=1, most=3)
    index = np.random.default_rng(2).integers(0, 6, (40, 5))
    x, s = given(array, device), given(source, device)
    i = torch.tensor(index, device=device)
    places = (index, np.arange(5)[None])
    wanted = joined(array, places, source, "sum")
    wanted = np.minimum(wanted, 1).astype(bool) if dtype is torch.bool else wanted
    if dtype is torch.bool:
        wanted = array.copy()
        np.logical_or.at(wanted, places, source)
    same(x.scatter_add(0, i, s), wanted)
    same(x.T.scatter_add(1, i.T, s.T).T, wanted)
    wanted = joined(array, (index[:, 0],), source, "sum")
    if dtype is torch.bool:
        wanted = array.copy()
        np.logical_or.at(wanted, (index[:, 0],), source)
    same(x.index_add(0, i[:, 0], s), wanted)
    same(x.index_put((i[:, 0] - 6,), s, accumulate=True), wanted)
    same(x.T.index_add(1, i[:, 0], s.T).T, wanted)


@every_dtype
@pytest.mark.parametrize("how", ["prod", "amax", "amin", "mean"])
@pytest.mark.parametrize("include_self", [True, False])
def test_reducing(dtype, how, include_self, device):
    if dtype is torch.bool and how == "mean":
        pytest.skip("PyTorch has no mean of bools")
    array, source = numbers(dtype, 6, 5, most=3), numbers(dtype, 9, 5, seed=1, most=3)
    index = np.random.default_rng(2).integers(0, 4, (9, 5))
    x, s, i = given(array, device), given(source, device), torch.tensor(index, device=device)
    got = x.scatter_reduce(0, i, s, how, include_self=include_self)
    exact = reduced(array, index, source, how, include_self)
    if how == "mean" and dtype.is_floating_point:
        tolerance = {2: 8e-3, 4: 1e-6, 8: 1e-12}[dtype.itemsize]
        np.testing.assert_allclose(
            (got if dtype is torch.float64 else got.float()).cpu().numpy(),
            exact,
            tolerance,
            tolerance,
        )
    else:
        exact = np.floor(exact) if how == "mean" else exact
        same(got, exact.astype(np.int64).astype(array.dtype))


def reduced(array, index, source, how, include_self):
    """By definition, one place at a time."""
    out = array.astype(np.float64)
    for row, col in np.ndindex(array.shape):
        met = source[:, col][index[:, col] == row].astype(np.float64)
        if met.size:
            all_ = [out[row, col], *met] if include_self else [*met]
            out[row, col] = np.mean(all_) if how == "mean" else UFUNCS[how].reduce(all_)
    return out


def test_sums_of_long_integers_carry(device):
    """64-bit sums are made of 32-bit atomics; what leaves the lower word enters the upper."""
    values = np.array([2**32 - 1, 1, -(2**33), 2**31, -1, 2**40 + 3, -(2**31) - 7] * 9)
    x = torch.tensor([5, -5], device=device)
    index = torch.tensor(np.arange(values.size) % 2, device=device)
    got = x.scatter_add(0, index, torch.tensor(values, device=device)).tolist()
    assert got == [5 + int(values[::2].sum()), -5 + int(values[1::2].sum())]


def test_sums_of_floats(device):
    """Close to the exact sum, though many threads meet in few places."""
    rng = np.random.default_rng(0)
    source = rng.standard_normal(20_000).astype(np.float32)
    index = rng.integers(0, 5, 20_000)
    wanted = [source[index == k].astype(np.float64).sum() for k in range(5)]
    x = torch.zeros(5, device=device)
    got = x.scatter_add(0, torch.tensor(index, device=device), torch.tensor(source, device=device))
    np.testing.assert_allclose(got.tolist(), wanted, rtol=1e-4, atol=1e-3)


@every_dtype
@pytest.mark.parametrize("places", [3, 1500, 4096])
def test_many_meet_in_few_places(dtype, places, either_share):
    """Workgroups of a GPU sum their shares by themselves first."""
    count = 70_001
    array, source = numbers(dtype, places), numbers(dtype, count, seed=1, most=2)
    index = np.random.default_rng(2).integers(-places, places, count)
    if dtype.itemsize == 2 and dtype.is_floating_point:
        source[200:] = 0  # these hold no large whole numbers
    wanted = joined(array, (index,), source, "sum")
    if dtype is torch.bool:
        wanted = array.copy()
        np.logical_or.at(wanted, index, source)
    x, s, i = (given(a, either_share) for a in (array, source, index))
    same(x.index_put((i,), s, accumulate=True), wanted)


@every_dtype
def test_rows_are_summed_where_they_fit(dtype, either_share):
    """Workgroups of a GPU have a row each, of which the index asks for a part."""
    array, source = numbers(dtype, 2, 70, 300), numbers(dtype, 70, 2, 261, seed=1, most=2)
    index = np.random.default_rng(2).integers(0, 300, (2, 64, 260))
    wanted = array.copy()
    places = (*np.indices(index.shape, sparse=True)[:2], index)
    part = source.transpose(1, 0, 2)[:, :64, :260]
    if dtype is torch.bool:
        np.logical_or.at(wanted, places, part)
    else:
        wanted = joined(array, places, part, "sum")
    x, s, i = (given(a, either_share) for a in (array, source, index))
    same(x.scatter_add(2, i, s.transpose(0, 1)), wanted)


def test_many_wide_numbers_carry_in_few_places(either_share):
    source = np.random.default_rng(0).integers(-(2**60), 2**60, 80_000)
    index = np.arange(80_000) % 7
    wanted = np.zeros(7, np.int64)
    np.add.at(wanted, index, source)  # wraps, as they do
    x = torch.zeros(7, dtype=torch.int64, device=either_share)
    got = x.scatter_add(0, *(torch.tensor(a, device=either_share) for a in (index, source)))
    same(got, wanted)


def test_nan_wins_and_infinities_stay(device):
    nan, inf = float("nan"), float("inf")
    source = torch.tensor([1.0, nan, -inf, inf, -0.0], device=device)
    index = torch.tensor([0, 0, 1, 2, 3], device=device)
    x = torch.zeros(5, device=device)
    for how, wanted in (("amax", [nan, 0, inf, 0, 0]), ("amin", [nan, -inf, 0, 0, 0])):
        got = x.scatter_reduce(0, index, source, how).tolist()
        np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(x.scatter_add(0, index, source).tolist(), [nan, -inf, inf, 0, 0])


@pytest.mark.parametrize("reduce", ["add", "multiply"])
def test_scatter_with_reduce(reduce, device):
    x = torch.full((3, 2), 2.0, device=device)
    index = torch.tensor([[0, 2], [0, 2]], device=device)
    got = x.scatter(0, index, 3.0, reduce=reduce)
    same(got, np.float32([[8, 2], [2, 2], [2, 8]] if reduce == "add" else
                         [[18, 2], [2, 2], [2, 18]]))  # fmt: skip


def test_all_has_kernels(webgpu):
    """Also what WGSL has no atomics for, however many meet."""
    before = dict(fallbacks)
    source = torch.tensor(np.arange(300) % 3 - 1, device=webgpu)
    index = torch.tensor(np.arange(300) % 2, device=webgpu)
    x = torch.tensor([7, -7, 5], device=webgpu)
    assert x.scatter_reduce(0, index, source, "amax").tolist() == [7, 1, 5]
    assert x.scatter_reduce(0, index, source, "amin").tolist() == [-1, -7, 5]
    assert x.scatter_reduce(0, index, source, "prod").tolist() == [0, 0, 5]
    assert dict(fallbacks) == before


# Deterministic where it is promised


def test_rows_add_up_the_same_every_time(device):
    rng = np.random.default_rng(0)
    source = torch.tensor(rng.standard_normal((3000, 16)).astype(np.float32), device=device)
    index = torch.tensor(rng.integers(0, 7, 3000), device=device)
    x = torch.zeros(7, 16, device=device)
    first = x.index_add(0, index, source).cpu().numpy()
    for _ in range(3):
        np.testing.assert_array_equal(x.index_add(0, index, source).cpu().numpy(), first)
    in_order = np.zeros((7, 16), np.float32)
    np.add.at(in_order, index.cpu().numpy(), source.cpu().numpy())
    np.testing.assert_array_equal(first, in_order)


def test_embedding_gradient(device):
    """Added over repeats; nothing for the padding; averaged by frequency when asked."""
    weight = torch.ones(5, 3, device=device, requires_grad=True)
    index = torch.tensor([[1, 2, 1], [4, 1, 2]], device=device)
    torch.embedding(weight, index).sum().backward()
    assert weight.grad[:, 0].tolist() == [0, 3, 2, 0, 1]
    weight.grad = None
    torch.embedding(weight, index, 2).sum().backward()
    assert weight.grad[:, 0].tolist() == [0, 3, 0, 0, 1]
    weight.grad = None
    torch.embedding(weight, index, -1, True).sum().backward()
    assert weight.grad[:, 0].tolist() == [0, 1, 1, 0, 1]


# Layouts and forms


def test_layouts(device):
    """Indices and sources that are expanded, transposed, stepped or shifted."""
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    x = torch.tensor(array, device=device)
    index = torch.tensor([3, 1], device=device)
    wanted = array.T.copy()
    wanted[[3, 1]] += array[:2, ::-2][:, 0][:, None]
    source = x[:2].flip(1)[:, :1].expand(2, 4)
    same(x.T.index_add(0, index, source), wanted)
    wide = torch.tensor([[2], [0]], device=device).expand(2, 6)
    wanted = array.copy()
    wanted[[2, 0]] = array[1:3]
    same(x.scatter(0, wide, x[1:3]), wanted)
    wanted = array[::2, 1::2].copy()
    wanted[:, 2] = 7
    same(x[::2, 1::2].index_fill(1, torch.tensor(2, device=device), 7.0), wanted)


def test_in_place_on_views(device):
    x = torch.zeros(4, 6, device=device)
    x[1:3, ::2].scatter_(1, torch.tensor([[2], [0]], device=device), 5.0)
    x.T.index_add_(0, torch.tensor([5, 5], device=device), torch.ones(2, 4, device=device))
    wanted = np.zeros((4, 6), np.float32)
    wanted[1, 4] = wanted[2, 0] = 5
    wanted[:, 5] = 2
    same(x, wanted)


def test_gradients_through_writes(device):
    """Of the target where it was not written, and of what was written."""
    x = torch.ones(4, 3, device=device, requires_grad=True)
    v = torch.ones(2, 3, device=device, requires_grad=True)
    y = x * 2
    y[torch.tensor([0, 3], device=device)] = v * 5
    (y * y).sum().backward()
    assert x.grad[:, 0].tolist() == [0, 8, 8, 0]
    assert v.grad[:, 0].tolist() == [50, 50]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x[torch.tensor([0], device=device)] = 1.0


def test_counts(device):
    values = np.random.default_rng(0).integers(0, 9, 500)
    x = torch.tensor(values, device=device)
    same(x.bincount(minlength=12), np.bincount(values, minlength=12))
    weights = np.random.default_rng(1).integers(0, 9, 500).astype(np.float32)
    got = x.bincount(torch.tensor(weights, device=device))
    np.testing.assert_array_equal(got.tolist(), np.bincount(values, weights))


def test_more_groups_than_an_axis_has(webgpu):
    """17 million elements are more than 65,535 groups of 256 threads write one at a time."""
    width = 17_000_000
    x = torch.zeros(2, width, dtype=torch.uint8, device=webgpu)
    ones = torch.ones(1, dtype=torch.uint8, device=webgpu).expand(1, width)
    x.index_put_((torch.tensor([1], device=webgpu),), ones)
    assert x[1].sum().item() == width
    assert x[0].sum().item() == 0


def test_weights_that_are_counted_as_doubles_on_the_cpu(device):
    index = torch.tensor([1, 1, 0], device=device)
    wide = torch.float64 if device == "cpu" else torch.float32
    for dtype in (torch.float16, torch.int32):
        counts = torch.bincount(index, torch.full((3,), 2049, dtype=dtype, device=device))
        assert counts.dtype is wide
        assert counts.tolist() == ([2048, 4096] if dtype is torch.float16 else [2049, 4098])
    assert torch.bincount(index, torch.ones(3, device=device)).dtype is torch.float32
    assert torch.bincount(index[:0], torch.ones(0, device=device), 2).dtype is torch.int64
