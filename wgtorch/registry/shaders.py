"""Shaders of users: as kernels of ops that exist, and as ops of their own.

They are compiled with all of WebGPU's runtime checks, which the library's own go without.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from wgtorch.autograd.transforms.batch_rules import RULES, aligned
from wgtorch.backends.webgpu import library
from wgtorch.dtype import DType, from_numpy
from wgtorch.errors import InvalidConfigError
from wgtorch.layout import Layout, broadcast
from wgtorch.op import REGISTRY, Facts, Map, Op, Pass, Structured, declare
from wgtorch.registry.answers import fitted, fitted_all, read_only
from wgtorch.registry.configs import DispatchConfig, WebGPUKernelConfig
from wgtorch.registry.gradients import fitting_all
from wgtorch.registry.handles import FunctionHandle
from wgtorch.registry.integers import common_dtype
from wgtorch.registry.launching import (
    check_function,
    check_outputs,
    fields_of,
    fitting_numbers,
    shaped,
    typed,
    workgroups,
)
from wgtorch.registry.opening import check_name, make_room, opened

next_number = count().__next__


def adopted(name: str, source: str) -> str:
    """Puts a shader's text beside the library's files; the name to find it by."""
    file = f"{name}#{next_number()}.wgsl"
    library.OWN[file] = source
    return file


OWN_BINDING = re.compile(r"@\s*(?:group|binding)\b|\bvar\s*<\s*(?:storage|uniform|immediate)\b")


def check_source(name: str, config: WebGPUKernelConfig) -> None:
    """As far as can be told before it is compiled."""
    source, dispatch = config.source, config.dispatch
    if not isinstance(source, str) or not source.strip():
        raise InvalidConfigError(f"{name}: the shader's text is missing")
    text = library.COMMENT.sub("", source)
    if OWN_BINDING.search(text):
        raise InvalidConfigError(
            f"{name}: the shader declares a binding of its own; those of its inputs and results are"
            " there: it reads `NAME_nth(i)` and writes `set_result(i, value)`"
        )
    if is_map(source):
        return
    if "fn main(" not in text:
        raise InvalidConfigError(
            f"{name}: the shader defines neither `fn value_at(i: u32)`, element i of the result,"
            " nor `fn main`"
        )
    if dispatch is None:
        raise InvalidConfigError(
            f"{name}: a shader with `fn main` needs dispatch=DispatchConfig(...)"
        )
    if callable(dispatch.groups):
        check_function(name, "dispatch", dispatch.groups, "lambda facts: (64, 1, 1)")
    else:
        workgroups(name, dispatch.groups)


def is_map(source: str) -> bool:
    return "fn value_at(" in source


def facts_by_name(
    name: str, config: WebGPUKernelConfig, file: str
) -> Callable[[Facts], tuple[float, ...]]:
    """The numbers that a shader's head lists."""
    fields = fields_of(name, file, is_map(config.source))
    check_function(name, "numbers", config.numbers, "lambda facts: (...,)")

    def numbers(facts: Facts) -> tuple[float, ...]:
        if config.numbers is not None:
            return fitting_numbers(name, fields, config.numbers(facts))
        known = {"numel": facts.out.numel} | facts.attrs
        unknown = [field for field in fields if field not in known]
        if unknown:
            raise InvalidConfigError(
                f"{name}: launch.{unknown[0]} is neither an attribute of the op nor `numel`; give"
                " numbers=lambda facts: (...)"
            )
        return fitting_numbers(name, fields, [known[field] for field in fields])

    return numbers


def places(inputs: tuple[str, ...], spread: bool) -> Callable[[Facts], dict[str, Layout]]:
    """Where `NAME_nth(i)` reads: the inputs in row-major order, broadcast to the result."""

    def where(facts: Facts) -> dict[str, Layout]:
        pairs = zip(inputs, facts.layouts, strict=True)
        shape = facts.out.shape
        return {
            name: layout.expand(shape) if spread else layout
            for name, layout in pairs
            if isinstance(layout, Layout)
        }

    return where


def kernel_facts(name: str, inputs: tuple[str, ...], config: WebGPUKernelConfig, spread: bool,
                 outputs: tuple[str, ...],
                 attrs: tuple[str, ...]) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """The kind of op that runs a shader, and what it declares."""
    check_source(name, config)
    library.NUMBERS[config.source] = attrs
    file = adopted(name, config.source)
    numbers, where = facts_by_name(name, config, file), places(inputs, spread)
    if is_map(config.source):
        return Map, {"shader": file, "numbers": numbers, "places": where}
    dispatch: DispatchConfig = config.dispatch  # type: ignore[assignment]

    def plan(facts: Facts) -> Pass | list[Pass]:
        if not facts.out.numel:
            return []
        return Pass(
            shader=file,
            groups=workgroups(name, dispatch.of(facts)),
            numbers=numbers(facts),
            reads=tuple(where(facts)),
            writes=outputs or ("result",),
            places=tuple(where(facts).items()),
        )

    return Structured, {"plan": plan}


