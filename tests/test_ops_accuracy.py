"""How exact long sums in float32 are, beside float64: errors must not grow with the length.

Equal numbers are the worst case: every addition errs to the same side.
"""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch

COUNT = 1 << 20
RNG = np.random.default_rng(0)
VALUES = {
    "equal": np.full(COUNT, 0.1, np.float32),
    "random": RNG.random(COUNT, dtype=np.float32) + 0.1,
}
SHAPES = [(COUNT,), (COUNT // 16, 16), (16, COUNT // 16), (1024, COUNT // 1024), (64, 256, 64)]


def error(got, want) -> float:
    """The largest, relative."""
    return float(np.max(np.abs(got.cpu().numpy().astype(np.float64) / want - 1)))


@pytest.fixture(params=VALUES)
def values(request):
    return VALUES[request.param]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_long_sums(either_share, values, shape):
    x = torch.tensor(values.reshape(shape), device=either_share)
    exact = values.reshape(shape).astype(np.float64)
    for dim in (0, -1):
        assert error(x.sum(dim), exact.sum(dim)) < 1e-6
        assert error((x * x).mean(dim), (exact * exact).mean(dim)) < 1e-6


def test_sixteen_million_equal_numbers(webgpu):
    x = torch.full((1 << 24,), 0.1, device=webgpu)
    exact = float(np.float32(0.1))
    assert float(x.sum()) == pytest.approx(exact * (1 << 24), rel=1e-6)
    assert float(x.mean()) == pytest.approx(exact, rel=1e-6)
    assert float(x.norm()) == pytest.approx(exact * (1 << 12), rel=1e-6)
    assert float(x.cumsum(0)[-1]) == pytest.approx(exact * (1 << 24), rel=1e-6)


def test_norm_and_variance(either_share, values):
    x, exact = torch.tensor(values, device=either_share), values.astype(np.float64)
    assert error(x.norm(), np.sqrt((exact * exact).sum())) < 1e-6
    assert error(x.logsumexp(0), np.log(np.exp(exact).sum())) < 1e-6
    assert abs(float(x.var()) - exact.var(ddof=1)) < 1e-6 * exact.var() + 1e-12


@pytest.mark.parametrize("shape", [(COUNT,), (COUNT // 64, 64), (64, COUNT // 64)], ids=str)
def test_running_sums(either_share, values, shape):
    x = torch.tensor(values.reshape(shape), device=either_share)
    exact = values.reshape(shape).astype(np.float64)
    for dim in range(len(shape)):
        assert error(x.cumsum(dim), exact.cumsum(dim)) < 1e-6


@pytest.mark.parametrize("shape", [(4,), (3, 40_000), (2, 70, 64), (5, 30_001)])
def test_running_sums_from_the_end(either_share, shape):
    """By fours where they lie so; also of a part, and across rows."""
    array = np.random.default_rng(0).integers(-9, 9, shape)
    x = torch.tensor(array, device=either_share)
    for dim in range(len(shape)):
        for view, of in ((x, array), (x[..., 1:], array[..., 1:]), (x.T, array.T)):
            got = view._cumsum(dim, reverse=True).cpu().numpy()
            np.testing.assert_array_equal(got, np.flip(np.flip(of, dim).cumsum(dim), dim))


@pytest.mark.parametrize("cols", [30_000, COUNT // 16])
def test_softmax_of_long_rows(either_share, cols):
    rows = VALUES["random"][: 16 * cols].reshape(16, cols)
    x = torch.tensor(rows, device=either_share)
    exact = np.exp(rows.astype(np.float64))
    exact /= exact.sum(1, keepdims=True)
    assert error(x.softmax(1), exact) < 1e-6
    assert error(x.log_softmax(1), np.log(exact)) < 1e-6


@pytest.mark.parametrize(("m", "n"), [(9, 10), (70, 3)])
def test_products_of_long_rows_and_few(either_share, m, n):
    """Cut in hundreds of parts, which another kernel adds."""
    k = 40_003
    a, b = (RNG.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
    x, y = (torch.tensor(array, device=either_share) for array in (a, b))
    want = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose((x @ y).cpu().numpy(), want, rtol=2e-5, atol=2e-3)
    np.testing.assert_allclose(
        (x @ y + y[0]).half().cpu().numpy(), want + b[0], rtol=1e-3, atol=2e-3
    )


def test_layer_norm_of_long_rows(either_share):
    rows = VALUES["random"][: 16 * 30_000].reshape(16, -1)
    exact = rows.astype(np.float64)
    want = (exact - exact.mean(1, keepdims=True)) / exact.std(1, keepdims=True)
    x = torch.tensor(rows, device=either_share)
    got = torch.nn.functional.layer_norm(x, (30_000,), eps=0.0).cpu().numpy()
    np.testing.assert_allclose(got, want, rtol=0, atol=4e-6)


@pytest.mark.parametrize("k", [512, 5000, 300_000])
def test_products_along_long_rows(webgpu, traits, k):
    limit = 2e-6 if traits.is_software else 1e-7 * k  # GPUs add along k in order, as CUDA does
    for rows in (np.full((9, k), 0.1, np.float32), RNG.random((9, k), dtype=np.float32)):
        x, exact = torch.tensor(rows, device=webgpu), rows.astype(np.float64)
        assert error(x @ x.t(), exact @ exact.T) < limit


def test_products_of_many_more_matrices_than_workgroups(webgpu):
    """A group that takes a second matrix starts from zero again."""
    x = RNG.integers(0, 5, (70_000, 3, 5)).astype(np.float32)
    y = RNG.integers(0, 5, (70_000, 5, 4)).astype(np.float32)
    got = torch.tensor(x, device=webgpu) @ torch.tensor(y, device=webgpu)
    np.testing.assert_array_equal(got.cpu().numpy(), x @ y)


def test_logit_of_what_is_cut_by_an_eps_beyond_a_half(device):
    x = torch.tensor([0.1, 0.5, 0.9, float("nan")], device=device)
    got = x.logit(0.75).tolist()  # below 0.75 it is 0.75, else 0.25
    assert got[:3] == pytest.approx([1.0986123, 1.0986123, -1.0986123])
    assert got[3] != got[3]
