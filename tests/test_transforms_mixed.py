"""Transforms of tensors of several levels: in a batch, with a tangent, or of neither."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.func import hessian, jacfwd, jvp, vmap
from wgtorch.nn.functional import layer_norm, linear


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
