"""gradcheck of forward mode, of batched gradients, and along one direction."""

from __future__ import annotations

import pytest

import wgtorch as torch
from wgtorch.autograd import GradcheckError, gradcheck, gradgradcheck


def point(*shape, device="cpu"):
    dtype = torch.float64 if device == "cpu" else torch.float32
    rows = torch.linspace(-1.3, 1.7, torch.ones(shape).numel()).reshape(shape)
    return rows.to(device).to(dtype).requires_grad_()


def made(**members):
    functions = {name: staticmethod(member) for name, member in members.items()}
    return type("Made", (torch.autograd.Function,), functions)


MODES = {
    "forward": {"check_forward_ad": True, "check_backward_ad": False},
    "both": {"check_forward_ad": True, "check_batched_grad": True},
    "fast": {"check_forward_ad": True, "fast_mode": True},
    "fast backward": {"fast_mode": True},
    "batched": {"check_batched_grad": True},
}


@pytest.mark.parametrize("mode", MODES)
def test_right_gradients_pass(device, mode):
    def f(x, w):
        return (x @ w).tanh().softmax(1), x.amax(1) * w.sum()

    given = point(3, 4, device=device), point(4, 2, device=device)
    assert gradcheck(f, given, **MODES[mode])
    assert gradgradcheck(lambda x: x.sin() * x.sum(), given[0], **MODES[mode])


WRONG_JVP = made(
    forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g * 2, jvp=lambda ctx, t: t * 2.5
)
WRONG_BACKWARD = made(
    forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g * 2.5, jvp=lambda ctx, t: t * 2
)


def test_a_wrong_tangent_is_found():
    x = point(4)
    assert gradcheck(WRONG_JVP.apply, x)
    for more in ({}, {"fast_mode": True}):
        with pytest.raises(GradcheckError, match="Jacobian computed with forward mode mismatch"):
            gradcheck(WRONG_JVP.apply, x, check_forward_ad=True, **more)
    assert not gradcheck(WRONG_JVP.apply, x, check_forward_ad=True, raise_exception=False)


def test_a_wrong_gradient_is_found_in_one_direction():
    x = point(4)
    assert gradcheck(WRONG_BACKWARD.apply, x, check_forward_ad=True, check_backward_ad=False)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0"):
        gradcheck(WRONG_BACKWARD.apply, x, fast_mode=True)


def test_a_backward_that_cannot_be_batched_is_found():
    def backward(ctx, g):
        return g * (2 if g.sum().item() else 2.0)

    branching = made(forward=lambda ctx, x: x * 2, backward=backward)
    x = point(4)
    assert gradcheck(branching.apply, x)
    with pytest.raises(GradcheckError, match="While computing batched gradients, got: vmap"):
        gradcheck(branching.apply, x, check_batched_grad=True)


def test_a_backward_that_batches_wrongly_is_found():
    def backward(ctx, g):
        return g * 2 if "Batched" not in repr(g) else g * 3

    telling = made(forward=lambda ctx, x: x * 2, backward=backward)
    with pytest.raises(GradcheckError, match="failed while testing batched gradient computation"):
        gradcheck(telling.apply, point(4), check_batched_grad=True)
