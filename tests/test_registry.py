"""The open registries: what a user adds behaves as what the library has, and goes away again."""

from __future__ import annotations

import inspect
from contextlib import ExitStack
from dataclasses import fields

import numpy as np
import pytest

import wgtorch as torch
from wgtorch import errors, registry
from wgtorch.backend import backend
from wgtorch.registry import DispatchConfig, WebGPUKernelConfig
from wgtorch.utils.flop_counter import FlopCounterMode

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def on(device):
    return torch.tensor(X, device=device)


# Kernels


def test_a_function_of_numpy_replaces_a_kernel(device):
    x, calls = on(device), []

    def mine(input):
        calls.append(input.shape)
        return np.exp(input) + 1

    with registry.register_forward("exp", device, mine):
        np.testing.assert_allclose(x.exp().cpu().numpy(), np.exp(X) + 1, rtol=1e-6)
        np.testing.assert_allclose((x.T.exp() * 2).cpu().numpy(), (np.exp(X.T) + 1) * 2, rtol=1e-6)
        assert len(calls) == 2 and calls[1] == (4, 3)
        y = x.clone().requires_grad_()
        y.exp().sum().backward()  # gradients stay the op's: of the result
        np.testing.assert_allclose(y.grad.cpu().numpy(), np.exp(X) + 1, rtol=1e-6)
    np.testing.assert_allclose(x.exp().cpu().numpy(), np.exp(X), rtol=1e-5)


def test_the_one_that_says_most_goes_first(device):
    x = on(device)
    plain = registry.register_forward("sin", device, lambda input: input * 0 + 1)
    wide = registry.register_forward(
        "sin",
        device,
        lambda input: input * 0 + 2,
        predicate=lambda input_shape: len(input_shape) == 1,
    )
    floats = registry.register_forward(
        "sin", device, lambda input: input * 0 + 3, dtypes=[torch.float16]
    )
    try:
        assert x.sin().unique().tolist() == [1]
        assert x[0].sin().unique().tolist() == [2]
        assert x.half().sin().unique().tolist() == [3]
        with registry.register_forward("sin", device, lambda input: input * 0 + 4, override=True):
            assert x[0].sin().unique().tolist() == x.half().sin().unique().tolist() == [4]
        found = registry.find_kernel_with_predicate("sin", device, x[0])
        assert found is not None and found.info.conditional
        assert registry.find_kernel_with_predicate("cos", device, x) is None
    finally:
        for handle in (plain, wide, floats):
            handle.unregister()
            handle.unregister()
    assert not plain.active and not hasattr(backend(x.device), "find")


