"""Writing in place, into tensors and through views, with gradients through both."""

import gc
import weakref

import numpy as np
import pytest

import wgtorch as torch


def leaf(data, device="cpu"):
    return torch.tensor(data, dtype=torch.float32, device=device, requires_grad=True)


def numbers(tensor):
    return tensor.detach().cpu().numpy()


def close(tensor, want, rtol=1e-5):
    np.testing.assert_allclose(numbers(tensor), want, rtol=rtol, atol=1e-6)


def test_the_written_tensor_takes_over_the_past(device):
    x = leaf([1.0, 2.0], device)
    y = x * 1.0
    y.mul_(3.0)
    assert y.grad_fn.name() == "MulBackward0" and y._version == 1
    y.exp_()
    y.sum().backward()
    close(x.grad, 3 * np.exp([3.0, 6.0]))


def test_what_was_saved_before_a_write_is_what_backward_uses(device):
    x = leaf([1.0, 2.0], device)
    h = x * 1.0
    y = h * h
    h.mul_(100.0)
    (y.sum() + h.sum()).backward()
    close(x.grad, [102.0, 104.0])


def test_writing_a_leaf_that_wants_a_gradient_is_refused(device):
    x = leaf([1.0, 2.0], device)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in"):
        x.mul_(2.0)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        x[0].mul_(2.0)
    close(x, [1.0, 2.0])
    with torch.no_grad():
        x.mul_(2.0)
    close(x, [2.0, 4.0])
    assert x.is_leaf and x.requires_grad


def test_a_write_through_a_view_reaches_the_base(device):
    x, w = leaf([1.0, 2.0, 3.0], device), leaf([10.0], device)
    base = x * 1.0
    view = base[1:2]
    view.mul_(w)
    assert base.grad_fn.name() == "CopySlices"
    close(base, [1.0, 20.0, 3.0])
    (base * torch.tensor([1.0, 2.0, 3.0], device=device)).sum().backward()
    close(x.grad, [1.0, 20.0, 3.0])
    close(w.grad, [4.0])


def test_other_views_of_a_written_base_get_a_new_past(device):
    x, w = leaf([1.0, 2.0, 3.0, 4.0], device), leaf([5.0, 6.0], device)
    base = x * 1.0
    whole, tail, written = base[:], base[2:], base[1:3]
    written.copy_(w)
    close(tail, [6.0, 4.0])
    assert tail.grad_fn.next_functions[0][0] is base.grad_fn
    (tail * tail).sum().backward(retain_graph=True)
    close(x.grad, [0.0, 0.0, 0.0, 8.0])
    close(w.grad, [0.0, 12.0])
    x.grad = w.grad = None
    (whole.sum() + written.sum() * 2.0).backward()
    close(x.grad, [1.0, 0.0, 0.0, 1.0])
    close(w.grad, [3.0, 3.0])


def test_a_constant_base_begins_to_want_a_gradient(device):
    base = torch.zeros(3, device=device)
    early = base[:2]
    x = leaf([7.0], device)
    assert not early.requires_grad
    base[1:2].copy_(x)
    assert base.requires_grad and early.requires_grad and not base.is_leaf
    (early * 3.0).sum().backward()
    close(x.grad, [3.0])


def test_constants_written_over_a_tensor_stop_its_gradient(device):
    x = leaf([1.0, 2.0, 3.0], device)
    y = x * 2.0
    y[0].zero_()
    y.sum().backward(retain_graph=True)
    close(x.grad, [0.0, 2.0, 2.0])
    z = x * 2.0
    z.zero_()
    assert z.requires_grad
    x.grad = None
    z.sum().backward()
    close(x.grad, [0.0, 0.0, 0.0])


def test_what_was_copied_over_has_a_gradient_of_zero(device):
    x, w = leaf([1.0, 2.0], device), leaf([3.0, 4.0], device)
    y = x * 2.0
    y.copy_(w)
    (y * y).sum().backward()
    close(x.grad, [0.0, 0.0])
    close(w.grad, [6.0, 8.0])


def test_assignment_by_index_is_a_write(device):
    x, w = leaf([[1.0, 2.0], [3.0, 4.0]], device), leaf([5.0, 6.0], device)
    y = x * 1.0
    y[:, 1] = w
    y[0] = 9.0
    close(y, [[9.0, 9.0], [3.0, 6.0]])
    (y * y).sum().backward()
    close(x.grad, [[0.0, 0.0], [6.0, 0.0]])
    close(w.grad, [0.0, 12.0])


def test_a_chain_of_writes_through_different_views(device):
    x = leaf([[1.0, 2.0], [3.0, 4.0]], device)
    y = x * 1.0
    row, column = y[1], y[:, 0]
    row.mul_(2.0)  # [[1, 2], [6, 8]]
    column.mul_(3.0)  # [[3, 2], [18, 8]]
    y.t().mul_(10.0)
    close(y, [[30.0, 20.0], [180.0, 80.0]])
    (y * y).sum().backward()
    scale = np.array([[30.0, 10.0], [60.0, 20.0]])
    close(x.grad, 2 * scale**2 * np.array([[1.0, 2.0], [3.0, 4.0]]))


def test_copying_a_tensor_into_another_keeps_them_apart(device):
    x = leaf([1.0, 2.0], device)
    y = torch.zeros(2, device=device)
    y.copy_(x)
    assert not y.is_leaf and x.is_leaf
    seen = []
    y.register_hook(lambda g: seen.append("y"))
    (x * 3.0).sum().backward()
    assert seen == []
    (y * y).sum().backward()
    assert seen == ["y"]
    close(x.grad, [5.0, 7.0])


