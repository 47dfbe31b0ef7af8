"""Every elementwise op and its composites against torch 2.13, on the cpu.

Numbers, dtypes, refusals, and gradients where they are a matter of convention.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from op_cases import DTYPES, EITHER_ZERO, Case, cases_of, is_array, mapped, plain  # noqa: E402

import wgtorch  # noqa: E402
from wgtorch.dispatch.doors import PUBLIC  # noqa: E402
from wgtorch.op import REGISTRY, Composite, Elementwise  # noqa: E402

HOMES = {"activations", "arithmetic", "comparison", "division", "exponentials", "logic",
         "rectifiers", "rounding", "selection", "special", "trigonometry"}  # fmt: skip
VALUES = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 6.0, 7.5, 88.5,
          -104.0, 1e-40, 1e-30, 3e38, -3e38]  # fmt: skip
FINITE = [-7.5, -3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 6.0]
ENDS = {"i": [-1, 1, 2, -3, 5, 7, 100, "min", "max"], "u": [1, 2, 3, 5, 7, 100, 255]}
LOOSE = {  # where torch itself is less exact
    "sinc": 1e-6, "digamma": 1e-5, "erfinv": 1e-5, "polygamma": 1e-5, "lgamma": 1e-5, "tan": 1e-5,
    "mish": 1e-5, "logit": 1e-5, "tanhshrink": 1e-5, "gelu": 2e-4, "logaddexp2": 1e-5,
}  # fmt: skip
MODERATE = {  # where torch's vector code loses large and small numbers
    "addcmul", "fmod", "gelu", "lerp", "polygamma", "remainder", "sinc",
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
    return (
        array.astype(np.float32)
        if array.dtype.itemsize == 2 and array.dtype.kind in "fV"
        else array
    )


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
        values = VALUES[1:] if dtype is wgtorch.bfloat16 else VALUES  # the sign of NaN gets lost
        return FINITE if op.name in MODERATE else values
    if dtype is wgtorch.bool:
        return [True, False]
    limits, ends = np.iinfo(dtype.np), ENDS[dtype.kind]
    if home(op) == "division":
        ends = ends[:-2] if dtype.kind == "i" else ends  # INT_MIN / -1 ends torch's process
    elif op.name == "softsign":
        ends = ends[:5]  # torch adds 1 in the integer type
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
    tiny = 2e-7 if dtype.itemsize == 2 else tiny
    np.testing.assert_allclose(got, want, rtol=loose, atol=tiny, equal_nan=True)
    zeros = (want == 0) & (got == 0)
    if op.name not in LOOSE and op.name not in EITHER_ZERO:
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


POLES = {"digamma", "lgamma", "polygamma"}  # where rounding decides between large and infinite


@every_op
def test_gradient_at_kinks(op):
    """Zeros, ties, bounds: the subgradient is torch's."""
    values = [v for v in FINITE if v > 0] if op.name in POLES else FINITE
    case = shaped(op, gridded(cases_of(op)[0], wgtorch.float64, values))
    flags = [is_array(a) and a.dtype.kind == "f" for a in case.args]
    want = gradient(counterpart(op), case, flags, lambda a: torch.tensor(a), torch)
    got = gradient(PUBLIC[op.name], case, flags, lambda a: wgtorch.tensor(a), wgtorch)
    if want is None:
        return
    assert got is not None
    for g, w in zip(got, want, strict=True):
        if w is not None:
            g = np.zeros(tuple(w.shape)) if g is None else plain(g)
            np.testing.assert_allclose(g, w.numpy(), rtol=1e-7, atol=1e-12, equal_nan=True)


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


SAVES_MORE = {"allclose", "glu"}  # of the comparison's parts; the halves count as two


@every_op
def test_saves_no_more_than_torch(op):
    case = cases_of(op)[0]
    ours_ = saved(wgtorch, PUBLIC[op.name], case)
    assert ours_ <= saved(torch, counterpart(op), case) or op.name in SAVES_MORE


def saved(library, call, case):
    """How many tensors a call keeps for backward."""
    packed = []

    def leaf(array):
        return library.tensor(array).requires_grad_(array.dtype.kind == "f")

    args = mapped(case, leaf).args
    with library.autograd.graph.saved_tensors_hooks(packed.append, lambda none: none):
        answer(call, case._replace(args=args), lambda tensor: tensor)
    return len(packed)


# What there is


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
        if (
            home(op) not in ("activations", "rectifiers")
            and op.inplace
            and not hasattr(torch.Tensor, form)
        ):
            extra.append(form)
    assert not extra
