"""Attention: what to look at, by how well queries and keys agree."""

from __future__ import annotations

import math

import wgtorch
from wgtorch import Tensor


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
    query heads.
    """
    if enable_gqa:
        key, value = shared_heads(query, key), shared_heads(query, value)
    kind = query.dtype
    if kind.itemsize == 2:  # scores are exponents: as halves they would lose too much
        query, key = query.float(), key.float()
        attn_mask = (
            attn_mask.float() if attn_mask is not None and attn_mask.dtype is kind else attn_mask
        )
    weights = attention_weights(query, key, attn_mask, is_causal, scale).to(value.dtype)
    return wgtorch.dropout(weights, dropout_p, dropout_p > 0) @ value


def shared_heads(query: Tensor, other: Tensor) -> Tensor:
    heads, own = query.shape[-3], other.shape[-3]
    if heads % own:
        raise RuntimeError(
            f"scaled_dot_product_attention: {heads} heads of queries cannot share {own} of keys"
        )
    return other if heads == own else other.repeat_interleave(heads // own, -3)


def attention_weights(
    query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool, scale: float | None
) -> Tensor:
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
        mask = wgtorch.ones(scores.shape[-2:], dtype=wgtorch.bool, device=query.device).tril()
        return scores.masked_fill(~mask, -math.inf).softmax(-1)
    if mask is None:
        return scores.softmax(-1)
    if mask.dtype is wgtorch.bool:
        scores = scores.masked_fill(~mask, -math.inf)
    elif mask.is_floating_point():
        scores = scores + mask
    else:
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got"
            f" attn_mask.dtype: {mask.dtype} and  query.dtype: {query.dtype} instead."
        )
    nothing = (scores.detach() == -math.inf).all(-1, True)
    return scores.softmax(-1).masked_fill(nothing, 0)
