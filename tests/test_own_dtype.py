"""Dtypes of users: int8 with one scale, in all that tensors do, on both devices."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pytest

import wgtorch as torch
from wgtorch import errors, registry
from wgtorch.registry import DTypeConfig, DTypeDisplayConfig, DTypeSerializationConfig

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def encode(x):
    scale = x.abs().amax() / 127
    return {"data": (x / torch.where(scale == 0, 1.0, scale)).round().char(), "scale": scale}


def decode(data, scale):
    return data.float() * scale


FIELDS = {"components": {"data": torch.int8, "scale": torch.float32},
          "encode": encode, "decode": decode}  # fmt: skip


def rounded(x):
    """What the dtype makes of numbers."""
    scale = np.float32(np.abs(x).max() / 127)
    return np.round(x / scale) * scale


@pytest.fixture
def q8():
    with registry.register_dtype("q8", **FIELDS) as dtype:
        yield dtype


def on(device, dtype=None):
    x = torch.tensor(X, device=device)
    return x if dtype is None else x.to(dtype)


def close(found, wanted):
    np.testing.assert_allclose(found.float().cpu().numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_computes_as_half_types_do(q8, device):
    q = on(device, q8)
    known = rounded(X)
    close(q, known)
    assert q.dtype is q8 is torch.q8 and q.device.type == device and q.is_floating_point()
    for out, wanted in (
        (q + q, rounded(2 * known)),
        (q * 3, rounded(known * 3)),
        (q.exp(), rounded(np.exp(known))),
        (q.t() @ q, rounded(known.T @ known)),
        (q.sum(1), rounded(known.sum(1))),
        (torch.cat([q, q * 2]), rounded(np.concatenate([known, rounded(2 * known)]))),
        (q[1:, ::2], known[1:, ::2]),
        (q.reshape(4, 3).t(), known.reshape(4, 3).T),
    ):
        assert out.dtype is q8
        close(out, wanted)
    values, indices = q.max(1)
    assert values.dtype is q8 and indices.tolist() == [3, 3, 3]
    assert (q > 0).dtype is torch.bool and (q > 0).device is on(device).device
    assert torch.zeros(2, dtype=q8, device=device).tolist() == [0, 0]
    close(torch.tensor([1.0, 2.0], dtype=q8, device=device), rounded(np.float32([1, 2])))


def test_promotes(q8, device):
    q, x = on(device, q8), on(device)
    for out in (q + x, x - q, q @ x.t(), torch.where(q > 0, q, x), torch.cat([q, x])):
        assert out.dtype is torch.float32 and out.device is x.device
    close(q - x, rounded(X) - X)
    assert (q + torch.tensor(1.0, device=device)).dtype is q8  # 0-d: no widening
    assert (q + torch.ones(4, dtype=torch.int64, device=device)).dtype is q8
    assert torch.promote_types(q8, torch.float16) is torch.float32
    assert torch.promote_types(q8, torch.complex64) is torch.complex64
    assert torch.result_type(q, 1.5) is q8
    with registry.register_dtype("r8", **FIELDS, rounds=False,
                                 promotes=lambda other: other) as r8:  # fmt: skip
        assert (on(device, r8) + 1).dtype is torch.float32 and on(device, r8).clone().dtype is r8
        assert torch.promote_types(r8, torch.float16) is torch.float16


def test_writes(q8, device):
    q = on(device, q8)
    row, old = q[0], q.clone()
    q[0] = 5
    close(q[0], [5] * 4)
    close(row, [5] * 4)
    close(old, rounded(X))
    q.mul_(2)
    close(row, [10] * 4)
    x = on(device)
    x.copy_(q)
    close(x, q.float().cpu().numpy())
    for out in (x, torch.zeros(3, 4, dtype=q8, device=device)):
        assert torch.add(q, 1, out=out) is out
        close(out, (q + 1).float().cpu().numpy())


def test_moves_and_is_kept(q8, device, webgpu, tmp_path):
    q = on(device, q8)
    for other in (q.cpu(), q.to(webgpu), pickle.loads(pickle.dumps(q)), copy.deepcopy(q)):
        parts, same = q8.components(other), q8.components(q)
        assert parts["data"].cpu().equal(same["data"].cpu()) and other.dtype is q8
    assert pickle.loads(pickle.dumps(q)).device == q.device
    file = tmp_path / "q.safetensors"
    torch.save({"w": q, "column": q[:, 1], "step": 3}, file)
    again = torch.load(file)
    assert again["w"].equal(q) and again["w"].device == q.device and again["step"] == 3
    again["w"][0] = 0
    assert again["column"][0] == 0  # they share memory as before


def test_files_name_the_components(q8, tmp_path):
    file = tmp_path / "q.safetensors"
    torch.save({"w": on("cpu", q8)}, file)
    size = int.from_bytes(file.read_bytes()[:8], "little")
    header = json.loads(file.read_bytes()[8 : 8 + size])
    assert header["w.data"]["dtype"] == "I8" and header["w.scale"]["shape"] == []
    torch.save({"w": on("cpu", q8), "w.data": torch.ones(1)}, tmp_path / "two")
    two = torch.load(tmp_path / "two")
    assert two["w.data"].tolist() == [1] and two["w"].equal(on("cpu", q8)) and len(two) == 2
    q8.unregister()
    with pytest.raises(errors.DTypeNotFoundError, match="'q8'.*register_dtype"):
        torch.load(file)


def test_gradients_are_of_what_it_computes_in(q8, device):
    x = on(device).requires_grad_()
    (x.to(q8).float() ** 2).sum().backward()
    close(x.grad, 2 * rounded(X))  # the rounding passes gradients straight on
    q = on(device, q8).requires_grad_()
    (q * on(device)).sum().backward()
    assert q.grad.dtype is torch.float32
    close(q.grad, X)
    weight = torch.nn.Parameter(on(device, q8))
    torch.nn.functional.linear(on(device), weight).sum().backward()
    close(weight.grad, np.tile(X.sum(0), (3, 1)))
    close(torch.vmap(lambda row: row * 2)(on(device, q8)), rounded(2 * rounded(X)))


def test_hooks_and_optimizers(q8, device):
    x = on(device).requires_grad_()
    with torch.autograd.graph.save_on_cpu():
        out = (x * on(device, q8)).sum()
    out.backward()
    close(x.grad, rounded(X))
    weight = torch.nn.Parameter(on(device, q8))
    (weight * 2).sum().backward()
    torch.optim.SGD([weight], lr=0.5).step()
    assert weight.dtype is q8
    close(weight.detach(), rounded(rounded(X) - 1))


def test_prints(device):
    display = DTypeDisplayConfig(
        element=lambda number: f"<{number:.1f}>",
        facts=lambda data, scale: {"scale": f"{scale.item():.3f}"},
    )
    with registry.register_dtype("shown8", **FIELDS, display=display) as shown8:
        text = repr(on(device, shown8)[:1, :2].clone())
    place = "" if device == "cpu" else ", device='webgpu:0'"
    assert text == f"tensor([[<-2.0>, <-1.6>]]{place}, dtype=torch.shown8, scale=0.016)"


def test_kernels_see_components(q8, device):
    q, x, met = on(device, q8), on(device), []

    def linear(input, weight, bias):
        met.append(weight.data.dtype)
        return input @ weight.data.float().t() * weight.scale

    def neg(input):
        return {"data": -input.data, "scale": input.scale}

    with (
        registry.register_forward("linear", device, linear, dtypes=[q8]) as handle,
        registry.register_kernel("neg", device, neg, dtypes=[q8]),
    ):
        close(torch.nn.functional.linear(x, q), X @ rounded(X).T)
        close(-q, -rounded(X))
        close(-x, -X)
        assert met == [torch.int8]
        assert registry.find_kernel_with_predicate("neg", device, q).info.dtypes == ("q8",)
        handle.unregister()
        torch.nn.functional.linear(x, q)
        assert met == [torch.int8]
        with (
            registry.register_forward("neg", device, lambda input: 1, dtypes=[q8]),
            pytest.raises(errors.KernelSignatureMismatchError, match="returned int"),
        ):
            q.neg()
    close(-q, -rounded(X))
    with pytest.raises(errors.InvalidConfigError, match="made of components"):
        registry.register_forward("neg", "webgpu", "fn value_at(i: u32)", dtypes=[q8])


def test_names_come_and_go():
    dtype = registry.register_dtype(DTypeConfig(name="q8", **FIELDS, doc="eight bits"))
    assert torch.listCustomDTypes() == [dtype] and dtype in torch.list_dtypes()
    assert torch.get_dtype("torch.q8") is dtype and torch.has_dtype("q8")
    assert on("cpu").to("q8").dtype is dtype and on("cpu").type("torch.q8").dtype is dtype
    info = torch.get_dtype_info("q8")
    assert info.components == FIELDS["components"] and (info.itemsize, info.maximum) == (1, None)
    assert pickle.loads(pickle.dumps(dtype)) is dtype and repr(dtype) == "torch.q8"
    with pytest.raises(errors.DTypeAlreadyRegisteredError, match="override=True"):
        registry.register_dtype("q8", **FIELDS)
    second = registry.register_dtype("q8", **FIELDS, override=True)
    assert torch.q8 is second
    second.unregister()
    assert torch.q8 is dtype
    q = on("cpu", dtype)
    dtype.unregister()
    assert not torch.has_dtype("q8") and not hasattr(torch, "q8")
    close(q + 1, rounded(rounded(X) + 1))  # tensors outlive the name


def test_other_ways_into_files(tmp_path):
    halves = DTypeSerializationConfig(
        pack=lambda data, scale: {"numbers": decode(data, scale).half()},
        unpack=lambda numbers: encode(numbers.float()),
    )
    with registry.register_dtype("q8", **FIELDS, serialization=halves) as q8:
        torch.save({"w": on("cpu", q8)}, tmp_path / "q.safetensors")
        close(torch.load(tmp_path / "q.safetensors")["w"], rounded(X))
    with registry.register_dtype(
        "bits8", storage=torch.uint8, encode=lambda x: (x * 10 + 128).byte(),
        decode=lambda data: (data.float() - 128) / 10,
    ) as bits8:  # fmt: skip
        assert bits8.components(on("cpu"))["data"].dtype is torch.uint8
        close(bits8.join(data=torch.tensor([118, 138], dtype=torch.uint8)), [-1, 1])


def test_mistakes_are_seen_at_once(q8):
    class Wrong(Exception):
        pass

    def raising(x):
        raise Wrong("no")

    for text, kind, fields in (
        ("not a Python identifier", errors.InvalidConfigError, {"name": "a b"}),
        ("library's own", errors.DTypeAlreadyRegisteredError, {"name": "float32"}),
        ("wgtorch.add exists", errors.DTypeAlreadyRegisteredError, {"name": "add"}),
        ("encode is not a function", errors.InvalidConfigError, {"encode": 3}),
        ("needs components", errors.InvalidConfigError, {"components": {}}),
        ("must be built-in", errors.InvalidConfigError, {"compute": q8}),
        ("both pack and unpack", errors.InvalidConfigError,
         {"serialization": DTypeSerializationConfig(pack=dict)}),
        ("itemsize must be", errors.InvalidConfigError, {"itemsize": -1}),
        ("itemsize must be", errors.InvalidConfigError, {"itemsize": "a"}),
        ("itemsize must be", errors.InvalidConfigError, {"itemsize": math.nan}),
        ("facts must return a dict, not None", errors.InvalidConfigError,
         {"display": DTypeDisplayConfig(facts=lambda data, scale: None)}),
        ("element must return text, not 1", errors.InvalidConfigError,
         {"display": DTypeDisplayConfig(element=lambda number: 1)}),
        ("cannot encode, decode and print.*Wrong: no", errors.RegistrationFailedError,
         {"display": DTypeDisplayConfig(element=raising)}),
        ("cannot encode.*Wrong: no", errors.RegistrationFailedError, {"encode": raising}),
        ("made of data: torch.int8.*got nothing", errors.DTypeComponentsMismatchError,
         {"encode": lambda x: {}}),
        ("decode must return.*got torch.int8 of shape", errors.DTypeComponentsMismatchError,
         {"decode": lambda data, scale: data}),
    ):  # fmt: skip
        with pytest.raises(kind, match=text):
            registry.register_dtype(DTypeConfig(**{"name": "other", **FIELDS, **fields}))
    with pytest.raises(errors.InvalidConfigError, match="takes a DTypeConfig.*not None"):
        registry.register_dtype(None)
    assert torch.list_custom_dtypes() == [q8]
    q = on("cpu", q8)
    with pytest.raises(errors.DTypeComponentsMismatchError, match="got data: torch.float32"):
        q8.join(data=on("cpu"))
    for x, dtype in ((q, torch.int8), (on("cpu"), q8)):
        with pytest.raises(RuntimeError, match=f"no bytes to be seen .* use .to.{dtype}"):
            x.view(dtype)
    with pytest.raises(TypeError, match="torch.q8 is made of other tensors"):
        torch.finfo(q8)
    with pytest.raises(errors.DTypeNotFoundError, match="Did you mean 'q8'"):
        torch.get_dtype("q9")
    fields = {"encode": lambda x: x.char(), "decode": lambda data: data.int()}
    with (
        registry.register_dtype("i8", storage=torch.int8, compute=torch.int32, **fields) as i8,
        pytest.raises(RuntimeError, match="require gradients"),
    ):
        torch.zeros(2, dtype=i8, requires_grad=True)


@pytest.mark.parametrize("wrong", ["raises", "shape", "dtype", "nothing"])
def test_a_tensor_keeps_its_value_where_encode_is_wrong(device, wrong):
    """Whatever writes in place: the error comes then, and the old numbers are there."""
    results = {
        "shape": lambda x: {"data": x.char()[:1]},
        "dtype": lambda x: {"data": x},
        "nothing": lambda x: None,
        "raises": lambda x: {"data": x.nonsense},
    }
    broken = []

    def encode(x):
        return results[wrong](x) if broken else {"data": x.char()}

    fields = {"components": {"data": torch.int8}, "decode": lambda data: data.float()}
    with registry.register_dtype("frail", encode=encode, **fields) as dtype:
        q = torch.ones(3, 4, device=device).to(dtype)
        broken.append(True)
        for write in (lambda: q.mul_(2), lambda: q[0].add_(1), lambda: q.__setitem__(1, 5.0),
                      lambda: torch.add(q, 1, out=q), lambda: q.copy_(torch.zeros_like(on(device)))
                      ):  # fmt: skip
            with pytest.raises((errors.DTypeComponentsMismatchError, AttributeError, IndexError)):
                write()
            assert q.tolist() == [[1] * 4] * 3
        broken.clear()
        assert q.mul_(2).tolist() == [[2] * 4] * 3
