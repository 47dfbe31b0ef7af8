"""Composed tensors in files: by the tensors that they are made of."""

from __future__ import annotations

from typing import Any

from wgtorch.autograd.transforms.encoded import components_of, joined
from wgtorch.dtype import by_name
from wgtorch.layout import Layout
from wgtorch.tensor import Tensor

Told = dict[str, list]  # by name: as save.py says behind "wgtorch.dtypes"


def taken_apart(tensors: dict[str, Tensor]) -> tuple[dict[str, Tensor], Told]:
    """(tensors of built-in dtypes only, how to put those of composed ones together again)."""
    plain: dict[str, Tensor] = {}
    told: Told = {}
    for name, t in tensors.items():
        if t.dtype.encoding is None:
            plain[name] = t
            continue
        shape, parts = components_of(t.detach())
        pack = t.dtype.encoding.serialization.pack
        written = pack(**parts) if pack else parts
        place = name
        while any([f"{place}.{part}" in tensors.keys() | plain.keys() for part in written]):
            place += "_"
        for part, tensor in written.items():
            plain[f"{place}.{part}"] = tensor
        told[name] = [t.dtype.name, list(t.shape), list(shape), list(written), place]
    return plain, told


def put_together(tensors: dict[str, Tensor], told: Any) -> None:
    """The tensors of composed dtypes in place of their components; DTypeNotFoundError for one
    that is not registered."""
    for name, (dtype, size, shape, names, *places) in told.items():
        known, place = by_name(dtype), places[0] if places else name
        parts = {part: tensors.pop(f"{place}.{part}") for part in names}
        unpack = known.encoding.serialization.unpack
        whole = joined(known, tuple(shape), unpack(**parts) if unpack else parts)
        tensors[name] = whole.over(whole.storage, Layout.contiguous(tuple(size)))
