"""Arguments: what ops ask of the tensors and numbers they are given, and say when it is not so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgtorch.dtype import SCALARS, DType, fitting, float32, of_number, result_kind
from wgtorch.integers import integer
from wgtorch.storage import View

C_NAMES = {"bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int",
           "int32": "int", "int64": "long int", "float16": "c10::Half",
           "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
           "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}  # fmt: skip
SEQUENCES = (list, tuple)  # isinstance takes a tuple faster than a union, which it builds


def unsupported(kernel: str, *categories: str) -> dict[str, str]:
    """What PyTorch says where a kernel lacks a category of dtypes."""
    return dict.fromkeys(categories, f"\"{kernel}\" not implemented for '{{dtype}}'")


def floats_only(kernel: str) -> dict[str, str]:
    return unsupported(kernel, "bool", "integer")


def category(operand: Any) -> int:
    """0 bool, 1 integer, 2 float, 3 complex."""
    return (operand.dtype if isinstance(operand, View) else of_number(type(operand))).category


def common_dtype(*operands: Any) -> DType:
    """What tensors, and numbers among them, are promoted to."""
    return result_kind(*[kind_of(operand) for operand in operands])


def kind_of(operand: Any) -> Any:
    """What promotion must know of an operand."""
    if not isinstance(operand, View):
        return type(operand)
    dtype = operand.storage.value.dtype
    return dtype if operand.layout.shape else dtype.zero_dim


def as_number(op: str, name: str, value: Any) -> Any:
    """What stands for a number, as one: numpy's and tensors without dimensions are welcome."""
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, View) and not value.layout.shape:
        return value.item()  # type: ignore[attr-defined]
    raise TypeError(f"{op}(): argument '{name}' must be Number, not {type(value).__name__}")


def is_usual(number: Any) -> bool:
    """Whether it is a number of Python's that is no matter to any float32."""
    kind = type(number)
    return (kind is float or kind is int) and -3e38 < number < 3e38


def as_element(number: Any, dtype: DType) -> Any:
    """A Python number as an element of such a tensor."""
    if dtype is float32 and is_usual(number):
        return number
    return fitting(number, dtype) if isinstance(number, SCALARS) else number


def alike(input: Any, **others: Any) -> Any:
    """The others, which must have the dtype of `input` if they are tensors."""
    for name, other in others.items():
        if isinstance(other, View) and other.dtype is not input.dtype:
            raise RuntimeError(
                f"expected dtype {C_NAMES[input.dtype.name]} for `{name}` but got dtype"
                f" {C_NAMES[other.dtype.name]}"
            )
    return others.values()


def or_named(name: str) -> Callable[[Callable], Callable]:
    """A front for what takes sizes one by one, in a tuple, or in a tuple of this name."""

    def front(door: Callable) -> Callable:
        def call(input: Any, *sizes: Any, **given: Any) -> Any:
            sizes = (given.pop(name),) if name in given and not sizes else sizes
            return door(input, *sizes, **given)

        return call

    return front


def one_dim(op: str) -> Callable[[Callable], Callable]:
    """A front for a fold along one dimension, or all: the doors behind take several."""

    def front(door: Callable) -> Callable:
        def call(input: Any, *args: Any, **given: Any) -> Any:
            dim = args[0] if args else given.get("dim")
            if type(dim) is not int and dim is not None:
                dim = integer(op, "dim", dim, 1)
                args = (dim, *args[1:]) if args else args
                given = given if args else given | {"dim": dim}
            return door(input, *args, **given)

        return call

    return front


def required(op: str, **tensors: Any) -> None:
    """Complains of the first that is not a tensor."""
    for place, (name, value) in enumerate(tensors.items(), 1):
        if not isinstance(value, View):
            raise TypeError(
                f"{op}(): argument '{name}' (position {place}) must be Tensor, not"
                f" {type(value).__name__}"
            )


def no_numbers(op: str, tensors: int, **given: Any) -> None:
    """Complains of numbers among two operands of which the first, or both (2), must be a tensor."""
    if tensors == 2:
        required(op, **given)
    first, second = given
    if isinstance(given[first], View):
        return
    kinds = ["Tensor" if isinstance(a, View) else type(a).__name__ for a in given.values()]
    raise TypeError(
        f"{op}() received an invalid combination of arguments - got ({', '.join(kinds)}), but"
        f" expected one of:\n * (Tensor {first}, Tensor {second})\n * (Tensor {first}, Number"
        f" {second})"
    )


# Gradients of what is constant almost everywhere


def nothing(grad: Any, input_shape: Any) -> Any:
    return grad.new_zeros(input_shape)


def nothing_for_other(grad: Any, other_shape: Any) -> Any:
    return grad.new_zeros(other_shape)


def several(op: str, tensors: Any, empty: tuple[type[Exception], str]) -> tuple[Any, ...]:
    """The tensors, or PyTorch's complaint; `empty` is that about none. What is no tensor among them
    is found where they are used."""
    check_several(op, tensors)
    if not tensors:
        kind, text = empty
        raise kind(text)
    return tuple(tensors)


def check_several(op: str, tensors: Any) -> None:
    if not isinstance(tensors, SEQUENCES):
        raise TypeError(
            f"{op}(): argument 'tensors' (position 1) must be tuple of Tensors, not"
            f" {'Tensor' if isinstance(tensors, View) else type(tensors).__name__}"
        )


def no_element(place: int, value: Any, argument: int = 0) -> TypeError:
    """PyTorch's complaint about what is no tensor in a list of them."""
    what = type(value).__name__
    return TypeError(f"expected Tensor as element {place} in argument {argument}, but got {what}")
