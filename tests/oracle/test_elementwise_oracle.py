"""Every elementwise op and its composites against torch 2.13, on the cpu: numbers, dtypes, refusals,
gradients where they are a matter of convention, and the forms a call may take."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from op_cases import DTYPES, Case, cases_of, is_array, mapped, plain  # noqa: E402

import wgtorch  # noqa: E402
from wgtorch.dispatch.doors import PUBLIC  # noqa: E402
from wgtorch.op import REGISTRY, Composite, Elementwise  # noqa: E402

HOMES = {"activations", "arithmetic", "comparison", "division", "exponentials", "logic", "rounding",
         "selection", "special", "trigonometry"}  # fmt: skip
VALUES = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 6.0, 7.5, 88.5,
          -104.0, 1e-40, 1e-30, 3e38, -3e38]  # fmt: skip
FINITE = [-7.5, -3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 6.0]
ENDS = {"i": [-1, 1, 2, -3, 5, 7, 100, "min", "max"], "u": [1, 2, 3, 5, 7, 100, 255]}
LOOSE = {  # where torch itself is less exact
    "sinc": 1e-6, "digamma": 1e-5, "erfinv": 1e-5, "polygamma": 1e-5, "lgamma": 1e-5, "tan": 1e-5,
    "mish": 1e-5, "logit": 1e-5, "tanhshrink": 1e-5,
}  # fmt: skip


def counterpart(op):
    """What torch calls it, or None."""
    found = torch
    for part in (op.torch or op.name).split("."):
        found = getattr(found, part, None)
    return found


def home(op):
    """The module it is declared in."""
    return op.reference.__module__.rpartition(".")[2]


def ops():
    kinds = (Elementwise, Composite)
    for name, op in REGISTRY.items():
        if isinstance(op, kinds) and home(op) in HOMES and op.samples and counterpart(op):
            yield pytest.param(op, id=name)


every_op = pytest.mark.parametrize("op", list(ops()))
every_dtype = pytest.mark.parametrize(
    "dtype", [wgtorch.float32, *DTYPES], ids=lambda dtype: dtype.name
)


def ours(array):
    return wgtorch.tensor(array)


def theirs(array):
    if array.dtype.kind == "V":  # bfloat16
        return torch.tensor(array.astype(np.float32)).to(torch.bfloat16)
    return torch.tensor(array)


def answer(call, case: Case, make):
    """Numbers and dtype, or the error."""
    args = mapped(case, make).args
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call(*args, **case.attrs)
    except (RuntimeError, TypeError, NotImplementedError) as error:
        return error
    return result


def array_of(result):
    if isinstance(result, bool):
        return np.asarray(result)
    if result.dtype in (torch.bfloat16, torch.float16):
        return result.float().numpy()
    array = result.numpy() if isinstance(result, torch.Tensor) else plain(result)
    return array.astype(np.float32) if array.dtype.itemsize == 2 and array.dtype.kind in "fV" else array


def gridded(case: Case, dtype, values) -> Case:
    """The case on all pairs of values, as a dtype; further operands repeat some of them."""
    with np.errstate(all="ignore"):
        numbers = np.array(values).astype(dtype.np)
    count = sum(is_array(a) and a.dtype.kind != "b" for a in case.args)
    grids = iter(np.meshgrid(*[numbers] * min(count, 2), indexing="ij"))
    shape = (len(numbers),) * max(1, min(count, 2))
    third = np.resize(numbers[5:], shape)

    def change(a):
        return np.resize(a, shape) if a.dtype.kind == "b" else next(grids, third)

    return mapped(case, change)


def values_for(op, dtype):
    if dtype.category == 2:
        return VALUES
    if dtype is wgtorch.bool:
        return [True, False]
    limits, ends = np.iinfo(dtype.np), ENDS[dtype.kind]
    if home(op) == "division":
        ends = ends[:-2] if dtype.kind == "i" else ends  # INT_MIN / -1 ends torch's process
    return [{"min": limits.min, "max": limits.max}.get(v, v) for v in ends]


def assert_agree(op, got, want, dtype):
    if isinstance(want, Exception):
        assert isinstance(got, Exception), f"torch: {want}"
        assert type(got) is type(want), got
        assert first_line(got) == first_line(want)
        return
    assert not isinstance(got, Exception), got
    if not isinstance(want, bool):
        assert str(got.dtype) == str(want.dtype)
    got, want = array_of(got), array_of(want)
    assert got.shape == want.shape
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    exact = {"float16": 2e-3, "bfloat16": 1e-2, "float64": 1e-12}.get(dtype.name, 3e-6)
    loose = max(exact, LOOSE.get(op.name, 0)) if dtype is not wgtorch.float64 else 1e-10
    tiny = 1e-7 if op.name in LOOSE else 1e-40
    tiny = 2e-7 if dtype.name == "float16" else tiny
    np.testing.assert_allclose(got, want, rtol=loose, atol=tiny, equal_nan=True)
    zeros = (want == 0) & (got == 0)
    if op.name not in LOOSE:
        np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]))


def first_line(error):
    return str(error).split("\n")[0]


@every_dtype
@every_op
def test_numbers(op, dtype):
    """NaN, infinities, zeros, the ends of the range; or the same refusal."""
    for case in cases_of(op)[:1]:
        case = shaped(op, gridded(case, dtype, values_for(op, dtype)))
        got = answer(PUBLIC[op.name], case, ours)
        want = answer(counterpart(op), case, theirs)
        assert_agree(op, got, want, dtype)


def shaped(op, case):
    """prelu and glu are not the same at each element."""
    if op.name == "prelu":
        weight = case.args[1].reshape(-1)[5 : 5 + 1]
        return case._replace(args=(case.args[0], weight))
    if op.name == "glu":
        size = case.args[0].shape[0]
        return mapped(case, lambda a: np.resize(a, size + size % 2))
    return case


@every_op
def test_samples(op):
    """With every choice of attributes."""
    for case in cases_of(op):
        got = answer(PUBLIC[op.name], case, ours)
        want = answer(counterpart(op), case, theirs)
        assert_agree(op, got, want, wgtorch.float32)


UNDEFINED = {"atan2", "hypot", "xlogy", "copysign", "sinc"}  # torch has NaN at kinks of these


@every_op
def test_gradient_at_kinks(op):
    """Zeros, ties, bounds: the subgradient is torch's."""
    case = shaped(op, gridded(cases_of(op)[0], wgtorch.float64, FINITE))
    flags = [is_array(a) and a.dtype.kind == "f" for a in case.args]
    want = gradient(counterpart(op), case, flags, lambda a: torch.tensor(a), torch)
    got = gradient(PUBLIC[op.name], case, flags, lambda a: wgtorch.tensor(a), wgtorch)
    if want is None:
        return
    assert got is not None
    for g, w in zip(got, want, strict=True):
        if w is not None:
            g = np.zeros(tuple(w.shape)) if g is None else plain(g)
            np.testing.assert_allclose(g, w.numpy(), rtol=1e-9, atol=1e-12, equal_nan=True)


