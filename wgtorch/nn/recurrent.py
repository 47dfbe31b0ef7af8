"""Recurrent networks: a state that a sequence moves, step by step."""

from __future__ import annotations

import warnings
from typing import Any

import wgtorch
from wgtorch import Tensor
from wgtorch.nn import functional as F
from wgtorch.nn.cells import State, Step, Weights, gru_step, lstm_step, relu_step, tanh_step
from wgtorch.nn.parameter import Parameter
from wgtorch.nn.utils.rnn import PackedSequence

WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
USUAL = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0,
         "bidirectional": False}  # fmt: skip
GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
STEPS: dict[str, Step] = {
    "LSTM": lstm_step, "GRU": gru_step, "RNN_TANH": tanh_step, "RNN_RELU": relu_step
}  # fmt: skip


class RNNBase(Weights):
    """Layers of one direction or two. Inputs are (L, N, input_size), (N, L, input_size) if
    `batch_first`, (L, input_size), or packed; states (layers * directions, N, hidden_size)."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        check_sizes(mode, hidden_size, num_layers, dropout, proj_size)
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = float(dropout), bidirectional, proj_size
        made = {"device": device, "dtype": dtype}
        gates, out = GATES[mode] * hidden_size, proj_size or hidden_size
        directions = 2 if bidirectional else 1
        for layer in range(num_layers):
            width = input_size if layer == 0 else out * directions
            for suffix in self._suffixes(layer):
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (gates, width),
                    "weight_hh": (gates, out),
                }
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    setattr(self, name + suffix, Parameter(wgtorch.empty(shape, **made)))
        self.reset_parameters()

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"][: 2 if self.bidirectional else 1]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        suffixes = [s for layer in range(self.num_layers) for s in self._suffixes(layer)]
        found = [self._weights(suffix) for suffix in suffixes]
        return [[weight for weight in weights if weight is not None] for weights in found]

    def _weights(self, suffix: str) -> list[Any]:
        return [getattr(self, name + suffix, None) for name in WEIGHTS]

    def flatten_parameters(self) -> None:
        """Nothing to do here: parameters are used where they are."""

    def forward(self, input: Any, hx: Any = None) -> Any:
        packed = isinstance(input, PackedSequence)
        if packed:
            data, sizes = input.data, input.batch_sizes.tolist()
            rows = list(data.split(sizes))
            return self._run(rows, sizes[0], hx, input)
        if input.ndim not in (2, 3):
            raise ValueError(
                f"{self.mode}: Expected input to be 2D or 3D, got {input.ndim}D instead"
            )
        single = input.ndim == 2
        sequence = input.unsqueeze(1) if single else input
        if self.batch_first and not single:
            sequence = sequence.transpose(0, 1)
        if single and hx is not None:
            hx = tuple(h.unsqueeze(1) for h in hx) if isinstance(hx, tuple) else hx.unsqueeze(1)
        output, state = self._run(sequence, sequence.shape[1], hx, None)
        if single:
            squeezed = [h.squeeze(1) for h in (state if isinstance(state, tuple) else (state,))]
            return output.squeeze(1), tuple(squeezed) if isinstance(state, tuple) else squeezed[0]
        return output.transpose(0, 1) if self.batch_first else output, state

    def _check_dtype(self, input: Tensor) -> None:
        dtype, kept = input.dtype, self.weight_ih_l0.dtype
        if dtype is not kept and not wgtorch.is_autocast_enabled(input.device.type):
            raise ValueError(
                f"RNN input dtype ({dtype}) does not match weight dtype ({kept}). Convert input:"
                f" input.to({kept}), or convert model: model.to({dtype})"
            )

    def _run(self, rows: Any, batch: int, hx: Any, packed: Any) -> tuple[Any, Any]:
        first = rows[0] if packed is not None else rows
        self._check_dtype(first)
        if first.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got"
                f" {first.shape[-1]}"
            )
        order = None if packed is None else packed.sorted_indices
        states = self._first_states(hx, batch, first, order)
        last: list[State] = []
        for layer in range(self.num_layers):
            outs = []
            for direction, suffix in enumerate(self._suffixes(layer)):
                start = tuple(h[len(last)] for h in states)
                out, state = self._layer(rows, suffix, start, direction == 1)
                outs.append(out)
                last.append(state)
            rows = self._joined(outs, packed is not None, layer)
        final: Any = tuple(wgtorch.stack(h) for h in zip(*last, strict=True))
        if packed is not None:
            if packed.unsorted_indices is not None:
                final = tuple(h.index_select(1, packed.unsorted_indices) for h in final)
            rows = packed._replace(data=wgtorch.cat(rows))
        return rows, final if self.mode == "LSTM" else final[0]

    def _joined(self, outs: list, packed: bool, layer: int) -> Any:
        """Both directions side by side, with dropout between layers."""
        dropout = self.dropout if layer + 1 < self.num_layers else 0.0
        if not packed:
            joined = outs[0] if len(outs) == 1 else wgtorch.cat(outs, -1)
            return F.dropout(joined, dropout, self.training) if dropout else joined
        steps = [parts[0] if len(parts) == 1 else wgtorch.cat(parts, -1)
                 for parts in zip(*outs, strict=True)]  # fmt: skip
        return [F.dropout(s, dropout, self.training) for s in steps] if dropout else steps

    def _first_states(self, hx: Any, batch: int, like: Tensor, order: Any) -> State:
        count = self.num_layers * (2 if self.bidirectional else 1)
        sizes = [self.proj_size or self.hidden_size]
        sizes += [self.hidden_size] if self.mode == "LSTM" else []
        if hx is None:
            return tuple(like.new_zeros((count, batch, size)) for size in sizes)
        given = tuple(hx) if self.mode == "LSTM" else (hx,)
        if len(given) != len(sizes):
            raise RuntimeError(f"{self.mode}: expected {len(sizes)} states, got {len(given)}")
        for h, size in zip(given, sizes, strict=True):
            if tuple(h.shape) != (count, batch, size):
                raise RuntimeError(
                    f"Expected hidden size {(count, batch, size)}, got {list(h.shape)}"
                )
        return given if order is None else tuple(h.index_select(1, order) for h in given)

    def _layer(self, rows: Any, suffix: str, state: State, backwards: bool) -> tuple[Any, State]:
        """One direction of one layer: (outputs, last state)."""
        weights = self._weights(suffix)
        step = STEPS[self.mode]
        if isinstance(rows, list):
            return packed_layer(step, rows, weights, state, backwards)
        inputs = F.linear(rows, weights[0], weights[2]).unbind(0)
        outs: list[Tensor] = []
        for input in reversed(inputs) if backwards else inputs:
            state = advanced(step, input, state, weights)
            outs.append(state[0])
        return wgtorch.stack(outs[::-1] if backwards else outs), state

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}"
        for name, usual in USUAL.items():
            if getattr(self, name) != usual:
                shown += f", {name}={getattr(self, name)}"
        return shown


def check_sizes(mode: str, hidden: int, layers: int, dropout: float, proj: int) -> None:
    if not isinstance(dropout, int | float) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element"
            " being zeroed"
        )
    if dropout > 0 and layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout"
            f" expects num_layers greater than 1, but got dropout={dropout} and"
            f" num_layers={layers}",
            stacklevel=4,
        )
    if hidden <= 0:
        raise ValueError("hidden_size must be greater than zero")
    if layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj < 0 or proj >= hidden:
        raise ValueError("proj_size has to be smaller than hidden_size and not negative")
    if proj and mode != "LSTM":
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


def advanced(step: Step, input: Tensor, state: State, weights: list) -> State:
    """One step, and what projects its result."""
    state = step(input, state, F.linear(state[0], weights[1], weights[3]))
    if weights[4] is not None:
        state = (F.linear(state[0], weights[4]), *state[1:])
    return state


def packed_layer(step: Step, rows: list, weights: list, first: State, backwards: bool):
    """Rows of fewer and fewer sequences: those that end first stand last."""
    outs: list[Tensor] = []
    ended: list[State] = []  # of sequences that are over
    state = tuple(h[: rows[-1 if backwards else 0].shape[0]] for h in first)
    for row in reversed(rows) if backwards else rows:
        have, count = state[0].shape[0], row.shape[0]
        if count < have:
            ended.append(tuple(h[count:] for h in state))
            state = tuple(h[:count] for h in state)
        elif count > have:
            state = tuple(
                wgtorch.cat((h, f[have:count])) for h, f in zip(state, first, strict=True)
            )
        state = advanced(step, F.linear(row, weights[0], weights[2]), state, weights)
        outs.append(state[0])
    parts = [state, *ended[::-1]]
    last = tuple(wgtorch.cat(h) if len(parts) > 1 else h[0] for h in zip(*parts, strict=True))
    return outs[::-1] if backwards else outs, last


class LSTM(RNNBase):
    """Long short-term memory (S. Hochreiter and J. Schmidhuber, 1997); the state is (h, c)."""

    def __init__(self, input_size: int, hidden_size: int, *args: Any, **given: Any):
        super().__init__("LSTM", input_size, hidden_size, *args, **given)


class GRU(RNNBase):
    """Gated recurrent units (K. Cho and others, 2014)."""

    def __init__(self, input_size: int, hidden_size: int, *args: Any, **given: Any):
        super().__init__("GRU", input_size, hidden_size, *args, **given)


class RNN(RNNBase):
    """h' = tanh(W x + b + V h + c), or relu."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        *args: Any,
        **given: Any,
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        self.nonlinearity = nonlinearity
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, *args, **given
        )
