"""Functions of the user's own under vmap and in forward mode."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.autograd import forward_ad
from wgtorch.func import grad, hessian, jacfwd, jacrev, jvp, vmap


class Cube(torch.autograd.Function):
    """k x^3, and 2 x; what is passed back is marked by a factor, to be told from the ops' own."""

    generate_vmap_rule = True
    MARK = 10.0

    @staticmethod
    def forward(x, k):
        return k * x**3, x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[0])
        ctx.save_for_forward(inputs[0])
        ctx.k = inputs[1]

    @staticmethod
    def backward(ctx, grad, other):
        x, _ = ctx.saved_tensors
        return Cube.MARK * (grad * 3 * x**2 * ctx.k + 2 * other), None

    @staticmethod
    def jvp(ctx, tangent, _):
        (x,) = ctx.saved_tensors
        return Cube.MARK * 3 * x**2 * ctx.k * tangent, 2 * tangent


def cube(x):
    return Cube.apply(x, 2.0)[0]


class OwnRule(torch.autograd.Function):
    """sin, which says itself how it runs on a batch."""

    seen: tuple = ()

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.cos()

    @staticmethod
    def vmap(info, in_dims, x):
        OwnRule.seen = (info.batch_size, info.randomness, in_dims)
        return OwnRule.apply(x), in_dims[0]


def close(tensor, want):
    np.testing.assert_allclose(tensor.detach().cpu().numpy(), want, rtol=1e-5)


def points(device):
    return torch.tensor([1.0, 2.0, 3.0], device=device), np.array([1.0, 2.0, 3.0])


def test_a_generated_rule_runs_the_function_on_a_batch(device):
    x, n = points(device)
    close(vmap(cube)(x), 2 * n**3)
    close(vmap(vmap(cube))(x.reshape(1, 3)), 2 * n[None] ** 3)


def test_a_generated_rule_passes_back_what_the_function_says(device):
    x, n = points(device)
    close(vmap(grad(cube))(x), 60 * n**2)
    close(grad(lambda x: vmap(cube)(x).sum())(x), 60 * n**2)
    leaf = x.clone().requires_grad_()
    vmap(cube)(leaf).sum().backward()
    close(leaf.grad, 60 * n**2)


def test_an_input_that_all_samples_share_gets_the_sum_of_their_gradients(device):
    x, n = points(device)
    w = torch.tensor(2.0, device=device)
    got = grad(lambda w: vmap(lambda a: cube(w) * a)(x).sum())(w)
    close(got, 60 * 4 * n.sum())


def test_second_derivatives_go_through_the_function_twice(device):
    x, n = points(device)
    close(vmap(grad(grad(cube)))(x), 120 * n)
    close(hessian(lambda x: cube(x).sum())(x), np.diag(120 * n))


def test_jvp_is_what_forward_mode_asks(device):
    x, n = points(device)
    value, moved = jvp(cube, (x,), (torch.ones_like(x),))
    close(value, 2 * n**3)
    close(moved, 60 * n**2)
    close(jacfwd(cube)(x), np.diag(60 * n**2))
    close(jacrev(cube)(x), np.diag(60 * n**2))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        close(forward_ad.unpack_dual(cube(dual)).tangent, 60 * n**2)


def test_a_missing_tangent_is_zeros_and_a_number_has_none():
    given = []

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, k):
            return a * b

        @staticmethod
        def jvp(ctx, a, b, k):
            given.extend([a, b, k])
            return a

    with forward_ad.dual_level():
        a = forward_ad.make_dual(torch.ones(2), torch.full((2,), 3.0))
        out = forward_ad.unpack_dual(Two.apply(a, torch.ones(2), 5))
    assert given[1].tolist() == [0, 0] and given[2] is None and out.tangent.tolist() == [3, 3]


def test_a_rule_of_its_own_is_told_what_is_a_batch(device):
    x, n = points(device)
    close(vmap(OwnRule.apply, randomness="same")(x), np.sin(n))
    assert OwnRule.seen == (3, "same", (0,))
    close(vmap(grad(OwnRule.apply))(x), np.cos(n))
    close(grad(lambda x: vmap(OwnRule.apply)(x).sum())(x), np.cos(n))


def declared(**members):
    functions = {n: staticmethod(m) if callable(m) else m for n, m in members.items()}
    return type("Made", (torch.autograd.Function,), functions)


def test_without_a_rule_vmap_names_the_remedies():
    made = declared(forward=lambda x: x * 2, setup_context=lambda ctx, i, o: None)
    with pytest.raises(RuntimeError, match="override and implement the vmap staticmethod or set"):
        vmap(made.apply)(torch.ones(3))
    with_ctx = declared(forward=lambda ctx, x: x * 2, generate_vmap_rule=True)
    with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
        vmap(with_ctx.apply)(torch.ones(3))
    both = declared(
        forward=lambda x: x, setup_context=lambda ctx, i, o: None, generate_vmap_rule=True,
        vmap=lambda info, dims, x: (x, 0),
    )  # fmt: skip
    with pytest.raises(RuntimeError, match="has both generate_vmap_rule=True and an overridden"):
        vmap(both.apply)(torch.ones(3))


def test_without_jvp_forward_mode_says_so():
    made = declared(forward=lambda ctx, x: x * 2)
    with (
        forward_ad.dual_level(),
        pytest.raises(NotImplementedError, match="implement the jvp function"),
    ):
        made.apply(forward_ad.make_dual(torch.ones(2), torch.ones(2)))


def test_what_is_saved_for_forward_goes_with_the_call():
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(output)

    gc.collect()
    gc.disable()
    try:
        out = Keeps.apply(torch.ones(3, requires_grad=True))
        seen = weakref.ref(out)
        del out
        assert seen() is None
    finally:
        gc.enable()
