"""Adaptive softmax, and attention in each way that can be chosen, against torch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import wgtorch as wt  # noqa: E402
from tests.oracle.beside import alike, outcome  # noqa: E402


class Here:
    def __init__(self, t, device):
        self.t, self.device, self.nn, self.F = t, device, t.nn, t.nn.functional
        self.rng = np.random.default_rng(0)

    def tensor(self, *shape, wants=False):
        values = self.rng.standard_normal(shape).astype(np.float32)
        return self.t.tensor(values, device=self.device, requires_grad=wants)

    def classes(self, *data):
        return self.t.tensor(data, device=self.device)


def adaptive(h, *given, **options):
    layer = h.nn.AdaptiveLogSoftmaxWithLoss(*given, **options)
    with h.t.no_grad():
        for _, parameter in sorted(layer.named_parameters()):
            parameter.copy_(h.tensor(*parameter.shape))
    return layer.to(h.device)


def learned(h, layer, target):
    x = h.tensor(len(target), layer.in_features, wants=True)
    output, loss = layer(x, h.classes(*target))
    (output.square().sum() + loss).backward()
    grads = [[name, p.grad] for name, p in layer.named_parameters()]
    return output, loss, x.grad, grads, layer.log_prob(x), layer.predict(x), repr(layer)


def attended(h, form, shapes=((2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 2))):
    q, k, v = [h.tensor(*shape, wants=True) for shape in shapes]
    mask = h.tensor(*shapes[0][:-1], shapes[1][-2])
    out = eval(form, {"f": h.F.scaled_dot_product_attention, "q": q, "k": k, "v": v, "m": mask})
    (out * h.tensor(*out.shape)).sum().backward()
    return out, q.grad, k.grad, v.grad


ADAPTIVE = {
    "all clusters": lambda h: learned(h, adaptive(h, 8, 20, [4, 9]), [0, 3, 19, 5, 8, 9, 1]),
    "one cluster": lambda h: learned(h, adaptive(h, 8, 6, [2], 2.0, True), [1, 5]),
    "the shortlist alone": lambda h: learned(h, adaptive(h, 8, 20, [4, 9, 15]), [3, 0]),
    "one row": lambda h: learned(h, adaptive(h, 8, 20, [4, 9]), [10]),
    "no batch": lambda h: list(adaptive(h, 8, 20, [4])(h.tensor(8), h.classes(7)[0])),
    "no cutoffs": lambda h: adaptive(h, 8, 20, []),
    "falling cutoffs": lambda h: adaptive(h, 8, 20, [9, 4]),
    "a cutoff too large": lambda h: adaptive(h, 8, 20, [20]),
    "a class too large": lambda h: adaptive(h, 8, 20, [4])(h.tensor(2, 8), h.classes(3, 20)),
    "another batch": lambda h: adaptive(h, 8, 20, [4])(h.tensor(2, 8), h.classes(3)),
    "a matrix too few": lambda h: adaptive(h, 8, 20, [4])(h.tensor(1), h.classes(3)),
    "two targets": lambda h: adaptive(h, 8, 20, [4])(h.tensor(1, 8), h.classes([3])),
    "a batch too much": lambda h: adaptive(h, 8, 20, [4])(h.tensor(1, 8), h.classes(3)[0]),
}


@pytest.mark.parametrize("name", ADAPTIVE)
def test_adaptive_softmax(name, device):
    got = outcome(wt, lambda t: ADAPTIVE[name](Here(t, device)))
    wanted = outcome(torch, lambda t: ADAPTIVE[name](Here(t, "cpu")))
    assert alike(got[0], wanted[0]), (got, wanted)


FORMS = ["f(q, k, v)", "f(q, k, v, is_causal=True)", "f(q, k, v, m)", "f(q, k, v, m[0, 0] > -1)",
         "f(q, k, v, m[..., :1, :])", "f(q, k, v, scale=0.3)",
         "f(q, k[:, :1], v[:, :1], enable_gqa=True)", "f(q[0, 0], k[0, 0], v[0, 0])"]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_attention_by_blocks(form, device, monkeypatch):
    """Of two queries, so that five are three blocks."""
    monkeypatch.setattr(wt.nn.scores, "BLOCK", 2)
    kernels = wt.nn.attention
    with kernels.sdpa_kernel(kernels.SDPBackend.EFFICIENT_ATTENTION):
        got = outcome(wt, lambda t: attended(Here(t, device), form))
    assert alike(got[0], outcome(torch, lambda t: attended(Here(t, "cpu"), form))[0])


CHOICES = ["[]", "SDPBackend.CUDNN_ATTENTION", "SDPBackend.MATH", "'x'", "[SDPBackend.ERROR]"]


@pytest.mark.parametrize("choice", CHOICES)
def test_what_cannot_be_chosen(choice):
    def program(t):
        attention = __import__(f"{t.__name__}.nn.attention").nn.attention
        with attention.sdpa_kernel(eval(choice, vars(attention))):
            return attended(Here(t, "cpu"), "f(q, k, v)")

    assert alike(outcome(wt, program)[0], outcome(torch, program)[0])