def shader_of(op: Op, config: WebGPUKernelConfig, numbers: tuple[str, ...]) -> Structured:
    """A shader as a kernel of an op: an op that has its inputs but those that are numbers."""
    elementwise = not hasattr(op, "combine") and not isinstance(op, Structured)
    inputs = tuple(n for n in op.inputs if n not in numbers)
    outputs = getattr(op, "outputs", ())
    attrs = (*op.attrs, *numbers)
    kind, facts = kernel_facts(op.name, inputs, config, elementwise, outputs, attrs)
    reference = renamed(op, f"{op.name}#{next_number()}", inputs, attrs)
    made = declare(kind, shape=lambda *shapes, **attrs: shapes[0], outputs=outputs,
                   method=False, promotes=False, **facts)(reference)  # fmt: skip
    del REGISTRY[made.name]
    return made  # type: ignore[return-value]


def renamed(op: Op, name: str, inputs: tuple[str, ...], attrs: tuple[str, ...]) -> Callable:
    """The op's reference under another name, with the parameters that a kernel has."""

    def reference(**given: Any) -> Any:
        return op.reference(**given)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    tensors = [
        inspect.Parameter(n, kind, annotation=op.markers[n] or inspect.Parameter.empty)
        for n in inputs
    ]
    rest = [inspect.Parameter(n, kind, annotation="float") for n in attrs]
    reference.__signature__ = inspect.Signature([*tensors, *rest])  # type: ignore[attr-defined]
    reference.__name__ = name
    return reference


# A shader as an op


def common_shape(*shapes: Any, **attrs: Any) -> tuple[int, ...]:
    return broadcast(*[shape for shape in shapes if shape is not None])


def shader(source: str, *, backward: dict[str, Callable | None] | None = None,
           shape: Callable[..., Any] | None = None, dtype: Callable[..., DType] | None = None,
           dispatch: DispatchConfig | Callable | tuple[int, int, int] | None = None,
           numbers: Callable[[Facts], tuple[float, ...]] | None = None,
           outputs: tuple[str, ...] = (),
           override: bool = False) -> Callable[[Callable], FunctionHandle]:  # fmt: skip
    """Declares an op whose GPU kernel is a shader; the decorated numpy function is the rest of it.

    Its name, parameters and documentation are the op's; on the cpu it computes. A parameter without
    an annotation is a tensor, any other an attribute, as is one with a number for a default
    (`s=1.0`): the shader reads it as `launch.s`, if its text begins with `// launch: s:f32` and an
    empty line. The shader is written as `WebGPUKernelConfig` says. `backward` maps inputs to
    gradient formulas, functions of what they name: `grad`, `result`, inputs, attributes; or to None
    where there is no gradient. To an input without either, backward raises RuntimeError.
    `shape(*shapes, **attrs)` of the result is by default what
    the inputs broadcast to, its dtype what they promote to; `result_type` is that dtype in WGSL.
    Where the function makes floats of integers, these are TypeError, unless `dtype(*dtypes,
    **attrs)` says that the result is a float (the shader then converts what it reads,
    `result_type(input_nth(i))`). So is float64 on a GPU for a shader that calls exp, log, pow or a
    trigonometric built-in of what it does not narrow by `f32(...)`: WGSL has them in 32 bits at
    most. vmap runs an op whose `value_at(i)` depends on the elements i only on the whole batch,
    others sample by sample.

    The handle that is returned is the function, `torch.NAME` and a method; nothing is in place.
    `unregister()` takes the op away. A name that is taken is FunctionAlreadyRegisteredError,
    unless a user's op has it and `override` is true: that op is then unregistered.
    """
    groups = dispatch if isinstance(dispatch, DispatchConfig) or dispatch is None else (
        DispatchConfig(groups=dispatch)
    )  # fmt: skip
    config = WebGPUKernelConfig(source=source, dispatch=groups, numbers=numbers)

    def declared(reference: Callable) -> FunctionHandle:
        if not inspect.isfunction(reference):
            raise InvalidConfigError(
                f"shader() decorates a function of numpy arrays, not {type(reference).__name__}"
            )
        name = reference.__name__
        check_name(name, "shader()", override, in_place=False)
        reference = with_numbers(reference)
        inputs = tensors_of(reference)
        if not inputs:
            raise InvalidConfigError(f"{name}: no parameter is a tensor (one without annotation)")
        check_source(name, config)
        check_outputs(name, outputs, shape is not None, is_map(source))
        check_function(name, "shape", shape, "lambda input: input", len(inputs))
        check_function(name, "dtype", dtype, "lambda input: torch.float32", len(inputs))
        formulas = fitting_all(name, reference, inputs, backward, outputs)
        attrs = tuple(n for n in inspect.signature(reference).parameters if n not in inputs)
        kind, facts = kernel_facts(name, inputs, config, shape is None, outputs, attrs)
        facts["dtype"] = (
            common_dtype(reference, inputs, len(outputs)) if dtype is None else typed(name, dtype)
        )
        size = common_shape if shape is None else shaped(name, shape, len(outputs))
        held = held_to(size, dtype, reference, inputs, outputs)
        make_room(name)
        op = declare(kind, shape=size, vjp=formulas, owes_vjp=True, outputs=tuple(outputs),
                     torch="-", **facts)(held)  # fmt: skip
        if shape is None and numbers is None and is_pointwise(source):
            RULES[name] = aligned  # vmap runs it on the whole batch
        return opened(op)

    return declared


