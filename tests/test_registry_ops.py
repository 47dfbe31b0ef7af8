"""Ops that users add: of one or two operands, and shaders of theirs."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import wgtorch as torch
from wgtorch import errors, registry
from wgtorch.backend import backend
from wgtorch.op import REGISTRY
from wgtorch.registry import UnaryOpConfig

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def on(device):
    return torch.tensor(X, device=device)


def test_unary_and_binary_ops(device):
    unary = registry.register_unary_op(
        UnaryOpConfig(
            name="cube",
            cpu=lambda input: input**3,
            wgsl="input * input * input",
            backward={"input": lambda grad, input: 3 * grad * input * input},
        )
    )
    x = on(device).requires_grad_()
    np.testing.assert_allclose(torch.cube(x).detach().cpu().numpy(), X**3, rtol=1e-5, atol=1e-6)
    (x.cube() + 1).sum().backward()
    np.testing.assert_allclose(x.grad.cpu().numpy(), 3 * X * X, rtol=1e-5, atol=1e-6)
    for cubed in (torch.cube_(x.detach().clone()), x.detach().clone().cube_()):
        assert cubed.allclose(x.detach() ** 3, atol=1e-5)
    assert "cube" in registry.UNARY_OP_NAMES and registry.is_unary_op("cube")
    assert registry.get_op_info("cube").kind is registry.OpKind.UNARY
    with pytest.raises(errors.FunctionAlreadyRegisteredError):
        registry.register_unary_op("cube", lambda input: input, "input")
    unary.unregister()
    names = ("cube", "cube_")
    assert not any([hasattr(torch, n) or hasattr(x, n) for n in names])
    assert "cube" not in registry.list_ops()
    binary = registry.register_binary_op(
        "hypotenuse",
        lambda input, other: np.sqrt(input * input + other * other),
        "sqrt(input * input + other * other)",
        result="float",
    )
    with binary:
        got = binary(on(device), on(device)[0])
        np.testing.assert_allclose(got.cpu().numpy(), np.hypot(X, X[0]), rtol=1e-5)
        assert torch.hypotenuse(torch.tensor([3]), 4).tolist() == [5.0]
    with pytest.raises(errors.InvalidConfigError, match="takes 1 tensors"):
        registry.register_binary_op("alone", lambda input: input, "input")


OWED = "Trying to backward through {} but no autograd formula .* use register_autograd .* backward="


def test_backward_through_an_op_without_formulas_is_an_error(device):
    w = on(device).requires_grad_()
    source = (
        "fn value_at(i: u32) -> result_type { return result_type(2) * result_type(input_nth(i)); }"
    )

    @registry.shader(source)
    def doubled(input):
        return 2 * input

    @registry.shader(source, dtype=lambda input: torch.int32)
    def counted(input):
        return np.asarray(2 * input, np.int32)

    unary = registry.register_unary_op("dbl", lambda input: 2 * input, "input + input")
    asked = registry.register_unary_op("low", lambda input: input < 0, "input < 0", result="bool")
    with doubled, counted, unary, asked:
        for op in (doubled, unary):
            with pytest.raises(RuntimeError, match=OWED.format(op.name)):
                (w + op(w)).sum().backward()
            assert not op(w.detach()).requires_grad
        assert not counted(w).requires_grad and not asked(w).requires_grad
        with registry.register_autograd("dbl", {"input": lambda grad: 2 * grad}):
            w.grad = None
            (w + torch.dbl(w)).sum().backward()
            assert w.grad.unique().tolist() == [3.0]
        with pytest.raises(RuntimeError, match="through dbl"):
            w.dbl().sum().backward()


def test_of_several_results_all_floats_owe_a_gradient(webgpu):
    @registry.shader("""// Halves and counts.
