"""Ops on rows compute on the way what was promised of their operands, unless somebody keeps it."""

import numpy as np
import pytest
from launches import close, normal

import wgtorch as torch
from wgtorch.dispatch.doors import DOORS


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    "promised",
    [
        lambda x: x * 2 - 1,
        lambda x: x.T * 3,
        lambda x: x[1:2] * 2 + 0.5,
        lambda x: x[:, 1:].exp() if isinstance(x, torch.Tensor) else np.exp(x[:, 1:]),
        lambda x: -x[::2],
        lambda x: x * x[0, 0],
        lambda x: x[:1] - x * 2,
        lambda x: x[:, :1] + x[::-1] if isinstance(x, np.ndarray) else x[:, :1] + x.flip(0),
    ],
)
def test_what_was_promised_is_computed_on_the_way(ran, promised):
    array, x = normal(6, 9)
    got = torch.softmax(promised(x), -1)
    assert not ran
    close(got, softmax(promised(array)))
    assert len(ran) == 1 and ran[0].startswith("_softmax<")


def test_numbers_are_read_when_it_runs(ran):
    array, x = normal(4, 5)
    for k in range(1, 5):
        close(torch.log_softmax(x * k, 1), np.log(softmax(array * k)))
    assert ran == ["_log_softmax<mul>"] * 4


def test_what_somebody_keeps_is_stored_once(ran):
    array, x = normal(4, 5)
    kept = x * 2
    close(torch.softmax(kept, 1), softmax(array * 2))
    close(kept, array * 2)
    assert ran == ["mul", "_softmax"]
    again = x * 3
    waiting = torch.softmax(again, 1)
    del again  # nobody keeps it when it is read
    close(waiting, softmax(array * 3))
    assert ran[2:] == ["_softmax<mul>"]


def test_gradients_of_what_is_scaled(ran):
    array, x = normal(4, 5, requires_grad=True)
    hot = np.eye(5, dtype=np.float32)[[0, 3, 1, 1]]
    labels = torch.tensor(hot, device="webgpu")
    loss = -(torch.log_softmax(x, 1) * labels).sum() / 4
    loss.backward()
    close(x.grad, (softmax(array) - hot) / 4)
    backward = [name for name in ran if "backward" in name]
    assert len(backward) == 1 and backward[0].startswith("_log_softmax_backward<")


@pytest.mark.parametrize(
    "promised",
    [
        lambda x, y: x + y - x[:1],  # three loads
        lambda x, y: (x * 2).half(),
        lambda x, y: (x > 0).float(),
        lambda x, y: torch.full_like(x, 3.0),
        lambda x, y: x * 2 + 1 - 3 + 4 - 5 + 6,  # many ops
        lambda x, y: (x @ y.t()) * 2,
    ],
)
def test_what_cannot_be_computed_on_the_way_is_right_as_well(webgpu, promised):
    (a, x), (b, y) = normal(5, 5), normal(5, 5, seed=1)
    want = promised(torch.tensor(a), torch.tensor(b))
    close(torch.softmax(promised(x, y), 1), softmax(want.float().numpy()), 2e-3)


def test_random_numbers_are_the_same_for_all_readers(webgpu):
    torch.manual_seed(3)
    drawn = torch.rand(4, 6, device="webgpu") * 2
    got = torch.softmax(drawn, 1)
    close(got, softmax(drawn.cpu().numpy()))


def test_values_do_not_change_while_it_waits(webgpu):
    array, x = normal(4, 5)
    waiting = torch.softmax(x * 2, 1)
    x.zero_()
    close(waiting, softmax(array * 2))


def test_several_operands(ran):
    (a, x), (b, y) = normal(3, 8), normal(3, 8, seed=1)
    got = DOORS["_log_softmax_backward"](x * 2, y - 1, 1)
    grad = a * 2
    close(got, grad - np.exp(b - 1) * grad.sum(1, keepdims=True))
    assert ran == ["_log_softmax_backward<mul><sub>"]


def test_the_larger_of_two_loads_may_be_either(ran):
    """Kernels differ by which lies as the input would, where all else of the layouts is alike."""
    for m, n in ((2, 3), (3, 2), (2, 3)):
        (a, x), (b, y) = normal(m, 1, 4), normal(1, n, 4, seed=1)
        close(torch.softmax(x + y, -1), softmax(a + b))
        close(torch.softmax(y * x, -1), softmax(b * a))
    assert ran == ["_softmax<add>", "_softmax<mul>"] * 3


def test_synchronize_computes_what_is_alive(ran):
    _, x = normal(4, 5)
    waiting = torch.softmax(x * 2, 1)
    torch.softmax(x * 3, 1)  # nobody waits for this one
    torch.webgpu.synchronize()
    assert ran == ["_softmax<mul>"] and waiting.value.promise is None


def test_explain_shows_the_kernel_and_runs_nothing(ran):
    _, x = normal(4, 5)
    kept = x * 3
    text = torch.softmax(x * 2, 1).explain()
    assert "fn input_of(x0: f32) -> f32" in text and "mul_float32(x0" in text
    assert "input_of" not in torch.softmax(kept, 1).explain() and not ran


def test_large_ones_run_at_once(ran):
    x = torch.ones(600, 600, device="webgpu").clone()
    torch.webgpu.synchronize()
    before = len(ran)
    got = torch.softmax(x * 2, 1)
    assert len(ran) == before + 2 and got.value.promise is None


def test_a_second_step_takes_no_memory(webgpu):
    _, x = normal(16, 10, requires_grad=True)

    def step():
        x.grad = None
        torch.log_softmax(x * 2, 1)[:, 0].sum().backward()
        torch.webgpu.synchronize()

    step(), step()
    before = torch.webgpu.memory_stats()["reserved_bytes.all.current"]
    step()
    assert torch.webgpu.memory_stats()["reserved_bytes.all.current"] == before
