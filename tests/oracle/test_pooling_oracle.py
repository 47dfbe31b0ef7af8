"""Pooling, normalisations and softmax against torch 2.13: numbers, gradients twice, refusals."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional

import wgtorch  # noqa: E402

WINDOWS = [
    (2, None, 0, 1, False), (3, 2, 1, 1, False), ((3, 2), (2, 1), (1, 0), 1, True),
    (2, 3, 1, 2, True), (3, 1, 1, 2, False), ((1, 3), None, (0, 1), 1, True),
]  # fmt: skip
SHAPES = [(2, 3, 7, 6), (3, 9, 8)]


def check(want, got, tolerance=2e-5):
    want, got = want.detach().numpy(), got.detach().cpu().numpy()
    assert want.dtype == got.dtype
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def twice(call, arrays, device, tolerance=1e-3):
    """The results, their gradients, and the gradients of these, of `call(library, *tensors)`."""
    both = []
    for lib, place in ((torch, "cpu"), (wgtorch, device)):
        tensors = [lib.tensor(a, device=place, requires_grad=True) for a in arrays]
        out = call(lib, *tensors)
        weight = lib.tensor(
            np.random.default_rng(9).standard_normal(tuple(out.shape)), device=place
        )
        first = lib.autograd.grad((out * out * weight.to(lib.float32)).sum(), tensors,
                                  create_graph=True)  # fmt: skip
        second = lib.autograd.grad(sum((g * g).sum() for g in first), tensors, allow_unused=True)
        both.append((out, *first, *second))
    for n, (want, got) in enumerate(zip(*both, strict=True)):
        assert (want is None) == (got is None)
        if want is not None:
            check(want, got, 2e-5 if not n else tolerance)


def distinct(shape):
    numel = int(np.prod(shape))
    return np.random.default_rng(0).permutation(numel).reshape(shape).astype(np.float32) / 10


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("window", WINDOWS)
def test_max_pool(window, shape, device):
    array = distinct(shape)
    pools = {torch: F.max_pool2d, wgtorch: wgtorch.nn.functional.max_pool2d}
    twice(lambda lib, x: pools[lib](x, *window), [array], device)
    want, places = F.max_pool2d(torch.tensor(array), *window, return_indices=True)
    got, indices = wgtorch.max_pool2d_with_indices(wgtorch.tensor(array, device=device), *window)
    check(want, got)
    check(places, indices)
    sideways = wgtorch.tensor(array, device=device).transpose(-1, -2)
    check(F.max_pool2d(torch.tensor(array).transpose(-1, -2), *window),
          wgtorch.max_pool2d(sideways, *window))  # fmt: skip


@pytest.mark.parametrize("divisor", [None, 3])
@pytest.mark.parametrize("counts_pad", [True, False])
@pytest.mark.parametrize("window", [w for w in WINDOWS if w[3] == 1])
def test_avg_pool(window, counts_pad, divisor, device):
    size, step, pad, _, ceil = window
    pools = {torch: F.avg_pool2d, wgtorch: wgtorch.nn.functional.avg_pool2d}
    twice(lambda lib, x: pools[lib](x, size, step, pad, ceil, counts_pad, divisor),
          [distinct((2, 3, 7, 6))], device)  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 3, (3, 4), (5, None), (4, 5)])
def test_adaptive_pools(size, device):
    array = distinct((2, 3, 9, 8))
    pools = {torch: F.adaptive_avg_pool2d, wgtorch: wgtorch.nn.functional.adaptive_avg_pool2d}
    twice(lambda lib, x: pools[lib](x, size), [array], device)
    want, places = F.adaptive_max_pool2d(torch.tensor(array), size, return_indices=True)
    got, indices = wgtorch.adaptive_max_pool2d(wgtorch.tensor(array, device=device), size)
    check(want, got)
    check(places, indices)


def test_one_dimension(device):
    array = distinct((2, 3, 9))
    x, y = torch.tensor(array), wgtorch.tensor(array, device=device)
    check(F.max_pool1d(x, 3, 2, 1), wgtorch.max_pool1d(y, 3, 2, 1))
    check(F.avg_pool1d(x, 3, 2, 1), wgtorch.avg_pool1d(y, 3, 2, 1))
    check(F.adaptive_avg_pool1d(x, 4), wgtorch.adaptive_avg_pool1d(y, 4))
    check(F.max_pool1d(x, 3, 2, 1, return_indices=True)[1],
          wgtorch.max_pool1d_with_indices(y, 3, 2, 1)[1])  # fmt: skip
    holed = array.copy()
    holed[0, 0, 3] = np.nan
    check(F.max_pool1d(torch.tensor(holed), 3, 2, 1),
          wgtorch.max_pool1d(wgtorch.tensor(holed, device=device), 3, 2, 1))  # fmt: skip


REFUSED = [
    ("max_pool2d", (1, 1, 4, 4), (3,), {"padding": 2}),
    ("avg_pool2d", (1, 1, 4, 4), (3,), {"padding": 2}),
    ("max_pool2d", (1, 1, 4, 4), (0,), {}), ("max_pool2d", (1, 1, 4, 4), (2,), {"stride": 0}),
    ("max_pool2d", (1, 1, 4, 4), ((2, 2, 2),), {}), ("max_pool2d", (1, 1, 2, 2), (3,), {}),
    ("max_pool2d", (4, 4), (2,), {}), ("max_pool2d", (1, 1, 1, 4, 4), (2,), {}),
    ("avg_pool2d", (4, 4), (2,), {}), ("avg_pool2d", (1, 1, 2, 2), (3,), {}),
    ("max_pool1d", (4,), (2,), {}), ("max_pool1d", (1, 4), (3,), {"padding": 2}),
    ("avg_pool1d", (4,), (2,), {}), ("max_pool2d", (1, 1, 0, 4), (2,), {}),
    ("avg_pool2d", (1, 1, 4, 4), (2,), {"divisor_override": 0}),
    ("max_pool2d", (1, 1, 4, 4), (2,), {"dilation": 0}),
    ("max_pool2d", (1, 1, 4, 4), (2,), {"padding": -1}), ("max_pool1d", (1, 1, 1), (2,), {}),
    ("adaptive_avg_pool2d", (4, 4), ((2, 2),), {}),
    ("adaptive_avg_pool2d", (1, 1, 4, 4), ((2, 2, 2),), {}),
    ("adaptive_avg_pool2d", (1, 1, 4, 4), (-1,), {}), ("adaptive_avg_pool1d", (4,), (2,), {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shape", "args", "given"), REFUSED)
def test_refusals(name, shape, args, given):
    with pytest.raises(Exception) as theirs:
        getattr(F, name)(torch.zeros(shape), *args, **given)
    with pytest.raises(theirs.type) as ours:
        getattr(wgtorch, name)(wgtorch.zeros(shape), *args, **given)
    assert str(ours.value) == str(theirs.value)


# Rows


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize(
    ("shape", "dim"), [((3, 5), 1), ((3, 5), 0), ((8, 64), 1), ((2, 8, 4, 4), 1), ((5, 7, 3), -2)]
)
def test_softmax(name, shape, dim, device):
    array = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    twice(lambda lib, x: getattr(lib, name)(x, dim), [array], device)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_special_values(name, device):
    inf = float("inf")
    rows = [[1e4, 1e4, -1e4], [-inf, 0, 0], [-inf, -inf, -inf], [inf, 0, 0], [float("nan"), 0, 0]]
    want = getattr(torch, name)(torch.tensor(rows), 1)
    check(want, getattr(wgtorch, name)(wgtorch.tensor(rows, device=device), 1))
    for shape, dim in (((), 0), ((0, 3), 1), ((4, 0), 1)):
        assert getattr(wgtorch.zeros(shape, device=device), name)(dim).shape == shape


@pytest.mark.parametrize(("shape", "normalized"), [((3, 5), (5,)), ((4, 6, 8), (8,)),
                                                   ((4, 6, 8), (6, 8))])  # fmt: skip
def test_layer_norm(shape, normalized, device):
    rng = np.random.default_rng(2)
    arrays = [rng.standard_normal(s).astype(np.float32) for s in (shape, normalized, normalized)]
    norms = {torch: F.layer_norm, wgtorch: wgtorch.layer_norm}
    twice(lambda lib, x, w, b: norms[lib](x, normalized, w, b), arrays, device, 2e-3)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (4, 8, 4, 4)])
def test_batch_norm(shape, training, device):
    rng = np.random.default_rng(3)
    size = shape[1]
    arrays = [rng.standard_normal(s).astype(np.float32) for s in (shape, (size,), (size,))]
    mean, var = rng.standard_normal(size), rng.uniform(0.5, 2, size)
    kept = {}

    def call(lib, x, w, b):
        running = [lib.tensor(v.astype(np.float32), device=x.device) for v in (mean, var)]
        kept[lib] = running
        return lib.batch_norm(x, w, b, *running, training, 0.1, 1e-5, False)

    twice(call, arrays, device, 5e-3)
    for want, got in zip(kept[torch], kept[wgtorch], strict=True):
        check(want, got)


def test_other_norms(device):
    rng = np.random.default_rng(4)
    array, weight = rng.standard_normal((2, 6, 4)), rng.standard_normal(6)
    x, w = torch.tensor(array, dtype=torch.float32), torch.tensor(weight, dtype=torch.float32)
    y, v = (wgtorch.tensor(t.numpy(), device=device) for t in (x, w))
    check(torch.group_norm(x, 3, w, w), wgtorch.group_norm(y, 3, v, v))
    want = torch.instance_norm(x, w, w, None, None, True, 0.1, 1e-5, False)
    check(want, wgtorch.instance_norm(y, v, v))
    check(F.rms_norm(x, (4,)), wgtorch.rms_norm(y, (4,)))
