"""What each sample of a vmap looks up or counts for itself: a number of its own as an index, and
ops that must look at data, which are done sample by sample or refused."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.autograd.transforms import batch_rules
from wgtorch.func import grad, jacfwd, jacrev, vmap

CUBES = np.random.default_rng(5).standard_normal((3, 4, 5, 4)).astype(np.float32)
PLACES = np.array([2, 0, -1])
PICKS = {
    "alone": lambda x, i, j: x[i],
    "behind a slice": lambda x, i, j: x[1:, i],
    "before a slice": lambda x, i, j: x[i, :2],
    "last": lambda x, i, j: x[..., i],
    "beside None": lambda x, i, j: x[i, None],
    "twice": lambda x, i, j: x[i, i + 1],
    "twice, apart": lambda x, i, j: x[i, :, i],
    "beside a number": lambda x, i, j: x[1, :, i],
    "beside a list": lambda x, i, j: x[:, i, [0, 2]],
    "beside a tensor": lambda x, i, j: x[i, j],
    "of what is the same for all": lambda x, i, j: j[i],
}


def check(got, rows, rtol=1e-5):
    for g, row in zip(got.detach().cpu().numpy(), rows, strict=True):
        np.testing.assert_allclose(g, row, rtol=rtol, atol=1e-6)


@pytest.mark.parametrize("name", PICKS)
def test_a_number_of_each_sample_is_an_index(device, name):
    pick, columns = PICKS[name], np.array([0, 2, 1])
    x, i, j = (torch.tensor(a, device=device) for a in (CUBES, PLACES, columns))
    want = [pick(CUBES[b], PLACES[b], columns) for b in range(3)]
    check(vmap(lambda x, i: pick(x, i, j))(x, i), want)


def test_beside_a_tensor_but_apart_it_goes_to_the_front_as_tensors_do(device):
    x, i, j = (torch.tensor(a, device=device) for a in (CUBES, PLACES, np.array([0, 3])))
    assert vmap(lambda x, i: x[i, :, j])(x, i).shape == (3, 2, 5)


def test_what_is_known_is_still_a_view():
    def f(x):
        y = x.clone()
        y[torch.tensor(1)].zero_()
        return y

    assert vmap(f)(torch.ones(2, 3)).tolist() == [[1, 0, 1]] * 2


def written(x, i, change):
    y = x.clone() if isinstance(x, torch.Tensor) else x.copy()
    change(y, i)
    return y


def assign(y, i):
    y[i] = 0


def add(y, i):
    y[i, 1:] += 1


def assign_column(y, i):
    y[:, i] = y[0, 0, 0]


@pytest.mark.parametrize("change", [assign, add, assign_column])
def test_a_number_of_each_sample_says_what_is_written(device, change):
    x, i = torch.tensor(CUBES, device=device), torch.tensor(PLACES, device=device)
    want = [written(CUBES[b], PLACES[b], change) for b in range(3)]
    check(vmap(lambda x, i: written(x, i, change))(x, i), want)


def test_each_sample_finds_its_own_largest(device):
    x = torch.tensor(CUBES[:, :, 0, 0], device=device)
    check(vmap(lambda row: row[row.argmax()])(x), CUBES[:, :, 0, 0].max(1))
    nested = vmap(vmap(lambda row: row[row.argmax()]))(torch.tensor(CUBES[0], device=device))
    check(nested, CUBES[0].max(2))


def test_the_loss_of_a_class_has_gradients_in_any_order(device):
    """d(-log_softmax(x)[y]) / dx = softmax(x) - onehot(y)"""
    rows, y = CUBES[:, :, 0, 0], np.array([1, 3, 0])
    x, label = torch.tensor(rows, device=device), torch.tensor(y, device=device)
    e = np.exp(rows)
    want = e / e.sum(1, keepdims=True) - np.eye(4)[y]

    def loss(x, y):
        return -x.log_softmax(-1)[y]

    check(vmap(grad(loss))(x, label), want, 1e-4)
    check(grad(lambda x: vmap(loss)(x, label).sum())(x), want, 1e-4)
    for jacobian in (jacrev, jacfwd):
        whole = jacobian(lambda x: vmap(loss)(x, label))(x)
        check(whole, np.eye(3)[:, :, None] * want[:, None], 1e-4)


# What looks at data

DYNAMIC = "can output dynamic shape. Attempted to vmap over "
MASK = "can support dynamic shape. Attempting to batch over indexing with a boolean mask"
REFUSED = {
    "nonzero": (lambda x: x.nonzero(), f"{DYNAMIC}nonzero. "),
    "where": (lambda x: torch.where(x > 0), f"{DYNAMIC}where. "),
    "unique": (lambda x: x.unique(), f"{DYNAMIC}unique. "),
    "unique_consecutive": (lambda x: x.unique_consecutive(), f"{DYNAMIC}unique_consecutive. "),
    "masked_select": (lambda x: x.masked_select(x > 0), "vmap over `mask` in torch.masked_select"),
    "mask": (lambda x: x[x > 0], MASK),
    "a truth": (lambda x: x[x.sum() > 0], MASK),
    "one_hot": (
        lambda x: torch.nn.functional.one_hot(x.long()),
        "an explicit positive num_classes",
    ),
    "a mask among indices": (lambda x: x[None][:, x > 0], MASK),
    "a size": (lambda x: x.round().abs().int().bincount(), "stack expects each tensor to be equal"),
}


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", REFUSED)
def test_shapes_of_each_sample_are_refused_with_a_remedy(name):
    function, said = REFUSED[name]
    with pytest.raises(RuntimeError) as error:
        vmap(function)(torch.tensor([[1.0, 0.0, 2.0], [-3.0, 4.0, 0.0]]))
    assert said in str(error.value) and "file" not in str(error.value)


NUMBERS = np.array([[0, 1, 4], [4, 1, 1]])
BY_SAMPLE = {
    "bincount": (lambda x: x.bincount(minlength=6), [[1, 1, 0, 0, 1, 0], [0, 2, 0, 0, 1, 0]]),
    "argwhere": (lambda x: (x > 1).argwhere(), [[[2]], [[0]]]),
    "nonzero_static": (lambda x: x.nonzero_static(size=2), [[[1], [2]], [[0], [1]]]),
    "histc": (lambda x: x.float().histc(2), [[2, 1], [2, 1]]),
    "histogram": (lambda x: x.float().histogram(2).bin_edges, [[0, 2, 4], [1, 2.5, 4]]),
    "repeat_interleave": (lambda x: x.sort().indices.repeat_interleave(), [[1, 2, 2], [0, 1, 1]]),
}


@pytest.mark.parametrize("name", BY_SAMPLE)
def test_what_looks_at_data_is_done_sample_by_sample_and_says_so(device, name, monkeypatch):
    monkeypatch.setattr(batch_rules, "told", set())
    function, want = BY_SAMPLE[name]
    with pytest.warns(UserWarning, match=f"batching rule for {name}, which runs once for each"):
        got = vmap(function)(torch.tensor(NUMBERS, device=device))
    assert got.tolist() == want


def test_what_is_slow_is_named_as_users_name_it(monkeypatch):
    monkeypatch.setattr(batch_rules, "told", set())
    with pytest.warns(UserWarning, match="rule for geqrf, which runs once for each sample"):
        vmap(lambda x: torch.geqrf(x)[0])(torch.ones(2, 1, 1))


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_weights_of_what_is_counted_by_sample_have_derivatives():
    i, w = torch.tensor([[0, 1, 1], [1, 0, 1]]), torch.ones(3)
    value, tangent = vmap(lambda i: torch.func.jvp(lambda w: i.bincount(w), (w,), (w * 3,)))(i)
    assert value.tolist() == [[1, 2], [1, 2]] and tangent.tolist() == [[3, 6], [3, 6]]


def test_matrix_exp_of_a_batch_is_that_of_its_samples(device):
    """exp of a rotation's generator by t is the rotation by t; one inf does not spoil the others"""
    t = np.array([0.5, 20.0, np.inf], np.float32)
    x = torch.tensor(t[:, None, None] * np.array([[1, -1], [1, 1]], np.float32), device=device)
    spin = torch.tensor([[0.0, -1.0], [1.0, 0.0]], device=device)
    got = vmap(lambda t: torch.matrix_exp(t * spin))(torch.tensor(t[:2], device=device))
    want = [[[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]] for a in t[:2]]
    check(got, want, 1e-3)
    close = torch.matrix_exp(torch.stack([x[2], x[1] * 0 + 20 * spin]))[1]
    check(close, want[1], 1e-3)


