"""Verified hooks: 17 wrong pairs are found where they pack, 21 right ones are left in peace."""

import traceback

import numpy as np
import pytest
from hook_pairs import FAULTS, RIGHT, Wrong, to_disk, used
from recorder import T, close, graph, same

import wgtorch as torch

hooks = graph.saved_tensors_hooks


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_pair_is_found_where_it_packs(device, fault):
    pack, unpack, *more = getattr(Wrong, fault)({})
    with pytest.raises((RuntimeError, TypeError, KeyError)) as found:
        used(hooks(pack, unpack, check="values", **(more[0] if more else {})), device)
    said = "".join(traceback.format_exception_only(found.value))
    assert "'s saved '" in said
    assert isinstance(found.value, graph.HookCheckError) or "shape" in said or "Tensor" in said


def test_a_tensor_left_on_another_device_is_found(webgpu):
    with pytest.raises(RuntimeError, match=r"tensor on cpu for exp's saved 'result' of shape"):
        used(hooks(lambda t: t.cpu(), same, check="values"), webgpu)


def test_an_index_that_wraps_is_found(device):
    x = T(np.ones((300, 2)), device, grad=True)
    index = torch.tensor([299, 1], device=device)
    pair = hooks(lambda t: t.to(torch.uint8), lambda t: t.to(torch.int64), check="values")
    with (
        pytest.raises(graph.HookCheckError, match=r"element \[0\] came back as 43 instead of 299"),
        pair,
    ):
        x.index_select(0, index)


def test_a_constant_tensor_divided_by_its_range_is_found(device):
    """The trap in the example of torch.js: 0 / 0 where a tensor has no range."""

    def pack(t):
        low, high = t.min(), t.max()
        scale = (high - low) / 255
        return ((t - low) / scale).round(), low, scale

    x = T([2.0, 2.0, 2.0], device, grad=True)
    pair = hooks(pack, lambda p: p[0] * p[2] + p[1], check="values", atol=0.01)
    with pytest.raises(graph.HookCheckError, match="came back as nan instead of 2.0"), pair:
        x.sin()


def test_the_message_names_op_slot_shape_and_worst_element(device):
    x = T([[1.0, 2.0], [3.0, 4.0]], device, grad=True)

    def pack(t):
        t = t.detach().clone()
        t[0, 1] += 0.25
        t[1, 0] -= 0.5
        return t

    with pytest.raises(graph.HookCheckError) as found, hooks(pack, same, check="values"):
        x.sin()
    assert str(found.value) == (
        f"unpack(pack(t)) is not t for sin's saved 'input' of shape [2, 2], torch.float32 on"
        f" {x.device}: element [1, 0] came back as 2.5 instead of 3.0 (2 of 4 differ)"
    )


@pytest.mark.parametrize("name", [*RIGHT, "on disk"])
def test_a_right_pair_is_left_in_peace(device, name, tmp_path):
    pack, unpack, *more = to_disk(tmp_path) if name == "on disk" else RIGHT[name]
    pair = hooks(pack, unpack, check="values", **(more[0] if more else {}))
    loss = used(pair, device)
    loss.backward(retain_graph=True)
    loss.backward()


def test_pairs_within_pairs_are_left_in_peace(device):
    def in_a_dict(**options):
        return hooks(lambda t: {"a": t}, lambda packed: packed["a"], **options)

    pair = in_a_dict(check="values")
    for _ in range(3):
        pair = graph.compose_hooks(pair, in_a_dict())
    used(pair, device).backward()


def test_there_are_enough_of_them():
    assert len(FAULTS) >= 14 and len(RIGHT) >= 20


