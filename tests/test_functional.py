"""wgtorch.autograd.functional, and forward-mode derivatives by hand."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.autograd import forward_ad, functional
from wgtorch.func import grad, hessian, vmap

A = np.random.default_rng(2).standard_normal((2, 3)).astype(np.float32)


def close(tensor, want, rtol=1e-4):
    np.testing.assert_allclose(tensor.detach().cpu().numpy(), want, rtol=rtol, atol=1e-5)


def at(device, wants=False):
    return torch.tensor(A, device=device, requires_grad=wants)


def outer_diagonal(values):
    """(n, m) values as the (n, m, n, m) Jacobian of an elementwise function."""
    return np.diag(values.reshape(-1)).reshape(*values.shape, *values.shape)


# Jacobians and Hessians

WAYS = [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}]


@pytest.mark.parametrize("way", WAYS, ids=["rows", "all rows", "all columns"])
def test_jacobian(device, way):
    x, y = at(device), at(device) * 2
    close(functional.jacobian(torch.sin, x, **way), outer_diagonal(np.cos(A)))
    got = functional.jacobian(lambda x, y: (x * y, x.sum()), (x, y), **way)
    close(got[0][0], outer_diagonal(2 * A))
    close(got[0][1], outer_diagonal(A))
    close(got[1][0], np.ones((2, 3)))
    close(got[1][1], np.zeros((2, 3)))
    (only,) = functional.jacobian(lambda x: x.exp(), (x,), **way)
    close(only, outer_diagonal(np.exp(A)))


OUTER = [{}, {"vectorize": True},
         {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}]  # fmt: skip


@pytest.mark.parametrize("way", OUTER, ids=["rows", "all rows", "all columns"])
def test_hessian(device, way):
    x, y = at(device), at(device) * 2
    close(functional.hessian(lambda x: (x**3).sum(), x, **way), outer_diagonal(6 * A))
    got = functional.hessian(lambda x, y: (x * x * y).sum(), (x, y), **way)
    close(got[0][0], outer_diagonal(4 * A))
    close(got[0][1], outer_diagonal(2 * A))
    close(got[1][0], outer_diagonal(2 * A))
    close(got[1][1], outer_diagonal(0 * A))


# Products


def test_products(device):
    x, v = at(device), torch.tensor(A[::-1].copy(), device=device)
    w = A[::-1]
    for product in (functional.vjp, functional.jvp):
        out, got = product(lambda x: x.sin(), x, v)
        close(out, np.sin(A))
        close(got, np.cos(A) * w)
    for product in (functional.vhp, functional.hvp):
        out, got = product(lambda x: (x**3).sum(), x, v)
        close(out, (A**3).sum())
        close(got, 6 * A * w)


def test_products_of_several(device):
    x, y = at(device), at(device) * 2
    out, moved = functional.jvp(lambda x, y: (x * y, x.sum()), (x, y), (y, x))
    close(moved[0], 4 * A * A + A * A)
    close(moved[1], (2 * A).sum())
    _, back = functional.vjp(lambda x, y: x * y, (x, y), x)
    close(back[0], 2 * A * A)
    close(back[1], A * A)
    assert isinstance(out, tuple) and isinstance(back, tuple)
    number, slope = functional.vjp(lambda x: x.sum(), x)
    close(slope, np.ones((2, 3)))
    close(number, A.sum())


WRONG = [
    (lambda x: functional.vjp(torch.sin, x), RuntimeError, "The vector v can only be None if"),
    (lambda x: functional.jvp(torch.sin, x), RuntimeError, "The vector v can only be None if"),
    (lambda x: functional.vjp(torch.sin, x, x[0]), RuntimeError, "v has invalid size: should be"),
    (lambda x: functional.jvp(torch.mul, (x, x), (x, x[0])), RuntimeError, "Entry 1 in v has inv"),
    (lambda x: functional.jvp(torch.mul, (x, x), x), RuntimeError, "v is a tuple of invalid"),
    (lambda x: functional.hessian(torch.sin, x), RuntimeError,
     "The Tensor returned by the function given to hessian should contain a single element"),
    (lambda x: functional.vhp(lambda x: (x.sum(), 1), x, x), TypeError, "the value at index 1 has"),
    (lambda x: functional.hvp(lambda x: (x.sum(),), x, x), RuntimeError, "return a single Tensor"),
    (lambda x: functional.jacobian(torch.sin, [x]), TypeError, "The inputs given to jacobian must"),
    (lambda x: functional.jacobian(torch.sin, x, strategy="both"), AssertionError, "Expected stra"),
    (lambda x: functional.jacobian(torch.sin, x, strict=True, vectorize=True), RuntimeError,
     "`strict=True` and `vectorized=True` are not supported together"),
    (lambda x: functional.jacobian(torch.sin, x, True, strategy="forward-mode", vectorize=True),
     NotImplementedError, "are not supported together (yet)"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_arguments(number):
    call, kind, said = WRONG[number]
    with pytest.raises(kind) as error:
        call(torch.tensor(A))
    assert said in str(error.value)


def test_strict_refuses_what_otherwise_is_zeros():
    x = torch.tensor(A)

    def first(a, b):
        return a * 2

    assert not functional.jacobian(first, (x, x))[1].any()
    with pytest.raises(RuntimeError, match="Output 0 of .* is independent of input 1"):
        functional.jacobian(first, (x, x), strict=True)
    with pytest.raises(RuntimeError, match="is independent of input 1"):
        functional.vjp(first, (x, x), x, strict=True)
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function does not req"):
        functional.jacobian(lambda a: torch.ones(2), x, strict=True)
    with pytest.raises(RuntimeError, match="found that the jacobian of the user-provided"):
        functional.hessian(lambda a: a.sum(), x, strict=True)


def test_the_callers_tensors_are_not_touched(device):
    x = at(device, wants=True)
    y = x * 2
    got = functional.jacobian(lambda t: t.sin(), y)
    functional.hessian(lambda t: (t**3).sum(), x, vectorize=True)
    assert x.grad is None and not got.requires_grad and y.grad_fn.name() == "MulBackward0"


@pytest.mark.parametrize("vectorize", [False, True])
def test_results_lead_back_with_create_graph(device, vectorize):
    x = at(device, wants=True)
    got = functional.jacobian(lambda t: t.sin(), x, create_graph=True, vectorize=vectorize)
    got.sum().backward()
    close(x.grad, -np.sin(A))
    x.grad = None
    functional.hvp(lambda t: (t**3).sum(), x, torch.ones_like(x), create_graph=True)[
        1
    ].sum().backward()
    close(x.grad, np.full((2, 3), 6.0))


def test_under_hooks_nothing_is_left_packed(device):
    packed = []

    class Box:
        def __init__(self, tensor):
            self.tensor = tensor

    def pack(tensor):
        box = Box(tensor.clone())
        packed.append(weakref.ref(box))
        return box

    x = at(device)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda box: box.tensor):
        close(functional.jacobian(torch.sin, x, vectorize=True), outer_diagonal(np.cos(A)))
        close(functional.hessian(lambda t: (t**3).sum(), x), outer_diagonal(6 * A))
        close(vmap(grad(lambda r: (r**3).sum()))(x), 3 * A**2)
        close(hessian(lambda t: (t**3).sum())(x), outer_diagonal(6 * A))
    gc.collect()
    assert packed and not any(box() for box in packed)


def test_transforms_run_under_save_on_cpu(device):
    x = at(device, wants=True)
    with torch.autograd.graph.save_on_cpu():
        slope = grad(lambda t: (t**3).sum())(x)
        each = vmap(grad(lambda r: (r**3).sum()))(x)
    assert slope.requires_grad and each.requires_grad
    (slope.sum() + each.sum()).backward()
    close(slope, 3 * A**2)
    close(x.grad, 12 * A)


# Forward mode by hand


def test_a_dual_carries_its_tangent(device):
    x, v = at(device), torch.tensor(A[::-1].copy(), device=device)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, v)
        assert dual.shape == (2, 3) and dual.device == x.device
        out = forward_ad.unpack_dual((dual.sin() * dual).sum(1))
        close(out.primal, (np.sin(A) * A).sum(1))
        close(out.tangent, ((np.cos(A) * A + np.sin(A)) * A[::-1]).sum(1))
        assert forward_ad.unpack_dual(x).tangent is None
        assert forward_ad.unpack_dual(dual > 0).tangent is None
        assert dual.sum().item() == pytest.approx(A.sum(), rel=1e-5)
        assert "tangent=tensor(" in repr(dual)
    assert forward_ad.unpack_dual(x).tangent is None


def test_writes_carry_tangents(device):
    x = at(device)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.clone(), torch.ones_like(x))
        dual[0].mul_(3)
        plain = torch.zeros(2, 3, device=device)
        plain[:, 1] = dual[:, 2] * 2
        close(forward_ad.unpack_dual(dual).tangent, [[3, 3, 3], [1, 1, 1]])
        close(forward_ad.unpack_dual(plain).tangent, [[0, 6, 0], [0, 2, 0]])
        close(forward_ad.unpack_dual(plain).primal, [[0, 6 * A[0, 2], 0], [0, 2 * A[1, 2], 0]])


def test_backward_of_a_tangent(device):
    x = at(device, wants=True)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        tangent = forward_ad.unpack_dual(dual.sin()).tangent
    tangent.sum().backward()
    close(x.grad, -np.sin(A))


def test_levels_of_forward_mode_are_refused_where_they_make_no_sense():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="make sure to enter_dual_level\\(\\) first"):
        forward_ad.make_dual(x, x)
    with forward_ad.dual_level():
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
            forward_ad.enter_dual_level()
        with pytest.raises(RuntimeError, match="has a different size than that of the original"):
            forward_ad.make_dual(x, torch.ones(3))
        with pytest.raises(ValueError, match="to be floating point or complex"):
            forward_ad.make_dual(x.long(), x)
    with pytest.raises(RuntimeError, match="no level is currently active"):
        forward_ad.exit_dual_level()
