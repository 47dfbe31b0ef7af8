"""Layers, and what they are made of, in the modules where PyTorch has them.

`nn.modules.batchnorm._BatchNorm` is what all batch norms are; `nn.modules.utils` has `_pair`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from itertools import repeat
from types import ModuleType
from typing import Any

import wgtorch.nn as nn
from wgtorch.nn import (
    convolution,
    dropout,
    hooks,
    lazy,
    linear,
    loss,
    normalization,
    pooling,
    state,
)
from wgtorch.nn.instance import InstanceNorm
from wgtorch.nn.module import Module
from wgtorch.nn.transposed import ConvTranspose

PUBLIC = """
activation | CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid
activation | LogSoftmax Mish MultiheadAttention PReLU ReLU ReLU6 RReLU SELU SiLU Sigmoid Softmax
activation | Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold
adaptive | AdaptiveLogSoftmaxWithLoss
batchnorm | BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d
channelshuffle | ChannelShuffle
container | ModuleDict ModuleList ParameterDict ParameterList Sequential
conv | Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d LazyConv2d
conv | LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d
distance | CosineSimilarity PairwiseDistance
dropout | AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout
flatten | Flatten Unflatten
fold | Fold Unfold
instancenorm | InstanceNorm1d InstanceNorm2d InstanceNorm3d
instancenorm | LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d
linear | Bilinear Identity LazyLinear Linear
loss | BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss
loss | HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss LinearCrossEntropyLoss MSELoss
loss | MarginRankingLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss
loss | PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss
module | Module
normalization | GroupNorm LayerNorm LocalResponseNorm RMSNorm
padding | CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d
padding | ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d
padding | ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d
pixelshuffle | PixelShuffle PixelUnshuffle
pooling | AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d
pooling | AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d
pooling | LPPool1d LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d
pooling | MaxUnpool3d
rnn | GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase
sparse | Embedding EmbeddingBag
transformer | Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder
transformer | TransformerEncoderLayer
upsampling | Upsample UpsamplingBilinear2d UpsamplingNearest2d
"""


def ntuple(n: int) -> Callable[[Any], tuple]:
    """Repeats what is given `n` times, unless it is several things already."""

    def parse(x: Any) -> tuple:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    return parse


def reverse_repeat_tuple(t: Iterable, n: int) -> tuple:
    """The last first, each `n` times: how `F.pad` wants what a convolution was given."""
    return tuple([x for x in reversed([*t]) for _ in range(n)])


OTHERS: dict[str, dict[str, Any]] = {
    "batchnorm": {"_NormBase": normalization.Norm, "_BatchNorm": normalization.BatchNorm},
    "conv": {"_ConvNd": convolution.Convolution, "_ConvTransposeNd": ConvTranspose},
    "dropout": {"_DropoutNd": dropout.Drop},
    "instancenorm": {"_InstanceNorm": InstanceNorm},
    "lazy": {"LazyModuleMixin": lazy.LazyModuleMixin},
    "linear": {"NonDynamicallyQuantizableLinear": linear.NonDynamicallyQuantizableLinear},
    "loss": {"_Loss": loss.Loss, "_WeightedLoss": loss.WeightedLoss},
    "module": {"_IncompatibleKeys": state.IncompatibleKeys}
    | {name: value for name, value in vars(hooks).items() if name.startswith("register_module_")},
    "pooling": {"_MaxPoolNd": pooling.MaxPool},
    "utils": {
        "_ntuple": ntuple, "_single": ntuple(1), "_pair": ntuple(2), "_triple": ntuple(3),
        "_quadruple": ntuple(4), "_reverse_repeat_tuple": reverse_repeat_tuple,
        "consume_prefix_in_state_dict_if_present": state.consume_prefix_in_state_dict_if_present,
    },
}  # fmt: skip

__all__ = ["Module"]


def enter(name: str, members: dict[str, Any]) -> None:
    """Adds to the module of this name, which is made when it is first met."""
    path = f"{__name__}.{name}"
    module = sys.modules.setdefault(path, ModuleType(path, f"PyTorch's nn.modules.{name}."))
    vars(module).update(members)
    globals()[name] = module
    public = {key: value for key, value in members.items() if isinstance(value, type)}
    globals().update({key: value for key, value in public.items() if key[0] != "_"})


for row in PUBLIC.strip().splitlines():
    place, _, listed = row.partition(" | ")
    enter(place, {name: getattr(nn, name) for name in listed.split()})
for place, members in OTHERS.items():
    enter(place, members)
