"""gradcheck and gradgradcheck, which check gradients, are checked."""

import pytest
from recorder import graph, ramp, same

import wgtorch as torch
from wgtorch.autograd import GradcheckError, gradcheck, gradgradcheck


@pytest.fixture
def x():
    return torch.tensor([0.31, -0.74, 1.13], dtype=torch.float64, requires_grad=True)


def wrong(factor):
    """A cube whose gradient is off by a factor."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t)
            return t * t * t

        @staticmethod
        def backward(ctx, grad):
            (t,) = ctx.saved_tensors
            return grad * t * t * (3.0 * factor)

    return Cube.apply


def test_right_and_wrong_gradients(x):
    assert gradcheck(wrong(1.0), x) is True
    assert gradgradcheck(wrong(1.0), x) is True
    assert gradcheck(wrong(1.01), x, raise_exception=False) is False
    with pytest.raises(GradcheckError, match="(?s)Jacobian mismatch for output 0 with respect to "
                                             "input 0,.numerical:.*analytical:"):  # fmt: skip
        gradcheck(wrong(1.01), x)
    assert issubclass(GradcheckError, RuntimeError)


def test_several_inputs_and_outputs(x):
    y = torch.tensor([[2.0], [0.5]], dtype=torch.float64, requires_grad=True)
    c = torch.tensor(3.0, dtype=torch.float64)

    def f(a, b, c):
        return a * b * c, (a + b).exp().sum()

    assert gradcheck(f, (x, y, c)) and gradgradcheck(f, (x, y, c))
    assert x.detach().tolist() == [0.31, -0.74, 1.13] and x.grad is None


def test_what_it_warns_of_and_refuses(x):
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(torch.exp, x.detach())
    with pytest.warns(UserWarning, match="not a double precision floating point"):
        gradcheck(torch.exp, x.detach().float().requires_grad_(True), eps=1e-2, atol=1e-2)


def test_on_the_gpu_it_is_looser_by_itself(webgpu):
    v = ramp((5,), webgpu, grad=True, lo=0.5)
    with pytest.warns(UserWarning, match=r"not a double.* On webgpu eps, atol and rtol are 1e-2"):
        assert gradcheck(lambda t: t.exp() * t, v)
    assert gradcheck(lambda t: t.exp() * t, v, eps=1e-2, atol=1e-2, rtol=1e-2)  # without a word
    assert gradcheck(wrong(1.2), v, raise_exception=False) is False


def test_a_device_is_compared_with_the_cpu(device):
    layer = torch.nn.Linear(6, 5).to(device)
    x = ramp((4, 6), device, grad=True)

    def run(x, weight, bias, count):
        return torch.func.functional_call(
            layer, {"weight": weight, "bias": bias}, (x * count,)
        ).tanh()

    given = [x, layer.weight, layer.bias, 3]
    assert torch.autograd.compare_with_cpu(run, given)
    with graph.compress("float16", check="off"), graph.save_on_cpu():
        assert torch.autograd.compare_with_cpu(run, given)
    assert x.grad is None and layer.weight.grad is None

    lossy = graph.saved_tensors_hooks(lambda t: t.detach() * (t.dtype is not torch.float32), same)
    with lossy, pytest.raises(torch.autograd.GradcheckError, match="input 0: element") as found:
        torch.autograd.compare_with_cpu(run, given)
    assert not found.value.result and str(x.device) in str(found.value)
    with lossy:
        assert torch.autograd.compare_with_cpu(run, given, raise_exception=False) is False
    with pytest.raises(ValueError, match="at least one"):
        torch.autograd.compare_with_cpu(torch.exp, x.detach())


def test_gradcheck_accepts_exact_hooks_and_rejects_lossy_ones(x):
    def f(t):
        return t.exp() * t

    with graph.save_on_cpu():
        assert gradcheck(f, (x,))
        assert gradgradcheck(f, (x,))
    with graph.saved_tensors_hooks(lambda t: (t.detach() * 16).round() / 16, same):
        assert gradcheck(f, (x,), raise_exception=False) is False
        with pytest.raises(RuntimeError, match="Jacobian mismatch"):
            gradcheck(f, (x,))
