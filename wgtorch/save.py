"""A saved file is safetensors: tensors by name, and in its metadata how they were put together.
PyTorch's own files are read too (pickled.py).

A dict of tensors (a `state_dict`) is written as every safetensors reader, PyTorch's included,
understands it. Nested dicts and lists, numbers and strings (an optimizer's state, a checkpoint)
go as JSON into the metadata entry "wgtorch".

Tensors that share memory share it again when they are loaded. The metadata entry "wgtorch.views"
is JSON: for each of them [the name of the memory, sizes, strides, offset], in elements. In a plain
dict each is written in full as well, for other readers, if one of them shows the whole memory;
else the memory is written once, as a row of elements.

A tensor of a composed dtype is written as its components, `PLACE.COMPONENT`. The metadata entry
"wgtorch.dtypes" is JSON: for each [dtype, sizes, sizes of the memory, names of the components,
PLACE]; PLACE is the tensor's name, unless other tensors have such names.
"""

from __future__ import annotations

import math
import os
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO, TextIOBase, UnsupportedOperation
from typing import Any

import numpy as np

from wgtorch import pickled
from wgtorch.backend import backend
from wgtorch.composed import put_together, taken_apart
from wgtorch.create import as_tensor, tensor
from wgtorch.device import Device
from wgtorch.dtype import (
    DType,
    bfloat16,
    bool_,
    by_name,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)  # fmt: skip
from wgtorch.errors import DTypeNotFoundError
from wgtorch.lazy import Lazy
from wgtorch.sharing import Shelf, shared
from wgtorch.size import Size
from wgtorch.tensor import Tensor

base64, json = Lazy("base64"), Lazy("json")
CODES = {
    "BOOL": bool_,
    "U8": uint8,
    "I8": int8,
    "I16": int16,
    "I32": int32,
    "I64": int64,
    "F16": float16,
    "BF16": bfloat16,
    "F32": float32,
    "F64": float64,
    "C64": complex64,
    "C128": complex128,
}  # fmt: skip  (others know no C128)
CODE_OF = {dtype: code for code, dtype in CODES.items()}
OURS = ("wgtorch", "wgtorch.views", "wgtorch.dtypes")  # entries of the metadata
SEVERAL: dict[str, type] = {
    "list": list, "tuple": tuple, "size": Size, "set": set, "frozenset": frozenset
}  # fmt: skip
METADATA = "__metadata__"  # in the header among the names, so that no tensor can have this one
LONGEST_HEADER = 100_000_000  # bytes; the format's own limit


def save(obj: Any, f: Any) -> None:
    """Write `obj` to a path or a file opened in binary mode.

    It may be made of tensors, numpy arrays, dicts, lists, tuples, sets, numbers, strings, bytes,
    None, dtypes and devices.
    """
    tensors: dict[str, Tensor] = {}
    metadata = {"format": "pt"}
    seen, memories = shared(obj) if is_plain(obj) else ({}, {})
    if is_plain(obj) and memories.keys() <= obj.keys():
        tensors.update(obj)
    else:
        try:
            metadata = {"wgtorch": json.dumps(encoded(obj, "", tensors))}
        except RecursionError:
            raise ValueError("save: the object holds itself, or is nested too deeply") from None
        seen, memories = shared(tensors)
        tensors = {name: t for name, t in tensors.items() if name not in seen} | memories
    if seen:
        metadata["wgtorch.views"] = json.dumps(seen)
    tensors, composed = taken_apart(tensors)
    if composed:
        metadata["wgtorch.dtypes"] = json.dumps(composed)
    with opened(f, "wb", "save") as file:
        write(file, tensors, metadata)


def load(
    f: Any, map_location: Any = None, *, weights_only: bool = True, mmap: bool | None = None
) -> Any:
    """What `save`, any writer of safetensors, or PyTorch's `torch.save` wrote to a path or a file.

    Tensors return to the device they were on, or go where `map_location` says: a device, a
    dict from device to device, or a function of (tensor, device name). No code is ever run,
    so `weights_only` is always true, and a file of PyTorch's that holds more than tensors,
    numbers, strings and containers of them is an UnpicklingError; `mmap` is accepted and
    changes nothing.
    """
    with opened(f, "rb", "load") as file:
        name, start = getattr(file, "name", "the file"), file.read(8)
        if pickled.is_pickled(start):
            file = rewound(file, start)
            return pickled.load(file, name, lambda t, home: placed(t, home, map_location))
        tensors, metadata = read(file, name, start)
    try:
        put_together(tensors, json.loads(metadata.get("wgtorch.dtypes", "{}")))
        for alias, kept in metadata.items():  # how safetensors notes tensors that share memory
            if kept in tensors and alias not in (*tensors, "format", *OURS):
                tensors[alias] = tensors[kept]
        seen = json.loads(metadata.get("wgtorch.views", "{}"))
        shelf = Shelf(tensors, seen, lambda t, home: placed(t, home, map_location))
        if "wgtorch" in metadata:
            return decoded(json.loads(metadata["wgtorch"]), shelf)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, BadPlace | DTypeNotFoundError):
            raise
        raise damaged(name, f"its structure cannot be read ({error!r})") from error
    return {key: shelf.get(key, "cpu") for key in tensors}


