"""Autocast and the GradScaler: what is cast, what is not, and that training goes through both."""

from __future__ import annotations

import threading

import pytest

import wgtorch as torch
from wgtorch.amp import autocast_mode

HALF = {"cpu": torch.bfloat16, "webgpu": torch.float16}


def test_products_take_halves_and_sums_take_floats(device):
    x, w = torch.randn(4, 8, device=device), torch.randn(8, 3, device=device)
    image = torch.randn(1, 2, 5, 5, device=device)
    with torch.autocast(device):
        y = x @ w
        assert y.dtype is HALF[device]
        assert torch.mm(x, w).dtype is x.matmul(w[:, 0]).dtype is HALF[device]
        assert torch.addmm(w[0], x, w).dtype is HALF[device]
        assert torch.nn.functional.conv2d(image, image).dtype is HALF[device]
        assert torch.nn.Linear(8, 2).to(device)(x).dtype is HALF[device]
        assert y.softmax(-1).dtype is y.cumsum(0).dtype is torch.float32
        assert (x + 1).dtype is torch.float32 and (y * 2).dtype is HALF[device]
        with torch.autocast(device, enabled=False):
            assert (x @ w).dtype is torch.float32
        assert (x @ w).dtype is HALF[device]
    assert (x @ w).dtype is torch.float32
    assert (y.float() - x @ w).abs().max() < 0.1


def test_other_devices_and_dtypes_are_left_alone(webgpu):
    x, here = torch.ones(2, 2, device=webgpu), torch.ones(2, 2)
    with torch.autocast("cuda", dtype=torch.bfloat16):  # what older programs call it
        assert (x @ x).dtype is torch.bfloat16
        assert (here @ here).dtype is torch.float32
        ints = torch.ones(2, 2, dtype=torch.int64, device=webgpu)
        assert (ints @ ints).dtype is torch.int64
    with torch.autocast("cpu"):
        double = here.double()
        assert (double @ double).dtype is torch.float64


def test_gradients_are_those_of_the_parameters(device):
    w = torch.randn(8, 3, device=device, requires_grad=True)
    x = torch.randn(4, 8, device=device)
    with torch.autocast(device):
        loss = (x @ w).softmax(-1)[:, 0].sum()
    loss.backward()
    got, w.grad = w.grad, None
    (x @ w).softmax(-1)[:, 0].sum().backward()
    assert got.dtype is torch.float32
    assert (got - w.grad).abs().max() < 0.05


def test_a_parameter_is_cast_once_until_it_changes(device):
    w = torch.ones(2, 2, device=device, requires_grad=True)
    x = torch.ones(2, 2, device=device)
    with torch.autocast(device):
        x @ w
        cached = autocast_mode.state.cache[id(w)][2]
        x @ w
        assert autocast_mode.state.cache[id(w)][2] is cached
        with torch.no_grad():
            w.mul_(3)
        assert (x @ w).tolist() == [[6, 6], [6, 6]]
    assert not autocast_mode.state.cache
    with torch.autocast(device, cache_enabled=False):
        x @ w
        assert not autocast_mode.state.cache and not torch.is_autocast_cache_enabled()
    assert torch.is_autocast_cache_enabled()


def test_state_is_this_threads(device):
    seen = []
    x = torch.ones(2, 2, device=device)
    with torch.autocast(device):
        assert torch.is_autocast_enabled(device)
        other = threading.Thread(
            target=lambda: seen.append((torch.is_autocast_enabled(device), (x @ x).dtype))
        )
        other.start()
        other.join()
    assert seen == [(False, torch.float32)]
    assert not torch.is_autocast_enabled(device) and autocast_mode.Count.active == 0


def test_as_a_decorator_and_after_an_error():
    @torch.autocast("cpu")
    def product(x):
        return x @ x

    assert product(torch.ones(2, 2)).dtype is torch.bfloat16
    with pytest.raises(RuntimeError), torch.autocast("cpu"):
        torch.ones(2, 3) @ torch.ones(2, 3)
    assert not torch.is_autocast_cpu_enabled() and torch.autocast_increment_nesting() == 1
    assert torch.autocast_decrement_nesting() == 0


