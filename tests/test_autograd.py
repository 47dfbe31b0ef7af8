"""The engine: what `backward` and `grad` answer, in which order nodes run, what they let go."""

import gc
import threading
import weakref

import numpy as np
import pytest
from recorder import N as numbers
from recorder import close, leaf

import wgtorch as torch

# What comes out


def test_gradients_add_up_over_every_use(device):
    x = leaf([1.0, 2.0], device)
    y = (x * x + x * 3.0 - x / 2.0).sum()
    y.backward()
    close(x.grad, [4.5, 6.5])
    (x * 2.0).sum().backward()
    close(x.grad, [6.5, 8.5])


def test_broadcasting_is_undone(device):
    x, row, one = (
        leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], device),
        leaf([1.0, 2.0, 3.0], device),
        leaf(2.0, device),
    )
    (x * row + one).sum().backward()
    close(row.grad, [5.0, 7.0, 9.0])
    close(one.grad, 6.0)
    assert one.grad.shape == ()
    close(x.grad, [[1, 2, 3], [1, 2, 3]])


def test_a_gradient_has_the_dtype_of_what_it_is_for(device):
    x = torch.tensor([1.5, 2.5], dtype=torch.float16, device=device, requires_grad=True)
    w = leaf([2.0, 3.0], device)
    (x * w).sum().backward()
    assert x.grad.dtype is torch.float16 and w.grad.dtype is torch.float32
    close(x.grad.float(), [2.0, 3.0])


def test_second_and_third_derivatives(device):
    x = leaf([0.5, 1.5], device)
    y = (x.exp() * x).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), x)
    e, v = np.exp([0.5, 1.5]), np.array([0.5, 1.5])
    close(first, e * (1 + v))
    close(second, e * (2 + v))
    close(third, e * (3 + v))
    assert not third.requires_grad and x.grad is None


def test_create_graph_leaves_a_grad_with_a_past(device):
    x = leaf([3.0], device)
    (x * x * x).sum().backward(create_graph=True)
    close(x.grad, [27.0])
    assert x.grad.requires_grad
    (again,) = torch.autograd.grad(x.grad.sum(), x)
    close(again, [18.0])


def test_a_gradient_is_its_own_variable(device):
    a, b = leaf([1.0, 2.0], device), leaf([3.0, 4.0], device)
    given = torch.tensor([1.0, 1.0], device=device)
    (a + b).backward(given)
    a.grad.zero_()
    close(b.grad, [1.0, 1.0])
    close(given, [1.0, 1.0])
    given.mul_(5.0)
    close(b.grad, [1.0, 1.0])


def test_adding_to_grad_keeps_the_tensor(device):
    x = leaf([1.0, 2.0], device)
    (x * 2.0).sum().backward()
    held = x.grad
    (x * 3.0).sum().backward()
    assert x.grad is held
    close(held, [5.0, 5.0])
    assert held.is_contiguous()


def test_inputs_limit_who_gets_a_grad(device):
    a, b = leaf([1.0, 2.0], device), leaf([3.0, 4.0], device)
    h = a * b
    (h * h).sum().backward(inputs=[b, h])
    assert a.grad is None
    close(b.grad, [6.0, 32.0])
    close(h.grad, [6.0, 16.0])
    with pytest.raises(RuntimeError, match="cannot be empty"):
        (a * b).sum().backward(inputs=[])


def test_an_input_given_twice_gets_its_gradient_once(device):
    x = leaf([3.0], device)
    y = x * 2.0
    y.retain_grad()
    (y * y).sum().backward(inputs=[x, y, x, y])
    close(x.grad, [24.0])
    close(y.grad, [12.0])


def test_a_leaf_that_wants_none_any_more_gets_none(device):
    x, y = leaf([1.0, 2.0], device), leaf([3.0, 4.0], device)
    product = (x * y).sum()
    x.requires_grad_(False)
    product.backward()
    assert x.grad is None
    close(y.grad, [1.0, 2.0])


def test_grad_of_a_tensor_to_itself_and_twice_the_same(device):
    x = leaf([1.0, 2.0], device)
    y = (x * x).sum()
    own, first, second = torch.autograd.grad(y, (y, x, x))
    close(own, 1.0)
    close(first, [2.0, 4.0])
    close(second, [2.0, 4.0])


