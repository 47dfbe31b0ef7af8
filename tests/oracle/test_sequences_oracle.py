"""Recurrent networks, attention and transformers beside torch 2.13: values and gradients."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from twins import array, compare  # noqa: E402

import wgtorch  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*nested_tensor:UserWarning", "ignore:.*dropout option:UserWarning",
    "ignore:.*same key:UserWarning", "ignore:.*mismatched:UserWarning",
    "ignore:.*oneDNN:UserWarning",
)  # fmt: skip


NETWORKS = [
    ("LSTM", {}), ("LSTM", {"num_layers": 2, "bidirectional": True}),
    ("LSTM", {"proj_size": 3, "bias": False}), ("GRU", {"batch_first": True}),
    ("GRU", {"num_layers": 2}), ("RNN", {"nonlinearity": "relu", "bidirectional": True}),
    ("RNN", {}),
]  # fmt: skip


@pytest.mark.parametrize("name, options", NETWORKS, ids=str)
def test_recurrent(name, options, device):
    def make(library):
        return getattr(library.nn, name)(4, 5, **options)

    compare(make, device, lambda lib, module, x: module(x[0]), array(3, 2, 4))
    compare(make, device, lambda lib, module, x: module(x[0][:, 0]), array(3, 2, 4))
    lengths = [3, 1, 2]
    first = options.get("batch_first", False)

    def packed(library, module, x):
        rnn = library.nn.utils.rnn
        sequence = rnn.pack_padded_sequence(x[0], lengths, first, enforce_sorted=False)
        out, state = module(sequence)
        return rnn.pad_packed_sequence(out, first)[0], state

    compare(make, device, packed, array(3, 3, 4))


def test_recurrent_with_states(device):
    def make(library):
        return library.nn.LSTM(4, 5)

    compare(make, device, lambda lib, module, x: module(x[0], (x[1], x[2])),
            array(3, 2, 4), array(1, 2, 5), array(1, 2, 5, seed=2))  # fmt: skip
    for cell, states in (("LSTMCell", 2), ("GRUCell", 1), ("RNNCell", 1)):

        def one(library, name=cell):
            return getattr(library.nn, name)(4, 5)

        def call(library, module, x, count=states):
            return module(x[0], (x[1], x[2]) if count == 2 else x[1])

        given = [array(2, 4), array(2, 5), array(2, 5, seed=2)][: 1 + states]
        compare(one, device, call, *given)


@pytest.mark.parametrize("options", [
    {}, {"batch_first": True, "bias": False}, {"kdim": 3, "vdim": 5}, {"add_bias_kv": True},
    {"add_zero_attn": True}], ids=str)  # fmt: skip
def test_multihead_attention(options, device):
    def make(library):
        return library.nn.MultiheadAttention(8, 2, **options)

    q, k, v = (
        array(4, 2, 8),
        array(3, 2, options.get("kdim", 8)),
        array(3, 2, options.get("vdim", 8)),
    )
    if options.get("batch_first"):
        q, k, v = (a.swapaxes(0, 1).copy() for a in (q, k, v))
    compare(make, device, lambda lib, module, x: module(*x), q, k, v)

    def masked(library, module, x):
        place = x[0].device
        padding = library.tensor([[False, False, True], [False, False, False]], device=place)
        mask = library.ones(4, 3, dtype=library.bool, device=place).triu(2)
        return module(*x, key_padding_mask=padding, attn_mask=mask, average_attn_weights=False)

    compare(make, device, masked, q, k, v)


def test_scaled_dot_product_attention(device):
    def make(library):
        return library.nn.Identity()

    def call(**options):
        def attend(library, module, x):
            made = {k: v(library, x[0].device) if callable(v) else v for k, v in options.items()}
            return library.nn.functional.scaled_dot_product_attention(*x, **made)

        return attend

    q, k, v = array(2, 4, 5, 6), array(2, 4, 3, 6), array(2, 4, 3, 7)
    for options in (
        {}, {"is_causal": True}, {"scale": 0.3},
        {"attn_mask": lambda lib, place: lib.arange(15, device=place).reshape(5, 3) % 4 != 1},
        {"attn_mask": lambda lib, place: lib.arange(15, device=place).reshape(5, 3) > 4},
        {"attn_mask": lambda lib, place: lib.arange(15, device=place).reshape(5, 3).float().cos()},
    ):  # fmt: skip
        compare(make, device, call(**options), q, k, v)
    compare(make, device, call(enable_gqa=True), q, k[:, :2].copy(), v[:, :2].copy())


@pytest.mark.parametrize(
    "options",
    [{}, {"norm_first": True, "activation": "gelu", "batch_first": True}, {"bias": False}],
    ids=str,
)
def test_transformers(options, device):
    def layers(library):
        layer = library.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, **options)
        return library.nn.TransformerEncoder(layer, 2, library.nn.LayerNorm(8))

    compare(layers, device, lambda lib, module, x: module(x[0]), array(3, 2, 8))

    def whole(library):
        return library.nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, **options)

    def call(library, module, x):
        size = x[1].shape[1 if options.get("batch_first") else 0]
        mask = library.nn.Transformer.generate_square_subsequent_mask(size).to(x[0].device)
        return module(x[0], x[1], tgt_mask=mask)

    compare(whole, device, call, array(3, 2, 8), array(3, 2, 8, seed=2))


def test_padding_of_sequences(device):
    parts = [array(n, 2, seed=n) for n in (2, 4, 3)]
    for library, place in ((wgtorch, device), (torch, "cpu")):
        rnn = library.nn.utils.rnn
        tensors = [library.tensor(p, device=place) for p in parts]
        padded = rnn.pad_sequence(tensors, batch_first=True, padding_value=-1.0)
        left = rnn.pad_sequence(tensors, padding_side="left")
        again = rnn.unpack_sequence(rnn.pack_sequence(tensors, enforce_sorted=False))
        for part, back in zip(parts, again, strict=True):
            np.testing.assert_array_equal(back.cpu().numpy(), part)
        if library is wgtorch:
            ours = [padded.cpu().numpy(), left.cpu().numpy()]
        else:
            for got, want in zip(ours, (padded, left), strict=True):
                np.testing.assert_array_equal(got, want.numpy())
    with pytest.raises(RuntimeError, match="must be sorted in decreasing order"):
        wgtorch.nn.utils.rnn.pack_padded_sequence(wgtorch.zeros(3, 2, 1), [1, 3])


@pytest.mark.parametrize("make, error", [
    (lambda nn: nn.LSTM(4, 0), ValueError), (lambda nn: nn.GRU(4, 5, proj_size=2), ValueError),
    (lambda nn: nn.RNN(4, 5, nonlinearity="elu"), ValueError),
    (lambda nn: nn.MultiheadAttention(7, 2), AssertionError),
    (lambda nn: nn.TransformerEncoderLayer(8, 2, activation="x"), RuntimeError),
])  # fmt: skip
def test_refusals(make, error):
    for nn in (torch.nn, wgtorch.nn):
        with pytest.raises(error):
            make(nn)


@pytest.mark.parametrize("name", ["double", "float", "half", "long", "int", "cpu"])
def test_packed_sequences_change_as_tensors_do(name):
    def changed(library):
        x = library.arange(6.0).reshape(3, 2, 1)
        packed = library.nn.utils.rnn.pack_padded_sequence(x, [1, 3], enforce_sorted=False)
        return getattr(packed, name)()

    theirs, ours = changed(torch), changed(wgtorch)
    assert str(theirs.data.dtype) == str(ours.data.dtype)
    assert theirs.data.tolist() == ours.data.tolist()
    assert theirs.unsorted_indices.tolist() == ours.unsorted_indices.tolist()
