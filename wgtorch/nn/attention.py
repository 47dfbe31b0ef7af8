"""Attention of several heads, as a module."""

from __future__ import annotations

import math
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.nn import functional as F
from wgtorch.nn import init
from wgtorch.nn.linear import Linear
from wgtorch.nn.module import Module
from wgtorch.nn.parameter import Parameter


def as_numbers(mask: Tensor | None, dtype: Any) -> Tensor | None:
    """A mask of modules, where True is left out, as numbers to add."""
    if mask is None or mask.dtype is not wgtorch.bool:
        return mask
    zeros = wgtorch.zeros(mask.shape, dtype=dtype, device=mask.device)
    return zeros.masked_fill(mask, -math.inf)


def joined(
    attn_mask: Tensor | None, padding: Tensor | None, batch: int, heads: int, keys: int, dtype: Any
) -> Tensor | None:
    """Both masks as one, (batch, heads, L, S) after broadcasting."""
    mask = as_numbers(attn_mask, dtype)
    if mask is not None and mask.ndim == 3:
        if mask.shape[0] != batch * heads:
            raise RuntimeError(
                f"The shape of the 3D attn_mask is {mask.shape}, but should be"
                f" {(batch * heads, *mask.shape[1:])}."
            )
        mask = mask.reshape(batch, heads, *mask.shape[1:])
    if padding is not None:
        if tuple(padding.shape) != (batch, keys):
            raise AssertionError(
                f"expecting key_padding_mask shape of {(batch, keys)}, but got {padding.shape}"
            )
        numbers: Any = as_numbers(padding, dtype)
        numbers = numbers.reshape(batch, 1, 1, keys)
        mask = numbers if mask is None else mask + numbers
    return mask


class MultiheadAttention(Module):
    """Attention of several heads, each on `embed_dim / num_heads` of the features.

    Inputs are (L, N, E), or (N, L, E) if `batch_first`, or (L, E); E is `embed_dim`, of keys and
    values `kdim` and `vdim`. The parameters have PyTorch's names.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got"
                f" embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.batch_first, self.add_zero_attn = batch_first, add_zero_attn
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        made = {"device": device, "dtype": dtype}
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim

        def parameter(*shape: int) -> Parameter:
            return Parameter(wgtorch.empty(shape, **made))

        same = self._qkv_same_embed_dim
        joint = parameter(3 * embed_dim, embed_dim) if same else None
        self.register_parameter("in_proj_weight", joint)
        for name, size in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            weight = None if same else parameter(embed_dim, size)
            self.register_parameter(f"{name}_proj_weight", weight)
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, **made)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, parameter(1, 1, embed_dim) if add_bias_kv else None)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for name in ("bias_k", "bias_v"):
            if getattr(self, name) is not None:
                init.xavier_normal_(getattr(self, name))

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """(output, weights): the weights (N, L, S) are None unless they are needed, and those of
        each head, (N, heads, L, S), unless `average_attn_weights`. Masks: True is left out."""
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        single = query.ndim == 2
        if single:
            query, key, value = (x.unsqueeze(0) for x in (query, key, value))
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        if query.shape[-1] != self.embed_dim:
            raise AssertionError(
                f"was expecting embedding dimension of {self.embed_dim}, but got {query.shape[-1]}"
            )
        output, weights = self._attend(query, key, value, key_padding_mask, attn_mask, need_weights)
        if weights is not None and average_attn_weights:
            weights = weights.mean(1)
        if single:
            return output.squeeze(0), None if weights is None else weights.squeeze(0)
        return output if self.batch_first else output.transpose(0, 1), weights

    def _attend(self, query, key, value, padding, attn_mask, need_weights):
        """All inputs (N, length, E)."""
        q, k, v = self._projected(query, key, value)
        extra = 0
        if self.bias_k is not None:
            k = wgtorch.cat((k, self.bias_k.expand(k.shape[0], 1, -1)), 1)
            v = wgtorch.cat((v, self.bias_v.expand(v.shape[0], 1, -1)), 1)
            extra += 1
        if self.add_zero_attn:
            k, v = F.pad(k, (0, 0, 0, 1)), F.pad(v, (0, 0, 0, 1))
            extra += 1
        if extra:
            padding = None if padding is None else F.pad(padding, (0, extra))
            attn_mask = None if attn_mask is None else F.pad(attn_mask, (0, extra))
        q, k, v = (self._by_head(x) for x in (q, k, v))
        batch, heads, length, _ = q.shape
        mask = joined(attn_mask, padding, batch, heads, k.shape[2], q.dtype)
        dropout = self.dropout if self.training else 0.0
        scores = (q / math.sqrt(self.head_dim)) @ k.transpose(-2, -1)
        weights = (scores if mask is None else scores + mask).softmax(-1)
        weights = F.dropout(weights, dropout, dropout > 0)
        output = (weights @ v).transpose(1, 2).reshape(batch, length, self.embed_dim)
        return self.out_proj(output), weights if need_weights else None

    def _projected(self, query, key, value):
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        if not self._qkv_same_embed_dim:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        elif query is key is value:
            return F.linear(query, self.in_proj_weight, self.in_proj_bias).chunk(3, -1)
        else:
            weights = self.in_proj_weight.chunk(3)
        return [F.linear(*each) for each in zip((query, key, value), weights, biases, strict=True)]

    def _by_head(self, x: Tensor) -> Tensor:
        return x.reshape(*x.shape[:2], self.num_heads, self.head_dim).transpose(1, 2)
