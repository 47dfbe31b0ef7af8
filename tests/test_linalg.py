"""Products of matrices and vectors: every kernel against float64, and PyTorch's errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import wgtorch
from wgtorch import Tensor
from wgtorch.backend import backend
from wgtorch.backends.webgpu.structured import Launcher
from wgtorch.device import Device
from wgtorch.ops import product

TOLERANCE = 1e-6  # of a float32 product, as a share of its norm
HALF = {"float16": 1e-3, "bfloat16": 8e-3}


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


def exact(*arrays: np.ndarray) -> np.ndarray:
    return np.matmul(*(a.astype(np.float64) for a in arrays))


# Kernels: each is made to run everything, whatever the adapter would choose


def tiles(number: int, parts: int = 1):
    return lambda p, traits: product.tiled(p, product.TILES[number], parts)


def plain(p, traits):
    return product.cut("matmul_plain.wgsl", (), p, 32, 32, 1, 4)


def plain_in_parts(p, traits):
    return product.cut("matmul_plain.wgsl", (), p, 32, 32, 3, 4)


SMALLEST = next(n for n, tile in enumerate(product.TILES) if tile.rows == tile.cols == 32)
KERNELS = {
    "chosen": product.choose,
    "plain": plain,
    "plain/3": plain_in_parts,
    "tile": tiles(SMALLEST),
    "tile/3": tiles(SMALLEST, 3),
    "tile in slices": tiles(-1),
}


@pytest.fixture
def home(webgpu, monkeypatch):
    """The backend, with no plan remembered into or out of the test."""
    home = backend(Device(webgpu))
    monkeypatch.setattr(home, "structured", Launcher(home).structured)
    return home


@pytest.fixture(params=KERNELS)
def kernel(request, webgpu, home, monkeypatch) -> str:
    """The device, made to use one kernel."""
    tile = request.param.startswith("tile")
    if tile and home.gpu.traits.group_size < 256:
        pytest.skip("the adapter's workgroups are too small")
    monkeypatch.setattr(product, "choose", KERNELS[request.param])
    return webgpu


SIZES = [
    (64, 64, 64), (33, 27, 45), (100, 42, 76), (7, 3, 5), (1, 1, 1), (1, 64, 40), (40, 64, 1),
    (12, 20, 36),
]  # fmt: skip


@pytest.mark.parametrize("m, k, n", SIZES)
@pytest.mark.parametrize("turned", ["nn", "nt", "tn", "tt"])
def test_every_kernel(kernel, rng, m, k, n, turned):
    x, y = normal(rng, m, k), normal(rng, k, n)
    a = wgtorch.tensor(x if turned[0] == "n" else x.T.copy(), device=kernel)
    b = wgtorch.tensor(y if turned[1] == "n" else y.T.copy(), device=kernel)
    a = a if turned[0] == "n" else a.t()
    b = b if turned[1] == "n" else b.t()
    assert apart(a @ b, exact(x, y)) < TOLERANCE


@pytest.mark.parametrize("k", [44, 80, 144])  # the last two are whole tiles, not whole slices
@pytest.mark.parametrize("number", range(len(product.TILES)))
def test_every_tile(home, rng, monkeypatch, number, k):
    tile = product.TILES[number]
    if home.gpu.traits.group_size < tile.group:
        pytest.skip("the adapter's workgroups are too small")
    monkeypatch.setattr(product, "choose", tiles(number))
    x, y = normal(rng, 300, k), normal(rng, k, 260)
    a, b = (wgtorch.tensor(v, device=home.device) for v in (x, y))
    assert apart(a @ b, exact(x, y)) < TOLERANCE


def test_offsets_and_gaps(kernel, rng):
    x, y = normal(rng, 30, 70), normal(rng, 70, 50)
    a, b = (wgtorch.tensor(v, device=kernel) for v in (x, y))
    for rows, ks, cols in [
        (slice(1, 29), slice(2, 66), slice(3, 47)),
        (slice(4, 28), slice(4, 64), slice(8, 48)),
        (slice(0, 30, 2), slice(1, 69, 3), slice(0, 50, 5)),
    ]:
        got = a[rows, ks] @ b[ks, cols]
        assert apart(got, exact(x[rows, ks], y[ks, cols])) < TOLERANCE


def test_batches(kernel, rng):
    x, y = normal(rng, 3, 2, 12, 8), normal(rng, 3, 2, 8, 20)
    a, b = (wgtorch.tensor(v, device=kernel) for v in (x, y))
    assert apart(a @ b, exact(x, y)) < TOLERANCE
    assert apart(a[:, :1] @ b, exact(x[:, :1], y)) < TOLERANCE  # one batch axis broadcast
    assert apart(a @ b[0, 0], exact(x, y[0, 0])) < TOLERANCE
    assert apart(a[0, 0] @ b, exact(x[0, 0], y)) < TOLERANCE
    heads = a.transpose(0, 1), b.transpose(0, 1)
    assert apart(heads[0] @ heads[1], exact(x.swapaxes(0, 1), y.swapaxes(0, 1))) < TOLERANCE


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("m, k, n", [(20, 24, 16), (9, 7, 5), (1, 70, 6), (6, 70, 1)])
@pytest.mark.parametrize("kernel", ["chosen", "plain/3"], indirect=True)
def test_halves(kernel, rng, m, k, n, dtype):
    """Summed in float32, rounded once."""
    half = getattr(wgtorch, dtype)
    x, y, z = (wgtorch.tensor(normal(rng, *s)).to(half) for s in ((m, k), (k, n), (n,)))
    wide = [v.to(wgtorch.float32).numpy() for v in (x, y, z)]
    a, b, c = (v.to(kernel) for v in (x, y, z))
    got = a @ b
    assert got.dtype is half
    assert apart(got, exact(*wide[:2])) < HALF[dtype]
    assert apart(a.t() @ (a @ b), exact(wide[0].T, plain_of(got))) < 2 * HALF[dtype]
    assert apart(c.addmm(a, b), exact(*wide[:2]) + wide[2]) < HALF[dtype]


def plain_of(t: Tensor) -> np.ndarray:
    return t.to(wgtorch.float32).cpu().numpy()


def test_addend(kernel, rng):
    x, y = normal(rng, 18, 12), normal(rng, 12, 24)
    a, b = (wgtorch.tensor(v, device=kernel) for v in (x, y))
    for z in (normal(rng, 24), normal(rng, 18, 1), normal(rng, 18, 24), normal(rng)):
        c = wgtorch.tensor(z, device=kernel)
        assert apart(c.addmm(a, b), exact(x, y) + z) < TOLERANCE
        got = wgtorch.addmm(c, a, b, beta=0.5, alpha=-2)
        assert apart(got, 0.5 * z - 2 * exact(x, y)) < TOLERANCE
    column = normal(rng, 12, 1)
    z = normal(rng, 18)
    got = wgtorch.addmv(*(wgtorch.tensor(v, device=kernel) for v in (z, x, column[:, 0])))
    assert apart(got, z + exact(x, column)[:, 0]) < TOLERANCE


def test_nothing_to_sum(kernel):
    x, y = wgtorch.ones(5, 0, device=kernel), wgtorch.ones(0, 6, device=kernel)
    assert (x @ y).cpu().numpy().tolist() == np.zeros((5, 6)).tolist()
    z = wgtorch.arange(6.0, device=kernel)
    assert z.addmm(x, y).cpu().numpy()[3].tolist() == list(range(6))


def test_vector_kernel(webgpu, home, rng, monkeypatch):
    """As GPUs multiply with one column or one row."""
    traits = replace(home.gpu.traits, is_software=False, kind="discrete")
    monkeypatch.setattr(home.gpu, "traits", traits)
    for m, k in [(5, 64), (130, 100), (3, 1030), (200, 71)]:
        x, v = normal(rng, m, k), normal(rng, k)
        a, b = wgtorch.tensor(x, device=webgpu), wgtorch.tensor(v, device=webgpu)
        turned = wgtorch.tensor(x.T.copy(), device=webgpu).t()
        for side in (a, turned):
            assert apart(side @ b, exact(x, v[:, None])[:, 0]) < TOLERANCE
            assert apart(b @ side.t(), exact(x, v[:, None])[:, 0]) < TOLERANCE


# What users call


def test_empty(device):
    for x, y, shape in [
        ((0, 3), (3, 4), (0, 4)), ((3, 0), (0, 4), (3, 4)), ((3, 4), (4, 0), (3, 0)),
        ((0, 2, 3), (0, 3, 4), (0, 2, 4)), ((2, 0, 3), (3, 4), (2, 0, 4)), ((0,), (0,), ()),
    ]:  # fmt: skip
        got = wgtorch.zeros(x, device=device) @ wgtorch.zeros(y, device=device)
        assert tuple(got.shape) == shape
        assert not got.cpu().numpy().any()


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8"])
def test_integers_wrap(device, rng, dtype):
    kind = getattr(wgtorch, dtype)
    x, y = (rng.integers(-100, 100, size).astype(dtype) for size in ((5, 70), (70, 6)))
    want = x @ y
    a, b = (wgtorch.tensor(v, device=device) for v in (x, y))
    got = a @ b
    assert got.dtype is kind
    np.testing.assert_array_equal(got.cpu().numpy(), want)
    np.testing.assert_array_equal((a[0] @ b[:, 0]).cpu().numpy(), want[0, 0])
    np.testing.assert_array_equal(
        wgtorch.addmm(b[0], a, b, beta=2, alpha=3).cpu().numpy(),
        (b.cpu().numpy()[0] * 2 + want * 3).astype(dtype),
    )


def test_beta_zero_ignores_what_would_be_added(device):
    nan = wgtorch.full((2, 2), float("nan"), device=device)
    one = wgtorch.eye(2, device=device)
    assert nan.addmm(one, one, beta=0, alpha=2).cpu().numpy().tolist() == [[2, 0], [0, 2]]


def test_many_batch_axes(device, rng):
    x, y = normal(rng, 2, 3, 4, 5, 6), normal(rng, 3, 1, 6, 5)
    a = wgtorch.tensor(x, device=device)
    x = x.transpose(2, 1, 0, 3, 4)
    got = a.permute(2, 1, 0, 3, 4) @ wgtorch.tensor(y, device=device)
    assert apart(got, exact(x, y)) < TOLERANCE


def test_linear_has_leading_dimensions(device, rng):
    x, w, b = normal(rng, 2, 3, 5, 8), normal(rng, 4, 8), normal(rng, 4)
    a, u, c = (wgtorch.tensor(v, device=device, requires_grad=True) for v in (x, w, b))
    out = wgtorch.linear(a.permute(1, 0, 2, 3), u, c)
    assert apart(out, exact(x.transpose(1, 0, 2, 3), w.T) + b) < TOLERANCE
    seed = normal(rng, 3, 2, 5, 4)
    out.backward(wgtorch.tensor(seed, device=device))
    assert apart(a.grad, exact(seed, w).transpose(1, 0, 2, 3)) < TOLERANCE
    flat = seed.reshape(-1, 4), x.transpose(1, 0, 2, 3).reshape(-1, 8)
    assert apart(u.grad, exact(flat[0].T, flat[1])) < TOLERANCE
    assert apart(c.grad, flat[0].astype(np.float64).sum(0)) < TOLERANCE


def test_gradients_of_broadcast_batches(device, rng):
    x, y = normal(rng, 2, 1, 3, 4), normal(rng, 5, 4, 6)
    a, b = (wgtorch.tensor(v, device=device, requires_grad=True) for v in (x, y))
    (a @ b).sum().backward()
    ones = np.ones((2, 5, 3, 6))
    assert apart(a.grad, exact(ones, y.swapaxes(1, 2)).sum(1, keepdims=True)) < TOLERANCE
    assert apart(b.grad, exact(x.swapaxes(2, 3), ones).sum(0)) < TOLERANCE


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda o: o(3, 4).mm(o(5, 6)), RuntimeError,
         "mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)"),
        (lambda o: o(3).mm(o(3, 4)), RuntimeError, "self must be a matrix"),
        (lambda o: o(3, 4).mm(o(4)), RuntimeError, "mat2 must be a matrix"),
        (lambda o: o(3, 4) @ o(5, 6), RuntimeError,
         "mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)"),
        (lambda o: o(2, 3, 4) @ o(5, 6), RuntimeError,
         "mat1 and mat2 shapes cannot be multiplied (6x4 and 5x6)"),
        (lambda o: o() @ o(5, 6), RuntimeError,
         "both arguments to matmul need to be at least 1D, but they are 0D and 2D"),
        (lambda o: o(3) @ o(4), RuntimeError,
         "inconsistent tensor size, expected tensor [3] and src [4] to have the same number of"
         " elements, but got 3 and 4 elements respectively"),
        (lambda o: o(3, 4) @ o(5), RuntimeError,
         "size mismatch, got input (3), mat (3x4), vec (5)"),
        (lambda o: o(2, 3, 4) @ o(2, 5, 6), RuntimeError,
         "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [2, 5]."),
        (lambda o: o(2, 3, 4) @ o(3, 4, 6), RuntimeError,
         "The size of tensor a (2) must match the size of tensor b (3) at non-singleton"
         " dimension 0"),
        (lambda o: o(3, 4).bmm(o(2, 4, 5)), RuntimeError, "batch1 must be a 3D tensor"),
        (lambda o: o(2, 3, 4).bmm(o(3, 4, 5)), RuntimeError,
         "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [3, 4]."),
        (lambda o: o(3, 4).mm(o(4, 5).to(wgtorch.int64)), RuntimeError,
         "expected m1 and m2 to have the same dtype, but got: float != long int"),
        (lambda o: o(2, 2).bool() @ o(2, 2).bool(), NotImplementedError,
         "\"addmm_impl_cpu_\" not implemented for 'Bool'"),
        (lambda o: o(4).mv(o(3)), RuntimeError, "vector + matrix @ vector expected, got 1, 1, 1"),
        (lambda o: o(2, 3).dot(o(3)), RuntimeError,
         "1D tensors expected, but got 2D and 1D tensors"),
        (lambda o: o(2, 5).addmm(o(3, 4), o(4, 6)), RuntimeError,
         "The expanded size of the tensor (6) must match the existing size (5) at non-singleton"
         " dimension 1.  Target sizes: [3, 6].  Tensor sizes: [2, 5]"),
        (lambda o: o(6).addmm(o(3), o(4, 6)), RuntimeError,
         "mat1 must be a matrix, got 1-D tensor"),
        (lambda o: o(3, 5).addbmm(o(2, 3, 4), o(3, 4, 5)), RuntimeError,
         "batch1 and batch2 must have same number of batches, got 2 and 3"),
        (lambda o: o(3, 1).outer(o(4)), RuntimeError,
         "outer: Expected 1-D argument self, but got 2-D"),
        (lambda o: wgtorch.linear(o(2, 2, 3), o(4, 5)), RuntimeError,
         "mat1 and mat2 shapes cannot be multiplied (4x3 and 5x4)"),
        (lambda o: wgtorch.linear(o(2, 3), o(4, 3), o(5)), RuntimeError,
         "The expanded size of the tensor (4) must match the existing size (5) at non-singleton"
         " dimension 1.  Target sizes: [2, 4].  Tensor sizes: [5]"),
        (lambda o: o(2, 3) @ 3, TypeError,
         "matmul(): argument 'other' (position 2) must be Tensor, not int"),
    ],
)  # fmt: skip
def test_errors(device, call, error, text):
    with pytest.raises(error) as caught:
        call(lambda *shape: wgtorch.ones(shape, device=device))
    assert text in str(caught.value)
