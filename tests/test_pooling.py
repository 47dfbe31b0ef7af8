"""Pooling kernels: layouts, dtypes, what they keep for backward."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch

RNG = np.random.default_rng(0)


def windows(array, size, step):
    view = np.lib.stride_tricks.sliding_window_view(array, (size, size), (-2, -1))
    return view[..., ::step, ::step, :, :]


@pytest.mark.parametrize("how", ["plain", "transposed", "stepped", "expanded"])
def test_any_layout(device, how):
    array = RNG.standard_normal((2, 3, 10, 12)).astype(np.float32)
    x = torch.tensor(array, device=device)
    if how == "transposed":
        array, x = array.transpose(1, 0, 3, 2), x.permute(1, 0, 3, 2)
    elif how == "stepped":
        array, x = array[:, 1:, ::2, 1:], x[:, 1:, ::2, 1:]
    elif how == "expanded":
        array, x = np.broadcast_to(array[:1], (4, 3, 10, 12)), x[:1].expand(4, 3, 10, 12)
    want = windows(array, 3, 2)
    np.testing.assert_array_equal(torch.max_pool2d(x, 3, 2).cpu().numpy(), want.max((-2, -1)))
    got = torch.avg_pool2d(x, 3, 2).cpu().numpy()
    np.testing.assert_allclose(got, want.mean((-2, -1)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "int64", "int32", "int16", "int8", "uint8"])
def test_max_pool_of_every_dtype(device, dtype):
    array = RNG.integers(0, 100, (2, 2, 6, 7)).astype(dtype)
    got = torch.max_pool2d(torch.tensor(array, device=device), 2)
    assert got.cpu().numpy().dtype == dtype
    np.testing.assert_array_equal(got.cpu().numpy(), windows(array, 2, 2).max((-2, -1)))


def test_backward_keeps_a_byte_per_window(webgpu):
    x = torch.ones(4, 8, 32, 32, device=webgpu, requires_grad=True)
    y = torch.max_pool2d(x.clone(), 2)
    places = y.grad_fn._saved_places
    assert places.dtype is torch.uint8
    assert places.shape == y.shape


def test_gradients_of_overlapping_windows_add_up(device):
    x = torch.tensor([[[1.0, 5.0, 2.0, 0.0]]], device=device, requires_grad=True)
    torch.max_pool1d(x, 2, 1).sum().backward()
    assert x.grad.tolist() == [[[0, 2, 1, 0]]]
    y = torch.ones(1, 1, 4, device=device, requires_grad=True)
    torch.avg_pool1d(y, 2, 1).sum().backward()
    assert y.grad.tolist() == [[[0.5, 1, 1, 0.5]]]


def test_windows_of_minus_infinity_beside_padding(device):
    x = torch.full((1, 1, 2, 2), -np.inf, device=device)
    got, places = torch.max_pool2d_with_indices(x, 2, 2, 1)
    np.testing.assert_array_equal(got.cpu().numpy(), np.full((1, 1, 2, 2), -np.inf))
    assert places.flatten().tolist() == [0, 1, 2, 3]


def test_no_batch_and_empty_batch(device):
    assert torch.max_pool2d(torch.zeros(0, 1, 4, 4, device=device), 2).shape == (0, 1, 2, 2)
    assert torch.avg_pool2d(torch.zeros(1, 4, 4, device=device), 2).shape == (1, 2, 2)
    assert (
        torch.adaptive_avg_pool2d(torch.ones(3, 5, 7, device=device), 1).flatten().tolist()
        == [1] * 3
    )


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding_mode", ["border", "reflection"])
def test_a_grid_of_nan_points_to_the_first_element(device, mode, padding_mode):
    x = torch.arange(1.0, 5, device=device).reshape(1, 1, 2, 2)
    grid = torch.full((1, 1, 1, 2), float("nan"), device=device)
    sample = torch.nn.functional.grid_sample
    assert sample(x, grid, mode, padding_mode, align_corners=False).tolist() == [[[[1.0]]]]


def test_deterministic_gradients_of_an_image_are_the_same(webgpu):
    x, grid = torch.randn(2, 3, 5, 6, device=webgpu), torch.rand(2, 4, 7, 2, device=webgpu) * 3 - 1
    found = []
    for mode in (False, True):
        leaf = x.clone().requires_grad_()
        torch.use_deterministic_algorithms(mode)
        try:
            out = torch.nn.functional.grid_sample(leaf, grid, align_corners=False)
            found.append(torch.autograd.grad(out.square().sum(), leaf)[0])
        finally:
            torch.use_deterministic_algorithms(False)
    torch.testing.assert_close(*found)


def test_a_grid_of_nan_samples_nan_where_zeros_are_outside(device):
    grid = torch.full((1, 1, 1, 2), float("nan"), device=device)
    x = torch.ones(1, 1, 2, 2, device=device)
    assert torch.nn.functional.grid_sample(x, grid, align_corners=False).isnan().all()


@pytest.mark.parametrize(("name", "refused", "rank"), [
    ("max_pool1d", "max_pool1d_impl", 1), ("max_pool2d", "max_pool2d", 2),
    ("max_pool3d", "max_pool3d", 3), ("adaptive_max_pool1d", "adaptive_max_pool2d", 1),
    ("adaptive_max_pool2d", "adaptive_max_pool2d", 2),
    ("adaptive_max_pool3d", "adaptive_max_pool3d_cpu", 3),
])  # fmt: skip
def test_bools_have_no_largest(device, name, refused, rank):
    x = torch.ones((1, 1) + (4,) * rank, dtype=torch.bool, device=device)
    with pytest.raises(NotImplementedError, match=f"\"{refused}\" not implemented for 'Bool'"):
        getattr(torch.nn.functional, name)(x, 2)


def test_even_windows_whose_places_times_sizes_take_more_than_32_bits(device):
    x = torch.arange(90001.0, device=device, requires_grad=True)
    out = torch.adaptive_avg_pool1d(x[None, None], 70001)
    # the last windows: from floor(o 90001 / 70001) to ceil((o + 1) 90001 / 70001)
    assert out[0, 0, -3:].tolist() == [89997.5, 89998.5, 89999.5]
    out.sum().backward()
    assert x.grad[-3:].tolist() == [1, 1, 0.5]


def test_bytes_are_resized_in_the_fixed_point_of_torch(device):
    x = torch.tensor([[[[0, 101, 255, 7]]]], dtype=torch.uint8, device=device)
    resize = torch.nn.functional.interpolate
    assert resize(x, (1, 6), mode="bilinear").flatten().tolist() == [0, 51, 127, 229, 131, 7]
    assert resize(x, (1, 3), mode="bicubic").flatten().tolist() == [12, 211, 45]


def test_a_long_row_is_smoothed_without_a_matrix():
    x = torch.ones(1, 1, 1, 30_000)
    out = torch.nn.functional.interpolate(x, (1, 40_000), mode="bicubic", antialias=True)
    assert (out - 1).abs().max() < 1e-6


def test_power_means_of_infinite_and_odd_powers(device):
    x = torch.tensor([[[1.0, -3.0, -2.0, 0.5]]], device=device)
    pool = torch.nn.functional.lp_pool1d
    assert pool(x, float("inf"), 2).tolist() == [[[3, 2]]]
    assert pool(x, -float("inf"), 2).tolist() == [[[1, 0.5]]]
    assert pool(x, 1, 2).tolist() == [[[-2, -1.5]]]
    deep = x.reshape(1, 1, 1, 1, 4)
    assert torch.nn.functional.lp_pool3d(deep, float("inf"), (1, 1, 4)).flatten().tolist() == [3]


def test_grid_sample_refuses_what_it_cannot_read(device):
    sample = torch.nn.functional.grid_sample
    x, grid = torch.ones(1, 1, 3, 3, device=device), torch.zeros(1, 2, 2, 2, device=device)
    with pytest.raises(RuntimeError, match="expected input to have non-empty spatial dimensions"):
        sample(x[:, :, :0], grid, align_corners=False)
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        sample(x.long(), grid, align_corners=False)
    with pytest.raises(RuntimeError, match="expected scalar type Half but found Float"):
        sample(x.half(), grid, align_corners=False)
    with pytest.raises(RuntimeError, match="expected grid and input to have same batch size"):
        sample(x, grid.repeat(2, 1, 1, 1), align_corners=False)
