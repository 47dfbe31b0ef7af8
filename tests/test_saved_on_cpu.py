"""Saved tensors in host memory."""

import numpy as np
import pytest
from recorder import N, T, close, graph, ramp

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.backends.webgpu import queue
from wgtorch.device import Device


def make_mlp(device, seed=0):
    rng = np.random.default_rng(seed)
    ws = [
        T((rng.standard_normal((24, 24)) * 0.3).astype(np.float32).tolist(), device, True)
        for _ in range(4)
    ]

    def forward(x):
        h = x
        for i, w in enumerate(ws):
            h = h @ w
            h = [torch.tanh, torch.sigmoid, torch.relu, torch.exp][i](h * 0.5)
        return (torch.softmax(h, -1) * h).sum()

    return ws, forward


def test_save_on_cpu_gradients_are_bitwise_equal(device):
    x = ramp((9, 24), device)
    ws, f = make_mlp(device)
    f(x).backward()
    want = [N(w.grad).copy() for w in ws]
    for pin in (False, True):
        for w in ws:
            w.grad = None
        with graph.save_on_cpu(pin_memory=pin):
            loss = f(x)
        loss.backward()
        for w, g in zip(ws, want, strict=True):
            assert np.array_equal(N(w.grad), g)
            assert w.grad.device.type == torch.device(device).type


def test_save_on_cpu_makes_no_copy_of_a_cpu_graph(device):
    if device != "cpu":
        pytest.skip("a cpu graph")
    x = ramp((7,), device, grad=True)
    with graph.save_on_cpu():
        y = x * x
    assert y.grad_fn._saved_self.data_ptr() == x.data_ptr()


def test_empty_and_zero_dim_tensors(device):
    e = torch.zeros((0, 3), device=device).requires_grad_(True)
    s = T(3.0, device, grad=True)
    with graph.save_on_cpu():
        y = (e * e).sum() + s * s * s
    y.backward()
    assert tuple(e.grad.shape) == (0, 3) and tuple(s.grad.shape) == ()
    close(s.grad, 27.0)


# --------------------------------------------------------------------------- every form
def test_forms_of_save_on_cpu(device):
    x = ramp((3, 4), device, grad=True)

    def work():
        return (x.exp() * x).sum()

    want = torch.autograd.grad(work(), x)[0]
    for loss in (
        graph.save_on_cpu(work),
        graph.save_on_cpu(work, pin_memory=True),
        graph.save_on_cpu(fn=work),
    ):
        close(torch.autograd.grad(loss, x)[0], want)
    for context in (
        graph.save_on_cpu(), graph.save_on_cpu(True), graph.save_on_cpu(pin_memory=True),
        graph.save_on_cpu(device_type="webgpu"), graph.save_on_cpu(offload_parameters=True),
    ):  # fmt: skip
        with context:
            loss = work()
        close(torch.autograd.grad(loss, x)[0], want)
    with pytest.raises(TypeError, match="pin_memory"):
        graph.save_on_cpu(3)


def packed(tensor):
    """What comes back for a saved tensor, and what waited on the host."""
    with graph.save_on_cpu():
        node = (tensor * T([2.0], tensor.device, grad=True)).grad_fn
    raw = node._raw_saved_self
    return node._saved_self, raw.data


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "uint8", "bool"])
def test_every_dtype_comes_back_bit_for_bit(webgpu, dtype):
    x = torch.tensor([[0, 1, 2], [3, 250, 7]], device=webgpu).to(getattr(torch, dtype))
    back, waiting = packed(x)
    assert waiting.host.is_cpu
    assert back.dtype is x.dtype and back.device == x.device
    assert back.cpu().tolist() == x.cpu().tolist()


@pytest.mark.parametrize(
    ("view", "moved"),
    [
        (lambda x: x, 24), (lambda x: x.transpose(0, 2), 24), (lambda x: x[1], 12),
        (lambda x: x[:, 1:2].expand(2, 5, 4), 8), (lambda x: x[:, :, ::2], 12),
        (lambda x: x[0, 0, 0], 1), (lambda x: x[:, :0], 0), (lambda x: x.permute(1, 2, 0)[1:], 16),
        (lambda x: x[:, None, 0].expand(2, 3, 4), 8),
    ],
)  # fmt: skip
def test_views_come_back_with_their_strides(webgpu, view, moved):
    base = ramp((2, 3, 4), webgpu)
    x = view(base)
    back, waiting = packed(x)
    assert back.shape == x.shape and back.stride() == x.stride() and back.storage_offset() == 0
    assert np.array_equal(N(back), N(x))
    assert waiting.host.numel() == moved
    assert waiting.host.storage.value.numel == moved


def test_a_cpu_tensor_in_a_device_graph_stays(webgpu):
    x = T([1.0, 2.0], webgpu, grad=True)
    c = T(3.0, "cpu")
    with graph.save_on_cpu():
        y = x * c
    saved = y.grad_fn._raw_saved_other.data
    assert not hasattr(saved, "is_cpu") or saved.is_cpu
    y.sum().backward()
    close(x.grad, [3.0, 3.0])


def test_packing_neither_submits_nor_cuts_a_kernel(webgpu):
    x = ramp((64,), webgpu, grad=True)
    with graph.save_on_cpu():
        h = x.exp()
        y = h.exp()
    assert h.storage.value.promise is not None and y.storage.value.promise is not None
    y.sum().backward()
    e = np.exp(np.linspace(-1, 1.5, 64))
    close(x.grad, np.exp(e) * e, rtol=1e-4)


