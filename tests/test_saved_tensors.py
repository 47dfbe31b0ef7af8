"""What is packed when an op saves, and how."""

import numpy as np
import pytest
from recorder import N, Recorder, T, close, graph, ramp, same

import wgtorch as torch


def test_same_tensor_saved_twice_is_packed_and_unpacked_independently(device):
    a = T([1.0, 2.0, 3.0], device, grad=True)
    r = Recorder()
    with r.hooks():
        y = a * a
    assert len(r.packed) == 2 and len(r.live) == 2 and r.unpacked == []
    y.sum().backward()
    assert sorted(r.unpacked) == [0, 1]
    close(a.grad, [2.0, 4.0, 6.0])


def test_only_the_operand_needed_for_a_gradient_is_packed(device):
    x = T([1.0, 2.0], device, grad=True)
    const = T([5.0, 7.0, 9.0], device)[1:]
    r = Recorder()
    with r.hooks():
        y = x * const
        z = const * const
    assert len(r.packed) == 1
    assert y.requires_grad and not z.requires_grad
    y.sum().backward()
    close(x.grad, [7.0, 9.0])


def test_ops_that_need_no_saved_tensor_do_not_pack(device):
    x = ramp((3, 4), device, grad=True)
    z = ramp((3, 4), device, grad=True)
    r = Recorder()
    with r.hooks():
        out = torch.cat([(x + z) - 1.0, x.reshape(4, 3).transpose(0, 1)], 0).sum() + x.mean()
    assert r.packed == []
    out.backward()
    close(x.grad, np.full((3, 4), 2.0 + 1.0 / 12))


def test_python_scalars_are_never_packed(device):
    x = T([2.0, 3.0], device, grad=True)

    def boom(_):
        raise AssertionError("hook must not run for a wrapped number")

    with graph.saved_tensors_hooks(boom, boom):
        y = ((x * 3) / 2 + 1).sum()
    y.backward()
    close(x.grad, [1.5, 1.5])


def test_leaf_parameters_reach_pack_by_identity(device):
    p = torch.nn.Parameter(T([1.0, 2.0], device))
    x = T([3.0, 4.0], device, grad=True)
    hits = []

    def pack(t):
        hits.append(t is p)
        return ("kept", t) if t is p else ("copied", t.detach().clone())

    with graph.saved_tensors_hooks(pack, lambda pair: pair[1]):
        y = (p * x).sum()
    assert sorted(hits) == [False, True]
    y.backward()
    close(p.grad, [3.0, 4.0])
    close(x.grad, [1.0, 2.0])


def test_hooks_run_with_grad_mode_off_and_their_ops_are_not_recorded(device):
    x = T([0.5, 1.5], device, grad=True)
    scale = T([10.0, 10.0], device, grad=True)
    modes = []

    def pack(t):
        modes.append(torch.is_grad_enabled())
        return t * scale

    def unpack(t):
        modes.append(torch.is_grad_enabled())
        return t / scale

    with graph.saved_tensors_hooks(pack, unpack):
        y = x * x
    y.sum().backward()
    assert modes == [False] * 4
    assert scale.grad is None
    close(x.grad, [1.0, 3.0])


def test_pack_may_not_modify_its_input(device):
    x = T([1.0, 2.0], device, grad=True)
    y0 = x * 2

    def pack(t):
        t.mul_(3)
        return t

    refused = pytest.raises(RuntimeError, match="(?i)pack hook.*in.?place")
    with refused, graph.saved_tensors_hooks(pack, same):
        y0.exp()
    z = y0.detach() * 1  # the stack is clean again
    assert z.shape == y0.shape
    r = Recorder()
    (x * x).sum().backward()
    assert r.packed == []


