"""What backward makes of what unpack returns, in which order, and under whose pair."""

import numpy as np
import pytest
from recorder import N, Recorder, T, close, graph, ramp, same

import wgtorch as torch


@pytest.mark.parametrize("bad", [None, 3.5, "file.bin", np.ones(2, np.float32)])
def test_unpack_must_return_a_tensor(device, bad):
    x = T([1.0, 2.0], device, grad=True)
    with graph.saved_tensors_hooks(lambda t: 0, lambda _: bad):
        y = x.exp().sum()
    with pytest.raises(TypeError, match=f"(?s)Tensor.*{type(bad).__name__}"):
        y.backward()
    assert x.grad is None


def test_value_given_by_unpack_is_what_backward_uses(device):
    x = T([1.0, 2.0], device, grad=True)
    with graph.saved_tensors_hooks(lambda t: t.detach() * 2, same):
        y = x.exp()
        z = x * x
    (g1,) = torch.autograd.grad(y.sum(), x)
    (g2,) = torch.autograd.grad(z.sum(), x)
    close(g1, 2 * np.exp([1.0, 2.0]))
    close(g2, [4.0, 8.0])


def test_each_saved_tensor_keeps_its_own_pair(device):
    x = T([1.0, 2.0], device, grad=True)
    log = []

    def pair(name, factor):
        return graph.saved_tensors_hooks(
            lambda t: t.detach() * factor, lambda t: (log.append(name), t / factor)[1]
        )

    with pair("p", 2.0):
        y = x.sin()
    z = y.exp()
    with pair("q", 4.0):
        w = z.sin()
    with pair("ambient", 100.0):
        w.sum().backward()
    assert log == ["q", "p"]
    xs = np.array([1.0, 2.0])
    close(x.grad, np.cos(np.exp(np.sin(xs))) * np.exp(np.sin(xs)) * np.cos(xs), rtol=1e-4)


def test_unpack_must_give_back_the_shape_and_the_device(device):
    x = ramp((2, 3), device, grad=True)
    with graph.saved_tensors_hooks(same, lambda t: t[:1]):
        y = x.exp()
    with pytest.raises(
        RuntimeError, match=r"shape \[1, 3\] for ExpBackward0's saved 'result'.*\[2"
    ):
        y.sum().backward()
    with graph.saved_tensors_hooks(same, lambda t: torch.zeros((2, 3), device="meta")):
        y = x.exp()
    with pytest.raises(RuntimeError, match="on meta for ExpBackward0's saved 'result'"):
        y.sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.int32])
def test_another_dtype_is_cast_back(device, dtype):
    x = T([1.0, 2.0], device, grad=True)
    with graph.saved_tensors_hooks(lambda t: t.to(dtype), same):
        y = x * x
    y.sum().backward()
    assert x.grad.dtype is torch.float32
    close(x.grad, [2.0, 4.0])


def test_each_backward_unpacks_again(device):
    x = T([1.0, 2.0], device, grad=True)
    r = Recorder()
    with r.hooks():
        y = x.exp().sum()
    for _ in range(3):
        torch.autograd.grad(y, x, retain_graph=True)
    assert r.unpacked == [0, 0, 0] and len(r.packed) == 1


def test_a_chain_unpacks_in_reverse(device):
    x = T([0.5, 0.25], device, grad=True)
    r = Recorder()
    with r.hooks():
        y = x.exp().tanh().sigmoid().exp().sum()
    y.backward()
    assert r.unpacked == [3, 2, 1, 0]
    assert r.live_at_unpack == [4, 3, 2, 1] and len(r.live) == 0


def test_the_past_is_attached_again_whatever_unpack_returns(device):
    x = T([1.0, 2.0], device, grad=True)
    stray = T([9.0], device, grad=True)
    with graph.saved_tensors_hooks(N, lambda array: T(array.tolist(), device) + stray * 0.0):
        y = (x * x * x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x)
    close(gg, [6.0, 12.0])
    assert stray.grad is None


@pytest.mark.parametrize(
    ("during_grad", "during_second", "want"),
    [
        (False, False, 2.0),
        (True, False, 4.0),
        (True, True, 8.0),
    ],
)
def test_double_backward_packs_with_the_pair_of_its_time(device, during_grad, during_second, want):
    """d2(a**2): forward packs a doubled; what grad records packs under its own pair."""
    a = T(1.0, device, grad=True)
    double = graph.saved_tensors_hooks(lambda t: t.detach() * 2.0, same)
    with double:
        y = a * a * 0.5
    with double if during_grad else torch.enable_grad():
        (g,) = torch.autograd.grad(y, a, create_graph=True)
    close(g, 2.0)
    with double if during_second else torch.enable_grad():
        (gg,) = torch.autograd.grad(g * g * 0.25, a)
    close(gg, want * 0.5)


def test_what_unpack_returns_has_a_version_of_its_own(device):
    x = T([1.0, 2.0], device, grad=True)

    def unpack(t):
        t.mul_(2.0)
        return t

    with graph.saved_tensors_hooks(lambda t: t.detach().clone(), unpack):
        y = x.exp()
    version = y._version
    y.sum().backward()
    assert y._version == version
    close(x.grad, 2 * np.exp([1.0, 2.0]))
