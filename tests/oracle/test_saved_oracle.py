"""Saved tensors and functions of users beside PyTorch: the same numbers, flags and errors."""

import pytest

import wgtorch
from tests.oracle.beside import Programs, leaf, outcome

torch = pytest.importorskip("torch")
program = Programs()


@program
def saved_names(t):
    x = leaf(t, 1.0, 4.0)
    saved = {
        "exp": x.exp().grad_fn._saved_result, "log": x.log().grad_fn._saved_self,
        "sqrt": x.sqrt().grad_fn._saved_result, "tanh": x.tanh().grad_fn._saved_result,
        "div": (x / x).grad_fn._saved_other, "relu": x.relu().grad_fn._saved_result,
        "sin": x.sin().grad_fn._saved_self, "sigmoid": x.sigmoid().grad_fn._saved_result,
    }  # fmt: skip
    return [[name, value] for name, value in saved.items()]


@program
def freed_slot(t):
    y = leaf(t, 1.0).exp()
    node = y.grad_fn
    y.backward()
    return node._saved_result


@program
def packs_counted(t):
    log = []
    x, c = leaf(t, 1.0, 2.0), t.ones(2)
    with t.autograd.graph.saved_tensors_hooks(lambda v: log.append(v) or v, lambda v: v):
        _ = x * c, x * x, x + x, x.exp(), x.sum(), x * 3.0
    return len(log), log


@program
def unpack_returns_a_number(t):
    with t.autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: 1.0):
        y = leaf(t, 1.0).exp()
    y.backward()


@program
def pack_writes(t):
    def pack(v):
        v.mul_(2.0)
        return v

    h = leaf(t, 1.0) * 2.0
    with t.autograd.graph.saved_tensors_hooks(pack, lambda v: v):
        h.exp()


@program
def hooks_disabled(t):
    graph = t.autograd.graph
    hooks = graph.saved_tensors_hooks(lambda v: v, lambda v: v)
    with graph.disable_saved_tensors_hooks("not here"), hooks:
        pass


@program
def slot_hooks_twice(t):
    x = leaf(t, 1.0)
    raw = (x * x).grad_fn._raw_saved_self
    raw.register_hooks(lambda v: v, lambda v: v)
    raw.register_hooks(lambda v: v, lambda v: v)


@program
def slot_of_none(t):
    y = leaf(t, 1.0) * t.ones(1)
    y.grad_fn._raw_saved_self.register_hooks(lambda v: v, lambda v: v)


def made(t, **members):
    static = {name: staticmethod(member) for name, member in members.items()}
    return type("Made", (t.autograd.Function,), static)


@program
def function_of_mine(t):
    def forward(ctx, x, factor):
        ctx.save_for_backward(x, None)
        ctx.factor = factor
        return x * x * factor, x.sum()

    def backward(ctx, grad, total):
        x, nothing = ctx.saved_tensors
        assert nothing is None
        return grad * 2.0 * x * ctx.factor + total, None

    x = leaf(t, 1.0, 2.0)
    y, total = made(t, forward=forward, backward=backward).apply(x, 3.0)
    node = y.grad_fn
    y.sum().backward()
    return y, x.grad, node.name(), node.needs_input_grad, total.output_nr, total.grad_fn is node


@program
def too_many_gradients(t):
    f = made(t, forward=lambda ctx, x: x * 1.0, backward=lambda ctx, g: (g, g))
    f.apply(leaf(t, 1.0)).backward()


@program
def gradient_of_wrong_shape(t):
    f = made(t, forward=lambda ctx, x: x * 1.0, backward=lambda ctx, g: g.sum().expand(3))
    f.apply(leaf(t, 1.0, 2.0)).sum().backward()


@program
def neither_backward_nor_vjp(t):
    made(t, forward=lambda ctx, x: x * 1.0).apply(leaf(t, 1.0)).backward()


@program
def saved_a_number(t):
    def forward(ctx, x):
        ctx.save_for_backward(x, 3)
        return x * 1.0

    made(t, forward=forward, backward=lambda ctx, g: g).apply(leaf(t, 1.0))


@program
def dirty_but_not_returned(t):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x * 1.0

    made(t, forward=forward, backward=lambda ctx, g: g).apply(leaf(t, 1.0) * 1.0)


@program
def dirty_leaf(t):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x

    made(t, forward=forward, backward=lambda ctx, g: g).apply(leaf(t, 1.0))


@program
def differentiated_once_only(t):
    once = t.autograd.function.once_differentiable
    f = made(t, forward=lambda ctx, x: x * 2.0, backward=once(lambda ctx, g: g * 2.0))
    x, v = leaf(t, 1.0), leaf(t, 1.0)
    (g,) = t.autograd.grad(f.apply(x), x, grad_outputs=v, create_graph=True)
    g.sum().backward()


@pytest.mark.parametrize("name", program)
def test_same_answer(name):
    assert outcome(wgtorch, program[name]) == outcome(torch, program[name])
