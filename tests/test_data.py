"""Datasets, samplers and loaders."""

import threading
from collections import namedtuple

import numpy as np
import pytest

import wgtorch as wt
from wgtorch.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
    random_split,
)


class Squares(Dataset):
    def __init__(self, count=10):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if not 0 <= index < self.count:
            raise IndexError(index)
        return {"index": index, "square": np.float32(index * index)}


class Count(IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.count, step))

    def __len__(self):
        return self.count


def listed(batches):
    return [batch.tolist() for batch in batches]


# Datasets


def test_tensor_dataset(device):
    x = wt.tensor(np.arange(6.0, dtype=np.float32).reshape(3, 2), device=device)
    data = TensorDataset(x, wt.tensor([7, 8, 9], device=device))
    assert len(data) == 3
    first, label = data[1]
    assert first.tolist() == [2, 3] and label.item() == 8
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        TensorDataset(x, x[:2])


def test_concatenation_and_subsets():
    both = Squares(3) + Squares(4)
    assert isinstance(both, ConcatDataset) and len(both) == 7
    assert [both[i]["index"] for i in (0, 2, 3, -1)] == [0, 2, 0, 3]
    assert [sample["index"] for sample in both] == [0, 1, 2, 0, 1, 2, 3]
    with pytest.raises(ValueError, match="should not exceed dataset length"):
        both[-8]
    part = Subset(both, [6, 0])
    assert len(part) == 2 and part[0]["index"] == 3
    assert [s["index"] for s in part.__getitems__([1, 0])] == [0, 3]
    stacked = StackDataset(a=Squares(2), b=range(2))
    assert stacked[1]["b"] == 1 and stacked[1]["a"]["square"] == 1 and len(stacked) == 2
    assert [s["b"] for s in stacked.__getitems__([1, 0])] == [1, 0]
    by_part = StackDataset(Subset(both, [6, 0]), [10, 20]).__getitems__([1, 1])
    assert [(s["index"], n) for s, n in by_part] == [(0, 20), (0, 20)]
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        StackDataset(Squares(2), Squares(3))
    assert list(Count(2) + Count(3)) == [0, 1, 0, 1, 2] and len(ChainDataset([Count(2)])) == 2


def test_random_split_covers_everything_once():
    wt.manual_seed(0)
    parts = random_split(Squares(10), [7, 3])
    assert [len(p) for p in parts] == [7, 3]
    assert sorted(i for p in parts for i in p.indices) == list(range(10))
    assert parts[0].indices != list(range(7))
    assert [len(p) for p in random_split(Squares(11), [0.5, 0.3, 0.2])] == [6, 3, 2]
    with pytest.raises(ValueError, match="does not equal the length"):
        random_split(Squares(10), [7, 2])
    with pytest.warns(UserWarning, match="split at index 1 is 0"):
        random_split(Squares(1), [0.9, 0.1])
    first = random_split(Squares(50), [50], wt.Generator().manual_seed(3))[0].indices
    again = random_split(Squares(50), [50], wt.Generator().manual_seed(3))[0].indices
    assert first == again


# Samplers


def test_samplers():
    assert list(SequentialSampler(Squares(3))) == [0, 1, 2]
    sampler = RandomSampler(Squares(30))
    one, two = list(sampler), list(sampler)
    assert sorted(one) == sorted(two) == list(range(30)) and one != two
    assert len(list(RandomSampler(Squares(3), num_samples=8))) == 8
    drawn = list(RandomSampler(Squares(3), replacement=True, num_samples=50))
    assert len(drawn) == 50 and set(drawn) == {0, 1, 2}
    assert sorted(SubsetRandomSampler([5, 7, 9])) == [5, 7, 9]
    assert set(WeightedRandomSampler([0.0, 1.0, 0.0, 2.0], 40)) == {1, 3}
    batches = BatchSampler(SequentialSampler(range(5)), 2, drop_last=False)
    assert list(batches) == [[0, 1], [2, 3], [4]] and len(batches) == 3
    short = BatchSampler(SequentialSampler(range(5)), 2, drop_last=True)
    assert list(short) == [[0, 1], [2, 3]] and len(short) == 2
    with pytest.raises(ValueError, match="batch_size should be a positive integer value"):
        BatchSampler([1], 0, False)
    with pytest.raises(ValueError, match="num_samples should be a positive integer"):
        RandomSampler([1], num_samples=-1)
    with pytest.raises(ValueError, match="num_samples=0"):
        DataLoader([], shuffle=True)
    with pytest.raises(AssertionError, match="requires timeout == 0"):
        iter(DataLoader([1], timeout=3))


