"""Every name of the API is there, and every option is a keyword.

api_names.tsv: a name, its kind, where it is under `wgtorch` ("-" for what only a type checker
sees), and of options the keywords that the functions take.
"""

from __future__ import annotations

import csv
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import wgtorch as torch
from tools.op_signatures import arguments
from wgtorch.absent import hint
from wgtorch.autograd import GradcheckError, gradcheck
from wgtorch.op import REGISTRY
from wgtorch.strangers import NAMES

with (Path(__file__).parent / "api_names.tsv").open(encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file, delimiter="\t"))
OPS = {name: op for op in REGISTRY.values() for name in (op.name, *op.aliases)}
TOP = ("op", "inplace", "memory", "config", "device", "dtype", "registry", "other")


def found(path):
    thing = torch
    for part in path.split("."):
        thing = getattr(thing, part)
    return thing


def test_every_name_is_there():
    assert len(ROWS) == 935
    absent = []
    for row in ROWS:
        for path in row["where"].split():
            try:
                path == "-" or found(path)
            except AttributeError as error:
                absent.append(f"{row['name']}: {error}")
    assert not absent


def test_functions_are_at_the_top_too():
    """Under their own spelling, and what JavaScript calls them."""
    names = [r["name"] for r in ROWS if r["kind"] in TOP and re.match("[a-z]", r["name"])]
    names = [n for n in names if not n.endswith("_error") and n != "var_"]
    assert [name for name in names if not hasattr(torch, name)] == []
    assert torch.createTorch is torch.create_torch and torch.applyOut is torch.apply_out
    assert torch.device.register_device is torch.register_device


def keywords(path):
    """What a function can be given by name."""
    function, name = found(path), path.rpartition(".")[2]
    signature = inspect.signature(function).parameters
    name = name.removesuffix("_") if path.startswith("Tensor.") else name
    own = OPS.get(f"_linalg_{name}" if path.startswith("linalg.") else name)
    if own is None or not any(p.kind is p.VAR_POSITIONAL for p in signature.values()):
        return set(signature) | {f"**{n}" for n, p in signature.items() if p.kind is p.VAR_KEYWORD}
    return {a.name for a in arguments(own)} | {"out"}


OPTIONS = [r for r in ROWS if r["kind"] == "options"]


@pytest.mark.parametrize("row", OPTIONS, ids=lambda row: row["name"])
def test_options_are_keywords(row):
    wanted = set(row["keywords"].split())
    assert wanted
    for path in row["where"].split():
        assert wanted <= keywords(path), path


# What some of the names are


def test_storages_and_buffers(webgpu):
    x = torch.arange(4, dtype=torch.int32)
    on_cpu, on_gpu = x.untyped_storage(), x.to(webgpu).untyped_storage()
    assert type(on_cpu) is torch.storage.CPUStorage and isinstance(on_gpu, torch.UntypedStorage)
    on_cpu.array[0] = 9
    assert x[0] == 9
    assert type(on_gpu) is torch.storage.WebGPUStorage and on_gpu.nbytes() == 16

    y = torch.arange(4, dtype=torch.int32, device=webgpu)
    buffer = y.untyped_storage().buffer
    assert buffer.size == len(buffer) == 16 and buffer.usage & torch.device.BufferUsage.STORAGE
    assert np.frombuffer(buffer.read(4, 8), np.int32).tolist() == [1, 2]
    buffer.write(np.int32([7, 8]), offset=8)
    with buffer.mapped() as array:
        array[0] = 5
    assert y.tolist() == [5, 1, 7, 8]
    assert buffer.handle.size >= 16
    with pytest.raises(IndexError, match="bytes 12 to 20 of 16"):
        buffer.write(bytes(8), offset=12)
    own = torch.device.DeviceBuffer(8, webgpu)
    assert own.read() == bytes(8)
    own.destroy()
    with pytest.raises(RuntimeError, match="destroyed"):
        own.read()
    with pytest.raises(RuntimeError, match="no buffer of a GPU"):
        torch.device.DeviceBuffer(8, "cpu")


def test_devices_say_what_they_can_do(webgpu):
    known = torch.registry.get_device_capabilities(webgpu)
    assert known.limits["most_buffers"] > 0 and known.features["is_software"] in (True, False)
    assert {"cpu", "webgpu", "meta"} <= {e.name for e in torch.registry.DeviceRegistry()}
    assert isinstance(torch.get_device_context("cpu"), torch.device.DeviceContext)


