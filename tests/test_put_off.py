"""When launches that were put off run: few wait, for little memory, and nobody sees the order."""

import numpy as np
import pytest
from launches import close, normal

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.backends.webgpu.deferral import LITTLE, MOST
from wgtorch.config import MAX_FUSED
from wgtorch.device import Device

F = torch.nn.functional
pytestmark = pytest.mark.skipif(MAX_FUSED == 1, reason="WGTORCH_EAGER puts nothing off")


def test_the_next_product_of_large_operands_launches_it_with_all_that_joined(ran):
    (x, a), (w, b) = normal(128, 1200), normal(1200, 6, seed=1)
    q = (a @ b) + 1
    assert ran == []
    k = (a @ b) * 2
    assert ran[-1] == "mm+add"  # some adapters compute it in parts before
    close(q + k, 3 * (x @ w) + 1, 1e-3)


def test_products_of_little_operands_wait_together(ran):
    (x, a), (w, b) = normal(4, 6), normal(6, 6, seed=1)
    q, r, k = (a @ b) + 1, (b @ b) * 2, (a @ b).exp()
    assert ran == []
    torch.webgpu.synchronize()
    assert sorted(ran) == ["mm+add", "mm+exp", "mm+mul"]
    close(q, x @ w + 1), close(r, 2 * (w @ w)), close(k, np.exp(x @ w))


def test_only_some_wait_at_a_time(ran):
    (x, a), kept = normal(4, 4), []
    for n in range(20):
        kept.append((a @ a) + n)
        assert len(backend(Device("webgpu")).queue.put_off) <= MOST
    torch.webgpu.synchronize()
    assert ran == ["mm+add"] * 20
    for n in range(20):
        close(kept[n], x @ x + n)


def test_what_waits_holds_little_memory(ran):
    kept, most = [], 0
    _, a = normal(128, 256)  # 128 KiB
    for n in range(12):
        kept.append((a * (n + 1.5)).sum(0) + 1)
        waiting = backend(Device("webgpu")).queue.put_off
        most = max(most, len(waiting))
        assert sum(each.plan.held for each in waiting) <= LITTLE
    assert most == MOST  # each holds an eighth
    for n in range(12):
        close(kept[n], a.numpy(force=True).sum(0) * (n + 1.5) + 1, 1e-3)
    assert backend(Device("webgpu")).deferrals.held == 0


def test_one_that_is_read_itself_leaves_the_others_waiting(ran):
    (x, a), (w, b) = normal(4, 6), normal(6, 6, seed=1)
    q, h = (b @ b) + 1, a @ b
    r = h * 2
    assert h.tolist() and ran[0] == "mm+mul"
    close(q, w @ w + 1), close(r, 2 * (x @ w)), close(h, x @ w)


def test_what_stands_on_two_that_wait(ran):
    (x, a), (w, b) = normal(6, 6), normal(6, 6, seed=1)
    h, g = a @ b, b @ a
    y = h * g
    z = h + 1
    close(z, x @ w + 1), close(y, (x @ w) * (w @ x)), close(h, x @ w), close(g, w @ x)
    assert ran == ["mm+add", "mm+mul"]


def test_few_others_overtake_it(ran):
    (_, a), home = normal(4, 4), backend(Device("webgpu"))
    h = a @ a
    for n in range(4):
        assert "mm" not in ran and h.value.promise
        home.fill((a + n).value)
    assert ran[-1] == "mm" and h.value.promise is None


def test_a_wait_launches_it(ran):
    (_, a) = normal(4, 4)
    h = a @ a
    torch.webgpu.synchronize()
    assert ran == ["mm"] and h.value.promise is None


def test_one_that_nobody_holds_runs_too(ran):
    """Else what times products would time nothing."""
    (_, a) = normal(4, 4)
    for _ in range(3):
        a @ a
    torch.webgpu.synchronize()
    assert ran == ["mm"] * 3


def test_the_operands_are_held_no_longer(ran):
    (_, a) = normal(64, 64)
    pool = backend(Device("webgpu")).gpu.pool
    b = a + 0
    b.cpu().numpy()
    torch.webgpu.synchronize()
    before = pool.live.current
    h = a @ b
    del b
    assert pool.live.current == before  # b waits with the product
    torch.webgpu.synchronize()
    assert pool.live.current == before  # h in its place
    del h
    assert pool.live.current == before - 4 * 64 * 64


def test_more_operands_than_an_adapter_binds(ran):
    (x, a), others = normal(4, 4), [normal(4, 4, seed=i) for i in range(12)]
    home = backend(Device("webgpu"))
    most, home.gpu.most_buffers = home.gpu.most_buffers, 8
    try:
        y, want = a @ a, x @ x
        for array, tensor in others:
            y, want = y + tensor, want + array
        close(y, want, 1e-3)
    finally:
        home.gpu.most_buffers = most
    assert ran[0] == "mm"


def test_a_warm_step_writes_no_kernel_and_takes_no_memory(ran):
    home = backend(Device("webgpu"))
    (_, x), (_, w), (_, b) = (
        normal(*s, seed=i, requires_grad=True) for i, s in enumerate([(8, 8), (8, 8), (8,)])
    )

    def step():
        loss = F.gelu(x @ w + b).square().mean()
        loss.backward()
        found = loss.item()
        x.grad = w.grad = b.grad = None
        return found

    def known():
        return (
            len(home.kernels), len(home.deferrals.kernels), len(home.gpu.pool.blocks),
            home.gpu.pool.live.current, home.queue.counted["bind groups"],
        )  # fmt: skip

    step(), step()
    before = known()
    step()
    assert known() == before
