"""A budget for saved tensors: kept on six models, whatever becomes of what is evicted."""

import gc

import numpy as np
import pytest
from recorder import N, T, close, graph, ramp

import wgtorch as torch
from wgtorch import nn
from wgtorch.autograd import budget as budgets
from wgtorch.autograd.ledger import ledger_of


class Block(nn.Module):
    """Attention and a feed-forward part."""

    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(width)
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.mix(self.norm(x)).chunk(3, -1)
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = [t.reshape(shape).transpose(1, 2) for t in (q, k, v)]
        a = (q @ k.transpose(-2, -1)).softmax(-1)
        return x + self.out((a @ v).transpose(1, 2).reshape(x.shape))


class Recurrent(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.into, self.on = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        h = x[:, 0] * 0.0
        for step in range(x.shape[1]):
            h = torch.tanh(self.into(x[:, step]) + self.on(h))
        return h


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(24, 24) for _ in range(5)])

    def forward(self, x):
        for layer in self.layers:
            x = x + nn.functional.gelu(layer(x))
        return x


class Looked(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(11, 16)
        self.blocks = nn.Sequential(Block(), Block(), nn.Linear(16, 11))

    def forward(self, x):
        return self.blocks(self.tokens((x.abs() * 5).long() % 11)).log_softmax(-1)


MODELS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(),
                                  nn.Linear(64, 5), nn.Softmax(-1)), (32, 20)),
    "convolution": (lambda: nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(),
                                          nn.MaxPool2d(2), nn.Conv2d(4, 8, 3), nn.Sigmoid(),
                                          nn.Flatten(), nn.Linear(32, 3)), (4, 1, 8, 8)),
    "attention": (lambda: nn.Sequential(Block(), Block(), Block()), (2, 9, 16)),
    "recurrent": (Recurrent, (6, 9, 12)),
    "residual": (Residual, (16, 24)),
    "embedding": (Looked, (3, 8)),
}  # fmt: skip


@pytest.fixture
def thens(tmp_path):
    def recompute():
        """Away, and computed again from something smaller: here from a second copy of its bits."""
        return (lambda t: (t.half() * 1.0, t - t.half().float()) if t.dtype is torch.float32
                else t.detach()), \
               lambda p: p[0].float() + p[1] if isinstance(p, tuple) else p  # fmt: skip

    return {
        "host": graph.save_on_cpu,
        "host ahead": lambda: graph.save_on_cpu(prefetch=2),
        "disk": lambda: graph.spill_to_disk(tmp_path, 0, min_size=0),
        "pair": recompute,
    }


def gradients(model, x, context=None):
    for p in model.parameters():
        p.grad = None
    x = x.detach().requires_grad_(True)
    if context is None:
        loss = model(x).square().sum()
    else:
        with context:
            loss = model(x).square().sum()
    loss.backward()
    grads = [p.grad for p in model.parameters()]
    return grads + ([x.grad] if x.grad is not None else [])


def watched(context):
    """The most that is held after each pack, and the largest memory that a slot keeps."""
    seen = {"most": 0, "largest": 0, "final": 0}
    purse = context.purse
    pack, memory = purse.pack, purse.memory

    def packing(tensor):
        packed = pack(tensor)
        seen["final"] = max(seen["final"], purse.held)
        return packed

    def counting(tensor):
        seen["largest"] = max(seen["largest"], tensor.storage.value.nbytes)
        found = memory(tensor)
        seen["most"] = max(seen["most"], purse.held)
        return found

    context.pack_hook, purse.memory = packing, counting
    return seen


@pytest.mark.parametrize("name", MODELS)
def test_the_peak_keeps_to_the_budget(device, thens, name, rounding):
    make, shape = MODELS[name]
    model, x = make().to(device), ramp(shape, device)
    want = gradients(model, x)
    whole = graph.device_budget(1024)
    gradients(model, x, whole)
    assert whole.evicted == 0 and whole.peak > 0 and whole.held == 0
    for then in ("host", "host ahead", "disk"):
        if device == "cpu" and then != "disk":
            continue  # what is on the host is there already
        for share in (0.5, 0.25, 0.0):
            budget = whole.peak * share
            context = graph.device_budget(budget / 2**20, then=thens[then]())
            seen = watched(context)
            got = gradients(model, x, context)
            for a, b in zip(got, want, strict=True):
                np.testing.assert_allclose(N(a), N(b), rounding, rounding)
            assert seen["most"] <= budget + seen["largest"]
            assert seen["final"] <= budget and context.peak == seen["most"]
            assert context.evicted >= whole.peak - budget - seen["largest"]
            del got
            gc.collect()
            assert context.held == 0


