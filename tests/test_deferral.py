"""Elementwise ops end the kernel of the product before them; nobody can tell but by counting."""

import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.backends.webgpu.deferral import MOST
from wgtorch.backends.webgpu.structured import Launcher
from wgtorch.config import MAX_FUSED
from wgtorch.device import Device
from wgtorch.ops import product

F = torch.nn.functional
pytestmark = pytest.mark.skipif(MAX_FUSED == 1, reason="WGTORCH_EAGER puts nothing off")


@pytest.fixture
def ran(webgpu, monkeypatch):
    """Names of the kernels that ran, in order."""
    torch.ones(1, device=webgpu, requires_grad=True).backward()  # the first seed is filled here
    torch.webgpu.synchronize()
    names, queue = [], type(backend(Device(webgpu)).queue)
    dispatch = queue.dispatch
    monkeypatch.setattr(
        queue, "dispatch", lambda q, k, *rest: (names.append(k.label), dispatch(q, k, *rest))[1]
    )
    return names


@pytest.fixture
def in_parts(webgpu, monkeypatch):
    """Products are computed in three parts along k, which another kernel adds up."""
    home = backend(Device(webgpu))
    monkeypatch.setattr(home, "structured", Launcher(home).structured)
    cut = product.cut
    monkeypatch.setattr(
        product, "choose", lambda p, traits: cut("matmul_plain.wgsl", (), p, 32, 32, 3, 4)
    )


def normal(*shape, seed=0, **facts):
    array = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return array, torch.tensor(array, device="webgpu", **facts)


def close(have, want, tolerance=2e-4):
    np.testing.assert_allclose(have.detach().cpu().numpy(), want, rtol=tolerance, atol=tolerance)


# What joins


@pytest.mark.parametrize("m, k, n", [(16, 16, 16), (13, 7, 9), (5, 33, 8), (1, 20, 12), (9, 5, 1)])
def test_a_chain_ends_the_kernel(ran, m, k, n):
    (x, a), (w, b), (z, c), (r, d) = (
        normal(*shape, seed=i) for i, shape in enumerate([(m, k), (k, n), (n,), (m, n)])
    )
    y = (a @ b + c).relu() * 0.5 + d
    close(y, np.maximum(x @ w + z, 0) * 0.5 + r)
    assert ran == ["mm+add+relu+mul+add"]


