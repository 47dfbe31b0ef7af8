"""The Python array API standard, 2024.12, over tensors: what `x.__array_namespace__()` is.

Names, signatures, defaults and dtypes are the standard's (https://data-apis.org/array-api/2024.12),
with its extensions linalg and fft; everything works on both devices and passes gradients on. Where
it differs: uint16, uint32 and uint64 do not exist (`__array_namespace_info__().dtypes()` lists what
does), and `x.size` is PyTorch's method: ask `math.prod(x.shape)`.
"""

from wgtorch import (
    bool as bool,
)
from wgtorch import (
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    newaxis,
    uint8,
)
from wgtorch.array_api import fft, linalg
from wgtorch.array_api.creation import *
from wgtorch.array_api.dtypes import *
from wgtorch.array_api.elementwise import *
from wgtorch.array_api.folds import *
from wgtorch.array_api.info import __array_namespace_info__
from wgtorch.array_api.linalg import matmul, matrix_transpose, tensordot, vecdot
from wgtorch.array_api.searching import *
from wgtorch.array_api.shapes import *
from wgtorch.constants import e, inf, nan, pi

__array_api_version__ = "2024.12"
