"""Every declared op, on every device, on every sample its block gives. Adding an op adds tests.

pytest -k sigmoid                  one op everywhere
pytest -k "sigmoid and webgpu"     on one device
pytest -k "gradient and sigmoid"   one property
"""

from __future__ import annotations

import numpy as np
import pytest
from op_cases import (
    DTYPES,
    EITHER_ZERO,
    arrays,
    assert_same,
    differences,
    expected,
    gradients,
    has_gradient,
    is_array,
    is_complex,
    is_differentiable,
    is_elementwise,
    is_float,
    leaves,
    mapped,
    narrow,
    parameters,
    plain,
    results,
    rng_of,
    run,
    strided,
    tensors,
    weight_like,
    weighted,
    wide,
)  # fmt: skip

import wgtorch
from wgtorch.dispatch.doors import PUBLIC
from wgtorch.op import REGISTRY, Elementwise
from wgtorch.parameters import VAR_POSITIONAL

every_case = pytest.mark.parametrize("case", parameters())
first_case = pytest.mark.parametrize("case", parameters(first=True))
elementwise_case = pytest.mark.parametrize("case", parameters(is_elementwise, first=True))
differentiable_case = pytest.mark.parametrize("case", parameters(has_gradient))
LARGEST = 100  # elements of a sample whose differences are taken


@pytest.fixture
def flushes(webgpu) -> bool:
    """Whether the adapter takes numbers too small for a full mantissa for zero."""
    tiny = wgtorch.tensor([1e-40], device=webgpu)
    return float((tiny * 2).cpu()) == 0


# Values


@every_case
def test_value(case, device):
    got = arrays(run(case, tensors(case, device)))
    assert_same(got, expected(case), case.op.tolerance, smallest=case.op.tolerance)


@first_case
def test_non_contiguous(case, device):
    def spread(a):
        return strided(a, device)

    try:
        got = arrays(run(case, list(mapped(case, spread).args)))
    except RuntimeError as refused:
        if any(text in str(refused) for text in ("view size is not compatible", "stride")):
            pytest.skip("a view cannot be had")
        raise
    assert_same(got, expected(case), case.op.tolerance, smallest=case.op.tolerance)


@elementwise_case
def test_empty(case, device):
    empty = mapped(case, lambda a: np.zeros((0, 3), a.dtype))
    got = run(empty, tensors(empty, device))
    assert got.shape == (0, 3)
    assert got.dtype is run(case, tensors(case, device)).dtype


@elementwise_case
def test_zero_dim(case, device):
    one = mapped(case, lambda a: np.asarray(a.reshape(-1)[0]))
    got = run(one, tensors(one, device))
    assert got.shape == ()
    assert_same(arrays(got), expected(one), case.op.tolerance, smallest=case.op.tolerance)


SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 7.5, 88.5, -104.0,
     1e-30, -1e-30, 3e38, -3e38, 16777216.0], np.float32,
)  # fmt: skip
SUBNORMAL = np.array([1e-40, -1e-40, 1e-45], np.float32)


@elementwise_case
def test_special_values(case, webgpu, flushes):
    """NaN, infinities, signed zeros and the ends of the range, each with each: as on the cpu, or,
    where a compiler adds a product before it is rounded, as without rounding."""
    values = SPECIAL if flushes else np.concatenate([SPECIAL, SUBNORMAL])
    floats = sum(is_float(a) for a in case.args)
    if not floats:
        pytest.skip("takes no floats")
    grid = iter(np.meshgrid(*[values] * min(floats, 2), indexing="ij"))
    rest = np.resize(SPECIAL[5:12], (len(values),) * min(floats, 2))

    def special(a):
        return next(grid, rest) if is_float(a) else np.resize(a, rest.shape)

    case = mapped(case, special)
    got, want = (arrays(run(case, tensors(case, device))) for device in (webgpu, "cpu"))
    with np.errstate(over="ignore"):
        for k, (g, exact) in enumerate(zip(got, expected(case), strict=True)):
            if g.dtype.kind == "f":
                exact = exact.astype(g.dtype)
                near = np.isclose(g, exact, rtol=case.op.tolerance, atol=0, equal_nan=True)
                want[k] = np.where(near & (g != want[k]), exact, want[k])
    assert_same(got, want, case.op.tolerance, signs=case.op.name not in EITHER_ZERO)


# Places to write