@pytest.mark.parametrize("name", ["mlp", "attention"])
def test_any_pair_of_functions_will_do(device, thens, name):
    make, shape = MODELS[name]
    model, x = make().to(device), ramp(shape, device)
    want = gradients(model, x)
    for then in (thens["pair"](), list(thens["pair"]())):
        context = graph.device_budget(0.001, then=then)
        for a, b in zip(gradients(model, x, context), want, strict=True):
            close(a, b, rtol=1e-4, atol=1e-5)
        assert context.evicted > 0
    context = graph.device_budget(0.001, then=graph.saved_tensors_hooks(*thens["pair"]()))
    for a, b in zip(gradients(model, x, context), want, strict=True):
        close(a, b, rtol=1e-4, atol=1e-5)


def test_device_memory_falls_with_the_budget(webgpu):
    x = ramp((256, 256), webgpu, grad=True)
    size = 256 * 256 * 4

    def held(context):
        torch.webgpu.synchronize()
        before = torch.memory_stats()["allocated_bytes.all.current"]
        with context:
            h = x
            for _ in range(8):
                h = h.tanh()
            loss = h.sum()
        del h
        torch.webgpu.synchronize()
        kept = torch.memory_stats()["allocated_bytes.all.current"] - before
        (grad,) = torch.autograd.grad(loss, x)
        return kept, N(grad)

    plain, want = held(torch.enable_grad())
    assert plain >= 8 * size
    for slots in (6, 3, 1):
        kept, got = held(graph.device_budget(slots * size / 2**20))
        assert (slots - 0.5) * size < kept <= (slots + 0.5) * size
        assert np.array_equal(got, want)


def test_what_is_saved_first_goes_first(device):
    x = ramp((100,), device, grad=True)
    gone, elsewhere = [], []

    def pack(t):
        gone.append(round(float(t.abs().max()), 4))
        elsewhere.append(t.cpu().numpy().copy())
        return len(elsewhere) - 1

    def unpack(place):
        return torch.from_numpy(elsewhere[place]).to(device)

    context = graph.device_budget(3 * 400 / 2**20, then=(pack, unpack))
    values = [x]
    with context:
        for _ in range(6):
            values.append(values[-1].tanh())  # saves its result: 400 bytes each
    tops = [round(float(v.abs().max()), 4) for v in values[1:]]
    assert gone == tops[:3] and context.held == 3 * 400 and context.evicted == 1200
    slots, node = [], values[-1].grad_fn
    while hasattr(node, "_raw_saved_result"):
        slots.append(node._raw_saved_result.data)
        node = node.next_functions[0][0]
    assert [slot.is_out for slot in slots] == [False] * 3 + [True] * 3
    slots.clear()
    values[-1].sum().backward()
    assert context.held == 0
    with torch.enable_grad():
        again = x.detach().requires_grad_(True)
        h = again
        for _ in range(6):
            h = h.tanh()
        h.sum().backward()
    close(x.grad, again.grad)


def test_memory_kept_by_several_slots_counts_once(device):
    x = ramp((100,), device, grad=True)
    context = graph.device_budget(1)
    with context:
        h = x.tanh()
        y = h.sin() + h.cos() + h[:50].exp().sum()
    assert context.held == 400 + 200  # h, and the exp of its half
    tight = graph.device_budget(0)
    with tight:
        h = x.tanh()
        z = h.sin() + h.cos() + h[:50].exp().sum()
    y.sum().backward()
    want = N(x.grad).copy()
    x.grad = None
    z.sum().backward()
    close(x.grad, want)


def test_what_a_compression_leaves_counts(device):
    x = ramp((1024,), device, grad=True)

    def half(t):
        return t.half()

    context = graph.device_budget(0, then=(half, lambda p: p.float()))
    with context:
        y = x.exp()
    assert context.evicted == 4096 and context.held == 2048
    del y
    assert context.held == 0


def test_writes_after_saving_are_not_seen(device):
    x = ramp((40,), device, grad=True)
    for mib in (0, 1):
        x.grad = None
        h = x * 1.0
        with graph.device_budget(mib):
            y = h * h
        h.mul_(100.0)
        y.sum().backward()
        close(x.grad, 2 * np.linspace(-1, 1.5, 40), atol=1e-5)


