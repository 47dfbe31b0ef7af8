"""Files that PyTorch's `torch.save` wrote, read without running anything that they name.

Such a file is a pickle, a program that says which functions to call, with the elements beside it:
in a zip archive, or behind it in files of before PyTorch 1.6. Here all that a pickle can name is a
`Name`, which stands for a few harmless functions, and all that it can make besides Python's own
containers is an `Unmade`, which nothing can change. Once the pickle is done, `made` puts tensors
in the places of these. So the worst that a file can be is wrong.
"""

from __future__ import annotations

import io
import os
import pickle
import zlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from wgtorch.create import empty, tensor
from wgtorch.device import Device
from wgtorch.dtype import NAMES, DType, uint8
from wgtorch.lazy import Lazy
from wgtorch.sharing import layout_of
from wgtorch.size import Size
from wgtorch.storages import TypedStorage, UntypedStorage
from wgtorch.tensor import Tensor

pickletools, zipfile = Lazy("pickletools"), Lazy("zipfile")

ARCHIVE, OLD = b"PK\x03\x04", b"\x80\x02\x8a\nl\xfc\x9cF"  # how they begin
PARTS_BEFORE = 3  # pickles in front of what an old file holds: a mark, a version, the machine
STORAGES = {f"{dtype.short}Storage": dtype for dtype in NAMES.values()} | {"UntypedStorage": uint8}
WRONG = (  # what a damaged file leads to
    ValueError, LookupError, TypeError, AttributeError, EOFError, OverflowError, MemoryError,
    RecursionError, NotImplementedError, pickle.UnpicklingError, zlib.error,
)  # fmt: skip
Place = Callable[[Tensor, str], Tensor]  # puts a tensor on the device of a name


class Forbidden(pickle.UnpicklingError):
    """A name that stands for code."""


class Sealed:
    """What a pickle must not change."""

    __slots__ = ()

    def __setstate__(self, state: Any) -> None:
        raise TypeError(f"a {type(self).__name__} has no state")


class Name(Sealed):
    """`module.name`, which a pickle may call, or hold as a value."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str):
        self.module, self.name = module, name

    def __call__(self, *args: Any) -> Any:
        return MEANINGS[self.module, self.name](*args)


class Unmade(Sealed):
    """What `make` will make of the memories of a file."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[Memories], Any]):
        self.make = make


class Stored(Sealed):
    """A row of elements in a file; an old one adds a view of it, which nobody makes any more."""

    __slots__ = ("dtype", "home", "is_typed", "key", "nbytes")

    def __init__(self, what: str, kind: Name, key: str, home: str, numel: int, view: None = None):
        if what != "storage" or view is not None or not isinstance(key, str) or numel < 0:
            raise ValueError(f"there is no {what} '{key}' of {numel} elements")
        self.dtype, self.is_typed = STORAGES[kind.name], kind.name != "UntypedStorage"
        self.key, self.home, self.nbytes = key, str(home), numel * self.dtype.itemsize


class Memories:
    """Tensors over the elements of a file: those that shared memory share it again."""

    def __init__(self, read: Callable[[Stored], bytes], place: Place):
        self.read, self.place = read, place
        self.rows: dict[tuple[str, DType], Tensor] = {}

    def row(self, stored: Stored, dtype: DType) -> Tensor:
        found = self.rows.get((stored.key, dtype))
        if found is None:
            array = np.frombuffer(self.read(stored), dtype.np)
            found = self.place(tensor(array, dtype=dtype, device="cpu"), stored.home)
            self.rows[stored.key, dtype] = found
        return found


# What a pickle may call


