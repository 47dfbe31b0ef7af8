"""torch.linalg beside torch 2.13, on both devices: the same numbers, or the same exception."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from op_cases import plain  # noqa: E402

import wgtorch  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*has no kernel on:UserWarning")

ONE = "cholesky inv det slogdet eigh eigvalsh svdvals qr lu_factor pinv matrix_exp cond matrix_rank"
FEW = """
L.solve(x, x) ; L.solve(z, v[:2]) ; L.solve(s, z) ; L.solve(s, v) ; L.solve(t, x)
L.solve(s, v.double()) ; L.solve(s, x, left=False) ; L.svd(x).S ; L.svd(x, driver='gesvd')
L.qr(x, mode='z') ; L.qr(x, mode='r').Q ; L.matrix_power(s, -2) ; L.matrix_power(x, 2)
L.matrix_power(s, 0) ; L.matrix_power(s, 7) ; torch.logdet(-s) ; torch.logdet(z) ; torch.logdet(s)
L.norm(x, 'nuc') ; L.norm(x, 'bad') ; L.matrix_norm(x, 3) ; L.matrix_norm(v) ; L.norm(t, 2)
L.norm(t, 2, dim=(0, 1, 2)) ; L.vector_norm(v[:0], float('inf')) ; L.norm(x) ; L.norm(x, 2)
L.matrix_norm(x, 'fro', dim=(0, 0)) ; L.norm(x, -1) ; L.norm(x, float('inf')) ; L.norm(v, 3)
L.norm(t, 1, dim=(0, 2), keepdim=True) ; L.norm(t, dim=1) ; L.vector_norm(i) ; L.vector_norm(t, 0)
L.vector_norm(t, -float('inf'), dim=(0, 1)) ; L.matrix_norm(t, -2) ; L.cross(x, x + 1)
L.cross(v[:2], v[:2]) ; L.vecdot(x, x + 1) ; L.lstsq(x.t(), v).solution ; L.lstsq(x, v)
L.lstsq(x.t(), x.t(), driver='gelsd') ; L.solve_triangular(s, v, upper=True)
L.solve_triangular(s * 0, v, upper=False)
L.solve_triangular(s, x, upper=True, left=False, unitriangular=True) ; L.cond(s, 1) ; L.cond(z, 1)
L.multi_dot([v, s, v]) ; L.multi_dot([x]) ; L.multi_dot([x, x]) ; L.multi_dot([x, s, x.t()])
L.vander(v, N=2) ; L.vander(x) ; torch.vander(v) ; torch.vander(v, increasing=True)
L.tensorinv(s, ind=0) ; L.tensorinv(s, ind=1) ; torch.inverse(v) ; torch.inverse(s)
torch.cholesky_solve(x.t(), s) ; torch.cholesky_inverse(s) ; torch.triangular_solve(x.t(), s)
L.householder_product(s, v) ; L.lu(s) ; L.lu(x) ; L.lu(x.t()) ; torch.pinverse(x) ; L.inv_ex(s)
torch.lu_solve(x.t(), *L.lu_factor(s)) ; torch.lu_unpack(*L.lu_factor(s)) ; L.eigh(s, UPLO='Q')
L.cholesky(p, upper=True) ; torch.cholesky(p) ; L.eigvalsh(s, UPLO='U') ; torch.det(t) ; L.det(p)
L.matrix_rank(p, atol=1.0) ; L.pinv(p, hermitian=True) ; L.pinv(x, rtol=0.5) ; L.diagonal(t)
torch.slogdet(s) ; torch.svd(x, compute_uv=False).S ; torch.trace(p) ; L.matrix_exp(t[:, :, :2])
"""
ODD = {"rect": "x", "vec": "v", "half": "s.half()", "int": "i", "zero": "z", "batch": "zs"}


def named(library, device):
    def make(values):
        return library.tensor(values, device=device)

    s = make([[2.0, 0.5, -1.0], [0.25, 3.0, 0.5], [1.0, -0.5, 2.5]])
    z = make([[0.0, 0.0], [0.0, 0.0]])
    return {
        "torch": library, "L": library.linalg, "s": s, "z": z, "p": s @ s.t(),
        "x": make([[1.0, 0.25, 2.5], [0.5, 2.0, -0.75]]), "v": make([1.5, -2.0, 4.0]),
        "t": make(np.cos(1.7 * np.arange(12, dtype=np.float32)).reshape(2, 2, 3) * 3),
        "i": make([[1, 2], [3, 4]]), "zs": library.stack([z + library.eye(2, device=device), z]),
    }  # fmt: skip


def calls():
    yield from FEW.replace(" ; ", "\n").strip().splitlines()
    for name in ONE.split():
        for kind in ("s", "p", *ODD.values()):
            yield f"L.{name}({kind})"


def parts(value):
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("text", list(calls()))
def test_call(text, device):
    answers = []
    for library, place in ((wgtorch, device), (torch, "cpu")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answers.append(eval(text, named(library, place)))
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            answers.append(error)
    got, want = answers
    if isinstance(want, Exception):
        base = RuntimeError if isinstance(want, torch.linalg.LinAlgError) else type(want)
        assert isinstance(got, base), f"{got!r} where torch says {want!r}"
        if "not implemented for" not in str(want) and "Low precision" not in str(want):
            assert str(got).splitlines()[0] == str(want).splitlines()[0]
        return
    assert not isinstance(got, Exception), repr(got)
    for g, w in zip(parts(got), parts(want), strict=True):
        assert str(g.dtype) == str(w.dtype)
        if w.dtype.itemsize == 2:
            continue  # torch overflows there
        g, w = plain(g), w.numpy()
        if "eigh(" in text or "qr(" in text:  # signs of vectors are free
            g, w = abs(g), abs(w)
        np.testing.assert_allclose(g, w, rtol=2e-4, atol=2e-5)