def test_parameters_and_small_ones_stay(device):
    p = nn.Parameter(ramp((8, 8), device))
    x = ramp((64, 8), device, grad=True)
    context = graph.device_budget(0, min_size=512)
    with context:
        y = (x @ p).sum(0).exp()  # saves x (2 KiB), p, and exp's result (32 bytes)
    assert context.evicted == 64 * 8 * 4 and context.held >= 32
    raw = y.grad_fn._raw_saved_result.data
    assert type(raw) is budgets.Kept and not raw.is_out
    y.sum().backward()
    assert np.isfinite(N(p.grad)).all()


def test_an_eviction_that_fails_leaves_the_graph_as_it_was(device):
    x = ramp((100,), device, grad=True)
    fails = [True]

    def pack(t):
        if fails[0]:
            raise OSError("no room")
        return t.clone()

    context = graph.device_budget(500 / 2**20, then=(pack, lambda t: t))
    with context:
        y = x.tanh()
        with pytest.raises(OSError, match="no room"):
            y.tanh()
        fails[0] = False
        z = y.tanh()
    assert context.evicted >= 400
    z.sum().backward()
    t = np.tanh(N(x))
    close(x.grad, (1 - np.tanh(t) ** 2) * (1 - t * t), rtol=1e-4, atol=1e-6)


def test_kept_graphs_and_dropped_ones(device):
    x = ramp((64,), device, grad=True)
    context = graph.device_budget(300 / 2**20)
    with context:
        y = x.exp().sin().tanh()
    first = torch.autograd.grad(y.sum(), x, retain_graph=True)[0]
    second = torch.autograd.grad(y.sum(), x)[0]
    assert np.array_equal(N(first), N(second))
    for _ in range(50):
        with context:
            y = x.exp().sin().tanh()
    del y
    gc.collect()
    assert context.held == 0 and len(context.purse.order) <= 160


@pytest.mark.parametrize("wrong", [-1, "2", True, float("nan")])
def test_the_budget_is_a_size(wrong):
    with pytest.raises(ValueError, match="device_budget: the budget is a size in MiB"):
        graph.device_budget(wrong)


@pytest.mark.parametrize("wrong", [3, (len,), "cpu", torch.tensor])
def test_then_is_a_pair(wrong):
    with pytest.raises(TypeError, match="device_budget: `then` is a context"):
        graph.device_budget(1, then=wrong)


def test_a_budget_over_one_tensor(device):
    s = T(3.0, device, grad=True)
    with graph.device_budget(0):
        y = s * s * s
    y.backward()
    close(s.grad, 27.0)


def test_the_ledger_and_the_budget_agree(webgpu):
    x = ramp((64, 64), webgpu, grad=True)
    ledger = ledger_of(torch.device(webgpu))

    def held():
        gc.collect()
        stats = ledger.stats()
        return [stats[f"saved_tensors.{place}_bytes.current"] for place in ("device", "host")]

    before = held()
    size = 64 * 64 * 4
    context = graph.device_budget(2 * size / 2**20)
    with context:
        h = x
        for _ in range(5):
            h = h.tanh()
        loss = h.sum()
    now = held()
    assert now[0] - before[0] == context.held == 2 * size
    assert now[1] - before[1] == context.evicted == 3 * size
    loss.backward()
    del loss, h
    assert held() == before


def test_what_leaves_late_travels_once_for_all_its_slots(webgpu):
    """Also where its own tensor is gone by then."""
    x = ramp((64, 64), webgpu, grad=True)
    torch.webgpu.synchronize()
    before = torch.memory_stats()["saved_tensors.d2h_bytes.total"]
    with graph.device_budget(3 * 16384 / 2**20, then=graph.save_on_cpu()):
        h = x
        for _ in range(6):
            h = h.softmax(-1).sin()  # each softmax is saved twice, each sine once
    torch.webgpu.synchronize()
    moved = torch.memory_stats()["saved_tensors.d2h_bytes.total"] - before
    assert moved == (6 - 3) * 16384
    h.sum().backward()
    assert np.isfinite(N(x.grad)).all()


def test_what_dies_takes_no_lock():
    """The garbage collector may run anywhere: where another thread waits for a lock held here."""
    context = graph.device_budget(1)
    with context:
        y = ramp((64,), "cpu", grad=True).exp()
    assert context.held == 256
    lock, context.purse.lock = context.purse.lock, None
    del y
    context.purse.lock = lock
    assert context.held == 0