MATRICES = np.array([[[4, 1], [1, 3]], [[0, 2], [2, 1]]], np.float32)
CHECKED = {
    "lu_factor": lambda a: torch.linalg.lu_factor(a)[0],
    "ldl_factor": lambda a: torch.linalg.ldl_factor(a)[0],
    "solve_ex": lambda a: torch.linalg.solve_ex(a, a[0])[0],
    "lstsq": lambda a: torch.linalg.lstsq(a, a[:, :1])[0],
    "quantile": lambda a: a[0].quantile(a[0, 1] / 4),
    "segment_reduce": lambda a: torch.segment_reduce(a, "sum", lengths=(a[0] > 1).long() * 2),
}


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", CHECKED)
def test_what_is_checked_of_data_is_checked_of_all_samples(name):
    a = torch.tensor(MATRICES)
    check(vmap(CHECKED[name])(a), [CHECKED[name](row).numpy() for row in a], 1e-4)


def test_what_is_wrong_with_one_sample_is_said():
    a = torch.tensor(MATRICES)
    a[1] = 0
    with pytest.raises(RuntimeError, match=r"\(Batch element 1\): U\[1,1\] is zero"):
        vmap(torch.linalg.lu_factor)(a)
    with pytest.raises(RuntimeError, match=r"q values must be in the range \[0, 1\]"):
        vmap(lambda a, q: a.quantile(q))(a, torch.tensor([0.5, 1.5]))


