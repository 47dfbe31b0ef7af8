"""Names that are not here: what to use in their place, or what was probably meant."""

from __future__ import annotations

import difflib
import re
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

ROOMS = ("nn.functional", "linalg", "special", "fft", "func", "autograd", "nn", "nn.utils",
         "nn.utils.parametrize", "nn.attention", "optim", "optim.swa_utils", "amp", "registry",
         "webgpu", "errors", "autograd.graph", "autograd.functional")  # fmt: skip
SPARSE = "there are no sparse tensors: use dense ones, with index_select, scatter_add or a mask"
QUANTIZED = (
    "there are no quantized dtypes: torch.registry.register_dtype makes one, as"
    " examples/own_dtype.py does"
)
TOLD = (  # the first that fits counts
    (r".*sparse.*|d?smm|hsp?mm|spmm|sspaddmm|.*col_indices|.*row_indices|coalesce"
     "|is_coalesced|dense_dim|to_dense", SPARSE),
    (r"jit|fx|export|compiler|cond|while_loop|Script.*|_dynamo|_inductor",
     "programs are not captured, and need not be: elementwise chains fuse by themselves, and"
     " torch.compile gives back what it is given"),
    (r"distributed|multiprocessing|futures|fork|wait|is_distributed|.*DataParallel|SyncBatchNorm|"
     r"data_parallel|parallel|share_memory_|is_shared",
     "a program is one process with all its devices; DataLoader(num_workers=...) has workers"),
    (r"(is_)?(mps|xpu|hip|mtia|ipu|xla|vulkan|maia)|cudnn.*|miopen.*|(to_)?mkldnn.*"
     r"|is_vulkan_available",
     "the GPU is torch.webgpu, whatever it is made by: device='webgpu'"),
    (r"quint.*|qint.*|q_.*|.*quant.*|ao|int_repr|per_(channel|tensor)_.*|.*fbgemm.*|qscheme",
     QUANTIZED),
    (r"float[48]_.*|u?int[1-7]|bits.*", QUANTIZED.replace("quantized dtypes", "dtypes so small")),
    (r"uint(16|32|64)", "use int32 or int64"),
    (r"complex32|chalf", "use complex64"),
    (r"nested|nested_tensor|jagged|to_padded_tensor",
     "sequences of several lengths: torch.nn.utils.rnn.pad_sequence, with a mask"),
    (r"library|ops|classes|custom_op",
     "torch.registry has register_function, register_kernel, register_unary_op and shader"),
    (r"Stream|Event|(record_)?stream",
     "a device runs all in order: torch.webgpu.synchronize() waits, autograd.profiler.profile"
     " measures"),
    (r".*Storage(Base)?", "x.untyped_storage() and x.storage() give a tensor's memory"),
    (r"hub", "torch.load reads safetensors, which every hub has"),
    (r"onnx|package", "what goes to other programs are weights: torch.save writes safetensors"),
    (r"__config__", "python -m wgtorch shows versions and adapters"),
    (r"serialization", "torch.load runs nothing that a file names, so there is nothing to allow"),
    (r"tensorboard", "its packages take numbers and arrays: x.item(), x.numpy()"),
    (r"_pytree", "torch.func takes nested tuples, lists and dicts as they are"),
    (r"overrides|__torch_function__|as_subclass|_make_subclass", "a subclass of torch.Tensor is a"
     " tensor to ops, and its methods work; ops do not ask it what to do"),
    (r"sym_.*|Sym.*", "shapes are numbers here"),
    (r"memory_format|strided|layout", "memory is strided; torch.contiguous_format is its name"),
)  # fmt: skip


class AbsentError(AttributeError):
    """Its text is worked out when it is read, so that hasattr() stays quick."""

    def __init__(self, module: str, name: str):
        super().__init__(module, name)
        self.module, self.wanted = module, name

    def __str__(self) -> str:
        said = hint(self.module, self.wanted)
        return f"module {self.module!r} has no attribute {self.wanted!r}{said and f': {said}'}"


class AbsentMethodError(AbsentError):
    """Of a tensor."""

    def __str__(self) -> str:
        said = hint("wgtorch", self.wanted)
        return f"'{self.module}' object has no attribute '{self.wanted}': {said}"


def answer_for(module: str) -> None:
    """Has a module say this of names that it lacks; type checkers go by the names it has."""

    def refuse(name: str) -> Any:
        raise AbsentError(module, name)

    vars(sys.modules[module])["__getattr__"] = refuse


def refuse_import(name: str) -> None:
    """Raises what the attribute would say of a module that is known to be PyTorch's."""
    if instead := told(name.rpartition(".")[2]):
        # without its name, or `from wgtorch import jit` would take it for the end of a search
        raise ModuleNotFoundError(f"No module named {name!r}: {instead}")


def found(name: str) -> Any:
    """What has a name of `wgtorch` in JavaScript's spelling; AbsentError if nothing has."""
    snake = re.sub(r"(?<=[a-z])([A-Z]+)", r"_\1", name).lower()
    if snake != name and name[:1].islower():
        for room in map(import_module, ("wgtorch", "wgtorch.errors", "wgtorch.autograd")):
            if snake in dir(room):
                return getattr(room, snake)
    raise AbsentError("wgtorch", name)


def hint(module: str, name: str) -> str:
    """What to use instead, or nothing."""
    for room in ROOMS:
        if hasattr(import_module(f"wgtorch.{room}"), name) and f"wgtorch.{room}" != module:
            return f"it is torch.{room}.{name}"
    if instead := told(name):
        return instead
    near = nearest(name, import_module(module))
    return f"did you mean {' or '.join(near)}?" if near else ""


def nearest(name: str, room: ModuleType) -> list[str]:
    """What it may stand for in a module: what differs by capitals only, or up to three names."""
    names = [n for n in dir(room) if not n.startswith("_")]
    alike = [n for n in names if n.lower() == name.lower()]
    meant = [n for n in alike if not isinstance(getattr(room, n), ModuleType)]
    return meant or difflib.get_close_matches(name, names, 3, 0.75)


def told(name: str) -> str:
    """What is said of a name of PyTorch's, or nothing."""
    return next((instead for known, instead in TOLD if re.fullmatch(known, name)), "")
