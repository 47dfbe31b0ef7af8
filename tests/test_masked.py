"""torch.masked: what its dims may be, and what has no identity to be masked with."""

from __future__ import annotations

import pytest

import wgtorch as torch
from wgtorch import masked


@pytest.fixture
def both(device):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
    return x, x > 1


@pytest.mark.parametrize("name", ["prod", "amax", "logsumexp", "softmax", "cumsum", "median"])
def test_dims_that_are_none(both, name):
    x, mask = both
    fold = getattr(masked, name)
    with pytest.raises(RuntimeError, match="dim=0 appears multiple times in the list of dims"):
        fold(x, (0, 0), mask=mask)
    with pytest.raises(IndexError, match="Dimension out of range"):
        fold(x, (0, 2), mask=mask)
    with pytest.raises(TypeError):
        fold(x, (0.0,), mask=mask)


def test_none_and_several_dims_of_what_goes_along_one(both):
    x, mask = both
    assert masked.cumsum(x, None, mask=mask).tolist() == [[0, 2], [3, 6]]
    assert masked.median(x, (0, 1), mask=mask).tolist() == [3, 2]


def test_bools_have_nothing_to_be_masked_with(both):
    bools = both[1]
    for name in ("amax", "argmin", "logsumexp", "softmax"):
        with pytest.raises(NotImplementedError, match="identity of a?.* on torch.bool input"):
            getattr(masked, name)(bools, 1, mask=bools)
    assert masked.logsumexp(both[0].long(), 1, mask=bools).dtype is torch.int64
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        masked.softmax(both[0].long(), 1, mask=bools)


def test_medians_of_integers(both):
    x, mask = both
    assert masked.median(x.int(), 1, mask=mask).tolist() == [2, 3]
    with pytest.raises(ValueError, match="no fully masked out rows"):
        masked.median(x.int(), 1, mask=x > 2)