# Collating

Pair = namedtuple("Pair", "a b")


def test_collating_keeps_structure():
    batch = default_collate([
        {"n": i, "f": float(i), "s": "x", "t": (wt.tensor([i]), np.ones(2)), "p": Pair(i, [i])}
        for i in range(2)
    ])  # fmt: skip
    assert batch["n"].tolist() == [0, 1] and batch["n"].dtype is wt.int64
    assert batch["f"].dtype is wt.float64 and batch["s"] == ["x", "x"]
    assert batch["t"][0].tolist() == [[0], [1]] and batch["t"][1].shape == (2, 2)
    assert isinstance(batch["p"], Pair) and batch["p"].b[0].tolist() == [0, 1]
    assert default_collate([np.float32(1), np.float32(2)]).dtype is wt.float32
    assert default_collate([True, False]).dtype is wt.bool
    with pytest.raises(TypeError, match="must contain tensors.*found <class 'object'>"):
        default_collate([object()])
    with pytest.raises(RuntimeError, match="should be of equal size"):
        default_collate([[1], [1, 2]])


# Loaders


@pytest.mark.parametrize("workers", [0, 2])
def test_loading_in_order(workers):
    loader = DataLoader(Squares(7), 3, num_workers=workers)
    assert len(loader) == 3
    for _ in range(2):
        batches = list(loader)
        assert listed(b["index"] for b in batches) == [[0, 1, 2], [3, 4, 5], [6]]
        assert batches[1]["square"].tolist() == [9, 16, 25]
    assert len(DataLoader(Squares(7), 3, drop_last=True)) == 2
    assert len(list(DataLoader(Squares(7), 3, drop_last=True, num_workers=workers))) == 2


@pytest.mark.parametrize("workers", [0, 2])
def test_loading_shuffled(workers):
    wt.manual_seed(1)
    loader = DataLoader(Squares(40), 8, shuffle=True, num_workers=workers)
    passes = [[i for batch in loader for i in batch["index"].tolist()] for _ in range(2)]
    assert passes[0] != passes[1]
    assert sorted(passes[0]) == sorted(passes[1]) == list(range(40))
    seeded = [
        [b["index"].tolist() for b in DataLoader(
            Squares(9), 4, shuffle=True, generator=wt.Generator().manual_seed(5))]
        for _ in range(2)
    ]  # fmt: skip
    assert seeded[0] == seeded[1]


def test_tensor_datasets_load_in_whole_batches(device):
    x = wt.tensor(np.arange(20.0, dtype=np.float32).reshape(10, 2), device=device)
    data = TensorDataset(x, wt.arange(10, device=device))
    got = list(DataLoader(Subset(Subset(data, range(1, 10)), [0, 8, 2, 4, 6]), 2))
    assert [labels.tolist() for _, labels in got] == [[1, 9], [3, 5], [7]]
    images = got[0][0]
    assert images.tolist() == [[2, 3], [18, 19]] and images.device == wt.device(device)
    images.fill_(0)
    assert x[1].tolist() == [2, 3]
    with pytest.raises(IndexError, match="index 12 is out of bounds"):
        list(DataLoader(data, 2, sampler=[3, 12]))


