"""Rows that what they fold to comes back to: softmax and the norms, in every shape and share."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch

RNG = np.random.default_rng(0)
SHAPES = [((64, 64), 1), ((64, 64), 0), ((7, 33), 1), ((7, 33), 0), ((2, 40_000), 1),
          ((3, 8, 4), 1), ((5, 6, 7), 1), ((40_000, 2), 0), ((300, 12), -1)]  # fmt: skip


def softmax(array, dim):
    powers = np.exp(array.astype(np.float64) - array.max(dim, keepdims=True))
    return powers / powers.sum(dim, keepdims=True)


@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_softmax_by_every_path(either_share, shape, dim):
    array = (RNG.standard_normal(shape) * 3).astype(np.float32)
    x = torch.tensor(array, device=either_share)
    want = softmax(array, dim)
    np.testing.assert_allclose(x.softmax(dim).cpu().numpy(), want, rtol=2e-5, atol=1e-9)
    np.testing.assert_allclose(x.log_softmax(dim).cpu().numpy(), np.log(want), rtol=2e-5, atol=2e-5)
    turned = torch.tensor(array.T.copy(), device=either_share).permute(*reversed(range(array.ndim)))
    np.testing.assert_allclose(turned.softmax(dim).cpu().numpy(), want, rtol=2e-5, atol=1e-9)
    half = x.half().softmax(dim)
    assert half.dtype is torch.float16
    wide = softmax(array.astype(np.float16).astype(np.float32), dim)
    np.testing.assert_allclose(half.cpu().numpy(), wide, rtol=2e-3, atol=1e-6)


def test_softmax_backward_is_one_kernel(webgpu):
    x = torch.tensor(RNG.standard_normal((64, 64)), dtype=torch.float32, device=webgpu)
    x.requires_grad_(True)
    grad = torch.ones(64, 64, device=webgpu).clone()
    queue = x.device.backend.queue
    for _ in range(2):
        y = x.softmax(1)
        torch.webgpu.synchronize()
        before = queue.counted["dispatches"]
        y.backward(grad)
        torch.webgpu.synchronize()
        assert queue.counted["dispatches"] - before <= 2  # and one that adds to x.grad
        x.grad = None


def test_softmax_refuses_integers_without_a_dtype(device):
    x = torch.tensor([1, 2, 3], device=device)
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        x.softmax(0)
    got = x.softmax(0, dtype=torch.float32).cpu().numpy()
    np.testing.assert_allclose(got, softmax(np.array([1, 2, 3]), 0), rtol=1e-6)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.float().softmax(1)


@pytest.mark.parametrize("shape", [(5, 64), (5, 33), (3, 4, 8), (2, 20_000)])
def test_layer_norm_by_every_path(either_share, shape):
    array = (RNG.standard_normal(shape) * 2 + 100).astype(np.float32)
    weight, bias = (RNG.standard_normal(shape[-1]).astype(np.float32) for _ in range(2))
    wide = array.astype(np.float64)
    normed = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    x, w, b = (torch.tensor(a, device=either_share) for a in (array, weight, bias))
    got = torch.layer_norm(x, shape[-1:], w, b).cpu().numpy()
    np.testing.assert_allclose(got, normed * weight + bias, rtol=1e-3, atol=2e-3)
    plain = torch.layer_norm(x, shape[-1:]).cpu().numpy()
    np.testing.assert_allclose(plain, normed, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("shape", [(5, 64), (5, 33), (2, 20_000)])
def test_rms_norm_and_its_gradients_by_every_path(either_share, shape):
    array, seed = (RNG.standard_normal(shape).astype(np.float32) for _ in "xg")
    weight = RNG.standard_normal(shape[-1]).astype(np.float32)
    x, w, g = (torch.tensor(a, device=either_share) for a in (array, weight, seed))
    out = torch.rms_norm(x.requires_grad_(), shape[-1:], w.requires_grad_(), 1e-3)
    found = [t.detach().cpu().numpy() for t in (out, *torch.autograd.grad(out, [x, w], g))]
    wide = array.astype(np.float64)
    rstd = 1 / np.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-3)
    normed, owed = wide * rstd, seed * weight.astype(np.float64)
    along = (owed * normed).mean(-1, keepdims=True)
    wants = normed * weight, (owed - normed * along) * rstd, (seed * normed).sum(0)
    for have, want in zip(found, wants, strict=True):
        np.testing.assert_allclose(have, want, rtol=2e-5, atol=2e-5)
    halves = torch.full((2, 8), 1000.0, dtype=torch.float16, device=either_share)
    assert torch.rms_norm(halves, (8,)).tolist() == [[1.0] * 8] * 2  # squares overflow a half


@pytest.mark.parametrize("groups", [1, 3, 6])
def test_gradients_of_group_norm_by_every_path(either_share, groups):
    x, seed = RNG.standard_normal((2, 2, 6, 8, 4))
    weight, bias = RNG.standard_normal((2, 6))
    leaves = [torch.tensor(a, dtype=torch.float32, device=either_share) for a in (x, weight, bias)]
    image, *rest = [leaf.requires_grad_() for leaf in leaves]
    out = torch.group_norm(image, groups, *rest)
    grads = torch.autograd.grad(out, leaves, out.new_tensor(seed.astype(np.float32)))
    rows, shape = x.reshape(2, groups, -1), (1, 6, 1, 1)
    rstd = 1 / np.sqrt(rows.var(-1, keepdims=True) + 1e-5)
    normed = (rows - rows.mean(-1, keepdims=True)) * rstd
    owed = (seed * weight.reshape(shape)).reshape(rows.shape)
    along = (owed * normed).mean(-1, keepdims=True)
    given = (owed - owed.mean(-1, keepdims=True) - normed * along) * rstd
    normed = normed.reshape(x.shape)
    wants = [normed * weight.reshape(shape) + bias.reshape(shape), given.reshape(x.shape),
             (seed * normed).sum((0, 2, 3)), seed.sum((0, 2, 3))]  # fmt: skip
    for have, want in zip((out, *grads), wants, strict=True):
        np.testing.assert_allclose(have.detach().cpu().numpy(), want, rtol=1e-4, atol=1e-5)


def test_layer_norm_mistakes(device):
    x = torch.ones(2, 3, device=device)
    with pytest.raises(
        RuntimeError, match=r"Given normalized_shape=\[4\], expected input with shape"
    ):
        torch.layer_norm(x, (4,))
    with pytest.raises(RuntimeError, match="Expected weight to be of same shape"):
        torch.layer_norm(x, (3,), x[0, :2])


def test_batch_norm_moves_the_running_statistics(device):
    array = RNG.standard_normal((8, 3, 5)).astype(np.float32) * 2 + 1
    x = torch.tensor(array, device=device)
    mean, var = torch.zeros(3, device=device), torch.ones(3, device=device)
    out = torch.batch_norm(x, None, None, mean, var, True, 0.25, 1e-5)
    rows = array.transpose(1, 0, 2).reshape(3, -1).astype(np.float64)
    np.testing.assert_allclose(mean.cpu().numpy(), 0.25 * rows.mean(1), rtol=1e-5)
    np.testing.assert_allclose(var.cpu().numpy(), 0.75 + 0.25 * rows.var(1, ddof=1), rtol=1e-5)
    normed = (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-5)
    got = out.cpu().numpy().transpose(1, 0, 2).reshape(3, -1)
    np.testing.assert_allclose(got, normed, rtol=1e-4, atol=1e-5)
    kept = mean.clone(), var.clone()
    torch.batch_norm(x, None, None, mean, var, False, 0.25, 1e-5)
    assert mean.tolist() == kept[0].tolist()
    assert var.tolist() == kept[1].tolist()


def test_batch_norm_and_relu_are_two_kernels(webgpu):
    x = torch.tensor(RNG.standard_normal((4, 8, 6, 6)), dtype=torch.float32, device=webgpu)
    weight, bias = torch.ones(8, device=webgpu).clone(), torch.zeros(8, device=webgpu).clone()
    queue = x.device.backend.queue

    def step():
        torch.webgpu.synchronize()
        before = queue.counted["dispatches"]
        out = torch.batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5).relu()
        out.device.backend.fill(out.storage.value)
        torch.webgpu.synchronize()
        return queue.counted["dispatches"] - before

    step()
    assert step() == 2


def test_gradients_of_norms_leave_nothing_on_the_gradient_they_are_given(webgpu):
    """It was where their formulas kept what they share: memory grew with every step."""
    x = torch.ones(4, 8, 64, device=webgpu).clone().requires_grad_()
    weight, bias = (torch.ones(8, device=webgpu).clone().requires_grad_() for _ in "wb")
    grad = torch.ones(4, 8, 64, device=webgpu).clone()

    def step():
        out = torch.batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5)
        torch.autograd.grad(out, [x, weight, bias], grad)
        rows = torch.layer_norm(x.transpose(1, 2), (8,), weight, bias).transpose(1, 2)
        torch.autograd.grad(rows, [x, weight, bias], grad)
        torch.webgpu.synchronize()
        return torch.webgpu.memory_allocated()

    assert step() == step()


def test_batch_norm_mistakes(device):
    x = torch.ones(2, 3, device=device)
    with pytest.raises(RuntimeError, match="weight should contain 3 elements not 2"):
        torch.batch_norm(x, x[0, :2], None, None, None, True, 0.1, 1e-5)
    with pytest.raises(RuntimeError, match="divisible by num_groups"):
        torch.group_norm(x, 2)


HALVES = [torch.float16, torch.bfloat16]


def norms(device):
    """(a norm with parameters and statistics of float32, the shape of an input) by name."""
    made = {
        "BatchNorm1d": (torch.nn.BatchNorm1d(4), (6, 4)),
        "BatchNorm1d, known": (torch.nn.BatchNorm1d(4).eval(), (6, 4)),
        "LayerNorm": (torch.nn.LayerNorm(5), (3, 5)),
        "GroupNorm": (torch.nn.GroupNorm(2, 4), (3, 4, 5)),
        "InstanceNorm1d": (torch.nn.InstanceNorm1d(4, affine=True), (2, 4, 5)),
        "InstanceNorm1d, known": (torch.nn.InstanceNorm1d(4, True, 0.1, True, True).eval(),
                                  (2, 4, 5)),
    }  # fmt: skip
    return {name: (module.to(device), shape) for name, (module, shape) in made.items()}


@pytest.mark.parametrize("dtype", HALVES, ids=lambda d: d.name)
@pytest.mark.parametrize("name", norms("cpu"))
def test_norms_of_halves_give_halves(device, name, dtype):
    norm, shape = norms(device)[name]
    x = torch.tensor(RNG.standard_normal(shape), dtype=torch.float32, device=device).to(dtype)
    wide = x.float()
    x.requires_grad_(True)
    got = norm(x)
    assert got.dtype is dtype
    np.testing.assert_allclose(got.float().tolist(), norm(wide).tolist(), rtol=1e-2, atol=1e-2)
    got.sum().backward()
    assert x.grad.dtype is dtype
    assert all(p.grad.dtype is torch.float32 for p in norm.parameters())


def test_running_statistics_of_halves_are_exact(device):
    norm = torch.nn.BatchNorm1d(1, momentum=1.0).to(device)
    norm(torch.tensor([[1.0], [1.0], [1.0009765625]], dtype=torch.float16, device=device))
    assert norm.running_mean.item() == pytest.approx(1 + 2**-10 / 3, abs=1e-7)


def test_norms_refuse_other_mixtures(device):
    x, half = torch.ones(3, 4, device=device), torch.ones(4, dtype=torch.float16, device=device)
    with pytest.raises(RuntimeError, match="expect parameter to have scalar type of Float"):
        torch.nn.functional.layer_norm(x, (4,), half)
    with pytest.raises(RuntimeError, match="expected scalar type Half but found Float"):
        torch.nn.functional.batch_norm(x.half(), x[0], x[0], half, half, training=True)


def test_norms_name_what_they_cannot_take(device):
    F, x = torch.nn.functional, torch.ones(3, 4, device=device)
    with pytest.raises(ValueError, match="eps must be positive during training, but got 0"):
        F.batch_norm(x, None, None, training=True, eps=0)
    with pytest.raises(RuntimeError, match="running_mean should contain 0 elements not 4"):
        F.batch_norm(x[0], x[0], x[0])
    with pytest.raises(TypeError, match="'normalized_shape' .* must be tuple of ints, not int"):
        F.layer_norm(x, 4)
    with pytest.raises(RuntimeError, match="Expected num groups to be greater than 0, got 0"):
        F.group_norm(x, 0)
    with pytest.raises(RuntimeError, match="to be defined when use_input_stats is false"):
        F.instance_norm(x.reshape(1, 3, 4), use_input_stats=False)


@pytest.mark.parametrize("norm", ["instance_norm", "batch_norm"])
def test_what_is_constant_is_0_where_no_eps_keeps_it_from_infinity(device, norm):
    x = torch.tensor([[[1.0, 3.0], [5.0, 5.0]]], device=device, requires_grad=True)
    weight = torch.tensor([2.0, 3.0], device=device, requires_grad=True)
    bias = torch.ones(2, device=device)
    out = getattr(torch, norm)(x, weight, bias, None, None, True, 0.1, 0.0, False)
    assert out.tolist() == [[[-1, 3], [1, 1]]]
    (out * torch.tensor([1.0, 2.0], device=device)).sum().backward()
    assert x.grad.tolist() == [[[0, 0], [0, 0]]] and weight.grad.tolist() == [1, 0]


def test_no_channels_have_no_mean(device):
    x = torch.ones(2, 0, 3, device=device, requires_grad=True)
    torch.nn.functional.instance_norm(x).sum().backward()
    assert x.grad.shape == (2, 0, 3)
