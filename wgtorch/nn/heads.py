"""Attention of several heads, as a function of inputs and parameters."""

from __future__ import annotations

import math
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.nn.dropping import dropout
from wgtorch.nn.padding import pad
from wgtorch.nn.scores import scaled_dot_product_attention


def as_numbers(mask: Tensor | None, dtype: Any) -> Tensor | None:
    """A mask of modules, where True is left out, as numbers to add."""
    if mask is None or mask.dtype is not wgtorch.bool:
        return mask
    zeros = wgtorch.zeros(mask.shape, dtype=dtype, device=mask.device)
    return zeros.masked_fill(mask, -math.inf)


def check_mask(name: str, mask: Tensor | None) -> None:
    if mask is not None and mask.dtype is not wgtorch.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")


def joined(
    attn_mask: Tensor | None, padding: Tensor | None, q: Tensor, k: Tensor, extra: int
) -> Tensor | None:
    """Both masks as one, (batch, heads, L, S) after broadcasting; none leaves out the last
    `extra` keys, which they do not know."""
    check_mask("key_padding_mask", padding)
    check_mask("attn_mask", attn_mask)
    (batch, heads, length, _), keys = q.shape, k.shape[2]
    source, dtype = keys - extra, q.dtype
    mask = widened(as_numbers(attn_mask, dtype), extra)
    if attn_mask is not None and mask is not None:
        wanted = (length, source) if mask.ndim == 2 else (batch * heads, length, source)
        if attn_mask.shape != wanted:
            raise RuntimeError(
                f"The shape of the {mask.ndim}D attn_mask is {attn_mask.shape}, but should be"
                f" {wanted}."
            )
        mask = mask if mask.ndim == 2 else mask.reshape(batch, heads, length, keys)
    if padding is not None:
        for place, size in enumerate((batch, source)):
            if padding.shape[place] != size:
                raise AssertionError(
                    f"Expected key_padded_mask.shape[{place}] to be {size}, but got"
                    f" {padding.shape[place]}"
                )
        numbers: Any = widened(as_numbers(padding, dtype), extra)
        numbers = numbers.reshape(batch, 1, 1, keys)
        mask = numbers if mask is None else mask + numbers
    return mask


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """(output (L, N, E), weights (N, L, S), or None if not needed); keys are (S, N, E).

    Without N for inputs (L, E). The weights of each head, (N, heads, L, S), unless they are
    averaged. Masks: True is left out; numbers are added. `static_k` and `static_v`, (N * heads, S,
    E / heads), take the place of projected keys and values.
    """
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module"
            " method `generate_square_subsequent_mask` to create this mask."
        )
    check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    single = query.ndim == 2
    if single:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, embed = query.shape
    check_size(embed, embed_dim_to_check, num_heads)
    weights = (
        (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight
        else in_proj_weight
    )  # fmt: skip
    q, k, v = projected(query, key, value, weights, in_proj_bias)
    extra = int(add_zero_attn)
    if bias_k is not None and bias_v is not None:
        k = wgtorch.cat((k, bias_k.expand(1, batch, -1)))
        v = wgtorch.cat((v, bias_v.expand(1, batch, -1)))
        extra += 1
    q, k, v = (by_head(x, num_heads) for x in (q, k, v))
    k = k if static_k is None else static_k.reshape(batch, num_heads, -1, embed // num_heads)
    v = v if static_v is None else static_v.reshape(batch, num_heads, -1, embed // num_heads)
    if add_zero_attn:
        k, v = pad(k, (0, 0, 0, 1)), pad(v, (0, 0, 0, 1))
    by_hint = is_causal and key_padding_mask is None and not need_weights  # as PyTorch goes
    mask = None if by_hint else joined(attn_mask, key_padding_mask, q, k, extra)
    look = weighed if need_weights else blended
    output, shares = look(q, k, v, mask, dropout_p if training else 0.0, by_hint)
    output = output.permute(2, 0, 1, 3).reshape(length, batch, embed)
    output = wgtorch.linear(output, out_proj_weight, out_proj_bias)
    found = shares if shares is None or not average_attn_weights else shares.mean(1)
    if single:
        return output.squeeze(1), None if found is None else found.squeeze(0)
    return output, found


def check_ranks(query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None,
                attn_mask: Tensor | None, heads: int) -> None:  # fmt: skip
    """That all are with a batch, or all without."""
    rank = query.ndim
    if rank not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor"
        )
    start = f"For {'batched' if rank == 3 else 'unbatched'} ({rank}-D) `query`, expected"
    if key.ndim != rank or value.ndim != rank:
        raise AssertionError(
            f"{start} `key` and `value` to be {rank}-D but found {key.ndim}-D and {value.ndim}-D"
            " tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.ndim != rank - 1:
        raise AssertionError(
            f"{start} `key_padding_mask` to be `None` or {rank - 1}-D but found"
            f" {key_padding_mask.ndim}-D tensor instead"
        )
    if attn_mask is None:
        return
    if attn_mask.ndim not in (2, 3):
        raise AssertionError(
            f"{start} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.ndim}-D tensor"
            " instead"
        )
    each = (heads, query.shape[0], key.shape[0])
    if rank == 2 and attn_mask.ndim == 3 and attn_mask.shape != each:
        raise AssertionError(f"Expected `attn_mask` shape to be {each} but got {attn_mask.shape}")


def check_size(embed: int, wanted: int, heads: int) -> None:
    if embed != wanted:
        raise AssertionError(f"was expecting embedding dimension of {wanted}, but got {embed}")
    if embed % heads:
        raise AssertionError(f"embed_dim {embed} not divisible by num_heads {heads}")


Looked = tuple[Tensor, Tensor | None]  # (N, heads, L, E / heads); shares of keys, if known


def weighed(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float, _: bool) -> Looked:
    """With how much each query takes of each key, (N, heads, L, S)."""
    scores = (q / math.sqrt(q.shape[-1])) @ k.transpose(-2, -1)
    shares = (scores if mask is None else scores + mask).softmax(-1)
    shares = dropout(shares, p, p > 0)
    return shares @ v, shares


def blended(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float, causal: bool) -> Looked:
    """A query that may look at nothing gets zeros."""
    return scaled_dot_product_attention(q, k, v, mask, p, causal), None


def widened(mask: Tensor | None, extra: int) -> Tensor | None:
    """A mask that leaves out none of the keys that were added."""
    return pad(mask, (0, extra)) if mask is not None and extra else mask


def projected(query: Tensor, key: Tensor, value: Tensor, weights: Any, bias: Tensor | None) -> Any:
    """What query, key and value are mapped to, by three matrices or one of all their rows."""
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    if not isinstance(weights, tuple):
        if query is key is value:
            return wgtorch.linear(query, weights, bias).chunk(3, -1)
        weights = weights.chunk(3)
    pairs = zip((query, key, value), weights, biases, strict=True)
    return [wgtorch.linear(*each) for each in pairs]


def by_head(x: Tensor, heads: int) -> Tensor:
    """(length, N, E) as (N, heads, length, E / heads)."""
    return x.reshape(*x.shape[:2], heads, x.shape[2] // heads).permute(1, 2, 0, 3)
