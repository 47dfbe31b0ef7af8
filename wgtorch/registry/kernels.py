"""Kernels of users: for one op on one device, before the library's own.

A kernel may be limited to some dtypes and by a predicate; the one that says most is asked first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from wgtorch.autograd.transforms.batch_rules import mapped
from wgtorch.autograd.transforms.encoded import EncodedBackend
from wgtorch.backends.overridden import override, restore
from wgtorch.device import ALIASES, Device
from wgtorch.dispatch.calls import flatten
from wgtorch.dtype import DType, asked
from wgtorch.errors import (
    InvalidConfigError,
    KernelNotRegisteredError,
    KernelSignatureMismatchError,
    OpKindMismatchError,
    suggestion,
)
from wgtorch.op import Elementwise, Op, Structured
from wgtorch.registry.answers import fitted_all, read_only
from wgtorch.registry.configs import (
    CPUKernelConfig,
    KernelConfig,
    TensorKernelConfig,
    WebGPUKernelConfig,
)
from wgtorch.registry.handles import KernelHandle, ScalarKernelHandle
from wgtorch.registry.opening import named
from wgtorch.registry.requirements import check_dtypes, checked
from wgtorch.registry.shaders import shader_of
from wgtorch.settled import Call
from wgtorch.storage import Value, View


@dataclass(frozen=True)
class KernelInfo:
    """What is known of one kernel."""

    op: str
    device: str
    dtypes: tuple[str, ...]
    conditional: bool
    scalar: bool
    origin: str  # "user" | "library" | "reference, through the cpu"


@dataclass(eq=False)
class KernelEntry:
    """A registered kernel."""

    op: Op
    device: str
    config: KernelConfig
    scalar: bool = False
    _shaders: dict[tuple, Structured] = field(default_factory=dict)

    @property
    def said(self) -> tuple[int, int, int, int]:
        """How much it says about when it is used; more goes first."""
        config = self.config
        return (config.override, config.predicate is not None, bool(config.dtypes),
                config.priority)  # fmt: skip

    @property
    def info(self) -> KernelInfo:
        config = self.config
        names = tuple(dtype.name for dtype in config.dtypes)
        return KernelInfo(
            self.op.name, self.device, names, config.predicate is not None, self.scalar, "user"
        )

    @property
    def of_tensors(self) -> bool:
        """Whether it is for composed dtypes."""
        return isinstance(self.config, TensorKernelConfig)

    def takes(self, call: Call, args: tuple) -> bool:
        numbers = [a for a in args if not isinstance(a, View | tuple) and a is not None]
        if bool(numbers) != self.scalar:
            return False
        config = self.config
        dtypes = flatten(call.dtypes)
        which = dtypes if self.of_tensors else dtypes[:1]
        if config.dtypes and not any([d in config.dtypes for d in which]):
            return False
        return config.predicate is None or bool(agrees(config.predicate, described(call, args)))

    def run(self, home: Any, call: Call, args: tuple) -> tuple[Value, ...]:
        if isinstance(self.config, CPUKernelConfig):
            return self._called(home, call, args)
        if isinstance(self.config, TensorKernelConfig):
            return self._asked(home, call, args)
        return self._launched(home, call, args)

    def _called(self, home: Any, call: Call, args: tuple) -> tuple[Value, ...]:
        op, arrays = call.op, [read_only(brought(home, a)) for a in args]
        given = dict(zip(op.inputs, arrays, strict=True))
        made = agrees(self.config.forward, given | call.attrs)  # type: ignore[union-attr]
        facts = zip(call.outs, call.out_dtypes, strict=True)
        due = [(out.shape, dtype.category) for out, dtype in facts]
        results = made if getattr(op, "outputs", ()) else (made,)
        fitting = fitted_all(f"a kernel of {op.name}", results, due)
        pairs = zip(fitting, call.out_dtypes, strict=True)
        return tuple([home.upload(array, dtype) for array, dtype in pairs])

    def _asked(self, home: Any, call: Call, args: tuple) -> tuple[Value, ...]:
        opened = [mapped(a, home.opened) for a in args]
        given = dict(zip(call.op.inputs, opened, strict=True))
        made = agrees(self.config.forward, given | call.attrs)  # type: ignore[union-attr]
        results = made if getattr(call.op, "outputs", ()) else (made,)
        facts = zip(results, call.out_dtypes, call.outs, strict=True)
        return tuple(
            [home.value_of(shaped(call.op, r, out), dtype, out) for r, dtype, out in facts]
        )

    def _launched(self, home: Any, call: Call, args: tuple) -> tuple[Value, ...]:
        numbers = {n: a for n, a in zip(call.op.inputs, args, strict=True)
                   if not isinstance(a, View)}  # fmt: skip
        key = tuple(numbers)
        if key not in self._shaders:
            self._shaders[key] = shader_of(call.op, self.config, key)  # type: ignore[arg-type]
        views = tuple([a for a in args if isinstance(a, View)])
        pairs = [(v.layout, v.dtype) for v in views]
        inner = Call(
            self._shaders[key],
            tuple([layout for layout, _ in pairs]),
            tuple([dtype for _, dtype in pairs]),
            {**call.attrs, **numbers},
            call.outs,
            call.out_dtypes,
        )
        return home.structured(inner, views)


def agrees(function: Callable[..., Any], facts: dict[str, Any]) -> Any:
    """The function's answer to those facts that it names."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return function(*facts.values())
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return function(**facts)
    return function(**{p.name: facts[p.name] for p in parameters if p.name in facts})


