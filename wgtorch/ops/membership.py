"""Whether elements are among others."""

from __future__ import annotations

from typing import Any

from wgtorch.dtype import bool_, int64, promote_types
from wgtorch.op import composite
from wgtorch.ops.samples import integers, normal
from wgtorch.storage import View

FEW = 16  # so many are compared with each element; more are sorted, and searched


@composite(
    method=False,
    samples=lambda rng: [
        ((integers(rng, 3, 5), integers(rng, 4)), {}),
        ((integers(rng, 3, 5), integers(rng, 40)), {"invert": True}),
        ((normal(rng, 3), 2), {}),
    ],
)
def isin(elements, test_elements, *, assume_unique: bool = False, invert: bool = False):
    "Whether each of `elements` is one of `test_elements` (is none, if `invert`). NaN is no one."
    if not isinstance(elements, View) and not isinstance(test_elements, View):
        raise TypeError("isin(): one of `elements` and `test_elements` must be a Tensor")
    if not isinstance(elements, View):
        elements = test_elements.new_full((), elements)
    if not isinstance(test_elements, View):
        found = elements == test_elements
        return ~found if invert else found
    for t in (elements, test_elements):
        if t.dtype is bool_:
            raise RuntimeError("Unsupported input type encountered for isin(): Bool")
    elements, known = elements.detach(), test_elements.detach().reshape((-1,))
    if not known.numel():
        return elements.new_full(elements.layout.shape, invert, dtype=bool_)
    if known.numel() <= FEW:
        found = (elements.unsqueeze(-1) == known).any(-1)
    else:
        found = searched(elements, known)
    return ~found if invert else found


def searched(elements: Any, known: Any) -> Any:
    dtype = promote_types(elements.dtype, known.dtype)
    elements, known = elements.to(dtype), known.to(dtype)._sort(0, False)[0]
    flat = elements.reshape((-1,))
    place = known._searchsorted(flat, False, False).clamp(max=known.numel() - 1)
    return (known.gather(0, place.to(int64)) == flat).reshape(elements.layout.shape)
