"""Gradients of gradients, and gradients at edges, beside what PyTorch gives there."""

from __future__ import annotations

from math import inf, nan

import pytest

import wgtorch as torch
import wgtorch.nn.functional as F
from wgtorch.autograd import grad


def slopes(function, x):
    """(the first gradient, the second) of the sum."""
    (first,) = grad(function(x).sum(), x, create_graph=True)
    return first, grad(first.sum(), x)[0]


@pytest.mark.parametrize("function", [F.elu, F.selu, F.celu])
def test_what_rises_is_straight_however_far(device, function):
    x = torch.tensor([-1.0, -0.0, 0.0, 1.0, 89.0, inf], device=device, requires_grad=True)
    first, second = slopes(function, x)
    torch.testing.assert_close(second, first * torch.tensor([1.0, 0, 0, 0, 0, 0], device=device))


def test_the_second_gradient_of_gelu_by_tanh_keeps_its_digits_where_gelu_is_straight(device):
    x = torch.tensor([5.0, -5.0], device=device, requires_grad=True)
    _, second = slopes(lambda x: F.gelu(x, approximate="tanh"), x)
    assert second.tolist() == pytest.approx([-9.93413e-6] * 2, rel=1e-3)


def test_activations_at_the_ends_of_what_floats_can_say(device):
    x = torch.tensor([nan, -3.0, 3.0], device=device, requires_grad=True)
    assert grad(F.hardsigmoid(x).sum(), x)[0].tolist() == [0, 0, 0]
    assert slopes(F.hardswish, x)[0].tolist() == [1, 0, 1]
    x = torch.tensor([3.4e38, -3.4e38, 1.0], device=device, requires_grad=True)
    assert slopes(F.softsign, x)[1].tolist() == [0, 0, -0.25]
    for function in (torch.atan, torch.asinh, torch.square, lambda x: torch.atan2(x, x[2])):
        assert slopes(function, x)[1].isfinite().all(), function
    assert slopes(torch.atan, x)[1].tolist() == [0, 0, -0.5]
    assert slopes(torch.acosh, x[:1])[1].tolist() == [0]


def test_digamma_is_flat_at_infinity(device):
    x = torch.tensor([inf, 1.0], device=device, requires_grad=True)
    assert slopes(torch.lgamma, x)[1].tolist() == pytest.approx([0.0, 1.644934])


PIECES = [F.relu, F.leaky_relu, F.relu6, F.hardtanh, F.hardshrink, F.softshrink, F.hardsigmoid]


@pytest.mark.parametrize("function", PIECES)
def test_a_gradient_of_straight_pieces_has_a_past(device, function):
    x = torch.tensor([-1.0, 0.0, 0.7, 8.0], device=device, requires_grad=True)
    first, second = slopes(function, x)
    assert first.requires_grad
    assert second.tolist() == [0, 0, 0, 0]
    assert not grad(function(x).sum(), x)[0].requires_grad


def test_a_penalty_on_the_gradient_of_a_network_with_relu(device):
    weight = torch.tensor([[0.5, -1.0], [2.0, 1.0]], device=device, requires_grad=True)
    x = torch.tensor([[1.0, 0.5]], device=device, requires_grad=True)
    (g,) = grad((x @ weight).relu().sum(), x, create_graph=True)
    g.square().sum().backward()
    assert weight.grad.tolist() == [[1.0, 0.0], [4.0, 0.0]]
    assert x.grad.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("reverse", [False, True])
def test_logcumsumexp_forward_over_reverse(device, reverse):
    q = torch.tensor([0.5, -1.0, 2.0], device=device)
    q = q.flip(0) if reverse else q

    def slope(q):
        return torch.func.grad(lambda q: q._logcumsumexp(0, reverse).pow(3).sum())(q)

    _, moved = torch.func.jvp(slope, (q,), (q,))
    wanted = [3.4692, -0.8486, 21.6139]
    assert moved.tolist() == pytest.approx(wanted[::-1] if reverse else wanted, rel=1e-4)


