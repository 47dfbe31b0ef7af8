"""wgtorch: tensors, autograd and neural networks on WebGPU.

`import wgtorch as torch`: names, arguments and meanings are PyTorch's.
"""

from __future__ import annotations

import importlib as _importlib
import os as _os
import sys as _sys

from wgtorch.pause import rest as _rest
from wgtorch import backends  # registers cpu, webgpu and meta
from wgtorch import (
    accelerator, amp, autograd, buffers as _buffers, cpu, create, cuda, random,
    reshaping as _reshaping, return_types, sampling as _sampling, show, version, webgpu,
)  # fmt: skip
from wgtorch.amp.autocast_mode import (
    autocast, autocast_decrement_nesting, autocast_increment_nesting, clear_autocast_cache,
    get_autocast_cpu_dtype, get_autocast_dtype, get_autocast_gpu_dtype, get_autocast_ipu_dtype,
    get_autocast_xla_dtype, is_autocast_cache_enabled, is_autocast_cpu_enabled,
    is_autocast_enabled, is_autocast_ipu_enabled, is_autocast_xla_enabled,
    set_autocast_cache_enabled, set_autocast_cpu_dtype, set_autocast_cpu_enabled,
    set_autocast_dtype, set_autocast_enabled, set_autocast_gpu_dtype,
)  # fmt: skip
from wgtorch.autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled, is_anomaly_detection_enabled, is_anomaly_enabled,
)  # fmt: skip
from wgtorch.autograd.mode import (
    enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad,
    set_grad_enabled,
)  # fmt: skip
from wgtorch.capsules import from_dlpack
from wgtorch.constants import (
    channels_last, channels_last_3d, contiguous_format, e, inf, nan, newaxis, pi, preserve_format,
    sparse_coo, strided,
)  # fmt: skip
from wgtorch.autograd.transforms.vmap import vmap
from wgtorch.create import (
    as_tensor, asarray, empty, empty_like, eye, from_numpy, frombuffer, full,
    full_like, get_default_device, is_tensor, ones, ones_like, result_type,
    scalar_tensor, set_default_device, tensor, zeros, zeros_like,
)  # fmt: skip
from wgtorch.determinism import (
    are_deterministic_algorithms_enabled, get_deterministic_debug_mode,
    is_deterministic_algorithms_warn_only_enabled, set_deterministic_debug_mode,
    use_deterministic_algorithms,
)  # fmt: skip
from wgtorch.device import Device as device
from wgtorch.dispatch.doors import PUBLIC as _PUBLIC
from wgtorch.dtype import (
    DType as dtype, bfloat16, bool_ as bool, can_cast, complex64, complex64 as cfloat,
    complex128, complex128 as cdouble, float16, float16 as half, float32,
    float32 as float, float64, float64 as double, get_default_dtype, int8, int16, int16 as short,
    int32, int32 as int, int64, int64 as long, promote_types, set_default_dtype, uint8,
)  # fmt: skip
from wgtorch.errors import DeviceLostError, OutOfMemoryError
from wgtorch.ops.einsum import clear_einsum_cache, get_einsum_cache_size
from wgtorch.grids import tril_indices, triu_indices
from wgtorch.legacy import TYPES as _TYPES
from wgtorch.limits import finfo, iinfo
from wgtorch.queries import (
    broadcast_shapes, broadcastShapes, can_broadcast_to, clone, compile, contiguous, detach,
    detach_, empty_permuted, empty_strided, expand_as, fill_, get_device, get_device_module,
    is_complex, is_floating_point, is_inference, is_nonzero, is_same_size, is_signed, is_storage,
    masked_select_async, multinomial_async, needs_broadcast, numel, sym_float,
    sym_int, sym_not, typename, zero_,
)  # fmt: skip
from wgtorch.random import (
    Generator, default_generator, fork_rng, get_rng_state, initial_seed, manual_seed, normal, rand,
    rand_like, randint, randint_like, randn, randn_like, randperm, seed, set_rng_state,
)  # fmt: skip
from wgtorch.later import DEVICES as _DEVICES, LATER as _LATER
from wgtorch.ranges import arange, linspace, logspace
from wgtorch.reshaping import resize_as_
from wgtorch.save import load, save
from wgtorch.settings import (
    compiled_with_cxx11_abi, get_file_path, get_float32_matmul_precision, get_num_interop_threads,
    get_num_threads, is_warn_always_enabled, set_default_tensor_type, set_float32_matmul_precision,
    set_flush_denormal, set_num_interop_threads, set_num_threads, set_warn_always,
    warn_of_strangers as _warn_of_strangers,
)  # fmt: skip
from wgtorch.show import get_printoptions, set_printoptions
from wgtorch.size import Size
from wgtorch.storages import TypedStorage, UntypedStorage
from wgtorch.tensor import Tensor
from wgtorch.webgpu import (
    empty_cache, is_available as is_webgpu_available, memory_stats, memory_summary,
    reset_peak_memory_stats,
)  # fmt: skip

__version__ = version.__version__
_warn_of_strangers(_os.environ)

globals().update(_TYPES)
globals().update(
    {n: call for n, call in _PUBLIC.items() if not n.startswith("_") and n not in _LATER}
)
fft = _importlib.import_module("wgtorch.fft")  # a module, where an op of that name stands
__all__ = [name for name in globals() if not name.startswith("_")]


def __getattr__(name: str) -> object:
    if name not in _LATER:
        return _importlib.import_module("wgtorch.absent").found(name)
    module = _importlib.import_module(f"wgtorch.{_LATER[name]}")
    return module if name == _LATER[name] else getattr(module, name)


def __dir__() -> list[str]:
    return [*globals(), *_LATER]


class _Absent:
    """The last to look for a module: of one of PyTorch's it says what to use instead."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name.startswith("wgtorch."):
            _importlib.import_module("wgtorch.absent").refuse_import(name)


_sys.meta_path.append(_Absent)  # type: ignore[arg-type]


class _OfDevices:
    """What the registry has on devices and is also `device.NAME`."""

    def __init__(self, name: str):
        self._name = name

    def __get__(self, instance: object, owner: object = None) -> object:
        return __getattr__(self._name)


for _name in _DEVICES:
    setattr(device, _name, _OfDevices(_name))
device.is_webgpu_available = staticmethod(is_webgpu_available)  # type: ignore[attr-defined]


def _of_storages(name: str) -> object:
    """What is asked of `storage` and is no part of it."""
    if name in ("TensorData", "TensorMeta"):
        return __getattr__(name)
    raise AttributeError(f"module 'wgtorch.storage' has no attribute {name!r}")


_storage = _importlib.import_module("wgtorch.storage")
for _class in (TypedStorage, UntypedStorage, _buffers.CPUStorage, _buffers.WebGPUStorage):
    setattr(_storage, _class.__name__, _class)
vars(_storage)["__getattr__"] = _of_storages
del _rest