def test_a_write_after_packing_is_not_seen(webgpu):
    x = T([1.0, 2.0], webgpu, grad=True)
    h = x * 1.0
    with graph.save_on_cpu():
        y = h * h
    with torch.no_grad():
        h.mul_(100.0)
    y.sum().backward()
    close(x.grad, [2.0, 4.0])


def test_device_memory_falls_to_what_is_not_saved(webgpu):
    x = ramp((256, 256), webgpu, grad=True)

    def held(context):
        with context:
            h = x
            for _ in range(4):
                h = h.tanh()
            loss = h.sum()
        del h
        loss.item()
        return torch.memory_stats()["allocated_bytes.all.current"], loss

    before = torch.memory_stats()["allocated_bytes.all.current"]
    plain, loss = held(torch.enable_grad())
    (want,) = torch.autograd.grad(loss, x)
    want = N(want)
    del loss
    moved, loss = held(graph.save_on_cpu())
    size = 256 * 256 * 4
    assert plain - before >= 4 * size and moved - before < size
    (got,) = torch.autograd.grad(loss, x)
    assert np.array_equal(N(got), want)


def test_parameters_are_not_copied_unless_asked(webgpu):
    p = torch.nn.Parameter(ramp((4, 4), webgpu))
    x = ramp((2, 4), webgpu)
    for context, stays in (
        (graph.save_on_cpu(), True),
        (graph.save_on_cpu(offload_parameters=True), False),
    ):
        with context:
            y = x.requires_grad_(True) @ p.t()
        (weight,) = [raw for raw in (y.grad_fn._raw_saved_mat2,) if raw is not None]
        assert hasattr(weight.data, "host") is not stays
    assert graph.is_parameter_memory(p) and graph.is_parameter_memory(p.t()[1:])
    assert graph.is_parameter_memory(p.detach()) and not graph.is_parameter_memory(x)


def test_reading_a_slot_waits_for_its_copy(webgpu):
    x = ramp((33,), webgpu, grad=True)
    with graph.save_on_cpu():
        y = x.exp()
    close(y.grad_fn._saved_result, np.exp(np.linspace(-1, 1.5, 33)))
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn


def test_many_steps_leave_memory_flat(webgpu):
    x = ramp((64, 64), webgpu, grad=True)

    def step():
        with graph.save_on_cpu():
            loss = (x.tanh() * x).sum()
        loss.backward()
        x.grad = None
        return loss.item()

    step()
    step()
    first = torch.memory_stats()
    for _ in range(10):
        step()
    last = torch.memory_stats()
    for name in ("allocated_bytes.all.current", "reserved_bytes.all.current"):
        assert last[name] == first[name]


def test_what_is_saved_twice_travels_once(webgpu):
    x = ramp((64,), webgpu, grad=True)
    h = x * 1.0
    with graph.save_on_cpu():
        y = (h * h) * h
    first, second = (y.grad_fn.next_functions[0][0]._raw_saved_self, y.grad_fn._raw_saved_other)
    assert first.data.host is second.data.host
    h[:3].mul_(2.0)
    with graph.save_on_cpu():
        z = h.sin()
    assert z.grad_fn._raw_saved_self.data.host is not first.data.host
    y.sum().backward()
    close(x.grad, 3 * np.linspace(-1, 1.5, 64) ** 2, atol=1e-5)


def test_a_batch_norm_makes_its_gradient_before_it_fetches_its_input(webgpu):
    """At no time there is more than the gradient, and the input or what the gradient is made of."""
    if not torch.webgpu.get_device_properties().mappable:
        pytest.skip("all that backward needs is fetched before it begins")
    x = torch.rand(64, 4, 256, device=webgpu, requires_grad=True)
    norm = torch.nn.BatchNorm1d(4).to(webgpu)
    with graph.save_on_cpu():
        total = norm(x * 2).relu().sin().sum()
    torch.webgpu.synchronize()
    torch.reset_peak_memory_stats(webgpu)
    before = torch.memory_stats(webgpu)["allocated_bytes.all.current"]
    total.backward()
    torch.webgpu.synchronize()
    peak = torch.memory_stats(webgpu)["allocated_bytes.all.peak"]
    assert x.nbytes < peak - before < 3 * x.nbytes


def saved_product(x):
    """An operand that is saved and stored by the kernel which also sums it up; its copy leaves as
    soon as that kernel is recorded."""
    w = torch.ones(64, 64, device="webgpu", requires_grad=True)
    with graph.save_on_cpu():
        z = (x * 2).exp()
        loss = (z * w).sum()
    loss.backward()
    close(w.grad, np.exp(2 * N(x)), 1e-5)


def test_no_copy_leaves_before_its_kernel_when_memory_is_short(webgpu, monkeypatch):
    home = backend(Device(webgpu))
    x, take = ramp((64, 64), webgpu), home.take
    monkeypatch.setattr(home, "take", lambda nbytes: (home.empty_cache(), take(nbytes))[1])
    saved_product(x)


def test_no_copy_leaves_before_its_kernel_when_bind_groups_are_dropped(webgpu, monkeypatch):
    x = ramp((64, 64), webgpu)
    monkeypatch.setattr(queue, "GROUPS_KEPT", 1)
    for _ in range(3):
        saved_product(x)
