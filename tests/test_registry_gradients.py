"""Gradient formulas of users: one for each input, held to what a gradient of that input may be."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch
from wgtorch import registry

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def on(device):
    return torch.tensor(X, device=device)


PRODUCT = "blend", lambda input, other: input * other, "input * other"


def test_each_input_has_a_formula_or_none_or_is_an_error(device):
    x, y = (on(device).requires_grad_() for _ in range(2))
    by_input = {"input": lambda grad, other: grad * other}
    with registry.register_binary_op(*PRODUCT, backward=by_input) as blend:
        blend(x, y.detach()).sum().backward()
        np.testing.assert_allclose(x.grad.cpu().numpy(), X)
        for pair in ((x, y), (x.detach(), y), (x, x)):
            with pytest.raises(RuntimeError, match="no autograd formula .* for 'other'"):
                blend(*pair).sum().backward()
        with pytest.raises(RuntimeError, match="no autograd formula .* for 'other'"):
            torch.func.jvp(lambda y: blend(on(device), y), (on(device),), (on(device),))
    x.grad = None
    with registry.register_binary_op(*PRODUCT, backward={**by_input, "other": None}) as blend:
        blend(x, y).sum().backward()
        np.testing.assert_allclose(x.grad.cpu().numpy(), X)
        assert y.grad is None


def test_a_formula_answers_a_gradient_of_its_input(device):
    x = on(device).requires_grad_()
    for wrong, said in (
        (
            lambda grad: grad.sum(0),
            r"index 0 - got \[4\] but expected shape compatible with \[3, 4\]",
        ),
        (lambda grad: grad.to("meta"), f"index 0 - expected device {x.device} but got meta"),
    ):
        op = registry.register_unary_op("same", lambda input: input, "input",
                                        backward={"input": wrong})  # fmt: skip
        with (
            op,
            pytest.raises(
                RuntimeError, match=f"Function same returned an invalid gradient.*{said}"
            ),
        ):
            op(x).sum().backward()


def test_an_input_without_a_gradient_moves_nothing(device):
    @registry.shader(
        "fn value_at(i: u32) -> result_type { return first_nth(i) + second_nth(i); }",
        backward={"first": lambda grad: grad, "second": None},
    )
    def total(first, second):
        return first + second

    with total:
        x = on(device)
        out, moved = torch.func.jvp(total, (x, x), (x, torch.ones_like(x)))
        np.testing.assert_allclose(out.cpu().numpy(), 2 * X)
        np.testing.assert_allclose(moved.cpu().numpy(), X)
