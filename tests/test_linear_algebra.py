"""torch.linalg: factors multiply to what they came from, and gradients agree with differences."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wgtorch as torch
from wgtorch import linalg
from wgtorch.autograd import gradcheck, gradgradcheck

pytestmark = pytest.mark.filterwarnings("ignore:.*has no kernel on:UserWarning")


def matrix(*shape, device="cpu", dtype=torch.float32, lift=3.0):
    """Far from singular."""
    rng = np.random.default_rng(sum(shape))
    out = rng.standard_normal(shape)
    out += lift * np.eye(*shape[-2:])
    return torch.tensor(out, dtype=dtype, device=device)


def close(a, b, tolerance=2e-5):
    np.testing.assert_allclose(a.cpu().numpy(), b.cpu().numpy(), rtol=tolerance, atol=tolerance)


def across(x):
    return x.transpose(-2, -1)


def identity(n, device):
    return torch.eye(n, device=device)


@pytest.mark.parametrize("shape", [(4, 4), (2, 5, 3), (2, 3, 5)], ids=str)
def test_qr_and_svd(shape, device):
    a = matrix(*shape, device=device)
    q, r = linalg.qr(a)
    close(q @ r, a)
    close(across(q) @ q, identity(q.shape[-1], device).expand(*shape[:-2], -1, -1))
    assert not r.tril(-1).any()
    u, s, vh = linalg.svd(a, full_matrices=False)
    close(u * s.unsqueeze(-2) @ vh, a)
    assert (s.diff() <= 0).all()
    close(linalg.svdvals(a), s)
    whole = linalg.svd(a)
    assert whole.U.shape[-1] == shape[-2] and whole.Vh.shape[-1] == shape[-1]
    u, s, v = torch.svd(a)
    close(u @ s.diag_embed() @ across(v), a)
    complete = linalg.qr(a, mode="complete")
    close(complete.Q @ complete.R, a)
    assert linalg.qr(a, mode="r").Q.shape == (0,)


def test_symmetric(device):
    a = matrix(2, 4, 4, device=device)
    a = a @ across(a)
    lower = linalg.cholesky(a)
    close(lower @ across(lower), a, 1e-4)
    upper = linalg.cholesky(a, upper=True)
    close(across(upper), lower)
    values, vectors = linalg.eigh(a)
    close(vectors * values.unsqueeze(-2) @ across(vectors), a, 1e-4)
    close(linalg.eigvalsh(a, UPLO="U"), values, 1e-4)
    b = matrix(4, 3, device=device)
    close(a @ b.cholesky_solve(lower), b.expand(2, 4, 3), 1e-3)
    close(a @ lower.cholesky_inverse(), identity(4, device).expand(2, 4, 4), 1e-3)
    broken = a.clone()
    broken[1, 0, 0] = -1
    assert linalg.cholesky_ex(broken).info.tolist() == [0, 1]
    with pytest.raises(linalg.LinAlgError, match=r"\(Batch element 1\): The factorization"):
        linalg.cholesky(broken)


def test_lu(device):
    a = matrix(2, 4, 4, device=device, lift=0.1)
    p, lower, upper = linalg.lu(a)
    close(p @ lower @ upper, a)
    packed, pivots = linalg.lu_factor(a)
    assert pivots.dtype is torch.int32
    for got, want in zip(torch.lu_unpack(packed, pivots), (p, lower, upper), strict=True):
        close(got, want)
    b = matrix(4, 3, device=device)
    x = linalg.lu_solve(packed, pivots, b)
    close(a @ x, b.expand(2, 4, 3), 1e-4)
    close(across(a) @ linalg.lu_solve(packed, pivots, b, adjoint=True), b.expand(2, 4, 3), 1e-4)
    left = linalg.lu_solve(packed, pivots, across(b), left=False)
    close(left @ a, across(b).expand(2, 3, 4), 1e-4)
    tall = matrix(5, 3, device=device)
    p, lower, upper = linalg.lu(tall)
    close(p @ lower @ upper, tall)
    assert linalg.lu(tall[:3], pivot=False).P.shape == (0,)
    with pytest.raises(RuntimeError, match=r"U\[1,1\] is zero"):
        linalg.lu_factor(a * 0)


def test_equations(device):
    a, b = matrix(2, 3, 3, device=device), matrix(3, 2, device=device)
    close(a @ linalg.solve(a, b), b.expand(2, 3, 2), 1e-4)
    vectors = matrix(2, 3, device=device)
    close((a @ linalg.solve(a, vectors).unsqueeze(-1)).squeeze(-1), vectors, 1e-4)
    close(a @ linalg.inv(a), identity(3, device).expand(2, 3, 3), 1e-4)
    result, info = linalg.solve_ex(a, b)
    close(result, linalg.solve(a, b), 1e-4)
    assert info.tolist() == [0, 0]
    x = linalg.solve_triangular(a, b, upper=True)
    close(a.triu() @ x, b.expand(2, 3, 2), 1e-4)
    x = linalg.solve_triangular(a, across(b), upper=False, left=False)
    close(x @ a.tril(), across(b).expand(2, 2, 3), 1e-4)
    singular = torch.stack([identity(3, device), a[0] * 0])
    assert linalg.inv_ex(singular).info.tolist() == [0, 1]
    for solve in (lambda: linalg.inv(singular), lambda: linalg.solve(singular, b)):
        with pytest.raises(linalg.LinAlgError, match="Batch element 1"):
            solve()
    close(linalg.tensorinv(a.reshape(6, 3, 1)[:3], ind=1).reshape(3, 3) @ a.reshape(6, 3)[:3],
          identity(3, device), 1e-4)  # fmt: skip
    eye = torch.eye(4, device=device).reshape(2, 2, 2, 2)
    close(linalg.tensorsolve(eye * 2, b[:2]), b[:2] / 2)


@pytest.mark.parametrize("driver", ["gelsy", "gels", "gelsd", "gelss"])
def test_least_squares(driver, device):
    a, b = matrix(5, 3, device=device), matrix(5, 2, device=device)
    found = linalg.lstsq(a, b, driver=driver)
    rest = a @ found.solution - b
    assert abs(across(a) @ rest).max() < 1e-4
    if driver != "gelsy":
        close(found.residuals, rest.square().sum(0), 1e-4)
    assert (found.rank.numel() == 0) == (driver == "gels")
    assert (found.singular_values.numel() == 3) == (driver in ("gelsd", "gelss"))
    close(linalg.pinv(a) @ a, identity(3, device), 1e-4)
    flat = torch.ones(4, 3, device=device)
    assert int(linalg.matrix_rank(flat)) == 1 and int(linalg.matrix_rank(a)) == 3
    close(linalg.pinv(flat), torch.full((3, 4), 1 / 12, device=device))


def test_powers(device):
    a = matrix(2, 3, 3, device=device)
    close(linalg.matrix_power(a, 3), a @ a @ a, 1e-4)
    close(linalg.matrix_power(a, -2) @ a @ a, identity(3, device).expand(2, 3, 3), 1e-3)
    values, vectors = linalg.eigh(a + across(a))
    want = vectors * values.exp().unsqueeze(-2) @ across(vectors)
    got = linalg.matrix_exp(a + across(a))
    assert ((got - want).abs().amax() / want.abs().amax()) < 1e-5
    close(linalg.matrix_exp(a[0] * 0), identity(3, device))


def test_a_gpu_says_once_that_the_cpu_factorizes(webgpu):
    a = matrix(3, 3, device=webgpu)
    before = torch.webgpu.fallbacks().get("_inv", 0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        linalg.inv(a)
        linalg.inv(a)
    assert torch.webgpu.fallbacks()["_inv"] == before + 2
    said = [w for w in told if "inv has no kernel" in str(w.message)]
    assert [w.filename for w in said] == [__file__] * (not before)


# Gradients


def symmetric(a):
    return (a + across(a)) / 2


def definite(a):
    return a @ across(a)


CASES = {
    "cholesky": lambda a: linalg.cholesky(definite(a)),
    "cholesky_ex": lambda a: linalg.cholesky_ex(definite(a)).L,
    "upper cholesky": lambda a: linalg.cholesky(definite(a), upper=True),
    "cholesky_inverse": lambda a: a.cholesky_inverse(),
    "eigenvalues": lambda a: linalg.eigvalsh(symmetric(a)),
    "eigenvectors": lambda a: linalg.eigh(symmetric(a)).eigenvectors.square(),
    "singular values": lambda a: linalg.svd(a, full_matrices=False).S,
    "singular vectors": lambda a: projections(*linalg.svd(a, full_matrices=False)),
    "pinv": lambda a: linalg.pinv(a),
    "nuclear norm": lambda a: linalg.matrix_norm(a, "nuc"),
    "det": lambda a: linalg.det(a),
    "logdet": lambda a: torch.logdet(definite(a)),
    "lstsq": lambda a: linalg.lstsq(a, torch.ones_like(a.detach())).solution,
    "lu": lambda a: linalg.lu(a)[1] + linalg.lu(a)[2],
    "qr": lambda a: linalg.qr(a).Q @ linalg.qr(a).R.sin(),
}


def projections(u, s, vh):
    """What does not depend on the signs of singular vectors."""
    return (
        u.square().sum(-2) * s
        + (vh.square() * s.unsqueeze(-1)).sum(-1)
        + u[..., :1, :] * (vh[..., :, 0].unsqueeze(-2))
    )


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    for shape in ((3, 3), (2, 4, 4)):
        a = matrix(*shape, dtype=torch.float64).requires_grad_()
        assert gradcheck(CASES[name], (a,))
    assert gradgradcheck(CASES[name], (a[0].detach().requires_grad_(),))


@pytest.mark.parametrize("shape", [(4, 2), (2, 4)], ids=str)
def test_gradients_of_rectangles(shape):
    a = matrix(*shape, dtype=torch.float64).requires_grad_()
    for name in ("singular values", "singular vectors", "pinv", "qr", "nuclear norm"):
        assert gradcheck(CASES[name], (a,)), name


def test_gradient_of_a_singular_determinant():
    a = torch.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    linalg.det(a).backward()
    close(a.grad, torch.tensor([[4.0, -2.0], [-2.0, 1.0]]))


def test_gradients_on_a_gpu(webgpu):
    for name, function in CASES.items():
        slopes = []
        for device in ("cpu", webgpu):
            a = matrix(3, 3, device=device).requires_grad_()
            out = function(a)
            (
                out * (1 + torch.arange(out.numel(), device=device)).reshape(out.shape)
            ).sum().backward()
            slopes.append(a.grad.cpu())
        close(slopes[1], slopes[0], 1e-3)
        assert slopes[0].abs().amax() > 0, name
