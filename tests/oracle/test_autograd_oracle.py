"""Autograd beside PyTorch: the same program in both gives the same numbers, flags and errors."""

import pytest

import wgtorch
from tests.oracle.beside import Programs, leaf, outcome

torch = pytest.importorskip("torch")
program = Programs()


@program
def polynomial(t):
    x = leaf(t, 1.0, 2.0, 3.0)
    y = (x * x * x - 2.0 * x / (x + 1.0)).sum()
    first = t.autograd.grad(y, x, create_graph=True)[0]
    second = t.autograd.grad(first.sum(), x, create_graph=True)[0]
    return y, first, second, first.requires_grad, second.is_leaf


@program
def flags_of_a_graph(t):
    x = leaf(t, 1.0)
    h = x * 2.0
    with t.no_grad():
        n = x * 2.0
    return [(z.requires_grad, z.is_leaf, z.grad_fn is None) for z in (x, h, n, h.detach(), h.data)]


@program
def scalars_only(t):
    (leaf(t, 1.0, 2.0) * 2.0).backward()


@program
def no_graph(t):
    t.tensor([1.0]).sum().backward()


@program
def unused(t):
    t.autograd.grad((leaf(t, 1.0) * 2.0).sum(), leaf(t, 1.0))


@program
def unused_but_allowed(t):
    return t.autograd.grad((leaf(t, 1.0) * 2.0).sum(), leaf(t, 1.0), allow_unused=True)


@program
def materialized(t):
    a, b = leaf(t, 1.0), leaf(t, 1.0, 2.0)
    return t.autograd.grad((a * 2.0).sum(), (a, b), materialize_grads=True)


@program
def materialized_and_forbidden(t):
    a = leaf(t, 1.0)
    t.autograd.grad(a * 2.0, a, allow_unused=False, materialize_grads=True)


@program
def input_without_grad(t):
    t.autograd.grad((leaf(t, 1.0) * 2.0).sum(), t.tensor([1.0]))


@program
def wrong_shape(t):
    x = leaf(t, 1.0, 2.0)
    t.autograd.grad(x * 2.0, x, grad_outputs=t.ones(3))


@program
def second_time(t):
    x = leaf(t, 1.0, 2.0)
    y = (x * x).sum()
    y.backward()
    y.backward()


@program
def second_time_of_a_number(t):
    y = (leaf(t, 1.0, 2.0) * 3.0).sum()
    y.backward()
    y.backward()


@program
def second_time_without_saves(t):
    x = leaf(t, 1.0, 2.0)
    y = (x + x).sum()
    y.backward()
    y.backward()
    return x.grad


@program
def empty_inputs(t):
    (leaf(t, 1.0) * 2.0).sum().backward(inputs=[])


@program
def leaf_written(t):
    leaf(t, 1.0, 2.0).mul_(2.0)


@program
def view_of_a_leaf_written(t):
    leaf(t, 1.0, 2.0)[0].mul_(2.0)


@program
def integers_want_gradients(t):
    t.tensor([1, 2]).requires_grad_(True)


@program
def flag_of_a_non_leaf(t):
    (leaf(t, 1.0) * 2.0).requires_grad_(False)


@program
def grad_of_a_non_leaf(t):
    return (leaf(t, 1.0) * 2.0).grad


@program
def retained(t):
    x = leaf(t, 1.0, 2.0)
    h = x * 3.0
    h.retain_grad()
    (h * h).sum().backward()
    return h.grad, h.retains_grad, x.grad, x.retains_grad


@program
def retain_without_need(t):
    t.tensor([1.0]).retain_grad()


@program
def hook_without_need(t):
    t.tensor([1.0]).register_hook(lambda g: g)


@program
def hooks_in_order(t):
    x = leaf(t, 1.0, 2.0)
    log = []
    h = x * 3.0
    h.register_hook(lambda g: (log.append("tensor"), g * 2.0)[1])
    h.grad_fn.register_prehook(lambda gs: (log.append("pre"), (gs[0] + 1.0,))[1])
    h.grad_fn.register_hook(lambda i, o: log.append(("post", i[0], o[0])))
    x.register_hook(lambda g: log.append(("leaf", g)))
    x.register_post_accumulate_grad_hook(lambda p: log.append(("after", p.grad)))
    h.sum().backward()
    return log, x.grad


