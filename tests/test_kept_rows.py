"""Rows kept in registers: as many steps a thread as make kernels differ, against float64."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.backends.webgpu import kept_rows, library, rows
from wgtorch.backends.webgpu.backend import WebGPU
from wgtorch.backends.webgpu.structured import Launcher
from wgtorch.device import Device
from wgtorch.op import REGISTRY, Rowwise

RNG = np.random.default_rng(0)
# One step and several, all threads with as many steps or not, rows that share a workgroup.
SHAPES = [(3, 64), (5, 1020), (2, 2052), (2, 8192), (3, 4, 36)]
DTYPES = [(torch.float32, 2e-6), (torch.float16, 2e-3), (torch.bfloat16, 2e-2)]


@cache
def discrete() -> WebGPU:
    """A backend that takes its adapter for a discrete GPU."""
    home = WebGPU(Device("webgpu"))
    home.gpu.traits = replace(home.gpu.traits, is_software=False, kind="discrete")
    return home


@pytest.fixture(params=[8, 1 << 17], ids=["long", "short"])
def kept(webgpu, request, monkeypatch, traits):
    """A device that keeps rows, a few long steps of them or, as if rows were few, short ones."""
    if traits.compiles_slowly:
        pytest.skip("it keeps no rows")
    home = discrete()
    launcher = Launcher(home)
    monkeypatch.setattr(kept_rows, "WANTED", request.param)
    monkeypatch.setattr(Device(webgpu), "backend", home)
    monkeypatch.setattr(home, "structured", launcher.structured)
    yield webgpu
    files = {file for key in launcher.rows.kernels for file in key if str(file).startswith("rows")}
    assert files == {kept_rows.FILE}


def tensors(device, dtype, *arrays):
    """On the device, and what they became there as float64."""
    made = [torch.tensor(a.astype(np.float32), device=device).to(dtype).clone() for a in arrays]
    return made, [m.float().cpu().numpy().astype(np.float64) for m in made]


def softmax(array):
    powers = np.exp(array - array.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def near(got, want, tolerance):
    error = np.abs(got.detach().float().cpu().numpy() - want).max()
    assert error <= tolerance * max(1, np.abs(want).max())


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES, ids=lambda d: getattr(d, "name", ""))
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(kept, shape, dtype, tolerance):
    (x, g), (array, grad) = tensors(kept, dtype, *RNG.standard_normal((2, *shape)) * 3)
    x.requires_grad_(True)
    want = softmax(array)
    out = x.softmax(-1)
    near(out, want, tolerance)
    out.backward(g)
    near(x.grad, want * (grad - (grad * want).sum(-1, keepdims=True)), 4 * tolerance)
    x.grad = None
    out = x.log_softmax(-1)
    near(out, np.log(want), tolerance)
    out.backward(g)
    near(x.grad, grad - want * grad.sum(-1, keepdims=True), 16 * tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES, ids=lambda d: getattr(d, "name", ""))
@pytest.mark.parametrize("shape", SHAPES)
def test_layer_norm(kept, shape, dtype, tolerance):
    (x, g), (array, grad) = tensors(kept, dtype, *RNG.standard_normal((2, *shape)) * 3 + 1)
    (w, b), (weight, bias) = tensors(kept, dtype, *RNG.standard_normal((2, shape[-1])))
    x.requires_grad_(True)
    scale = 1 / np.sqrt(array.var(-1, keepdims=True) + 1e-5)
    normal = (array - array.mean(-1, keepdims=True)) * scale
    out = torch.layer_norm(x, shape[-1:], w, b)
    near(out, normal * weight + bias, 2 * tolerance)
    out.backward(g)
    along = grad * weight
    mean = along.mean(-1, keepdims=True) + normal * (along * normal).mean(-1, keepdims=True)
    near(x.grad, (along - mean) * scale, 4 * tolerance)


def test_nan_and_infinity_stay_in_their_row(kept):
    array = RNG.standard_normal((4, 512)).astype(np.float32)
    array[0, 300], array[1, 5], array[2, 7] = np.nan, np.inf, -np.inf
    got = torch.tensor(array, device=kept).softmax(-1).cpu().numpy()
    assert np.isnan(got[:2]).all()
    np.testing.assert_allclose(got[2:], softmax(array[2:].astype(np.float64)), atol=1e-7)
    assert got[2, 7] == 0


def test_more_rows_than_groups(kept, monkeypatch):
    """Groups take rows in turns: as many as one dispatch may have do not matter."""
    monkeypatch.setattr(kept_rows, "MAX_GROUPS", 3)
    array = RNG.standard_normal((101, 64)).astype(np.float32)
    got = torch.tensor(array, device=kept).softmax(-1)
    near(got, softmax(array.astype(np.float64)), 1e-6)


def test_what_does_not_fit_is_read_again(webgpu, traits):
    """The rows of other layouts, those too long, and those of software."""
    hard = replace(traits, is_software=False, kind="discrete", name="a GPU")
    body = library.shader("softmax.wgsl")

    def file(shape, dim=1, traits=hard, body=body):
        layouts = [rows.Layout.contiguous(shape)] * 2
        way = rows.walk(shape, (dim,), layouts, False, 1)
        return rows.shared(body, ["input"], way, traits)[1].file

    assert file((8, 16384)) == kept_rows.FILE
    assert file((8, 16388)) == rows.GROUPS
    assert file((8, 16384), traits=replace(hard, kind="integrated")) == rows.GROUPS
    assert file((8, 8192), traits=replace(hard, kind="integrated")) == kept_rows.FILE
    assert file((8, 1026)) == rows.GROUPS
    assert file((1024, 1024), 0) == rows.GROUPS
    assert file((8, 1024), traits=replace(hard, is_software=True)) == rows.THREADS
    assert file((8, 1024), traits=replace(hard, name="SwiftShader")) == rows.GROUPS
    own_loop = body.replace("k++) { peak", "k += 1u) { peak")
    assert file((8, 1024), body=own_loop) == rows.GROUPS


@pytest.mark.parametrize("name", [n for n, op in REGISTRY.items() if isinstance(op, Rowwise)])
def test_the_loops_of_all_row_ops_are_known(name):
    body = library.shader(REGISTRY[name].shader)
    written = kept_rows.written_out(body, 3, False)
    assert written is not None
    assert written.count("if 2u < count {") == len(kept_rows.STEPS.findall(body))
