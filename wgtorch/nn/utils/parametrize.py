"""A parametrization is a module whose result stands where a parameter or a buffer stood.

Reading `module.weight` computes it from the original, which is what is trained and saved, under
`module.parametrizations.weight`; assigning to it runs the parametrizations' `right_inverse`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any

from wgtorch import Tensor, no_grad
from wgtorch.nn.container import ModuleDict, ModuleList
from wgtorch.nn.module import Module
from wgtorch.nn.parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization",
    "remove_parametrizations", "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]  # fmt: skip


class Cache:
    """What was computed since the outermost `cached()` began, by module and name."""

    depth = 0
    known: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Inside of it each parametrized tensor is computed once, when it is first read."""
    Cache.depth += 1
    try:
        yield
    finally:
        Cache.depth -= 1
        if not Cache.depth:
            Cache.known = {}


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in the order in which they apply, and its originals.

    One original is called `original`; where the first parametrization's `right_inverse` gave
    several they are `original0`, `original1`, ... Made by `register_parametrization`.
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new = self._begun(original)
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            for fact in ("dtype", "device"):
                before, after = getattr(original, fact), getattr(new, fact)
                if before != after:
                    raise ValueError(
                        f"When `right_inverse` outputs one tensor, it may not change the {fact}.\n"
                        f"original.{fact}: {before}\nright_inverse(original).{fact}: {after}"
                    )
            take(original, new)
            enter(self, "original", original)
        else:
            for place, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                        f"tuple...). Got element {place} of the sequence with type "
                        f"{type(part).__name__}."
                    )
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                enter(self, f"original{place}", part.requires_grad_(original.requires_grad))
        if not unsafe:
            result = checked_tensor(self())
            unchanged("unparametrized ", dtype, "parametrized ", result.dtype, "dtype", "")
            unchanged("unparametrized ", shape, "parametrized ", result.shape, "shape", "")

    def _begun(self, original: Tensor) -> Any:
        """What the originals begin as; a parametrization without right_inverse changes nothing."""
        new: Any = original
        with no_grad():
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, Tensor | Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        return new

    def right_inverse(self, value: Tensor) -> None:
        """Give the originals the values whose parametrization `value` is.

        RuntimeError if a parametrization has no `right_inverse`.
        """
        new: Any = value
        with no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                new = module.right_inverse(new)
        if not self.is_tensor:
            self._take_all(new)
            return
        if not isinstance(new, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(new).__name__}")
        if new.dtype is not self.original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {new.dtype} "
                f"while `original` has dtype {self.original.dtype}"
            )
        take(self.original, new)

    def _take_all(self, new: Any) -> None:
        if not isinstance(new, Sequence):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors. Got {type(new).__name__}."
            )
        if len(new) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                f"Got a sequence of length {len(new)}."
            )
        for place, (original, part) in enumerate(zip(self._originals(), new, strict=True)):
            if not isinstance(part, Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type opaques. "
                    f"Got element {place} of type {type(part).__name__}."
                )
            take(original, part)

    def _originals(self) -> list[Tensor]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{place}") for place in range(self.ntensors)]

    def forward(self) -> Tensor:
        first, *rest = self
        result = first(*self._originals())
        for module in rest:
            result = module(result)
        return result


def take(target: Tensor, source: Tensor) -> None:
    """The memory of another tensor, for a tensor that optimizers know by identity."""
    target.data = source.detach()


def enter(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def checked_tensor(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
    return value


def unchanged(was: str, before: Any, now: str, after: Any, fact: str, article: str) -> None:
    if before != after:
        raise ValueError(
            f"Registering a parametrization may not change the {fact} of the tensor, unless "
            f"{article}`unsafe` flag is enabled.\n{was}{fact}: {before}\n{now}{fact}: {after}"
        )


# The class of a module that has parametrizations


def getstate(self: Module) -> None:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def copied(self: Module, memo: dict[int, Any]) -> Module:
    """A deep copy, with a class of its own: removing a parametrization changes the class."""
    if id(self) not in memo:
        kind = type(self)
        own = type(kind.__name__, kind.__bases__, dict(vars(kind)))
        memo[id(self)] = replica = object.__new__(own)
        vars(replica).update(deepcopy(vars(self), memo))
    return memo[id(self)]


def parametrized_class(kind: type) -> type:
    given: dict[str, Any] = {"__getstate__": getstate}
    if not hasattr(kind, "__deepcopy__"):
        given["__deepcopy__"] = copied
    return type(f"Parametrized{kind.__name__}", (kind,), given)


def parametrized(name: str) -> property:
    """The attribute that stands where the tensor stood."""

    def computed(self: Module) -> Tensor:
        parametrization = self.parametrizations[name]
        if not Cache.depth:
            return parametrization()
        key = id(self), name
        if key not in Cache.known:
            Cache.known[key] = parametrization()
        return Cache.known[key]

    def assign(self: Module, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(computed, assign)


# Registering and removing


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Have `module.NAME` be `parametrization(original)`; returns the module.

    Further ones apply to the result of those before. A method `right_inverse(value)` of the
    first says what the original begins as: a tensor, or a sequence for several originals. Its
    result keeps the shape and dtype of the tensor, or it is a ValueError, unless `unsafe`.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            check_added(module, tensor_name, parametrization)
        known = module.parametrizations[tensor_name]
        known.append(parametrization)
        known.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.__class__ = parametrized_class(type(module))
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, parametrized(tensor_name))
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def check_added(module: Module, name: str, parametrization: Any) -> None:
    """It maps tensors like the one that it is registered on to such tensors, both ways."""
    given = getattr(module, name)
    result = checked_tensor(parametrization(given))
    labels = f"module.{name}.", f"parametrization(module.{name})."
    unchanged(labels[0], given.dtype, labels[1], result.dtype, "dtype", "the ")
    unchanged(labels[0], given.shape, labels[1], result.shape, "shape", "the ")
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(result)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(
            f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}"
        )
    for fact in ("dtype", "shape"):
        if getattr(back, fact) != getattr(given, fact):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {fact} "
                f"as module.{name}, unless the `unsafe` flag is enabled.\n"
                f"module.{name}.{fact}: {getattr(given, fact)}\n"
                f"returned {fact}: {getattr(back, fact)}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether that tensor of the module (or, without a name, any) has parametrizations."""
    known = getattr(module, "parametrizations", None)
    if not isinstance(known, ModuleDict):
        return False
    return len(known) > 0 if tensor_name is None else tensor_name in known


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Have `module.NAME` be a tensor again: its present value, or the original; returns the module.

    ValueError if it is not parametrized, and for the original if there are several of them.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    known = module.parametrizations[tensor_name]
    if known.is_tensor:
        tensor = known.original
        if leave_parametrized:
            with no_grad():
                take(tensor, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        tensor = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor "
            "that is parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    enter(module, tensor_name, tensor)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that the module had; its class if it has no parametrizations."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Have `to_module` share the parametrizations and originals of that tensor, or of all."""
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations.keys()) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        source = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for entry in (*source._parameters, *source._buffers):
            setattr(target, entry, getattr(source, entry))
    return to_module
