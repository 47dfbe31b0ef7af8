"""Ready-made compression: the bound each kind states, its ratio, and trainings that do not mind."""

import numpy as np
import pytest
from recorder import N, T, close, graph, ramp

import wgtorch as torch
from wgtorch import nn
from wgtorch.backend import backend
from wgtorch.config import MAX_FUSED

LOSSY = {"float16": 2.0, "bfloat16": 2.0, "int8": 3.87, "int4": 7.1}  # kind -> least ratio


def saved(kind, array, device, **options):
    """What a sine gets back of its input, and the bytes that were kept for it."""
    x = torch.tensor(array, device=device, requires_grad=True)
    with graph.compress(kind, check="values", **options):  # holds it to its own bound, too
        y = (x * 1).sin()
    (row,) = graph.saved_tensor_report(y)
    return N(y.grad_fn._saved_self), row.held


def normal(shape, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def bound(kind, array):
    """In numpy, what the documentation says."""
    size = np.abs(array.astype(np.float64))
    if kind == "float16":
        return np.maximum(size * 2.0**-11, 2.0**-25)
    if kind == "bfloat16":
        return size * 2.0**-8
    block, levels = {"int8": (256, 255), "int4": (128, 15)}[kind]
    flat = array.reshape(-1)
    whole = flat.size // block * block
    allowed = np.zeros(flat.size)
    rows = flat[:whole].reshape(-1, block).astype(np.float64)
    step = (rows.max(1) - rows.min(1)) / (2 * levels)
    allowed[:whole] = np.repeat(step, block) * 1.01
    return allowed.reshape(array.shape) + 1e-6 * size.max()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("kind", LOSSY)
def test_every_element_is_within_the_bound(device, kind, scale):
    array = normal((37, 211), scale=scale)  # not a whole number of blocks
    back, _ = saved(kind, array, device)
    error = np.abs(back.astype(np.float64) - array)
    assert (error <= bound(kind, array)).all()
    assert error.max() > 0  # it is lossy, so the bound was put to use


@pytest.mark.parametrize("kind", LOSSY)
def test_the_ratio_is_what_it_says(device, kind):
    array = normal((64, 512))
    _, held = saved(kind, array, device)
    assert LOSSY[kind] <= array.nbytes / held <= 8


@pytest.mark.parametrize("kind", LOSSY)
def test_a_constant_comes_back_exactly(device, kind):
    """The example of torch.js gives NaN here."""
    back, _ = saved(kind, np.full((4, 256), 0.375, np.float32), device)
    assert (back == 0.375).all()


@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_extremes_of_float32_have_a_range(device, kind):
    array = normal((2, 256))
    array[0, 3], array[0, 5] = 3e38, -3e38
    back, _ = saved(kind, array, device)
    assert np.isfinite(back).all() and back[0, 3] > 2.9e38 and back[0, 5] < -2.9e38


def test_a_half_keeps_what_is_beyond_its_range_finite(device):
    array = np.full(256, 1.0, np.float32)
    array[:4] = 1e6, -1e6, np.inf, np.nan
    back, _ = saved("float16", array, device)
    assert back[:3].tolist() == [65504.0, -65504.0, np.inf] and np.isnan(back[3])


@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_a_nan_is_not_lost(device, kind):
    array = normal((2, 256))
    array[1, 7] = np.nan
    x = torch.tensor(array, device=device, requires_grad=True)
    with graph.compress(kind):
        y = (x * 1).sin()
    back = N(y.grad_fn._saved_self)
    assert np.isnan(back[1, 7]) and np.isfinite(back[0]).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("kind", LOSSY)
def test_other_floats_come_back_as_they_were(device, kind, dtype):
    if dtype == "float64" and device == "webgpu":
        pytest.skip("not every adapter has float64")
    x = torch.tensor(normal((4, 256)), device=device).to(getattr(torch, dtype)).requires_grad_()
    with graph.compress(kind, check="values"):
        y = (x * 1).sin()
    assert y.grad_fn._saved_self.dtype is x.dtype
    kept = graph.saved_tensor_report(y)[0].where
    assert kept == ("compressed" if kind.startswith("int") or dtype == "float64" else kept)


@pytest.mark.parametrize("count", [256, 257, 1000])
def test_masks_are_kept_in_bits_exactly(device, count):
    mask = np.random.default_rng(0).random(count) > 0.5
    x = T(np.ones(count).tolist(), device, grad=True)
    with graph.compress("mask1", check="values"):
        y = x.masked_fill(torch.tensor(mask, device=device), 0.0)
    (row,) = graph.saved_tensor_report(y)
    assert row.nbytes == count and row.held == count // 8 + count % 8
    y.sum().backward()
    assert np.array_equal(N(x.grad), (~mask).astype(np.float32))


def test_relu_needs_one_bit_of_thirty_two(device):
    def f(x):
        return (x * 3 - 1).relu().sum()

    x = torch.tensor(normal((8, 256)), device=device, requires_grad=True)
    (want,) = torch.autograd.grad(f(x), x)
    signs = graph.pair_if(
        lambda op, slot, t: (op, slot) == ("relu", "result"), graph.compress("sign1")
    )
    with signs:
        y = f(x)
    (row,) = graph.saved_tensor_report(y)
    assert row.nbytes == 32 * row.held
    (g,) = torch.autograd.grad(y, x)
    assert np.array_equal(N(g), N(want))


def test_small_tensors_indices_and_parameters_stay(device):
    p = nn.Parameter(torch.tensor(normal((32, 32)), device=device))
    x = torch.tensor(normal((32, 32)), device=device, requires_grad=True)
    index = torch.arange(32, device=device)
    small = ramp((255,), device, grad=True)
    with graph.compress("int4"):
        y = (p * 1).sum() + (x * p).index_select(0, index).sum() + small.sin().sum()
    rows = {(row.op, row.slot): row.where for row in graph.saved_tensor_report(y)}
    place = "host" if device == "cpu" else "device"
    assert rows == {
        ("mul", "input"): "compressed", ("mul", "other"): "parameter",
        ("index_select", "index"): place, ("sin", "input"): place,
    }  # fmt: skip


def test_what_is_saved_twice_is_compressed_once(device):
    h = torch.tensor(normal((16, 256)), device=device, requires_grad=True) * 2
    with graph.compress("int8"):
        y = h * h + h.sin()
    report = graph.saved_tensor_report(y)
    place = "host" if device == "cpu" else "device"
    assert len(report) == 3 and report.bytes_in(place) == 16 * (256 + 8)


def test_a_write_between_two_slots_is_not_shared(device):
    x = torch.tensor(normal((2, 256)), device=device, requires_grad=True)
    h = x * 1
    with graph.compress("bfloat16"):
        y = h.sin()
        with torch.no_grad():
            h.mul_(2)
        z = h.detach().requires_grad_().sin()
    close(y.grad_fn._saved_self, N(x), rtol=1e-2)
    close(z.grad_fn._saved_self, 2 * N(x), rtol=1e-2)


@pytest.mark.parametrize("outer", [graph.save_on_cpu, lambda: graph.device_budget(0)])
@pytest.mark.parametrize("device", ["webgpu"])
def test_fewer_bits_travel(device, webgpu, outer, rounding):
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)).to(webgpu)
    x = torch.tensor(normal((16, 64)), device=webgpu)
    grads, sent = [], []
    for pair in (graph.compress("int8"), graph.compose_hooks(outer(), graph.compress("int8"))):
        before = torch.memory_stats()["saved_tensors.d2h_bytes.total"]
        with pair:
            loss = model(x).square().sum()
        report = graph.saved_tensor_report(loss)
        model.zero_grad()
        loss.backward()
        sent.append(torch.memory_stats()["saved_tensors.d2h_bytes.total"] - before)
        grads.append([N(p.grad) for p in model.parameters()])
    for a, b in zip(*grads, strict=True):
        np.testing.assert_allclose(a, b, rounding, rounding)
    assert report.bytes_in("host") >= 0.95 * sent[1] > 0 == sent[0]
    assert sent[1] < (16 * 64 * 2 + 16 * 256 * 2) * 4 / 3.5


