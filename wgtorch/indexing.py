"""What may stand in `x[...]`, by name."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType

import numpy as np

from wgtorch.tensor import Tensor

SliceSpec = slice
RangeSpec = range
MaskSpec = Tensor | np.ndarray | Sequence  # of bool
IndicesSpec = Tensor | np.ndarray | Sequence  # of integers
IndexSpec = int | slice | range | EllipsisType | Tensor | np.ndarray | Sequence | None
