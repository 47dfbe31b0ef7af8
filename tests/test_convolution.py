"""Convolutions and their gradients against float64 sums of shifted images, and PyTorch's errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import wgtorch
from wgtorch import Tensor
from wgtorch.autograd import grad as gradient
from wgtorch.backend import backend
from wgtorch.backends.webgpu.structured import Launcher
from wgtorch.device import Device
from wgtorch.ops import few_channels, spreading, windows

TOLERANCE = 1e-6  # of float32, as a share of the norm
HALF = {"float16": 2e-3, "bfloat16": 2e-2}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def normal(rng, *shape) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def apart(got: Tensor, want: np.ndarray) -> float:
    """The distance, as a share of the norm."""
    found = got.detach().to(wgtorch.float32).cpu().numpy().astype(np.float64)
    assert found.shape == want.shape
    return float(np.linalg.norm(found - want) / max(np.linalg.norm(want), 1e-30))


class Shifted:
    """A two-dimensional convolution as its definition: for each tap a shifted, thinned image."""

    def __init__(self, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.groups = groups

    def slices(self, tap, places) -> tuple:
        return tuple(
            slice(t * d, t * d + (o - 1) * s + 1, s)
            for t, d, o, s in zip(tap, self.dilation, places, self.stride, strict=True)
        )

    def padded(self, x: np.ndarray) -> np.ndarray:
        return np.pad(x.astype(np.float64), [(0, 0), (0, 0), *((p, p) for p in self.padding)])

    def places(self, x, w) -> tuple:
        return tuple(
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, p, d, k, s in zip(
                x.shape[2:], self.padding, self.dilation, w.shape[2:], self.stride, strict=True
            )
        )

    def forward(self, x, w) -> np.ndarray:
        padded, places, g = self.padded(x), self.places(x, w), self.groups
        out = np.zeros((len(x), len(w), *places))
        for tap in np.ndindex(*w.shape[2:]):
            seen = padded[(..., *self.slices(tap, places))]
            seen = seen.reshape(len(x), g, -1, *places)
            rows = w[(..., *tap)].astype(np.float64).reshape(g, len(w) // g, -1)
            out += np.einsum("ngcyx,gmc->ngmyx", seen, rows).reshape(out.shape)
        return out

    def backward(self, x, w, seed) -> tuple[np.ndarray, np.ndarray]:
        padded, places, g = self.padded(x), seed.shape[2:], self.groups
        dx, dw = np.zeros_like(padded), np.zeros(w.shape)
        seed = seed.astype(np.float64).reshape(len(x), g, -1, *places)
        for tap in np.ndindex(*w.shape[2:]):
            at = (..., *self.slices(tap, places))
            rows = w[(..., *tap)].astype(np.float64).reshape(g, len(w) // g, -1)
            dx[at] += np.einsum("ngmyx,gmc->ngcyx", seed, rows).reshape(len(x), -1, *places)
            seen = padded[at].reshape(len(x), g, -1, *places)
            dw[(..., *tap)] = np.einsum("ngmyx,ngcyx->gmc", seed, seen).reshape(w.shape[:2])
        inside = tuple(slice(p, p + n) for p, n in zip(self.padding, x.shape[2:], strict=True))
        return dx[(..., *inside)], dw


def check(device, rng, x_shape, w_shape, dtype="float32", turned=False, **geometry: Any) -> None:
    """The result and the gradients of all three, with a bias."""
    definition = Shifted(**geometry)
    x, w, b = normal(rng, *x_shape), normal(rng, *w_shape), normal(rng, w_shape[0])
    want = definition.forward(x, w) + b.reshape(-1, 1, 1)
    seed = normal(rng, *want.shape)
    kind = getattr(wgtorch, dtype)
    tensors = [on(device, a, turned).to(kind).requires_grad_() for a in (x, w, b)]
    got = wgtorch.conv2d(*tensors, **geometry)
    limit = HALF.get(dtype, TOLERANCE)
    assert got.dtype is kind
    assert apart(got, want) < limit
    got.backward(on(device, seed, turned).to(kind))
    wants = (*definition.backward(x, w, seed), seed.astype(np.float64).sum((0, 2, 3)))
    for t, gradient_ in zip(tensors, wants, strict=True):
        assert apart(t.grad, gradient_) < limit


def on(device, array: np.ndarray, turned: bool = False) -> Tensor:
    """On the device; if `turned`, with its dimensions in reverse order in memory."""
    if not turned:
        return wgtorch.tensor(array, device=device)
    reverse = tuple(reversed(range(array.ndim)))
    return wgtorch.tensor(np.ascontiguousarray(array.T), device=device).permute(reverse).detach()


GEOMETRIES = [
    {"stride": s, "padding": p, "dilation": d, "groups": g}
    for s, p, d, g in itertools.product(
        [(1, 1), (2, 3)], [(0, 0), (2, 1)], [(1, 1), (1, 2)], [1, 2]
    )
]


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_geometry(device, rng, geometry):
    check(device, rng, (2, 4, 7, 9), (6, 4 // geometry["groups"], 3, 2), **geometry)


@pytest.mark.parametrize(
    "x_shape, w_shape, geometry",
    [
        ((2, 4, 8, 8), (8, 4, 3, 3), {"padding": (1, 1)}),  # all by fours
        ((3, 8, 8, 8), (16, 8, 1, 1), {}),  # one element at a time: a plain product
        ((3, 8, 8, 8), (16, 8, 1, 1), {"stride": (2, 2)}),
        ((2, 6, 5, 5), (6, 1, 3, 3), {"padding": (1, 1), "groups": 6}),  # each channel its own
        ((5, 1, 6, 6), (3, 1, 6, 6), {}),  # a single place
        ((40, 3, 6, 6), (5, 3, 3, 3), {"padding": (1, 1)}),  # long sums for the weight
    ],
)
def test_shapes(device, rng, x_shape, w_shape, geometry):
    check(device, rng, x_shape, w_shape, **geometry)


def test_sums_of_parts_keep_apart(device, rng):
    """A product and a gradient that both run in parts along k end in one shader, not one kernel."""
    x, y = normal(rng, 8, 2048), normal(rng, 2048, 8)
    a, b = (wgtorch.tensor(v, device=device) for v in (x, y))
    assert apart(a @ b, x.astype(np.float64) @ y) < TOLERANCE
    check(device, rng, (40, 1, 8, 8), (8, 1, 3, 3), padding=(1, 1))
    assert apart(a @ b, x.astype(np.float64) @ y) < TOLERANCE


@pytest.mark.parametrize("stride", [(1, 1), (2, 1)])
def test_any_strides_in_memory(device, rng, stride):
    check(device, rng, (2, 4, 6, 8), (4, 2, 3, 3), turned=True, groups=2, stride=stride)
    check(device, rng, (2, 4, 8, 8), (4, 4, 1, 1), turned=True, stride=stride)


@pytest.mark.parametrize("dtype", HALF)
def test_halves(device, rng, dtype):
    check(device, rng, (2, 4, 8, 8), (8, 4, 3, 3), dtype, padding=(1, 1))
    check(device, rng, (2, 3, 7, 5), (5, 3, 3, 3), dtype)


def test_transposed_is_the_gradient(device, rng):
    """Of every geometry, one that leaves places over included."""
    for geometry, more in [
        ({}, (0, 0)),
        ({"stride": (2, 3), "padding": (1, 0)}, (1, 2)),
        ({"stride": (2, 2), "dilation": (3, 1), "padding": (2, 1)}, (2, 1)),
        ({"groups": 2, "padding": (1, 1)}, (0, 0)),
    ]:
        definition = Shifted(**geometry)
        sums = normal(rng, 2, 4, 5, 4)
        weight = normal(rng, 4, 6 // definition.groups, 3, 2)
        a, w = (wgtorch.tensor(v, device=device, requires_grad=True) for v in (sums, weight))
        got = wgtorch.conv_transpose2d(a, w, output_padding=more, **geometry)
        images = np.zeros(tuple(got.shape))
        if definition.places(images, weight) != (5, 4):  # more than a stride: places left over
            images = np.zeros((*images.shape[:2], *(n - 1 for n in images.shape[2:])))
        assert apart(got[tuple(slice(n) for n in images.shape)],
                     definition.backward(images, weight, sums)[0]) < TOLERANCE  # fmt: skip
        seed = normal(rng, *got.shape)
        got.backward(wgtorch.tensor(seed, device=device))
        assert apart(a.grad, definition.forward(seed, weight)[:, :, :5, :4]) < TOLERANCE
        assert apart(w.grad, definition.backward(seed, weight, sums)[1]) < TOLERANCE


@pytest.mark.parametrize("worth", [0, 1 << 60])
@pytest.mark.parametrize("stride", [(1, 1), (2, 3), (3, 1)])
@pytest.mark.parametrize("kernel", [(3, 2), (1, 1), (4, 5)])
def test_phase_by_phase(webgpu, rng, monkeypatch, worth, stride, kernel):
    """Spreading in one pass and in a pass for each phase, with taps that meet nothing."""
    monkeypatch.setattr(spreading, "WORTH_PASSES", {True: worth, False: worth})
    home = backend(Device(webgpu))
    monkeypatch.setattr(home, "structured", Launcher(home).structured)
    for padding, groups in itertools.product([(0, 0), (1, 2)], [1, 2]):
        x, w = normal(rng, 2, 4, 9, 8), normal(rng, 6, 4 // groups, *kernel)
        definition = Shifted(stride, padding, (1, 1), groups)
        seed = normal(rng, 2, 6, *definition.places(x, w))
        a, b = (wgtorch.tensor(v, device=webgpu, requires_grad=True) for v in (x, w))
        out = wgtorch.conv2d(a, b, stride=stride, padding=padding, groups=groups)
        out.backward(wgtorch.tensor(seed, device=webgpu))
        assert apart(a.grad, definition.backward(x, w, seed)[0]) < TOLERANCE


def test_second_gradients(device, rng):
    """The sum of squared gradients has the gradient that differences say."""
    x, w = normal(rng, 1, 2, 5, 4), normal(rng, 3, 2, 3, 2)

    def penalty(x, w):
        a, b = (wgtorch.tensor(v, device=device, requires_grad=True) for v in (x, w))
        out = wgtorch.conv2d(a, b, stride=2, padding=1)
        da, db = gradient((out * out).sum(), (a, b), create_graph=True)
        return (da * da).sum() + (db * db).sum(), a, b

    total, a, b = penalty(x, w)
    total.backward()
    along = [normal(rng, *v.shape) for v in (x, w)]
    step = 1e-2
    ends = [penalty(x + s * along[0], w + s * along[1])[0].item() for s in (step, -step)]
    said = sum(float((t.grad.cpu().numpy() * v).sum()) for t, v in zip((a, b), along, strict=True))
    assert said == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=2e-3)


def test_one_dimension(device, rng):
    x, w = normal(rng, 2, 4, 11), normal(rng, 6, 2, 3)
    definition = Shifted((1, 2), (0, 1), (1, 2), 2)
    want = definition.forward(x[:, :, None], w[:, :, None])
    got = wgtorch.conv1d(
        *(wgtorch.tensor(v, device=device) for v in (x, w)), stride=2, padding=1, dilation=2,
        groups=2,
    )  # fmt: skip
    assert apart(got, want[:, :, 0]) < TOLERANCE


def test_words_for_padding(device, rng):
    x, w = normal(rng, 1, 2, 6, 7), normal(rng, 3, 2, 2, 4)
    a, b = (wgtorch.tensor(v, device=device) for v in (x, w))
    dilation = (3, 1)
    padded = np.pad(x, [(0, 0), (0, 0), (1, 2), (1, 2)])  # the greater half behind
    want = Shifted(dilation=dilation).forward(padded, w)
    assert apart(wgtorch.conv2d(a, b, padding="same", dilation=dilation), want) < TOLERANCE
    assert apart(wgtorch.conv2d(a, b, padding="valid"), Shifted().forward(x, w)) < TOLERANCE


def test_without_batch(device, rng):
    x, w = normal(rng, 2, 6, 7), normal(rng, 3, 2, 3, 3)
    a, b = (wgtorch.tensor(v, device=device) for v in (x, w))
    assert apart(wgtorch.conv2d(a, b), Shifted().forward(x[None], w)[0]) < TOLERANCE


def test_no_images(device):
    w = wgtorch.ones(4, 3, 3, 3, device=device, requires_grad=True)
    got = wgtorch.conv2d(wgtorch.ones(0, 3, 5, 5, device=device), w)
    assert tuple(got.shape) == (0, 4, 3, 3)
    got.sum().backward()
    assert not w.grad.cpu().numpy().any()


def test_integers(device, rng):
    x, w = rng.integers(-9, 9, (2, 4, 6, 5)), rng.integers(-9, 9, (6, 2, 3, 2))
    geometry = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2), "groups": 2}
    got = wgtorch.conv2d(*(wgtorch.tensor(v, device=device) for v in (x, w)), **geometry)
    assert got.dtype is wgtorch.int64
    np.testing.assert_array_equal(got.cpu().numpy(), Shifted(**geometry).forward(x, w))


@pytest.mark.parametrize(
    "shapes, options, text",
    [
        (((3,), (4, 3, 3, 3)), {},
         "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [3]"),
        (((1, 2, 5, 5), (4, 3, 3, 3)), {},
         "Given groups=1, weight of size [4, 3, 3, 3], expected input[1, 2, 5, 5] to have 3"
         " channels, but got 2 channels instead"),
        (((1, 4, 5, 5), (3, 2, 3, 3)), {"groups": 2},
         "Given groups=2, expected weight to be divisible by 2 at dimension 0, but got weight of"
         " size [[3, 2, 3, 3]] instead"),
        (((1, 3, 5, 5), (0, 3, 3, 3)), {},
         "Given groups=1, expected weight to be at least 1 at dimension 0, but got weight of size"
         " [0, 3, 3, 3] instead"),
        (((1, 4, 5, 5), (4, 2, 3, 3)), {"groups": 0}, "non-positive groups is not supported"),
        (((1, 3, 5, 5), (4, 3, 3, 3), (5,)), {},
         "Given weight of size [4, 3, 3, 3], expected bias to be 1-dimensional with 4 elements,"
         " but got bias of size [5] instead"),
        (((1, 3, 2, 2), (4, 3, 3, 3)), {},
         "Calculated padded input size per channel: (2 x 2). Kernel size: (3 x 3). Kernel size"
         " can't be greater than actual input size"),
        (((1, 3, 5, 5), (4, 3, 3, 3)), {"stride": 0}, "non-positive stride is not supported"),
        (((1, 3, 5, 5), (4, 3, 3, 3)), {"padding": -1}, "negative padding is not supported"),
        (((1, 3, 5, 5), (4, 3, 3, 3)), {"dilation": 0},
         "dilation should be greater than zero, but got [0, 0]"),
        (((1, 3, 5, 5), (4, 3, 3, 3)), {"stride": (1, 2, 3)},
         "expected stride to be a single integer value or a list of 2 values to match the"
         " convolution dimensions, but got stride=[1, 2, 3]"),
        (((1, 3, 5, 5), (4, 3, 3, 3)), {"stride": 2, "padding": "same"},
         "padding='same' is not supported for strided convolutions"),
        (((1, 3, 5, 5), (4, 3, 3, 3)), {"padding": "full"}, "Invalid padding string: 'full'"),
    ],
)  # fmt: skip
def test_errors(device, shapes, options, text):
    with pytest.raises(RuntimeError) as caught:
        wgtorch.conv2d(*(wgtorch.ones(s, device=device) for s in shapes), **options)
    assert text in str(caught.value)


def test_transposed_errors(device):
    def ones(*shape):
        return wgtorch.ones(shape, device=device)

    with pytest.raises(RuntimeError, match="Given transposed=1, weight of size"):
        wgtorch.conv_transpose2d(ones(1, 2, 5, 5), ones(3, 4, 3, 3))
    with pytest.raises(RuntimeError, match="output padding must be smaller than either stride"):
        wgtorch.conv_transpose2d(ones(1, 3, 5, 5), ones(3, 4, 3, 3), output_padding=1)
    with pytest.raises(RuntimeError, match="Output size is too small"):
        wgtorch.conv_transpose2d(ones(1, 3, 2, 2), ones(3, 4, 1, 1), padding=2)


def test_channels_of_their_own(webgpu, rng, monkeypatch):
    """Depthwise, as adapters do it that do not run eight threads as one."""
    monkeypatch.setattr(windows, "eight_as_one", lambda traits: False)
    home = backend(Device(webgpu))
    monkeypatch.setattr(home, "structured", Launcher(home).structured)
    for dtype, stride in itertools.product(["float32", "float16"], [(1, 1), (2, 1)]):
        check(
            webgpu, rng, (2, 6, 7, 5), (6, 1, 3, 2), dtype, stride=stride, padding=(1, 1), groups=6
        )


FEW = [  # channels of the images, or of each group
    ((2, 3, 19, 18), (6, 3, 7, 7), {"stride": (2, 2), "padding": (3, 3)}),
    ((2, 1, 8, 9), (40, 1, 3, 3), {"padding": (1, 1)}),
    ((1, 5, 9, 7), (6, 5, 3, 2), {"stride": (2, 3), "padding": (1, 0)}),
    ((2, 8, 6, 6), (3, 8, 2, 2), {"stride": (2, 2)}),
    ((3, 4, 9, 8), (8, 1, 3, 2), {"groups": 4, "stride": (2, 1), "dilation": (1, 2)}),
    ((2, 6, 20, 19), (6, 1, 5, 5), {"groups": 6, "padding": (2, 2)}),
    ((2, 2, 70, 70), (2, 1, 3, 3), {"groups": 2}),
    ((2, 3, 9, 12), (3, 1, 3, 2), {"groups": 3, "padding": (1, 2), "dilation": (1, 4)}),
    ((2, 3, 9, 8), (3, 1, 3, 3), {"groups": 3, "padding": (1, 1), "stride": (1, 2)}),
]


@pytest.mark.parametrize(("x_shape", "w_shape", "geometry"), FEW)
def test_few_channels(either_share, rng, monkeypatch, x_shape, w_shape, geometry):
    monkeypatch.setattr(few_channels, "LEAST", 0)
    for turned in (False, True):
        check(either_share, rng, x_shape, w_shape, turned=turned, **geometry)
    check(either_share, rng, x_shape, w_shape, "float16", **geometry)


def test_transposed_to_few_channels_has_a_bias(either_share, rng, monkeypatch):
    monkeypatch.setattr(few_channels, "LEAST", 0)
    x, w, b = normal(rng, 2, 5, 6, 4), normal(rng, 5, 2, 3, 3), normal(rng, 2)
    options = {"stride": 2, "padding": 1, "output_padding": 1}
    got, want = [
        wgtorch.conv_transpose2d(*[wgtorch.tensor(a, device=d) for a in (x, w, b)], **options)
        for d in (either_share, "cpu")
    ]
    assert apart(got, want.numpy().astype(np.float64)) < TOLERANCE


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("turned", [False, True])
def test_windows_beside_each_other(either_share, rng, monkeypatch, groups, turned):
    """One product for each image, stored in steps of the window."""
    monkeypatch.setattr(spreading, "WORTH_PASSES", {True: 0, False: 0})
    x, w, b = normal(rng, 2, 6, 3, 4), normal(rng, 6, 5, 2, 3), normal(rng, 5 * groups)
    got = wgtorch.conv_transpose2d(
        *[on(either_share, a, turned) for a in (x, w, b)], stride=(2, 3), groups=groups
    )
    want = Shifted((2, 3), groups=groups).backward(np.zeros((2, 5 * groups, 6, 12)), w, x)[0]
    assert apart(got, want + b.reshape(-1, 1, 1)) < TOLERANCE
