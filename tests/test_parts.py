"""Views that one function makes of a tensor have one node, which joins their gradients."""

import pytest

import wgtorch as torch

APART = {
    "one layer": lambda x: x[:, 1:2].unbind(1),
    "one part": lambda x: x[1:].split(9, 1),
    "unbind": lambda x: x.unbind(1),
    "split": lambda x: x.split(2, 1),
    "sizes": lambda x: x.split([1, 0, 4], -1),
    "chunk": lambda x: x.chunk(3, 1),
}


@pytest.mark.parametrize("used", [None, [0], [2], [0, 2], [1, 0]])
@pytest.mark.parametrize("way", APART)
def test_parts_join_their_gradients(way, used, device):
    x = torch.arange(15.0, device=device).reshape(3, 5).requires_grad_()
    parts = APART[way](x * 1)
    used = [k for k in used or range(len(parts)) if k < len(parts)] or [0]
    sum((parts[k] ** 3).sum() * (k + 1) for k in used).backward()
    want = torch.zeros(3, 5)
    for k in used:
        part = APART[way](want)[k]
        part.copy_(3 * (k + 1) * APART[way](x.detach().cpu())[k] ** 2)
    assert x.grad.tolist() == want.tolist()
    assert [p.output_nr for p in parts] == list(range(len(parts)))


def test_parts_have_one_node_and_second_gradients():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    first, second = x.unbind()
    assert first.grad_fn is second.grad_fn and first.grad_fn.name() == "UnbindBackward0"
    assert x.split(1)[0].grad_fn.name() == "SplitBackward0"
    assert x.split([1, 1])[0].grad_fn.name() == "SplitWithSizesBackward0"
    (grad,) = torch.autograd.grad((first**3 * second).sum(), x, create_graph=True)
    (again,) = torch.autograd.grad(grad[0].sum(), x)
    assert again.tolist() == [[18.0, 48.0], [3.0, 12.0]]


def test_each_part_has_hooks_of_its_own():
    x = torch.ones(4, 2, requires_grad=True)
    seen = []
    a, b = x.chunk(2)
    b.register_hook(lambda grad: seen.append(grad.tolist()))
    b.retain_grad()
    (a.sum() + 2 * b.sum()).backward()
    assert seen == [[[2, 2], [2, 2]]] == [b.grad.tolist()]
    assert x.grad.tolist() == [[1, 1]] * 2 + [[2, 2]] * 2


def test_a_long_sequence_is_joined_once(monkeypatch):
    x = torch.ones(50, 3, requires_grad=True)
    counted = []
    add = type(x).__add__
    monkeypatch.setattr(type(x), "__add__", lambda a, b: (counted.append(a.shape), add(a, b))[1])
    rows = (x * 1).unbind()
    torch.stack([row * k for k, row in enumerate(rows)]).sum().backward()
    assert not counted and x.grad[:, 0].tolist() == list(range(50))


def test_hooks_hear_of_a_part_that_nobody_used(device):
    x, heard = torch.ones(4, device=device, requires_grad=True), []
    parts = x.split(2)
    parts[1].register_hook(heard.append)
    torch.autograd.graph.register_multi_grad_hook(parts, heard.append)
    parts[0].sum().backward()
    assert heard[0] is None and heard[1][0].tolist() == [1, 1] and heard[1][1] is None
    assert x.grad.tolist() == [1, 1, 0, 0]
