"""What an op is: a numpy reference, plus what the GPU and autograd need to know about it.

The reference is the definition: its name, docstring and signature (PyTorch's) are the op's. A
parameter without an annotation, or with one of the markers below, is a tensor, any other an
attribute. Tensors are promoted to one common dtype unless their marker says otherwise.

`vjp` maps an input to its gradient formula, which names what it needs; only that is saved: `grad`
the incoming gradient, `result`, an input or attribute, or merely an input's shape, `input_shape`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from wgtorch import dtype as dtypes_  # type: ignore[attr-defined, no-redef]
from wgtorch.dtype import DType, ZeroDim, bool_, result_kind
from wgtorch.layout import Layout
from wgtorch.parameters import EMPTY, KEYWORD_ONLY, Parameter, parameters
from wgtorch.promotion import Folding, is_bool, lacks_complex
from wgtorch.record import NamedRecord, Record
from wgtorch.settled import TypedOp, results

if TYPE_CHECKING:
    from functools import cached_property
else:
    from wgtorch.parameters import worked_out as cached_property

REGISTRY: dict[str, Op] = {}

# Markers of tensor parameters
Condition = Any  # read as bool: is it nonzero?
Index = Any  # integers that keep their dtype
Other = Any  # any dtype, kept as it is
Maybe = Any  # a tensor or None, promoted with the others
Tensors = Sequence[Any]  # several tensors
MARKERS = ("Condition", "Index", "Other", "Maybe", "Tensors")
Sizes = tuple[int, ...]  # marks an attribute that may also be given as separate ints


class Table(dict):
    """A dict that works out what it does not know yet, once."""

    __slots__ = ("__weakref__", "work_out")

    def __init__(self, work_out: Callable[[Any], Any]):
        self.work_out = work_out

    def __missing__(self, key):
        value = self[key] = self.work_out(key)
        return value


class Op(NamedRecord):
    """The facts that every kind shares."""

    reference: Callable
    samples: Callable | None = None  # rng -> iterable of (args, attrs), numpy arrays
    vjp: dict[str, Callable] = {}
    owes_vjp: bool = False  # whether backward is an error for inputs without a formula
    derived: tuple[str, ...] = ()  # inputs made of another: its formula counts what these owe
    gate: Callable | None = None  # door -> a door that refuses more, or knows a shorter way
    front: Callable | None = None  # door -> what users call, where that takes more than the kernel
    torch: str = ""  # dotted name to compare with; default: the same name
    method: bool | Callable = True  # whether Tensor has it as a method, or front -> the method, or
    # `staticmethod`: one that does not read the tensor it is called on
    inplace: bool = False  # whether `name_` writes the result into the first input
    takes_over: bool = False  # whether `name_` may start in that input's memory (see starts_as)
    apart: str = ""  # how much of an input must not be written to: "" | "part" of it | "all" of it
    aliases: tuple[str, ...] = ()
    operator: str = ""  # the Python operator it is: "add" for +
    tolerance: float = 2e-5  # of the GPU against the float64 reference, in the op's own tests
    complex: str | bool = False  # whether it takes them; of an Elementwise also their WGSL
    holomorphic: bool = True  # whether its gradient formulas are those of real numbers

    def __post_init__(self) -> None:
        known = {"grad", "result", "results", *self.inputs, *self.attrs}
        known |= set(getattr(self, "outputs", ()))
        known |= {name + end for name in self.inputs for end in ("_shape", "_dtype")}
        unknown = {n for f in self.vjp.values() for n in asks(f) if n not in known}
        if unknown or set(self.vjp) - set(self.inputs):
            raise TypeError(f"{self.name}: vjp names {unknown or set(self.vjp)}; known: {known}")
        if self.name in REGISTRY:
            raise TypeError(f"{self.name} is declared twice")
        REGISTRY[self.name] = self

    __eq__, __hash__ = object.__eq__, object.__hash__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @cached_property
    def name(self) -> str:
        return self.reference.__name__.rstrip("_")

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        return parameters(self.reference)

    @cached_property
    def markers(self) -> dict[str, str]:
        """The marker of each tensor parameter, '' for none."""
        found = {}
        for name, p in self.parameters.items():
            said = "" if p.annotation is EMPTY else str(p.annotation)
            if said in ("", *MARKERS):
                found[name] = said
        return found

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        return tuple(self.markers)

    @cached_property
    def attrs(self) -> dict[str, Any]:
        """Attributes and their defaults."""
        return {n: p.default for n, p in self.parameters.items() if n not in self.markers}

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Of the inputs that may be left out."""
        pairs = ((n, self.parameters[n].default) for n in self.inputs)
        return {n: default for n, default in pairs if default is not EMPTY}

    @cached_property
    def is_straight(self) -> bool:
        """Whether the reference takes its inputs, then its attributes, all by place."""
        named = [p for p in self.parameters.values() if p.kind is KEYWORD_ONLY]
        return not named and [*self.parameters] == [*self.inputs, *self.attrs]

    def invoke(self, arrays: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """The reference, on what numpy has."""
        return self.reference(**dict(zip(self.inputs, arrays, strict=True)), **attrs)


class Elementwise(Op):
    """One number in, one number out, at every index. Broadcasts, promotes, fuses.

    `wgsl` is a scalar expression over the parameters, or one per group of compute types ("float",
    "int", "i64" ...). A function in it that WGSL lacks is looked up in shaders/lib as `name_f32`,
    `name_i32` ... Attributes are numbers and travel at run time. Bools are computed as 0 and 1.
    """

    wgsl: str | dict[str, str]
    # "same" | "float" (integers: default) | "bool" | "real", "complex": dtype of parts, of both
    result: str = "same"
    # category (or "any bool": of a bool among others) -> PyTorch's complaint
    refuses: dict[str, str] = {}
    inplace: bool = True
    apart: str = "part"
    tensors: int = 0  # how many inputs, from the first, must not be numbers: 0, 1 or all
    casts: bool = False  # whether its door also converts to a dtype that is asked for
    repeats: bool = False  # whether the result is a number, rounded, at every index
    wide: bool = False  # whether a number may be one that the dtype of halves beside it cannot hold

    def compute_dtype(self, *kinds: DType | ZeroDim | type) -> DType:
        """From the operands' kinds; a Python number is given as its type."""
        counting = [k for k, n in zip(kinds, self.inputs, strict=False) if not self.markers[n]]
        dtype = result_kind(*(counting or kinds))
        if "any bool" in self.refuses and dtype is not bool_ and any(map(is_bool, counting)):
            raise RuntimeError(self.refuses["any bool"])
        if text := self.refuses.get(dtypes_.CATEGORIES[dtype.category]):
            error = NotImplementedError if "not implemented" in text else RuntimeError
            raise error(text.format(op=self.name, dtype=dtype.short))
        if dtype.category == 3 and not self.complex:
            raise lacks_complex(self, dtype)
        if self.result == "float" and dtype.category < 2:
            return dtypes_.get_default_dtype()
        return dtype

    def result_dtype(self, compute: DType) -> DType:
        if self.result == "bool":
            return bool_
        if self.result == "complex":
            return compute.to_complex()
        return compute.to_real() if self.result == "real" else compute

    @cached_property
    def typed(self) -> Table:
        """The op at its dtypes, by the tuple of operand kinds; each is worked out once."""
        table = Table(lambda kinds: self.at(self.compute_dtype(*kinds)))
        dtypes_.settled_by_defaults(table)
        return table

    def at(self, compute: DType) -> TypedOp:
        """The op computing in a given dtype."""
        return self._at[compute]

    @cached_property
    def _at(self) -> Table:
        return Table(lambda compute: TypedOp(self, compute))

    def expression(self, compute: DType) -> str:
        """The WGSL for a compute dtype."""
        if compute.category == 3 and isinstance(self.complex, str):
            return self.complex
        if isinstance(self.wgsl, str):
            return self.wgsl
        for key in (compute.name, compute.wgsl, "float" if compute.category > 1 else "int"):
            if key in self.wgsl:
                return self.wgsl[key]
        return self.wgsl[""]


class Reduction(Folding, Op):
    """Folds whole axes into one number, or a few, with an associative `combine(a, b)`.

    What is folded is `enter`, of an element x; of the WGSL type `state` where one number is not
    enough. The results are `leave`, of what is left (a), of how many were folded (`count`) and of
    the attributes that are numbers. With `arg`, `combine` is a condition, whether b beats a, and
    what is left is the winner's `value` and `index` (the first of equals).
    """

    combine: str  # WGSL expression over a and b
    identity: str  # WGSL value with combine(identity, a) == a; lib names by compute type
    enter: str = "x"
    leave: str | tuple[str, ...] = "a"
    state: str = ""
    folds: str = "same"  # what is computed in: "same" | "sum" (integers as int64) | "bool"
    result: str | tuple[str, ...] = "same"  # the compute dtype | "bool" | "index"
    outputs: tuple[str, ...] = ()  # names of several results
    differentiable: tuple[bool, ...] = ()  # of several results; default: only the first
    arg: bool = False
    empty: str = ""  # PyTorch's complaint when there is nothing to fold and no identity
    no_dims: str = "all"  # what `dim=()` folds: "all" | "none"
    refuses: dict[str, str] = {}  # category -> PyTorch's complaint
    arrange: Callable | None = None  # (args, given) -> both, as the attributes are declared

    @cached_property
    def gather(self) -> Callable:
        """What several results are returned in."""
        return results(self.name, self.outputs)


class Draw(Op):
    """Random numbers, which depend on a seed and an offset only (see philox.py).

    `wgsl` makes four numbers of four `words`. Kernels compute them where they are used.
    """

    wgsl: str
    dtype: DType


class ViewOp(Op):
    """Moves no data: a new Layout over the same Storage, or None where only a copy can do it."""

    layout: Callable[..., Layout | None]
    dtype: Callable[..., DType] | None = None  # dtype, attrs -> what the elements are seen as


class Structured(Op):
    """Has kernels of its own. `shape` and `dtype` say what comes out, and raise what is wrong.

    `plan(facts) -> Pass | list[Pass]` says what runs on a GPU (see `Facts` and `Pass`).
    """

    shape: Callable[..., Any]  # shapes (None for what was left out), attrs -> shape, or several
    plan: Callable[..., Any] | None = None
    dtype: Callable[..., Any] | None = None  # dtypes, attrs -> dtype, or several
    outputs: tuple[str, ...] = ()  # names of several results
    differentiable: tuple[bool, ...] = ()  # of several results; default: only the first
    by_first: bool | str = False  # whether the cpu may do ranges of dim 0 apart (see parted.py)
    promotes: bool = True  # unmarked inputs are cast to one common dtype first
    complex_way: Callable | None = None  # what computes it of inputs all of one complex dtype
    starts_as: str = ""  # the input that the result begins as a copy of; the reference gets that

    @cached_property
    def gather(self) -> Callable:
        """What several results are returned in."""
        return results(self.name, self.outputs)


class Map(Structured):
    """Element i of the result by `value_at(i)` of a shader that reads inputs as `NAME_at(place)`.

    `numbers(facts) -> tuple` gives what the shader's head lists behind `launch:`; `places` and
    `complaint` give what a Pass calls so, `constants` what the text depends on.
    """

    shader: str
    numbers: Callable[..., tuple[float, ...]] = staticmethod(lambda facts: ())
    places: Callable[..., dict[str, Layout]] = staticmethod(lambda facts: {})
    complaint: Callable[..., str] = staticmethod(lambda facts: "")
    constants: Callable[..., dict[str, int | bool]] = staticmethod(lambda facts: {})


class Rowwise(Structured):
    """Folds `dims` of its first input, and maps each element with what was folded.

    Inputs broadcast to the first. `shader` says how a row is done (backends/webgpu/rows.py says in
    which words), and lists behind `launch:` the attributes that it reads.
    """

    shader: str
    dims: Callable[..., tuple[int, ...]]  # shape of the first input, attrs -> the folded ones
    absent: dict[str, str] = {}  # WGSL for inputs that were left out


class Scan(Folding, Structured):
    """Folds each element with all before it along `dim`; the terms are those of Reduction.

    With `arg`, the last of equals wins. `reverse` begins at the end.
    """

    combine: str
    identity: str
    enter: str = "x"
    leave: str | tuple[str, ...] = "a"
    state: str = ""
    folds: str = "same"
    result: str | tuple[str, ...] = "same"
    arg: bool = False
    refuses: dict[str, str] = {}
    by_first: bool | str = "dim"

    def __post_init__(self) -> None:
        super().__post_init__()
        kinds = lambda input, *others, **attrs: self.out_dtypes(input)  # noqa: E731
        object.__setattr__(self, "dtype", kinds)


class Join(Structured):
    """Several tensors, each written into its place of one result.

    `places(out, layouts, **attrs)` gives those places, which together cover the result.
    """

    places: Callable[..., list[Layout]]


class Composite(Op):
    """A formula of other ops, written on tensors; it needs no kernel and no gradient."""

    function: Callable


class Facts(Record):
    """What a plan may depend on: everything but data."""

    layouts: tuple[Layout | None, ...]  # of the inputs; for `Tensors` a tuple of layouts
    dtypes: tuple[DType | None, ...]
    outs: tuple[Layout, ...]
    out_dtypes: tuple[DType, ...]
    attrs: dict[str, Any]
    traits: Any  # of the adapter

    @property
    def out(self) -> Layout:
        return self.outs[0]


class Pass(Record):
    """One dispatch. Buffers are named: an input's name, `result` (or an output's name), or a
    temporary's (`temps`: name -> (dtype, number of elements), seen by this and later passes).
    """

    shader: str
    groups: tuple[int, int, int]
    numbers: tuple[float, ...]  # what the shader's head lists behind `launch:`, in order
    reads: tuple[str, ...]
    writes: tuple[str, ...] = ("result",)
    front: tuple[str, ...] = ()  # WGSL declarations, or names of shader files, put in front
    temps: tuple[tuple[str, DType, int], ...] = ()
    clear: tuple[str, ...] = ()  # buffers set to zero before
    # `NAME(i)` in the shader: where element i of a layout is; `INPUT_nth(i)`: the element itself
    places: tuple[tuple[str, Layout], ...] = ()
    fields: tuple[str, ...] = ()  # what `numbers` are, where the declarations in front add some
    merge: str = ""  # WGSL over a and b: `merge_NAME(place, b)` joins b with the a that is there
    complaint: str | Exception = ""  # about an `{index}` out of range, or what to raise
    # WGSL that declares `store4(q, v)` or, unless `by_fours`, `store_one(i, x)` of the one result,
    # behind `front`; elementwise ops that follow may take its place
    store: tuple[str, ...] = ()
    by_fours: bool = False
    nanoseconds: float = 0.0  # on a large GPU, where known: copies may be made beside it


def asks(formula: Callable) -> list[str]:
    """What a formula wants to be given, by the names of its parameters."""
    if hasattr(formula, "asks"):
        return formula.asks
    code = formula.__code__
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def no_gradient() -> None:
    """The formula of an input that has no gradient."""


def declare(kind: type[Op], **facts: Any) -> Callable[[Callable], Op]:
    return lambda reference: kind(reference=reference, **facts)


def elementwise(wgsl: str | dict[str, str], **facts: Any) -> Callable[[Callable], Op]:
    return declare(Elementwise, wgsl=wgsl, **facts)


def composite(**facts: Any) -> Callable[[Callable], Op]:
    """Registers a function of tensors."""
    return lambda function: Composite(reference=function, function=function, **facts)