def test_a_masked_scatter_takes_each_samples_own(device):
    x = torch.tensor([[1.0, -1.0, 2.0], [-3.0, 4.0, -5.0]], device=device)
    got = vmap(lambda x, s: x.masked_scatter(x > 0, s))(x, x * 10)
    assert got.tolist() == [[10, -1, -10], [-3, -30, -5]]


BEYOND = {  # of samples (4, 5), with an index of 9 in one of them
    "index": (lambda x, i: x[i], "index 9 is out of bounds for dimension 0 with size 4"),
    "second": (lambda x, i: x[:, i], "index 9 is out of bounds for dimension 1 with size 5"),
    "from the end": (lambda x, i: x[-i], "index -9 is out of bounds for dimension 0 with size 4"),
    "assigned": (lambda x, i: x.index_put((i,), x[0, 0]), "index 9 .* dimension 0 with size 4"),
    "select": (lambda x, i: x.index_select(1, i), "index 9 .* dimension 1 with size 5"),
    "add": (lambda x, i: x.index_add(0, i, x[:2]), "index_add.*: index 9 .* size 4"),
    "embedding": (lambda x, i: torch.nn.functional.embedding(i, x), "index 9 .* size 4"),
}


@pytest.mark.parametrize("name", BEYOND)
def test_an_index_out_of_range_is_told_by_its_place_in_the_sample(device, name):
    pick, text = BEYOND[name]
    x = torch.arange(60.0, device=device).reshape(3, 4, 5)
    i = torch.tensor([[0, 1], [3, 3], [2, 9]], device=device)
    with pytest.raises(IndexError, match=text):
        vmap(pick)(x, i).tolist()


def test_an_index_select_takes_no_index_from_the_end_of_a_sample_either(device):
    x, i = torch.ones(2, 3, device=device), torch.tensor([[0], [-1]], device=device)
    with pytest.raises(IndexError, match="index -1 is out of bounds for dimension 0 with size 3"):
        vmap(lambda x, i: x.index_select(0, i))(x, i).tolist()
