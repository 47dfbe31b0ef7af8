"""A Module is a function with state: parameters, buffers and modules inside it."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Self

from wgtorch import Tensor, bfloat16, empty_like, float16, float32, float64, no_grad
from wgtorch.device import Device
from wgtorch.dtype import DType
from wgtorch.nn.hooks import EVERYWHERE, Call, Hooks
from wgtorch.nn.parameter import is_lazy
from wgtorch.nn.state import Stateful


class Module(Stateful, Hooks):
    """Base class of all modules: assign parameters and modules as attributes, write `forward`."""

    def __init_subclass__(cls, **options: Any) -> None:
        """A class of the library has an `__init__` with its own name, which errors tell."""
        super().__init_subclass__(**options)
        if cls.__module__.startswith(__package__) and "__init__" not in vars(cls):
            cls.__init__ = named(cls.__init__, cls)  # type: ignore[method-assign]

    def __init__(self) -> None:
        Stateful.__init__(self)
        Hooks.__init__(self)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooked or EVERYWHERE._hooked:
            return Call(self, args, kwargs).run()
        return self.forward(*args, **kwargs)

    # Where the state lives, and as what

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a device and/or convert floating point state to a dtype, in place.

        `to(device=None, dtype=None, non_blocking=False)`, `to(dtype)` or `to(tensor)`.
        """
        place, dtype = destination(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, "
                f"but got desired dtype={dtype}"
            )

        def moved(t: Tensor) -> Tensor:
            converts = dtype is not None and (t.is_floating_point() or t.is_complex())
            return t.to(device=place or t.device, dtype=dtype if converts else t.dtype)

        return self._apply(moved)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the data of every parameter, gradient and buffer by `fn` of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        with no_grad():
            for param in self._parameters.values():
                if param is None:
                    continue
                grad = param.grad
                param.data = fn(param.data)
                if grad is not None:
                    param.grad = fn(grad.data).requires_grad_(grad.requires_grad)
            for name, buffer in self._buffers.items():
                if is_lazy(buffer):
                    buffer.data = fn(buffer.data)
                elif buffer is not None:
                    self._buffers[name] = fn(buffer)
        return self

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to `device` without copying: the state there is uninitialized."""
        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def compile(self, *args: Any, **given: Any) -> None:
        """Nothing: elementwise chains fuse without it."""

    def cpu(self) -> Self:
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move to the default GPU, which is a webgpu device."""
        return self.to("webgpu" if device is None else device)

    webgpu = cuda

    def type(self, dst_type: DType) -> Self:
        """Convert all parameters and buffers, integer ones too."""
        return self._apply(lambda t: t.to(dst_type))

    def float(self) -> Self:
        return self._as(float32)

    def double(self) -> Self:
        return self._as(float64)

    def half(self) -> Self:
        return self._as(float16)

    def bfloat16(self) -> Self:
        return self._as(bfloat16)

    def _as(self, dtype: DType) -> Self:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)


def destination(*args: Any, **kwargs: Any) -> tuple[Any, DType | None]:
    """The device and the dtype that arguments of `to` name, None for each that they do not."""
    names = ["device", "dtype", "non_blocking", "copy"]
    if args and isinstance(args[0], DType):
        names.remove("device")
    elif args and isinstance(args[0], Tensor):
        args = (args[0].device, args[0].dtype, *args[1:])
    elif isinstance(other := kwargs.pop("other", None), Tensor):
        kwargs |= {"device": other.device, "dtype": other.dtype}
    given = dict(zip(names, args, strict=False))
    unknown = set(kwargs) - {*names, "memory_format"} | set(kwargs) & set(given)
    if unknown or len(args) > len(names):
        raise TypeError(f"to() received an invalid combination of arguments: {args}, {kwargs}")
    given |= kwargs
    place = given.get("device")
    return None if place is None else Device(place), given.get("dtype")


def named(method: Any, kind: type) -> Any:
    """A method as if it was defined in another class."""
    own = FunctionType(
        method.__code__, method.__globals__, method.__name__, None, method.__closure__
    )
    own.__defaults__, own.__kwdefaults__ = method.__defaults__, method.__kwdefaults__
    own.__annotations__, own.__doc__ = method.__annotations__, method.__doc__
    own.__qualname__ = f"{kind.__qualname__}.{method.__name__}"
    return own