def test_it_ends_the_last_of_several(ran, in_parts):
    (x, a), (w, b), (z, c) = normal(9, 50), normal(50, 7, seed=1), normal(7, seed=2)
    close((a @ b + c).sigmoid(), 1 / (1 + np.exp(-(x @ w + z))))
    assert ran == ["mm", "mm+add+sigmoid"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("n", [8, 7])
def test_halves_are_rounded_in_between(ran, dtype, n):
    """To the bit what separate kernels give."""
    dtype = getattr(torch, dtype)
    a, b, c = (normal(*s, seed=i)[1].to(dtype) for i, s in enumerate([(6, 12), (12, n), (n,)]))
    joined = (a @ b + c) * 1.7
    apart = a @ b
    apart.cpu()
    apart = apart + c
    apart.cpu()
    assert torch.equal(joined.float().cpu(), (apart * 1.7).float().cpu())


def test_the_layer_and_what_follows(ran):
    (x, a), (w, b), (z, c) = normal(2, 3, 8), normal(5, 8, seed=1), normal(5, seed=2)
    close(F.linear(a, b, c).tanh(), np.tanh(x @ w.T + z))
    assert ran == ["linear+tanh"]
    ran.clear()
    close(a @ b.t() + c, x @ w.T + z)  # the product is a matrix that is then seen as a batch
    assert ran == ["mm+add"]
    ran.clear()
    close(torch.addmm(c, a[0], b.t()).relu(), np.maximum(x[0] @ w.T + z, 0))
    assert ran == ["addmm+relu"]


@pytest.mark.parametrize("size", [(8, 8), (5, 7)])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_convolution_and_what_follows(ran, size, transposed):
    (_, x), (_, w), (_, b) = normal(2, 4, *size), normal(4, 4, 3, 3, seed=1), normal(4, seed=2)
    here = [t.cpu() for t in (x, w, b)]
    ran.clear()
    conv = torch.conv_transpose2d if transposed else torch.conv2d
    got = conv(x, w, b, padding=1).relu() + x
    got.cpu().numpy()
    assert ran[-1] == "convolution+relu+add" and "relu" not in ran
    close(got, (conv(*here, padding=1).relu() + here[0]).numpy())


def test_dropout_joins(ran):
    (x, a), (w, b) = normal(4, 6), normal(6, 8, seed=1)
    y = F.dropout(a @ b, 0.5).cpu().numpy()
    assert len(ran) == 1
    assert np.all((y == 0) | (np.abs(y - 2 * (x @ w)) < 1e-4)) and 0 < np.sum(y == 0) < 32


# What is stored


def test_what_is_alive_is_stored(ran):
    (x, a), (w, b) = normal(4, 6), normal(6, 8, seed=1)
    h = a @ b
    y = h * 2
    z = y.exp()
    close(z, np.exp(2 * (x @ w)), 1e-3)
    assert ran == ["mm+mul+exp"]
    close(h, x @ w)
    close(y, 2 * (x @ w))
    assert len(ran) == 1


@pytest.mark.parametrize("first", [0, 1])
def test_two_users_of_a_dropped_product(ran, first):
    (x, a), (w, b) = normal(4, 6), normal(6, 8, seed=1)

    def both(h):
        return [h.relu(), h * 3]

    have, want = both(a @ b), both(torch.tensor(x @ w))
    for place in (first, 1 - first):
        close(have[place], want[place].numpy())
    assert len(ran) == 2 and ran[0].startswith("mm+")


def test_the_same_gradients_with_what_backward_needs(ran):
    arrays = [normal(*shape, seed=i)[0] for i, shape in enumerate([(5, 6), (6, 8), (8,), (8, 3)])]
    found = []
    for device in ("webgpu", "cpu"):
        x, w, b, v = (torch.tensor(a, device=device, requires_grad=True) for a in arrays)
        ((x @ w + b).relu() @ v).sigmoid().sum().backward()
        found.append([t.grad.cpu().numpy() for t in (x, w, b, v)])
    for have, want in zip(*found, strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-3, atol=1e-4)
    assert ran[:2] == ["mm+add+relu", "mm+sigmoid"]  # sigmoid saves its result


def test_a_reduction_reads_what_is_alive(ran):
    (x, a), (w, b) = normal(4, 6), normal(6, 8, seed=1)
    total = (a @ b).relu().sum()
    assert abs(total.item() - np.maximum(x @ w, 0).sum()) < 1e-3
    assert ran == ["mm", "sum<relu>"]  # nobody needs relu's result itself
    ran.clear()
    y = (a @ b).relu()
    total = (y * 2).sum()
    assert abs(total.item() - 2 * np.maximum(x @ w, 0).sum()) < 1e-3
    assert ran == ["mm+relu", "sum<mul>"]


def test_a_batch_that_is_seen_through_a_matrix(ran):
    """The product has another shape than the tensor."""
    (x, a), (w, b) = normal(2, 3, 6), normal(6, 4, seed=1)
    close((a @ b).sum(0), (x @ w).sum(0))
    close((a @ b).amax((0, 2)), (x @ w).max((0, 2)))
    close(((a @ b) * 2).sum(1), (x @ w).sum(1) * 2)
    h = a @ b
    close((h.exp() + 1).sum(1), (np.exp(x @ w) + 1).sum(1))
    close(h.softmax(0).sum(0), np.ones((3, 4)))
    close((a @ b).transpose(0, 2) + 1, (x @ w).swapaxes(0, 2) + 1)


def test_the_gradient_of_an_input_goes_on_in_its_kernel(ran):
    (x, a), (w, b), (v, c) = normal(4, 6), normal(6, 8, seed=1), normal(8, 5, seed=2)
    for t in (a, b, c):
        t.requires_grad_(True)
    y = (a @ b).relu() @ c
    torch.webgpu.synchronize()
    ran.clear()
    y.backward(torch.ones(4, 5, device="webgpu"))
    torch.webgpu.synchronize()
    assert "mm+_where_positive" in ran
    close(a.grad, (np.ones((4, 5)) @ v.T * (x @ w > 0)) @ w.T)


def test_a_write_before_the_launch_changes_nothing(ran):
    (x, a), (w, b) = normal(4, 6), normal(6, 8, seed=1)
    y = (a @ b) + 1
    a.zero_()
    b.mul_(2)
    b[:, 1] = 5
    close(y, x @ w + 1)


def test_written_into_a_part(ran):
    (x, a), (w, b) = normal(4, 6), normal(6, 8, seed=1)
    target = torch.zeros(4, 10, device="webgpu")
    target[:, 1:9] = (a @ b).relu()
    both = torch.cat([a @ b, (a @ b) * 2], 1)
    close(target[:, 1:9], np.maximum(x @ w, 0))
    close(both, np.concatenate([x @ w, 2 * (x @ w)], 1))


# When it is launched


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


# Looking at it


def test_explain_shows_the_kernel_and_runs_nothing(ran):
    (_, a) = normal(4, 4)
    h = a @ a
    y = h.relu()
    alone, joined = h.explain(), y.explain()
    assert "relu_float32" in joined and "relu_float32" not in alone
    assert "matrix" in alone or "x_place" in alone
    assert ran == [] and h.value.promise and y.value.promise


def test_explain_of_what_stands_on_two_that_wait(ran):
    """One is to be launched before: it is read, where the other is at hand."""
    (_, a), (_, b) = normal(6, 6), normal(6, 6, seed=1)
    for y in ((a @ b) * (b @ a), a.sum(0) * (b * 3).sum(0)):
        text = y.explain()
        assert "mul_float32(x0, x1)" in text and ran == []
        alone = y.value.promise.args[0].plan.text(backend(Device("webgpu")), None, None, ())
        assert text.count("@binding") == alone.count("@binding") + 1  # what is read


EAGER = """
    import wgtorch as torch
    a = torch.ones(4, 4, device="webgpu")
    h = a @ a
    assert h.value.promise is None
    y = h + 1
    assert y.value.promise is None and y.tolist() == [[5] * 4] * 4
"""


def test_eager_puts_nothing_off(webgpu, monkeypatch):
    monkeypatch.setenv("WGTORCH_EAGER", "1")
    command = [sys.executable, "-c", textwrap.dedent(EAGER)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr[-2000:]


def test_save_on_cpu_cuts_nothing(ran):
    """What is saved leaves right behind the kernel that makes it."""
    (x, a), (w, b) = normal(4, 6), normal(6, 8, seed=1, requires_grad=True)
    home = backend(Device("webgpu"))
    with torch.autograd.graph.save_on_cpu():
        y = (a @ b).exp()
    held = home.dock.moved["d2h"]
    z = y * 2  # y is alive, so that it is stored
    home.fill(z.value)
    assert ran == ["mm+exp+mul"] and home.dock.moved["d2h"] > held
    z.sum().backward()
    close(b.grad, x.T @ (2 * np.exp(x @ w)), 1e-3)


def test_a_chain_on_two_products_that_wait(ran):
    """One of them was only to end the kernel of a result that is read first."""
    (x, a), (y, b), (z, c) = normal(3, 4), normal(4, 5, seed=1), normal(3, 5, seed=2)
    first = a @ b
    shared = first + c
    del first
    close((shared * 2), (x @ y + z) * 2)  # ends the first product, which is not stored
    second = (a * 3) @ b
    both = second * shared
    del second, shared
    close(both, (3 * x) @ y * (x @ y + z))


@pytest.mark.parametrize(
    "end, is_long",
    [
        (lambda y, c: y + c, False),
        (lambda y, c: (y + c).relu(), False),
        (lambda y, c: F.gelu(y), True),
        (lambda y, c: (y / 8).masked_fill(c > 0, -1e9), True),
    ],
    ids=["add", "add+relu", "gelu", "div+masked_fill"],
)
def test_long_endings_are_not_unrolled(either_share, end, is_long):
    """What counts is not how many ops there are but how much they say."""
    text = end(normal(32, 32)[1] @ normal(32, 32)[1], normal(32, 32)[1]).explain()
    if "GROUPS_M" not in text:
        pytest.skip("not a kernel of tiles")
    ending, long = [int(re.search(rf"const {n} = .*\b(\d+)u", text)[1]) for n in ("ENDING", "LONG")]
    assert (ending >= long) is is_long


def test_ops_of_one_text_go_by_their_own_names(ran):
    _, x = normal(2, 3, 3)
    torch.webgpu.synchronize()
    products = x.bmm(x), x[0].mm(x[1])
    torch.webgpu.synchronize()
    assert ran == ["bmm", "mm"] and torch.equal(products[0][0], x[0].mm(x[0]))
    del ran[:]
    held = x.bmm(x).exp(), x[0].mm(x[1]).exp()
    torch.webgpu.synchronize()
    assert sorted(ran) == ["bmm+exp", "mm+exp"] and held


# Folds


@pytest.mark.parametrize("shape", [(6, 8), (7, 5), (3, 64, 12), (1, 1), (33, 1), (1, 40000)])
@pytest.mark.parametrize("dim", [0, -1, None])
def test_a_chain_ends_a_fold(ran, shape, dim):
    x, a = normal(*shape)
    y = a.sum(dim) if dim is not None else a.sum()
    want = x.astype(np.float64).sum(dim)
    close((y * 0.5 + 1).sigmoid(), 1 / (1 + np.exp(-(want * 0.5 + 1))), 1e-4)
    assert ran[-1] in ("sum<load>+mul+add+sigmoid", "sum<parts>+mul+add+sigmoid")
    assert all("sum" in name for name in ran)


def test_operands_of_the_chain_are_read_as_they_lie(ran):
    (x, a), (r, b), (c, d) = normal(6, 8), normal(8, seed=1), normal(4, 8, seed=2)
    close(a.sum(0) * b + d[1], x.sum(0) * r + c[1])
    close(a.mean(0, keepdim=True) - b, x.mean(0, keepdims=True) - r)
    close(a.sum(0).reshape(2, 4) + d.t().reshape(8, 4)[2:4], x.sum(0).reshape(2, 4)
          + c.T.reshape(8, 4)[2:4])  # fmt: skip
    assert [name.partition("<")[0] for name in ran if "<" in name] == ["sum", "mean", "sum"]
    assert "add" not in ran and "sub" not in ran and "mul" not in ran


@pytest.mark.parametrize("fold", ["mean", "amax", "prod", "logsumexp", "nansum", "var", "std"])
def test_folds_of_every_kind_end_so(ran, fold):
    _, a = normal(5, 9)
    here = a.cpu()
    close(getattr(a, fold)(1) * 2 + 1, (getattr(here, fold)(1) * 2 + 1).numpy())
    assert len(ran) == 1 and ran[0].endswith("+mul+add")


def test_what_is_computed_on_the_way_in(ran):
    (x, a), (r, b) = normal(5, 12), normal(5, 12, seed=1)
    close((a * b).sum(1).exp(), np.exp((x * r).sum(1)))
    close(-((a * 3).relu() * b).mean(), -(np.maximum(3 * x, 0) * r).mean())
    assert ran == ["sum<mul>+exp", "mean<mul+relu+mul>+neg"]


def test_what_is_kept_on_the_way_in_does_not_wait(ran):
    (x, a), (r, b) = normal(5, 12), normal(5, 12, seed=1)
    product = a * b
    total = product.sum(1)
    close(product, x * r), close(total.exp(), np.exp((x * r).sum(1)))
    assert ran == ["sum<mul>", "exp"]


def test_a_fold_and_what_ends_it_are_both_wanted(ran):
    x, a = normal(6, 8)
    total = a.sum(0)
    squared = total * total
    close(squared, x.sum(0) ** 2), close(total, x.sum(0))
    assert ran == ["sum<load>+mul"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("columns", [8, 7])
def test_halves_of_folds_are_rounded_in_between(ran, dtype, columns):
    a = normal(16, columns)[1].to(getattr(torch, dtype))
    joined, apart = a.sum(0) * 1.7, a.sum(0)
    apart.cpu()
    assert torch.equal(joined.float().cpu(), (apart * 1.7).float().cpu())


def test_a_large_fold_does_not_wait(ran):
    _, a = normal(600, 600)
    total = a.sum(0)
    assert ran and ran[-1].startswith("sum") and total.value.promise is None


def test_a_source_that_is_kept_while_its_fold_waits(ran):
    """The fold's kernel is written once more, when its end is known."""
    home, arrays = backend(Device("webgpu")), [normal(4, 6, seed=i) for i in range(10)]
    most, home.gpu.most_buffers = home.gpu.most_buffers, 9
    try:
        want, t = arrays[0]
        for x, a in arrays[1:5]:
            want, t = want + x, t + a
        doubled, u = [t * 2], t
        del t
        for _, a in arrays[5:]:
            u = u * a
        total = doubled.pop().sum(0)
        home.fill(u.value)  # too many operands for one kernel: the sum is stored on the way
        close(total * 3, want.sum(0) * 6)
    finally:
        home.gpu.most_buffers = most
    assert ran[:2] == ["add+add+add+add", "mul+mul+mul+mul+mul"] and len(ran) == 3


def test_a_source_on_a_product_that_others_read_in_another_shape(ran):
    (x, a), (w, b) = normal(4, 6), normal(6, 8, seed=1)
    h = a @ b
    ends, flat = [h.relu() + 0.25], h.reshape(-1) * 2
    del h
    total = ends.pop().sum(0)
    backend(Device("webgpu")).fill(flat.value)
    close(total * 3, (np.maximum(x @ w, 0) + 0.25).sum(0) * 3)
    assert ran == ["mm", "mul", "sum<relu+add>+mul"]


def test_an_update_ends_the_fold_of_its_gradient(ran):
    (x, a), (r, b) = normal(32, 10), normal(10, seed=1)
    b.sub_(a.sum(0) * 0.1)
    a.mul_(2)  # the fold reads what `a` was
    close(b, r - 0.1 * x.sum(0)), close(a, 2 * x)
    assert "sum<load>+mul+sub" in ran


def test_a_layer_and_its_step_take_a_launch_each(ran):
    (_, x), (_, y) = normal(16, 12), normal(16, 5, seed=9)
    layer = torch.nn.Linear(12, 5).to("webgpu")
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    for _ in range(2):
        ran.clear()
        optimizer.zero_grad()
        ((layer(x) - y) ** 2).mean().backward()
        optimizer.step()
        torch.webgpu.synchronize()
    assert len(ran) == 5, ran


# What spreads one element


def test_one_element_is_computed_where_it_spreads(ran):
    (x, a), (r, b) = normal(4, 6), normal(1, seed=1)
    close(a * (b * 2 + 1), x * (r * 2 + 1))
    close(a + (b[0] - 3).abs(), x + abs(r[0] - 3))
    close((b.reshape(1, 1, 1) / 4).reshape(()) * a, r / 4 * x)
    assert len(ran) == 3
    ran.clear()
    _, big = normal(300, 300)
    close(big * (b * 2 + 1), big.numpy(force=True) * (r * 2 + 1))
    assert ran == ["mul+add", "mul"]  # for many it is computed once


def test_one_random_number_spreads_as_one(ran):
    drawn = (torch.rand(1, device="webgpu") * 2).expand(8, 4) + torch.zeros(8, 4, device="webgpu")
    assert len(set(drawn.flatten().tolist())) == 1


def test_a_gradient_of_a_mean_takes_no_launch_of_its_own(ran):
    x, a = normal(4, 6, requires_grad=True)
    (-(a.exp()).sum() / 24).backward()
    close(a.grad, -np.exp(x) / 24)
    assert not any(name in ("neg", "div", "div+neg", "neg+div") for name in ran)