def described(call: Call, args: tuple) -> dict[str, Any]:
    """What a predicate is given: `NAME_shape` and `NAME_dtype` of inputs, and the attributes."""
    facts: dict[str, Any] = dict(call.attrs)
    for name, arg, dtype in zip(call.op.inputs, args, call.dtypes, strict=True):
        facts[f"{name}_shape"] = arg.layout.shape if isinstance(arg, View) else ()
        facts[f"{name}_dtype"] = dtype
    return facts


def brought(home: Any, arg: Any) -> Any:
    """An operand for a function of numpy."""
    if isinstance(arg, tuple):
        return [brought(home, a) for a in arg]
    return home.download(arg) if isinstance(arg, View) else arg


def shaped(op: Op, result: Any, out: Any) -> Any:
    """What a function of tensors returned, which must have the op's shape if it is a tensor."""
    if isinstance(result, Mapping) or getattr(result, "shape", None) == out.shape:
        return result
    found = list(result.shape) if isinstance(result, View) else type(result).__name__  # type: ignore[attr-defined]
    raise KernelSignatureMismatchError(
        f"a kernel of {op.name} returned {found}, due is a tensor of shape {list(out.shape)} or"
        " components by name"
    )


# The table


class KernelRegistry:
    """Kernels by op and device type; those that say most about when they are used go first."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], list[KernelEntry]] = {}

    def add(self, entry: KernelEntry) -> None:
        found = self.entries.setdefault((entry.op.name, entry.device), [])
        found.insert(0, entry)  # of equals the newest
        found.sort(key=lambda e: e.said, reverse=True)
        if entry.of_tensors:
            EncodedBackend.find = self.find
        else:
            override(entry.device, lambda op, call, args: self.find(op, entry.device, call, args))

    def remove(self, entry: KernelEntry) -> None:
        entries = self.entries.get((entry.op.name, entry.device), [])
        if entry not in entries:  # its device is gone, and was forgotten
            return
        entries.remove(entry)
        left = [e for e in self.all() if e.of_tensors is entry.of_tensors]
        if entry.of_tensors and not left:
            EncodedBackend.find = None
        elif not entry.of_tensors and all(e.device != entry.device for e in left):
            restore(entry.device)

    def forget(self, device: str) -> None:
        """Takes away all kernels of a device type."""
        for entry in [e for e in self.all() if e.device == device]:
            self.remove(entry)

    def find(self, op: str, device: str, call: Call, args: tuple) -> KernelEntry | None:
        composed = any([d is not None and d.encoding is not None for d in flatten(call.dtypes)])
        for entry in self.entries.get((op, device), ()):
            if entry.of_tensors is composed and entry.takes(call, args):
                return entry
        return None

    def all(self) -> Iterator[KernelEntry]:
        for entries in self.entries.values():
            yield from entries


KERNELS = KernelRegistry()


def device_type(device: str | Device) -> str:
    name = device.type if isinstance(device, Device) else str(device).partition(":")[0]
    name = ALIASES.get(name, name)
    if name not in Device.types:
        raise InvalidConfigError(
            f"there is no device type {name!r}; there are {', '.join(Device.types)}."
            f"{suggestion(name, Device.types)}"
        )
    return name


def registered(op: str, device: Any, kernel: Any, scalar: bool, given: dict[str, Any]) -> Any:
    known, kind = named(op), device_type(device)
    if callable(kernel):
        named_dtypes = [asked(dtype) for dtype in given.get("dtypes", ())]
        composed = any([dtype.encoding is not None for dtype in named_dtypes])
        kernel = (TensorKernelConfig if composed else CPUKernelConfig)(forward=kernel, **given)
    elif isinstance(kernel, str):
        kernel = WebGPUKernelConfig(source=kernel, **given)
    elif given:
        raise InvalidConfigError(f"{', '.join(given)}: say it in the config, which is given too")
    if scalar and not isinstance(known, Elementwise):
        raise OpKindMismatchError(f"{known.name} is not elementwise: it has no scalar form")
    checked(known, kind, kernel)
    dtypes = tuple([asked(dtype) for dtype in kernel.dtypes])
    check_dtypes(kernel, dtypes)
    entry = KernelEntry(known, kind, kernel, scalar)
    object.__setattr__(kernel, "dtypes", dtypes)
    KERNELS.add(entry)
    handle = ScalarKernelHandle if scalar else KernelHandle
    return handle(f"{known.name} on {kind}", lambda: KERNELS.remove(entry))


def register_forward(op: str, device: str | Device, kernel: Any, *, dtypes: Any = (),
                     predicate: Any = None, priority: int = 0, override: bool = False,
                     **given: Any) -> KernelHandle:  # fmt: skip
    """A kernel for `op` on a device type, asked before the library's own.

    `kernel` is a function of numpy arrays with the op's parameter names, WGSL (see
    `WebGPUKernelConfig`), or a config; with `dtypes=` that are composed, a function of tensors (see
    `TensorKernelConfig`). Beside a function or WGSL, the config's other fields may be
    given by name (`dispatch=` and `numbers=` of WGSL). Shapes, dtypes,
    broadcasting and gradients stay the op's. Raises OpNotFoundError, OpKindMismatchError,
    KernelSignatureMismatchError, InvalidConfigError.
    """
    said = {"dtypes": dtypes, "predicate": predicate, "priority": priority, "override": override}
    given |= {name: value for name, value in said.items() if value}
    return registered(op, device, kernel, False, given)


def register_scalar_forward(op: str, device: str | Device, kernel: Any,
                            **given: Any) -> ScalarKernelHandle:  # fmt: skip
    """As `register_forward`, for calls in which one operand is a Python number."""
    return registered(op, device, kernel, True, given)


def find_kernel_with_predicate(op: str, device: str | Device, *inputs: Any,
                               **attrs: Any) -> KernelEntry | None:  # fmt: skip
    """The registered kernel that such a call would use; None if it is the library's own."""
    known, kind = named(op), device_type(device)
    views = [x for x in inputs if isinstance(x, View)]
    if not views:
        raise InvalidConfigError(f"{op}: give the tensors that the call would have")
    layouts = tuple([x.layout if isinstance(x, View) else None for x in inputs])
    dtypes = tuple([x.dtype if isinstance(x, View) else None for x in inputs])
    call = Call(known, layouts, dtypes, attrs, (views[0].layout,), (views[0].dtype,))  # type: ignore[arg-type]
    return KERNELS.find(known.name, kind, call, inputs)


def get_kernel(op: str, device: str | Device, dtype: DType | None = None) -> KernelEntry | None:
    """The first registered kernel of an op on a device, if there is one."""
    return first(op, device, dtype, False)


def get_scalar_kernel(op: str, device: str | Device,
                      dtype: DType | None = None) -> KernelEntry | None:  # fmt: skip
    """The first registered kernel for an operand that is a number."""
    return first(op, device, dtype, True)


def first(op: str, device: Any, dtype: DType | None, scalar: bool) -> KernelEntry | None:
    for entry in KERNELS.entries.get((named(op).name, device_type(device)), ()):
        fits = dtype is None or not entry.config.dtypes or dtype in entry.config.dtypes
        if entry.scalar is scalar and fits:
            return entry
    return None


def has_scalar_kernel(op: str, device: str | Device, dtype: DType | None = None) -> bool:
    return get_scalar_kernel(op, device, dtype) is not None


def require_kernel(op: str, device: str | Device) -> KernelEntry:
    """The registered kernel, or KernelNotRegisteredError."""
    entry = get_kernel(op, device)
    if entry is None:
        raise KernelNotRegisteredError(f"no kernel is registered for {op} on {device}")
    return entry
