"""Every example of the four pages that saved tensors come from, as Python.

They are torch.js code: arrow functions became lambdas, objects became dicts, `no_grad(fn)` became
`no_grad(fn)()`, and `t.to('int8')` stayed. Two of them are traps, which the last tests show.
"""

import asyncio

import numpy as np
import pytest
from recorder import N, T, close, same

import wgtorch as torch
from wgtorch import nn

graph = torch.autograd.graph


@pytest.fixture
def x(device):
    return T(np.linspace(-1, 1, 24).reshape(4, 6).tolist(), device, grad=True)


@pytest.fixture
def model(device):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer1, self.layer2 = nn.Linear(6, 5), nn.Linear(5, 3)

        def forward(self, x):
            return self.layer2(self.layer1(x).tanh().exp())

    return Model().to(device)


def gradients(model, run):
    model.zero_grad()
    run()
    return [N(p.grad) for p in model.parameters()]


# torch.autograd.PackHook and torch.autograd.UnpackHook


def test_simple_cpu_offloading_hooks(webgpu):
    pack_hook: torch.autograd.graph.PackHook = lambda tensor: tensor.cpu()  # noqa: E731
    unpack_hook: torch.autograd.graph.UnpackHook = lambda tensor: tensor.cuda()  # noqa: E731
    a = T([1.0, 2.0], webgpu, grad=True)
    with graph.saved_tensors_hooks(pack_hook, unpack_hook):
        y = a.exp()
    assert y.grad_fn._raw_saved_result.data.device.type == "cpu"
    y.sum().backward()
    close(a.grad, np.exp([1.0, 2.0]))


def quantized(tensor):
    low, high = tensor.min(), tensor.max()
    scale = (high - low) / 255
    levels = ((tensor - low) / scale).round().to("uint8")
    return {"quantized": levels, "min": low, "max": high, "scale": scale}


def restored(data):
    return data["quantized"].float().mul(data["scale"]).add(data["min"])


def test_quantization_hooks(x):
    with graph.saved_tensors_hooks(quantized, restored):
        y = x.exp().sum()
    (raw,) = [node._raw_saved_result for node in (y.grad_fn.next_functions[0][0],)]
    assert raw.data["quantized"].dtype is torch.uint8
    y.backward()
    close(x.grad, np.exp(N(x)), atol=1.01 * (np.e - 1 / np.e) / 510, rtol=0)


def test_identity_hooks(x):
    with graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
        y = x.exp().sum()
    y.backward()
    close(x.grad, np.exp(N(x)))


def test_profiling_hook(x, capsys):
    def pack_hook(tensor):
        size = tensor.storage().nbytes()
        print(f"Saving tensor: shape={tuple(tensor.shape)}, size={size} bytes")
        return tensor

    with graph.saved_tensors_hooks(pack_hook, same):
        x.exp()
    assert capsys.readouterr().out == "Saving tensor: shape=(4, 6), size=96 bytes\n"


def test_recomputation_hook(x):
    def recompute_layer(metadata):
        assert tuple(metadata) == (4, 6)
        return x.exp()

    with graph.saved_tensors_hooks(lambda t: t.shape, lambda metadata: recompute_layer(metadata)):
        y = x.exp().sum()
    y.backward()
    close(x.grad, np.exp(N(x)))


# torch.autograd.saved_tensors_hooks


def test_cpu_offloading(webgpu, capsys):
    model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)).to(webgpu)
    want = gradients(model, lambda: model(torch.ones(8, 6, device="cuda")).sum().backward())

    def pack(tensor):
        print(f"Saving tensor of size {tensor.numel()} to CPU")
        return tensor.cpu()

    def unpack(tensor):
        print("Restoring tensor to GPU for backward")
        return tensor.cuda()

    def run():
        y = model.forward(torch.ones(8, 6, device="cuda")).sum()
        y.backward()
        return y

    got = gradients(model, lambda: graph.saved_tensors_hooks(pack, unpack, run).item())
    assert all(np.array_equal(a, b) for a, b in zip(got, want, strict=True))
    lines = capsys.readouterr().out.splitlines()
    assert lines.count("Restoring tensor to GPU for backward") == len(lines) / 2 > 3


def test_compression(model, x):
    def pack(tensor):
        scale = tensor.abs().max()
        quantized = tensor.div(scale.mul(1.0 / 127)).round().to("int8")
        return {"data": quantized, "scale": scale}

    def unpack(packed):
        return packed["data"].float().mul(packed["scale"].mul(1.0 / 127))

    want = gradients(model, lambda: model(x).sum().backward())

    def run():
        y = model.forward(x).sum()
        y.backward()

    got = gradients(model, lambda: graph.saved_tensors_hooks(pack, unpack, run))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, atol=0.03 * np.abs(b).max())


def checkpoint_segment(segment_fn, given):
    """As on the page: right only where each saved tensor equals the segment's output."""
    torch.no_grad(lambda: segment_fn(given))()
    return graph.saved_tensors_hooks(
        lambda tensor: None, lambda data: segment_fn(given), lambda: segment_fn(given)
    )


def test_checkpointing_a_segment_that_saves_its_output(x):
    y = checkpoint_segment(torch.exp, x).sum()
    y.backward()
    close(x.grad, np.exp(N(x)))


