"""Hooks around forward and backward of modules."""

import copy

import pytest

import wgtorch as wt
from wgtorch import nn
from wgtorch.nn import hooks


class Double(nn.Module):
    def forward(self, x, y=1):
        if y is None:
            raise ArithmeticError("no y")
        return x * 2 * y


def test_forward_hooks_see_and_change():
    m, seen = Double(), []
    m.register_forward_pre_hook(lambda mod, args: seen.append(args) or args[0] + 1)
    m.register_forward_hook(lambda mod, args, out: seen.append((args, out)) or out * 10)
    assert m(3) == 80
    assert seen == [(3,), ((4,), 8)]


def test_forward_hooks_with_keywords():
    m = Double()
    m.register_forward_pre_hook(lambda mod, args, kw: (args, {"y": kw["y"] + 1}), with_kwargs=True)
    m.register_forward_hook(lambda mod, args, kw, out: (out, kw), with_kwargs=True)
    assert m(3, y=4) == (30, {"y": 5})
    m.register_forward_pre_hook(lambda mod, args, kw: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"must return None or a tuple .* but got 3"):
        m(3, y=4)


def test_hooks_keep_their_order_and_can_be_taken_out():
    m, order = Double(), []
    handles = [
        m.register_forward_hook(lambda *a, i=i: order.append(i), prepend=i == 2) for i in range(3)
    ]
    m(1)
    assert order == [2, 0, 1]
    handles[0].remove()
    with m.register_forward_hook(lambda *a: order.append("with")):
        m(1)
    m(1)
    assert order == [2, 0, 1, 2, 1, "with", 2, 1]


def test_hooks_called_always():
    m, calls = Double(), []
    m.register_forward_hook(lambda mod, args, out: calls.append(out), always_call=True)
    m.register_forward_hook(lambda *a: calls.append("skipped"))
    with pytest.raises(ArithmeticError):
        m(3, None)
    assert calls == [None]
    m.register_forward_hook(lambda mod, args, out: 1 / 0, always_call=True)
    with (
        pytest.raises(ArithmeticError, match="no y"),
        pytest.warns(UserWarning, match="was silenced as another error was raised in forward"),
    ):
        m(3, None)


def test_hooks_of_all_modules():
    names = []
    hook = hooks.register_module_forward_pre_hook(lambda m, a: names.append(type(m).__name__))
    with hook:
        nn.Sequential(Double(), nn.Identity())(1)
    Double()(1)
    assert names == ["Sequential", "Double", "Identity"]


def test_copies_have_hooks_of_their_own():
    m, calls = Double(), []
    handle = m.register_forward_hook(lambda *a: calls.append(1))
    other = copy.deepcopy(m)
    handle.remove()
    m(1)
    assert calls == []
    other(1)
    assert calls == [1]


# Backward


def two(device="cpu"):
    return wt.tensor([1.0, 2.0], device=device, requires_grad=True)


def test_backward_hooks_see_both_sides(device):
    m, x, seen = Double(), two(device), []
    m.register_full_backward_pre_hook(lambda mod, out: seen.append(("out", out[0].tolist())))
    m.register_full_backward_hook(
        lambda mod, inp, out: seen.append((inp[0].tolist(), out[0].tolist()))
    )
    m(x, 3).sum().backward()
    assert seen == [("out", [1, 1]), ([6, 6], [1, 1])]
    assert x.grad.tolist() == [6, 6]


def test_backward_hooks_change_gradients(device):
    m, x = Double(), two(device)
    m.register_full_backward_pre_hook(lambda mod, out: (out[0] * 10,))
    m.register_full_backward_hook(lambda mod, inp, out: (inp[0] + 1, None))
    m(x, 3).sum().backward()
    assert x.grad.tolist() == [61, 61]


def test_backward_hooks_stand_behind_the_gradients_of_parameters():
    layer, seen = nn.Linear(2, 1, bias=False), []
    layer.register_full_backward_hook(lambda m, inp, out: seen.append(inp))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        layer(wt.ones(3, 2)).sum().backward()
    assert seen == [(None,)] and layer.weight.grad.tolist() == [[3, 3]]


def test_backward_hooks_with_several_inputs_and_outputs():
    class Cross(nn.Module):
        def forward(self, x, name, y):
            return x * y, y * 3, name

    m, seen = Cross(), []
    m.register_full_backward_hook(lambda mod, inp, out: seen.append((inp, out)))
    x, y = two(), wt.tensor([4.0, 5.0])
    product, _, name = m(x, "name", y)
    product.sum().backward()
    ((inputs, outputs),) = seen
    assert name == "name" and inputs[1] is None and outputs[1:] == (None, None)
    assert inputs[0].tolist() == [4, 5] and outputs[0].tolist() == [1, 1]
    assert x.grad.tolist() == [4, 5]


def test_backward_hooks_that_return_too_few():
    m, x = Double(), two()
    m.register_full_backward_hook(lambda mod, inp, out: ())
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 0, but expected 1"):
        m(x).sum().backward()
    m = Double()
    m.register_full_backward_pre_hook(lambda mod, out: (out[0], out[0]))
    with pytest.raises(RuntimeError, match="invalid number of grad_output, got 2, but expected 1"):
        m(x).sum().backward()


def test_backward_hooks_need_tensors_out():
    m = nn.Identity()
    m.register_full_backward_hook(lambda *a: None)
    with pytest.warns(UserWarning, match="should be a Tensor or a tuple of Tensors"):
        assert m({"x": two()})["x"].tolist() == [1, 2]


def test_backward_hooks_leave_no_trace_without_gradients():
    m, calls = Double(), []
    m.register_full_backward_hook(lambda *a: calls.append(a))
    with wt.no_grad():
        assert m(two()).grad_fn is None
    assert calls == []
