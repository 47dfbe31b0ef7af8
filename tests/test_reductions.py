"""Folds over any dims of any layouts, in every dtype, by every way of sharing the work."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch
from wgtorch import settings
from wgtorch.backends.webgpu.walks import walk
from wgtorch.dtype import DType
from wgtorch.layout import Layout

RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


# Shapes that take each path: quads along rows, quads across them, one by one, splits, many axes
SHAPES = [
    ((64, 64), 1), ((64, 64), 0), ((7, 33), 1), ((7, 33), 0), ((1, 100_003), 1), ((3, 40_000), 1),
    ((40_000, 8), 0), ((40_000, 3), 0), ((5, 6, 8, 4), (0, 2)), ((5, 6, 7, 3), (0, 2)),
    ((9, 16, 12), (0, 2)), ((9, 16, 12), None), ((4, 1, 5), 1), ((2, 3, 4, 5, 6), (1, 3)),
    ((), None),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_sums_by_every_path(either_share, shape, dim):
    array = normal(*shape) if shape else np.float32(2.5)
    x = torch.tensor(array, device=either_share)
    want = np.sum(array, axis=dim, dtype=np.float64)
    np.testing.assert_allclose(x.sum(dim).cpu().numpy(), want, rtol=2e-5, atol=2e-4)
    want = np.max(array, axis=dim)
    np.testing.assert_array_equal(x.amax(() if dim is None else dim).cpu().numpy(), want)
    want = np.var(array, axis=dim, dtype=np.float64)
    got = x.var(dim, correction=0).cpu().numpy()
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("dim", [0, 1, 2, (0, 1), (0, 2), None])
@pytest.mark.parametrize("how", ["transposed", "stepped", "offset", "expanded"])
def test_any_layout(either_share, how, dim):
    array = normal(9, 8, 12)
    x = torch.tensor(array, device=either_share)
    if how == "transposed":
        array, x = array.transpose(2, 0, 1), x.permute(2, 0, 1)
    elif how == "stepped":
        array, x = array[::2, 1:, ::3], x[::2, 1:, ::3]
    elif how == "offset":
        array, x = array[3:, :, 1:], x[3:, :, 1:]
    else:
        array = np.broadcast_to(array[:, None], (9, 4, 8, 12))
        x = x.unsqueeze(1).expand(9, 4, 8, 12)
    np.testing.assert_allclose(x.sum(dim).cpu().numpy(), array.sum(dim), rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(x.amin(() if dim is None else dim).cpu().numpy(), array.min(dim))


def test_places_of_the_first_of_equals(either_share):
    array = RNG.integers(0, 3, (5, 4000)).astype(np.float32)
    x = torch.tensor(array, device=either_share)
    np.testing.assert_array_equal(x.argmax(1).cpu().numpy(), array.argmax(1))
    np.testing.assert_array_equal(x.argmin(0).cpu().numpy(), array.argmin(0))
    np.testing.assert_array_equal(x.t().argmax(0).cpu().numpy(), array.T.argmax(0))
    assert int(x.argmax()) == array.argmax()
    values, indices = x.max(1)
    np.testing.assert_array_equal(values.cpu().numpy(), array.max(1))
    np.testing.assert_array_equal(indices.cpu().numpy(), array.argmax(1))


def test_a_long_row_is_not_cut_short(either_share):
    """llvmpipe ends a thread's loops after 65,535 steps."""
    ones = torch.ones(1 << 22, device=either_share)
    assert float(ones.sum()) == 1 << 22
    assert ones.reshape(2, -1).sum(1).tolist() == [1 << 21] * 2
    assert ones.reshape(-1, 4).sum(0).tolist() == [1 << 20] * 4
    assert ones.reshape(2, 1 << 19, 4).sum((0, 2)).sum().item() == 1 << 22
    assert ones.bool().sum().item() == 1 << 22


# Element types


DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
          torch.bfloat16]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("shape", [(12, 20), (5, 7)])
def test_dtypes_agree_with_the_cpu(either_share, dtype: DType, shape):
    source = torch.tensor(RNG.integers(0, 5, shape)).to(dtype)
    x = source.to(either_share)
    for name in ("sum", "prod", "any", "all", "amax", "amin"):
        for dim in (0, 1, (0, 1)):
            dims = dim if name != "prod" or isinstance(dim, int) else None
            want, got = getattr(source, name)(dims), getattr(x, name)(dims)
            assert got.dtype is want.dtype
            a, b = got.cpu().double().numpy(), want.double().numpy()
            np.testing.assert_allclose(a, b, rtol=1e-2 if dtype.is_floating_point else 0)


def test_integers_are_summed_as_int64(device):
    x = torch.tensor([100, 100, 100], dtype=torch.int8, device=device)
    assert x.sum().dtype is torch.int64
    assert int(x.sum()) == 300
    assert int(x.prod()) == 10**6
    big = torch.tensor([2**31 - 1, 1], dtype=torch.int32, device=device)
    assert int(big.sum()) == 2**31
    assert x.sum(dtype=torch.float32).dtype is torch.float32
    assert int(x.sum(dtype=torch.int8)) == 300 - 256


def test_halves_are_added_in_float32(device):
    ones = torch.ones(5000, dtype=torch.float16, device=device)
    assert float(ones.sum()) == 5000  # a float16 sum stops at 2048
    assert ones.sum().dtype is torch.float16
    assert float(ones.to(torch.bfloat16).mean()) == 1


# Special values


def test_nan_and_infinities(device):
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([[1, nan, 3, nan], [inf, 2, -inf, 0], [-inf] * 4], device=device)
    np.testing.assert_array_equal(x.amax(1).cpu().numpy(), [nan, inf, -inf])
    np.testing.assert_array_equal(x.amin(1).cpu().numpy(), [nan, -inf, -inf])
    assert x.argmax(1).tolist() == [1, 0, 0]
    assert x.argmin(1).tolist() == [1, 2, 0]
    assert x.max(1).indices.tolist() == [1, 0, 0]
    np.testing.assert_array_equal(x.sum(1).cpu().numpy(), [nan, nan, -inf])
    np.testing.assert_array_equal(x.logsumexp(1).cpu().numpy(), [nan, inf, -inf])
    assert x.nansum(1).tolist()[0] == 4
    assert x.nanmean(1).tolist()[0] == 2
    assert x.isnan().any(1).tolist() == [True, False, False]
    assert torch.tensor([nan], device=device).any()


def test_variance_far_from_zero(either_share):
    """The textbook's sum of squares would give nonsense here."""
    array = normal(4, 5000) + 1e4
    x = torch.tensor(array, device=either_share)
    want = array.astype(np.float64).var(1, ddof=1)
    np.testing.assert_allclose(x.var(1).cpu().numpy(), want, rtol=2e-3)
    std, mean = torch.std_mean(x, 1)
    np.testing.assert_allclose(std.cpu().numpy(), np.sqrt(want), rtol=1e-3)
    np.testing.assert_allclose(mean.cpu().numpy(), array.mean(1, dtype=np.float64), rtol=1e-6)


def test_logsumexp_of_what_overflows(device):
    x = torch.tensor([[1000.0, 1000.0], [-1000.0, -1000.0]], device=device)
    want = np.array([1000, -1000]) + np.log(2)
    np.testing.assert_allclose(x.logsumexp(1).cpu().numpy(), want, rtol=1e-6)