def test_it_says_what_it_takes():
    with pytest.raises(
        ValueError, match="kind is one of float16, bfloat16, int8, int4, mask1, sign1"
    ):
        graph.compress("int2")
    with pytest.raises(ValueError, match="block is an even number of elements, got 5"):
        graph.compress("int4", block=5)


@pytest.mark.slow
def test_digits_under_int8_end_where_plain_ones_do(device):
    """Within half a point of plain training, and half a point is two of the 360 images."""
    sklearn = pytest.importorskip("sklearn.datasets")
    data = sklearn.load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    images = torch.tensor((data.data[order] / 16).astype(np.float32), device=device)
    labels = torch.tensor(data.target[order], device=device)
    right = []
    for context in (torch.enable_grad, lambda: graph.compress("int8")):
        torch.manual_seed(0)
        layers = [nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 10)]
        model = nn.Sequential(*layers).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
        for step in range(240):
            batch = slice(360 + step % 11 * 128, 360 + (step % 11 + 1) * 128)
            optimizer.zero_grad()
            with context():
                loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            hits = model(images[:360]).argmax(1) == labels[:360]
        right.append(hits.float().mean().item())
    assert right[0] >= 0.95 and abs(right[1] - right[0]) <= 0.005 + 1e-6


@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_samples_of_a_vmap_are_compressed_too(device, kind):
    def f(t):
        return (t.exp() * t.masked_fill(t > 0.3, 0.5)).sum()

    x = ramp((3, 512), device)
    want = torch.func.vmap(torch.func.grad(f))(x)
    with graph.compress(kind):
        got = torch.func.vmap(torch.func.grad(f))(x)
    assert 0 < np.abs(N(got) - N(want)).max() < {"int8": 0.005, "int4": 0.05}[kind]


