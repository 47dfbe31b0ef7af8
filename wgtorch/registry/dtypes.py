"""Dtypes: questions about them, and those of users, which are made of other tensors.

A composed dtype says how a tensor of a plain dtype becomes components and comes back. Its tensors
do all that tensors do; ops run in the plain dtype, and kernels of users see the components.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import wgtorch
from wgtorch.autograd.transforms.encoded import checked, components_of, joined
from wgtorch.dtype import ALIASES, ALL, CATEGORIES, NAMES, DType, asked, by_name, float32, most_of
from wgtorch.errors import (
    DTypeAlreadyRegisteredError,
    DTypeComponentsMismatchError,
    DTypeNotFoundError,
    InvalidConfigError,
    MethodDTypeNotSupportedError,
    RegistrationFailedError,
)  # fmt: skip
from wgtorch.ranges import linspace
from wgtorch.registry.handles import Handle
from wgtorch.registry.layers import WGTORCH, Layers, is_name
from wgtorch.tensor import Tensor

RegisteredDType = DType


class DTypeComponents(dict[str, DType]):
    """The tensors that a dtype is made of: `DTypeComponents(data=torch.int8, scale=...)`."""


@dataclass(frozen=True, kw_only=True)
class DTypeDisplayConfig:
    """How tensors print: `element(number)` is one element's text, `facts(**components)` a dict of
    what else to say behind the elements, as text by name."""

    element: Callable[[Any], str] | None = None
    facts: Callable[..., Mapping[str, Any]] | None = None


@dataclass(frozen=True, kw_only=True)
class DTypeSerializationConfig:
    """How tensors are written to files: `pack(**components)` gives tensors of built-in dtypes by
    name, `unpack(**tensors)` makes the components of them. By default they are written as they are.
    """

    pack: Callable[..., Mapping[str, Tensor]] | None = None
    unpack: Callable[..., Mapping[str, Tensor]] | None = None


@dataclass(frozen=True, kw_only=True)
class DTypeConfig:
    """A composed dtype for `register_dtype`.

    `encode(x)` is given a tensor of the dtype `compute` and returns components by name, which must
    have the dtypes that `components` says; `decode(**components)` returns the tensor, of the same
    shape. Both are ordinary tensor code, and so run on every device. With `storage` in place of
    `components` there is only one, called `data`, and encode may return just that.

    `promotes(other)` may name the dtype that it and another one promote to; by default a lower
    category gives way and an equal one wins. Results of ops are `rounds` (encoded again, as those
    of half types are rounded), else they stay in `compute`. `itemsize`, bytes for an element, is by
    default that of the first component.
    """

    name: str
    encode: Callable[[Tensor], Any]
    decode: Callable[..., Tensor]
    components: Mapping[str, DType] = field(default_factory=dict)
    storage: DType | None = None
    compute: DType = float32
    itemsize: float | None = None
    promotes: Callable[[DType], DType | None] | None = None
    rounds: bool = True
    display: DTypeDisplayConfig = DTypeDisplayConfig()
    serialization: DTypeSerializationConfig = DTypeSerializationConfig()
    doc: str = ""

    def facts(self, x: Tensor) -> list[str]:
        """What to print behind the elements."""
        if self.display.facts is None:
            return []
        said = self.display.facts(**components_of(x.detach()).components)
        if not isinstance(said, Mapping):
            raise InvalidConfigError(f"{self.name}: display.facts must return a dict, not {said!r}")
        return [f"{name}={value}" for name, value in said.items()]

    def text(self, number: Any) -> str:
        """How an element is printed, by `display.element`."""
        said = self.display.element(number)  # type: ignore[misc]
        if not isinstance(said, str):
            raise InvalidConfigError(f"{self.name}: display.element must return text, not {said!r}")
        return said


class DTypeHandle(DType, Handle):
    """A composed dtype; `unregister()`, or the end of its `with` block, takes its name away.

    Tensors of it can still be used then.
    """

    encoding: DTypeConfig

    def __init__(self, config: DTypeConfig):
        compute = config.compute
        DType.__init__(self, config.name, compute.np, compute.wgsl,
                       CATEGORIES[compute.category], config.name)  # fmt: skip
        Handle.__init__(self, config.name, lambda: None)
        first = next(iter(config.components.values()))
        self.itemsize = first.itemsize if config.itemsize is None else config.itemsize  # type: ignore[assignment]
        self.encoding, self.__doc__ = config, config.doc or None

    def components(self, x: Tensor) -> dict[str, Tensor]:
        """What a tensor is made of; of one of another dtype, after a conversion."""
        return components_of(x.detach().to(self)).components

    def join(self, shape: Any = None, /, **components: Tensor) -> Tensor:
        """The tensor that components make up, by default of the shape of the first.

        DTypeComponentsMismatchError if names, dtypes or what they decode to do not fit.
        """
        kept = checked(self, components)
        first = next(iter(kept.values()))
        return joined(self, first.shape if shape is None else shape, kept)


@dataclass(frozen=True)
class DTypeEntry:
    """A dtype and what it was registered with."""

    name: str
    dtype: DType
    config: DTypeConfig | None  # None of the library's own

    @property
    def is_custom(self) -> bool:
        return self.config is not None


class DTypeRegistry:
    """Dtypes by name."""

    def get(self, name: str) -> DTypeEntry | None:
        dtype = NAMES.get(name)
        return None if dtype is None else DTypeEntry(name, dtype, dtype.encoding)

    def __init__(self) -> None:
        self.layers = Layers(NAMES.get, self.show)

    def show(self, name: str, own: None, layers: list[DType]) -> None:
        NAMES.pop(name, None)
        if layers:
            NAMES[name] = layers[-1]

    def add(self, dtype: DType) -> Callable[[], None]:
        """What comes back takes it away again."""
        lifts = self.layers.put(dtype.name, dtype), WGTORCH.put(dtype.name, (dtype, dtype))

        def undo() -> None:
            for lift in lifts:
                lift()

        return undo

    def __iter__(self) -> Iterator[DTypeEntry]:
        return iter([DTypeEntry(n, d, d.encoding) for n, d in NAMES.items()])

    def __len__(self) -> int:
        return len(NAMES)

    def __contains__(self, name: object) -> bool:
        return name in NAMES


DTYPES = DTypeRegistry()


def register_dtype(config: DTypeConfig | str, *, override: bool = False,
                   **fields: Any) -> DTypeHandle:  # fmt: skip
    """Makes a dtype of a `DTypeConfig`, or of its name and fields; the handle is the dtype.

    It is tried out on a few numbers at once. Raises InvalidConfigError,
    DTypeComponentsMismatchError, RegistrationFailedError where encode or decode raise, and
    DTypeAlreadyRegisteredError if the name is taken, unless `override` and by a user's dtype:
    `unregister()` brings that one back.
    """
    if isinstance(config, str):
        config = DTypeConfig(name=config, **fields)
    elif not isinstance(config, DTypeConfig):
        raise InvalidConfigError(
            f"register_dtype(): takes a DTypeConfig, or a name and its fields, not {config!r}"
        )
    elif fields:
        raise InvalidConfigError(f"{', '.join(fields)}: say it in the config, which is given too")
    config = completed(config)
    replaced = NAMES.get(config.name)
    if replaced is not None and not (override and replaced.encoding is not None):
        what = "say override=True" if replaced.encoding is not None else "it is the library's own"
        raise DTypeAlreadyRegisteredError(f"there is a dtype {config.name!r}: {what}")
    if replaced is None and (config.name in ALIASES or hasattr(wgtorch, config.name)):
        raise DTypeAlreadyRegisteredError(
            f"wgtorch.{config.name} exists already; choose another name"
        )
    dtype = DTypeHandle(config)
    try_out(dtype)
    dtype._undo = DTYPES.add(dtype)
    return dtype


def completed(config: DTypeConfig) -> DTypeConfig:
    """The config with its components, if it makes sense."""
    who = f"register_dtype(): {config.name!r}"
    if not is_name(config.name):
        raise InvalidConfigError(f"{who} is not a Python identifier")
    for name in ("encode", "decode"):
        if not callable(getattr(config, name)):
            raise InvalidConfigError(f"{who}: {name} is not a function")
    if (config.storage is None) is not bool(config.components):
        raise InvalidConfigError(f"{who} needs components, or a storage, and not both")
    parts = DTypeComponents(config.components or {"data": config.storage})  # type: ignore[dict-item]
    plain = [config.compute, *parts.values()]
    if not all(isinstance(d, DType) and d.encoding is None for d in plain):
        raise InvalidConfigError(f"{who}: compute and components must be built-in dtypes")
    size = config.itemsize
    if size is not None and not (isinstance(size, int | float) and 0 < size < math.inf):
        raise InvalidConfigError(f"{who}: itemsize must be a number of bytes, not {size!r}")
    if (config.serialization.pack is None) is not (config.serialization.unpack is None):
        raise InvalidConfigError(f"{who}: serialization needs both pack and unpack, or neither")
    object.__setattr__(config, "components", parts)
    return config


def try_out(dtype: DTypeHandle) -> None:
    """Encodes, decodes and prints a few numbers, so that a mistake is seen at once."""
    config = dtype.encoding
    trial = linspace(-1, 1, 12, dtype=float32).reshape((3, 4)).to(config.compute)
    try:
        encoded = trial.to(dtype)
        encoded.to(config.compute)
        repr(encoded)
    except (DTypeComponentsMismatchError, InvalidConfigError):
        raise
    except Exception as error:
        raise RegistrationFailedError(
            f"register_dtype(): {config.name!r} cannot encode, decode and print a tensor of shape"
            f" [3, 4]: {type(error).__name__}: {error}"
        ) from error


# Questions


@dataclass(frozen=True)
class DTypeInfo:
    """What is known of a dtype."""

    name: str
    itemsize: float  # bytes
    kind: str  # bool, integer, float or complex
    is_signed: bool
    minimum: Any  # of its finite numbers; None of complex and composed ones
    maximum: Any
    numpy: str  # the type of numpy() and of shaders: of a composed one, what it computes in
    wgsl: str
    components: dict[str, DType]  # of a composed one


def get_dtype(name: str | DType) -> DType:
    """The dtype of a name ("float32", "half", "torch.int64"), or DTypeNotFoundError."""
    if isinstance(name, DType):
        return name
    return by_name(str(name).removeprefix("torch.").removeprefix("wgtorch."))


def has_dtype(name: str | DType) -> bool:
    """Whether there is a dtype of this name."""
    try:
        get_dtype(name)
    except DTypeNotFoundError:
        return False
    return True


def get_dtype_info(dtype: str | DType) -> DTypeInfo:
    """Size, kind and range of a dtype."""
    known = get_dtype(dtype)
    kind = CATEGORIES[known.category]
    low: Any = None
    high: Any = None
    if known.category < 3 and known.encoding is None:
        high = True if known.category == 0 else most_of(known)
        low = False if not known.category else -high if known.category == 2 else 0
        low = -high - 1 if known.category == 1 and known.is_signed else low
    parts = {} if known.encoding is None else dict(known.encoding.components)
    return DTypeInfo(known.name, known.itemsize, kind, known.is_signed, low, high,
                     known.np.name, known.wgsl, parts)  # fmt: skip


def get_real_dtype(dtype: str | DType) -> DType:
    """What the real part of a complex dtype is; other dtypes are their own."""
    return get_dtype(dtype).to_real()


def is_complex_dtype(dtype: str | DType) -> bool:
    return get_dtype(dtype).is_complex


def is_floating_point_dtype(dtype: str | DType) -> bool:
    return get_dtype(dtype).is_floating_point


def list_dtypes() -> list[DType]:
    """All dtypes: the library's own in the order of promotion, then those of users."""
    return [*ALL, *list_custom_dtypes()]


def list_custom_dtypes() -> list[DType]:
    """Those that users registered."""
    return [dtype for dtype in NAMES.values() if dtype.encoding is not None]


def numpy_dtype(dtype: str | DType) -> Any:
    """numpy's dtype of the arrays that tensors of a dtype become."""
    return get_dtype(dtype).np


def validate_dtype(dtype: Any, allowed: tuple[DType, ...] = (), op: str = "") -> DType:
    """The dtype, if it is one and among those `allowed` (all by default)."""
    known = get_dtype(dtype) if isinstance(dtype, str) else asked(dtype)
    if allowed and known not in allowed:
        listed = ", ".join(repr(d) for d in allowed)
        raise MethodDTypeNotSupportedError(f"{op or 'this op'} takes {listed}, not {known!r}")
    return known
