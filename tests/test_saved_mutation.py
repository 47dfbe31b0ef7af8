"""Writes between forward and backward: backward uses what was saved, or says that it cannot."""

import weakref

import numpy as np
import pytest
from recorder import N, T, close, graph, same

import wgtorch as torch


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
