"""Shapes by pattern: `rearrange(x, "b (h w) c -> b c h w", h=8)`, with the meanings of einops."""

from wgtorch.einops.operations import (
    clear_einops_cache,
    get_einops_cache_size,
    rearrange,
    reduce,
    repeat,
)
from wgtorch.einops.packing import pack, unpack
from wgtorch.einops.shapes import parse_shape
from wgtorch.errors import EinopsError

__all__ = [
    "EinopsError", "clear_einops_cache", "get_einops_cache_size", "pack", "parse_shape",
    "rearrange", "reduce", "repeat", "unpack",
]  # fmt: skip
