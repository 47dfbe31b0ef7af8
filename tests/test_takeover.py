"""A kernel writes into the memory of an operand that nobody needs any more, and of no other."""

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.backends.webgpu.takeover import LEAST
from wgtorch.config import MAX_FUSED
from wgtorch.device import Device

pytestmark = pytest.mark.skipif(MAX_FUSED == 1, reason="WGTORCH_EAGER computes every op at once")


@pytest.fixture
def home(webgpu):
    torch.webgpu.synchronize()
    return backend(Device(webgpu))


def filled(tensor):
    tensor.device.backend.fill(tensor.value)
    return tensor


def made(array):
    """A tensor of its own memory."""
    return filled(torch.tensor(array, device="webgpu") * 1)


def ramp(count=LEAST, dtype="f4"):
    return (np.arange(count) % 101).astype(dtype)


class Peak:
    """Bytes taken since it was made, at most."""

    def __init__(self, home):
        self.pool = home.gpu.pool
        self.before = self.pool.live.peak = self.pool.live.current

    @property
    def bytes(self) -> int:
        return self.pool.live.peak - self.before


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "uint8", "int64", "bool"])
@pytest.mark.parametrize("count", [LEAST, LEAST + 3])
def test_a_chain_needs_no_second_buffer(home, dtype, count):
    x = torch.tensor(ramp(count) % 2, device="webgpu").to(getattr(torch, dtype))
    filled(x)
    want, peak = ramp(count) % 2, Peak(home)
    for _ in range(5):
        x = x.logical_not() if dtype == "bool" else 1 - x
        want = 1 - want
        filled(x)
    assert peak.bytes == 0
    np.testing.assert_array_equal(x.float().cpu().numpy(), want)


def test_however_long_the_chain_is(home):
    x, want = made(ramp()), ramp()
    torch.webgpu.synchronize()
    peak = Peak(home)
    for _ in range(5 * MAX_FUSED):
        x = x + 1
    filled(x)
    assert peak.bytes == 0
    np.testing.assert_array_equal(x.cpu().numpy(), want + 5 * MAX_FUSED)


def test_small_tensors_are_not_worth_it(home):
    x = made(ramp(64))
    peak = Peak(home)
    x = filled(x + 1)
    assert peak.bytes == 256


def test_another_type_or_layout_takes_a_buffer(home):
    x = made(ramp())
    peak = Peak(home)
    x = filled(x.int() + 1)
    assert peak.bytes == 4 * LEAST and x[3].item() == 4
    y = made(ramp().reshape(128, -1))
    y = filled(y.t() + 1)
    np.testing.assert_array_equal(y.cpu().numpy(), ramp().reshape(128, -1).T + 1)


def test_two_results_go_where_two_operands_were(home):
    x, y = made(ramp()), made(ramp()[::-1].copy())
    peak = Peak(home)
    x = x + y
    y = x * 2
    filled(y)
    assert peak.bytes == 0  # both are alive, and stored by one kernel
    np.testing.assert_array_equal(x.cpu().numpy(), ramp() + ramp()[::-1])
    np.testing.assert_array_equal(y.cpu().numpy(), 2 * (ramp() + ramp()[::-1]))


# What must not be overwritten


def test_an_operand_that_is_held(home):
    x = made(ramp())
    y = filled(x + 1)
    z = filled(x * 2)
    np.testing.assert_array_equal(x.cpu().numpy(), ramp())
    np.testing.assert_array_equal(y.cpu().numpy(), ramp() + 1)
    np.testing.assert_array_equal(z.cpu().numpy(), ramp() * 2)


def test_an_operand_of_a_promise_that_still_waits(home):
    x = made(ramp())
    y, z = x + 1, x * 2
    del x
    filled(y)
    np.testing.assert_array_equal(z.cpu().numpy(), ramp() * 2)
    np.testing.assert_array_equal(y.cpu().numpy(), ramp() + 1)


def test_an_operand_of_a_step_that_two_promises_share(home):
    """The step is stored nowhere: the second promise computes it again."""

    def both(t):
        shared = t.exp()
        return shared + 1, shared * 2

    y, z = both(made(ramp() / 101))
    filled(y)
    np.testing.assert_allclose(z.cpu().numpy(), 2 * np.exp(ramp() / 101), rtol=1e-5)
    np.testing.assert_allclose(y.cpu().numpy(), np.exp(ramp() / 101) + 1, rtol=1e-5)


def test_an_operand_read_in_two_layouts(home):
    x = made(ramp(1 << 16).reshape(256, 256))
    want = x.cpu().numpy().copy()
    y = x + x.t()
    del x
    np.testing.assert_array_equal(y.cpu().numpy(), want + want.T)


def test_a_view_that_outlives_its_tensor(home):
    x = made(ramp())
    part = x[5:9]
    x = filled(x + 1)
    assert part.tolist() == [5, 6, 7, 8] and x[5].item() == 6


def test_what_backward_needs(home):
    x = torch.tensor(ramp() / 101, device="webgpu", requires_grad=True)
    y = x * 1
    for _ in range(3):
        y = filled(y.sin())
    y.sum().backward()
    a = ramp() / 101
    want = np.cos(a) * np.cos(np.sin(a)) * np.cos(np.sin(np.sin(a)))
    np.testing.assert_allclose(x.grad.cpu().numpy(), want, rtol=1e-4, atol=1e-5)


def test_what_is_on_its_way_to_the_host(home):
    x = made(ramp())
    there = x.to("cpu")
    x = filled(x + 1)
    x = filled(x + 1)
    np.testing.assert_array_equal(there.numpy(), ramp())
    assert x[0].item() == 2


def test_a_saved_product_operand(home):
    x = made(ramp(1 << 16).reshape(256, 256) / 101)
    product = x @ x
    want = x.cpu().numpy().copy()
    x = filled(x + 1)
    np.testing.assert_allclose(product.cpu().numpy(), want @ want, rtol=1e-4)
    np.testing.assert_allclose(x.cpu().numpy(), want + 1, rtol=1e-6)


# Where it matters


def test_a_parameter_is_updated_where_it_is(home):
    w = torch.nn.Parameter(made(ramp()).detach())
    optimizer = torch.optim.SGD([w], lr=0.5)
    for number in range(3):
        w.grad = made(np.ones(LEAST, "f4"))
        torch.webgpu.synchronize()
        block = w.value.buffer.block
        peak = Peak(home)
        optimizer.step()
        filled(w)
        assert w.value.buffer.block is block and peak.bytes == 0
        np.testing.assert_allclose(w.detach().cpu().numpy(), ramp() - 0.5 * (number + 1), rtol=1e-6)


def test_a_residual_takes_the_sum_with_a_product(home):
    x, w = made(ramp(1 << 16).reshape(256, 256) / 101), made(np.eye(256, dtype="f4") * 2)
    want = x.cpu().numpy().copy()
    a = made(want)
    torch.webgpu.synchronize()
    peak = Peak(home)
    x = (a @ w) + x
    filled(x)
    assert peak.bytes == 0
    np.testing.assert_allclose(x.cpu().numpy(), 3 * want, rtol=1e-5)
    np.testing.assert_array_equal(a.cpu().numpy(), want)
