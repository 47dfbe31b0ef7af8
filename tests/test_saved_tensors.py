"""What is packed when an op saves, and what backward makes of what unpack returns."""

import weakref

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


@pytest.mark.parametrize("bad", [None, 3.5, "file.bin", np.ones(2, np.float32)])
def test_unpack_must_return_a_tensor(device, bad):
    x = T([1.0, 2.0], device, grad=True)
    with graph.saved_tensors_hooks(lambda t: 0, lambda _: bad):
        y = x.exp().sum()
    with pytest.raises(TypeError, match=f"(?s)Tensor.*{type(bad).__name__}"):
        y.backward()
    assert x.grad is None


def test_value_given_by_unpack_is_what_backward_uses(device):
    x = T([1.0, 2.0], device, grad=True)
    with graph.saved_tensors_hooks(lambda t: t.detach() * 2, same):
        y = x.exp()
        z = x * x
    (g1,) = torch.autograd.grad(y.sum(), x)
    (g2,) = torch.autograd.grad(z.sum(), x)
    close(g1, 2 * np.exp([1.0, 2.0]))
    close(g2, [4.0, 8.0])


def test_each_saved_tensor_keeps_its_own_pair(device):
    x = T([1.0, 2.0], device, grad=True)
    log = []

    def pair(name, factor):
        return graph.saved_tensors_hooks(
            lambda t: t.detach() * factor, lambda t: (log.append(name), t / factor)[1]
        )

    with pair("p", 2.0):
        y = x.sin()
    z = y.exp()
    with pair("q", 4.0):
        w = z.sin()
    with pair("ambient", 100.0):
        w.sum().backward()
    assert log == ["q", "p"]
    xs = np.array([1.0, 2.0])
    close(x.grad, np.cos(np.exp(np.sin(xs))) * np.exp(np.sin(xs)) * np.cos(xs), rtol=1e-4)


def test_mutation_after_a_copying_pack_is_harmless(device):
    x = T([1.0, 2.0, 3.0], device, grad=True)
    h = x * 2
    with graph.saved_tensors_hooks(lambda t: t.detach().clone(), same):
        y = (h * h).sum()
    with torch.no_grad():
        h.add_(100.0)
    y.backward()
    close(x.grad, [8.0, 16.0, 24.0])


def test_mutation_of_an_unhooked_saved_tensor_is_harmless(device):
    """PyTorch raises here; wgtorch saves the value, so backward uses it."""
    x = T([1.0, 2.0], device, grad=True)
    h = x * 2
    with graph.saved_tensors_hooks(lambda t: t.detach().clone(), same):
        h.sin()
    y = h.cos()
    with torch.no_grad():
        h.mul_(2)
    y.sum().backward()
    close(x.grad, [-2 * np.sin(2.0), -2 * np.sin(4.0)])


# --------------------------------------------------------------------------- more on packing
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


# --------------------------------------------------------------------------- more on unpacking
def test_unpack_must_give_back_the_shape_and_the_device(device):
    x = ramp((2, 3), device, grad=True)
    with graph.saved_tensors_hooks(same, lambda t: t[:1]):
        y = x.exp()
    with pytest.raises(
        RuntimeError, match=r"shape \[1, 3\] for ExpBackward0's saved 'result'.*\[2"
    ):
        y.sum().backward()
    with graph.saved_tensors_hooks(same, lambda t: torch.zeros((2, 3), device="meta")):
        y = x.exp()
    with pytest.raises(RuntimeError, match="on meta for ExpBackward0's saved 'result'"):
        y.sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.int32])
def test_another_dtype_is_cast_back(device, dtype):
    x = T([1.0, 2.0], device, grad=True)
    with graph.saved_tensors_hooks(lambda t: t.to(dtype), same):
        y = x * x
    y.sum().backward()
    assert x.grad.dtype is torch.float32
    close(x.grad, [2.0, 4.0])


def test_each_backward_unpacks_again(device):
    x = T([1.0, 2.0], device, grad=True)
    r = Recorder()
    with r.hooks():
        y = x.exp().sum()
    for _ in range(3):
        torch.autograd.grad(y, x, retain_graph=True)
    assert r.unpacked == [0, 0, 0] and len(r.packed) == 1


def test_a_chain_unpacks_in_reverse(device):
    x = T([0.5, 0.25], device, grad=True)
    r = Recorder()
    with r.hooks():
        y = x.exp().tanh().sigmoid().exp().sum()
    y.backward()
    assert r.unpacked == [3, 2, 1, 0]
    assert r.live_at_unpack == [4, 3, 2, 1] and len(r.live) == 0