# Structure


def is_plain(obj: Any) -> bool:
    """Whether plain safetensors can say it all: tensors on the cpu, by name."""
    return isinstance(obj, Mapping) and all(
        isinstance(key, str) and key != METADATA and isinstance(t, Tensor) and t.is_cpu
        and not t.requires_grad for key, t in obj.items()
    )  # fmt: skip


def encoded(obj: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    """`obj` as JSON, its tensors entered into `tensors` under names of their own."""
    if obj is None or isinstance(obj, (bool, int, float, str)):
        return obj
    if isinstance(obj, Tensor):
        name = path or "tensor"
        while name in tensors or name == METADATA:
            name += "_"
        tensors[name] = obj
        return {"tensor": name, "device": str(obj.device), "requires_grad": obj.requires_grad}
    if isinstance(obj, np.generic):
        return encoded(obj.item(), path, tensors)
    if isinstance(obj, np.ndarray):
        return {"array": encoded(as_tensor(obj), path, tensors)}
    if isinstance(obj, complex):
        return {"complex": [obj.real, obj.imag]}
    if isinstance(obj, bytes):
        return {"bytes": base64.b64encode(obj).decode()}
    if isinstance(obj, DType):
        return {"dtype": obj.name}
    if isinstance(obj, Device):
        return {"device": str(obj)}

    def inside(key: Any, value: Any) -> Any:
        return encoded(value, f"{path}.{key}" if path else str(key), tensors)

    if isinstance(obj, Mapping):
        for key in obj:
            if key is not None and not isinstance(key, (bool, int, float, str)):
                raise unfit(key, f"a key in {path or 'the object'}")
        kind = "ordered" if isinstance(obj, OrderedDict) else "dict"
        return {kind: [[key, inside(key, value)] for key, value in obj.items()]}
    if isinstance(obj, (list, tuple, set, frozenset)):
        kind = "size" if isinstance(obj, Size) else type(obj).__name__
        if kind not in SEVERAL:
            raise unfit(obj, path)
        return {kind: [inside(i, value) for i, value in enumerate(obj)]}
    raise unfit(obj, path)


def unfit(obj: Any, path: str) -> TypeError:
    return TypeError(
        f"save: cannot save an object of type {type(obj).__name__} ({path or 'the object'}); save "
        "tensors, arrays, dicts, lists, sets, numbers and strings, such as what state_dict() or "
        "dataclasses.asdict() gives"
    )


def decoded(tree: Any, shelf: Shelf) -> Any:
    if not isinstance(tree, dict):
        return tree
    if "tensor" in tree:
        found = shelf.get(tree["tensor"], tree["device"])
        return found.requires_grad_() if tree["requires_grad"] else found
    ((kind, value),) = tree.items()
    if kind == "dtype":
        return by_name(value)
    if kind == "device":
        return Device(value)
    if kind == "array":
        return decoded(value, shelf).numpy()
    if kind == "complex":
        return complex(*value)
    if kind == "bytes":
        return base64.b64decode(value, validate=True)
    if kind in ("dict", "ordered"):
        pairs = [(key, decoded(entry, shelf)) for key, entry in value]
        return OrderedDict(pairs) if kind == "ordered" else dict(pairs)
    return SEVERAL[kind]([decoded(entry, shelf) for entry in value])


class BadPlace(RuntimeError):
    """A tensor's device is not here, or `map_location` is none."""


def placed(t: Tensor, home: str, map_location: Any) -> Tensor:
    """`t`, read to the cpu, on the device it belongs to."""
    if isinstance(map_location, Mapping):
        home = str(map_location.get(home, home))
    elif callable(map_location) and not isinstance(map_location, (str, Device)):
        moved = map_location(t, home)
        if moved is not None:
            return moved
    elif map_location is not None:
        home = map_location
    try:
        return t.to(home)
    except RuntimeError as error:
        if map_location is not None:
            raise
        raise BadPlace(
            f"load: a tensor was saved from {home}, which cannot be used here ({error}); pass "
            "map_location='cpu' to read it to the host"
        ) from error


# Bytes


def write(file: Any, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """Header length (8 bytes), header (JSON), data; the widest elements first keep all aligned."""
    order = sorted(tensors, key=lambda name: -tensors[name].dtype.itemsize)
    ends, end = {}, 0
    for name in order:
        size = tensors[name].numel() * tensors[name].dtype.itemsize
        ends[name] = (end, end + size)
        end += size
    header: dict[str, Any] = {METADATA: metadata}
    for name, t in tensors.items():
        header[name] = {"dtype": CODE_OF[t.dtype], "shape": list(t.shape),
                        "data_offsets": ends[name]}  # fmt: skip
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in order:
        array = backend(tensors[name].device).download(tensors[name].detach())
        file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def rewound(file: Any, start: bytes) -> Any:
    """The file from before `start`, which was read from it."""
    if hasattr(file, "seekable") and file.seekable():
        file.seek(-len(start), os.SEEK_CUR)
        return file
    return BytesIO(start + file.read())


def read(file: Any, name: str, head: bytes) -> tuple[dict[str, Tensor], dict[str, str]]:
    header = read_header(file, name, head)
    metadata, end = header.pop(METADATA, {}), 0
    if not isinstance(metadata, dict) or not all([isinstance(v, str) for v in metadata.values()]):
        raise damaged(name, f"its metadata is {metadata}, not strings by name")
    entries = [entry_of(key, entry, name) for key, entry in header.items()]
    data: dict[str, Tensor] = {}
    for start, stop, key, dtype, shape in sorted(entries, key=lambda entry: entry[:2]):
        if start != end:
            raise damaged(name, f"'{key}' starts at byte {start} instead of {end}")
        end = stop
        try:
            array = np.empty(shape, dtype.np)
        except ValueError as error:
            raise damaged(name, f"there is no tensor of the shape {shape} of '{key}'") from error
        fill(file, array, key, name)
        data[key] = tensor(array, dtype=dtype, device="cpu")
    if file.read(1):
        raise damaged(name, f"there is more after the {end} bytes of its tensors")
    return {key: data[key] for key in header}, metadata


def entry_of(key: str, entry: Any, name: str) -> tuple[int, int, str, DType, tuple[int, ...]]:
    """A tensor's first byte, the one behind its last, its name, dtype and shape."""
    try:
        (start, stop), code, shape = entry["data_offsets"], entry["dtype"], tuple(entry["shape"])
        fits = isinstance(code, str) and all([type(n) is int for n in (start, stop, *shape)])
    except (LookupError, TypeError, ValueError):
        fits = False
    if not fits or min(start, stop, *shape) < 0:
        raise damaged(name, f"the entry of '{key}' is {entry}")
    if code not in CODES:
        raise TypeError(f"load: '{key}' in {name} is of type {code}; known are {list(CODES)}")
    if stop - start != math.prod(shape) * CODES[code].itemsize:
        raise damaged(name, f"'{key}' of shape {shape} has {stop - start} bytes of {code}")
    return start, stop, key, CODES[code], shape


def read_header(file: Any, name: str, head: bytes) -> dict[str, Any]:
    if not head:
        raise EOFError(f"load: {name} is empty")
    if head[:1] == b"\x80" and head[1:2] in b"\2\3\4\5":
        raise RuntimeError(
            f"load: {name} is a pickle, but none of torch.save's, and reading one can run any"
            " code; save its tensors by torch.save, or by safetensors' save_file"
        )
    size = int.from_bytes(head, "little")
    if len(head) < 8 or size > LONGEST_HEADER:
        raise damaged(name, f"its header would be {size} bytes long")
    text = file.read(size)
    if len(text) < size:
        raise damaged(name, f"it ends within its header of {size} bytes")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(name, f"its header is not JSON ({error})") from error
    if not isinstance(header, dict):
        raise damaged(name, "its header is no JSON object")
    return header


def fill(file: Any, array: np.ndarray, key: str, name: str) -> None:
    target = array.reshape(-1).view(np.uint8)
    done = 0
    while done < target.size:
        chunk = file.read(min(target.size - done, 1 << 26))
        if not chunk:
            raise damaged(name, f"it ends after {done} of the {target.size} bytes of '{key}'")
        target[done : done + len(chunk)] = np.frombuffer(chunk, np.uint8)
        done += len(chunk)


def damaged(name: str, why: str) -> RuntimeError:
    return RuntimeError(f"load: {name} is no safetensors file, or a damaged one: {why}")


@contextmanager
def opened(f: Any, mode: str, who: str) -> Iterator[Any]:
    """A file for a path; a file that is given stays open."""
    if isinstance(f, (str, os.PathLike)):
        folder = os.path.dirname(os.fspath(f))
        if mode == "wb" and folder and not os.path.isdir(folder):
            raise RuntimeError(f"Parent directory {folder} does not exist.")
        with open(f, mode) as file:
            yield file
        return
    method = "write" if mode == "wb" else "read"
    if not hasattr(f, method):
        raise TypeError(
            f"{who}: expected a path or a file opened with '{mode}', got {type(f).__name__}"
        )
    if isinstance(f, TextIOBase):
        name = getattr(f, "name", "the file")
        raise TypeError(f"{who}: {name} is open in text mode; open it with '{mode}'")
    if getattr(f, "closed", False):
        raise ValueError(f"{who}: I/O operation on closed file")
    if not getattr(f, "writable" if mode == "wb" else "readable", lambda: True)():
        raise UnsupportedOperation(
            f"{who}: the file is not open for {'writing' if mode == 'wb' else 'reading'}"
        )
    yield f