def test_several_outputs_with_gradients(device):
    x = leaf([1.0, 2.0], device)
    y, z = x * 2.0, x * x
    v = torch.tensor([1.0, 10.0], device=device)
    (g,) = torch.autograd.grad([y, z], [x], grad_outputs=[v, v])
    close(g, [4.0, 60.0])
    torch.autograd.backward([x * 2.0, (x * x).sum()], [v, None])
    close(x.grad, [4.0, 24.0])


def test_batched_gradients(device):
    x = leaf([1.0, 2.0, 3.0], device)
    y = x * x
    eye = torch.tensor(np.eye(3, dtype=np.float32).tolist(), device=device)
    (jacobian,) = torch.autograd.grad(y, x, grad_outputs=eye, is_grads_batched=True)
    close(jacobian, np.diag([2.0, 4.0, 6.0]))


# What is refused


def test_errors_say_what_pytorch_says(device):
    x, c = leaf([1.0, 2.0], device), torch.tensor([1.0, 2.0], device=device)
    other = leaf([1.0], device)
    grad = torch.autograd.grad
    with pytest.raises(RuntimeError, match="can be implicitly created only for scalar outputs"):
        (x * 2.0).backward()
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does"):
        c.sum().backward()
    with pytest.raises(RuntimeError, match="Set allow_unused=True if this is the desired"):
        grad((x * 2.0).sum(), other)
    with pytest.raises(RuntimeError, match="One of the differentiated Tensors does not require"):
        grad((x * 2.0).sum(), c)
    with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output\[0\] has a shape of"):
        grad(x * 2.0, x, grad_outputs=torch.tensor([1.0], device=device))
    with pytest.raises(TypeError, match="can be either Tensors or None, but got float"):
        torch.autograd.backward([x * 2.0], [1.0])
    with pytest.raises(ValueError, match="allow_unused to be True or not passed"):
        grad((x * 2.0).sum(), x, allow_unused=False, materialize_grads=True)
    assert grad((x * 2.0).sum(), (x, other), allow_unused=True)[1] is None
    close(grad((x * 2.0).sum(), (x, other), materialize_grads=True)[1], [0.0])


def test_a_graph_runs_once_unless_it_is_retained(device):
    x = leaf([1.0, 2.0], device)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    close(x.grad, [4.0, 8.0])
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    plain = (x + 1.0).sum()  # saved nothing, so nothing is missing
    plain.backward()
    plain.backward()


def test_an_error_in_backward_leaves_leaves_alone(device):
    x, w = leaf([1.0, 2.0], device), leaf([3.0, 4.0], device)
    fail = [True]

    def unpack(t):
        if fail[0]:
            raise KeyError("not there yet")
        return t

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), unpack):
        h = x * w
    y = (h * 2.0).sum()
    with pytest.raises(KeyError, match="not there yet"):
        y.backward(retain_graph=True)
    assert x.grad is None and w.grad is None and torch.is_grad_enabled()
    fail[0] = False
    y.backward()
    close(x.grad, [6.0, 8.0])


# Order and need


def test_nodes_run_from_youngest_to_oldest(device):
    log = []
    x = leaf([1.0, 2.0], device)
    a = x * 2.0
    b = x.exp()
    c = a + b
    d = b * a
    e = c * d
    for name, t in {"a": a, "b": b, "c": c, "d": d, "e": e}.items():
        t.register_hook(lambda g, name=name: log.append(name))
    e.sum().backward()
    assert log == ["e", "d", "c", "b", "a"]


def test_a_leaf_is_done_as_soon_as_its_last_gradient_is_there(device):
    log = []
    early, late = leaf([1.0], device), leaf([1.0], device)
    h = late * 2.0
    h.register_hook(lambda g: log.append("h"))
    y = h * early
    early.register_post_accumulate_grad_hook(lambda t: log.append("early"))
    late.register_post_accumulate_grad_hook(lambda t: log.append("late"))
    y.sum().backward()
    assert log == ["early", "h", "late"]