def test_what_is_refused():
    with pytest.warns(UserWarning, match="target dtype is not supported. Disabling autocast"):
        off = torch.autocast("cpu", dtype=torch.float32)
    with off:
        assert not torch.is_autocast_cpu_enabled()
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'meta'"):
        torch.autocast("meta")
    with pytest.raises(ValueError, match="of type `str`, got: `int`"):
        torch.autocast(3)
    assert torch.amp.is_autocast_available("cpu") and not torch.amp.is_autocast_available("meta")


def test_switched_by_hand():
    torch.set_autocast_enabled("cpu", True)
    torch.set_autocast_dtype("cpu", torch.float16)
    try:
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float16
    finally:
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", torch.bfloat16)
    assert autocast_mode.Count.active == 0


# The scaler


def test_the_scaler_divides_again_and_skips_what_overflowed(device):
    w = torch.tensor([2.0], device=device, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=1.0)
    scaler = torch.amp.GradScaler(device, init_scale=8.0, growth_interval=2)

    def step(factor: float) -> float:
        optimizer.zero_grad()
        scaler.scale((w * factor).sum()).backward()
        assert scaler.get_scale() * factor == w.grad.item() or factor != factor
        scaler.step(optimizer)
        scaler.update()
        return w.item()

    assert step(0.5) == 1.5 and scaler.get_scale() == 8
    assert step(0.5) == 1.0 and scaler.get_scale() == 16
    assert step(float("inf")) == 1.0 and scaler.get_scale() == 8
    assert step(0.0) == 1.0
    scaler.set_growth_interval(1)  # fewer than there were
    scaler.set_growth_factor(4.0)
    scaler.set_backoff_factor(0.25)
    assert step(0.0) == 1.0 and scaler.get_scale() == 32
    assert step(float("inf")) == 1.0 and scaler.get_scale() == 8
    changed = scaler.get_growth_interval(), scaler.get_growth_factor(), scaler.get_backoff_factor()
    assert changed == (1, 4, 0.25)
    again = torch.amp.GradScaler()
    again.load_state_dict(scaler.state_dict())
    assert again.get_scale() == 8


def test_the_scalers_order_is_checked():
    w = torch.ones(1, requires_grad=True)
    optimizer, scaler = torch.optim.SGD([w], lr=1.0), torch.amp.GradScaler()
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()
    scaler.scale(w.sum()).backward()
    scaler.unscale_(optimizer)
    assert w.grad.item() == 1
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already been called since the last update"):
        scaler.step(optimizer)  # its gradients would be taken for unscaled ones
    with pytest.raises(RuntimeError, match="called after step"):
        scaler.unscale_(optimizer)
    half = torch.ones(1, dtype=torch.float16, requires_grad=True)
    half.sum().backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.unscale_(torch.optim.SGD([half], lr=1.0))
    off = torch.amp.GradScaler(enabled=False)
    assert off.scale(w) is w and off.get_scale() == 1 and off.state_dict() == {}
    off.step(optimizer)
    off.update()
    assert w.item() == -1


def test_prelu_takes_halves_beside_its_own_floats():
    with torch.autocast("cpu"):
        out = torch.nn.PReLU()(torch.tensor([-1.0, 2.0]).bfloat16())
    assert out.dtype is torch.bfloat16 and out.tolist() == [-0.25, 2.0]


def test_the_older_names(webgpu):
    with pytest.warns(FutureWarning, match="torch.cuda.amp.autocast"):
        region = torch.cuda.amp.autocast()
    with region:
        product = torch.ones(2, 2, device=webgpu) @ torch.ones(2, 2, device=webgpu)
    assert product.dtype is torch.float16 and product.tolist() == [[2, 2], [2, 2]]
    with pytest.warns(FutureWarning, match=r"Please use `torch.amp.GradScaler\('webgpu', args"):
        scaler = torch.cuda.amp.GradScaler(8.0, growth_interval=1)
    assert scaler.get_scale() == 8 and scaler.get_growth_interval() == 1

    class Double(torch.autograd.Function):
        @staticmethod
        @torch.cuda.amp.custom_fwd(cast_inputs=torch.float32)
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @torch.cuda.amp.custom_bwd
        def backward(ctx, grad):
            return grad * 2

    x = torch.ones(2, device=webgpu, dtype=torch.float16, requires_grad=True)
    with torch.autocast(webgpu):
        out = Double.apply(x)
    out.sum().backward()
    assert out.dtype is torch.float32 and x.grad.tolist() == [2, 2]
