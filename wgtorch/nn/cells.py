"""Cells: one step of a recurrent network, and what such networks make of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.nn import functional as F
from wgtorch.nn import init
from wgtorch.nn.module import Module
from wgtorch.nn.parameter import Parameter

State = tuple[Tensor, ...]  # (h,), or (h, c)
Step = Callable[[Tensor, State, Tensor], State]  # projected input, state, projected state


def lstm_step(input: Tensor, state: State, hidden: Tensor) -> State:
    i, f, g, o = (input + hidden).chunk(4, -1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def gru_step(input: Tensor, state: State, hidden: Tensor) -> State:
    r, z, n = input.chunk(3, -1)
    hr, hz, hn = hidden.chunk(3, -1)
    z = (z + hz).sigmoid()
    new = (n + (r + hr).sigmoid() * hn).tanh()
    return (new + z * (state[0] - new),)


def tanh_step(input: Tensor, state: State, hidden: Tensor) -> State:
    return ((input + hidden).tanh(),)


def relu_step(input: Tensor, state: State, hidden: Tensor) -> State:
    return ((input + hidden).relu(),)


class Weights(Module):
    """Weights uniform in +-1 / sqrt(hidden_size)."""

    hidden_size: int

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)


class RNNCellBase(Weights):
    """One step of a recurrent network, for inputs (N, input_size) or (input_size)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int,
        device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        made, gates = {"device": device, "dtype": dtype}, num_chunks * hidden_size
        self.weight_ih = Parameter(wgtorch.empty((gates, input_size), **made))
        self.weight_hh = Parameter(wgtorch.empty((gates, hidden_size), **made))
        for name in ("bias_ih", "bias_hh"):
            value = Parameter(wgtorch.empty((gates,), **made)) if bias else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def _next(self, step: Step, input: Tensor, hx: State | None, count: int) -> State:
        if input.ndim not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.ndim}D instead"
            )
        state = hx
        if state is None:
            shape = (*input.shape[:-1], self.hidden_size)
            state = tuple(input.new_zeros(shape) for _ in range(count))
        self._check(input, state)
        hidden = F.linear(state[0], self.weight_hh, self.bias_hh)
        return step(F.linear(input, self.weight_ih, self.bias_ih), state, hidden)

    def _check(self, input: Tensor, state: State) -> None:
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.shape[-1]} expected"
                f" {self.input_size}"
            )
        single = input.ndim == 1
        for place, h in enumerate(state):
            if h.ndim not in (1, 2):
                subject = "hidden" if len(state) == 1 else f"hx[{place}]"
                raise ValueError(
                    f"{type(self).__name__}: Expected {subject} to be 1D or 2D, got {h.ndim}D"
                    " instead"
                )
            batch, found = (1, 1) if single else (input.shape[0], h.shape[0])
            if batch != found:
                raise RuntimeError(
                    f"Input batch size {batch} doesn't match hidden{place} batch size {found}"
                )
            if h.ndim != input.ndim or h.shape[-1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden{place} has inconsistent hidden_size: got"
                    f" {h.shape[-1] if h.ndim == input.ndim else h.shape[0]}, expected"
                    f" {self.hidden_size}"
                )

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}"
        return shown if self.bias else shown + ", bias=False"


class RNNCell(RNNCellBase):
    """h' = tanh(W x + b + V h + c), or relu."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        step = tanh_step if self.nonlinearity == "tanh" else relu_step
        return self._next(step, input, None if hx is None else (hx,), 1)[0]


class GRUCell(RNNCellBase):
    """One step of a GRU."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._next(gru_step, input, None if hx is None else (hx,), 1)[0]


class LSTMCell(RNNCellBase):
    """One step of an LSTM: (h, c)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: State | None = None) -> State:
        return self._next(lstm_step, input, None if hx is None else tuple(hx), 2)
