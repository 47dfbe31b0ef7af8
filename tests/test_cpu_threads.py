"""The cpu device in parts, which several threads compute: the numbers are those of the whole."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from op_cases import arrays, assert_same, cases_of, is_elementwise, parameters, run, tensors

import wgtorch as torch
from wgtorch import nn, registry, settings
from wgtorch.backends import cpu, parted, threads
from wgtorch.backends.cpu import WIDE
from wgtorch.backends.formulas import formula
from wgtorch.op import REGISTRY, Elementwise, Reduction, Rowwise
from wgtorch.ops.branches import choose

COUNT = 1 << 20


@pytest.fixture
def three(monkeypatch):
    """Three threads, whatever cores there are."""
    monkeypatch.setattr(settings.Process, "threads", 3)


@pytest.fixture
def tiny(three, monkeypatch):
    """Everything is many elements, done in ranges of two and in blocks of three."""
    for name, size in {"MANY": 1, "SOME": 1, "BLOCK": 3, "FEWEST": 2}.items():
        monkeypatch.setattr(parted, name, size)
    monkeypatch.setattr(cpu, "MANY", 1)
    monkeypatch.setattr(cpu, "SOME", 1)


def is_divided(op):
    return isinstance(op, Elementwise | Reduction)


@pytest.mark.parametrize("case", parameters(is_divided))
def test_parts_are_those_of_the_whole(case, request):
    args = tensors(case, "cpu")
    with torch.no_grad():
        want = arrays(run(case, args))
        request.getfixturevalue("tiny")
        got = arrays(run(case, args))
    folds = isinstance(case.op, Reduction)
    assert_same(got, want, 2e-6, smallest=2e-6 if folds else 0, signs=not folds)


@pytest.mark.parametrize("case", parameters(is_elementwise))
def test_a_formula_is_what_the_reference_computes(case):
    op = case.op
    for array in case.args:
        if not isinstance(array, np.ndarray | np.generic):
            pytest.skip("takes a number")
    typed = op.typed[tuple([torch.from_numpy(np.atleast_1d(a)).dtype for a in case.args])]
    attrs = {n: case.attrs.get(n, default) for n, default in op.attrs.items()}
    steps = formula(typed, attrs)
    if steps is None:
        pytest.skip("is more than ufuncs")
    given = [np.asarray(a, kind) for a, kind in zip(case.args, typed.kinds, strict=True)]
    with np.errstate(all="ignore"):
        want = op.reference(*given, **attrs)
        out = np.empty(want.shape, typed.dtype.np)
        steps.compute(given, out)
    np.testing.assert_array_equal(out, np.asarray(want, typed.dtype.np))


def test_formulas_are_found():
    def found(name, kind=torch.float32):
        op = REGISTRY[name]
        return formula(op.typed[(kind,) * len(op.inputs)], dict.fromkeys(op.attrs, 0.5))

    assert found("add").ufunc is np.add and found("exp").ufunc is np.exp
    assert found("gelu").ufunc is None and found("addcmul").ufunc is None
    assert [step[0] for step in found("addcmul").steps] == [np.multiply, np.multiply, np.add]
    assert (
        found("relu").ufunc is None and len(found("relu").steps) == 1
    )  # by the dtype that it asks
    assert found("where") is None and found("pow") is None
    assert found("exp", torch.float16) is None and set(WIDE) == {torch.float16, torch.bfloat16}


# At their real sizes


@pytest.fixture
def x():
    return torch.from_numpy(np.random.default_rng(5).standard_normal(COUNT + 7).astype(np.float32))


def lying(x):
    """Large tensors that do not lie row by row, or not as they look."""
    m = x[: 1 << 20].view(1024, 1024)
    return {
        "turned": m.t(), "stepped": x.repeat(2)[::2], "offset": x[5:], "row": x[None],
        "expanded": x[:1024].expand(1100, 1024), "column": m[:, :1].expand(1024, 1100),
        "deep": m.view(4, 256, 1024).permute(1, 2, 0), "two": m.view(2, -1),
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["turned", "stepped", "offset", "row", "expanded", "column",
                                  "deep", "two"])  # fmt: skip
def test_large_tensors_however_they_lie(three, x, kind):
    t = lying(x)[kind]
    n = t.numpy()
    np.testing.assert_array_equal((t + 1).numpy(), n + np.float32(1))
    np.testing.assert_array_equal((t * t).numpy(), n * n)
    np.testing.assert_array_equal((t > t[0]).numpy(), n > n[0])
    np.testing.assert_array_equal(t.clone().numpy(), n)
    np.testing.assert_array_equal(t.to(torch.int32).numpy(), n.astype(np.int32))
    np.testing.assert_array_equal(t.where(t > 0, 2).numpy(), np.where(n > 0, n, np.float32(2)))
    np.testing.assert_array_equal(t.amax().numpy(), n.max())
    np.testing.assert_allclose(t.sum().numpy(), n.sum(dtype=np.float64), rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(t.mean().numpy(), n.mean(dtype=np.float64), rtol=1e-4, atol=1e-6)
    for dim in range(n.ndim):
        np.testing.assert_array_equal(t.amin(dim).numpy(), n.min(dim))
        np.testing.assert_array_equal(t.argmax(dim, keepdim=True).numpy(),
                                      n.argmax(dim, keepdims=True))  # fmt: skip
        values, places = t.max(dim)
        np.testing.assert_array_equal(values.numpy(), n.max(dim))
        np.testing.assert_array_equal(places.numpy(), n.argmax(dim))
        np.testing.assert_allclose(t.mean(dim).numpy(), n.mean(dim, np.float64), atol=1e-5)
    np.testing.assert_array_equal(torch.cat([t, t], -1).numpy(), np.concatenate([n, n], -1))
    np.testing.assert_array_equal(torch.stack([t, t], 1).numpy(), np.stack([n, n], 1))


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.uint8, torch.float16,
                                   torch.bfloat16, torch.complex64, torch.bool])  # fmt: skip
def test_large_tensors_of_every_kind(three, x, dtype):
    t, some = (x * 3).to(dtype), slice(COUNT // 8 - 3, COUNT // 8 + 3)  # across two ranges
    for work in (lambda t: t + t, lambda t: t == t + t, lambda t: t.clone().fill_(2),
                 lambda t: t.to(torch.complex64), lambda t: t.to(torch.float16)):  # fmt: skip
        assert work(t)[some].tolist() == work(t[some]).tolist()
    counted = dtype is torch.bool or not (dtype.is_floating_point or dtype.is_complex)
    assert t.sum().dtype is (torch.int64 if counted else dtype)
    if counted:
        assert t.sum() == t.numpy().sum(dtype=np.int64)


def test_in_place(three, x):
    n, kept = x.numpy().copy(), x.clone()
    x += 1
    x *= kept
    x -= x
    np.testing.assert_array_equal(x.numpy(), (n + 1) * n - (n + 1) * n)
    view = x[2:-2]
    view.fill_(3)
    assert x[:4].tolist() == [0, 0, 3, 3] and x.sum() == 3 * (COUNT + 3)
    x.zero_()
    assert not x.any()
    assert kept.numpy().tobytes() == n.tobytes()


def does_rows_alone(op, first, attrs):
    if isinstance(op, Rowwise):
        return 0 not in op.dims(first.shape, **attrs)
    return first.ndim and (op.by_first is True or attrs["dim"] % first.ndim)


BY_ROWS = [
    op for op in REGISTRY.values()
    if isinstance(op, Rowwise) or getattr(op, "by_first", "") in (True, "dim")
]  # fmt: skip


@pytest.mark.parametrize("op", BY_ROWS, ids=lambda op: op.name)
def test_rows(three, op, monkeypatch):
    """Of ops that work out each index of the first dimension by itself."""
    used = []
    by_rows = parted.by_rows
    monkeypatch.setattr(parted, "by_rows", lambda *a: used.append(op) or by_rows(*a))
    for case in cases_of(op):
        first = case.args[0]
        named = dict(zip(op.attrs, case.args[len(op.inputs) :], strict=False))
        attrs = {n: named.get(n, case.attrs.get(n, default)) for n, default in op.attrs.items()}
        if not does_rows_alone(op, first, attrs):
            continue
        times = parted.SOME // first.size + 3

        def tall(a, first=first, times=times):
            is_like = isinstance(a, np.ndarray) and a.ndim == first.ndim and len(a) == len(first)
            return np.concatenate([a] * times) if is_like else a

        case = case._replace(args=tuple([tall(a) for a in case.args]))
        inputs = case.args[: len(op.inputs)]
        with torch.no_grad():
            got = arrays(run(case, tensors(case, "cpu")))
            want = op.invoke([*inputs, *[None] * (len(op.inputs) - len(inputs))], attrs)
        want = want if op.outputs else (want,)
        assert_same(got, [np.asarray(w, g.dtype) for w, g in zip(want, got, strict=True)], 2e-5)
    assert used


def test_slices_by_an_index(three, x):
    """One range after the other, and the complaint that few would get."""
    m, index = x[: 1 << 20].view(1024, 1024), torch.randperm(1024)
    for t in (m, m.t(), m.half(), m.to(torch.bfloat16), m.to(torch.int64)):
        for i in (index, index.int(), index - 1024, index.view(32, 32)):
            assert t[i].numpy().tobytes() == t.numpy()[i.numpy()].tobytes()
    assert m.index_select(0, index).equal(m[index]) and x[index.repeat(1100)].shape == (1126400,)
    index[700] = 1024
    for take in (lambda: m[index], lambda: nn.functional.embedding(index, m)):
        with pytest.raises(IndexError, match="1024|index out of range in self"):
            take()
    with pytest.raises(IndexError, match=f"index {int(index[0]) - 2048} is out of bounds"):
        m.index_select(0, index - 2048)


@pytest.mark.parametrize("draw", [torch.rand, torch.randn, lambda n: torch.empty(n).exponential_()])
def test_draws(three, draw):
    """Every block of four numbers depends on its own place alone."""
    torch.manual_seed(7)
    many, after = draw(COUNT + 3), draw(5)
    torch.manual_seed(7)
    settings.Process.threads = 1
    alone = draw(COUNT + 3)
    assert many.numpy().tobytes() == alone.numpy().tobytes() and draw(5).equal(after)
    assert len(many.unique()) > COUNT * 0.9


# What takes other steps where there is much of it


@pytest.mark.parametrize("kind", ["f4", "f8", "f2", "i1", "u1", "i8", "?", "c8", "c16"])
def test_choosing_without_branches_is_where(kind):
    rng = np.random.default_rng(2)
    x, y = (rng.standard_normal((150, 120)) * 9 for _ in "xy")
    x[0, :3], y[1, :3] = [np.inf, np.nan, -0.0], [np.nan, -0.0, -np.inf]
    with np.errstate(invalid="ignore"):
        x, y = x.astype(kind), y.astype(kind)
    conditions = rng.random((150, 120)) > 0.5, rng.random((150, 1)) > 0.5, np.ones((), bool)
    for condition in conditions:
        for a, b in ((x, y), (x.T[:, ::-1].T, y), (x[0, 3], y), (x, y[:1])):
            got, want = choose(condition, a, b), np.where(condition, a, b)
            assert got.dtype == want.dtype and got.shape == want.shape
            assert got.tobytes() == want.tobytes()


def test_a_value_for_each_of_a_batch_fills_a_mask():
    fill = torch.func.vmap(lambda x, mask, value: x.masked_fill(mask, value))
    mask = torch.tensor([[True, False, True], [False, True, False]])
    got = fill(torch.zeros(2, 3), mask, torch.tensor([1.0, 2.0]))
    assert got.tolist() == [[1, 0, 1], [0, 2, 0]]


@pytest.mark.parametrize("largest", [True, False])
def test_the_foremost_are_those_of_a_sort(largest):
    rng = np.random.default_rng(4)
    for values in (rng.integers(0, 9, (60, 100)), rng.random((60, 100)), np.zeros((60, 100))):
        x = torch.from_numpy(values)
        for dim in (0, 1):
            for k in (1, 7, 15, 40):
                got, want = x.topk(k, dim, largest), x.sort(dim, largest, stable=True)
                assert got[0].equal(want[0].narrow(dim, 0, k))
                assert got[1].equal(want[1].narrow(dim, 0, k))
    x[3, 5] = torch.nan
    assert x.topk(2, 1, largest).indices[3].tolist() == ([5, 0] if largest else [0, 1])
    assert torch.ones(0, 8).topk(2, 1, largest).values.shape == (0, 2)


def test_many_rows_are_added_in_the_order_of_the_index():
    rng = np.random.default_rng(6)
    index = torch.from_numpy(rng.integers(0, 40, 3000))
    source = torch.from_numpy(rng.standard_normal((3000, 24)).astype(np.float32))
    want = np.zeros((50, 24), np.float32)
    np.add.at(want, index.numpy(), source.numpy())
    got = torch.zeros(50, 24).index_add(0, index, source)
    assert got.numpy().tobytes() == want.tobytes()
    minus = torch.full((50, 24), -0.0).index_add(0, index, source)
    assert minus[45].signbit().all() and minus[:40].equal(got[:40])
    source[1, 1] = torch.inf
    there = torch.zeros(50, 24, dtype=torch.complex64).index_add(0, index, source + 1j)
    assert there[index[1], 1].real == torch.inf and not there.isnan().any()
    source[1, 1] = want[0, 0] = 0
    want = np.zeros((50, 24), np.float32)
    np.add.at(want, index.numpy(), source.numpy())
    again = torch.ones(50, 24).index_add_(0, index.int(), source)
    np.testing.assert_allclose(again.numpy(), want + 1, atol=2e-5)
    with pytest.raises(IndexError, match="index out of range in self|out of bounds"):
        torch.zeros(39, 24).index_add(0, index, source)


# Threads


def test_one_thread_does_it_alone(x, monkeypatch):
    monkeypatch.setattr(settings.Process, "threads", 1)
    monkeypatch.setattr(threads, "Work", None)
    assert (x + x).sum() == 2 * x.sum() and x.softmax(0).numel() == COUNT + 7


def test_a_users_function_is_called_once_by_its_caller(three, x):
    seen = []

    def own(input):
        seen.append((threading.get_ident(), input.shape))
        return input * 2

    with registry.register_unary_op("doubled_by_one", own, "input * 2") as op:
        seen.clear()
        np.testing.assert_array_equal(op(x).numpy(), x.numpy() * 2)
    assert seen == [(threading.get_ident(), (COUNT + 7,))]


def test_what_a_thread_raises_is_raised_once_all_are_done(three):
    done = []

    def work(start, stop):
        if start == 0:
            raise ValueError(f"from {start} to {stop}")
        done.append((start, stop))

    with pytest.raises(ValueError, match="from 0 to 8"):
        threads.share(96, 96, work)
    assert sorted(done) == [(start, start + 8) for start in range(8, 96, 8)]
    threads.share(96, 5, lambda start, stop: done.append((start, stop)))
    assert [stop for _, stop in sorted(done[11:])] == [19, 38, 57, 76, 96]


def test_no_more_threads_start_than_help(x, monkeypatch):
    started = []
    monkeypatch.setattr(settings.Process, "threads", 5000)
    monkeypatch.setattr(threads, "MOST", 3)
    monkeypatch.setattr(threads.Helpers, "join", lambda self, work, count: started.append(count))
    assert (x + x).sum() == 2 * x.sum() and set(started) == {2}


def test_helpers_that_cannot_start_are_not_waited_for(three, monkeypatch):
    class NoThread:
        def __init__(self, **_):
            pass

        def start(self):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "helpers", threads.Helpers())
    monkeypatch.setattr(threads, "Thread", NoThread)
    done = []
    threads.share(12, 12, lambda *part: done.append(part))
    assert sorted(done) == [(at, at + 1) for at in range(12)]


def test_several_callers_share_the_helpers(three, x):
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            got = [*pool.map(lambda k: (x * k + k).numpy(), range(12))]
    finally:
        sys.setswitchinterval(before)
    for k, result in enumerate(got):
        np.testing.assert_array_equal(result, x.numpy() * np.float32(k) + np.float32(k))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_helpers_of_its_own(three, x):
    want = float((x + 1).amax())
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, str(float((x + 1).amax())).encode())
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0 and float(os.read(read, 99)) == want