@pytest.mark.parametrize("wrong", [None, 2, 3])
def test_every_sample_of_a_vmap_is_looked_at(device, wrong):
    """As are the numbers inside of a derivative; `wrong` is the sample that comes back changed."""
    x = T(np.arange(12).reshape(4, 3).tolist(), device)
    lost = torch.zeros(4, 1, device=device)
    if wrong is not None:
        lost[wrong] = 0.5

    def square(x, lost):
        pack = lambda t: t.detach() + lost if t.ndim else t  # noqa: E731
        with hooks(pack, same, check="values"):
            return (x * x).sum()

    def gradients():
        return torch.vmap(torch.func.grad(square))(x, lost)

    if wrong is None:
        close(gradients(), 2 * np.arange(12).reshape(4, 3))
        return
    said = rf"of shape \[3\], .*: element \[{wrong}, \d\] came back as .* \(3 of 12 differ\)"
    with pytest.raises(graph.HookCheckError, match=said):
        gradients()
    with pytest.raises(graph.HookCheckError, match="element"):
        torch.func.hessian(square)(x[wrong], lost[wrong])


@pytest.mark.parametrize("check", ["off", "metadata"])
@pytest.mark.parametrize("dtype", ["float16", "int32"])
def test_another_dtype_never_reaches_a_kernel(device, check, dtype):
    """It is cast to what was saved, on both devices; check="strict" refuses it."""
    x = T([[1.0, 2.0, 3.0], [4.0, 0.0, -1.0]], device, grad=True)
    target = torch.tensor([2, 0], device=device)
    f = torch.nn.functional

    def both():
        return f.cross_entropy(x * 1, target) + (x @ x.mT).sum() + x.softmax(-1)[0, 0]

    with hooks(lambda t: t.to(getattr(torch, dtype)) if t.is_floating_point() else t, same,
               check=check):  # fmt: skip
        loss = both()
    loss.backward()
    assert x.grad.dtype is torch.float32 and np.isfinite(x.grad.cpu().numpy()).all()
    with hooks(lambda t: t.to(getattr(torch, dtype)), same, check="strict"):
        loss = both()
    with pytest.raises(RuntimeError, match=f"tensor of torch.{dtype} for"):
        loss.backward()


def test_nan_and_infinity_are_equal_to_themselves(device):
    x = T([float("nan"), float("inf"), -float("inf"), 0.0], device, grad=True)
    with hooks(lambda t: t.detach().clone(), same, check="values"):
        x.sin()
    zeros = hooks(lambda t: t.nan_to_num(0.0), same, check="values", atol=1e30)
    with (
        pytest.raises(graph.HookCheckError, match=r"element \[0\] came back as 0.0 instead"),
        zeros,
    ):
        x.sin()


def test_strict_refuses_another_dtype_at_backward(device):
    x = T([1.0, 2.0], device, grad=True)
    with hooks(lambda t: t.half(), same, check="strict"):
        y = x.exp().sum()
    with pytest.raises(RuntimeError, match=r"tensor of torch.float16 for ExpBackward0's saved"):
        y.backward()


def test_off_trusts_the_pair(device):
    x = T([1.0, 2.0], device, grad=True)
    with hooks(same, lambda t: t[:1], check="off"):
        y = x.exp()
    (g,) = torch.autograd.grad(y.sum(), x)
    close(g, np.exp([1.0, 1.0]))
    with hooks(same, lambda t: 3, check="off"):
        y = x.exp()
    with pytest.raises(TypeError, match="expected to be a Tensor but got result of type int"):
        y.sum().backward()


def test_checks_have_names():
    with pytest.raises(
        ValueError, match="check is one of off, metadata, strict, values; got 'all'"
    ):
        hooks(same, same, check="all")


def test_notes_name_op_and_slot(device):
    x = T([1.0, 2.0], device, grad=True)

    def fails(_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as found, hooks(fails, same):
        x.pow(2.5)
    assert found.value.__notes__ == ["in the pack hook for pow's saved 'input'"]
    with hooks(same, fails):
        y = x.exp().sum()
    with pytest.raises(KeyError) as found:
        y.backward()
    assert found.value.__notes__ == ["in the unpack hook for exp's saved 'result'"]


def test_notes_of_a_function(device):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, x * 2)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return ctx.saved_tensors[1] * grad

    x = T([1.0], device, grad=True)
    with hooks(same, lambda t: 1 / 0):
        y = Twice.apply(x)
    with pytest.raises(ZeroDivisionError) as found:
        y.sum().backward()
    assert found.value.__notes__ == [
        "in the unpack hook for TwiceBackward's saved 'saved_tensors[0]'"
    ]
