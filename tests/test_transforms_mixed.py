"""Transforms of tensors of several levels: in a batch, with a tangent, or of neither."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.func import grad, hessian, jacfwd, jvp, vmap
from wgtorch.nn.functional import embedding, layer_norm, linear


def close(tensor, want):
    np.testing.assert_allclose(tensor.detach().cpu().numpy(), want, rtol=1e-4, atol=1e-5)


def ones(device, *shape, **given):
    return torch.ones(shape, device=device, **given)


def test_elements_that_share_a_place_get_one_gradient_there(device):
    x = ones(device, 4, requires_grad=True)
    x.expand(3, 4).as_strided((2,), (1,), 0).sum().backward()
    assert x.grad.tolist() == [1, 1, 0, 0]
    x.grad = None
    x.as_strided((2, 2), (1, 1), 0).as_strided((3,), (1,), 0).sum().backward()
    assert x.grad.tolist() == [1, 1, 1, 0]
    x.grad = None
    vmap(lambda row: row[:2])(x.expand(3, 4)).sum().backward()
    assert x.grad.tolist() == [3, 3, 0, 0]


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x, c: torch.complex(x.expand(2), c[0]).real, [1, 1]),
        (lambda x, c: torch.linalg.solve(c, (x * x).expand(2, 1)), [[2], [2]]),
        (lambda x, c: layer_norm(torch.cat([x, -x]), (2,), c[0], eps=1.0), [0.35355, 0]),
        (lambda x, c: linear(x.sin().expand(2), c), [0.5403, 0.5403]),
    ],
)
def test_the_tangent_of_one_operand_beside_a_batch_of_another(device, f, slope):
    x, batch = ones(device, 1), torch.eye(2, device=device).expand(3, 2, 2)
    moved = vmap(lambda c: jvp(lambda x: f(x, c), (x,), (ones(device, 1),))[1])(batch)
    close(moved, [slope] * 3)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[:2].sin().sum(),
        lambda x: x[0].sin() + x.unbind()[1].sin(),
        lambda x: x.diag().diagonal()[:2].sin().sum(),
        lambda x: torch.complex(x, x * 2).real[:2].sin().sum(),
    ],
)
def test_hessians_of_hessians_of_a_part(device, f):
    x = ones(device, 3)
    close(hessian(lambda a: hessian(f)(a).sum())(x), np.diag([0.84147, 0.84147, 0]))
    both = hessian(lambda a: vmap(f)(torch.stack([a, a])).sum())(x)
    close(both, np.diag([-1.68294, -1.68294, 0]))


def test_hessians_of_complex_numbers(device):
    def length(x):
        return torch.complex(x.sin(), x).abs().sum()

    def spelled(x):
        return (x.sin() ** 2 + x**2).sqrt().sum()

    x = torch.tensor([1.0, 0.5], device=device)
    close(hessian(length)(x), hessian(spelled)(x).cpu())
    close(hessian(lambda a: hessian(length)(a).sum())(x[:1]), [[1.07565]])


def test_a_jacobian_keeps_no_graph_that_nobody_asked_for(device):
    x = ones(device, 2, 2) + torch.eye(2, device=device)
    for f in (torch.linalg.det, lambda a: a.cumprod(0), lambda a: a.logsumexp(0)):
        assert not jacfwd(f)(x).requires_grad
        assert jacfwd(f)(x.clone().requires_grad_()).requires_grad
    assert not hessian(torch.linalg.det)(x).requires_grad
    slope = grad(lambda c: jvp(lambda a: torch.complex(a, c * a).abs(), (x,), (x,))[1].sum())
    assert not slope(x[0, 0]).requires_grad


def test_detached_is_constant_for_every_transform_outside(device):
    x = torch.tensor([2.0, 3.0], device=device)

    def stopped(a):
        return a.detach() * a

    assert grad(lambda x: vmap(stopped)(x[None]).sum())(x).tolist() == [2, 3]
    assert jvp(stopped, (x,), (ones(device, 2),))[1].tolist() == [2, 3]
    assert jvp(lambda a: a.data * a, (x,), (ones(device, 2),))[1].tolist() == [2, 3]
    assert not hessian(lambda a: stopped(a).sum())(x).any()
    leaf = x.clone().requires_grad_()
    vmap(lambda a: jvp(stopped, (a,), (a,))[1])(leaf).sum().backward()
    assert leaf.grad.tolist() == [2, 3]


def test_ones_of_a_transform_that_has_ended_are_not_those_of_the_next(device):
    def slope(x):
        with torch.enable_grad():
            x = x.clone().requires_grad_()
            return torch.autograd.grad((x * x).sum(), x)[0]

    for _ in range(2):
        moved = vmap(lambda d: jvp(slope, (ones(device, 2),), (d,))[1])(torch.eye(2, device=device))
        close(moved, 2 * np.eye(2))
        close(vmap(slope)(ones(device, 3, 2)), 2 * np.ones((3, 2)))


def test_binary_cross_entropy_in_transforms(device):
    loss = torch.nn.functional.binary_cross_entropy
    x, y = torch.tensor([[0.2, 0.7], [0.3, 0.9]], device=device)
    close(hessian(lambda a: loss(a, y))(x), np.diag([4.296875, 1.473923]))
    close(vmap(loss)(torch.stack([x, y]), torch.stack([y, y])), [0.540218, 0.467974])


@pytest.mark.parametrize(
    ("dims", "want"),
    [((0, None), [[0, 0, 1]] * 2), ((None, 0), [0, 1, 1]), ((0, 0), [[0, 0, 1], [0, 1, 1]])],
)
def test_an_embedding_in_a_batch_keeps_its_padding_and_counts(device, dims, want):
    indices = torch.tensor([[0, 2, 0], [2, 1, 1]], device=device)
    rows = indices if dims[1] == 0 else indices[0]
    weights = ones(device, *[2] * (dims[0] == 0), 3, 2)

    def taken(weight, index):
        return embedding(index, weight, padding_idx=0, scale_grad_by_freq=True)

    got = grad(lambda weights: vmap(taken, dims)(weights, rows).sum())(weights)
    assert got[..., 0].tolist() == want


def test_a_tangent_written_into_what_others_differentiate(device):
    x, c = ones(device, 2), torch.tensor(3.0, device=device)

    def moved(c):
        def written(x):
            kept = c * ones(device, 3)
            kept[:2] = x * c
            return kept * kept

        return jvp(written, (x,), (x,))[1]

    assert grad(lambda c: moved(c).sum())(c).item() == 4 * 2 * 3
    assert vmap(moved)(c[None]).tolist() == [[18, 18, 0]]
    outer = grad(lambda c: jvp(lambda x: (c * ones(device, 3)).copy_(x), (c,), (c,))[0].sum())
    assert outer(c).item() == 3