def test_samplers_of_ones_own():
    assert listed(
        b["index"] for b in DataLoader(Squares(), batch_sampler=[[1, 2], [0]])
    ) == [[1, 2], [0]]  # fmt: skip
    assert [s["index"] for s in DataLoader(Squares(), None, sampler=[4, 2])] == [4, 2]
    collate = DataLoader(Squares(), 2, collate_fn=lambda samples: len(samples))
    assert list(collate) == [2] * 5


@pytest.mark.parametrize("workers", [0, 2])
def test_streams(workers):
    loader = DataLoader(Count(7), 2, num_workers=workers)
    assert sorted(i for batch in loader for i in batch.tolist()) == list(range(7))
    assert len(loader) == 4
    assert all(len(b) == 2 for b in DataLoader(Count(7), 2, drop_last=True, num_workers=workers))
    assert sorted(DataLoader(Count(3), None, num_workers=workers)) == [0, 1, 2]


def test_workers_are_told_who_they_are():
    told = []

    class Who(Squares):
        def __getitem__(self, index):
            info = get_worker_info()
            return info.id, info.num_workers, info.dataset is data

    data = Who(6)
    loader = DataLoader(data, 1, num_workers=3, worker_init_fn=told.append, prefetch_factor=1)
    batches = [[int(v) for v in batch] for batch in loader]
    assert batches == [[i % 3, 3, 1] for i in range(6)]
    assert sorted(told) == [0, 1, 2] and get_worker_info() is None


def test_workers_hand_on_errors_and_end():
    class Broken(Squares):
        def __getitem__(self, index):
            if index == 3:
                raise ArithmeticError("sample 3")
            return index

    before = threading.active_count()
    batches = iter(DataLoader(Broken(), 2, num_workers=2))
    assert next(batches).tolist() == [0, 1]
    with pytest.raises(ArithmeticError, match="sample 3"):
        next(batches)
    leaving = iter(DataLoader(Squares(), 1, num_workers=2))
    next(leaving)
    del leaving, batches
    for thread in threading.enumerate():
        if thread.name.startswith("loader-"):
            thread.join(5)
    assert threading.active_count() <= before


def test_persistent_workers_stay():
    class Name(Squares):
        def __getitem__(self, index):
            return threading.current_thread().name, threading.get_ident()

    loader = DataLoader(Name(4), None, num_workers=2, persistent_workers=True)
    first, second = list(loader), list(loader)
    assert first == second and len({ident for _, ident in first}) == 2
    loader._kept.close()


@pytest.mark.parametrize("name", ["batch_size", "dataset", "sampler", "drop_last"])
def test_what_a_loader_was_made_of_stays(name):
    loader = DataLoader(Squares(4), 2)
    with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader"):
        setattr(loader, name, None)
    loader.worker_init_fn = print
    assert len(list(loader)) == 2


def test_waiting_too_long():
    gate = threading.Event()

    class Slow(Squares):
        def __getitem__(self, index):
            gate.wait(10)
            return index

    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.05 seconds"):
        next(iter(DataLoader(Slow(), 1, num_workers=1, timeout=0.05)))
    gate.set()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"batch_size": 0}, "batch_size should be a positive integer value"),
        ({"num_workers": -1}, "num_workers option should be non-negative"),
        ({"timeout": -1}, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, "prefetch_factor option could only be specified"),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        ({"shuffle": True, "sampler": [1]}, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[1]], "batch_size": 3}, "batch_sampler option is mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "disables auto-batching"),
        ({"multiprocessing_context": "fork"}, "can only be used with multi-process loading"),
    ],
)
def test_misuse_is_named(options, text):
    with pytest.raises(ValueError, match=text):
        DataLoader(Squares(), **options)


def test_streams_have_an_order_of_their_own():
    with pytest.raises(ValueError, match="expected unspecified shuffle option, but got shuffle=Tr"):
        DataLoader(Count(3), shuffle=True)
    with pytest.raises(ValueError, match="unspecified sampler option"):
        DataLoader(Count(3), sampler=[1])
    with pytest.raises(ValueError, match="unspecified batch_sampler option"):
        DataLoader(Count(3), batch_sampler=[[1]])