@first_case
def test_in_place(case, device):
    args = tensors(case, device)
    if not case.op.inplace or not isinstance(args[0], wgtorch.Tensor):
        pytest.skip(f"there is no {case.op.name}_")
    want, target = run(case, args), args[0].clone()
    if want.shape != target.shape:
        pytest.skip("the result has another shape")
    version = target._version
    got = getattr(target, case.op.name + "_")(*args[1:], **case.attrs)
    assert got is target
    assert target._version == version + 1
    np.testing.assert_array_equal(plain(target), plain(want.to(target.dtype)))


@first_case
def test_out(case, device):
    args = tensors(case, device)
    want = run(case, args)
    if not all(isinstance(r, wgtorch.Tensor) for r in results(want)):
        pytest.skip("does not return tensors")
    outs = [wgtorch.zeros_like(r) for r in results(want)]
    given = tuple(outs) if isinstance(want, tuple) else outs[0]
    got = PUBLIC[case.op.name](*args, **case.attrs, out=given)
    for out, g, w in zip(outs, results(got), results(want), strict=True):
        assert g is out
        np.testing.assert_array_equal(plain(out), plain(w))


# Element types


def as_dtype(array: np.ndarray, dtype) -> np.ndarray:
    """A sample's numbers as another dtype, and never zero as integers."""
    if dtype.category == 2 or array.dtype.kind == "b":
        return array.astype(dtype.np)
    if dtype is wgtorch.bool:
        return array > 0
    whole = np.rint(array * 3 if array.dtype.kind == "f" else array)
    whole = np.where(whole == 0, 1, whole)
    return np.abs(whole).astype(dtype.np) if dtype.kind == "u" else whole.astype(dtype.np)


def retyped(case, dtype):
    """The case with its data, but not its indices and conditions, as another dtype."""
    args = []
    for value, marker in zip(case.args, case.op.markers.values(), strict=False):
        one = case._replace(args=(value,))
        fixed = marker == "Index" or (is_array(value) and value.dtype.kind == "b")
        args.append(value if fixed else mapped(one, lambda a: as_dtype(a, dtype)).args[0])
    return case._replace(args=tuple(args))


ULP = {wgtorch.float16: 2**-10, wgtorch.bfloat16: 2**-7}


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
@elementwise_case
def test_dtype(case, dtype, webgpu):
    """A GPU agrees with the cpu about every dtype: its numbers, or why there are none."""
    if any(is_complex(a) for a in case.args):
        pytest.skip("takes complex numbers")
    case = retyped(case, dtype)
    try:
        want = run(case, tensors(case, "cpu"))
    except (RuntimeError, TypeError) as refused:
        lacks = (TypeError,) if dtype is wgtorch.float64 else ()
        with pytest.raises((type(refused), *lacks)) as told:
            run(case, tensors(case, webgpu))
        if dtype is not wgtorch.float64:
            assert str(told.value) == str(refused)
        return
    try:
        got = run(case, tensors(case, webgpu))
    except TypeError as lacking:
        assert dtype is wgtorch.float64 and ".float()" in str(lacking)
        return
    assert got.dtype is want.dtype
    tolerance = ULP.get(dtype, case.op.tolerance)
    assert_same(arrays(got), arrays(want), tolerance, smallest=tolerance)


INTEGERS = [d for d in DTYPES if d.category == 1]


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.name)
@elementwise_case
def test_integer_extremes(case, dtype, webgpu):
    """What wraps, wraps alike: the ends of the range, each with each."""
    if any(is_complex(a) for a in case.args):
        pytest.skip("takes complex numbers")
    limits = np.iinfo(dtype.np)
    ends = [limits.min, limits.min + 1, limits.max, limits.max - 1, 1, 2, 3, 5, 7]
    ends += [-1, -2, -7] if limits.min else []
    count = sum(is_array(a) and a.dtype.kind != "b" for a in case.args)
    grid = iter(np.meshgrid(*[np.array(ends, dtype.np)] * min(count, 2), indexing="ij"))
    shape = (len(ends),) * max(1, min(count, 2))
    rest = np.ones(shape, dtype.np)

    def extreme(a):
        return np.resize(a, shape) if a.dtype.kind == "b" else next(grid, rest)

    case = mapped(case, extreme)
    try:
        want = run(case, tensors(case, "cpu"))
    except RuntimeError:
        pytest.skip(f"no {dtype.name}")
    if want.dtype.is_floating_point:
        pytest.skip("computes in floats")
    got = run(case, tensors(case, webgpu))
    np.testing.assert_array_equal(plain(got), plain(want))