// launch: numel

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < launch.numel) {
        set_half(id.x, 0.5 * input_nth(id.x));
        set_count(id.x, i32(id.x));
        set_twice(id.x, 2.0 * input_nth(id.x));
    }
}""", shape=lambda input: (input,) * 3, outputs=("half", "count", "twice"),
        dtype=lambda input: (input, torch.int32, input), dispatch=(1, 1, 1))  # fmt: skip
    def three(input):
        return input / 2, np.arange(input.size, dtype=np.int32).reshape(input.shape), input * 2

    with three:
        outs = three(on(webgpu).requires_grad_())
        assert [out.requires_grad for out in outs] == [True, False, True]
        with pytest.raises(RuntimeError, match="through three"):
            outs[2].sum().backward()


def test_a_declaration_that_runs_again_says_override():
    def declared(factor, **more):
        @registry.shader("fn value_at(i: u32) -> result_type { return input_nth(i); }", **more)
        def scaled(input):
            return factor * input

        return scaled

    first = declared(2)
    with pytest.raises(
        errors.FunctionAlreadyRegisteredError, match=r"unregister\(\).*override=True"
    ):
        declared(3)
    second = declared(3, override=True)
    assert not first.active and torch.scaled(torch.ones(1)).item() == 3
    first.unregister()
    with registry.register_unary_op("scaled", lambda input: 4 * input, "4 * input", override=True):
        assert not second.active and torch.ones(1).scaled().item() == 4
    assert not hasattr(torch, "scaled")
    with pytest.raises(errors.FunctionAlreadyRegisteredError, match="choose another name$"):
        registry.register_unary_op("exp", lambda input: input, "input", override=True)


SWISH = "fn value_at(i: u32) -> result_type { let x = input_nth(i); return x / (1.0 + exp(-x)); }"


def swish_op():
    def slope(grad, input):
        s = input.sigmoid()
        return grad * (s + input * s * (1 - s))

    @registry.shader(SWISH, backward={"input": slope})
    def swish(input):
        "x * sigmoid(x)"
        return input / (1 + np.exp(-input))

    return swish


def test_a_shader_as_an_op(device):
    with swish_op() as swish:
        x = on(device).requires_grad_()
        out = swish(x)
        np.testing.assert_allclose(out.detach().cpu().numpy(), X / (1 + np.exp(-X)), rtol=1e-5)
        out.sum().backward()
        z = on(device).requires_grad_()
        torch.nn.functional.silu(z).sum().backward()
        np.testing.assert_allclose(x.grad.cpu().numpy(), z.grad.cpu().numpy(), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(x.T.swish().detach().cpu().numpy().T, out.detach().cpu().numpy(),
                                   rtol=1e-6)  # fmt: skip
    assert not hasattr(torch, "swish")


def test_numbers_that_an_op_is_not_meant_for_are_refused_on_both_devices(device):
    def swish(input):
        return input / (1 + np.exp(-input))

    def sloped(input):
        return swish(input)

    wide = SWISH.replace("input_nth(i)", "result_type(input_nth(i))")
    unary = registry.register_unary_op("sw", swish, "input / (1 + exp(-input))")
    floats = registry.register_unary_op("fl", swish, "input / (1 + exp(-input))", result="float")
    typed = registry.shader(wide, dtype=lambda input: torch.float32)(sloped)
    whole = torch.arange(3, dtype=torch.int32, device=device)
    with registry.shader(SWISH)(swish) as op, unary, floats, typed:
        for refusing, remedy in ((op, "dtype=lambda input"), (unary, 'result="float"')):
            with pytest.raises(TypeError, match=rf"makes floats of torch.int32.*{remedy}"):
                refusing(whole)
            with pytest.raises(TypeError, match=r"its function takes no torch.bool"):
                refusing(whole > 1)
            if device != "cpu":
                with pytest.raises(TypeError, match="float64"):
                    refusing(torch.arange(3.0, dtype=torch.float64, device=device))
        for taking in (typed, floats):
            np.testing.assert_allclose(taking(whole).cpu(), swish(np.arange(3.0)), rtol=1e-5)


def test_a_shader_that_narrows_takes_float64(webgpu):
    if not backend(torch.device(webgpu)).gpu.traits.f64:
        pytest.skip("no float64")
    source = SWISH.replace("input_nth(i)", "f32(input_nth(i))").replace("x /", "result_type(x) /")
    source = source.replace("(1.0 +", "result_type(1.0 +")

    @registry.shader(source)
    def narrowed(input):
        return input / (1 + np.exp(-input))

    x = torch.arange(3.0, dtype=torch.float64, device=webgpu)
    with narrowed:
        np.testing.assert_allclose(narrowed(x).cpu(), narrowed(x.cpu()), rtol=1e-6)


def written_over(input):
    input *= 2
    return input


@pytest.mark.parametrize(("function", "complaint"), [
    (lambda input: input[:1], r"float32 of shape \[1, 4\], but an array of floats of shape"),
    (lambda input: input * 1j, "complex64 of shape"), (lambda input: None, "returned None, but"),
    (lambda input: input.astype(object), "returned array"), (written_over, "read-only"),
])  # fmt: skip
def test_what_a_function_of_numpy_answers_is_checked(device, function, complaint):
    source = "fn value_at(i: u32) -> result_type { return input_nth(i); }"

    def strange(input):
        return function(input)

    x, home = on(device), on("cpu")
    with (
        registry.register_unary_op("odd", function, "input") as unary,
        registry.shader(source)(strange) as shader,
        registry.register_forward("exp", device, function),
    ):
        for call in (lambda: unary(home), lambda: shader(home), lambda: x.exp()):
            error = ValueError if function is written_over else errors.KernelSignatureMismatchError
            with pytest.raises(error, match=complaint):
                call()
    assert x.cpu().equal(home) and home.tolist() == X.tolist()


def test_an_array_that_a_function_answers_stays_its_own():
    kept = np.empty(X.shape, np.float32)

    with registry.register_unary_op("twice", lambda input: np.add(input, input, out=kept), "input"):
        first = torch.twice(on("cpu"))
        assert torch.twice(first).equal(first * 2) and first.equal(on("cpu") * 2)
    with (
        registry.register_forward("_qr", "cpu", lambda input: (input, 1, 2)),
        pytest.raises(errors.KernelSignatureMismatchError, match="3 results, but a tuple of 2"),
    ):
        torch.linalg.qr(on("cpu"))


@pytest.mark.parametrize(("said", "error", "complaint"), [
    ({"wgsl": 5}, errors.InvalidConfigError, "wgsl= must be an expression.*not 5"),
    ({"wgsl": ""}, errors.InvalidConfigError, "wgsl= must be an expression"),
    ({"wgsl": {"flot": "input"}}, errors.InvalidConfigError, "'flot'.*Did you mean 'float'"),
    ({"result": "flt"}, errors.InvalidConfigError, "one of same, float, bool, not 'flt'"),
    ({"name": "class"}, errors.InvalidConfigError, "no name for a function"),
    ({"name": "shape"}, errors.MethodAlreadyRegisteredError, "Tensor.shape exists"),
    ({"name": "requires_grad"}, errors.MethodAlreadyRegisteredError, "Tensor.requires_grad exists"),
    ({"name": "set"}, errors.MethodAlreadyRegisteredError, "Tensor.set_ exists"),
])  # fmt: skip
def test_what_is_said_of_an_op_is_checked_when_it_is_declared(said, error, complaint):
    fields = {"name": "odd", "cpu": lambda input: input, "wgsl": "input"} | said
    with pytest.raises(error, match=complaint):
        registry.register_unary_op(config=fields.pop("name"), **fields)
    assert not hasattr(torch, "odd") and on("cpu").shape == (3, 4)


def test_dtypes_that_no_expression_is_for_are_refused(device):
    with registry.register_unary_op("odd", lambda input: input, {"float": "input"}) as odd:
        assert odd(on(device)).cpu().equal(on("cpu"))
        with pytest.raises(TypeError, match=r"no expression for torch.int32, only for float"):
            odd(on(device).int())


def test_nothing_is_left_of_an_op_that_went():
    fields = {"wgsl": "input", "backward": {"input": lambda grad: grad}}
    with registry.register_unary_op("odd", lambda input: input, **fields) as odd, swish_op() as op:
        op(odd(on("cpu").requires_grad_())).sum().backward()
        kept = [weakref.ref(REGISTRY[name]) for name in ("odd", "swish")]
    del odd, op
    gc.collect()
    assert [ref() for ref in kept] == [None, None]


BROKEN = """
// Of the square
fn value_at(i: u32) -> result_type {
    let x = input_nth(i);
    let y = x * x;
    return y + nonsense;
}"""


def test_a_shader_that_does_not_compile(webgpu):
    @registry.shader(BROKEN)
    def broken(input):
        "Does not compile"
        return input

    with broken, pytest.raises(RuntimeError) as told:
        broken(on(webgpu))
    assert str(told.value).splitlines() == [
        "broken does not compile: no definition in scope for identifier: `nonsense`",
        "   4     let x = input_nth(i);",
        "   5     let y = x * x;",
        "   6     return y + nonsense;",
        "                    ^^^^^^^^ unknown identifier",
        "   7 }",
        "  declared for it: input_nth(i: u32)",
        "  WGTORCH_DEBUG=4 shows the whole kernel",
    ]
    assert on(webgpu).sum().isfinite()

    @registry.shader(BROKEN.replace("y + nonsense", "vec2(x, y)"))
    def of_two(input):
        "Two numbers are no number"
        return input

    with of_two, pytest.raises(RuntimeError, match=r"declared return type(.|\n)*\^{10}"):
        of_two(on(webgpu))

    def vague(input):
        "No kernel"

    with pytest.raises(errors.InvalidConfigError, match="neither `fn value_at"):
        registry.shader("fn other() {}")(vague)


def test_vmap_runs_a_pointwise_shader_on_the_batch(device, recwarn):
    source = "fn value_at(i: u32) -> result_type {{ return {} * other_nth(i); }}"
    calls = []

    def product(input, other):
        calls.append(input.shape)
        return input * other

    def beside(input, other):
        return np.roll(input.reshape(-1), -1).reshape(input.shape) * other

    with registry.shader(source.format("input_nth(i)"))(product) as by_element:
        both = torch.vmap(lambda x, y: by_element(x, y), (1, None))(on(device), on(device)[:, :1])
        np.testing.assert_allclose(both.cpu().numpy(), (X.T[:, None] * X[:, :1]), rtol=1e-6)
        assert device != "cpu" or len(calls) == 1
    assert not [w for w in recwarn if "performance drop" in str(w.message)]
    with registry.shader(source.format("input_nth((i + 1u) % 4u)"))(beside) as by_row:
        rows = torch.vmap(lambda x: by_row(x, x))(on(device))
        np.testing.assert_allclose(rows.cpu().numpy(), np.roll(X, -1, 1) * X, rtol=1e-6)
    assert [w for w in recwarn if "performance drop" in str(w.message)]


def test_a_shader_with_groups_and_attributes(webgpu):
    source = """// Mirrors rows.