def gradient(call, case, flags, make, library):
    args = [make(a).requires_grad_(f) if is_array(a) else a
            for a, f in zip(case.args, flags, strict=True)]  # fmt: skip
    try:
        result = call(*args, **case.attrs)
    except (RuntimeError, TypeError):
        return None
    if isinstance(result, bool) or not result.requires_grad:
        return None
    wanted = [a for a, f in zip(args, flags, strict=True) if f]
    try:
        return library.autograd.grad(result.sum(), wanted, allow_unused=True)
    except RuntimeError:  # torch: not implemented
        return None


# The forms of a call


CALLS = [
    "torch.add(x, 2, alpha=3)", "torch.add(2, x, alpha=3)", "torch.add(x, i, alpha=2)",
    "torch.add(i, i, alpha=2.5)", "torch.add(i, i, alpha=True)", "torch.add(b, b, alpha=2)",
    "torch.sub(2, x)", "torch.sub(x, x, alpha=2)", "x.sub(1, alpha=2)", "x.add(i, alpha=2.5)",
    "torch.rsub(x, 2)", "torch.rsub(x, 2, alpha=3)", "torch.rsub(x, x, alpha=3)",
    "torch.div(x, 2, rounding_mode='floor')", "torch.div(x, y, rounding_mode='trunc')",
    "torch.div(i, 2, rounding_mode='trunc')", "torch.div(-i, 2, rounding_mode='floor')",
    "torch.div(x, 2, rounding_mode='up')", "x.div(2, rounding_mode='floor')",
    "torch.mul(input=x, other=y)", "x.mul(other=y)", "torch.pow(x, exponent=2)", "x.pow(exponent=y)",
    "torch.pow(2, x)", "torch.pow(2, i)", "x ** 2", "i ** 2", "b ** 2", "x ** 0.5", "x ** -1",
    "i ** -1", "i ** 2.0", "2 ** i", "2.0 ** i", "i ** i", "x ** i", "i ** (-i)", "u ** 3",
    "5 // i", "5 % i", "5 << i", "5 >> i", "5 & i", "5 | i", "5 ^ i", "True & i", "True | b",
    "1 - x", "1 / i", "2 * x", "2 + i", "i // 2", "i % -2", "x // 0.7", "x % -0.7", "i << 1",
    "i // 0", "i % 0", "torch.fmod(i, 0)", "x // 0", "x % 0", "i / 0", "i << 1.0", "i & 1.5",
    "-b", "+b", "-x", "+x", "~i", "~b", "abs(x)", "abs(b)", "x - True", "b - b", "b * b", "b + b",
    "x == None", "x != None", "x == 'a'", "x != 'a'", "x < None", "x + None", "x + 'a'", "x + [1]",
    "x == i", "b == 1", "u > 300", "u + 300", "u * -1", "i32 + 2**40", "i8 == 257", "x & x", "x @ x",
    "h * 1e6", "h * 0.1", "h / 3.3", "h + f", "x * np.float32(2)", "np.float32(2) * x",
    "np.float64(2) + i", "x + np.int64(1)", "x < np.float32(0)",
    "torch.round(x, decimals=1)", "torch.round(x * 100, decimals=-1)", "torch.round(i, decimals=1)",
    "x.round(decimals=2)", "torch.clamp(x, 0)", "torch.clamp(x, max=0.5)", "torch.clamp(x)",
    "x.clamp(min=-0.5, max=0.5)", "torch.clamp(i, 0.5, 2)", "torch.clamp(i, y, x)", "x.clip(0, 1)",
    "i8.clamp(-1000, 1000)", "torch.clamp(x, y)", "torch.clamp(x, max=y)", "b.clamp(0, 1)",
    "x.clamp_min(0)", "x.clamp_max(y)", "torch.clamp(x, float('nan'), 1)",
    "torch.where(b, x, y)", "torch.where(b, x, 2)", "torch.where(b, 1, 2)", "torch.where(b, 1.0, 2)",
    "torch.where(b, i, 2.5)", "torch.where(x, x, y)", "torch.where(u, x, y)", "x.where(b, y)",
    "x.where(b, 0)", "torch.where(b, 1, i)", "torch.where([True], 1, 2)",
    "x.masked_fill(b, 2)", "i.masked_fill(b, 3.5)", "x.masked_fill(i, 2)", "b.masked_fill(b, 2)",
    "x.masked_fill(b, y)", "x.masked_fill(b, y[0])", "u.masked_fill(b, 300)",
    "torch.isclose(x, y)", "torch.isclose(x, x + 1e-6)", "torch.isclose(i, i + 1, rtol=0.6)",
    "torch.isclose(x, x, rtol=-1)", "torch.isclose(x, x, atol=-1)", "torch.isclose(x, i)",
    "torch.isclose(b, b)", "torch.allclose(x, x)", "torch.allclose(x, y)", "torch.equal(x, x)",
    "torch.equal(x, y)", "torch.equal(x, x[:2])", "torch.equal(x, 1)", "torch.equal(n, n)",
    "torch.nan_to_num(n)", "torch.nan_to_num(n, 1.0, posinf=7)", "torch.nan_to_num(n.half())",
    "torch.nan_to_num(n, nan=None, neginf=-1)", "torch.nan_to_num(i)", "n.nan_to_num(2.0)",
    "torch.lerp(x, y, 0.25)", "torch.lerp(x, y, y)", "torch.lerp(x, y.double(), 0.5)",
    "torch.lerp(x, y, y.double())", "x.lerp(y, 1)", "torch.addcmul(i, i, i, value=0.5)",
    "torch.addcmul(x, i, i)", "torch.addcmul(x, x, y, value=2)", "torch.addcdiv(x, i, i)",
    "torch.addcdiv(x, x, y, value=2)", "torch.heaviside(x, i)", "torch.xlogy(2, x.abs())",
    "torch.xlogy(x, 2)", "torch.copysign(x, -2)", "torch.float_power(i, 3)",
    "torch.float_power(2, i)", "torch.logit(x, eps=0.1)", "torch.polygamma(1, x.abs())",
    "x.abs().polygamma(2)", "torch.remainder(5, x)", "torch.floor_divide(5, i)",
    "F.gelu(x, approximate='tanh')", "F.gelu(x, approximate='erf')", "F.prelu(x, y[:1])",
    "F.prelu(x, y[:3])", "F.softshrink(x, -1)", "F.hardtanh(x, 2, 1)", "F.hardtanh(i, -1.5, 2.5)",
    "F.hardtanh(u)", "F.celu(x, 0)", "F.threshold(i, 1.5, 7)", "F.elu(x, -1)", "F.glu(x)",
    "F.leaky_relu(x, True)", "F.softplus(x, 0)", "F.softplus(x * 30, 2, 10)", "F.relu6(x * 9)",
    "F.glu(x[:4])",
    "x.clone().add_(1.5)", "i.clone().add_(1.5)", "i.clone().add_(1, alpha=2)", "i.clone().div_(2)",
    "x.clone().eq_(1.0)", "i.clone().logical_and_(i)", "x.clone().logical_not_()",
    "x.clone().clamp_(0, 1)", "x.clone().masked_fill_(b, 2)", "n.clone().nan_to_num_()",
    "x.clone().pow_(2)", "x.clone().floor_divide_(0.3)", "u.clone().sub_(1)", "h.clone().mul_(0.1)",
    "x.clone().copysign_(-1)", "x.clone().sigmoid_()", "x.clone().fmod_(y)",
    "torch.exp(2.0)", "torch.exp('a')", "torch.add(x)", "torch.add(x, None)", "x + torch.ones(7)",
    "x.subtract(1)", "x.multiply(2)", "x.divide(2)", "x.true_divide(2)", "x.negative()",
    "x.absolute()", "x.arctan()", "x.greater(y)", "x.less_equal(y)", "x.not_equal(y)", "x.fix()",
    "x.sgn()", "x.__rsub__(1)", "x.__rpow__(2)", "i.__rfloordiv__(20)", "i.__rmod__(20)",
    "i.__rlshift__(1)", "i.__rand__(1)", "bool(x[0] == x[0])", "x.float_power(2)",
]  # fmt: skip