# Gradients


def checked(case):
    """The case with float64 arrays, unless differences of it would take long."""
    case = wide(case)
    sizes = [a.size for a in case.args if is_float(a) or is_complex(a)]
    if sum(sizes) > LARGEST:
        pytest.skip("a large sample")
    return case


@differentiable_case
def test_gradient(case, device):
    """The cpu's agrees with differences, in float64; a GPU's with the cpu's."""
    case = checked(case)
    args = tensors(case, "cpu", wants=True)
    want = gradients(case, args)
    if device != "cpu":
        small = narrow(case)
        got = gradients(small, tensors(small, device, wants=True))
        return compare(got, want, 1e-4)

    counted = [is_differentiable(r) for r in results(run(case, args))]

    def value():
        with wgtorch.no_grad():
            pairs = zip(results(run(case, args)), counted, strict=True)
            return weighted([result for result, counts in pairs if counts])

    for x, slope in zip(leaves(args), want or [None] * 9, strict=False):
        slopes = differences(value, x.detach().numpy(), 1e-6)
        np.testing.assert_allclose(plain_gradient(slope, x), slopes, rtol=1e-6, atol=1e-6)


@differentiable_case
def test_gradient_through_hooks(case):
    """A recipe says the same written out and walked, as for hooks and for some gradients."""
    case = narrow(case)
    args = tensors(case, "cpu", wants=True)
    with wgtorch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        want = gradients(case, args)
    outs = [r for r in results(run(case, args)) if is_differentiable(r)]
    if outs:
        wgtorch.autograd.backward(outs, [weight_like(out) for out in outs])
    compare([x.grad for x in leaves(args)] if outs else [], want, 0.0)


@differentiable_case
def test_second_gradient(case, device):
    """The same of the gradient's gradient."""
    case = checked(case)
    args = tensors(case, "cpu", wants=True)
    want = second(case, args)
    if device != "cpu":
        small = narrow(case)
        got = second(small, tensors(small, device, wants=True))
        return compare(got, want, 1e-3)

    def value():
        return weighted([g for g in gradients(case, args) if g is not None])

    for x, slope in zip(leaves(args), want or [None] * 9, strict=False):
        slopes = differences(value, x.detach().numpy(), 1e-5)
        np.testing.assert_allclose(plain_gradient(slope, x), slopes, rtol=1e-4, atol=1e-4)


def second(case, args):
    """The gradient of a weighted sum of the gradients."""
    first = [g for g in gradients(case, args, create_graph=True) if g is not None]
    first = [g for g in first if g.requires_grad]
    if not first:
        return []
    weights = [weight_like(g) for g in first]
    return list(wgtorch.autograd.grad(first, list(leaves(args)), weights, allow_unused=True))


def plain_gradient(gradient, x):
    return np.zeros(tuple(x.shape)) if gradient is None else plain(gradient)


def compare(got, want, tolerance):
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert (g is None) == (w is None)
        if g is not None:
            np.testing.assert_allclose(plain(g), plain(w), rtol=tolerance, atol=tolerance)


# Declarations


@pytest.mark.parametrize("op", REGISTRY.values(), ids=REGISTRY.keys())
def test_block_is_complete(op):
    assert op.reference.__doc__, f"{op.name} needs a docstring"
    if isinstance(op, Elementwise) and op.inputs:
        assert op.samples or op.name == "_fill", f"{op.name} needs samples"
    for args, attrs in op.samples(rng_of(op)) if op.samples else ():
        assert set(attrs) <= set(op.parameters), f"{op.name}: {attrs}"
        starred = any(p.kind is VAR_POSITIONAL for p in op.parameters.values())
        assert starred or len(args) <= len(op.parameters)


def test_infinities_less_themselves_are_nan_and_nan_is_true(device):
    """Compilers make x - x zero, and drivers disagree on whether NaN differs from 0."""
    x = wgtorch.tensor([np.inf, -np.inf, np.nan, 2.0, 0.0], device=device)
    want = [np.nan, np.nan, np.nan, 0.0, 0.0]
    for zero in (x - x, x + (-x), x - x.clone(), x * 2 - x * 2, x - 1 - (x - 1)):
        np.testing.assert_array_equal(zero.cpu().numpy(), want)
    assert x.nonzero().flatten().tolist() == [0, 1, 2, 3]
    assert wgtorch.argwhere(x.half()).flatten().tolist() == [0, 1, 2, 3]
