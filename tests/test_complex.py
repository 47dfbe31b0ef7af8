"""Complex numbers: every op that takes them, on every device, and what their tensors are."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from op_cases import (
    Case,
    arrays,
    assert_same,
    differences,
    expected,
    gradients,
    is_differentiable,
    is_float,
    leaves,
    mapped,
    narrow,
    parameters,
    plain,
    results,
    run,
    tensors,
    weighted,
    wide,
)  # fmt: skip

import wgtorch
from wgtorch.dispatch.doors import PUBLIC

LARGEST = 60
pytestmark = pytest.mark.filterwarnings("ignore:.*has no kernel on:UserWarning")
COMPOSITES = {
    "bmm", "cat", "convolution", "cov", "cumprod", "cumsum", "dot", "index_add", "inner", "isclose",
    "logsumexp", "matmul", "mm", "mv", "norm", "outer", "roll", "scatter", "scatter_add", "stack",
    "vdot",
}  # fmt: skip
WITHOUT = {"_fill", "_true_counts", "_true_places"}  # they take no complex numbers from a caller


def takes_complex(op) -> bool:
    known = op.complex or op.name in COMPOSITES
    return bool(known) and op.name not in WITHOUT and op.name in PUBLIC


def turned(case: Case) -> Case:
    """The case with its floats as complex numbers."""

    def each(a):
        if not is_float(a):
            return a
        other = np.flip(a.reshape(-1)).reshape(a.shape) if a.size else a
        return (0.7 * a + 0.4j * other).astype(np.complex64)

    return mapped(case, each)


cases = parameters(takes_complex)
cases = [
    pytest.param(turned(p.values[0]), id=p.id)
    for p in cases
    if turned(p.values[0]).args is not p.values[0].args
]
every_case = pytest.mark.parametrize("case", cases)


@every_case
def test_value(case, device):
    got = arrays(run(case, tensors(case, device)))
    tolerance = max(case.op.tolerance, 4e-5)
    assert_same(got, expected(case), tolerance, smallest=tolerance)


@every_case
def test_gradient(case, device):
    """The cpu's agrees with differences of both parts; a GPU's with the cpu's."""
    case = wide(case)
    args = tensors(case, "cpu", wants=True)
    if sum(x.numel() for x in leaves(args)) > LARGEST or not list(leaves(args)):
        pytest.skip("a large sample, or none with a gradient")
    want = gradients(case, args)
    if device != "cpu":
        small = narrow(case)
        got = gradients(small, tensors(small, device, wants=True))
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(plain(g), plain(w), rtol=3e-4, atol=3e-4)
        return

    def value():
        with wgtorch.no_grad():
            pairs = zip(results(run(case, args)), counted, strict=True)
            return weighted([result for result, counts in pairs if counts])

    counted = [is_differentiable(r) for r in results(run(case, args))]
    for x, slope in zip(leaves(args), want, strict=False):
        if slope is not None:
            slopes = differences(value, x.detach().numpy(), 1e-6)
            np.testing.assert_allclose(plain(slope), slopes, rtol=1e-6, atol=1e-6)


# Tensors of complex numbers


def test_dtypes():
    assert wgtorch.tensor([1 + 2j]).dtype is wgtorch.complex64
    assert wgtorch.tensor(np.array([1j])).dtype is wgtorch.complex128
    assert wgtorch.complex64.itemsize == 8
    assert wgtorch.complex64.is_complex and not wgtorch.complex64.is_floating_point
    assert wgtorch.complex128.to_real() is wgtorch.float64
    assert (wgtorch.ones(2) * 1j).dtype is wgtorch.complex64
    assert (wgtorch.ones(2, dtype=wgtorch.float64) * 1j).dtype is wgtorch.complex128
    assert (wgtorch.arange(2) + 1j).dtype is wgtorch.complex64


def test_parts_share_memory(device):
    x = wgtorch.tensor([1 + 2j, 3 - 1j], device=device)
    x.real.mul_(10)
    x.imag = wgtorch.tensor([5.0, 6.0], device=device)
    assert x.tolist() == [10 + 5j, 30 + 6j]
    assert x._version == 2
    flat = wgtorch.arange(6.0, device=device)
    flat[2:].view(2, 2).view_as_complex().mul_(1j)
    assert flat.tolist() == [0, 1, -3, 2, -5, 4]


