"""Indexing: elements looked up and moved, in every dtype and layout, and what a GPU says of wrong
indices.
"""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.backend import backend
from wgtorch.backends.webgpu import steps
from wgtorch.device import Device

DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
          torch.float16, torch.bfloat16, torch.float32, torch.float64]  # fmt: skip
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)


def numbers(dtype, *shape, seed=0):
    """Small whole numbers, which every dtype holds exactly."""
    rng = np.random.default_rng(seed)
    low = 0 if dtype is torch.bool or dtype is torch.uint8 else -100
    return rng.integers(low, 2 if dtype is torch.bool else 100, shape).astype(dtype.np)


def given(array, device):
    """A tensor of it; the test is skipped where the device lacks the dtype."""
    try:
        return torch.tensor(array, device=device)
    except TypeError as lacking:
        if array.dtype != np.float64:
            raise
        pytest.skip(str(lacking))


def same(got, want):
    got = got.cpu().numpy()
    np.testing.assert_array_equal(got.astype(np.float64), np.asarray(want).astype(np.float64))
    assert got.dtype == np.asarray(want).dtype


@every_dtype
def test_lookups(dtype, device):
    array, index = numbers(dtype, 5, 6), np.array([[4, -5, 0], [1, 2, -1]])
    x, i = given(array, device), torch.tensor(index, device=device)
    same(x[i], array[index])
    same(x[:, i], array[:, index])
    same(x[i, i[0]], array[index, index[0]])
    same(x.take(i), array.reshape(-1)[index])
    same(x.index_select(1, i[1] + 1), array[:, index[1] + 1])
    columns = np.array([[0, 5, 2], [1, 1, 3]])
    same(
        x.gather(1, torch.tensor(columns, device=device)), np.take_along_axis(array[:2], columns, 1)
    )
    same(torch.embedding(x, i.abs().clamp_max(4)), array[np.minimum(abs(index), 4)])


@every_dtype
def test_masks(dtype, device):
    array = numbers(dtype, 7, 30) * (numbers(torch.bool, 7, 30, seed=1))
    x = given(array.astype(dtype.np), device)
    mask = numbers(torch.bool, 7, 30, seed=2)
    m = torch.tensor(mask, device=device)
    same(x.nonzero(), np.argwhere(array))
    for got, want in zip(x.nonzero(as_tuple=True), np.nonzero(array), strict=True):
        same(got, want)
    same(x[m], array[mask])
    same(x.masked_select(m), array[mask])
    same(x[m[:, 0]], array[mask[:, 0]])
    x[m] = 1
    array[mask] = 1
    same(x, array)


@every_dtype
def test_movement(dtype, device):
    array = numbers(dtype, 3, 4, 5)
    x = given(array, device)
    same(x.flip(0, 2), array[::-1, :, ::-1])
    same(x.roll((1, -7), (0, 2)), np.roll(array, (1, -7), (0, 2)))
    same(x.rot90(3, (0, 2)), np.rot90(array, 3, (0, 2)))
    same(x.repeat(2, 1, 3, 1), np.tile(array, (2, 1, 3, 1)))
    same(x.repeat_interleave(3, 1), array.repeat(3, 1))
    same(x.repeat_interleave(torch.tensor([2, 0, 1]), 0), array.repeat([2, 0, 1], 0))
    same(x.tril(1), np.tril(array, 1))
    same(x.triu(-1), np.triu(array, -1))
    same(x[0, 0].diag_embed(1), np.diag(array[0, 0], 1))
    same(
        x.constant_pad_nd((1, 2, 0, 3), 1),
        np.pad(array, ((0, 0), (0, 3), (1, 2)), constant_values=1),
    )


@every_dtype
def test_joins(dtype, device):
    a, b = numbers(dtype, 3, 5), numbers(dtype, 3, 5, seed=1)
    x, y = given(a, device), given(b, device)
    same(torch.cat([x, y[:2], x.T[:1, :].expand(1, 3).reshape(3, 1).expand(3, 5)]),
         np.concatenate([a, b[:2], np.broadcast_to(a.T[0][:, None], (3, 5))]))  # fmt: skip
    same(torch.cat([x, y[:, 1:4]], 1), np.concatenate([a, b[:, 1:4]], 1))
    same(torch.stack([x, y], 2), np.stack([a, b], 2))
    same(x.select_scatter(y[0], 1, 2) if a.shape[0] == 5 else x.select_scatter(y[0], 0, 2),
         np.stack([a[0], a[1], b[0]]))  # fmt: skip
    wanted = a.copy()
    wanted[:, 1::2] = b[:, :2]
    same(x.slice_scatter(y[:, :2], 1, 1, None, 2), wanted)
    wanted = a.copy()
    np.fill_diagonal(wanted, b[0, :3])
    same(x.diagonal_scatter(y[0, :3]), wanted)