def tensor_of(
    stored: Stored, offset: int, size: tuple, stride: tuple, requires_grad: bool = False,
    hooks: Any = None, bits: Any = None, *, dtype: Any = None,
) -> Unmade:  # fmt: skip
    """`bits` says whether the elements are to be conjugated or negated."""

    def make(memories: Memories) -> Tensor:
        row = memories.row(stored, stored.dtype if dtype is None else dtype_of(dtype))
        view = row.over(row.storage, layout_of(row, size, stride, offset))
        for bit in [bit for bit, is_set in (bits or {}).items() if is_set]:
            view = {"conj": view.conj, "neg": view.neg}[bit]()
        return view.requires_grad_(bool(requires_grad))

    return Unmade(make)


def tensor_of_bytes(
    stored: Stored, offset: int, size: tuple, stride: tuple, requires_grad: bool, hooks: Any,
    dtype: Name, bits: Any = None,
) -> Unmade:  # fmt: skip
    return tensor_of(stored, offset, size, stride, requires_grad, bits=bits, dtype=dtype)


def tensor_of_nothing(dtype: Name, size: tuple, stride: tuple, requires_grad: bool) -> Unmade:
    return Unmade(
        lambda _: empty(size, dtype=dtype_of(dtype), device="meta", requires_grad=requires_grad)
    )


def parameter_of(data: Unmade, requires_grad: bool, *rest: Any) -> Unmade:
    return Unmade(lambda memories: data.make(memories).requires_grad_(bool(requires_grad)))


def tensor_with_attributes(function: Name, kind: Name, args: tuple, attributes: Any) -> Unmade:
    """Without them, as it may have none here."""
    return function(*args)


def device_of(*given: Any) -> Unmade:
    return Unmade(lambda _: Device(*given))


def size_of(sizes: tuple) -> Size:
    if not all([type(n) is int for n in sizes]):
        raise TypeError(f"there is no size {sizes}")
    return Size(sizes)


def bytes_of(text: Any = b"", encoding: str = "latin1") -> bytes:
    return text if isinstance(text, bytes) else text.encode(encoding)


def bytearray_of(*given: Any) -> bytearray:
    return bytearray(bytes_of(*given))


MEANINGS: dict[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_tensor"): tensor_of,
    ("torch._utils", "_rebuild_tensor_v2"): tensor_of,
    ("torch._utils", "_rebuild_tensor_v3"): tensor_of_bytes,
    ("torch._utils", "_rebuild_meta_tensor_no_storage"): tensor_of_nothing,
    ("torch._tensor", "_rebuild_from_type_v2"): tensor_with_attributes,
    ("torch._utils", "_rebuild_parameter"): parameter_of,
    ("torch._utils", "_rebuild_parameter_with_state"): parameter_of,
    ("torch", "device"): device_of,
    ("torch", "Size"): size_of,
    ("collections", "OrderedDict"): OrderedDict,
    ("_codecs", "encode"): bytes_of,
    ("builtins", "bytearray"): bytearray_of,
} | {("builtins", kind.__name__): kind for kind in (set, frozenset, complex, slice)}


class Reader(pickle.Unpickler):
    def __init__(self, file: Any):
        super().__init__(file)
        self.stored: dict[str, Stored] = {}
        self.check_places(file)

    def check_places(self, file: Any) -> None:
        """A pickle numbers what it will refer to; what numbers reach takes memory at once."""
        start, largest = file.tell(), 0
        for operation, argument, _ in pickletools.genops(file):
            if operation.name in ("PUT", "BINPUT", "LONG_BINPUT"):
                largest = max(largest, int(argument or 0))
        if largest > file.tell() - start:
            raise ValueError(f"it numbers something as {largest}")
        file.seek(start)

    def find_class(self, module: str, name: str) -> Name:
        module = "builtins" if module == "__builtin__" else module
        is_kind = module in ("torch", "torch.storage") and name in (*NAMES, *STORAGES, "Tensor")
        if not is_kind and (module, name) not in MEANINGS:
            raise Forbidden(
                f"Weights only load failed. Unsupported global: GLOBAL {module}.{name} was not an"
                " allowed global by default. Only tensors, numbers, strings and containers of them"
                " are read, whatever weights_only says, since anything else could run code: save"
                " what state_dict() gives"
            )
        return Name(module, name)

    def persistent_load(self, pid: Any) -> Stored:
        stored = Stored(*pid)
        return self.stored.setdefault(stored.key, stored)


