"""Function: forwards and backwards of the user's own."""

import functools
import gc
import weakref

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.autograd.function import once_differentiable


def leaf(data, device="cpu"):
    return torch.tensor(data, dtype=torch.float32, device=device, requires_grad=True)


def close(tensor, want, rtol=1e-5):
    np.testing.assert_allclose(tensor.detach().cpu().numpy(), want, rtol=rtol, atol=1e-6)


class Scale(torch.autograd.Function):
    """x * factor, with a number among its arguments."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x * x * 3.0


def function(**members):
    """A Function with these static methods."""
    static = {name: staticmethod(member) for name, member in members.items()}
    return type("Made", (torch.autograd.Function,), static)


def test_it_is_called_by_apply(device):
    x = leaf([1.0, 2.0], device)
    y = Scale.apply(x, 3.0)
    assert y.grad_fn.name() == "ScaleBackward" and isinstance(y.grad_fn, torch.autograd.graph.Node)
    assert y.grad_fn.needs_input_grad == (True, False) and y.grad_fn.factor == 3.0
    y.sum().backward()
    close(x.grad, [3.0, 3.0])
    with torch.no_grad():
        assert Scale.apply(x, 3.0).grad_fn is None
    assert not Scale.apply(x.detach(), 3.0).requires_grad


def test_second_derivative(device):
    x = leaf([1.0, 2.0], device)
    (g,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x)
    close(g, [3.0, 12.0])
    close(gg, [6.0, 12.0])


def test_saved_tensors_are_what_was_saved(device):
    x, c = leaf([1.0, 2.0], device), torch.tensor([3.0], device=device)
    seen = []

    def forward(ctx, x, c):
        out = x.exp()
        middle = x * 7.0
        ctx.save_for_backward(x, c)
        ctx.save_for_backward(x, None, c, out, middle)  # the last call counts
        return out

    def backward(ctx, grad):
        seen.append(ctx.saved_tensors)
        return grad, None

    y = function(forward=forward, backward=backward).apply(x, c)
    node = y.grad_fn
    saved = node.saved_tensors
    assert saved[0] is x and saved[1] is None and saved[2] is c
    assert saved[3].grad_fn is node and saved[3] is not y and not saved[4].requires_grad
    raw = node._raw_saved_tensors
    assert len(raw) == 5 and raw[1].unpack() is None
    y.sum().backward()
    close(seen[0][3], np.exp([1.0, 2.0]))
    with pytest.raises(RuntimeError, match="already been freed"):
        _ = node.saved_tensors
    with pytest.raises(RuntimeError, match="already been freed"):
        raw[0].unpack()


def test_writes_after_saving_change_nothing(device):
    x = leaf([1.0, 2.0], device)
    h = x * 1.0
    y = Cube.apply(h)
    h.mul_(100.0)
    y.sum().backward()
    close(x.grad, [3.0, 12.0])


def test_setup_context_stands_apart(device):
    def forward(x, factor=2.0):
        return x * factor

    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    def backward(ctx, grad):
        return grad * ctx.factor, None

    made = function(forward=forward, setup_context=setup_context, backward=backward)
    x = leaf([1.0], device)
    (made.apply(x) + made.apply(x, factor=5.0)).sum().backward()
    close(x.grad, [7.0])


def test_several_outputs_and_missing_gradients(device):
    seen = []

    def doubled_and_tripled(materialize, ctx, x):
        ctx.set_materialize_grads(materialize)
        return x * 2.0, x * 3.0, 42

    def backward(ctx, a, b, number):
        seen.append((a is None, b is None, number))
        return a * 2.0 if b is None else a * 2.0 + b * 3.0

    x = leaf([1.0, 2.0], device)
    for materialize in (True, False):
        forward = functools.partial(doubled_and_tripled, materialize)
        first, second, answer = function(forward=forward, backward=backward).apply(x)
        assert answer == 42 and second.output_nr == 1
        first.sum().backward()
    assert seen == [(False, False, None), (False, True, None)]
    close(x.grad, [4.0, 4.0])


def test_outputs_without_a_gradient(device):
    def forward(ctx, x):
        mask = x * 0.0 + 1.0
        ctx.mark_non_differentiable(mask)
        return x * 2.0, mask

    def backward(ctx, grad, mask_grad):
        close(mask_grad, [0.0, 0.0])
        return grad * 2.0

    x = leaf([1.0, 2.0], device)
    y, mask = function(forward=forward, backward=backward).apply(x)
    assert y.requires_grad and not mask.requires_grad and mask.grad_fn is None
    y.sum().backward()
    close(x.grad, [2.0, 2.0])


def test_mark_dirty(device):
    def forward(ctx, x):
        x.mul_(3.0)
        ctx.mark_dirty(x)
        return x

    made = function(forward=forward, backward=lambda ctx, grad: grad * 3.0)
    x = leaf([1.0, 2.0], device)
    h = x * 1.0
    version = h._version
    out = made.apply(h)
    assert out is h and h._version > version and h.grad_fn.name() == "MadeBackward"
    h.sum().backward()
    close(x.grad, [3.0, 3.0])
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        made.apply(x)


def test_dirty_tensors_must_be_returned(device):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x * 2.0

    made = function(forward=forward, backward=lambda ctx, grad: grad)
    with pytest.raises(RuntimeError, match="must all be outputs of the Function"):
        made.apply(leaf([1.0], device) * 1.0)


def test_an_input_that_is_returned_is_another_tensor(device):
    made = function(forward=lambda ctx, x: x, backward=lambda ctx, grad: grad * 5.0)
    x = leaf([1.0, 2.0], device)
    y = made.apply(x)
    assert y is not x and y.data_ptr() == x.data_ptr() and x.is_leaf
    y.sum().backward()
    close(x.grad, [5.0, 5.0])


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (lambda g: (g, g), RuntimeError, r"incorrect number of gradients \(expected 1, got 2\)"),
        (lambda g: g.sum().expand(3), RuntimeError, r"invalid gradient at index 0 - got \[3\]"),
        (lambda g: 1.0, TypeError, "expected Tensor or None"),
    ],
)
def test_a_wrong_answer_is_refused(device, answer, kind, text):
    made = function(forward=lambda ctx, x: x * 1.0, backward=lambda ctx, g: answer(g))
    x = leaf([1.0, 2.0], device)
    with pytest.raises(kind, match=text):
        made.apply(x).sum().backward()
    assert x.grad is None


def test_trailing_nones_are_fine_and_broadcasting_is_undone(device):
    made = function(
        forward=lambda ctx, x: x * torch.ones((3, 2), device=device),
        backward=lambda ctx, g: (g, None, None),
    )
    x = leaf([1.0, 2.0], device)
    made.apply(x).sum().backward()
    close(x.grad, [3.0, 3.0])


def test_what_is_missing_is_said(device):
    x = leaf([1.0], device)
    with pytest.raises(NotImplementedError, match="either the backward or vjp method"):
        function(forward=lambda ctx, x: x * 1.0).apply(x).sum().backward()
    with pytest.raises(NotImplementedError, match="implement the forward function"):
        function(backward=lambda ctx, g: g).apply(x)
    both = function(forward=lambda ctx, x: x * 1.0, backward=lambda c, g: g, vjp=lambda c, g: g)
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        both.apply(x).sum().backward()
    function(forward=lambda ctx, x: x * 1.0, vjp=lambda c, g: g * 9.0).apply(x).sum().backward()
    close(x.grad, [9.0])


def test_legacy_functions_are_refused():
    class Old(torch.autograd.Function):
        def forward(self, x):
            return x

    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward"):
        Old()(leaf([1.0]))
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward"):
        Old.apply(leaf([1.0]))


def test_only_tensors_are_saved(device):
    made = function(forward=lambda ctx, x: ctx.save_for_backward(x, 3) or x, backward=None)
    with pytest.raises(TypeError, match="can only save variables, but argument 1 is of type int"):
        made.apply(leaf([1.0], device))


def test_once_differentiable(device):
    made = function(
        forward=lambda ctx, x: ctx.save_for_backward(x) or x * x,
        backward=once_differentiable(lambda ctx, g: g * ctx.saved_tensors[0] * 2.0),
    )
    x, v = leaf([3.0], device), leaf([1.0], device)
    (g,) = torch.autograd.grad(made.apply(x), x, grad_outputs=v, create_graph=True)
    close(g, [6.0])
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        g.sum().backward()
    made.apply(x).sum().backward()
    close(x.grad, [6.0])


def test_an_error_in_forward_leaves_recording_on(device):
    def forward(ctx, x):
        assert not torch.is_grad_enabled()
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        function(forward=forward).apply(leaf([1.0], device))
    assert torch.is_grad_enabled()


def test_a_saved_output_makes_no_cycle(device):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.exp()
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    gc.collect()
    gc.disable()
    try:
        x = leaf([1.0], device)
        y = Exp.apply(x)
        dead = weakref.ref(y), weakref.ref(y.grad_fn)
        del y
        assert [d() for d in dead] == [None, None]
        with torch.autograd.graph.saved_tensors_hooks(lambda t: (t,), lambda t: t[0]):
            y = Exp.apply(x)
        dead = weakref.ref(y), weakref.ref(y.grad_fn)
        del y
        assert [d() for d in dead] == [None, None]
    finally:
        gc.enable()


def test_an_output_kept_on_ctx_is_collectable(device):
    def forward(ctx, x):
        ctx.out = x * 2.0
        return ctx.out

    y = function(forward=forward, backward=lambda ctx, g: g * 2.0).apply(leaf([1.0], device))
    dead = weakref.ref(y)
    del y
    gc.collect()
    assert dead() is None


def refuse(ctx, grad):
    raise ValueError("no gradient today")


def test_a_backward_that_raises_leaves_no_cycle(device):
    gc.collect()
    gc.disable()
    try:
        x = leaf([1.0], device)
        y = function(forward=Cube.forward, backward=refuse).apply(x * 2.0)
        dead = [weakref.ref(kept) for kept in (x, y, y.grad_fn, y.grad_fn.next_functions[0][0])]
        with pytest.raises(ValueError, match="today"):
            y.sum().backward()
        del x, y
        assert [d() for d in dead] == [None] * 4
    finally:
        gc.enable()
