"""What several threads do to one tensor: nothing that one of them did is lost."""

import sys
import threading

import pytest

import wgtorch as torch
from wgtorch.autograd.graph import saved_tensors_hooks

THREADS = 4


@pytest.fixture(autouse=True)
def hurried():
    """Threads change places after nearly every step."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def race(work, count: int) -> None:
    """`work`, `count` times in each of the threads."""
    ready = threading.Barrier(THREADS)

    def run() -> None:
        ready.wait(20)
        for _ in range(count):
            work()

    threads = [threading.Thread(target=run, daemon=True) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


def test_every_addition_counts(device):
    x = torch.zeros(8, device=device)
    race(lambda: x.add_(1), 50)
    assert x.tolist() == [THREADS * 50] * 8
    assert x._version == THREADS * 50


def test_every_addition_to_a_part_counts(device):
    x = torch.zeros(8, device=device)

    def work() -> None:
        x[:4].add_(1)
        x[7] = 3
        x.index_add_(0, place, one)

    place, one = torch.tensor([5], device=device), torch.ones(1, device=device)
    race(work, 20)
    assert x.tolist() == [THREADS * 20] * 4 + [0, THREADS * 20, 0, 3]


def test_every_addition_to_a_large_tensor_counts(device):
    x = torch.zeros(1 << 16, device=device)
    race(lambda: x.add_(1), 10)
    assert x.min().item() == x.max().item() == THREADS * 10


def test_every_gradient_counts(device):
    p = torch.ones(8, device=device, requires_grad=True)
    race(lambda: (p * 2).sum().backward(), 20)
    assert p.grad.tolist() == [THREADS * 20 * 2] * 8


def test_every_step_of_a_weight_counts(device):
    weight = torch.zeros(8, device=device, requires_grad=True)
    g = torch.ones(8, device=device)

    def step() -> None:
        with torch.no_grad():
            weight.add_(g)

    race(step, 20)
    assert weight.tolist() == [THREADS * 20] * 8


@pytest.mark.parametrize("read", ["sum", "amax", "argmax", "relu", "explain"])
def test_who_reads_what_others_write_finds_it_whole(read, webgpu):
    a, x = torch.ones(4, 4, device=webgpu), torch.zeros(4, 4, device=webgpu)

    def work() -> None:
        x.copy_(a @ a)
        getattr(x, read)()

    race(work, 50)
    assert x.tolist() == [[4.0] * 4] * 4


@pytest.mark.parametrize("change", ["mul_", "index_put_"])
def test_a_pack_hook_may_wait_for_a_thread_that_writes(change, device):
    x, other = torch.ones(3, device=device, requires_grad=True), torch.zeros(3, device=device)
    y, waited = x * 1, []

    def pack(t):
        thread = threading.Thread(target=other.add_, args=(1,), daemon=True)
        thread.start()
        thread.join(10)
        waited.append(not thread.is_alive())
        return t

    with saved_tensors_hooks(pack, lambda t: t):
        if change == "mul_":
            y.mul_(x)
        else:
            y[torch.tensor([0, 1], device=device)] = x[:2]
    assert waited and all(waited)
    assert other.tolist() == [len(waited)] * 3