def test_memory_of_parts_outlives_a_write(device):
    x = wgtorch.tensor([1 + 2j, 3 - 1j], device=device, requires_grad=True)
    y = x * 1
    loss = (y.real * y.real).sum()
    with wgtorch.no_grad():
        y.mul_(100)
    loss.backward()
    assert x.grad.tolist() == [2, 6]


def test_gradients_flow_through_written_parts(device):
    x = wgtorch.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    z = x * (1 + 1j)
    z.real.mul_(3)
    (z * z.conj()).real.sum().backward()
    assert x.grad.tolist() == [20, 40, 60]


def test_a_complex_leaf_gets_both_slopes(device):
    z = wgtorch.tensor([3 + 4j], device=device, requires_grad=True)
    z.abs().sum().backward()
    np.testing.assert_allclose(plain(z.grad), [0.6 + 0.8j], rtol=1e-6)
    assert z.grad.dtype is wgtorch.complex64


def test_saved_and_loaded(tmp_path, device):
    x = wgtorch.tensor([[1 + 2j], [3 - 1j]], device=device)
    wgtorch.save(x, tmp_path / "x.pt")
    back = wgtorch.load(tmp_path / "x.pt", map_location="cpu")
    assert back.dtype is wgtorch.complex64 and back.tolist() == x.tolist()
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()


def test_as_numbers(device):
    x = wgtorch.tensor(2 + 0j, device=device)
    assert complex(x) == 2 and float(x) == 2 and int(x) == 2 and bool(x)
    with pytest.raises(RuntimeError, match="cannot be converted to type double without overflow"):
        float(wgtorch.tensor(1j, device=device))


@pytest.mark.parametrize("what", ["lt", "maximum", "sort", "floor", "erf", "argmax", "clamp_min"])
def test_what_has_no_order_is_refused(what, device):
    x = wgtorch.tensor([1j, 2], device=device)
    args = (x,) if what in ("lt", "maximum") else (0,) if what == "clamp_min" else ()
    with pytest.raises(RuntimeError, match="not implemented for 'ComplexFloat'"):
        getattr(x, what)(*args)


def test_writes_that_would_lose_a_part_are_refused(device):
    x = wgtorch.ones(2, device=device)
    with pytest.raises(RuntimeError, match="result type ComplexFloat can't be cast"):
        x.mul_(1j)


def test_complex128_stays_on_the_cpu(webgpu):
    with pytest.raises(TypeError, match=r"no complex128; use .to\(torch.complex64\)"):
        wgtorch.ones(2, dtype=wgtorch.complex128, device=webgpu)


# What functions come to on a GPU

FUNCTIONS = [
    "abs", "acos", "acosh", "angle", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "exp2",
    "expm1", "log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sgn", "sigmoid", "sin",
    "sinc", "sinh", "sqrt", "square", "tan", "tanh",
]  # fmt: skip
EXACT_ENDS = [
    "abs", "acos", "acosh", "angle", "asin", "asinh", "cos", "cosh", "exp", "exp2", "expm1", "log",
    "log10", "log2", "reciprocal", "rsqrt", "sgn", "sigmoid", "sin", "sinh", "sqrt",
]  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(name, webgpu):
    """1e-6 of the size of the result in complex128: about the origin, near both axes, and far."""
    rng = np.random.default_rng(0)
    about = rng.standard_normal(900) + 1j * rng.standard_normal(900)
    axes = np.concatenate([about[:300].real + 1e-4j * about[:300].imag,
                           1e-4 * about[300:600].real + 1j * about[300:600].imag])  # fmt: skip
    x = np.concatenate([about, axes, about * np.exp(rng.uniform(-6, 1.5, 900))])
    x = x.astype(np.complex64)
    got = plain(getattr(wgtorch.tensor(x, device=webgpu), name)())
    want = plain(getattr(wgtorch.tensor(x.astype(np.complex128)), name)())
    tolerance = 4e-6 if name == "sinc" else 1e-6  # it multiplies by pi first
    assert (np.abs(got - want) <= tolerance * np.abs(want)).all()