@every_dtype
def test_strided_writes(dtype, device):
    """By whole words and by parts of them, with the values kept elsewhere too."""
    array = numbers(dtype, 6, 8, 4)
    for at in [np.s_[1:3], np.s_[:, 2:6], np.s_[..., 1:3], np.s_[::2, 4:], np.s_[:, :, 0],
               np.s_[1:5:2, ::3, 2:], np.s_[5, 7, 3]]:  # fmt: skip
        x = given(array, device)
        value = given(array[at][::-1].copy() if array[at].ndim else array[at], device)
        value = value.logical_not() if dtype is torch.bool else value * 1
        x[at] = value
        wanted = array.copy()
        wanted[at] = value.cpu().numpy()
        same(x, wanted)


LAYOUTS = {
    "transposed": lambda x: x.permute(*reversed(range(x.ndim))),
    "stepped": lambda x: x[::2, 1::3],
    "offset": lambda x: x[2:, 3:],
    "expanded": lambda x: x[0].expand(4, *x.shape[1:]),
    "column": lambda x: x[:, 1:2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout, device):
    array = np.arange(6 * 7 * 2, dtype=np.float32).reshape(6, 7, 2)
    x, seen = LAYOUTS[layout](torch.tensor(array, device=device)), np.empty(0)
    seen = x.cpu().numpy()
    index = np.array([[1, 0, 1], [0, 1, 1]])
    i = LAYOUTS["transposed"](torch.tensor(index, device=device))
    same(x[i], seen[index.T])
    same(
        x[..., i[:, 0]] if x.shape[-1] > 1 else x[i],
        seen[..., index[0]] if seen.shape[-1] > 1 else seen[index.T],
    )
    same(x.take(i), seen.reshape(-1)[index.T])
    same(x.flip(0, 1), seen[::-1, ::-1])
    same(x.nonzero(), np.argwhere(seen))
    same(torch.cat([x, x], 1), np.concatenate([seen, seen], 1))
    same(x.tril(), np.tril(seen))


def test_flipped_into_a_sum(device):
    """What is read backwards goes through fused kernels and reductions like anything else."""
    array = np.arange(6 * 8, dtype=np.float32).reshape(6, 8)
    x = torch.tensor(array, device=device)
    same((x.flip(0) * 2 + x.flip(1)).sum(1), (array[::-1] * 2 + array[:, ::-1]).sum(1))
    same(x.flip(0, 1).sum(0), array.sum(0)[::-1])
    same(x.flip(1).amax(0), array.max(0)[::-1])


def test_nothing(device):
    x = torch.zeros(0, 3, device=device)
    none = torch.zeros(0, dtype=torch.int64, device=device)
    assert x[none].shape == (0, 3)
    assert torch.ones(4, 3, device=device)[none].shape == (0, 3)
    assert x.nonzero().shape == (0, 2)
    assert x[x > 0].shape == (0,)
    assert torch.cat([x, torch.ones(2, 3, device=device)]).shape == (2, 3)
    assert x.flip(0).shape == x.roll(1, 0).shape == x.tril().shape == (0, 3)
    assert x.index_select(1, none).shape == (0, 0)
    assert torch.ones(4, 3, device=device).scatter(0, none.reshape(0, 1), 1.0).sum() == 12


def test_zero_dim(device):
    x = torch.tensor(5.0, device=device)
    zero = torch.tensor(0, device=device)
    assert x[None].shape == (1,)
    assert x[...].shape == ()
    assert x.gather(0, zero) == 5
    assert x.index_select(0, zero[None]) == 5
    assert x.take(zero) == 5
    assert x.scatter(0, zero, 2.0) == 2
    assert x.nonzero().shape == (1, 0)
    assert x.flip([]).shape == ()
    assert x.roll(1).shape == ()


def test_views_share_memory(device):
    x = torch.zeros(4, 5, device=device)
    x[1][2] = 3
    row = x[2:, ::2]
    row[0, 1] = 4
    row[:, 2] += 1
    wanted = np.zeros((4, 5), np.float32)
    wanted[1, 2], wanted[2, 2], wanted[2:, 4] = 3, 4, 1
    same(x, wanted)
    assert x[1].data_ptr() == x.data_ptr() + 20 or device == "webgpu"


def test_iteration(device):
    x = torch.arange(6, device=device).reshape(3, 2)
    assert [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        iter(x[0, 0])


# What it costs


def dispatches(device) -> int:
    return backend(Device(device)).queue.waiting


def test_a_strided_write_is_one_kernel(webgpu):
    x, y = torch.zeros(8, 8, device=webgpu), torch.ones(2, 4, device=webgpu)
    x[0, 0] = 1
    torch.webgpu.synchronize()
    before = dispatches(webgpu)
    x[1:3, ::2] = y * 2
    assert dispatches(webgpu) == before + 1
    assert x.sum() == 17


def test_a_masked_write_of_a_number_waits_for_nothing(webgpu):
    x = torch.ones(8, 8, device=webgpu)
    torch.webgpu.synchronize()
    before = dispatches(webgpu)
    x[x > 0] = 2
    assert dispatches(webgpu) == before  # still a promise
    assert x.sum() == 128


def test_few_elements_are_written_where_they_are(device):
    x, rows = torch.zeros(1000, 4, device=device), torch.tensor([3, 7], device=device)
    x[0, 0] = 5
    place = address(x)
    x[rows] = 1.0
    x.index_add_(0, rows, torch.ones(2, 4, device=device))
    x.scatter_(0, rows.reshape(2, 1), 9.0)
    assert address(x) == place
    assert x.sum() == 5 + 2 * (9 + 3 * 2)


def address(x):
    buffer = x.storage.value.buffer
    return x.data_ptr() if x.is_cpu else buffer.block


def test_others_keep_what_they_saw(device):
    """Whoever holds the old elements keeps them: a promise, a saved tensor, a source."""
    x, rows = torch.ones(5, 3, device=device), torch.tensor([0, 4], device=device)
    promised = x * 10
    weight = torch.full((5, 3), 2.0, device=device, requires_grad=True)
    product = weight * x
    x[rows] = 0.0
    same(promised, np.full((5, 3), 10, np.float32))
    product.sum().backward()
    same(weight.grad, np.ones((5, 3), np.float32))
    x = torch.arange(6.0, device=device)
    x[torch.tensor([0, 1, 2], device=device)] = x[3:].clone()
    same(x, np.float32([3, 4, 5, 3, 4, 5]))
    x[torch.tensor([5, 4], device=device)] = x[:2].clone()
    same(x, np.float32([3, 4, 5, 3, 4, 3]))


# Indices out of range


WRONG = {
    "index": (lambda x, i: x[i], "index 7 is out of bounds for dimension 0 with size 3"),
    "gather": (lambda x, i: x.gather(1, i.reshape(1, 2)), "gather(): index 7 is out of bounds for"
               " dimension 1 with size 4"),
    "index_select": (lambda x, i: x.index_select(1, i), "index_select(): index 7"),
    "embedding": (lambda x, i: torch.embedding(x, i), "embedding(): index 7"),
    "scatter": (lambda x, i: x.scatter(0, i.reshape(2, 1), 1.0), "scatter(): index 7"),
    "index_add": (lambda x, i: x.index_add(0, i, x[:2]), "index_add(): index 7"),
    "index_put": (lambda x, i: x.index_put((i,), x[0]), "index 7"),
}  # fmt: skip


@pytest.mark.parametrize("op", WRONG)
@pytest.mark.parametrize("kind", [IndexError, RuntimeError])
def test_out_of_range(op, kind, device):
    """At once on the cpu, at the next sync on a GPU; then all goes on."""
    run, text = WRONG[op]
    x, index = torch.ones(3, 4, device=device), torch.tensor([1, 7], device=device)
    with pytest.raises(kind) as told:
        run(x, index)
        torch.webgpu.synchronize()
    assert text in str(told.value)
    assert x.sum() == 12
    if device == "webgpu":
        torch.webgpu.synchronize()


def test_the_first_complaint_is_raised(webgpu):
    x, index = torch.ones(3, 4, device=webgpu), torch.tensor([-9], device=webgpu)
    first = x.index_select(1, index)
    second = x.gather(0, index.reshape(1, 1))
    with pytest.raises(IndexError, match=r"index_select\(\): index -9 is out of bounds for dim"):
        second.cpu().numpy()
    assert first.sum() == 0  # nothing was read outside
    x[torch.tensor([2, 5], device=webgpu)] = 7.0
    with pytest.raises(IndexError, match="index 5"):
        x.tolist()
    assert x.sum() == 8 + 28


def test_a_complaint_says_where_the_op_was_called(webgpu):
    """The read that brings it up is of another tensor, somewhere else."""

    def picked(x, index):
        return x.index_select(0, index)

    picked(torch.ones(3, device=webgpu), torch.tensor([9], device=webgpu))
    with pytest.raises(IndexError) as told:
        (torch.ones(2, device=webgpu) + 1).tolist()
    code = picked.__code__
    assert str(told.value).splitlines() == [
        "index_select(): index 9 is out of bounds for dimension 0 with size 3",
        f"  called at {code.co_filename}, line {code.co_firstlineno + 1}, in picked",
    ]


def test_checked_at_once(webgpu, monkeypatch):
    monkeypatch.setattr(steps, "CHECK", 1)
    with pytest.raises(IndexError, match="index 5"):
        torch.ones(3, device=webgpu)[torch.tensor([5], device=webgpu)]


def test_syncs_read_no_flags_unless_indices_were_checked(webgpu):
    dock = backend(Device(webgpu)).dock
    torch.ones(3, device=webgpu).sum().item()
    assert dock.complaints.leave() is None
    torch.ones(3, device=webgpu)[torch.tensor([2], device=webgpu)]
    assert len(dock.complaints.slots) == 1
    torch.webgpu.synchronize()
    assert dock.complaints.leave() is None


def test_more_complaints_than_slots(webgpu):
    x, index = torch.ones(700, device=webgpu), torch.tensor([0], device=webgpu)
    for size in range(300, 600):
        x[:size][index]
    with pytest.raises(
        IndexError, match="index 600 is out of bounds for dimension 0 with size 600"
    ):
        x[:600][index + 600].tolist()


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
@pytest.mark.parametrize("holds", [[1, 1, 1, 1], [1, 0, 3, 0]])
def test_masks_of_uint8_are_masks(device, holds):
    mask = torch.tensor(holds, dtype=torch.uint8, device=device)
    x = torch.arange(4.0, device=device, requires_grad=True)
    got = x[mask]
    assert got.tolist() == [k for k in range(4) if holds[k]]
    got.sum().backward()
    assert x.grad.tolist() == [float(n > 0) for n in holds]
    wide = torch.arange(8.0, device=device).reshape(2, 4)
    assert wide[:, mask].tolist() == [
        [row[k] for k in range(4) if holds[k]] for row in wide.tolist()
    ]
    assert wide[mask.reshape(2, 2).repeat(1, 2)].tolist() == [
        4.0 * r + c for r in range(2) for c in range(4) if holds[2 * r + c % 2]
    ]
    with pytest.raises(RuntimeError, match="masked_fill_ only supports boolean masks"):
        wide[:, mask] = 9.0
    wide[:, mask] = torch.full((2, sum(n > 0 for n in holds)), 9.0, device=device)
    assert (wide == 9).sum().item() == 2 * sum(n > 0 for n in holds)


# Large


def test_more_groups_than_an_axis_has(webgpu):
    """67 million results are more than 65,535 groups of 256 threads compute four at a time."""
    width = 34_000_000
    x = torch.zeros(2, width, dtype=torch.uint8, device=webgpu)
    x[1, -1] = 3
    y = x[torch.tensor([1, 0], device=webgpu)]
    assert y[0, -1].item() == 3
    assert y[1, -1].item() == 0
    assert y.sum().item() == 3
    narrow = x[:1, : width // 2 + 7]
    narrow[torch.tensor([0], device=webgpu)] = torch.tensor(1, dtype=torch.uint8, device=webgpu)
    assert x.sum().item() == width // 2 + 7 + 3
