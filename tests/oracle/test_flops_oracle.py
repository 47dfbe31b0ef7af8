"""Counts of operations against torch, of ops and of modules, forward and backward."""

import importlib

import pytest

torch = pytest.importorskip("torch")

import wgtorch as wt  # noqa: E402

FORMS = {
    "mm": "r(3, 4) @ r(4, 5)",
    "bmm": "r(2, 3, 4) @ r(2, 4, 5)",
    "a shared matrix": "r(2, 3, 4) @ r(4, 5)",
    "addmm": "t.addmm(r(5), r(3, 4), r(4, 5))",
    "baddbmm": "t.baddbmm(r(2, 3, 5), r(2, 3, 4), r(2, 4, 5))",
    "linear": "F.linear(r(6, 4), r(5, 4), r(5))",
    "linear without a bias": "F.linear(r(2, 6, 4), r(5, 4))",
    "einsum": "t.einsum('bij,bjk->bik', r(2, 3, 4), r(2, 4, 5))",
    "conv1d": "F.conv1d(r(2, 4, 8), r(6, 4, 3))",
    "conv2d": "F.conv2d(r(2, 4, 8, 8), r(6, 4, 3, 3), r(6), padding=1)",
    "a conv with steps": "F.conv2d(r(2, 4, 8, 8), r(6, 4, 3, 3), stride=2, dilation=2)",
    "a transposed conv": "F.conv_transpose2d(r(2, 4, 8, 8), r(4, 6, 3, 3), stride=2)",
    "without products": "r(3, 4).exp() * 2",
    "layers": "nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(144, 10)).to(d)"
    "(r(2, 3, 8, 8))",
    "an encoder": "nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).to(d)(r(2, 5, 8))",
    "a recurrent cell": "nn.GRUCell(3, 4).to(d)(r(2, 3), r(2, 4))",
}  # fmt: skip


def counts(t, form, device):
    counter = importlib.import_module(f"{t.__name__}.utils.flop_counter")
    known = {"t": t, "nn": t.nn, "F": t.nn.functional, "d": device}
    known["r"] = lambda *shape: t.ones(*shape, device=device, requires_grad=True)
    with counter.FlopCounterMode(display=False) as mode:
        eval(form, known).sum().backward()
    found = mode.get_flop_counts()
    return {name: {str(op): n for op, n in ops.items()} for name, ops in found.items()}


@pytest.mark.parametrize("name", FORMS)
def test_as_torch(name, device):
    got, wanted = counts(wt, FORMS[name], device), counts(torch, FORMS[name], "cpu")
    if name == "an encoder":  # torch's own kernel of attention counts nothing on a cpu
        got, wanted = [{m: o for m, o in c.items() if "linear" in m} for c in (got, wanted)]
    assert got == wanted
