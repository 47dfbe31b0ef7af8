"""vmap: where the batch is, what may be done inside, and what is refused."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.func import vmap


def close(tensor, want, rtol=1e-5):
    np.testing.assert_allclose(tensor.detach().cpu().numpy(), want, rtol=rtol, atol=1e-6)


def numbers(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


# Where the batch is


@pytest.mark.parametrize("in_dim", [0, 1, 2, -1])
@pytest.mark.parametrize("out_dim", [0, 1, -1])
def test_the_batch_may_be_any_dimension(device, in_dim, out_dim):
    a = numbers(2, 3, 4)
    got = vmap(lambda x: (x * 2).t(), in_dim, out_dim)(torch.tensor(a, device=device))
    close(got, np.moveaxis(np.swapaxes(np.moveaxis(a, in_dim, 0), 1, 2) * 2, 0, out_dim))


def test_trees_go_in_and_come_out(device):
    a, b = numbers(3, 2), numbers(2, 3)
    x, y = torch.tensor(a, device=device), torch.tensor(b, device=device)

    def f(pair, named, k):
        return {"sum": pair[0] + named["y"], "both": [pair[0] * k, (named["y"],)]}

    got = vmap(f, in_dims=((0,), {"y": 1}, None), out_dims={"sum": 1, "both": 0})((x,), {"y": y}, 2)
    close(got["sum"], (a + b.T).T)
    close(got["both"][0], a * 2)
    close(got["both"][1][0], b.T)


def test_what_is_not_batched_is_the_same_for_all(device):
    a, w = numbers(3, 4), numbers(4, 2)
    x, weight = torch.tensor(a, device=device), torch.tensor(w, device=device)
    close(vmap(lambda x, w: x @ w, in_dims=(0, None))(x, weight), a @ w)
    close(vmap(lambda x: x @ weight)(x), a @ w)
    close(vmap(lambda x: weight.sum(), out_dims=0)(x), np.full(3, w.sum()), 1e-4)
    out = vmap(lambda x: (x, weight * 2), out_dims=(0, None))(x)
    close(out[1], w * 2)


def test_vmaps_nest(device):
    a, b = numbers(3, 4), numbers(5, 4)
    x, y = torch.tensor(a, device=device), torch.tensor(b, device=device)
    each = vmap(vmap(lambda u, v: (u * v).sum(), (None, 0)), (0, None))
    close(each(x, y), a @ b.T, 1e-4)
    close(vmap(vmap(lambda u: u.mean() + u, 1), 0)(torch.ones(2, 3, 4)), np.full((2, 4, 3), 2.0))


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 100])
def test_chunks_give_the_same(device, chunk):
    a = numbers(7, 3)
    seen = []

    def f(x):
        seen.append(1)
        return x.sin(), x.sum()

    got = vmap(f, out_dims=(1, 0), chunk_size=chunk)(torch.tensor(a, device=device))
    close(got[0], np.sin(a).T)
    close(got[1], a.sum(1))
    assert len(seen) == -(-7 // chunk)


def test_a_sample_looks_like_itself(device):
    def f(x):
        assert x.shape == (2, 3) and x.ndim == 2 and x.numel() == 6 and len(x) == 2
        assert x.device == torch.device(device) and x.device.type == device
        assert x.dtype is torch.float32 and x.is_contiguous() and x.stride() == (3, 1)
        return x

    vmap(f)(torch.ones(4, 2, 3, device=device))


def test_promotion_does_not_see_the_batch(device):
    half = torch.ones(3, 2, dtype=torch.float16, device=device)
    one = torch.ones(3, device=device)
    assert vmap(lambda h, s: h * s)(half, one).dtype is torch.float16
    assert vmap(lambda i: i * 2.5)(torch.ones(3, dtype=torch.int32)).dtype is torch.float32


# What may be done inside


def test_views_and_writes(device):
    a = numbers(3, 4, 5)

    def f(x):
        y = x.clone()
        y[1:3, ::2] = 7
        y.t()[0].mul_(2)
        return y.permute(1, 0)[2].unsqueeze(0).expand(2, -1), y

    view, whole = vmap(f)(torch.tensor(a, device=device))
    want = a.copy()
    want[:, 1:3, ::2] = 7
    want[:, :, 0] *= 2
    close(whole, want)
    close(view, np.repeat(want[:, None, :, 2], 2, axis=1))


def test_a_write_reaches_the_argument(device):
    x = torch.zeros(3, 2, device=device)
    vmap(lambda a: a.add_(1))(x)
    close(x, np.ones((3, 2)))


def test_new_tensors_become_batches_when_written(device):
    def f(x):
        out = x.new_zeros(4)
        out[1:3] = x
        return out

    a = numbers(3, 2)
    close(vmap(f)(torch.tensor(a, device=device)), np.pad(a, ((0, 0), (1, 1))))


def test_indices_of_each_sample(device):
    a = numbers(3, 5)
    index = np.array([[0, 4], [2, -1], [3, 3]])
    x, i = torch.tensor(a, device=device), torch.tensor(index, device=device)
    close(vmap(lambda x, i: x[i])(x, i), np.take_along_axis(a, index, 1))
    close(vmap(lambda i: x[0][i])(i), a[0][index])


@pytest.mark.parametrize("weights", [None, 0])
def test_convolutions(device, weights):
    a, w = numbers(2, 1, 3, 6, 6), numbers(4, 3, 3, 3)
    many = np.stack([w, w * 2]) if weights == 0 else w
    x, kernel = torch.tensor(a, device=device), torch.tensor(many, device=device)
    conv = functools.partial(torch.nn.functional.conv2d, padding=1)
    got = vmap(conv, (0, weights))(x, kernel)
    for b in range(2):
        close(got[b], conv(x[b], kernel[b] if weights == 0 else kernel).cpu().numpy(), 1e-4)


def test_gradients_go_through(device):
    a, w = numbers(3, 4), numbers(4)
    x = torch.tensor(a, device=device, requires_grad=True)
    weight = torch.tensor(w, device=device, requires_grad=True)
    vmap(lambda x: (x * weight).tanh().sum())(x).sum().backward()
    slope = 1 - np.tanh(a * w) ** 2
    close(x.grad, slope * w, 1e-4)
    close(weight.grad, (slope * a).sum(0), 1e-4)


def test_views_inside_pass_gradients_on(device):
    a = numbers(3, 4, 2)
    x = torch.tensor(a, device=device, requires_grad=True)
    vmap(lambda x: (x.t()[:, 1:3] * 2).flatten().narrow(0, 1, 2))(x).sum().backward()
    want = np.zeros_like(a)
    want[:, 2, 0] = want[:, 1, 1] = 2
    close(x.grad, want)


def test_gradients_are_batched_by_is_grads_batched(device):
    a = numbers(4)
    x = torch.tensor(a, device=device, requires_grad=True)
    y = x.sin() * x.sum()
    seeds = torch.eye(4, device=device)
    (got,) = torch.autograd.grad(y, x, seeds, is_grads_batched=True)
    close(got, np.diag(np.cos(a) * a.sum()) + np.sin(a)[:, None], 1e-4)


# Random numbers


def test_random_numbers_are_refused_the_same_or_different(device):
    x = torch.zeros(4, 3, device=device)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error"):
        vmap(lambda a: a + torch.rand(3, device=device))(x)
    same = vmap(lambda a: a + torch.rand(3, device=device), randomness="same")(x).cpu().numpy()
    assert (same == same[0]).all() and same.std() > 0
    filled = vmap(lambda a: torch.ones(3, device=device).uniform_(2, 3), randomness="same")(x)
    assert filled.shape == (len(x), 3) and (filled == filled[0]).all() and (filled >= 2).all()
    other = vmap(lambda a: a + torch.randn(3, device=device), randomness="different")(x)
    assert len(set(other.flatten().tolist())) == 12
    drop = vmap(lambda a: torch.nn.functional.dropout(a + 1), randomness="different")
    assert 0 < drop(torch.zeros(50, 3, device=device)).count_nonzero().item() < 150
    with pytest.raises(RuntimeError, match="Only allowed values for randomness are"):
        vmap(lambda a: a, randomness="any")


# What is refused


REFUSED = {
    "item": (lambda x: x.sum().item(), "vmap over calling .item() on a Tensor"),
    "branch": (lambda x: x if x.sum() > 0 else -x, "data-dependent control flow"),
    "nothing": (lambda x: None, "must only return Tensors, got type <class 'NoneType'>"),
    "write": (lambda x: torch.zeros(2).add_(x), "inplace arithmetic(self, *extra_args) is not"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_one_sample_cannot_do(name):
    function, said = REFUSED[name]
    with pytest.raises((RuntimeError, ValueError)) as error:
        vmap(function)(torch.ones(3, 2))
    assert said in str(error.value)


def test_after_an_error_nothing_is_left_of_it():
    with pytest.raises(RuntimeError):
        vmap(lambda x: x.item())(torch.ones(3))
    close(vmap(lambda x: x + torch.rand(2) * 0, randomness="same")(torch.ones(3, 2)), 1)
    assert torch.rand(2).shape == (2,)


WRONG = {
    "sizes": (lambda v: v(lambda x, y: x)(torch.ones(2), torch.ones(3)), "same size in the mapped"),
    "no inputs": (lambda v: v(lambda: 1)(), "got no inputs"),
    "all None": (
        lambda v: v(lambda x: x, None)(torch.ones(2)),
        "expected `in_dims` to be int or a",
    ),
    "one None": (lambda v: v(lambda x: x, (None,))(torch.ones(2)), "at least one Tensor to vmap"),
    "rank": (lambda v: v(lambda x: x, 1)(torch.ones(2)), "of dimensionality 1 so expected"),
    "type": (lambda v: v(lambda x: x)(2), "We cannot vmap over non-Tensor arguments"),
    "tree": (lambda v: v(lambda x: x, ((0, 0),))(torch.ones(2)), "in_dims is not compatible"),
    "float": (lambda v: v(lambda x: x, (0.5,))(torch.ones(2)), "an integer dimension or None"),
    "out tree": (lambda v: v(lambda x: x, 0, (0, 0))(torch.ones(2)), "out_dims is not compatible"),
    "out type": (lambda v: v(lambda x: x, 0, "a")(torch.ones(2)), "`out_dims` must be an int"),
    "out None": (
        lambda v: v(lambda x: x, 0, None)(torch.ones(2)),
        "can not return a BatchedTensor",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name):
    call, said = WRONG[name]
    with pytest.raises(ValueError) as error:
        call(vmap)
    assert said in str(error.value)


def test_a_batch_prints_itself():
    texts = []
    vmap(lambda x: texts.append(repr(x)) or x)(torch.ones(2))
    assert texts == ["BatchedTensor(lvl=1, bdim=0, value=\n    tensor([1., 1.])\n)"]


ESCAPES = {
    "an op": lambda k, fresh: k + 1,
    "a sum": lambda k, fresh: k.sum(),
    "a product": lambda k, fresh: k.reshape(1, -1) @ k.reshape(-1, 1),
    "a write": lambda k, fresh: k.add_(1),
    "a view that is read": lambda k, fresh: k[0].item(),
    "a number": lambda k, fresh: k.sum().item(),
    "numpy": lambda k, fresh: k.cpu().numpy(),
    "truth": lambda k, fresh: bool(k[0] > 0),
    "another vmap": lambda k, fresh: torch.vmap(lambda y: y + k)(fresh),
    "a vmap around it": lambda k, fresh: torch.vmap(lambda y: y.sum())(k),
}


@pytest.mark.parametrize("name", ESCAPES)
def test_a_tensor_that_escaped_is_refused_at_use(device, name):
    x, kept = torch.ones(3, 2, device=device), []
    torch.vmap(lambda row: kept.append(row * 2) or row.sum())(x)
    (escaped,) = kept
    assert tuple(escaped.shape) == (2,) and "BatchedTensor(lvl=1, bdim=0" in repr(escaped)
    with pytest.raises(RuntimeError, match="escaped from inside a function being vmapped"):
        ESCAPES[name](escaped, x)


def test_a_dual_number_that_escaped_has_no_tangent(device):
    x, kept = torch.ones(3, device=device), []

    def twice(x):
        kept.append(x * 2)
        return kept[0].sum()

    torch.func.jvp(twice, (x,), (x,))
    (escaped,) = kept
    value, tangent = torch.func.jvp(lambda y: (y * escaped).sum(), (x,), (x,))
    assert value.item() == 6.0 and tangent.item() == 6.0  # 12 with the tangent of another
    assert "tangent" not in repr(escaped)
    with pytest.raises(RuntimeError, match="of a transform that has ended is used in another"):
        torch.vmap(lambda y: y + escaped)(x)
