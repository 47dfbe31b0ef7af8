"""What there is: ops and their kinds, kernels, and which op runs where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from wgtorch.device import Device
from wgtorch.dtype import DType
from wgtorch.op import (
    REGISTRY,
    Composite,
    Draw,
    Elementwise,
    Join,
    Op,
    Reduction,
    Scan,
    Structured,
    ViewOp,
)
from wgtorch.registry import gradients
from wgtorch.registry.kernels import KERNELS, KernelInfo, device_type
from wgtorch.registry.opening import named
from wgtorch.registry.ways import THROUGH, dtypes_of, way_on_a_gpu

OpName = str


class OpKind(Enum):
    """What an op is to those who call it."""

    UNARY = "unary"
    BINARY = "binary"
    ELEMENTWISE = "elementwise"  # of more operands
    REDUCTION = "reduction"
    SHAPE = "shape"
    SCAN = "scan"
    STRUCTURED = "structured"
    CREATION = "creation"
    COMPOSITE = "composite"


@dataclass(frozen=True)
class OpSchema:
    """How an op is called."""

    name: str
    kind: OpKind
    inputs: tuple[str, ...]
    attributes: dict[str, Any]
    outputs: tuple[str, ...]

    def __str__(self) -> str:
        tensors = [f"Tensor {name}" for name in self.inputs]
        rest = [f"{name}={default!r}" for name, default in self.attributes.items()]
        return f"{self.name}({', '.join(tensors + rest)})"


UnaryOpSchema = BinaryOpSchema = ReductionOpSchema = ShapeOpSchema = CreationOpSchema = OpSchema


@dataclass(frozen=True)
class OpInfo:
    """All that is known of an op."""

    name: str
    kind: OpKind
    schema: OpSchema
    devices: tuple[str, ...]  # where it runs natively
    dtypes: dict[str, tuple[str, ...]]  # the kinds that it takes, by device
    has_autograd: bool
    kernels: tuple[KernelInfo, ...]  # registered by users
    doc: str


KINDS: dict[type[Op], OpKind] = {
    Reduction: OpKind.REDUCTION,
    ViewOp: OpKind.SHAPE,
    Join: OpKind.SHAPE,
    Scan: OpKind.SCAN,
    Draw: OpKind.CREATION,
    Structured: OpKind.STRUCTURED,
    Composite: OpKind.COMPOSITE,
}


def get_op_kind(op: str | Op) -> OpKind:
    """The kind of an op, given by its name."""
    known = op if isinstance(op, Op) else named(op)
    if isinstance(known, Elementwise):
        kinds = {1: OpKind.UNARY, 2: OpKind.BINARY}
        return kinds.get(len(known.inputs), OpKind.ELEMENTWISE)
    return next(kind for cls, kind in KINDS.items() if isinstance(known, cls))


def get_op_schema(op: str | Op) -> OpSchema:
    """How an op is called."""
    known = op if isinstance(op, Op) else named(op)
    outputs = tuple(getattr(known, "outputs", ())) or ("result",)
    inputs = () if isinstance(known, Composite) else known.inputs
    attributes = {name: p.default for name, p in known.parameters.items() if name not in inputs}
    return OpSchema(known.name, get_op_kind(known), inputs, attributes, outputs)


def get_op_info(op: str) -> OpInfo:
    """All that is known of an op; OpNotFoundError, with a suggestion, if there is none."""
    known = named(op)
    ways = {"cpu": "native", "webgpu": way_on_a_gpu(known)}
    devices = tuple([d for d, way in ways.items() if way != THROUGH])
    kernels = tuple([e.info for e in KERNELS.all() if e.op is known])
    doc = known.reference.__doc__ or ""
    return OpInfo(known.name, get_op_kind(known), get_op_schema(known), devices,
                  {device: dtypes_of(known, device) for device in ways},
                  gradients.has_autograd(known.name), kernels, doc)  # fmt: skip


def list_ops(kind: OpKind | str | None = None, device: str | None = None,
             has_autograd: bool | None = None) -> list[str]:  # fmt: skip
    """The names of ops: of a kind, of those that run natively on a device, or of those that
    backward can (or cannot) go through.
    """
    wanted = OpKind(kind) if isinstance(kind, str) else kind
    place = None if device is None else device_type(device)
    found = []
    for name, op in REGISTRY.items():
        if name.startswith("_") or (wanted is not None and get_op_kind(op) is not wanted):
            continue
        if place == "webgpu" and way_on_a_gpu(op) == THROUGH:
            continue
        if has_autograd is None or gradients.has_autograd(name) is has_autograd:
            found.append(name)
    return sorted(found)


def list_kernels(op: str | None = None, device: str | Device | None = None,
                 dtype: DType | None = None) -> list[KernelInfo]:  # fmt: skip
    """Kernels: those of users first, then the library's own."""
    known = None if op is None else named(op)
    place = None if device is None else device_type(device)
    found = [e.info for e in KERNELS.all() if known in (None, e.op)]
    for own in REGISTRY.values() if known is None else (known,):
        if own.name.startswith("_") or isinstance(own, Composite):
            continue
        for where in ("cpu", "webgpu"):
            cpu = where == "webgpu" and way_on_a_gpu(own) == THROUGH
            origin = "reference, through the cpu" if cpu else "library"
            found.append(KernelInfo(own.name, where, (), False, False, origin))
    return [
        k
        for k in found
        if place in (None, k.device) and (dtype is None or not k.dtypes or dtype.name in k.dtypes)
    ]


def has_kernel(op: str, device: str | Device, dtype: DType | None = None) -> bool:
    """Whether an op runs on a device without going through the cpu."""
    known, place = named(op), device_type(device)
    registered = [e for e in KERNELS.all() if e.op is known and e.device == place]
    if any(not e.config.dtypes or dtype in (None, *e.config.dtypes) for e in registered):
        return True
    return place in ("cpu", "meta") or way_on_a_gpu(known) != THROUGH


def is_unary_op(op: str | OpSchema) -> bool:
    return is_kind(op, OpKind.UNARY)


def is_binary_op(op: str | OpSchema) -> bool:
    return is_kind(op, OpKind.BINARY)


def is_reduction_op(op: str | OpSchema) -> bool:
    return is_kind(op, OpKind.REDUCTION)


def is_kind(op: str | OpSchema, kind: OpKind) -> bool:
    if isinstance(op, OpSchema):
        return op.kind is kind
    return op in REGISTRY and get_op_kind(op) is kind


is_unary_op_name, is_binary_op_name = is_unary_op, is_binary_op
is_reduction_op_name = is_reduction_op


class Schemas(Mapping):
    """The schema of every op, by name."""

    def __getitem__(self, name: str) -> OpSchema:
        return get_op_schema(name)

    def __iter__(self):
        return iter(REGISTRY)

    def __len__(self) -> int:
        return len(REGISTRY)


class Names:
    """The names of all ops of a kind, those of users among them."""

    def __init__(self, kind: OpKind):
        self.kind = kind

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and is_kind(name, self.kind)

    def __iter__(self):
        return iter(list_ops(self.kind))

    def __len__(self) -> int:
        return len(list_ops(self.kind))


OP_SCHEMAS = Schemas()
UNARY_OP_NAMES, BINARY_OP_NAMES = Names(OpKind.UNARY), Names(OpKind.BINARY)
REDUCTION_OP_NAMES = Names(OpKind.REDUCTION)
