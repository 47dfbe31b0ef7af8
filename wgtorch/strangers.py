"""Strangers are the methods that PyTorch's tensors have and these have not.

Looking one up raises the AttributeError it would raise anyway, with what to use in its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

NAMES = [
    "ccol_indices", "chalf", "coalesce", "col_indices", "crow_indices", "dense_dim", "dequantize",
    "eig", "int_repr", "ipu", "is_coalesced", "is_distributed", "is_maia", "is_mtia", "is_shared",
    "is_sparse_csr", "is_vulkan", "is_xla", "lstsq", "mtia", "q_per_channel_axis",
    "q_per_channel_scales", "q_per_channel_zero_points", "q_scale", "q_zero_point", "qscheme",
    "record_stream", "resize_as_sparse_", "row_indices", "share_memory_", "smm", "solve",
    "sparse_dim", "sparse_mask", "sparse_resize_", "sparse_resize_and_clear_", "sspaddmm",
    "to_dense", "to_mkldnn", "to_padded_tensor", "to_sparse", "to_sparse_bsc", "to_sparse_bsr",
    "to_sparse_coo", "to_sparse_csc", "to_sparse_csr", "xpu",
]  # fmt: skip


class Stranger:
    """In the place of one method."""

    def __init__(self, name: str):
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        raise import_module("wgtorch.absent").AbsentMethodError(owner.__name__, self.name)


class Strangers:
    """A tensor's last base, so that whatever else has such a name goes first."""

    __slots__ = ()

    def __dir__(self) -> Iterable[str]:
        return [n for n in object.__dir__(self) if n not in NAMES or hasattr(self, n)]


for _name in NAMES:
    setattr(Strangers, _name, Stranger(_name))
