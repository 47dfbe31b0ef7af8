"""Slots as objects, Functions that save, and tools that look at both."""

import numpy as np
import pytest
from recorder import Recorder, T, close, graph, same

import wgtorch as torch


def test_register_hooks_rules(device):
    x = T([1.0, 2.0], device, grad=True)
    c = T([3.0, 4.0], device)
    r = Recorder()

    y = x * x
    raw = y.grad_fn._raw_saved_self
    raw.register_hooks(r.pack, r.unpack)
    assert len(r.packed) == 1 and r.unpacked == []  # packs at once, unpacks lazily
    with pytest.raises(RuntimeError, match="already been set"):
        raw.register_hooks(r.pack, r.unpack)
    with pytest.raises(TypeError):
        y.grad_fn._raw_saved_other.register_hooks(1, 2)
    y.sum().backward()
    assert len(r.unpacked) == 1
    close(x.grad, [2.0, 4.0])
    with pytest.raises(RuntimeError, match="(?i)freed"):
        raw.register_hooks(r.pack, r.unpack)

    z = x * c  # nothing saved for self
    assert z.grad_fn._saved_self is None
    with pytest.raises(RuntimeError, match="None is forbidden"):
        z.grad_fn._raw_saved_self.register_hooks(r.pack, r.unpack)

    with r.hooks():
        w = x * x
    with pytest.raises(RuntimeError, match="already been set"):
        w.grad_fn._raw_saved_self.register_hooks(r.pack, r.unpack)


def test_saved_attributes_expose_the_graph_correctly(device):
    x = T([1.0, 2.0], device, grad=True)
    h = x * 2
    y = h * h
    e = h.exp()
    assert y.grad_fn._saved_self is h and (x * x).grad_fn._saved_self is x
    assert e.grad_fn._saved_result is not e
    assert e.grad_fn._saved_result.grad_fn is e.grad_fn
    r = Recorder()
    with r.hooks():
        y2, e2 = h * h, h.exp()
    assert y2.grad_fn._saved_self.grad_fn is h.grad_fn
    assert e2.grad_fn._saved_result.grad_fn is e2.grad_fn
    assert e2.grad_fn._saved_result.requires_grad
    with r.hooks():
        leaf = x * x
    assert leaf.grad_fn._saved_self.requires_grad and leaf.grad_fn._saved_self.is_leaf


def test_setup_context_saves_input_and_output_through_hooks(device):
    r = Recorder()

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(x, scale):
            return (x * scale).exp()

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, scale = inputs
            ctx.scale = scale
            ctx.save_for_backward(x, output)

        @staticmethod
        def backward(ctx, g):
            assert ctx.needs_input_grad == (True, False)
            x, out = ctx.saved_tensors
            assert tuple(x.shape) == tuple(out.shape)
            return g * out * ctx.scale, None

    x = T([0.1, 0.2], device, grad=True)
    with r.hooks():
        y = Exp.apply(x, 3.0)
    assert len(r.packed) == 2
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    close(g, 3 * np.exp(3 * np.array([0.1, 0.2])))
    (gg,) = torch.autograd.grad(g.sum(), x)
    close(gg, 9 * np.exp(3 * np.array([0.1, 0.2])), rtol=1e-4)


def test_save_for_backward_refuses_non_tensors(device):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, 3)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(TypeError):
        F.apply(T([1.0], device, True))


def test_once_differentiable_refuses_the_second_derivative(device):
    class Sq(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = T([3.0], device, grad=True)
    v = T([1.0], device, grad=True)
    with graph.saved_tensors_hooks(lambda t: t.detach().clone(), same):
        y = Sq.apply(x)
    (g,) = torch.autograd.grad(y, x, grad_outputs=v, create_graph=True)
    close(g, [6.0])
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()


def test_allow_mutation_is_also_truthy(device):
    """torch.js answers True, PyTorch gives a context manager: one object serves both."""
    assert bool(graph.allow_mutation_on_saved_tensors()) is True


def test_anomaly_mode_names_the_op_fed_nan_by_unpack(device):
    x = T([1.0, 2.0], device, grad=True)
    with pytest.warns(UserWarning), torch.autograd.detect_anomaly():
        with graph.saved_tensors_hooks(lambda t: None, lambda _: T([float("nan")] * 2, device)):
            y = x.exp()
        with pytest.raises(RuntimeError, match="Exp.*nan"):
            y.sum().backward()


def test_saved_tensor_objects_are_not_built_by_hand():
    with pytest.raises(RuntimeError, match="forbidden"):
        torch.autograd.SavedTensor()


def test_hooks_of_one_slot(device):
    x = T([1.0, 2.0], device, grad=True)
    h = x * 1.0
    y = h * h
    given = []
    y.grad_fn._raw_saved_self.register_hooks(
        lambda t: given.append(t) or t.detach() * 2.0, lambda t: t
    )
    assert given[0] is h
    y.sum().backward()
    close(x.grad, [3.0, 6.0])  # one operand doubled, the other not


def test_hooks_of_a_result_see_a_detached_alias(device):
    x = T([1.0, 2.0], device, grad=True)
    y = x.exp()
    given = []
    raw = y.grad_fn._raw_saved_result
    raw.register_hooks(lambda t: given.append(t) or t, same)
    assert given[0] is not y and not given[0].requires_grad
    with torch.no_grad():
        y.mul_(7.0)
    close(raw.unpack(), np.exp([1.0, 2.0]))
    assert raw.unpack().grad_fn is y.grad_fn


def test_a_slot_keeps_the_old_value_when_its_tensor_is_written(device):
    x = T([1.0, 2.0], device, grad=True)
    h = x * 1.0
    past = h.grad_fn
    y = h * h
    h.mul_(5.0)
    saved = y.grad_fn._saved_self
    assert saved is not h and saved.grad_fn is past
    close(saved, [1.0, 2.0])
    e = x.exp()
    assert e.grad_fn._saved_result.data_ptr() == e.data_ptr()
    assert e.grad_fn._saved_result._version == e._version


def test_each_reading_unpacks(device):
    x = T([1.0, 2.0], device, grad=True)
    r = Recorder()
    with r.hooks():
        y = x.exp()
    for count in (1, 2):
        close(y.grad_fn._saved_result, np.exp([1.0, 2.0]))
        assert len(r.unpacked) == count
