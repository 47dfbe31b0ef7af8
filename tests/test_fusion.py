"""A kernel is found by structure alone: random programs, run twice, must agree with numpy.

The second run meets the kernels of the first with other numbers, layouts and lifetimes.
"""

import gc

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.backends.webgpu import backend as webgpu_backend
from wgtorch.backends.webgpu import holding
from wgtorch.op import REGISTRY

UNARY = ["neg", "exp", "sin", "tanh", "relu", "sigmoid"]
BINARY = ["add", "sub", "mul"]
SHAPES = [(6, 8), (6, 1), (8,), (), (1, 8)]


def program(seed: int, scale: float):
    """A list of (numpy array, tensor) made by random ops; some are dropped on the way."""
    structure, data = np.random.default_rng(seed), np.random.default_rng(int(scale * 1000))
    pairs = []
    for _ in range(4):
        array = data.standard_normal(SHAPES[structure.integers(len(SHAPES))]).astype(np.float32)
        pairs.append((array, torch.tensor(array, device="webgpu")))
    for _ in range(30):
        choice = structure.integers(8)
        a, ta = pairs[structure.integers(len(pairs))]
        if choice < 2:
            name = UNARY[structure.integers(len(UNARY))]
            pairs.append((REGISTRY[name].reference(a), getattr(ta, name)()))
        elif choice < 5:
            b, tb = pairs[structure.integers(len(pairs))]
            name = BINARY[structure.integers(len(BINARY))]
            pairs.append((REGISTRY[name].reference(a, b), getattr(ta, name)(tb)))
        elif choice == 5:
            number = np.float32(scale * structure.standard_normal())
            pairs.append((a * number, ta * float(number)))
        elif choice == 6 and a.ndim == 2:
            pairs.append((a.T.copy(), ta.permute(1, 0)) if a.shape[0] == a.shape[1] else
                         (a.sum(0), ta.sum(0)))  # fmt: skip
        elif len(pairs) > 3:
            pairs.pop(structure.integers(len(pairs)))
        pairs[-1] = tame(*pairs[-1])
    return pairs


