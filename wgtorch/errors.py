"""Exceptions that PyTorch has no builtin for: each is also the type that PyTorch raises.

So `except IndexError` and `except RuntimeError` work as users are used to, and who wants to know
more catches the subclass. Messages about names say what was probably meant (`suggestion`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from math import prod
from typing import Any

# The device


class DeviceError(RuntimeError):
    """An op needs another device, or there is none."""


class OutOfMemoryError(DeviceError):
    """The device has no room for a buffer, even after its pool was emptied."""


def no_room(error: MemoryError) -> OutOfMemoryError:
    """What PyTorch says where numpy, whose error tells what it was asked for, found no memory."""
    shape, dtype = getattr(error, "shape", ()), getattr(error, "dtype", None)
    asked = f": you tried to allocate {prod(shape) * dtype.itemsize} bytes" if dtype else ""
    return OutOfMemoryError(
        f"DefaultCPUAllocator: can't allocate memory{asked}. Error code 12 (Cannot allocate memory)"
    )


def with_room(make: Callable) -> Callable:
    """A function that allocates by numpy; where there is no memory, PyTorch's error."""

    @wraps(make)
    def call(*args: Any, **given: Any) -> Any:
        try:
            return make(*args, **given)
        except MemoryError as error:
            raise no_room(error) from None

    return call


class DeviceLostError(DeviceError):
    """The device is gone, and what its tensors held with it. New tensors open it again."""


# Shapes, dimensions, indices


class ShapeError(RuntimeError):
    """Shapes do not fit the op, or each other."""


class BroadcastError(ShapeError):
    """Two shapes that do not broadcast."""


class DimOutOfRangeError(IndexError):
    """A dimension that the tensor does not have."""


class IndexOutOfBoundsError(IndexError):
    """An index beyond the size of its dimension."""


class OutOfRangeError(IndexOutOfBoundsError, RuntimeError):
    """An index that points past its dimension: PyTorch raises one or the other, by op."""


class LinalgError(RuntimeError):
    """What linear algebra cannot do: a matrix that is not square, singular, or not a matrix."""


LinAlgError = LinalgError  # PyTorch's spelling


# Equations and patterns


class EinsumError(RuntimeError):
    """An equation that is malformed, or does not fit its operands."""


class EinsumSubscriptError(EinsumError, ValueError):
    """A subscript in a list that stands for no letter."""


class EinsumSublistError(EinsumError, TypeError):
    """A list of subscripts with something else in it."""


class EinopsError(RuntimeError):
    """A pattern that is malformed, or does not fit its tensor."""


# Registries


class RegistryError(RuntimeError):
    """A registration, or a question to a registry, that cannot be answered."""


class InvalidConfigError(RegistryError, ValueError):
    """What is registered is incomplete or contradicts itself."""


class RegistrationFailedError(RegistryError):
    """A registration that failed for the reason it was raised from."""


class OpNotFoundError(RegistryError, LookupError):
    """There is no op of this name."""


class OpKindMismatchError(RegistryError, TypeError):
    """An op of another kind than what is registered for it."""


class KernelNotRegisteredError(RegistryError, NotImplementedError):
    """An op has no kernel for this device and dtype."""


class KernelSignatureMismatchError(RegistryError, TypeError):
    """A kernel that cannot be called as its op is."""


class AutogradNotRegisteredError(RegistryError, NotImplementedError):
    """Backward reached an op that has no gradient formula."""


class AutogradGradientMismatchError(RegistryError, ValueError):
    """A registered backward returned too many or too few gradients, or some of the wrong shape."""


class FunctionAlreadyRegisteredError(RegistryError, ValueError):
    """There is a function of this name."""


class MethodAlreadyRegisteredError(RegistryError, ValueError):
    """Tensor has a method of this name."""


class MethodDTypeNotSupportedError(RegistryError, TypeError):
    """A registered method called on a tensor of a dtype that it does not list."""


class DTypeAlreadyRegisteredError(RegistryError, ValueError):
    """There is a dtype of this name."""


class DTypeNotFoundError(RegistryError, TypeError):
    """There is no dtype of this name."""


class DTypeComponentsMismatchError(RegistryError, ValueError):
    """Components that do not fit the dtype they should make up."""


# Questions


def is_shape_error(error: object) -> bool:
    """Whether shapes did not fit. The text is `str(error)`."""
    return isinstance(error, ShapeError)


def is_registry_error(error: object) -> bool:
    """Whether a registry refused something."""
    return isinstance(error, RegistryError)


# What was probably meant


def levenshtein_distance(a: str, b: str) -> int:
    """How many letters to insert, delete or replace to turn one word into another."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            better = min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
            diagonal, row[j] = row[j], better
    return row[-1]


def find_similar_patterns(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known names that a misspelt one may stand for, nearest first."""
    near = max(1, len(name) // 3)
    ranked = sorted((levenshtein_distance(name.lower(), k.lower()), k) for k in known)
    return [k for distance, k in ranked if distance <= near][:most]


def suggestion(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Did you mean ...?", or nothing; `prefix` is what all of them begin with."""
    found = find_similar_patterns(name, known)
    return f" Did you mean {' or '.join(repr(prefix + k) for k in found)}?" if found else ""


def format_shape(shape: Iterable[int]) -> str:
    return "[" + ", ".join(str(size) for size in shape) + "]"


def build_error_message(what: str, *details: str, remedy: str = "") -> str:
    """What is wrong, the values, and what to do, a line each."""
    lines = [what, *(f"  {detail}" for detail in details)]
    return "\n".join([*lines, f"  {remedy}"] if remedy else lines)


def build_einops_error(what: str, pattern: str, at: int) -> EinopsError:
    """What is wrong with a pattern, and where."""
    return EinopsError(format_equation_error(pattern, at, what))


def format_equation_error(equation: str, at: int, what: str) -> str:
    """The complaint, the equation, and a mark under the place."""
    return f"{what}\n  {equation}\n  {' ' * at}^"
