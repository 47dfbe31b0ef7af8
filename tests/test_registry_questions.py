"""What the registries tell of ops, dtypes and devices, and a device of a user."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import wgtorch as torch
from wgtorch import errors, registry
from wgtorch.backend import backend
from wgtorch.device import Device
from wgtorch.op import REGISTRY, Composite
from wgtorch.registry.ways import way_on_a_gpu

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def on(device):
    return torch.tensor(X, device=device)


# Questions


def test_only_decompositions_go_through_the_cpu():
    """Else an op that lost its kernel would still pass its tests, by the way of the cpu."""
    lacking = [op for op in REGISTRY.values() if way_on_a_gpu(op) == "through the cpu"]
    rooms = {op.reference.__module__ for op in lacking if not isinstance(op, Composite)}
    assert rooms == {
        f"wgtorch.ops.{room}" for room in ("eigen", "factorization", "solving", "spectra")
    }


def test_questions():
    info = torch.get_op_info("softmax")
    assert info.has_autograd and "webgpu" in info.devices
    assert str(registry.get_op_schema("sigmoid")) == "sigmoid(Tensor input)"
    assert registry.OP_SCHEMAS["add"].inputs == ("input", "other")
    assert "sum" in registry.list_ops(kind="reduction") and "add" not in registry.list_ops(
        "reduction"
    )
    report = torch.coverage_report()
    assert "inverse" in report.missing() and "matmul" not in report.missing()
    assert re.match(r"\d+ ops and \d+ functions made of ops\ncpu: ", str(report))
    assert len(report.table().splitlines()) == len(report.entries)
    assert registry.has_kernel("exp", "webgpu") and not registry.has_kernel("inverse", "webgpu")
    kernels = registry.list_kernels("exp", "webgpu")
    assert [k.origin for k in kernels] == ["library"]
    assert "add" in registry.dtype_coverage_report(torch.int8).devices["cpu"]
    assert "sigmoid" in registry.dtype_coverage_report(torch.int8).devices["cpu"]
    assert torch.getOpInfo is torch.get_op_info and torch.hasKernel("exp", "cpu")


def test_coverage_tells_dtypes_and_shaders():
    entries = {e.name: e for e in torch.coverage_report().entries}
    sigmoid, solve, mm = entries["sigmoid"], entries["inverse"], entries["mm"]
    assert sigmoid.saves == ("result",) and sigmoid.differentiable == ("input",)
    assert "double" in sigmoid.dtypes["cpu"] and "double" not in sigmoid.dtypes["webgpu"]
    assert "complex" in sigmoid.dtypes["webgpu"] and "complex" not in entries["erf"].dtypes["cpu"]
    assert entries["bitwise_and"].dtypes["webgpu"] == ("bool", "integer")
    assert "double" in entries["add"].dtypes["webgpu"]
    assert "double" not in entries["softmax"].dtypes["webgpu"]
    assert mm.saves == ("input", "mat2") and "matmul_tiles.wgsl" in mm.shaders
    assert solve.devices == {"cpu": "composite", "webgpu": "through the cpu"}
    assert entries["zeros"].kind is registry.OpKind.CREATION
    assert torch.get_op_info("erf").dtypes == entries["erf"].dtypes
    assert not {"bitwise_and"} & set(registry.dtype_coverage_report(torch.float16).devices["cpu"])


def test_the_report_knows_every_op_of_the_api():
    known = {e.name for e in torch.coverage_report().entries}
    known |= {alias for op in REGISTRY.values() for alias in op.aliases}
    rows = (Path(__file__).parent / "api_names.tsv").read_text(encoding="utf-8").splitlines()
    names = {name.removesuffix("_") for name, kind, *_ in (row.split("\t") for row in rows)
             if kind in ("op", "inplace")}  # fmt: skip
    others = {"vmap", "is_tensor", "broadcastShapes"}  # a transform, a question, a spelling
    assert names - known - others == set()


def test_trying_dtypes_draws_no_random_numbers():
    before = torch.get_rng_state()
    for known in (registry.ways.dtypes_of, registry.ways.takes_double):
        known.cache_clear()
    assert "float" in torch.get_op_info("bernoulli").dtypes["cpu"]
    assert torch.get_rng_state().equal(before)


def test_dtypes_by_name():
    assert registry.get_dtype("torch.half") is torch.float16
    info = torch.get_dtype_info(torch.int8)
    assert (info.minimum, info.maximum, info.itemsize) == (-128, 127, 1)
    assert torch.get_dtype_info("float16").maximum == 65504
    assert registry.get_real_dtype(torch.complex64) is torch.float32
    with pytest.raises(errors.DTypeNotFoundError, match="Did you mean 'float32'"):
        registry.get_dtype("flaot32")
    with pytest.raises(errors.MethodDTypeNotSupportedError):
        registry.validate_dtype(torch.int8, (torch.float32,), "sin")


# A device of a user


class Logging:
    """Passes everything on to the cpu, and notes which ops ran."""

    def __init__(self, device):
        self.device, self.home, self.log = device, backend(torch.device("cpu")), []

    def __getattr__(self, name):
        return getattr(self.home, name)

    def own(self, value):
        value.device = self.device
        return value

    def upload(self, array, dtype):
        return self.own(self.home.upload(array, dtype))

    def send(self, value, to):
        return to.upload(value.buffer.copy(), value.dtype)

    def draw(self, op, seed, offset, out):
        return self.own(self.home.draw(op, seed, offset, out))

    def elementwise(self, typed, args, attrs, out):
        self.log.append(typed.op.name)
        return self.own(self.home.elementwise(typed, args, attrs, out))

    def reduction(self, fold, source):
        self.log.append(fold.op.name)
        made = self.home.reduction(fold, source)
        return tuple(map(self.own, made)) if isinstance(made, tuple) else self.own(made)

    def structured(self, call, args):
        self.log.append(call.op.name)
        return tuple(map(self.own, self.home.structured(call, args)))

    def assign(self, storage, layout, source):
        self.home.assign(storage, layout, source)
        self.own(storage.value)


def test_a_device_of_a_user():
    with registry.register_device("logging", Logging) as handle:
        place = torch.device("logging")
        assert handle.device() is place and torch.list_custom_devices() == ["logging"]
        model = torch.nn.Linear(4, 2).to(place)
        x = torch.tensor(X, device="logging", requires_grad=True)
        model(x).relu().sum().backward()
        log = registry.get_device_context(place).log
        assert {"linear", "relu", "sum"} <= set(log) and x.grad.device is place
        here = torch.nn.Linear(4, 2)
        here.load_state_dict({k: v.cpu() for k, v in model.state_dict().items()})
        np.testing.assert_allclose(
            model(x).detach().cpu().numpy(), here(x.detach().cpu()).detach().numpy(), rtol=1e-6
        )
        x.detach()[0] = 1
        with pytest.raises(errors.InvalidConfigError, match="there is a device type"):
            registry.register_device("logging", Logging)
        with pytest.raises(errors.DeviceError, match="Did you mean 'logging'"):
            registry.validate_device("loging")
    assert not torch.has_device("logging")
    with pytest.raises(errors.InvalidConfigError, match="library's own"):
        registry.unregister_device("cpu")
    with (
        registry.register_device("lacking", lambda device: object()),
        pytest.raises(errors.RegistrationFailedError, match="lacks upload"),
    ):
        torch.zeros(1, device="lacking")


def test_a_device_that_has_the_name_of_a_former_one():
    with registry.register_device("logging", Logging):
        old = torch.ones(3, device="logging")
        kernel = registry.register_forward("exp", "logging", lambda input: input * 0 + 5)
        assert old.exp().tolist() == [5, 5, 5]
    with registry.register_device("logging", Logging):
        new = torch.ones(3, device="logging") * 2
        with pytest.raises(errors.DeviceError, match="the former logging:0 and logging:0!"):
            old + new
        kernel.unregister()  # it went with its device
        assert (old.to("logging") + new).tolist() == [3, 3, 3]
        np.testing.assert_allclose(new.exp().cpu(), np.exp([2, 2, 2]), rtol=1e-6)
    assert old.tolist() == [1, 1, 1]


@pytest.mark.parametrize(("method", "answer", "complaint"), [
    ("elementwise", lambda made: None, r"returned None, but a Value is due"),
    ("reduction", lambda made: (), r"returned \(\), but a Value is due"),
    ("structured", lambda made: made * 2, "a tuple of length 1 is due"),
    ("download", lambda made: made.tolist(), r"but an array of shape \[3\] is due"),
    ("elementwise", lambda made: registry.get_device_context("cpu").upload(np.ones(3), made.dtype),
     "one of 3 torch.float32 on cpu, but a Value of 3 torch.float32 on wrong:0 is due"),
])  # fmt: skip
def test_what_a_backend_answers_is_checked(method, answer, complaint):
    class Wrong(Logging):
        pass

    def wrong(self, *args):
        return answer(getattr(Logging(self.device), method)(*args))

    setattr(Wrong, method, wrong)
    with (
        registry.register_device("wrong", Wrong),
        pytest.raises(
            errors.RegistrationFailedError, match=rf"wrong:0: {method}\(\) .*{complaint}"
        ),
    ):
        x = torch.ones(3, device="wrong")
        ((x + x).sum(), x.cumsum(0), x.tolist())


def test_a_formula_takes_float64_where_the_ops_that_it_runs_do(webgpu):
    """Not where those do that it merely names; and a GPU agrees, if it has float64."""
    x = torch.ones(2, 2, dtype=torch.float64)
    calls = {"corrcoef": (x,), "isreal": (x,), "ldexp": (x, x), "fft2": (x,)}
    for name, args in calls.items():
        (entry,) = torch.coverage_report([name]).entries
        told = "double" in entry.dtypes["webgpu"]
        assert told is (name not in ("ldexp", "fft2"))
        if not backend(Device(webgpu)).dialect.f64:
            continue
        call = getattr(torch, name, None) or getattr(torch.fft, name)
        on_gpu = [a.to(webgpu) if isinstance(a, torch.Tensor) else a for a in args]
        if told:
            assert call(*on_gpu).shape == (2, 2)
        else:
            with pytest.raises(TypeError, match="float64|complex128"):
                call(*on_gpu)