def tame(array, tensor):
    """Keeps values small, so that errors stay comparable."""
    return np.tanh(array), tensor.tanh()


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    for scale in (0.5, 1.5):
        for array, tensor in program(seed, scale):
            np.testing.assert_allclose(tensor.cpu().numpy(), array, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("seed", range(30))
def test_random_gradients(seed):
    """Both devices run the same formulas; the GPU fuses them."""

    def grads(device):
        structure, data = np.random.default_rng(seed), np.random.default_rng(seed + 1)
        leaves = [
            torch.tensor(data.standard_normal(shape, dtype="f4"), device=device, requires_grad=True)
            for shape in [(4, 6), (4, 1), (6,), ()]
        ]
        pool = list(leaves)
        for _ in range(16):
            a, b = (pool[structure.integers(len(pool))] for _ in "ab")
            name = (UNARY + BINARY * 3)[structure.integers(15)]
            out = getattr(a, name)(b) if name in BINARY else getattr(a, name)()
            pool.append(out.tanh())
            if structure.integers(3) == 0 and len(pool) > 5:
                pool.pop(structure.integers(4, len(pool)))
        total = pool[-1].sum()
        for t in pool[-4:-1]:
            total = total + (t * t).sum()
        total.backward()
        return [leaf.grad.cpu().numpy() if leaf.grad is not None else None for leaf in leaves]

    for ours, want in zip(grads("webgpu"), grads("cpu"), strict=True):
        assert (ours is None) == (want is None)
        if want is not None:
            np.testing.assert_allclose(ours, want, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_that_write_over_operands(seed, monkeypatch):
    """As if all tensors were large."""
    monkeypatch.setattr(webgpu_backend, "LEAST", 1)
    for array, tensor in program(seed, 0.7):
        np.testing.assert_allclose(tensor.cpu().numpy(), array, rtol=2e-4, atol=2e-4)


def test_synchronize_computes_what_is_alive(webgpu):
    queue = backend(torch.device(webgpu)).queue
    x = torch.tensor([0.5, 1.5], device=webgpu)
    torch.webgpu.synchronize()
    before = queue.counted["dispatches"]
    y, z, constant = (x * 2 + 1).exp(), torch.rand(3, device=webgpu), torch.ones(4, device=webgpu)
    x.sin()  # nobody holds it
    torch.webgpu.synchronize()
    assert queue.counted["dispatches"] == before + 2
    assert y.value.promise is None and z.value.promise is None and constant.value.promise
    torch.webgpu.synchronize()
    assert queue.counted["dispatches"] == before + 2
    np.testing.assert_allclose(y.cpu(), np.exp([2.0, 4.0]), 1e-6)


def test_sharing_is_structure():
    x, y = (torch.tensor(np.float32([v, v]), device="webgpu") for v in (2, 3))
    assert ((x + x) * x).cpu().numpy()[0] == 8
    assert ((x + y) * x).cpu().numpy()[0] == 10
    assert ((x + y) * y).cpu().numpy()[0] == 15
    z = x + y
    assert (z * z).cpu().numpy()[0] == 25
    assert ((x + y) * (y + x)).cpu().numpy()[0] == 25


def test_lifetime_is_structure():
    x = torch.tensor(np.ones(5, np.float32), device="webgpu")
    assert ((x + 1) * 3).cpu().numpy()[0] == 6  # x + 1 is not stored
    kept = x + 1
    assert (kept * 3).cpu().numpy()[0] == 6  # here it is
    assert kept.value.promise is None and kept.cpu().numpy()[0] == 2


def test_a_value_may_die_once_its_kernel_is_chosen(monkeypatch):
    """The garbage collector comes when it likes; here, when memory for results is taken."""
    x = torch.ones(8, device="webgpu")
    home = x.device.backend
    take = home.take
    monkeypatch.setattr(home, "take", lambda nbytes: (gc.collect(), take(nbytes))[1])
    gc.disable()
    try:
        middle = x * 2
        out, cycle = middle + 1, [middle]
        cycle.append(cycle)
        del middle, cycle
        assert out.tolist() == [3.0] * 8
    finally:
        gc.enable()


def test_warm_run_compiles_nothing():
    gpu = backend(torch.tensor(0.0, device="webgpu").device)

    def step(number):
        x = torch.tensor(np.full((4, 5), number, np.float32), device="webgpu")
        return ((x * number + 1).relu().sum(0) - number).cpu().numpy()

    step(1.0)
    known = len(gpu.kernels)
    np.testing.assert_allclose(step(2.0), 4 * 5 - 2)
    assert len(gpu.kernels) == known


def test_more_operands_than_an_adapter_binds():
    tensors = [torch.tensor(np.full(8, i, np.float32), device="webgpu") for i in range(24)]
    total, sums = tensors[0], []
    for t in tensors[1:]:
        total = total + t
        sums.append(total)  # alive, hence stored: 24 loads and 23 stores
    assert total.cpu().numpy()[0] == sum(range(24))
    assert sums[3].cpu().numpy()[0] == 10


LYING = {  # an operand of (6, 5): the shape of its memory, and how that is seen
    "whole": ((6, 5), lambda x: x),
    "row": ((5,), lambda x: x),
    "column": ((6, 1), lambda x: x),
    "number": ((3,), lambda x: x[1]),
    "turned": ((5, 6), lambda x: x.T),
    "part": ((9, 5), lambda x: x[3:]),
    "stepped": ((6, 10), lambda x: x[:, ::2]),
    "one of several": ((3, 6, 5), lambda x: x[1]),
}


@pytest.mark.parametrize("seed", range(20))
def test_long_chains_of_operands_that_lie_in_every_way(seed):
    rng, dtypes = np.random.default_rng(seed), ["float32", "int32", "uint8", "bool", "float16"]
    total, want = torch.zeros(6, 5, device="webgpu"), np.zeros((6, 5), "f4")
    for _ in range(20):
        shape, seen = LYING[rng.choice([*LYING])]
        array = rng.integers(0, 2, shape).astype(rng.choice(dtypes) if seed % 2 else "float32")
        total = total + seen(torch.tensor(array, device="webgpu"))
        want = want + seen(array)
    np.testing.assert_allclose(total.cpu().numpy(), want, 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("number", "want"), [(0.5, 1.5), (2, 3), (True, 2)], ids=["float", "int", "bool"]
)
def test_numbers_promote(number, want):
    for device in ("cpu", "webgpu"):
        out = torch.tensor(np.int32([1]), device=device) + number
        assert out.cpu().numpy()[0] == want
        assert out.dtype is (torch.float32 if isinstance(number, float) else torch.int32)


def test_numbers_beyond_float32_become_infinite():
    x = torch.tensor(np.float32([1]), device="webgpu")
    assert (x * 1e39).cpu().numpy()[0] == np.inf


def unbounded(monkeypatch):
    monkeypatch.setattr(webgpu_backend, "MAX_FUSED", 1 << 16)
    monkeypatch.setattr(holding, "MAX_FUSED", 1 << 16)


@pytest.mark.parametrize("count", [300, 600])
def test_a_kernel_may_read_many_numbers(count, monkeypatch):
    """More than fit one slot of the ring; some dispatches on, more than are left of it."""
    unbounded(monkeypatch)
    x = torch.tensor(np.zeros(4, np.float32), device="webgpu")
    home = backend(x.device)
    for start in range(0, 70, 10):
        y = x
        for number in range(start, start + count):
            y = y + number
        home.fill(y.value)
        assert y.tolist() == [sum(range(start, start + count))] * 4
        kept = [home.fill((x + n).value) for n in range(5)]
        assert len(kept) == 5


def test_no_kernel_reads_more_numbers_than_an_adapter_lets_it(monkeypatch):
    unbounded(monkeypatch)
    monkeypatch.setattr(webgpu_backend, "MOST_NUMBERS", 400)
    x = torch.tensor(np.zeros(4, np.float32), device="webgpu")
    for number in range(310):
        x = x + number
    home = backend(x.device)
    home.queue.flush()
    before = home.queue.waiting
    home.fill(x.value)
    assert home.queue.waiting - before >= 4
    assert x.tolist() == [sum(range(310))] * 4


def test_arguments_are_named_or_refused():
    x = torch.tensor(np.ones((2, 3), np.float32))
    assert x.sum(dim=(1,), keepdim=True).shape == (2, 1)
    assert torch.sum(input=x, dim=0).shape == (3,)
    assert x.permute([1, 0]).shape == (3, 2)
    for wrong in (
        lambda: x.permute(),
        lambda: x.sum(0, True, 1),
        lambda: x.sum(axes=0),
        lambda: x.sum(0, dim=0),
        lambda: x + "1",
    ):
        with pytest.raises(TypeError):
            wrong()


@pytest.mark.parametrize("dims", [None, 0, 1, (0, 2), (1, 2), (0, 1)])
def test_reductions_of_promises(dims):
    array = np.random.default_rng(0).standard_normal((4, 5, 6)).astype(np.float32)
    x = torch.tensor(array, device="webgpu")
    for keepdim in (False, True):
        want = np.sum(array * 2, axis=dims, keepdims=keepdim)
        have = (x * 2).sum(dims, keepdim=keepdim).cpu().numpy()
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)
    moved = np.sum(array.transpose(2, 0, 1) * 2, axis=dims)
    out = (x.permute((2, 0, 1)) * 2).sum(dims).cpu().numpy()
    np.testing.assert_allclose(out, moved, rtol=1e-4, atol=1e-5)
    kept = np.sum(array.transpose(2, 0, 1), axis=dims)
    out = x.permute((2, 0, 1)).sum(dims).cpu().numpy()
    np.testing.assert_allclose(out, kept, rtol=1e-4, atol=1e-5)


def test_a_temporary_that_is_folded_is_not_stored():
    x = torch.tensor(np.ones((4, 5), np.float32), device="webgpu", requires_grad=True)
    pool = backend(x.device).gpu.pool
    before = pool.live.current
    total = (x * 3).sum()
    assert total.item() == 60 and pool.live.current - before == 4
    y = x * 5
    assert y.sum().item() == 100 and y.value.promise is None  # held here, hence stored


def test_a_kernel_of_our_own_that_does_not_compile_is_called_our_mistake(webgpu):
    pipelines, source = backend(torch.device(webgpu)).gpu.pipelines, "\n" * 90 + "fn f() { oops }\n"
    with pytest.raises(RuntimeError) as caught:
        pipelines.get(source, "add+mul")
    said = str(caught.value)
    assert said.startswith("add+mul does not compile: ") and "wgtorch's own" in said
    assert "91 fn f() { oops }" in said.replace("  ", " ") and len(said.splitlines()) < 10
    assert (torch.ones(2, device=webgpu) + 1).tolist() == [2, 2]