def is_pointwise(source: str) -> bool:
    """Whether `value_at(i)` reads element i of inputs and uses i for nothing else."""
    text = library.COMMENT.sub("", source)
    found = re.search(r"fn value_at\(\s*(\w+)\s*:", text)
    if found is None or re.search(r"\w_at\((?!\s*\w+\s*:)|launch\s*\.\s*numel", text):
        return False
    place = found[1]
    reads = len(re.findall(rf"\w_nth\(\s*{place}\s*\)", text))
    uses = len(re.findall(rf"\b{place}\b", text)) - 1  # less the parameter itself
    return uses == reads == len(re.findall(r"\w_nth\(", text))


def held_to(shape: Callable, dtype: Callable | None, reference: Callable,
            inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Callable:  # fmt: skip
    """The function of numpy, refused where it does not return what `shape` and `dtype` say."""
    signature = inspect.signature(reference)

    @functools.wraps(reference)
    def answer(*args: Any, **given: Any) -> Any:
        bound = signature.bind(*args, **given)
        bound.apply_defaults()
        bound.arguments |= {name: read_only(bound.arguments[name]) for name in inputs}
        results = reference(*bound.args, **bound.kwargs)
        attrs = dict(bound.arguments)
        tensors = [attrs.pop(name) for name in inputs]
        wanted = shape(*[None if t is None else np.shape(t) for t in tensors], **attrs)
        most = ranks(dtype, tensors, attrs, len(outputs))
        if not outputs:
            return fitted(reference.__name__, results, (wanted, most[0]))
        return fitted_all(reference.__name__, results, list(zip(wanted, most, strict=True)))

    return answer


def ranks(dtype: Callable | None, tensors: list[Any], attrs: dict[str, Any],
          count: int) -> list[int]:  # fmt: skip
    """Of the numbers that are due of each result (see answers.py)."""
    given = [None if t is None else from_numpy(t.dtype) for t in tensors]
    if dtype is None:
        return [max([d.category for d in given if d is not None])] * (count or 1)
    try:
        found = dtype(*given, **attrs)
    except Exception:  # it is for halves only, which a cpu computes in float32
        return [3] * (count or 1)
    return [d.category for d in (found if count else (found,))]


def tensors_of(reference: Callable) -> tuple[str, ...]:
    parameters = inspect.signature(reference).parameters.values()
    return tuple(p.name for p in parameters if p.annotation is p.empty)


def with_numbers(reference: Callable) -> Callable:
    """The function, with an annotation where the default is a number: that is no tensor."""
    signature = inspect.signature(reference)
    numbers = {
        p.name: p.replace(annotation=type(p.default).__name__)
        for p in signature.parameters.values()
        if p.annotation is p.empty and type(p.default) in (bool, int, float)
    }
    if not numbers:
        return reference

    @functools.wraps(reference)
    def same(*args: Any, **given: Any) -> Any:
        return reference(*args, **given)

    said = [numbers.get(name, p) for name, p in signature.parameters.items()]
    same.__signature__ = signature.replace(parameters=said)  # type: ignore[attr-defined]
    return same
