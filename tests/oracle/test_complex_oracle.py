"""Complex numbers against torch 2.13: results, dtypes, gradients, text and refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import wgtorch  # noqa: E402

DTYPES = ["bool", "uint8", "int32", "int64", "bfloat16", "float32", "float64", "complex64",
          "complex128"]  # fmt: skip
RNG = np.random.default_rng(0)
A = (RNG.standard_normal((3, 4)) + 1j * RNG.standard_normal((3, 4))).astype(np.complex64)
B = (RNG.standard_normal((3, 4)) + 1j * RNG.standard_normal((3, 4))).astype(np.complex64)
SQUARE = (RNG.standard_normal((4, 4)) + 1j * RNG.standard_normal((4, 4))).astype(np.complex64)

CALLS = """
a + b ; a - b ; a * b ; a / b ; a ** b ; a ** 2 ; a ** 0.5 ; 2 ** a ; a * 2j ; (1 + 1j) / a ; -a
a.real ; a.imag ; a.conj() ; a.abs() ; a.angle() ; a.sgn() ; a.mH ; a.H ; a.T ; t.real(a)
t.imag(a) ; t.view_as_real(a) ; t.view_as_complex(t.view_as_real(a)) ; t.complex(a.real, b.imag)
t.polar(a.abs(), b.angle()) ; a.real.angle() ; a.real.sgn() ; t.isreal(a) ; t.conj_physical(a)
a.sum() ; a.sum(1) ; a.mean(0) ; a.prod() ; a.prod(1) ; a.var() ; a.std(1) ; t.var_mean(a, 1)
t.std_mean(a) ; a.norm() ; a.norm(1) ; a.norm(3, dim=1) ; a.norm(float('inf')) ; a.cumsum(0)
a.cumprod(1) ; a.logsumexp(1) ; a.any() ; a.all(1) ; t.count_nonzero(a)
a @ b.T ; a @ s[0] ; s @ s ; t.mm(a, s) ; t.mv(a, s[0]) ; t.bmm(s[None], s[None])
t.dot(s[0], s[1]) ; t.vdot(s[0], s[1]) ; t.outer(s[0], s[1]) ; t.inner(a, b)
t.einsum('ij,kj->ik', [a, b])
t.addmm(s, s, s, beta=0.5, alpha=2) ; t.baddbmm(s[None], s[None], s[None]) ; t.kron(a, b)
t.tensordot(a, b, dims=2) ; t.matmul(s, s).trace() ; t.cov(a) ; t.corrcoef(a) ; s.diagonal()
t.nn.functional.linear(a, b, s[0, :3]) ; t.cumulative_trapezoid(a) ; t.diff(a)
t.where(a.abs() > 1, a, b) ; a.masked_fill(a.abs() > 1, 2j) ; t.cat([a, b]) ; t.stack([a, b], 1)
a[1:, ::2] ; a[t.tensor([2, 0])] ; a[a.abs() > 1] ; a.gather(1, t.tensor([[0], [1], [2]]))
a.index_select(1, t.tensor([3, 3])) ; a.index_add(0, t.tensor([0, 0]), b[:2]) ; a.roll(1, 1)
a.scatter_add(1, t.tensor([[0, 0]]), b[:1, :2]) ; a.flip((0,)) ; a.tril() ; a.triu(1)
a.reshape(2, 6)
a.exp() ; a.log() ; a.sqrt() ; a.rsqrt() ; a.sin() ; a.cos() ; a.tan() ; a.sinh() ; a.cosh()
a.tanh() ; a.asin() ; a.acos() ; a.atan() ; a.asinh() ; a.acosh() ; a.atanh() ; a.reciprocal()
a.square() ; a.sigmoid() ; a.sinc() ; a.expm1() ; a.log1p() ; a.log2() ; a.log10() ; a.exp2()
t.nn.functional.silu(a.detach()) ; t.nn.functional.softsign(a) ; t.logaddexp(a, b)
t.lerp(a, b, 0.3)
t.addcmul(a, a, b, value=2) ; t.addcmul(a, a, b, value=1j) ; t.addcdiv(a, a, b, value=0.5)
a == b ; a != a ; a.isnan() ; a.isinf() ; a.isfinite() ; t.isclose(a, a + 1e-7) ; t.allclose(a, b)
a.to(t.float32) ; a.real.to(t.complex64) ; a.detach().nan_to_num() ; a.pow(3)
t.float_power(a.cpu(), 2)
t.nn.functional.conv1d(a[None], b[None, :, :2]) ; t.nn.functional.pad(a, (1, 2), value=1j)
t.linspace(0, 1j, 3) ; t.full((2,), 1j) ; t.zeros(2, dtype=t.cfloat) ; t.eye(2, dtype=t.complex64)
a < b ; a.max() ; a.sort() ; a.floor() ; a.round() ; t.erf(a) ; a // b ; a.argmin() ; a.clamp(0, 1)
a.real.imag ; t.view_as_real(a.real) ; t.view_as_complex(a.real) ; a.relu() ; t.complex(a.real, a)
t.view_as_complex(a.real[:, ::2]) ; t.mm(a, s.real) ; a.softmax(1) ; t.atan2(a, b) ; t.arange(2j)
"""
pytestmark = pytest.mark.filterwarnings("ignore:Casting complex values to real:UserWarning")
CALLS_ = [c.strip() for line in CALLS.strip().splitlines() for c in line.split(";")]
ON_THE_CPU = ("float_power",)


def plain(x):
    if isinstance(x, wgtorch.Tensor):
        return x.detach().cpu().numpy()
    if isinstance(x, torch.Tensor):
        return x.detach().resolve_conj().numpy()
    return np.asarray(x)


def run(library, call, device):
    make = library.tensor
    names = {"t": library}
    for name, array in (("a", A), ("b", B), ("s", SQUARE)):
        names[name] = make(array, device=device, requires_grad=True)
    said = call.replace("])", f"], device='{device}')") if "t.tensor(" in call else call
    out = eval(said, names)
    out = list(out) if isinstance(out, tuple) else [out]
    leaves = [names[n] for n in "abs"]
    return out, leaves


def near(got, want, tolerance):
    got, want = plain(got), plain(want)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    scale = max(1.0, np.abs(want).max(initial=0)) if want.dtype.kind in "fc" else 1
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("call", CALLS_)
def test_calls(call, device):
    if device != "cpu" and any(name in call for name in ON_THE_CPU):
        pytest.skip("complex128 stays on the cpu")
    try:
        want, theirs = run(torch, call, "cpu")
    except (RuntimeError, TypeError) as refused:
        with pytest.raises(type(refused)) as told:
            run(wgtorch, call, device)
        if "not implemented for" in str(refused):
            assert str(told.value).split("not")[1] == str(refused).split("not")[1]
        return
    got, ours = run(wgtorch, call, device)
    for g, w in zip(got, want, strict=True):
        near(g, w, 3e-5)
    roots = [(g, w) for g, w in zip(got, want, strict=True) if getattr(w, "requires_grad", False)]
    if not roots:
        return
    weights = [np.cos(1 + np.arange(w.numel())).reshape(w.shape) for _, w in roots]
    weights = [
        (n * (1 - 0.5j)).astype(np.complex64) if w.is_complex() else n.astype(np.float32)
        for n, (_, w) in zip(weights, roots, strict=True)
    ]
    kinds = [w.dtype for _, w in roots]
    there = [torch.tensor(n).to(k) for n, k in zip(weights, kinds, strict=True)]
    here = [wgtorch.tensor(plain(w), device=device) for w in there]
    slopes = torch.autograd.grad([w for _, w in roots], theirs, there, allow_unused=True)
    found = wgtorch.autograd.grad([g for g, _ in roots], ours, here, allow_unused=True)
    for g, w in zip(found, slopes, strict=True):
        if w is None or g is None:
            there_is = g if w is None else w
            assert there_is is None or not np.any(plain(there_is))
            continue
        near(g, w, 2e-4)


@pytest.mark.parametrize("first", DTYPES)
def test_promotion(first):
    for second in DTYPES:
        a, b = getattr(torch, first), getattr(torch, second)
        x, y = getattr(wgtorch, first), getattr(wgtorch, second)
        assert str(torch.promote_types(a, b)) == str(wgtorch.promote_types(x, y))
        for left, right in itertools.product(((2,), ()), repeat=2):
            want = torch.result_type(torch.ones(left, dtype=a), torch.ones(right, dtype=b))
            got = wgtorch.result_type(wgtorch.ones(left, dtype=x), wgtorch.ones(right, dtype=y))
            assert str(want) == str(got)
        for number in (True, 1, 1.0, 1j):
            want = torch.result_type(torch.ones(2, dtype=a), number)
            assert str(want) == str(wgtorch.result_type(wgtorch.ones(2, dtype=x), number))


@pytest.mark.parametrize("data", [
    [1 + 2j, 3.5 - 1j], [1 + 2j, 3 - 1j], 1e-6 + 2e5j, [complex("nan"), complex("inf-0j")],
    [[1 + 2j, 3.5 - 100j], [0j, 1j]], [[1e9 + 2j, 3.5 - 100j], [0j, 1j]], [1.5 + 1j] * 30, [],
])  # fmt: skip
def test_text(data):
    assert repr(wgtorch.tensor(data)) == repr(torch.tensor(data))
    assert repr(wgtorch.tensor(data, dtype=wgtorch.complex128)) == repr(
        torch.tensor(data, dtype=torch.complex128)
    )


@pytest.mark.parametrize("name, settings", [
    ("SGD", {}), ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}), ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}), ("AdamW", {"weight_decay": 0.1}),
])  # fmt: skip
def test_optimisers_take_the_parts_of_parameters(name, settings, device):
    def trained(library, where):
        x = library.tensor([1 + 2j, 3 - 1j], dtype=library.complex64, device=where,
                           requires_grad=True)  # fmt: skip
        optimizer = getattr(library.optim, name)([x], lr=0.1, **settings)
        for _ in range(5):
            optimizer.zero_grad()
            ((x - (1 - 1j)).abs() ** 2).sum().backward()
            optimizer.step()
        return plain(x)

    np.testing.assert_allclose(trained(wgtorch, device), trained(torch, "cpu"), rtol=1e-5)
