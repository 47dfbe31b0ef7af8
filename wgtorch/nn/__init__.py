"""Neural networks: modules, their parameters, and the functions they are made of."""

from wgtorch.absent import answer_for
from wgtorch.nn import attention, functional, init, utils
from wgtorch.nn.activation import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    RReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softmax2d,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
)
from wgtorch.nn.adaptive import AdaptiveLogSoftmaxWithLoss
from wgtorch.nn.cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from wgtorch.nn.container import ModuleDict, ModuleList, Sequential
from wgtorch.nn.convolution import Conv1d, Conv2d
from wgtorch.nn.dropout import (
    AlphaDropout,
    Dropout,
    Dropout1d,
    Dropout2d,
    Dropout3d,
    FeatureAlphaDropout,
)
from wgtorch.nn.flatten import Flatten, Unflatten
from wgtorch.nn.instance import (
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LocalResponseNorm,
    RMSNorm,
)
from wgtorch.nn.lazy import (
    LazyBatchNorm1d,
    LazyBatchNorm2d,
    LazyBatchNorm3d,
    LazyConv1d,
    LazyConv2d,
    LazyConv3d,
    LazyConvTranspose1d,
    LazyConvTranspose2d,
    LazyConvTranspose3d,
    LazyInstanceNorm1d,
    LazyInstanceNorm2d,
    LazyInstanceNorm3d,
    LazyLinear,
)
from wgtorch.nn.linear import Bilinear, Identity, Linear
from wgtorch.nn.linear_loss import LinearCrossEntropyOptions
from wgtorch.nn.loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineSimilarity,
    CrossEntropyLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    LinearCrossEntropyLoss,
    MSELoss,
    NLLLoss,
    PairwiseDistance,
    SmoothL1Loss,
)
from wgtorch.nn.module import Module
from wgtorch.nn.multihead import MultiheadAttention
from wgtorch.nn.normalization import BatchNorm1d, BatchNorm2d, GroupNorm, LayerNorm
from wgtorch.nn.pads import (
    CircularPad1d,
    CircularPad2d,
    CircularPad3d,
    ConstantPad1d,
    ConstantPad2d,
    ConstantPad3d,
    ReflectionPad1d,
    ReflectionPad2d,
    ReflectionPad3d,
    ReplicationPad1d,
    ReplicationPad2d,
    ReplicationPad3d,
    ZeroPad1d,
    ZeroPad2d,
    ZeroPad3d,
)
from wgtorch.nn.parameter import (
    Buffer,
    Parameter,
    UninitializedBuffer,
    UninitializedParameter,
)
from wgtorch.nn.parameter_container import ParameterDict, ParameterList
from wgtorch.nn.pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AvgPool1d,
    AvgPool2d,
    MaxPool1d,
    MaxPool2d,
)
from wgtorch.nn.pools import (
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    AvgPool3d,
    FractionalMaxPool2d,
    FractionalMaxPool3d,
    LPPool1d,
    LPPool2d,
    LPPool3d,
    MaxPool3d,
    MaxUnpool1d,
    MaxUnpool2d,
    MaxUnpool3d,
)
from wgtorch.nn.ranking_loss import (
    CosineEmbeddingLoss,
    CTCLoss,
    GaussianNLLLoss,
    HingeEmbeddingLoss,
    MarginRankingLoss,
    MultiLabelMarginLoss,
    MultiLabelSoftMarginLoss,
    MultiMarginLoss,
    PoissonNLLLoss,
    SoftMarginLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)
from wgtorch.nn.recurrent import GRU, LSTM, RNN, RNNBase
from wgtorch.nn.space import (
    ChannelShuffle,
    Fold,
    PixelShuffle,
    PixelUnshuffle,
    Unfold,
    Upsample,
    UpsamplingBilinear2d,
    UpsamplingNearest2d,
)
from wgtorch.nn.sparse import Embedding, EmbeddingBag
from wgtorch.nn.transformer import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from wgtorch.nn.transposed import Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d

from wgtorch.nn import common_types, modules  # isort: skip  (they look at the layers)

answer_for(__name__)