def test_second_derivative_through_a_write(device):
    x = leaf([1.0, 2.0, 3.0], device)
    y = x * x
    y[1:].mul_(x[1:])
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    close(g, [2.0, 12.0, 27.0])
    (gg,) = torch.autograd.grad(g.sum(), x)
    close(gg, [2.0, 12.0, 18.0])


def test_hooks_stay_with_the_value_they_were_put_on(device):
    x = leaf([1.0, 2.0], device)
    y = x * 2.0
    seen = []
    y.register_hook(lambda g: seen.append(numbers(g).tolist()))
    y.mul_(10.0)
    y.sum().backward()
    assert seen == [[10.0, 10.0]]


def test_detached_writes_are_not_recorded(device):
    x = leaf([1.0, 2.0], device)
    y = x * 2.0
    y.detach().mul_(100.0)
    close(y, [200.0, 400.0])
    y.sum().backward()
    close(x.grad, [2.0, 2.0])


def test_views_made_without_recording_stay_out(device):
    x = leaf([1.0, 2.0], device)
    y = x * 2.0
    y.mul_(2.0)
    with torch.no_grad():
        v = y[0:1]
    assert not v.requires_grad


def test_an_expanded_view_is_not_written(device):
    x = torch.zeros(1, device=device)
    with pytest.raises(RuntimeError, match="single memory location"):
        x.expand(3).add_(1.0)


SEVERAL = "the output of a function that returns multiple views"
PARTS = {
    "Unbind": lambda y: y.unbind(),
    "Split": lambda y: y.split(2),
    "SplitWithSizes": lambda y: y.split([1, 3]),
}


@pytest.mark.parametrize("name", PARTS)
def test_one_of_several_views_is_not_written_to_while_that_is_recorded(device, name):
    y = leaf([[1.0], [2.0], [3.0], [4.0]], device) * 1.0
    part = PARTS[name](y)[1]
    said = f"^Output 1 of {name} is a view and is being modified inplace. This view is {SEVERAL}"
    for write in (lambda: part.mul_(2), lambda: part.zero_(), lambda: part.copy_(part.clone())):
        with pytest.raises(RuntimeError, match=said):
            write()
    with pytest.raises(RuntimeError, match=f"^Output 0 of Slice is a view and .* {SEVERAL}"):
        part[:1].add_(1)
    with torch.no_grad():
        part.mul_(10)
    assert y.sum().item() != 10.0
    y.mul_(2)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modif"):
        part * 2
    assert "Invalid" in repr(part) and part.requires_grad


def test_parts_without_gradients_are_written_to(device):
    x, w = torch.ones(2, 2, device=device), leaf([3.0, 4.0], device)
    for row in x:
        row.mul_(5.0)
    close(x, [[5.0, 5.0], [5.0, 5.0]])
    with pytest.raises(RuntimeError, match=f"^A view was created in no_grad mode .* {SEVERAL}"):
        x.unbind()[0].mul_(w)


def test_parts_that_are_cut_one_by_one_or_unsafe_may_be_written_to(device):
    x = leaf([1.0, 2.0, 3.0, 4.0], device)
    y = x * 1.0
    y.tensor_split(2)[0].mul_(2.0)
    y.sum().backward()
    close(x.grad, [2.0, 2.0, 1.0, 1.0])
    part = torch.unsafe_split(y, 2)[0]
    part.mul_(0.0)
    assert not part._is_view() and part.grad_fn.name() == "MulBackward0"


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_view_made_without_recording_is_not_written_to_with_it(device, mode):
    y = leaf([1.0, 2.0], device) * 1.0
    with mode():
        view = y[:1]
    for write in (lambda: view.mul_(2.0), lambda: view.fill_(2.0), lambda: view[:1].exp_()):
        with pytest.raises(RuntimeError, match=f"created in {mode.__name__.replace('_m', ' m')}"):
            write()
    with torch.no_grad():
        view.mul_(3.0)
    close(y, [3.0, 2.0])


def test_a_copy_made_without_recording_is_no_view(device):
    with torch.no_grad():
        copy = torch.ones(2, 3, device=device).t().reshape(6)
    w = leaf([2.0], device)
    copy.mul_(w).sum().backward()
    close(w.grad, [6.0])


def test_a_view_that_a_function_returns_is_not_written_to(device):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return -grad

    y = leaf([1.0, 2.0], device) * 1.0
    with pytest.raises(RuntimeError, match="^Output 0 of Same .* created inside a custom Function"):
        Same.apply(y).mul_(2.0)


def test_written_tensors_make_no_cycle(device):
    gc.collect()
    gc.disable()
    try:
        x = leaf([1.0, 2.0], device)
        y = x * 1.0
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y.mul_(y)
            y[0:1].mul_(2.0)
        dead = weakref.ref(y), weakref.ref(y.grad_fn)
        y.sum().backward()
        close(x.grad, [4.0, 4.0])
        del y
        assert [d() for d in dead] == [None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize("shape", [(2, 3), (3,), ()])
def test_what_a_copy_replaces_has_a_gradient_of_zeros(device, shape):
    old, new = (torch.ones(s, device=device, requires_grad=True) for s in ((2, 3), shape))
    kept = old * 1
    kept.copy_(new * 2)
    kept.sum().backward()
    assert old.grad.tolist() == [[0, 0, 0]] * 2
    assert new.grad.tolist() == torch.full(shape, 12 / max(new.numel(), 1)).tolist()
