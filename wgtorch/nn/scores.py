"""Attention: what to look at, by how well queries and keys agree."""

from __future__ import annotations

import math
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.autograd.checkpoint import checkpoint
from wgtorch.nn.attention import Choice, SDPBackend

BLOCK = 128  # how many queries are looked at together, where not all are


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query key^T * scale + mask) value, for query (..., L, E), key (..., S, E) and value
    (..., S, V); `scale` is 1 / sqrt(E) by default.

    `attn_mask` broadcasts to (..., L, S): True takes part, or numbers that are added. A row that
    may look at nothing gives zeros. `enable_gqa` shares each key and value head among several
    query heads. `nn.attention.sdpa_kernel` chooses how it is computed.
    """
    compute = way()
    if enable_gqa:
        key, value = shared_heads(query, key), shared_heads(query, value)
    return compute(query, key, value, attn_mask, dropout_p, is_causal, scale)


def at_once(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float,
    is_causal: bool, scale: float | None, first: int = 0,
) -> Tensor:  # fmt: skip
    """`first` is the place of the first of these queries, for a causal mask."""
    kind = query.dtype
    if kind.itemsize == 2:  # scores are exponents: as halves they would lose too much
        query, key = query.float(), key.float()
        mask = mask.float() if mask is not None and mask.dtype is kind else mask
    weights = attention_weights(query, key, mask, is_causal, scale, first).to(value.dtype)
    return wgtorch.dropout(weights, dropout_p, dropout_p > 0) @ value


def by_blocks(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float,
    is_causal: bool, scale: float | None,
) -> Tensor:  # fmt: skip
    """`at_once` of some queries after the others, which saves nothing but its inputs."""
    rest = dropout_p, is_causal, scale
    if query.ndim < 2 or query.shape[-2] == 0:
        return at_once(query, key, value, mask, *rest)
    blocks = []
    for first in range(0, query.shape[-2], BLOCK):
        rows = query[..., first : first + BLOCK, :]
        seen = first + BLOCK if is_causal else key.shape[-2]  # none looks at what comes later
        part = mask
        if mask is not None and mask.ndim > 1 and mask.shape[-2] != 1:
            part = mask[..., first : first + BLOCK, :]
        near = key[..., :seen, :], value[..., :seen, :]
        blocks.append(checkpoint(at_once, rows, *near, part, *rest, first))
    return wgtorch.cat(blocks, -2)


WAYS: dict[SDPBackend, Any] = {
    SDPBackend.MATH: at_once,
    SDPBackend.EFFICIENT_ATTENTION: by_blocks,
}


def way() -> Any:
    """The function that computes attention now."""
    for backend in Choice.order:
        if backend in Choice.enabled and backend in WAYS:
            return WAYS[backend]
    raise RuntimeError(
        "No viable backend for scaled_dot_product_attention was found. This is likely due to "
        "turning off both the math kernel and the fused kernels."
    )


def shared_heads(query: Tensor, other: Tensor) -> Tensor:
    heads, own = query.shape[-3], other.shape[-3]
    if heads % own:
        raise RuntimeError(
            f"scaled_dot_product_attention: {heads} heads of queries cannot share {own} of keys"
        )
    return other if heads == own else other.repeat_interleave(heads // own, -3)


def attention_weights(
    query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool, scale: float | None,
    first: int = 0,
) -> Tensor:  # fmt: skip
    """(..., L, S), each row adding up to 1, or to 0 where the mask lets nothing through."""
    if query.ndim < 2 or key.ndim < 2:
        raise RuntimeError(
            "scaled_dot_product_attention: Expected query and key to have at least 2 dimensions,"
            f" but got {query.ndim} and {key.ndim}"
        )
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * factor) @ key.transpose(-2, -1)
    if is_causal:
        if mask is not None:
            raise RuntimeError(
                "scaled_dot_product_attention: Explicit attn_mask should not be set when"
                " is_causal=True"
            )
        ones = wgtorch.ones(scores.shape[-2:], dtype=wgtorch.bool, device=query.device)
        return scores.masked_fill(ones.triu(first + 1), -math.inf).softmax(-1)
    if mask is None:
        return scores.softmax(-1)
    if mask.dtype is wgtorch.bool:
        scores = wgtorch.where(mask, scores, -math.inf)
    elif mask.is_floating_point():
        scores = scores + mask
    else:
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got"
            f" attn_mask.dtype: {mask.dtype} and  query.dtype: {query.dtype} instead."
        )
    nothing = (scores.detach() == -math.inf).all(-1, True)
    return scores.softmax(-1).masked_fill(nothing, 0)
