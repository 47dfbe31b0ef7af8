"""What programs that make or take tensors may be annotated with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from wgtorch.dtype import DType
from wgtorch.tensor import Tensor

Number = bool | int | float | complex
TensorLike = Tensor | np.ndarray | Number | Sequence  # what as_tensor takes
ShapedTensor = Tensor  # whose shape is said elsewhere


class TensorCreator(Protocol):
    """What makes a tensor of a shape, as `torch.zeros` does."""

    def __call__(self, *size: Any, dtype: DType | None = None, device: Any = None) -> Tensor: ...
