"""Division of integers by a zero that is known when called: refused on both devices."""

from __future__ import annotations

import pytest

import wgtorch as torch

DIVISIONS = {
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "%=": lambda x, y: x.remainder_(y),
    "fmod": torch.fmod,
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
}


@pytest.mark.parametrize("divide", DIVISIONS.values(), ids=list(DIVISIONS))
def test_integers_by_a_known_zero(device, divide):
    x = torch.arange(4, device=device)
    for zero in (0, torch.tensor(0)):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            divide(x, zero)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        divide(x.to(torch.uint8), 256)
    assert divide(x[:0], 0).tolist() == []
    assert divide(x, 256).dtype is torch.int64
    assert not divide(x.float(), 0).isfinite().any()


def test_bools_by_a_known_zero(device):
    x = torch.ones(2, dtype=torch.bool, device=device)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        x // 0
    assert (x // 256).tolist() == [0, 0]
    with pytest.raises(NotImplementedError, match="remainder_cpu"):
        x % False