@pytest.mark.skipif(MAX_FUSED == 1, reason="WGTORCH_EAGER computes every op at once")
@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_packing_is_one_kernel_and_unpacking_another(webgpu, kind, monkeypatch):
    x = ramp((64, 256), webgpu)
    torch.webgpu.synchronize()
    ran, queue = [], type(backend(torch.device(webgpu)).queue)
    dispatch = queue.dispatch
    monkeypatch.setattr(
        queue, "dispatch", lambda q, k, *rest: (ran.append(k.label), dispatch(q, k, *rest))[1]
    )
    pair = graph.compress(kind)
    packed = pair.packed(x)
    assert len(ran) == 1
    back = packed.opened()
    back.device.backend.fill(back.storage.value)
    assert len(ran) == 2
    assert (np.abs(N(back) - N(x)) <= N(pair.error(x))).all()


@pytest.mark.parametrize("kind", ["int8", "int4", "float16"])
def test_derivatives_of_gradients_keep_their_tangents(device, kind):
    """Forward over reverse: how many levels an element is rounded to has no derivative."""
    x = ramp((2, 300), device)

    def f(t):
        return (t.exp() * t.sin()).tanh().sum()

    def derivatives():
        along = torch.func.jvp(torch.func.grad(f), (x[0],), (x[1],))[1]
        each = torch.vmap(lambda t, v: torch.func.jvp(torch.func.grad(f), (t,), (v,))[1])(x, x)
        return along, each

    want = derivatives()
    with graph.compress(kind):
        got = derivatives()
    for a, b in zip(got, want, strict=True):
        close(a, b, rtol=5e-3, atol=5e-3)