@pytest.mark.parametrize("name", EXACT_ENDS)
def test_infinities_and_cuts(name, webgpu):
    """NaN, infinities, signed zeros and large numbers in either part: as on the cpu."""
    ends = np.array([0, -0.0, 1, -1, 0.5, 2, -3, np.inf, -np.inf, np.nan, 1e-30, 3e38, 30, -30])
    x = np.empty((len(ends), len(ends)), np.complex64)
    x.real, x.imag = np.meshgrid(ends, ends)
    got = plain(getattr(wgtorch.tensor(x, device=webgpu), name)())
    want = plain(getattr(wgtorch.tensor(x), name)())
    parts = got.real.dtype
    nan = np.isnan(want) & np.isnan(got)
    got, want = (np.where(nan, 0, a).astype(want.dtype) for a in (got, want))
    np.testing.assert_allclose(got.view(parts), want.view(parts), rtol=1e-4, atol=1e-30)


def test_random_parts(device):
    """Both parts are drawn; together they have the variance of normal numbers."""
    wgtorch.manual_seed(0)
    for x in (wgtorch.randn(4000, dtype=wgtorch.complex64, device=device),
              wgtorch.zeros(4000, dtype=wgtorch.complex64, device=device).normal_()):  # fmt: skip
        assert abs(float(x.abs().square().mean()) - 1) < 0.1
        assert abs(float(x.real.var()) - 0.5) < 0.05 and abs(complex(x.mean())) < 0.1
    y = wgtorch.zeros(4000, dtype=wgtorch.complex64, device=device).uniform_()
    assert float(y.imag.min()) >= 0 and float(y.imag.max()) < 1
    assert abs(float(y.imag.mean()) - 0.5) < 0.05


def test_indices_take_complex_numbers(device):
    x = wgtorch.zeros(3, 3, dtype=wgtorch.complex64, device=device)
    x[1] = 1j
    x[:, 0] = wgtorch.tensor([1, 2, 3], device=device)
    x[x.abs() > 2] = 5j
    assert x.tolist() == [[1, 0, 0], [2, 1j, 1j], [5j, 0, 0]]


def test_gradcheck_sees_both_parts():
    z = wgtorch.randn(3, dtype=wgtorch.complex128, requires_grad=True)
    x = wgtorch.randn(4, dtype=wgtorch.float64, requires_grad=True)
    assert wgtorch.autograd.gradcheck(lambda z: z.exp() * z.conj(), z)
    assert wgtorch.autograd.gradcheck(lambda z, x: z.outer(x).angle(), (z, x))
    assert wgtorch.autograd.gradcheck(lambda z: z.sgn(), z, check_forward_ad=True)
    assert wgtorch.autograd.gradgradcheck(lambda x: wgtorch.fft.rfft(x).abs(), x)

    class Wrong(wgtorch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx, grad):  # without the conjugate
            return grad * 2 * ctx.saved_tensors[0]

    assert not wgtorch.autograd.gradcheck(Wrong.apply, z, raise_exception=False)


def test_a_complex_number_is_a_condition(device):
    """As an op's operand it is two numbers, as a condition one."""
    mask = wgtorch.tensor([True, False], device=device)
    for number in (0j, 1j, -2 + 0j):
        filled = wgtorch.full((), number, device=device)
        assert wgtorch.logical_and(mask, filled).tolist() == [bool(number), False]
        assert wgtorch.logical_or(filled, mask).tolist() == [True, bool(number)]
        assert wgtorch.logical_xor(mask, filled).tolist() == [not number, bool(number)]


def test_powers_end_in_time(device):
    """SwiftShader's compiler took a minute for both in one kernel."""
    c = wgtorch.tensor([1.5, -0.5 + 1j], device=device)
    want = np.tanh(np.power(2 + 0j, c.cpu().numpy()))
    np.testing.assert_allclose((2**c).tanh().cpu().numpy(), want, 2e-6)