def test_profiling(model, x, capsys):
    total = 0

    def pack(tensor):
        nonlocal total
        total += tensor.numel()
        print(f"Saved tensor: shape={tuple(tensor.shape)}, dtype={tensor.dtype}")
        return tensor

    def run():
        y = model.forward(x).sum()
        y.backward()
        print(f"Total elements saved: {total}")

    graph.saved_tensors_hooks(pack, lambda tensor: tensor, run)
    lines = capsys.readouterr().out.splitlines()
    assert "Saved tensor: shape=(4, 6), dtype=torch.float32" in lines
    assert lines[-1] == f"Total elements saved: {total}" and total > 4 * 6


def test_nesting_inner_overrides_outer(model, x, device, capsys):
    def named(name, pack, unpack):
        return (
            lambda t: (print(f"{name} pack"), pack(t))[1],
            lambda t: (print(f"{name} unpack"), unpack(t))[1],
        )

    def outer_run():
        y1 = model.layer1(x)
        return graph.saved_tensors_hooks(*named("Inner", same, same), lambda: model.layer2(y1))

    outer = named("Outer", lambda t: t.cpu(), lambda t: t.to(device))
    result = graph.saved_tensors_hooks(*outer, outer_run)
    forward = capsys.readouterr().out.splitlines()
    assert forward == ["Outer pack"] * 2 + ["Inner pack"] * 2
    result.sum().backward()
    backward = capsys.readouterr().out.splitlines()
    assert backward == ["Inner unpack"] * 2 + ["Outer unpack"] * 2


def test_fn_may_be_async(x):
    async def run():
        await asyncio.sleep(0)
        return x.exp().sum()

    packed = []
    pair = (lambda t: packed.append(1) or t, same)
    y = asyncio.run(graph.saved_tensors_hooks(*pair, run))
    x.exp()
    assert len(packed) == 1 and y.requires_grad


# torch.autograd.disable_saved_tensors_hooks


def test_disabled_for_one_operation(device):
    log = []

    def pack(t):
        log.append("pack")
        return t

    def run():
        x = torch.randn(10, 10, device=device, requires_grad=True)
        y = x.matmul(x)  # uses hooks
        assert log == ["pack"] * 2
        graph.disable_saved_tensors_hooks(lambda: y.sin())
        assert log == ["pack"] * 2
        return (y * y).sum()  # uses hooks again

    w = graph.saved_tensors_hooks(pack, same, run)
    assert log == ["pack"] * 4
    w.backward()


def test_save_on_cpu_disabled_for_a_critical_operation(webgpu):
    encoder, decoder = nn.Linear(8, 6).to(webgpu), nn.Linear(4, 2).to(webgpu)

    def run():
        batch = torch.randn(4, 8, device=webgpu)
        features = encoder(batch)
        important = graph.disable_saved_tensors_hooks(lambda: features.matmul(features.t()))
        return decoder(important)

    y = graph.save_on_cpu(run)
    places = {row.op: row.where for row in graph.saved_tensor_report(y)}
    assert places["mm"] == "device" and places["linear"] in ("host", "parameter")
    y.sum().backward()
    assert encoder.weight.grad is not None


def test_nested_hook_management(x):
    log = []

    def compress(t):
        log.append(tuple(t.shape))
        return quantized(t)

    def run():
        y = x.exp()
        graph.disable_saved_tensors_hooks(lambda: y.clone())
        return y.sin().sum()

    z = graph.saved_tensors_hooks(compress, restored, run)
    assert log == [(4, 6)] * 2
    z.backward()


# The traps


def test_the_quantization_example_divides_by_zero_on_a_constant(device):
    """(max - min) / 255 is 0, and what 0 / 0 becomes as a byte nobody promises; the ready-made
    pair never divides by it."""
    c = T([2.0] * 512, device, grad=True)
    scale = (c.max() - c.min()) / 255
    assert np.isnan(N((c - c.min()) / scale)).all()
    with graph.compress("int8", check="values"):
        (c * 1).sin().sum().backward()
    close(c.grad, np.full(512, np.cos(2.0)))


def test_the_checkpoint_example_is_wrong_for_other_segments(x):
    """It hands every slot the segment's output; `torch.utils.checkpoint` is right."""
    want = np.exp(N(x)) * np.cos(np.exp(N(x)))
    checkpoint_segment(lambda t: t.exp().sin(), x).sum().backward()
    assert not np.allclose(N(x.grad), want, atol=1e-2)
    x.grad = None
    torch.utils.checkpoint.checkpoint(lambda t: t.exp().sin(), x).sum().backward()
    close(x.grad, want, rtol=1e-4)


def test_a_test_with_gradcheck_finds_wrong_pairs():
    """Careful testing with gradcheck() is essential, says the page of UnpackHook."""
    x = torch.tensor([0.31, -0.74], dtype=torch.float64, requires_grad=True)
    with graph.saved_tensors_hooks(lambda t: t * 1.01, same):
        assert not torch.autograd.gradcheck(torch.exp, (x,), raise_exception=False)
    with graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2):
        assert torch.autograd.gradcheck(torch.exp, (x,))
