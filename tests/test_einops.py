"""rearrange, reduce, repeat, pack: as the einops library does it with numpy, and its refusals."""

from __future__ import annotations

import einops as library
import numpy as np
import pytest

import wgtorch as torch
from wgtorch import einops
from wgtorch.errors import EinopsError

GOOD = {
    "rearrange": [
        ("a b c d -> d c b a", {}), ("a b c d -> (a b) c d", {}), ("a b c d -> b (c d a)", {}),
        ("a b (c1 c2) d -> a (c2 b) c1 d", {"c1": 2}), ("a ... d -> d ... a", {}),
        ("a ... d -> (a d) ...", {}), ("a b c d -> a b c d ()", {}), ("... -> (...)", {}),
        ("a b c d -> a 1 b 1 c d", {}), ("(a1 a2) b c d -> a1 b (a2 c d)", {"a2": 1}),
        ("a b c (d1 d2 d3) -> a b d3 d1 (c d2)", {"d1": 1, "d3": 3}), ("  a b c d->a b  c d ", {}),
    ],
    "repeat": [
        ("a b c d -> a b c d 3", {}), ("a b c d -> (a 2) b c (n d)", {"n": 2}),
        ("... -> ... k", {"k": 2}), ("a b c d -> b new a c d", {"new": 1}),
        ("a b c d -> d c b a", {}),
    ],
    "reduce": [
        ("a b c d -> a d", {}), ("a b c d ->", {}), ("a b (c 2) d -> a b c d", {}),
        ("a ... d -> ...", {}), ("a b c d -> a 1 c ()", {}), ("a b (h1 h2) d -> b h2", {"h2": 2}),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    "op, pattern, sizes", [(op, *case) for op, cases in GOOD.items() for case in cases]
)
def test_like_the_library(op, pattern, sizes, device):
    array = np.arange(2 * 3 * 4 * 3, dtype=np.float32).reshape(2, 3, 4, 3) / 30 + 0.5
    x = torch.tensor(array, device=device)
    for reduction in ("sum", "max", "min", "mean", "prod") if op == "reduce" else ("",):
        more = (reduction,) if reduction else ()
        want = getattr(library, op)(array, pattern, *more, **sizes)
        got = getattr(torch, op)(x, pattern, *more, **sizes)
        np.testing.assert_allclose(got.cpu().numpy(), want, rtol=1e-5)


BAD = {
    "rearrange": [
        ("a b c d", {}), ("a b c d -> a b c d -> a", {}), ("a b c d -> a b c", {}),
        ("a b c -> a b c", {}), ("a b c d e -> a b c d e", {}), ("a b c d -> a b c (d", {}),
        ("a b c d -> a b c d)", {}), ("a b ((c) d) -> a b c d", {}), ("a a c d -> a c d", {}),
        ("a b c d -> a b c e", {}), ("a b (c1 c2) d -> a b c1 c2 d", {}),
        ("a. b c d -> a b c d", {}),
        ("a b (c1 c2) d -> a b c1 c2 d", {"c1": 3}), ("a b c d -> a b c d", {"q": 2}),
        ("a b c d -> a b c d 3", {}), ("a b c _d -> a b c _d", {}), ("a b c 1d -> a b c 1d", {}),
        ("... a ... -> a ...", {}), ("(... a) d -> ... a d", {}), ("a b c d -> ... a b c d", {}),
        ("a b c d -> a b c d", {"a": 7}), ("a b c-d -> a b c d", {}),
    ],
    "repeat": [("a b c d -> a b c", {}), ("a b c d -> a b c d n", {}), ("a b c -> a b c 2", {})],
    "reduce": [("a b c d -> a e", {}), ("a b c d -> a 3", {}), ("a b (c 3) d -> a", {})],
}  # fmt: skip


@pytest.mark.parametrize(
    "op, pattern, sizes", [(op, *case) for op, cases in BAD.items() for case in cases]
)
def test_refuses_what_the_library_refuses(op, pattern, sizes):
    array = np.zeros((2, 3, 4, 3), np.float32)
    more = ("sum",) if op == "reduce" else ()
    with pytest.raises((library.EinopsError, ValueError)):
        getattr(library, op)(array, pattern, *more, **sizes)
    with pytest.raises(EinopsError) as told:
        getattr(torch, op)(torch.tensor(array), pattern, *more, **sizes)
    assert repr(pattern) in str(told.value) and "[2, 3, 4, 3]" in str(told.value)


def test_messages_help():
    x = torch.zeros(2, 3)
    with pytest.raises(EinopsError, match="Did you mean 'height'"):
        einops.rearrange(x, "height width -> heigth width")
    with pytest.raises(EinopsError, match=r"unknown reduction 'maxx'.*Did you mean 'max'"):
        einops.reduce(x, "a b -> a", "maxx")
    with pytest.raises(EinopsError, match=r"a \(b c -> a\n {9}\^"):
        einops.rearrange(x, "a (b c -> a")
    with pytest.raises(EinopsError, match="mean of torch.int64"):
        einops.reduce(torch.ones(2, dtype=torch.int64), "a ->", "mean")
    assert einops.reduce(torch.tensor([[1], [2]]), "a b -> b a", "mean").tolist() == [[1, 2]]
    with pytest.raises(TypeError, match="must be Tensor"):
        einops.rearrange(3, "a -> a")


def test_lists_and_functions(device):
    parts = [torch.full((2, 3), float(k), device=device) for k in range(4)]
    assert einops.rearrange(parts, "n a b -> a (n b)").shape == (2, 12)
    x = torch.rand(2, 4, device=device)
    got = einops.reduce(x, "a (b 2) -> a b", lambda t, dims: t.logsumexp(dims))
    np.testing.assert_allclose(
        got.cpu().numpy(), x.reshape(2, 2, 2).logsumexp(-1).cpu().numpy(), rtol=1e-6
    )
    assert einops.reduce(x > 2, "a b ->", "any").item() is False


def test_gradients_and_views(device):
    x = torch.rand(2, 6, device=device, requires_grad=True)
    view = einops.rearrange(x, "a (b c) -> c b a", b=2)
    assert view.data_ptr() == x.data_ptr()
    einops.reduce(einops.repeat(x, "a b -> a b 3"), "a b c -> a", "sum").sum().backward()
    assert x.grad.unique().tolist() == [3.0]


def test_pack_and_unpack(device):
    shapes = [(2, 3, 5), (2, 5), (2, 7, 1, 5)]
    arrays = [np.random.default_rng(0).random(s, np.float32) for s in shapes]
    tensors = [torch.tensor(a, device=device) for a in arrays]
    want, want_shapes = library.pack(arrays, "b * c")
    packed, packed_shapes = torch.pack(tensors, "b * c")
    np.testing.assert_array_equal(packed.cpu().numpy(), want)
    assert [tuple(s) for s in want_shapes] == packed_shapes
    for got, array in zip(torch.unpack(packed, packed_shapes, "b * c"), arrays, strict=True):
        np.testing.assert_array_equal(got.cpu().numpy(), array)
    free = torch.unpack(packed, [(3,), (-1, 2)], "b * c")
    assert [tuple(t.shape) for t in free] == [(2, 3, 5), (2, 4, 2, 5)]
    for bad in ([(3,), (-1, 3)], [(-1,), (-1,)], [(3,)]):
        with pytest.raises(EinopsError):
            torch.unpack(packed, bad, "b * c")
    for pattern in ("b c", "b * * c", "b * b", "b * _c"):
        with pytest.raises(EinopsError):
            torch.pack(tensors, pattern)
    assert einops.parse_shape(packed, "b _ c") == {"b": 2, "c": 5}
    assert einops.parse_shape(packed, "... c") == library.parse_shape(want, "... c")


def test_patterns_are_remembered():
    torch.clear_einops_cache()
    x = torch.zeros(2, 3)
    for _ in range(3):
        torch.rearrange(x, "a b -> b a")
    assert torch.get_einops_cache_size() == 2  # the pattern, and with a shape
    torch.clear_einops_cache()
    assert torch.get_einops_cache_size() == 0
