"""Small reductions wait like products, and one element is computed where it spreads."""

import numpy as np
import pytest
from launches import close, normal

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.config import MAX_FUSED
from wgtorch.device import Device

pytestmark = pytest.mark.skipif(MAX_FUSED == 1, reason="WGTORCH_EAGER puts nothing off")


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
