"""Settings: what programs set once for the whole process, and ask for, in PyTorch's words."""

from __future__ import annotations

import os
import warnings
from functools import cache
from typing import Any

from wgtorch import config
from wgtorch.dtype import DType, set_default_dtype
from wgtorch.errors import suggestion
from wgtorch.lazy import Lazy

threadpoolctl = Lazy("threadpoolctl")
VARIABLES = ("ADAPTER", "CHECK", "DEBUG", "EAGER", "FALLBACK", "MAX_FUSED", "MAX_HELD", "NAN",
             "PUBLIC_API", "REQUIRE_WEBGPU")  # fmt: skip
PRECISIONS = ("highest", "high", "medium")


class Process:
    """What was set so far."""

    precision = PRECISIONS[0]
    threads: int | None = None  # None: as many as at first
    interop_threads = 1


def warn_of_strangers(environment: Any) -> None:
    """Environment variables that look like ours and are none."""
    for name in environment:
        prefix, _, own = name.rpartition("WGTORCH_")
        if own != name and not prefix and own not in VARIABLES:
            near = suggestion(own, VARIABLES, "WGTORCH_")
            text = f"the environment variable {name} is none of wgtorch's.{near}"
            warnings.warn(text, UserWarning, stacklevel=3)


# Precision


def get_float32_matmul_precision() -> str:
    return Process.precision


def set_float32_matmul_precision(precision: str) -> None:
    """How exact matrix products must be at least: "highest", "high" or "medium".

    All are computed in full float32 here, which each of them allows.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    Process.precision = precision


def set_flush_denormal(mode: bool) -> bool:
    """Whether subnormal numbers can be turned off on the cpu: they cannot, so False."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return False


def set_default_tensor_type(t: Any) -> None:
    """`torch.FloatTensor`, or its name: sets the default dtype."""
    dtype = t if isinstance(t, DType) else getattr(t, "dtype", None)
    if dtype is None:
        dtype = LEGACY.get(str(t).removeprefix("torch."))
    if dtype is None:
        raise TypeError(f"invalid type object: {t!r} is no tensor type such as torch.FloatTensor")
    if not dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    set_default_dtype(dtype)


LEGACY: dict[str, DType] = {}  # by the name of the tensor type; see legacy.py


# Warnings


def set_warn_always(b: bool, /) -> None:
    """Whether a warning that is else given once (an op that falls back) is given each time."""
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    config.warn_always = b


def is_warn_always_enabled() -> bool:
    return config.warn_always


# Threads


@cache
def threads_at_first() -> int:
    """As many as OMP_NUM_THREADS says; else as there are cores that this process may use."""
    said = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if said.isdecimal() and 0 < int(said) < 1 << 16:
        return int(said)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def get_num_threads() -> int:
    """How many threads the cpu device uses: for matrix products, and for most of what is done to a
    million elements or more."""
    return Process.threads or threads_at_first()


def set_num_threads(num: int, /) -> None:
    """Limits the threads of the cpu device; those of numpy's linear algebra through threadpoolctl,
    where it is installed."""
    Process.threads = checked("set_num_threads", num)
    try:
        threadpoolctl.threadpool_limits(limits=num, user_api="blas")
    except ImportError:
        warnings.warn(
            "set_num_threads: threadpoolctl is not installed, so numpy's matrix products go on with"
            " the threads they have; pip install threadpoolctl",
            UserWarning,
            stacklevel=2,
        )


def get_num_interop_threads() -> int:
    return Process.interop_threads


def set_num_interop_threads(num: int, /) -> None:
    """Ops run one after the other here, so this many is a bound that is kept anyway."""
    Process.interop_threads = checked("set_num_interop_threads", num)


def checked(name: str, num: Any) -> int:
    if not isinstance(num, int) or isinstance(num, bool):
        raise RuntimeError(f"{name} expects an int, but got {type(num).__name__}")
    if num < 1:
        raise RuntimeError(f"{name} expects a positive integer")
    return num


def get_file_path(*path_components: str) -> str:
    """A path below the folder that the package lies in."""
    package = os.path.dirname(os.path.abspath(__file__))
    return os.path.join(os.path.dirname(package), *path_components)


def compiled_with_cxx11_abi() -> bool:
    """Of PyTorch's C++ library, which is not here; True is what it answers on Linux."""
    return True