@pytest.mark.parametrize(
    ("op", "count"),
    [
        (lambda x: x.exp(), 1), (lambda x: x.log(), 1), (lambda x: x.sin(), 1),
        (lambda x: x.tanh(), 1), (lambda x: x.sigmoid(), 1), (lambda x: x.relu(), 1),
        (lambda x: x.sqrt(), 1), (lambda x: x.abs(), 1), (lambda x: x**2, 1),
        (lambda x: x.softmax(-1), 1), (lambda x: torch.where(x > 0, x, x * 2.0), 1),
        (lambda x: x * x, 2), (lambda x: x / x, 2), (lambda x: x @ x, 2), (lambda x: x - x, 0),
        (lambda x: x.mean(), 0), (lambda x: x.t(), 0), (lambda x: torch.stack([x, x]), 0),
        (lambda x: x.sort(-1).values, 1), (lambda x: x.var(), 1),
        (lambda x: x.masked_fill(x > 0, 0.0), 1),
        (lambda x: x.index_select(0, torch.tensor([0, 1], device=x.device)), 1),
    ],
)  # fmt: skip
def test_how_often_ops_pack(device, op, count):
    x = T([[0.5, 1.5], [2.5, 3.5]], device, grad=True)
    r = Recorder()
    with r.hooks():
        out = op(x)
    assert len(r.packed) == count
    assert r.unpacked == []
    (g,) = torch.autograd.grad(out.sum(), x)
    assert g.shape == x.shape


def test_masks_and_indices_keep_their_dtype(device):
    x = ramp((3, 4), device, grad=True)
    mask = x.detach() > 0
    index = T([2, 0], device, dtype=torch.int64)
    r = Recorder()
    with r.hooks():
        y = x.masked_fill(mask, 0.0).index_select(0, index)
    assert [dtype for _, _, dtype in r.packed] == [torch.bool, torch.int64]
    y.sum().backward()
    close(x.grad, np.where(N(mask), 0.0, 1.0) * np.array([[1.0], [0.0], [1.0]]))


def test_nothing_is_packed_without_recording(device):
    x = T([1.0, 2.0], device, grad=True)
    r = Recorder()
    with r.hooks():
        with torch.no_grad():
            x.exp()
        with torch.inference_mode():
            x.exp()
        x.detach().exp()
    assert r.packed == []


def test_an_output_is_packed_as_a_detached_alias(device):
    x = T([1.0, 2.0], device, grad=True)
    given = []
    with graph.saved_tensors_hooks(lambda t: given.append(t) or t, same):
        h = x * 2
        y = h.exp()
        h * h
    assert given[0] is not y and not given[0].requires_grad and given[0].grad_fn is None
    assert given[0].shape == y.shape and given[0]._version == y._version
    assert given[1] is h and given[2] is h


def test_none_is_a_packed_value_like_any_other(device):
    x = T([1.0, 2.0], device, grad=True)
    calls = []
    with graph.saved_tensors_hooks(
        lambda t: None, lambda none: calls.append(none) or T([5.0, 5.0], device)
    ):
        y = x.exp()
    y.sum().backward()
    assert calls == [None]
    close(x.grad, [5.0, 5.0])


def test_hooks_are_inert_while_a_hook_runs(device):
    x = T([1.0, 2.0], device, grad=True)
    depth = []

    def pack(t):
        depth.append(len(depth))
        with torch.enable_grad():
            (t.detach().requires_grad_(True) * 2.0).exp()
        with graph.saved_tensors_hooks(pack, same), torch.enable_grad():
            t.detach().requires_grad_(True).exp()
        return t

    with graph.saved_tensors_hooks(pack, same):
        x.exp()
        assert len(depth) == 1
        x.exp()
    assert len(depth) == 2


def test_an_error_in_pack_comes_out_of_the_op(device):
    x = T([1.0, 2.0], device, grad=True)
    outer, packed = Recorder(), Recorder()

    def pack(t):
        if len(packed.packed) == 1:
            raise KeyError("full")
        return packed.pack(t)

    with outer.hooks():
        with graph.saved_tensors_hooks(pack, packed.unpack), pytest.raises(KeyError, match="full"):
            x * x
        assert len(packed.live) == 0, "what was packed before goes with the op"
        x.exp()
    assert len(outer.packed) == 1 and torch.is_grad_enabled()
    with graph.saved_tensors_hooks(lambda: None, same), pytest.raises(TypeError, match="argument"):
        x.exp()
