"""What is counted: how often numbers occur, and where masks hold, in one workgroup and in many."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("most", [3, 1024, 1025, 5000])  # few, just as many as are tried, more
def test_bincount(kind, most, device):
    most = min(most, np.iinfo(kind).max)
    numbers = np.random.default_rng(most).integers(0, most, 9_000).astype(kind)
    x = torch.tensor(numbers, device=device)
    for least in (0, 2000, 6000):
        want = np.bincount(numbers, minlength=least)
        np.testing.assert_array_equal(x.bincount(minlength=least).cpu().numpy(), want)
    apart = torch.tensor(np.stack([numbers] * 2, 1), device=device)[:, 1]
    assert apart.bincount().tolist() == np.bincount(numbers).tolist()
    if kind != "uint8":
        with pytest.raises(RuntimeError, match="non-negative"):
            torch.tensor(numbers - 1, device=device).clamp(-1, 2).bincount()


@pytest.mark.parametrize("first", [0, -700, 2**31 - 300, -(2**31) - 9, 2**40], ids=hex)
def test_unique_of_numbers_near_to_each_other(first, device):
    numbers = np.random.default_rng(0).integers(0, 600, 5_000) + first
    x = torch.tensor(numbers, device=device)
    want = np.unique(numbers, return_inverse=True, return_counts=True)
    got = x.unique(return_inverse=True, return_counts=True)
    assert all(np.array_equal(g.cpu().numpy(), w) for g, w in zip(got, want, strict=True))
    np.testing.assert_array_equal(x.unique().cpu().numpy(), want[0])


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_masks_of_many_chunks(share, either_share):
    rng = np.random.default_rng(0)
    mask, array = rng.random((130, 127)) < share, rng.standard_normal((130, 127)).astype("f4")
    m, x = (torch.tensor(a, device=either_share) for a in (mask, array))
    np.testing.assert_array_equal(m.nonzero().cpu().numpy(), np.argwhere(mask))
    np.testing.assert_array_equal(x[m].cpu().numpy(), array[mask])
    np.testing.assert_array_equal(x.T[m.T].cpu().numpy(), array.T[mask.T])
    np.testing.assert_array_equal((x * m).nonzero().cpu().numpy(), np.argwhere(array * mask))
    bytes_ = (array * 9).astype(np.uint8)
    got = torch.tensor(bytes_, device=either_share).masked_select(m)
    np.testing.assert_array_equal(got.cpu().numpy(), bytes_[mask])


def test_gradients_of_what_a_mask_chooses(device):
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], device=device, requires_grad=True)
    mask = torch.tensor([[True, False, True], [False, True, True]], device=device)
    (g,) = torch.autograd.grad((x[mask] ** 3).sum(), x, create_graph=True)
    assert g.tolist() == [[3.0, 0.0, 27.0], [0.0, 75.0, 108.0]]
    (gg,) = torch.autograd.grad(g.sum(), x)
    assert gg.tolist() == [[6.0, 0.0, 18.0], [0.0, 30.0, 36.0]]
    rows = torch.stack([x.detach(), 2 * x.detach()])
    assert torch.vmap(lambda a: a[mask])(rows).tolist() == [[1, 3, 5, 6], [2, 6, 10, 12]]


def test_bincount_says_at_once_how_much_it_would_take():
    with pytest.raises(RuntimeError, match=f"tried to allocate {8 * (2**44 + 1)} bytes"):
        torch.tensor([2**44, 3]).bincount()
    with pytest.raises(RuntimeError, match="maximum value of input overflowed"):
        torch.tensor([2**63 - 1]).bincount()


def test_bincount_on_a_gpu_says_the_true_size(webgpu):
    with pytest.raises(RuntimeError, match=f"{2**33 + 1} elements"):
        torch.tensor([2**33], device=webgpu).bincount()