def test_reductions_and_structured_ops(device):
    x = on(device)
    with registry.register_forward("sum", device, lambda input, dim, keepdim: (
        np.sum(input, axis=dim, keepdims=keepdim) + 100)):  # fmt: skip
        np.testing.assert_allclose(x.sum(1).cpu().numpy(), X.sum(1) + 100, rtol=1e-6)
        np.testing.assert_allclose((x + 1).sum().item(), (X + 1).sum() + 100, rtol=1e-6)
    with registry.register_forward("mm", device, lambda input, mat2: (input @ mat2) * 2):
        np.testing.assert_allclose((x @ x.T).cpu().numpy(), X @ X.T * 2, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(
            (x @ x.T + 1).cpu().numpy(), X @ X.T * 2 + 1, rtol=1e-5, atol=1e-5
        )
    np.testing.assert_allclose((x @ x.T).cpu().numpy(), X @ X.T, rtol=1e-5, atol=1e-5)


def test_numbers_have_kernels_of_their_own(device):
    x = on(device)
    with registry.register_scalar_forward("mul", device, lambda input, other: input * other + 5):
        np.testing.assert_allclose((x * 3).cpu().numpy(), X * 3 + 5, rtol=1e-6)
        np.testing.assert_allclose((x * x).cpu().numpy(), X * X, rtol=1e-6)
        assert registry.has_scalar_kernel("mul", device)
    assert not registry.has_scalar_kernel("mul", device)


def test_shaders_as_kernels(webgpu):
    x = on(webgpu)
    source = "fn value_at(i: u32) -> result_type { return input_nth(i) * other_nth(i) + 10.0; }"
    with registry.register_forward("mul", webgpu, source):
        np.testing.assert_allclose((x * x[0]).cpu().numpy(), X * X[0] + 10, rtol=1e-6)
        np.testing.assert_allclose((x.T * x.T).cpu().numpy(), X.T * X.T + 10, rtol=1e-6)
        np.testing.assert_allclose((x * 2).cpu().numpy(), X * 2, rtol=1e-6)  # a number: the own one
    scalar = (
        "// launch: other:f32\n\n"
        "fn value_at(i: u32) -> result_type { return input_nth(i) * launch.other + 1.0; }"
    )
    with registry.register_scalar_forward("mul", webgpu, scalar):
        np.testing.assert_allclose((x * 3).cpu().numpy(), X * 3 + 1, rtol=1e-6)
    whole = WebGPUKernelConfig(
        source="""// Twice the sum of all. launch: numel
        // launch: count

        @compute @workgroup_size(1)
        fn main() {
            var sum = 0.0;
            for (var i = 0u; i < launch.count; i++) { sum += input_nth(i); }
            set_result(0u, 2.0 * sum);
        }""".replace("\n        ", "\n"),
        dispatch=DispatchConfig(groups=(1, 1, 1)),
        numbers=lambda facts: (facts.layouts[0].numel,),
        predicate=lambda dim: dim is None or dim == (0, 1),
    )
    with registry.register_forward("sum", webgpu, whole):
        np.testing.assert_allclose(x.exp().sum().item(), 2 * np.exp(X).sum(), rtol=1e-5)
        np.testing.assert_allclose(x.sum(0).cpu().numpy(), X.sum(0), rtol=1e-5, atol=1e-6)


def test_what_cannot_be_a_kernel():
    for op, error in (("expp", errors.OpNotFoundError), ("einsum", errors.OpKindMismatchError),
                      ("transpose", errors.OpKindMismatchError)):  # fmt: skip
        with pytest.raises(error):
            registry.register_forward(op, "cpu", lambda input: input)
    with pytest.raises(errors.OpNotFoundError, match="Did you mean 'exp'"):
        registry.get_op_info("expp")
    with pytest.raises(errors.KernelSignatureMismatchError, match="parameters input, other"):
        registry.register_forward("add", "cpu", lambda x, y: x)
    with pytest.raises(errors.InvalidConfigError, match="Did you mean 'webgpu'"):
        registry.register_forward("add", "webgpo", lambda input, other: input)
    with pytest.raises(errors.InvalidConfigError, match="runs on webgpu"):
        registry.register_forward("add", "cpu", "fn value_at(i: u32) -> f32 { return 0.0; }")
    with pytest.raises(errors.OpKindMismatchError, match="not elementwise"):
        registry.register_scalar_forward("mm", "cpu", lambda input, mat2: input)
    for nothing in (None, 3):
        with pytest.raises(errors.InvalidConfigError, match=f"a kernel is a function.*{nothing}"):
            registry.register_forward("exp", "cpu", nothing)
    with (
        registry.register_forward("exp", "cpu", lambda input: input[:1]),
        pytest.raises(errors.KernelSignatureMismatchError, match=r"float32 of shape \[1, 4\], but"),
    ):
        on("cpu").exp()
    assert on("cpu").exp().shape == (3, 4)


@pytest.mark.parametrize(("said", "error", "complaint"), [
    ({"priority": "a"}, errors.InvalidConfigError, "priority= must be an int, not 'a'"),
    ({"priority": float("nan")}, errors.InvalidConfigError, "priority= must be an int"),
    ({"predicate": 3}, errors.InvalidConfigError, "predicate= must be a function, not 3"),
    ({"predicate": lambda q: True}, errors.KernelSignatureMismatchError,
     "predicate of exp may have input_shape, input_dtype; this one has q"),
])  # fmt: skip
def test_when_a_kernel_is_used_is_checked_when_it_is_registered(said, error, complaint):
    with pytest.raises(error, match=complaint):
        registry.register_forward("exp", "cpu", lambda input: input * 5, **said)
    with registry.register_forward("exp", "cpu", lambda input: input * 7):
        assert on("cpu").exp().equal(on("cpu") * 7)
    assert registry.get_kernel("exp", "cpu") is None


# Gradients


def test_backward(device):
    x = on(device).requires_grad_()
    with registry.register_backward("sin", {"input": lambda grad, input: grad * 7}):
        assert registry.get_autograd("sin").origin == "user"
        assert registry.get_autograd("sin").saves == ("input",)
        x.sin().sum().backward()
        assert x.grad.unique().tolist() == [7]
    x.grad = None
    x.sin().sum().backward()
    np.testing.assert_allclose(x.grad.cpu().numpy(), np.cos(X), rtol=1e-5)
    y = on(device).requires_grad_()

    @registry.register_backward("atan2")
    def backward(grad, input, other):
        return grad * input, grad * other

    def two():
        x.grad = y.grad = None
        torch.atan2(x, y).sum().backward()
        return x.grad.cpu().numpy(), y.grad.cpu().numpy()

    got = two()
    backward.unregister()
    np.testing.assert_allclose(got, (X, X), rtol=1e-6)
    assert not np.allclose(two()[0], X)


def test_backward_of_some_dtypes_or_devices(device):
    def slope(x):
        return torch.autograd.grad(x.sin().sum(), x)[0].float().cpu().numpy()

    x = on(device).requires_grad_()
    half = on(device).half().requires_grad_()
    place = "meta" if device == "cpu" else "cpu"
    with registry.register_backward("sin", lambda grad: grad * 7, dtypes=[torch.float16]):
        assert np.unique(slope(half)) == [7]
        np.testing.assert_allclose(slope(x), np.cos(X), rtol=1e-5)
        with pytest.raises(errors.RegistrationFailedError, match="override=True"):
            registry.register_backward("sin", lambda grad: grad)
        with registry.register_backward("sin", lambda grad: grad * 3, override=True):
            assert np.unique(slope(x)) == [3]
        with registry.register_backward("sin", lambda grad: grad, device=place, override=True):
            assert np.unique(slope(half)) == [7]
    np.testing.assert_allclose(slope(x), np.cos(X), rtol=1e-5)
    assert "sin" in torch.list_ops(has_autograd=True)
    assert "argmax" in torch.list_ops(has_autograd=False)


def test_backward_that_is_wrong():
    with registry.register_backward("mul", lambda grad, input, other: (grad,)):
        x = on("cpu").requires_grad_()
        out = x * on("cpu")
        with pytest.raises(errors.AutogradGradientMismatchError, match="returned 1 gradients"):
            out.sum().backward()
    with pytest.raises(errors.InvalidConfigError, match="asks for weight"):
        registry.register_backward("mul", {"input": lambda grad, weight: grad})
    with pytest.raises(errors.InvalidConfigError, match="has no input x"):
        registry.register_backward("mul", {"x": lambda grad: grad})
    with pytest.raises(errors.OpKindMismatchError, match="autograd.Function"):
        registry.register_backward("einsum", lambda grad: grad)
    with pytest.raises(errors.AutogradNotRegisteredError):
        registry.gradients.require_autograd("argmax")


# Functions and methods


def test_functions_and_methods():
    @registry.register_function("answer")
    def answer():
        return 42

    assert torch.answer() == answer() == 42 and registry.list_functions() == ["answer"]
    with pytest.raises(errors.FunctionAlreadyRegisteredError):
        registry.register_function("answer", lambda: 0)
    answer.unregister()
    assert not hasattr(torch, "answer") and not registry.has_function("answer")
    original = torch.sum
    with registry.register_function("sum", lambda x: "mine", override=True):
        assert torch.sum(1) == "mine"
    assert torch.sum is original

    half = registry.register_method("halved", lambda self: self / 2, dtypes=[torch.float32])
    assert on("cpu").halved().allclose(on("cpu") / 2)
    with pytest.raises(
        errors.MethodDTypeNotSupportedError, match=r"knows torch.float32, not torch.int64"
    ):
        torch.tensor([1]).halved()
    with pytest.raises(errors.MethodAlreadyRegisteredError):
        registry.register_method("halved", lambda self: self)
    half.unregister()
    assert not hasattr(on("cpu"), "halved")
    for bad in ("not a name", 3):
        with pytest.raises(errors.InvalidConfigError):
            registry.register_method(bad, lambda self: self)


NAMED = {  # how it is overridden by a number, and what says which number counts
    "backward": (
        lambda n: registry.register_backward("sin", lambda grad: grad * n, override=True),
        lambda: slope_of_sin().unique().tolist(),
    ),
    "function": (
        lambda n: registry.register_function("thing", lambda: [n], override=True),
        lambda: torch.thing(),
    ),
    "method": (
        lambda n: registry.register_method("thing", lambda self: [n], override=True),
        lambda: on("cpu").thing(),
    ),
    "dtype": (
        lambda n: registry.register_dtype("thing", storage=torch.float32, encode=lambda x: x,
                                          decode=lambda data: data, itemsize=n, override=True),
        lambda: [torch.thing.itemsize],
    ),
    "forward": (
        lambda n: registry.register_forward("sin", "cpu", lambda input: input * 0 + n),
        lambda: on("cpu").sin().unique().tolist(),
    ),
}  # fmt: skip


def slope_of_sin():
    x = on("cpu").requires_grad_()
    return torch.autograd.grad(x.sin().sum(), x)[0]


@pytest.mark.parametrize("what", NAMED)
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 0, 1)], ids=str)
def test_overrides_go_in_any_order(what, order):
    register, asked = NAMED[what]
    handles = {n: register(n + 2) for n in range(3)}
    for n in order:
        assert asked() == [max(handles) + 2]
        handles.pop(n).unregister()
    if what in ("function", "method", "dtype"):
        assert not hasattr(torch, "thing") and not hasattr(on("cpu"), "thing")
        assert not torch.has_dtype("thing")
    else:
        np.testing.assert_allclose(on("cpu").sin().numpy(), np.sin(X), rtol=1e-6)
        np.testing.assert_allclose(slope_of_sin().numpy(), np.cos(X), rtol=1e-6)
        assert registry.get_autograd("sin").origin == "library"


