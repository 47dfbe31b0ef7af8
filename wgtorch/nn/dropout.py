"""Dropout: in training, zeros at random places, and the rest scaled up to keep the mean."""

from __future__ import annotations

from wgtorch import Tensor
from wgtorch.nn import functional as F
from wgtorch.nn.module import Module


class Drop(Module):
    """What the kinds of dropout share."""

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(Drop):
    """Each element is dropped with probability `p`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(Drop):
    """Each channel of (batch, channels, length) or (channels, length) is dropped as a whole."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(Drop):
    """Each channel of (batch, channels, height, width) is dropped as a whole."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(Drop):
    """Each channel of (batch, channels, depth, height, width) is dropped as a whole."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(Drop):
    """For networks of SELUs: keeps mean 0 and variance 1 (Klambauer et al. 2017)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(Drop):
    """As AlphaDropout, for whole channels."""

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
