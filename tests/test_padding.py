"""Margins that cannot be: what PyTorch refuses is refused in its words, on both devices."""

from __future__ import annotations

import pytest

import wgtorch as torch

F = torch.nn.functional


@pytest.mark.parametrize(
    ("pad", "text"),
    [(("a", 1), "found element of type str at pos 0"), (None, "not NoneType"), (5, "not int"),
     ((1.5, 1), "found element of type float at pos 0"),
     ((True, 1), "found element of type bool at pos 0"),
     ((2**63, 1), "Overflow when unpacking long long")],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["constant", "reflect"])
def test_margins_are_ints(device, pad, text, mode):
    with pytest.raises(TypeError, match=rf"pad\(\): argument 'pad' .*{text}"):
        F.pad(torch.ones(1, 1, 2, device=device), pad, mode)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize(
    ("shape", "margins"), [((3,), 2), ((3, 3), 4), ((3, 3, 3), 6), ((3, 3), 0)]
)
def test_margins_leave_a_dimension_of_channels(device, mode, shape, margins):
    with pytest.raises(NotImplementedError, match=f"{margins} is not supported for {len(shape)}D"):
        F.pad(torch.ones(shape, device=device), (1,) * margins, mode)


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_mirrored_margins_want_something_to_mirror(device, mode):
    for shape in [(1, 0, 3), (0, 3), (1, 1, 0)]:
        with pytest.raises(RuntimeError, match="with possibly 0 batch size and other non-zero"):
            F.pad(torch.ones(shape, device=device), (1, 1), mode)
    assert F.pad(torch.ones(0, 1, 3, device=device), (1, 1), mode).shape == (0, 1, 5)
    with pytest.raises(RuntimeError, match=r"input \(W: 3\) is too small. Calculated output W: 0"):
        F.pad(torch.ones(1, 1, 3, device=device), (-1, -2), mode)
    assert F.pad(torch.ones(1, 3, 3, device=device), (0, 0, -1, -2), mode).shape == (1, 0, 3)
    with pytest.raises(NotImplementedError, match="2d\" not implemented for 'Bool'"):
        F.pad(torch.ones(1, 3, 3, device=device) > 0, (1, 1, 1, 1), mode)


def test_circular_margins_copy_what_is_left(device):
    x = torch.arange(3.0, device=device).reshape(1, 1, 3)
    assert F.pad(x, (-1, 2), "circular").tolist() == [[[1, 2, 1, 2]]]
    assert F.pad(x, (-1, -2), "circular").shape == (1, 1, 0)
    for pad, left in [((1, -3), 0), ((-3, 3), 0), ((2, -2), 1), ((-1, 3), 2)]:
        with pytest.raises(RuntimeError, match=f"leave {left} elements of dimension 2"):
            F.pad(x, pad, "circular")
    with pytest.raises(RuntimeError, match="wrapping around more than once"):
        F.pad(x, (4, 0), "circular")
    with pytest.raises(RuntimeError, match="resulting in an empty dimension"):
        F.pad(x, (-2, -2), "circular")