@pytest.mark.parametrize("first", ["kernel", "counter"])
def test_what_stands_before_a_backend_goes_in_any_order(first):
    x, home = on("cpu"), backend(torch.device("cpu"))
    with ExitStack() as inner, ExitStack() as outer:
        kernel = lambda input, mat2: input @ mat2 + 1  # noqa: E731
        outer.enter_context(registry.register_forward("mm", "cpu", kernel))
        counter = inner.enter_context(FlopCounterMode(display=False))
        np.testing.assert_allclose((x @ x.T).numpy(), X @ X.T + 1, rtol=1e-5)
        (outer if first == "kernel" else inner).close()
        plus = 0 if first == "kernel" else 1
        np.testing.assert_allclose((x @ x.T).numpy(), X @ X.T + plus, rtol=1e-5, atol=1e-6)
        assert counter.get_total_flops() == 72 * (2 - plus)
    assert backend(torch.device("cpu")) is home


def test_a_function_over_an_op_outlives_it():
    op = registry.register_unary_op("thing", lambda input: input, "input")
    with registry.register_function("thing", lambda: 1, override=True):
        op.unregister()
        assert torch.thing() == 1 and not hasattr(torch, "thing_")
    assert not hasattr(torch, "thing")


def test_the_registry_shows_each_name_once_in_the_spelling_of_python():
    shown = dir(registry)
    assert {"register_kernel", "shader", "UnaryOpConfig", "BINARY_OP_NAMES"} <= set(shown)
    assert not {"registerKernel", "getDType", "answers", "kernels", "annotations"} & set(shown)
    assert registry.getDType is registry.get_dtype and shown == sorted(registry.__all__)


def test_fields_of_an_op_are_shown_and_vjp_is_another_word_for_backward():
    for register in (registry.register_unary_op, registry.register_binary_op):
        shown = inspect.signature(register).parameters.values()
        names = {p.name for p in shown}
        assert {f.name for f in fields(registry.UnaryOpConfig)} - names == {"name"}
        assert not [p for p in shown if p.kind is p.VAR_KEYWORD]
    formula = {"input": lambda grad: 5 * grad}
    with registry.register_unary_op("odd", lambda input: input, "input", vjp=formula) as odd:
        x = torch.ones(3, requires_grad=True)
        odd(x).sum().backward()
        assert (x.grad == 5).all()
    with pytest.raises(errors.InvalidConfigError, match="backward= and vjp= mean the same"):
        registry.register_unary_op("odd", len, "input", vjp=formula, backward=formula)
