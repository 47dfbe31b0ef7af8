"""One tensor through every room, upstairs and back. Read this first."""

import numpy as np
import pytest

import wgtorch as torch


def test_tour(ran):
    x = torch.tensor(np.eye(3, dtype="f4"), device="webgpu", requires_grad=True)  # uploaded now
    w = torch.tensor(np.full((3, 2), 2, "f4"), device="webgpu", requires_grad=True)

    h = (x @ w).relu()  # structured: put off for a moment; elementwise: only a promise
    assert not ran and h.value.promise
    loss = (h * 3).sum()  # a reduction needs values: what is alive is made, the rest rides along
    assert ran == ["mm+relu"]  # the chain ended the product's kernel; the sum is put off
    del ran[:]

    loss.backward()  # the same rooms, recorded formulas instead of user code
    assert ran == ["mul+_where_positive"]  # the gradients are products: put off
    np.testing.assert_allclose(x.grad.cpu(), np.full((3, 3), 12))
    assert ran.count("mm") == 2


def test_saved_tensors_may_wait_on_the_cpu():
    x = torch.tensor(np.ones((2, 2), "f4"), device="webgpu", requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        y = x.exp()
    y.sum().backward()
    np.testing.assert_allclose(x.grad.cpu(), np.exp(np.ones((2, 2))), rtol=1e-6)


@pytest.mark.parametrize("device", ["cpu", "webgpu"])
def test_writing_in_place_leaves_earlier_readers_alone(device):
    x = torch.tensor([1.0, 2.0], device=device)
    y = x + 1  # on webgpu still a promise
    x.copy_(torch.tensor([10.0, 20.0], device=device))
    assert y.tolist() == [2, 3] and x.tolist() == [10, 20]
    part = x[1:]
    held = x.detach().snapshot()
    part.add_(1)  # a write through a view shows in its base, and not in a snapshot
    assert x.tolist() == [10, 21] and held.tolist() == [10, 20]


@pytest.mark.parametrize("device", ["cpu", "webgpu"])
def test_backward_sees_the_tensor_as_it_was(device):
    x = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
    out = (x * x).sum()
    x.detach().copy_(torch.tensor([5.0, 5.0]))
    out.backward()
    assert x.grad.tolist() == [2, 4]


def test_numpy_and_a_cpu_tensor_share_memory():
    array = np.arange(6, dtype="f4").reshape(2, 3)
    x = torch.from_numpy(array)
    x.mul_(2)
    assert array[1, 2] == 10
    array[0, 0] = 7
    assert x[0, 0].item() == 7
    leaf = torch.ones(3, requires_grad=True)
    saved = (leaf * x[0]).sum()  # saves x[0] as it is now
    x[0] = 100
    saved.backward()
    assert leaf.grad.tolist() == [7, 2, 4] and array[0].tolist() == [100] * 3
