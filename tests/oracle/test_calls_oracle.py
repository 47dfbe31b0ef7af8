"""The forms a call of an op may take, beside torch 2.13.

With numbers on either side, with keywords, in place, as operators, and with what cannot be.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from op_cases import plain, widened  # noqa: E402

import wgtorch  # noqa: E402

CALLS = """
torch.add(x, 2, alpha=3) ; torch.add(2, x, alpha=3) ; torch.add(x, i, alpha=2)
torch.add(i, i, alpha=2.5) ; torch.add(i, i, alpha=True) ; torch.add(b, b, alpha=2)
torch.sub(2, x) ; torch.sub(x, x, alpha=2) ; x.sub(1, alpha=2) ; x.add(i, alpha=2.5)
torch.rsub(x, 2) ; torch.rsub(x, 2, alpha=3) ; torch.rsub(x, x, alpha=3)
torch.div(x, 2, rounding_mode='floor') ; torch.div(x, y, rounding_mode='trunc')
torch.div(i, 2, rounding_mode='trunc') ; torch.div(-i, 2, rounding_mode='floor')
torch.div(x, 2, rounding_mode='up') ; x.div(2, rounding_mode='floor')
torch.mul(input=x, other=y) ; x.mul(other=y) ; torch.pow(x, exponent=2) ; x.pow(exponent=y)
torch.pow(2, x) ; torch.pow(2, i) ; x ** 2 ; i ** 2 ; b ** 2 ; x ** 0.5 ; x ** -1 ; i ** -1
i ** 2.0 ; 2 ** i ; 2.0 ** i ; i ** i ; x ** i ; i ** (-i) ; u ** 3 ; 5 // i ; 5 % i ; 5 << i
5 >> i ; 5 & i ; 5 | i ; 5 ^ i ; True & i ; True | b ; 1 - x ; 1 / i ; 2 * x ; 2 + i ; i // 2
i % -2 ; x // 0.7 ; x % -0.7 ; i << 1 ; i // 0 ; i % 0 ; torch.fmod(i, 0) ; x // 0 ; x % 0 ; i / 0
i << 1.0 ; i & 1.5 ; -b ; +b ; -x ; +x ; ~i ; ~b ; abs(x) ; abs(b) ; x - True ; b - b ; b * b
b + b ; x == None ; x != None ; x == 'a' ; x != 'a' ; x < None ; x + None ; x + 'a' ; x + [1]
x == i ; b == 1 ; u > 300 ; u + 300 ; u * -1 ; i32 + 2**40 ; i8 == 257 ; x & x ; x @ x ; h * 1e6
h * 0.1 ; h / 3.3 ; h + f ; x * np.float32(2) ; np.float32(2) * x ; np.float64(2) + i
x + np.int64(1) ; x < np.float32(0) ; torch.round(x, decimals=1)
torch.round(x * 100, decimals=-1) ; torch.round(i, decimals=1) ; x.round(decimals=2)
torch.clamp(x, 0) ; torch.clamp(x, max=0.5) ; torch.clamp(x) ; x.clamp(min=-0.5, max=0.5)
torch.clamp(i, 0.5, 2) ; torch.clamp(i, y, x) ; x.clip(0, 1) ; i8.clamp(-1000, 1000)
torch.clamp(x, y) ; torch.clamp(x, max=y) ; b.clamp(0, 1) ; x.clamp_min(0) ; x.clamp_max(y)
torch.clamp(x, float('nan'), 1) ; torch.where(b, x, y) ; torch.where(b, x, 2)
torch.where(b, 1, 2) ; torch.where(b, 1.0, 2) ; torch.where(b, i, 2.5) ; torch.where(x, x, y)
torch.where(u, x, y) ; x.where(b, y) ; x.where(b, 0) ; torch.where(b, 1, i)
torch.where([True], 1, 2) ; x.masked_fill(b, 2) ; i.masked_fill(b, 3.5) ; x.masked_fill(i, 2)
b.masked_fill(b, 2) ; x.masked_fill(b, y) ; x.masked_fill(b, y[0]) ; u.masked_fill(b, 300)
torch.isclose(x, y) ; torch.isclose(x, x + 1e-6) ; torch.isclose(i, i + 1, rtol=0.6)
torch.isclose(x, x, rtol=-1) ; torch.isclose(x, x, atol=-1) ; torch.isclose(x, i)
torch.isclose(b, b) ; torch.allclose(x, x) ; torch.allclose(x, y) ; torch.equal(x, x)
torch.equal(x, y) ; torch.equal(x, x[:2]) ; torch.equal(x, 1) ; torch.equal(n, n)
torch.nan_to_num(n) ; torch.nan_to_num(n, 1.0, posinf=7) ; torch.nan_to_num(n.half())
torch.nan_to_num(n, nan=None, neginf=-1) ; torch.nan_to_num(i) ; n.nan_to_num(2.0)
torch.lerp(x, y, 0.25) ; torch.lerp(x, y, y) ; torch.lerp(x, y.double(), 0.5)
torch.lerp(x, y, y.double()) ; x.lerp(y, 1) ; torch.addcmul(i, i, i, value=0.5)
torch.addcmul(x, i, i) ; torch.addcmul(x, x, y, value=2) ; torch.addcdiv(x, i, i)
torch.addcdiv(x, x, y, value=2) ; torch.heaviside(x, i) ; torch.xlogy(2, x.abs())
torch.xlogy(x, 2) ; torch.copysign(x, -2) ; torch.float_power(i, 3) ; torch.float_power(2, i)
torch.logit(x, eps=0.1) ; torch.polygamma(1, x.abs()) ; x.abs().polygamma(2)
torch.remainder(5, x) ; torch.floor_divide(5, i) ; F.gelu(x, approximate='tanh')
F.gelu(x, approximate='erf') ; F.prelu(x, y[:1]) ; F.prelu(x, y[:3]) ; F.softshrink(x, -1)
F.hardtanh(x, 2, 1) ; F.hardtanh(i, -1.5, 2.5) ; F.hardtanh(u) ; F.celu(x, 0)
F.threshold(i, 1.5, 7) ; F.elu(x, -1) ; F.glu(x) ; F.leaky_relu(x, True) ; F.softplus(x, 0)
F.softplus(x * 30, 2, 10) ; F.relu6(x * 9) ; F.glu(x[:4]) ; x.clone().add_(1.5)
i.clone().add_(1.5) ; i.clone().add_(1, alpha=2) ; i.clone().div_(2) ; x.clone().eq_(1.0)
i.clone().logical_and_(i) ; x.clone().logical_not_() ; x.clone().clamp_(0, 1)
x.clone().masked_fill_(b, 2) ; n.clone().nan_to_num_() ; x.clone().pow_(2)
x.clone().floor_divide_(0.3) ; u.clone().sub_(1) ; h.clone().mul_(0.1) ; x.clone().copysign_(-1)
x.clone().sigmoid_() ; x.clone().fmod_(y) ; torch.exp(2.0) ; torch.exp('a') ; torch.add(x)
torch.add(x, None) ; x + torch.ones(7) ; x.subtract(1) ; x.multiply(2) ; x.divide(2)
x.true_divide(2) ; x.negative() ; x.absolute() ; x.arctan() ; x.greater(y) ; x.less_equal(y)
x.not_equal(y) ; x.fix() ; x.sgn() ; x.__rsub__(1) ; x.__rpow__(2) ; i.__rfloordiv__(20)
i.__rmod__(20) ; i.__rlshift__(1) ; i.__rand__(1) ; bool(x[0] == x[0]) ; x.float_power(2)
"""


def named(library):
    """The operands that the calls name."""
    make = library.tensor
    x = make([-1.5, 0.25, 0.5, 2.0, -0.75])
    i = make([3, -2, 1, 5, -7])
    return {
        "torch": library, "F": torch.nn.functional if library is torch else library, "np": np,
        "x": x, "i": i,
        "y": make([0.5, -0.25, 0.5, -3.0, 1.0]), "b": make([True, False, True, True, False]),
        "n": make([float("nan"), float("inf"), -float("inf"), 1.0, -0.0]),
        "u": make([200, 3, 1, 255, 7], dtype=library.uint8), "i32": i.to(library.int32),
        "i8": make([1, -2, 3, 127, -128], dtype=library.int8), "h": x.to(library.float16),
        "f": x.to(library.bfloat16),
    }  # fmt: skip


@pytest.mark.parametrize("text", CALLS.replace(" ; ", "\n").strip().splitlines())
def test_call(text):
    """The same result, or the same type of exception."""
    answers = []
    for library in (wgtorch, torch):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch has deprecated some of these
                answers.append(eval(text, named(library)))
        except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError) as error:
            answers.append(error)
    got, want = answers
    if isinstance(want, Exception):
        assert isinstance(got, type(want)), f"{got!r} where torch says {want!r}"
    elif isinstance(want, torch.Tensor):
        assert isinstance(got, wgtorch.Tensor), repr(got)
        assert str(got.dtype) == str(want.dtype)
        want = want.float() if want.dtype.itemsize == 2 and want.is_floating_point() else want
        np.testing.assert_allclose(widened(plain(got)), want.numpy(), rtol=2e-6, atol=1e-7)
    else:
        assert got == want and type(got) is type(want)
