"""Linear modules: affine maps of the last dimension."""

from __future__ import annotations

import math
from typing import Any

from wgtorch import Tensor, empty
from wgtorch.nn import functional as F
from wgtorch.nn import init
from wgtorch.nn.module import Module
from wgtorch.nn.parameter import Parameter


class Identity(Module):
    """Gives back its input; takes, and ignores, any arguments."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """`input @ weight.T + bias`: (*, in_features) to (*, out_features)."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        made = {"device": device, "dtype": dtype}
        self.weight = Parameter(empty((out_features, in_features), **made))
        self.register_parameter("bias", Parameter(empty(out_features, **made)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        # a = sqrt(5) gives weights uniform in +-1/sqrt(in_features)
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """The last map of attention: a Linear, under the name that it has in PyTorch."""


class Bilinear(Module):
    """`input1 @ weight[k] @ input2 + bias[k]` for each output feature k."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        super().__init__()
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        made = {"device": device, "dtype": dtype}
        self.weight = Parameter(empty((out_features, in1_features, in2_features), **made))
        self.register_parameter("bias", Parameter(empty(out_features, **made)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.weight.shape[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