def test_only_slots_that_are_needed_are_unpacked(device):
    a, b = leaf([1.0, 2.0], device), leaf([3.0, 4.0], device)
    seen = []

    def unpack(packed):
        seen.append(packed[0])
        return packed[1]

    names = iter("xyz")
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: (numbers(t).tolist(), t.detach().clone()), unpack
    ):
        y = a * b
    y.sum().backward(inputs=[a])
    assert seen == [[3.0, 4.0]], "only b is needed for the gradient of a"
    del names


def test_branches_that_lead_nowhere_are_not_run(device):
    a, b = leaf([1.0, 2.0], device), leaf([3.0, 4.0], device)
    ran = []
    side = b * 2.0
    side.register_hook(lambda g: ran.append("side"))
    side.grad_fn.register_hook(lambda i, o: ran.append("node"))
    y = (a * 3.0 + side).sum()
    (g,) = torch.autograd.grad(y, a)
    assert "node" not in ran
    close(g, [3.0, 3.0])


def test_deep_chains_need_no_stack():
    x = leaf([1.0])
    y = x
    for _ in range(20_000):
        y = y + 0.0
    y.sum().backward()
    close(x.grad, [1.0])
    del y  # and neither does letting go of them


# Leaves


def test_requires_grad_is_for_floating_leaves(device):
    with pytest.raises(RuntimeError, match="floating point"):
        torch.tensor([1, 2], device=device).requires_grad_(True)
    x = leaf([1.0], device)
    y = x * 2.0
    assert x.is_leaf and not y.is_leaf and y.detach().is_leaf
    assert x.grad_fn is None and not y.detach().requires_grad
    with pytest.raises(RuntimeError, match="can only change requires_grad flags of leaf"):
        y.requires_grad = False


def test_a_grad_must_fit_its_tensor(device):
    x = leaf([1.0, 2.0], device)
    x.grad = torch.tensor([1.0, 1.0], device=device)
    (x * 2.0).sum().backward()
    close(x.grad, [3.0, 3.0])
    with pytest.raises(RuntimeError, match="different size"):
        x.grad = torch.tensor([1.0], device=device)
    with pytest.raises(TypeError, match="assigned grad expected to be a Tensor"):
        x.grad = 1.0
    x.grad = None
    assert x.grad is None


def test_detach_forgets_and_shares_memory(device):
    x = leaf([1.0, 2.0], device)
    y = x * 2.0
    d = y.detach()
    d.add_(1.0)
    close(y, [3.0, 5.0])
    z = (x * 2.0) * 2.0
    z.detach_()
    assert z.is_leaf and not z.requires_grad


def test_gradients_cross_devices(webgpu):
    x = leaf([1.0, 2.0])
    y = (x * 2.0).to(webgpu)
    (y * y).sum().backward()
    assert x.grad.is_cpu
    close(x.grad, [8.0, 16.0])
    assert y.to("cpu").grad_fn.name() == "ToCopyBackward0"


# Memory


def test_graphs_go_by_reference_counting_alone(device):
    gc.collect()
    gc.disable()
    try:
        x = leaf([1.0, 2.0], device)
        h = x * x
        y = (h.exp() * h).sum()
        nodes = [weakref.ref(n) for n in (h.grad_fn, y.grad_fn, y.grad_fn.next_functions[0][0])]
        del h, y
        assert [n() for n in nodes] == [None] * 3
        h = x * x
        values = weakref.ref(h.storage.value)
        y = h.exp().sum()
        del h
        assert values() is None, "exp keeps its result, not its input"
        y.backward()
        x.grad.sum()
    finally:
        gc.enable()


def test_backward_lets_go_of_each_node_as_it_runs(device):
    x = leaf([1.0, 2.0], device)
    h = x * x
    kept = weakref.ref(h.storage.value)
    y = (h * h).sum()
    del h
    alive = []
    x.register_hook(lambda g: alive.append(kept() is not None))
    y.backward()
    assert alive == [False]


def test_threads_have_their_own_state(device):
    x = leaf([1.0, 2.0], device)
    y = (x * x).sum()
    seen = []

    def run():
        seen.append(torch.is_grad_enabled())
        y.backward()

    with torch.no_grad():
        thread = threading.Thread(target=run)
        thread.start()
        thread.join(20)
    assert seen == [True]
    close(x.grad, [2.0, 4.0])
