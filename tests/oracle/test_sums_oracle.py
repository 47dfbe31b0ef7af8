"""Sums of products, statistics, calculus and membership, beside torch 2.13, on both devices.

The same numbers, or the same exception with the same words.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from op_cases import plain  # noqa: E402

import wgtorch  # noqa: E402

CALLS = """
torch.einsum('ij,jk', x) ; torch.einsum('ij', x, y) ; torch.einsum('i1', x)
torch.einsum('i.j', x) ; torch.einsum('ij..', x) ; torch.einsum('...ij...', x)
torch.einsum('ijk', x) ; torch.einsum('ij,jk->ijl', x, y) ; torch.einsum('ij->ii', x)
torch.einsum('ii', x) ; torch.einsum('ij,ik', x, y) ; torch.einsum('ij->i1', x)
torch.einsum('ij->i..', x) ; torch.einsum('ij->......', x) ; torch.einsum('ij->...', x)
torch.einsum('...j->j', x) ; torch.einsum('ij->>i', x) ; torch.einsum('...ijk', x)
torch.einsum(' i j , j k -> i k', x, y) ; torch.einsum('ij,jk->', x, y) ; torch.einsum('aB', x)
torch.einsum(x, [0, 1], y, [1, 2], [0, 2]) ; torch.einsum(x, [0, 1], y, [1, 2])
torch.einsum(x, [0, 60], [0]) ; torch.einsum(x, [..., 0]) ; torch.einsum(x, [0, 1], [2])
torch.einsum('bij,bjk,kl->bil', z, z.transpose(1, 2), x) ; torch.einsum('i,i,i->', v, v, v)
torch.einsum('ij,kj->ik', x, z[:1, 0]) ; torch.einsum('a...,...b->ab...', z, x[:1, :1])
torch.einsum('ij,ij->ij', x > 0, x < 1) ; torch.einsum('', v[0]) ; torch.einsum(',ij', v[0], x)
torch.tensordot(x, y) ; torch.tensordot(x, y, -1) ; torch.tensordot(x, y, 3)
torch.tensordot(x, y, ([1], [1])) ; torch.tensordot(x, y, ([1, 0], [0])) ; torch.tensordot(z, z, 3)
torch.tensordot(x, y, ([5], [0])) ; torch.tensordot(x, y, 1) ; torch.tensordot(z, y, ([2], [0]))
torch.chain_matmul(x, v) ; torch.chain_matmul(x, x) ; torch.chain_matmul(x, y, y.t(), y)
torch.trace(v) ; torch.trace(x > 0) ; torch.trace(i) ; torch.kron(i, x) ; torch.kron(x, z)
torch.cdist(v, x) ; torch.cdist(x, y) ; torch.cdist(x, x, -1.0) ; torch.cdist(x.int(), x)
torch.cdist(z, z[:1]) ; torch.cdist(x, x, compute_mode='a') ; torch.cdist(x[:, :0], x[:, :0])
torch.cdist(x, x + 1, 0.0) ; torch.cdist(z, z, 0.5) ; torch.dist(x, y) ; torch.dist(x, x + 2, 3)
torch.cov(z) ; torch.cov(x > 0) ; torch.cov(x) ; torch.cov(i) ; torch.cov(v) ; torch.cov(v[0])
torch.cov(x, fweights=v[:3]) ; torch.cov(x, fweights=w[:2]) ; torch.cov(x, fweights=-w)
torch.cov(x, fweights=w) ; torch.cov(x, aweights=w) ; torch.cov(x, aweights=w.float())
torch.cov(x, aweights=-w.float()) ; torch.cov(x, aweights=w.float() * 0) ; torch.cov(x[:, :1])
torch.cov(x, fweights=w, aweights=w.float(), correction=0) ; torch.cov(x, fweights=w[None])
torch.corrcoef(z) ; torch.corrcoef(x) ; torch.corrcoef(v) ; torch.corrcoef(v[0])
torch.quantile(x, 1.5) ; torch.quantile(x, q * 2) ; torch.quantile(i, 0.5) ; torch.quantile(x, z)
torch.quantile(v[:0], 0.5) ; torch.quantile(x, 0.5, interpolation='x') ; torch.quantile(n, q)
torch.quantile(x, q, dim=1, keepdim=True) ; torch.quantile(x, q, keepdim=True)
torch.quantile(x, q, interpolation='lower') ; torch.quantile(x, q, interpolation='higher')
torch.quantile(x, q, interpolation='nearest') ; torch.quantile(x, q, interpolation='midpoint')
torch.nanquantile(n, q) ; torch.nanquantile(n * float('nan'), 0.5) ; torch.quantile(z, q, 0)
torch.histc(i) ; torch.histc(x, 0) ; torch.histc(x, 4, 3, 1) ; torch.histc(n, 4, 0, 3)
torch.histc(v * 0 + 1, 4) ; torch.histc(v[:0], 4) ; torch.histc(x, 5) ; torch.histc(z, 3, -1, 2)
torch.histogram(x, 4) ; torch.histogram(x, 4, range=(0.0, 3.0)) ; torch.histogram(x, q)
torch.histogram(x, 4, weight=x * x) ; torch.histogram(x, 4, density=True) ; torch.histogram(i, 3)
torch.histogram(v * 0 + 1, 2) ; torch.histogram(v[:0], 2) ; torch.histogram(x, q[:1])
torch.histogram(x, x) ; torch.histogram(x, 0) ; torch.histogram(x, 3, range=(3.0, 1.0))
torch.histogram(x, 3, range=(3.0,)) ; torch.histogram(x, 3, weight=v) ; torch.histogram(n, 2)
torch.diff(x, -1) ; torch.diff(v[0]) ; torch.diff(x, 1, 1, v) ; torch.diff(x, 5)
torch.diff(x > 0) ; torch.diff(x, 0) ; torch.diff(x, 1, 1, y[:, :1]) ; torch.diff(z, 2, 0)
torch.diff(x, 1, 0, x, x) ; torch.trapezoid(v[0]) ; torch.trapezoid(x, x) ; torch.trapezoid(x, v)
torch.trapezoid(x, dx=2.0) ; torch.cumulative_trapezoid(x, dx=2) ; torch.trapezoid(x[:, :0])
torch.trapezoid(x > 0) ; torch.trapezoid(i) ; torch.trapezoid(i, i) ; torch.trapezoid(z, dim=0)
torch.trapezoid(x, v[:1]) ; torch.cumulative_trapezoid(z, v[:2], dim=1)
torch.isin(x, w) ; torch.isin(w, 2) ; torch.isin(1, w) ; torch.isin(w, w[:1], invert=True)
torch.isin(n, n) ; torch.isin(x > 0, x > 0) ; torch.isin(z.round(), torch.arange(30))
torch.isin(z.round(), torch.arange(30), invert=True) ; torch.isin(w, w[:0])
torch.ldexp(x, w) ; torch.ldexp(i, w) ; torch.ldexp(x, v[:3] / 2) ; torch.frexp(n) ; torch.frexp(i)
torch.frexp(x.half()) ; torch.nextafter(x, x + 1) ; torch.nextafter(i, i) ; torch.nextafter(n, x[0])
torch.nextafter(x.half(), -x.half()) ; torch.nextafter(x.bfloat16(), -x.bfloat16()) ; torch.i0(x)
torch.i0(i)
"""


def named(library, device):
    """The operands that the calls name."""

    def make(values):
        return library.tensor(values, device=device)

    x = make([[-1.5, 0.25, 2.5], [0.5, 2.0, -0.75]])
    w = make([1, 2, 3])
    return {
        "torch": library, "x": x, "y": make(np.sin(np.arange(12, dtype=np.float32)).reshape(3, 4)),
        "z": make(np.cos(1.7 * np.arange(12, dtype=np.float32)).reshape(2, 2, 3) * 3),
        "v": make([1.5, -2.0, 4.0]), "w": w, "i": make([[3, -2, 1], [5, -7, 2]]),
        "q": make([0.0, 0.1, 0.25, 0.6, 0.9, 1.0]), "n": make([1.0, float("nan"), 3.0]),
    }  # fmt: skip


def parts(value):
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("text", CALLS.replace(" ; ", "\n").strip().splitlines())
def test_call(text, device):
    if "arange" in text:
        text = text.replace("arange(30)", f"arange(30, device={device!r})")
    answers = []
    for library, place in ((wgtorch, device), (torch, "cpu")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call = text.replace(repr(device), repr(place))
                answers.append(eval(call, named(library, place)))
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            answers.append(error)
    got, want = answers
    if isinstance(want, Exception):
        assert isinstance(got, type(want)), f"{got!r} where torch says {want!r}"
        if "not implemented for" not in str(want):
            assert str(got).splitlines()[0] == str(want).splitlines()[0]
        return
    assert not isinstance(got, Exception), repr(got)
    for g, w in zip(parts(got), parts(want), strict=True):
        assert str(g.dtype) == str(w.dtype)
        halves = w.dtype.itemsize == 2 and w.is_floating_point()
        g, w = (g.float(), w.float()) if halves else (g, w)
        np.testing.assert_allclose(plain(g), w.numpy(), rtol=2e-5, atol=2e-6)