@program
def hook_changes_the_size(t):
    h = leaf(t, 1.0, 2.0) * 2.0

    def hook(grad):
        return grad.sum()

    h.register_hook(hook)
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        h.sum().backward()


@program
def multi_hook(t):
    a, b, c = leaf(t, 1.0), leaf(t, 2.0), leaf(t, 3.0)
    log = []
    t.autograd.graph.register_multi_grad_hook((a, b, c), lambda grads: log.append(grads))
    (a * b).sum().backward()
    return log


@program
def written_in_place(t):
    x, w = leaf(t, 1.0, 2.0, 3.0, 4.0), leaf(t, 10.0, 20.0)
    y = x * 2.0
    v = y[1:3]
    other = y[2:]
    v.mul_(w)
    z = (y * y).sum() + (other * 3.0).sum()
    z.backward()
    return y, other, x.grad, w.grad, type(y.grad_fn).__name__, y._version, v._version


@program
def base_begins_to_want(t):
    base, x = t.zeros(3), leaf(t, 5.0)
    early = base[:2]
    base[1:2].copy_(x)
    (early * 3.0).sum().backward()
    return base.requires_grad, early.requires_grad, early.is_leaf, x.grad


@program
def zeroed(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 2.0
    y.zero_()
    y.sum().backward()
    return y.requires_grad, x.grad


@program
def copied_into(t):
    x, y = leaf(t, 1.0, 2.0), t.zeros(2)
    y.copy_(x)
    (y * y).sum().backward()
    return y.requires_grad, y.is_leaf, x.grad


@program
def detached_views(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 2.0
    d = y.detach()
    return d._is_view(), y[0]._is_view(), y[0]._base is y, y[0:1][0]._base is y, d.requires_grad


@program
def accumulated(t):
    x = leaf(t, 1.0, 2.0)
    (x * 2.0).sum().backward()
    held = x.grad
    (x * 3.0).sum().backward()
    return held is x.grad, held, x.grad.requires_grad


@program
def accumulated_with_a_graph(t):
    x = leaf(t, 1.0, 2.0)
    (x * x).sum().backward(create_graph=True)
    (x * x).sum().backward(create_graph=True)
    grad = x.grad
    return grad, grad.requires_grad, t.autograd.grad(grad.sum(), x)[0]


@program
def modes(t):
    log = [t.is_grad_enabled()]
    with t.no_grad():
        log.append(t.is_grad_enabled())
        with t.enable_grad():
            log.append(t.is_grad_enabled())
    with t.inference_mode():
        with t.enable_grad():
            log.append((leaf(t, 1.0).detach() * 2.0).requires_grad)
        log += [t.is_inference_mode_enabled(), t.ones(1).is_inference()]
        with t.inference_mode(False):
            log += [t.is_grad_enabled(), t.ones(1).is_inference()]
    return log, t.is_inference_mode_enabled()


@program
def inference_saved(t):
    with t.inference_mode():
        c = t.ones(2)
    leaf(t, 1.0, 2.0) * c


@program
def inference_written(t):
    with t.inference_mode():
        c = t.ones(2)
    c.add_(1.0)


@program
def inference_version(t):
    with t.inference_mode():
        c = t.ones(2)
    return c._version


@program
def next_functions(t):
    x, c = leaf(t, 1.0), t.ones(1)
    y = x * c
    edges = [(n if n is None else type(n).__name__, i) for n, i in y.grad_fn.next_functions]
    return edges, y.grad_fn.name(), type(y.exp().grad_fn).__name__, y.grad_fn._saved_self


@program
def anomaly(t):
    with t.autograd.detect_anomaly():
        (leaf(t, -1.0).sqrt() * 0.0).sum().backward()


@pytest.mark.parametrize("name", program)
def test_same_answer(name):
    assert outcome(wgtorch, program[name]) == outcome(torch, program[name])
