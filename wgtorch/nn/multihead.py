"""Attention of several heads, as a module."""

from __future__ import annotations

from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.nn import functional as F
from wgtorch.nn import init
from wgtorch.nn.linear import NonDynamicallyQuantizableLinear
from wgtorch.nn.module import Module
from wgtorch.nn.parameter import Parameter


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
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **made)
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
        turns = self.batch_first and query.ndim == 3
        if turns and query is key is value:
            query = key = value = query.transpose(0, 1)
        elif turns:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight,
            self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask,
            need_weights, attn_mask, not self._qkv_same_embed_dim, self.q_proj_weight,
            self.k_proj_weight, self.v_proj_weight, average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )  # fmt: skip
        return output.transpose(0, 1) if turns else output, weights