// launch: width numel

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= launch.numel) { return; }
    let row = id.x / launch.width;
    set_result(id.x, input_nth(row * launch.width + launch.width - 1u - id.x % launch.width));
}"""

    @registry.shader(source, shape=lambda input, width: input,
                     dispatch=lambda facts: (-(-facts.out.numel // 64), 1, 1))  # fmt: skip
    def mirrored(input, width: int):
        "Rows from right to left"
        return input[:, ::-1]

    with mirrored:
        np.testing.assert_array_equal(mirrored(on(webgpu), 4).cpu().numpy(), X[:, ::-1])
        np.testing.assert_array_equal(mirrored(on("cpu"), 4).numpy(), X[:, ::-1])


@pytest.mark.parametrize("made", [lambda x: x.sum(), lambda x: x[:1], lambda x: None])
def test_the_function_of_a_shader_has_to_return_what_the_shader_does(made):
    @registry.shader("fn value_at(i: u32) -> result_type { return input_nth(i); }")
    def strange(input):
        "Another shape than the result's"
        return made(input)

    with strange, pytest.raises(errors.KernelSignatureMismatchError, match=r"strange: .* is due"):
        strange(on("cpu"))


def test_an_expression_that_does_not_compile(webgpu):
    """Of the fused kernel that it stands in only its own function is shown."""
    with (
        registry.register_unary_op("broken", lambda input: input, "input * nonsense"),
        pytest.raises(RuntimeError) as told,
    ):
        (torch.broken(on(webgpu).exp() * 2) + 1).tolist()
    assert str(told.value).splitlines() == [
        "broken does not compile: no definition in scope for identifier: `nonsense`",
        "   1 fn broken_float32(input: f32) -> f32 { return input * nonsense; }",
        "                                                           ^^^^^^^^ unknown identifier",
        "  WGTORCH_DEBUG=4 shows the whole kernel",
    ]