def test_gradients_where_formulas_divide_by_zero(device):
    zero = torch.zeros(3, device=device, requires_grad=True)
    zero.norm().backward()
    assert zero.grad.tolist() == [0, 0, 0]
    same = torch.ones(3, device=device, requires_grad=True)
    same.std().backward()
    assert same.grad.tolist() == [0, 0, 0]
    x = torch.tensor([2.0, 0.0, 3.0, 0.0], device=device, requires_grad=True)
    x.prod().backward()
    assert x.grad.tolist() == [0, 0, 0, 0]
    y = torch.tensor([2.0, 0.0, 3.0], device=device, requires_grad=True)
    y.prod().backward()
    assert y.grad.tolist() == [0, 6, 0]


# Nothing to fold


def test_no_rows_of_columns_add_up_to_nothing(device):
    """And their kernel does not serve where there are some."""
    for rows in (0, 2, 0):
        x = torch.ones(rows, 3, 3, 2, device=device)
        assert x.sum((0, 2)).tolist() == [[3 * rows] * 2] * 3


def test_empty(device):
    x = torch.zeros(0, 3, device=device)
    assert x.sum(0).tolist() == [0, 0, 0]
    assert x.prod(0).tolist() == [1, 1, 1]
    assert x.all(0).tolist() == [True] * 3
    assert x.any(0).tolist() == [False] * 3
    assert np.isnan(x.mean(0).cpu().numpy()).all()
    assert x.sum(1).shape == (0,)
    assert x.amax(1).shape == (0,)
    assert x.logsumexp(0).tolist() == [-np.inf] * 3
    with pytest.raises(
        IndexError, match=r"amax\(\): Expected reduction dim 0 to have non-zero size"
    ):
        x.amax(0)
    with pytest.raises(RuntimeError, match=r"max\(\): Expected reduction dim to be specified"):
        x.max()
    with pytest.raises(IndexError, match=r"argmax\(\): Expected reduction dim to be specified"):
        x.argmax()


def test_mistakes(device):
    x = torch.ones(2, 3, device=device)
    with pytest.raises(IndexError, match=r"Dimension out of range .* but got 2"):
        x.sum(2)
    with pytest.raises(RuntimeError, match="dim 1 appears multiple times in the list of dims"):
        x.sum((1, -1))
    with pytest.raises(RuntimeError, match="could not infer output dtype.* Got: Long"):
        x.long().mean()
    with pytest.raises(RuntimeError, match="std and var only support floating point"):
        x.int().var()
    with pytest.raises(RuntimeError, match="does not support bool input"):
        x.bool().argmax()
    assert x.sum().item() == 6  # and the next op works


def test_forms_of_arguments(device):
    x = torch.tensor(normal(2, 3), device=device)
    assert x.sum([0, 1]).shape == ()
    assert x.sum(dim=1, keepdim=True).shape == (2, 1)
    assert x.sum(axis=0).shape == (3,)
    assert x.mean((0, 1), True).shape == (1, 1)
    assert x.var(True).shape == ()
    assert x.var(1).shape == (2,)  # not the same as var(True)
    assert x.var(0, False).tolist() == x.var(0, correction=0).tolist()
    assert x.any(()).shape == (2, 3)  # over no dims; for the others () means all
    assert x.sum(()).shape == ()
    assert torch.max(x, 0).values.tolist() == x.amax(0).tolist()
    assert torch.max(x, x * 2).shape == (2, 3)
    assert x.aminmax().max.item() == x.max().item()
    assert x.argmax(keepdim=True).shape == (1, 1)


# Kernels


def test_what_is_computed_on_the_way_in_is_one_kernel(webgpu):
    x = torch.tensor(normal(64, 64), device=webgpu)
    queue = x.device.backend.queue
    (x * 3 + 1).sum(1)
    torch.webgpu.synchronize()
    before = queue.counted["dispatches"]
    (x * 3 + 1).sum(1)
    (x * 2).exp().amax(0)
    torch.webgpu.synchronize()
    assert queue.counted["dispatches"] - before == 2