def made(tree: Any, memories: Memories) -> Any:
    """What a pickle left, with tensors, dtypes and devices in their places."""
    done: dict[int, Any] = {}

    def of(value: Any) -> Any:
        if id(value) in done:
            return done[id(value)]
        kind = type(value)
        if kind is dict or kind is OrderedDict:
            done[id(value)] = filled = kind()
            for key, inner in value.items():
                filled[of(key)] = of(inner)
            if hasattr(value, "_metadata"):  # of a state_dict: the versions of its modules
                filled._metadata = of(value._metadata)  # type: ignore[attr-defined]
        elif kind is list:
            done[id(value)] = members = []  # type: ignore[var-annotated]
            members.extend(map(of, value))
        elif kind is tuple or kind is set or kind is frozenset:
            done[id(value)] = kind(map(of, value))
        elif kind is Unmade:
            done[id(value)] = value.make(memories)
        elif kind is Stored:
            row = memories.row(value, value.dtype)
            done[id(value)] = (TypedStorage if value.is_typed else UntypedStorage)(row.storage)
        elif kind is Name:
            return dtype_of(value)
        else:
            return value
        return done[id(value)]

    return of(tree)


def dtype_of(name: Name) -> DType:
    if name.module != "torch" or name.name not in NAMES:
        raise ValueError(f"there is no dtype {name.module}.{name.name}")
    return NAMES[name.name]


# Files


def is_pickled(start: bytes) -> bool:
    return start[:4] == ARCHIVE or start == OLD


def load(file: Any, name: str, place: Place) -> Any:
    """What `torch.save` wrote to a file, from where it is read now; UnpicklingError where it would
    take running code to read it, RuntimeError where it is damaged."""
    try:
        is_archive = file.read(len(ARCHIVE)) == ARCHIVE
        file.seek(-len(ARCHIVE), os.SEEK_CUR)
        return (of_archive if is_archive else of_old)(file, place)
    except Forbidden:
        raise
    except (*WRONG, zipfile.BadZipFile) as error:
        raise RuntimeError(
            f"load: {name} is no file of torch.save, or a damaged one: {error!r}"
        ) from error


def of_archive(file: Any, place: Place) -> Any:
    with zipfile.ZipFile(file) as archive:
        programs = [name for name in archive.namelist() if name.endswith("data.pkl")]
        root = programs[0].removesuffix("data.pkl")
        reader = Reader(io.BytesIO(archive.read(f"{root}data.pkl")))
        tree = reader.load()
        if f"{root}byteorder" in archive.namelist():
            check_order(archive.read(f"{root}byteorder") == b"little")

        def read(stored: Stored) -> bytes:
            entry = archive.getinfo(f"{root}data/{stored.key}")
            check_size(stored, entry.file_size)
            return archive.read(entry)

        return made(tree, Memories(read, place))


def of_old(file: Any, place: Place) -> Any:
    """Pickle after pickle, and then the elements, each row with its length."""
    *_, machine = [Reader(file).load() for _ in range(PARTS_BEFORE)]
    check_order(machine["little_endian"])
    reader = Reader(file)
    tree, data = reader.load(), {}
    for key in Reader(file).load():
        stored = reader.stored[key]
        check_size(stored, int.from_bytes(file.read(8), "little") * stored.dtype.itemsize)
        data[key] = file.read(stored.nbytes)
        check_size(stored, len(data[key]))
    return made(tree, Memories(lambda stored: data[stored.key], place))


def check_size(stored: Stored, size: int) -> None:
    if size != stored.nbytes:
        raise ValueError(f"elements '{stored.key}' have {size} bytes instead of {stored.nbytes}")


def check_order(is_little: bool) -> None:
    if not is_little:
        raise ValueError("its elements are big-endian: save it anew on another machine")
