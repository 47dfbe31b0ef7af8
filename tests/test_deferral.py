"""Elementwise ops end the kernel of the product before them; nobody can tell but by counting."""

import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from launches import close, normal

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.backends.webgpu.structured import Launcher
from wgtorch.config import MAX_FUSED
from wgtorch.device import Device
from wgtorch.ops import product

F = torch.nn.functional
pytestmark = pytest.mark.skipif(MAX_FUSED == 1, reason="WGTORCH_EAGER puts nothing off")


@pytest.fixture
def in_parts(webgpu, monkeypatch):
    """Products are computed in three parts along k, which another kernel adds up."""
    home = backend(Device(webgpu))
    monkeypatch.setattr(home, "structured", Launcher(home).structured)
    cut = product.cut
    monkeypatch.setattr(
        product, "choose", lambda p, traits: cut("matmul_plain.wgsl", (), p, 32, 32, 3, 4)
    )


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
        alone = y.value.promise.args[0].plan.text(backend(Device("webgpu")), None, ())
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