def test_what_somebody_holds_is_stored_on_the_way(either_share):
    for shape in ((64, 64), (7, 9)):
        array = normal(*shape)
        x = torch.tensor(array, device=either_share)
        held, halves = x * 3, (x * 2).half()
        rows, sums = held.sum(1), halves.sum(0)
        np.testing.assert_array_equal(held.cpu().numpy(), array * 3)
        np.testing.assert_array_equal(halves.cpu().numpy(), (array * 2).astype(np.float16))
        np.testing.assert_allclose(rows.cpu().numpy(), (array * 3).sum(1), rtol=1e-5, atol=1e-5)
        want = (array * 2).astype(np.float16).astype(np.float32).sum(0)
        np.testing.assert_allclose(sums.cpu().numpy(), want, rtol=2e-3, atol=2e-2)


def test_operands_that_lie_differently_fold_together(either_share):
    a, b, c = normal(8, 12), normal(12), normal(8, 1)
    x, y, z = (torch.tensor(v, device=either_share) for v in (a, b, c))
    for dim in (0, 1, (0, 1)):
        got = ((x - y) * z).sum(dim).cpu().numpy()
        np.testing.assert_allclose(got, ((a - b) * c).sum(dim), rtol=1e-4, atol=1e-5)
    got = (x * torch.tensor(a.T.copy(), device=either_share).t()).sum(0).cpu().numpy()
    np.testing.assert_allclose(got, (a * a).sum(0), rtol=1e-5)


def test_walks_merge_what_walks_memory_as_one():
    shape = (4, 5, 6, 7)
    plain = Layout.contiguous(shape)
    assert walk(shape, (2, 3), [plain], False).cols == 42
    batch = walk(shape, (0, 2, 3), [plain], False)
    assert (batch.rows, batch.outer, batch.cols) == (5, 4, 42)
    assert walk(shape, (0,), [plain], False).by_row
    eight = Layout.contiguous((8, 8))
    assert walk((8, 8), (1,), [eight], False).quads == "along"
    assert walk((8, 8), (0,), [eight], False).quads == "across"
    assert walk((7, 7), (1,), [Layout.contiguous((7, 7))], False).quads == ""
    assert walk((49,), (0,), [Layout.contiguous((49,))], False).ragged


def test_a_reduction_whose_functions_have_no_float64_says_so(traits):
    if not traits.f64:
        pytest.skip("no float64")
    x = torch.ones(3, dtype=torch.float64, device="webgpu")
    with pytest.raises(TypeError, match=r"cannot compute it in float64; use .float\(\)"):
        x.nansum().item()
    assert x.sum().item() == x.amax().item() * 3 == 3


@pytest.mark.parametrize(
    ("shape", "dim"),
    [((300_000, 2), 0), ((100_003, 3), 0), ((2, 70_001, 4), 1), ((40_000, 4, 2), (0, 1)),
     ((3000, 5, 30), (0, 2)), ((200_000,), 0), ((33, 65, 130), (0, 1, 2))],
)  # fmt: skip
@pytest.mark.parametrize("threads", [1, 2])
def test_sums_of_many_lose_nothing_whichever_way_they_lie(shape, dim, threads, monkeypatch):
    monkeypatch.setattr(settings.Process, "threads", threads)
    x = torch.full(shape, 0.1)
    for t in (x, x.flip(0), x[..., :1].expand(shape), x.mT.contiguous().mT if x.ndim > 1 else x):
        exact = np.add.reduce(t.numpy(), dim, np.float64)
        np.testing.assert_allclose(t.sum(dim).numpy(), exact, rtol=4e-6)
        np.testing.assert_allclose(t.nansum(dim).numpy(), exact, rtol=4e-6)
        np.testing.assert_allclose(t.mean(dim).numpy(), np.full_like(exact, 0.1), rtol=4e-6)
        np.testing.assert_allclose(t.norm(dim=dim).numpy() ** 2, exact / 10, rtol=8e-6)
        np.testing.assert_allclose(t.double().sum(dim).numpy(), exact, rtol=1e-14)