def test_logcumsumexp_where_exponentials_overflow(device):
    x = torch.tensor([100.0, -50.0, 80.0, 200.0, inf], device=device, requires_grad=True)
    weights = torch.tensor([2.0, 0.0, -1.0, 0.5, 0.0], device=device)
    (torch.logcumsumexp(x, 0)[:4] * weights[:4]).sum().backward()
    assert x.grad[:4].tolist() == pytest.approx([1.0, 0.0, 0.0, 0.5], abs=1e-6)


def test_logcumsumexp_of_no_complex_numbers(device):
    x = torch.ones(0, 3, dtype=torch.complex64, device=device)
    assert torch.logcumsumexp(x, 0).shape == (0, 3)


@pytest.mark.parametrize("padding", ["border", "reflection"])
def test_where_a_grid_is_clipped_it_has_no_slope(device, padding):
    theta = torch.tensor([[[1.0, 0, 0], [0, 1, 0]]], device=device, requires_grad=True)
    x = torch.arange(9.0, device=device).reshape(1, 1, 3, 3)
    grid = F.affine_grid(theta, (1, 1, 3, 3), align_corners=True)
    F.grid_sample(x, grid, padding_mode=padding, align_corners=True).pow(2).sum().backward()
    assert theta.grad.tolist() == [[[0, 12, 24], [12, 0, 72]]]


def test_the_nearest_of_a_grid_has_a_gradient_of_zeros(device):
    grid = torch.full((1, 1, 2, 2), 0.3, device=device, requires_grad=True)
    out = F.grid_sample(torch.ones(1, 1, 3, 3, device=device), grid, "nearest", align_corners=True)
    assert grad(out.sum(), grid)[0].tolist() == [[[[0, 0], [0, 0]]]]


@pytest.mark.parametrize("scattered", [
    lambda x, index, source: x.scatter_add(0, index, source),
    lambda x, index, source: x.scatter_reduce(0, index, source, "prod"),
])  # fmt: skip
def test_a_source_of_which_nothing_is_scattered(device, scattered):
    x, source = (torch.ones(n, 3, device=device, requires_grad=True) for n in (2, 0))
    out = scattered(x, torch.zeros(0, 3, dtype=torch.int64, device=device), source)
    assert [g.shape for g in grad(out.sum(), (x, source))] == [(2, 3), (0, 3)]


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_an_output_padding_that_no_tap_reaches(device, dims):
    x = torch.ones(1, 2, *[4] * dims, device=device, requires_grad=True)
    weight = torch.ones(2, 5, *[1] * dims, device=device, requires_grad=True)
    spread = getattr(F, f"conv_transpose{dims}d")
    out = spread(x, weight, dilation=3, output_padding=2)
    first = grad(out.square().sum(), (x, weight), create_graph=True)
    second = grad(first[0].sum() + first[1].sum(), (x, weight))
    count = 4**dims
    assert [g.unique().tolist() for g in first] == [[20.0], [4.0 * count]]
    assert [g.unique().tolist() for g in second] == [[60.0], [12.0 * count]]


def test_a_batch_of_nothing_gives_and_moves_nothing(device):
    norm = torch.nn.BatchNorm2d(4, device=device)
    x = torch.ones(0, 4, 5, 1, device=device, requires_grad=True)
    norm(x).sum().backward()
    assert norm.weight.grad.tolist() == norm.bias.grad.tolist() == [0, 0, 0, 0]
    assert (x.grad.shape, norm.running_var.tolist()) == ((0, 4, 5, 1), [1, 1, 1, 1])


def test_tables_of_a_transform_outlive_the_vmap_that_asked_for_them(device):
    x = torch.randn(3, 4, 6, device=device)
    wanted = torch.fft.rfft(x)
    for n in (6, 38):  # the second by Bluestein's way
        for _ in range(2):
            got = torch.func.vmap(lambda row: torch.fft.rfft(row, n))(x)  # noqa: B023
            torch.testing.assert_close(got, torch.fft.rfft(x, n))
    got = torch.func.vmap(torch.fft.rfft, in_dims=1, out_dims=1)(x)
    torch.testing.assert_close(got, wanted)
    torch.testing.assert_close(torch.func.vmap(torch.fft.irfft)(wanted), x)
    rows = torch.func.jacrev(lambda row: torch.fft.rfft(row).real)(x[0, 0])
    torch.testing.assert_close(rows.sum(0), torch.fft.rfft(torch.eye(6, device=device)).real.sum(1))