def named(library):
    """The operands that the calls name."""
    make = library.tensor
    x = make([-1.5, 0.25, 0.5, 2.0, -0.75])
    i = make([3, -2, 1, 5, -7])
    return {
        "torch": library, "F": library.nn.functional, "np": np, "x": x, "i": i,
        "y": make([0.5, -0.25, 0.5, -3.0, 1.0]), "b": make([True, False, True, True, False]),
        "n": make([float("nan"), float("inf"), -float("inf"), 1.0, -0.0]),
        "u": make([200, 3, 1, 255, 7], dtype=library.uint8), "i32": i.to(library.int32),
        "i8": make([1, -2, 3, 127, -128], dtype=library.int8), "h": x.to(library.float16),
        "f": x.to(library.bfloat16),
    }  # fmt: skip


@pytest.mark.parametrize("text", CALLS)
def test_call(text):
    """The same result, or the same type of exception."""
    answers = []
    for library in (wgtorch, torch):
        try:
            answers.append(eval(text, named(library)))
        except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError) as error:
            answers.append(error)
    got, want = answers
    if isinstance(want, Exception):
        assert isinstance(got, type(want)), f"{got!r} where torch says {want!r}"
    elif isinstance(want, torch.Tensor):
        assert isinstance(got, wgtorch.Tensor), repr(got)
        assert str(got.dtype) == str(want.dtype)
        np.testing.assert_allclose(array_of(got), array_of(want), rtol=2e-6, atol=1e-7)
    else:
        assert got == want and type(got) is type(want)


def test_methods_of_torch_exist():
    """What torch.Tensor has of these ops, Tensor has, and in place where torch has that."""
    lacking = []
    for param in ops():
        op = param.values[0]
        for name in (op.name, *op.aliases):
            for form in (name, name + "_"):
                if hasattr(torch.Tensor, form) and not hasattr(wgtorch.Tensor, form):
                    lacking.append(form)
    assert not lacking


def test_no_method_in_place_that_torch_lacks():
    """But for the activations, which nn.functional writes in place."""
    extra = []
    for param in ops():
        op = param.values[0]
        form = op.name + "_"
        if home(op) != "activations" and op.inplace and not hasattr(torch.Tensor, form):
            extra.append(form)
    assert not extra
