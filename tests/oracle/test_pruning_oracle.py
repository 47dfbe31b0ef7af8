"""Pruned, fused, unset and stateless modules against torch."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.nn.utils.prune")

import wgtorch as wt  # noqa: E402
from tests.oracle.beside import Library, Programs, alike, outcome  # noqa: E402

RUN = Programs()


class Here(Library):
    def __init__(self, t, device):
        super().__init__(t, device)
        self.prune = t.nn.utils.prune

    def linear(self, *sizes):
        return self.same(self.t.nn.Linear(*sizes))

    def made(self, form):
        return self.same(eval(f"nn.{form}", {"nn": self.t.nn}))


def told(layer, x):
    result = layer(x)
    result.square().sum().backward()
    state = layer.state_dict()
    grads = [[name, p.grad] for name, p in layer.named_parameters()]
    return result, list(state), list(state.values()), grads, len(layer._forward_pre_hooks)


PRUNED = {
    "identity": ["identity(m, 'weight')"],
    "l1": ["l1_unstructured(m, 'weight', 5)"],
    "l1, a part": ["l1_unstructured(m, 'weight', 0.3)"],
    "l1 of scores": ["l1_unstructured(m, 'weight', 4, s)"],
    "l1 of none": ["l1_unstructured(m, 'weight', 0)"],
    "all at random": ["random_unstructured(m, 'weight', 1.0)"],
    "all channels at random": ["random_structured(m, 'weight', 5, 1)"],
    "ln": ["ln_structured(m, 'weight', 2, 2, 1)"],
    "ln, a part": ["ln_structured(m, 'weight', 0.5, 1, -1, s)"],
    "ln, infinite": ["ln_structured(m, 'weight', 1, float('inf'), 0)"],
    "mask": ["custom_from_mask(m, 'weight', (s > 0))"],
    "l1 twice": ["l1_unstructured(m, 'weight', 5)", "l1_unstructured(m, 'weight', 0.5)"],
    "l1 after ln": ["ln_structured(m, 'weight', 2, 2, 1)", "l1_unstructured(m, 'weight', 4)"],
    "ln after ln": ["ln_structured(m, 'weight', 2, 2, 1)", "ln_structured(m, 'weight', 1, 2, 1)"],
    "mask after l1": ["l1_unstructured(m, 'weight', 5)", "custom_from_mask(m, 'weight', s > 0)"],
    "three": ["l1_unstructured(m, 'bias', 1)", "l1_unstructured(m, 'weight', 0.5)",
              "l1_unstructured(m, 'weight', 1)", "ln_structured(m, 'weight', 1, 2, 0)"],
    "removed": ["l1_unstructured(m, 'weight', 5)", "remove(m, 'weight')"],
    "global": ["global_unstructured([(m, 'weight'), (m, 'bias')], L1Unstructured, amount=6)"],
    "global, again": ["l1_unstructured(m, 'weight', 5)",
                      "global_unstructured([(m, 'weight'), (m, 'bias')], L1Unstructured,"
                      " {(m, 'weight'): s}, amount=0.4)"],
    "is_pruned": ["l1_unstructured(m, 'weight', 5)", "identity(m, 'weight' * is_pruned(m))"],
    "too many": ["l1_unstructured(m, 'weight', 50)"],
    "too much": ["l1_unstructured(m, 'weight', 1.5)"],
    "less than nothing": ["l1_unstructured(m, 'weight', -1)"],
    "a word": ["l1_unstructured(m, 'weight', 'most')"],
    "other scores": ["l1_unstructured(m, 'weight', 1, s[0])"],
    "a vector": ["ln_structured(m, 'bias', 1, 2, 0)"],
    "no such dim": ["ln_structured(m, 'weight', 1, 2, 2)"],
    "another mask": ["custom_from_mask(m, 'weight', s[0])"],
    "not pruned": ["remove(m, 'weight')"],
    "global of channels": ["global_unstructured([(m, 'weight')], LnStructured, amount=1, n=2)"],
    "global of one": ["global_unstructured(3, L1Unstructured, amount=1)"],
    "global by a list": ["global_unstructured([(m, 'weight')], L1Unstructured, [1], amount=1)"],
    "another tensor": ["PruningContainer(named('weight')).add_pruning_method(named('bias'))"],
    "no method": ["PruningContainer(named('weight')).add_pruning_method(3)"],
}  # fmt: skip


def pruned(h, calls):
    layer = h.linear(5, 4)

    def named(name):
        method = h.prune.L1Unstructured(1)
        method._tensor_name = name
        return method

    for call in calls:
        eval(call, vars(h.prune) | {"m": layer, "s": h.tensor(4, 5), "named": named})
    return told(layer, h.tensor(3, 5))


for _name, _calls in PRUNED.items():
    RUN[_name] = lambda h, calls=_calls: pruned(h, calls)


@RUN
def prune_without_a_module(h):
    method = h.prune.L1Unstructured(3)
    return method.prune(h.tensor(2, 4)), method.prune(
        h.tensor(4), h.t.tensor([1.0, 0, 1, 1], device=h.device), h.tensor(4)
    )


FUSED = {
    "conv": ("Conv2d(3, 4, 2)", "BatchNorm2d(4)", (2, 3, 5, 5)),
    "conv without a bias": ("Conv1d(3, 4, 2, bias=False)", "BatchNorm1d(4)", (2, 3, 5)),
    "conv and a norm without weights": ("Conv1d(3, 4, 2)", "BatchNorm1d(4, affine=False)",
                                        (2, 3, 5)),
    "transposed": ("ConvTranspose2d(3, 4, 2)", "BatchNorm2d(4)", (2, 3, 5, 5)),
    "linear": ("Linear(3, 4)", "BatchNorm1d(4)", (2, 3)),
    "linear without a bias": ("Linear(3, 4, bias=False)", "BatchNorm1d(4)", (2, 3)),
    "linear and one channel": ("Linear(3, 4)", "BatchNorm1d(1)", (2, 1, 3)),
    "other channels": ("Linear(3, 4)", "BatchNorm1d(3)", (2, 3)),
    "no statistics": ("Conv1d(3, 4, 2)", "BatchNorm1d(4, track_running_stats=False)", (2, 3, 5)),
}  # fmt: skip


def fused(h, layer, norm, shape):
    layer, norm = h.made(layer).eval(), h.made(norm).eval()
    if isinstance(layer, h.t.nn.Linear):
        whole = h.utils.fuse_linear_bn_eval(layer, norm)
    else:
        whole = h.utils.fuse_conv_bn_eval(layer, norm, "Transpose" in repr(layer))
    return told(whole, h.tensor(*shape)), repr(whole)


for _name, _forms in FUSED.items():
    RUN[f"fused {_name}"] = lambda h, forms=_forms: fused(h, *forms)


@RUN
def fused_while_training(h):
    h.utils.fusion.fuse_conv_bn_eval(h.t.nn.Conv1d(3, 4, 2), h.t.nn.BatchNorm1d(4))


@RUN
def not_initialized(h):
    made = [h.utils.skip_init(h.t.nn.Conv2d, 3, 4, 2, device=h.device),
            h.utils.skip_init(h.t.nn.BatchNorm1d, num_features=3),
            h.utils.skip_init(h.t.nn.LSTM, 3, 4)]  # fmt: skip
    shapes = [[[n, p.shape, p.requires_grad] for n, p in m.named_parameters()] for m in made]
    return [repr(m) for m in made], shapes, str(made[0].weight.device.type == h.device)


@RUN
def not_a_module(h):
    h.utils.skip_init(int)


@RUN
def without_a_device(h):
    h.utils.skip_init(h.t.nn.ReLU)


class Counting:
    """A module with a buffer that it sets anew, and a weight under two names."""

    @staticmethod
    def of(t):
        class Counts(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", t.zeros(1))
                self.a = t.nn.Parameter(t.ones(1))
                self.b = self.a

            def forward(self, x, more=0):
                self.count = self.count + 1
                return x * self.a + self.b + more

        return Counts()


@RUN
def stateless(h):
    module = Counting.of(h.t).to(h.device)
    given = {"count": h.tensor(1), "a": h.tensor(1)}
    result = h.utils.stateless.functional_call(module, given, h.tensor(3), {"more": 2})
    return result, given["count"], module.count, module.a


@RUN
def stateless_from_func(h):
    module = Counting.of(h.t).to(h.device)
    given = {"count": h.tensor(1), "b": h.tensor(1)}
    return h.t.func.functional_call(module, given, (h.tensor(3),)), given["count"], module.count


@RUN
def tied_to_two_values(h):
    given = {"a": h.tensor(1), "b": h.tensor(1)}
    h.t.func.functional_call(Counting.of(h.t).to(h.device), given, h.tensor(3))


@pytest.mark.parametrize("name", RUN)
def test_as_torch(name, device):
    got, warned = outcome(wt, lambda t: RUN[name](Here(t, device)))
    wanted, also = outcome(torch, lambda t: RUN[name](Here(t, "cpu")))
    assert alike(got, wanted), (got, wanted)
    assert warned == also