def test_the_past_is_attached_again_whatever_unpack_returns(device):
    x = T([1.0, 2.0], device, grad=True)
    stray = T([9.0], device, grad=True)
    with graph.saved_tensors_hooks(N, lambda array: T(array.tolist(), device) + stray * 0.0):
        y = (x * x * x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x)
    close(gg, [6.0, 12.0])
    assert stray.grad is None


@pytest.mark.parametrize(
    ("during_grad", "during_second", "want"),
    [
        (False, False, 2.0),
        (True, False, 4.0),
        (True, True, 8.0),
    ],
)
def test_double_backward_packs_with_the_pair_of_its_time(device, during_grad, during_second, want):
    """d2(a**2): forward packs a doubled; what grad records packs under its own pair."""
    a = T(1.0, device, grad=True)
    double = graph.saved_tensors_hooks(lambda t: t.detach() * 2.0, same)
    with double:
        y = a * a * 0.5
    with double if during_grad else torch.enable_grad():
        (g,) = torch.autograd.grad(y, a, create_graph=True)
    close(g, 2.0)
    with double if during_second else torch.enable_grad():
        (gg,) = torch.autograd.grad(g * g * 0.25, a)
    close(gg, want * 0.5)


# --------------------------------------------------------------------------- more on mutation
@pytest.mark.parametrize(
    "pack",
    [same, lambda t: t.detach(), lambda t: t[:], lambda t: t.detach().view(-1), lambda t: (t, 1)],
    ids=["itself", "detached", "view", "detached view", "tuple"],
)
def test_a_pack_that_keeps_memory_still_keeps_the_value(device, pack):
    x = T([1.0, 2.0], device, grad=True)
    h = x * 1.0
    with graph.saved_tensors_hooks(pack, lambda p: p[0] if type(p) is tuple else p):
        y = h * h
    with torch.no_grad():
        h.mul_(100.0)
    y.sum().backward()
    close(x.grad, [2.0, 4.0])


@pytest.mark.parametrize("pack", [lambda t: [t], lambda t: {"view": t[:]}], ids=["list", "dict"])
def test_a_container_with_a_written_input_is_an_error(device, pack):
    x = T([1.0, 2.0], device, grad=True)
    h = x * 1.0
    take = lambda c: next(iter(c.values() if isinstance(c, dict) else c))  # noqa: E731
    with graph.saved_tensors_hooks(pack, take):
        y = h.sin()
    with torch.no_grad():
        h.mul_(100.0)
    with pytest.raises(RuntimeError, match="modified by an inplace.*SinBackward0.*version 1; exp"):
        y.sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("pack", [same, lambda t: [t], lambda t: (t, t.shape)])
def test_a_written_output_keeps_its_value_in_any_container(device, pack):
    x = T([1.0, 2.0], device, grad=True)
    with graph.saved_tensors_hooks(pack, lambda c: c[0] if isinstance(c, (list, tuple)) else c):
        y = x.exp()
    z = y.sum()
    with torch.no_grad():
        y.mul_(100.0)
    z.backward()
    close(x.grad, np.exp([1.0, 2.0]))


def test_pack_that_returns_something_else_does_not_keep_the_value(device):
    x = T([1.0, 2.0], device, grad=True)
    h = x * 1.0
    with graph.saved_tensors_hooks(lambda t: N(t).copy(), lambda a: T(a.tolist(), device)):
        y = h.sin()
    storage, value = weakref.ref(h.storage), weakref.ref(h.storage.value)
    del h
    assert storage() is None and value() is None
    y.sum().backward()
    close(x.grad, np.cos([1.0, 2.0]))


def test_an_optimizer_step_before_a_retained_second_backward(device):
    w = T([1.0, 2.0], device, grad=True)
    with graph.saved_tensors_hooks(same, same):
        y = (w * w).sum()
    y.backward(retain_graph=True)
    with torch.no_grad():
        w.sub_(w.grad)
    w.grad = None
    y.backward()
    close(w.grad, [2.0, 4.0])


def test_detaching_in_place_after_saving(device):
    for hooked in (False, True):
        x = T([1.0, 2.0], device, grad=True)
        h = x * 1.0
        pair = graph.saved_tensors_hooks(same, same) if hooked else torch.enable_grad()
        with pair:
            y = h * h
        h.detach_()
        y.sum().backward()
        close(x.grad, [2.0, 4.0])


def test_what_unpack_returns_has_a_version_of_its_own(device):
    x = T([1.0, 2.0], device, grad=True)

    def unpack(t):
        t.mul_(2.0)
        return t

    with graph.saved_tensors_hooks(lambda t: t.detach().clone(), unpack):
        y = x.exp()
    version = y._version
    y.sum().backward()
    assert y._version == version
    close(x.grad, 2 * np.exp([1.0, 2.0]))