def test_gradcheck_tells_by_how_much():
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(GradcheckError) as told:
        gradcheck(lambda x: x * x.detach(), x)
    result = told.value.result
    assert not result and result.errors == pytest.approx({(0, 0): 1})


def test_slice_keeps_inside():
    x = torch.arange(6).reshape(2, 3)
    assert x.slice(1, 1).tolist() == [[1, 2], [4, 5]] and x.slice(-1, 0, 3, 2).shape == (2, 2)
    with pytest.raises(IndexError, match="end 4 is out of bounds for dimension 1 with size 3"):
        x.slice(1, 0, 4)


def test_errors_and_shapes():
    with pytest.raises(torch.errors.BroadcastError) as told:
        torch.zeros(2) + torch.zeros(3)
    assert torch.errors.is_shape_error(told.value)
    assert not torch.errors.is_registry_error(told.value)
    assert torch.shape_inference.is_2d((2, 3)) and torch.shape_inference.rank((2, 3)) == 2


# Names that are not here


@pytest.mark.parametrize(("name", "text"), [
    ("sparse_coo_tensor", "there are no sparse tensors"),
    ("jit", "fuse by themselves"),
    ("distributed", "one process"),
    ("mps", "device='webgpu'"),
    ("quantize_per_tensor", "register_dtype makes one"),
    ("float8_e4m3fn", "register_dtype makes one"),
    ("kl_div", "it is torch.nn.functional.kl_div"),
    ("eigh", "it is torch.linalg.eigh"),
    ("zeroes", "did you mean zeros"),
    ("matmull", "did you mean matmul"),
    ("Matmul", "did you mean matmul?"),
])  # fmt: skip
def test_absent_names_say_what_to_use(name, text):
    assert not hasattr(torch, name)
    with pytest.raises(AttributeError, match=f"no attribute '{name}': .*{re.escape(text)}"):
        getattr(torch, name)


@pytest.mark.parametrize(("name", "text"), [
    ("to_sparse", "there are no sparse tensors"), ("share_memory_", "one process"),
    ("q_scale", "register_dtype makes one"), ("lstsq", "it is torch.linalg.lstsq"),
])  # fmt: skip
def test_methods_of_torch_that_are_absent_say_so(name, text):
    x = torch.ones(2)
    assert not hasattr(x, name) and not hasattr(torch.Tensor, name) and name not in dir(x)
    with pytest.raises(AttributeError, match=f"'Tensor' .* no attribute '{name}': .*{text}"):
        getattr(x, name)
    with torch.registry.register_method(name, lambda self: "mine"):
        assert getattr(x, name)() == "mine" and name in dir(x)
    assert not hasattr(x, name)


def test_every_absent_method_has_a_hint():
    assert [name for name in NAMES if not hint("wgtorch", name)] == []


def test_rooms_know_their_names_too():
    with pytest.raises(AttributeError, match="'wgtorch.nn' .* 'DataParallel': .*one process"):
        torch.nn.DataParallel  # noqa: B018
    with pytest.raises(AttributeError, match="'wgtorch.nn' has no attribute 'Liner': .* Linear"):
        torch.nn.Liner  # noqa: B018
    with pytest.raises(AttributeError, match="functional' .*'sofmax': did you mean softmax"):
        torch.nn.functional.sofmax  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Linar'"):
        exec("from wgtorch.nn import Linar")
    assert not hasattr(torch, "__wrapped__") and not hasattr(torch, "qqqqq")


@pytest.mark.parametrize(("line", "text"), [
    ("from wgtorch.hub import load", "'wgtorch.hub': torch.load reads safetensors, "),
    ("import wgtorch.distributed", "'wgtorch.distributed': a program is one process"),
    ("from wgtorch import jit", "'wgtorch.jit': programs are not captured"),
    ("from wgtorch.cuda import sparse", "'wgtorch.cuda.sparse': there are no sparse tensors"),
    ("import wgtorch.nonsense", "'wgtorch.nonsense'$"),
])  # fmt: skip
def test_imports_of_absent_modules_say_what_the_attribute_says(line, text):
    with pytest.raises(ModuleNotFoundError, match=f"^No module named {text}"):
        exec(line)
