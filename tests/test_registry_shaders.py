"""What users say of their shaders: wrong kinds of it are refused early, by name, with a remedy."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch
from wgtorch import errors, registry

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def on(device):
    return torch.tensor(X, device=device)


ROWS = "@compute @workgroup_size(64)\nfn main(@builtin(local_invocation_index) i: u32) {\n    " \
       "if (i < 12u) { set_result(i, input_nth(i) + 1.0); }\n}"  # fmt: skip
EACH = "fn value_at(i: u32) -> result_type { return input_nth(i); }"
TIMES = (
    "// launch: {}\n\nfn value_at(i: u32) -> result_type {{ return input_nth(i) * f32(launch.k); }}"
)


def times(input, k: float = 2.5):
    "A multiple"
    return input * k


@pytest.mark.parametrize(("source", "said", "complaint"), [
    (TIMES.format("k:f16"), {}, "each with `:i32` or `:f32` behind it"),
    (TIMES.format("k").replace("\n\n", "\n\n// x\n").replace("// launch: k", "// Of each"), {},
     "begin it with `// launch: k`, with `:f32` or `:i32` behind"),
    (TIMES.format("k"), {"numbers": 5}, "numbers= must be a function, `lambda facts: "),
    (ROWS, {}, "needs dispatch="), (ROWS, {"dispatch": 5}, "must be three numbers of workgroups"),
    (ROWS, {"dispatch": lambda: (1, 1, 1)}, r"not one of \(\)"),
    (EACH, {"backward": lambda grad: grad}, "must be a dict from inputs to functions"),
    (EACH, {"backward": {"input": 5}}, "formula of input must be a function"),
    (EACH, {"backward": {"input": lambda grd: grd}}, "asks for grd; it may ask for grad, "),
    (EACH, {"shape": (4,)}, "shape= must be a function"), (5, {}, "text is missing"),
    (EACH, {"outputs": ("a", "b")}, "outputs= needs `fn main`"),
    (ROWS, {"dispatch": (0, 1, 1)}, "numbers of workgroups from 1 to"),
    ("@group(0) @binding(0) var<storage, read_write> q: array<f32>;\n" + ROWS,
     {"dispatch": (1, 1, 1)}, "declares a binding of its own"),
])  # fmt: skip
def test_what_is_said_of_a_shader_is_checked_when_it_is_declared(source, said, complaint):
    with pytest.raises(errors.InvalidConfigError, match=f"times.*{complaint}"):
        registry.shader(source, **said)(times)
    assert not hasattr(torch, "times")


@pytest.mark.parametrize(("kind", "k", "complaint"), [
    ("", 2.5, "is u32, which cannot hold 2.5; write `k:f32`"), ("", -2, "write `k:i32`"),
    ("", 2.0, None), (":f32", 2.5, None), (":i32", -2, None), (":f32", "a", "must be a number"),
])  # fmt: skip
def test_numbers_of_a_launch_are_what_its_types_hold(webgpu, kind, k, complaint):
    with registry.shader(TIMES.format(f"k{kind}"))(times) as op:
        if complaint is None:
            np.testing.assert_allclose(op(on(webgpu), k).cpu().numpy(), X * k, rtol=1e-6)
        else:
            with pytest.raises(errors.InvalidConfigError, match=f"times: launch.k .*{complaint}"):
                op(on(webgpu), k)


def test_a_shader_with_a_main_of_its_own_needs_no_numbers(webgpu):
    with registry.shader(ROWS, dispatch=(1, 1, 1))(plus_one) as op:
        np.testing.assert_allclose(op(on(webgpu)).cpu().numpy(), X + 1, rtol=1e-6)
    wrong = registry.shader(ROWS, dispatch=lambda facts: 1, backward={"input": lambda grad: 1})
    with wrong(plus_one) as op:
        with pytest.raises(errors.InvalidConfigError, match="plus_one: dispatch= must be"):
            op(on(webgpu))
        with pytest.raises(errors.AutogradGradientMismatchError, match="must return a Tensor"):
            op(on("cpu").requires_grad_()).sum().backward()


def test_a_shape_has_sizes():
    op = registry.shader(ROWS, shape=lambda input: (-1,), dispatch=(1, 1, 1))(plus_one)
    with op, pytest.raises(errors.InvalidConfigError, match=r"a tuple of sizes.*\(-1,\)"):
        op(on("cpu"))
    with pytest.raises(errors.InvalidConfigError, match="exp: the shader declares a binding"):
        registry.register_forward("exp", "webgpu", "@group(0) @binding(9) var t: texture;" + EACH)


def plus_one(input):
    "One more"
    return input + 1


def test_a_default_that_is_a_number_makes_a_number(device):
    with registry.shader(TIMES.format("k:f32"))(times_by_default) as op:
        np.testing.assert_allclose(op(on(device)).cpu().numpy(), X * 2.5, rtol=1e-6)
        np.testing.assert_allclose(on(device).times_by_default(k=3).cpu().numpy(), X * 3, rtol=1e-6)
    wgsl, formulas = "input * k", {"input": lambda grad, k: grad * k}
    with registry.register_unary_op("scaled", times_by_default, wgsl, backward=formulas) as op:
        x = on(device).requires_grad_()
        op(x, 3).sum().backward()
        assert (x.grad == 3).all() and (op(x) == on(device) * 2.5).all()


def times_by_default(input, k=2.5):
    "A multiple"
    return input * k


def test_numbers_may_be_listed_in_several_lines(webgpu):
    source = TIMES.format("k:f32").replace("\n\n", "\n// launch: j:i32\n\n", 1)
    source = source.replace("f32(launch.k)", "launch.k * f32(launch.j)")
    with registry.shader(source, numbers=lambda facts: (2.5, -2))(times) as op:
        assert op(on(webgpu)).tolist() == (on(webgpu) * -5).tolist()


def test_constants_of_a_shader_do_not_meet_the_librarys(webgpu):
    of = "fn value_at(i: u32) -> result_type { return input_nth(i) * f32(MANY); }"
    source = f"const MANY = 4u;\n{of}"
    with registry.shader(source)(four_times) as op:
        assert op(on(webgpu)).tolist() == (on(webgpu) * 4).tolist()


def four_times(input):
    "Four times."
    return input * 4


def test_a_number_that_is_not_declared_is_told_how(webgpu):
    source = TIMES.format("j:f32").replace("launch.k", "k")
    how = r"k is read as launch\.k, .*`// launch: j:f32 k:f32` and an empty line"
    with (
        registry.shader(source, numbers=lambda facts: (1,))(times) as op,
        pytest.raises(RuntimeError, match=how),
    ):
        op(on(webgpu))
    with (
        registry.shader(EACH)(first_of_two) as op,
        pytest.raises(TypeError, match="must be Tensor, not float; .* `s=1.0` or `s: float`"),
    ):
        op(on(webgpu), 2.0)


def first_of_two(input, other):
    "The first"
    return input


def test_functions_of_dtypes_and_shapes_need_not_take_the_numbers(device):
    said = {"dtype": lambda input: torch.float32, "shape": lambda input: input}
    text = TIMES.format("k:f32").replace("input_nth(i)", "result_type(input_nth(i))")
    for given in (said, {"dtype": lambda input, k: torch.float32}):
        with registry.shader(text, **given)(times) as op:
            whole = torch.arange(4, dtype=torch.int32, device=device)
            assert op(whole).tolist() == [0, 2.5, 5, 7.5]
            assert op(whole, 3.0).tolist() == [0, 3, 6, 9]
            assert op(whole, k=-1).tolist() == [0, -1, -2, -3]
