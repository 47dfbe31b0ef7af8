"""Parametrized weights against torch: values, gradients, state, and what is refused."""

import copy

import pytest

torch = pytest.importorskip("torch")

import wgtorch as wt  # noqa: E402
from tests.oracle.beside import Library, Programs, alike, outcome  # noqa: E402

RUN = Programs()


class Here(Library):
    """`h.linear(5, 3)` is the same layer in both libraries."""

    def linear(self, *sizes):
        return self.same(self.t.nn.Linear(*sizes))

    def module(self, forward, right_inverse=None):
        members = {"forward": lambda self, *x: forward(*x)}
        if right_inverse is not None:
            members["right_inverse"] = lambda self, x: right_inverse(x)
        return type("Made", (self.t.nn.Module,), members)()

    def learned(self, module, *shape):
        """The result, the gradients by name, and the state."""
        result = module(self.tensor(*shape))
        (result * self.tensor(*result.shape)).sum().backward()
        grads = [[name, p.grad] for name, p in module.named_parameters()]
        return result, grads, list(module.state_dict()), list(module.state_dict().values())


@RUN
def a_symmetric_weight(h):
    layer = h.linear(3, 3)
    h.utils.parametrize.register_parametrization(layer, "weight", h.module(lambda x: x + x.mT))
    return repr(layer), h.learned(layer, 2, 3)


@RUN
def chained_and_assigned(h):
    p, layer = h.utils.parametrize, h.linear(3, 2)
    p.register_parametrization(layer, "weight", h.module(lambda x: 2 * x, lambda x: x / 2))
    p.register_parametrization(layer, "weight", h.module(lambda x: x + 1, lambda x: x - 1))
    known = [layer.weight, layer.parametrizations.weight.original]
    layer.weight = h.tensor(2, 3)
    return known, layer.weight, h.learned(layer, 2, 3)


@RUN
def of_two_tensors(h):
    p, layer = h.utils.parametrize, h.linear(3, 2)
    outer = h.module(lambda a, b: a[:, None] * b, lambda w: (w[:, 0], w[0]))
    p.register_parametrization(layer, "weight", outer)
    learned = h.learned(layer, 2, 3)
    p.remove_parametrizations(layer, "weight")
    return learned, layer.weight, repr(layer), type(layer.weight).__name__, list(layer.state_dict())


@RUN
def a_buffer_and_the_original_again(h):
    p, layer = h.utils.parametrize, h.t.nn.Module()
    layer.register_buffer("kept", h.tensor(3))
    p.register_parametrization(layer, "kept", h.module(h.t.tanh))
    before = [p.is_parametrized(layer), p.is_parametrized(layer, "kept"), list(layer.state_dict())]
    kind = p.type_before_parametrizations(layer).__name__, type(layer).__name__
    p.remove_parametrizations(layer, "kept", leave_parametrized=False)
    return before, kind, layer.kept, list(layer.state_dict()), p.is_parametrized(layer)


@RUN
def cached_ones_are_computed_once(h):
    p, layer, calls = h.utils.parametrize, h.linear(3, 3), []
    p.register_parametrization(layer, "weight", h.module(lambda x: calls.append(1) or x * 2))
    calls.clear()
    with p.cached(), p.cached():
        same = layer.weight is layer.weight
    return same, len(calls), layer.weight is layer.weight, len(calls)


@RUN
def transferred(h):
    p, a, b = h.utils.parametrize, h.linear(3, 2), h.linear(3, 2)
    h.utils.parametrizations.weight_norm(a)
    p.transfer_parametrizations_and_params(a, b)
    shared = b.parametrizations.weight.original0 is a.parametrizations.weight.original0
    return shared, h.learned(b, 2, 3)


@RUN
def a_copy(h):
    layer = h.utils.parametrizations.weight_norm(h.linear(3, 2))
    other = copy.deepcopy(layer)
    with h.t.no_grad():
        other.parametrizations.weight.original0.zero_()
    return layer.weight, other.weight


for _dim in (0, 1, 2, -1, -2, None):

    def weight_norm(h, dim=_dim):
        return h.learned(h.utils.parametrizations.weight_norm(conv(h), dim=dim), 2, 3, 5)

    def old_weight_norm(h, dim=_dim):
        layer = h.utils.weight_norm(conv(h), dim=dim)
        learned = h.learned(layer, 2, 3, 5)
        h.utils.remove_weight_norm(layer)
        return learned, layer.weight, list(layer.state_dict())

    RUN[f"weight_norm of dim {_dim}"] = weight_norm
    RUN[f"old weight_norm of dim {_dim}"] = old_weight_norm


def conv(h):
    return h.same(h.t.nn.Conv1d(3, 4, 2))


@RUN
def old_state_in_new_names(h):
    h.t.manual_seed(0)
    old = h.utils.weight_norm(h.linear(3, 2)).state_dict()
    new = h.utils.parametrizations.weight_norm(h.linear(3, 2))
    said = str(new.load_state_dict(old))
    return said, new.weight, list(new.state_dict())


@RUN
def spectral_norm(h):
    layer = h.same(h.utils.parametrizations.spectral_norm(h.t.nn.ConvTranspose1d(3, 4, 2)))
    trained = h.learned(layer, 2, 3, 5)
    return trained, h.learned(layer.eval(), 2, 3, 5), repr(layer)


@RUN
def spectral_norm_of_a_vector(h):
    return h.learned(h.utils.parametrizations.spectral_norm(h.linear(3, 2), "bias"), 2, 3)


@RUN
def old_spectral_norm(h):
    layer = h.utils.spectral_norm(h.t.nn.ConvTranspose1d(3, 4, 2), n_power_iterations=2)
    h.same(layer)
    trained = h.learned(layer, 2, 3, 5)
    evaluated = h.learned(layer.eval(), 2, 3, 5)
    noted = layer.state_dict()._metadata[""]["spectral_norm"]
    h.utils.remove_spectral_norm(layer)
    return trained, evaluated, list(noted.items()), layer.weight, list(layer.state_dict())


@RUN
def old_spectral_norm_reads_version_0(h):
    layer = h.same(h.utils.spectral_norm(h.t.nn.Linear(3, 2)))
    layer(h.tensor(2, 3))
    state = dict(layer.state_dict()) | {"weight": layer.weight.detach()}
    del state["weight_v"]
    said = str(layer.load_state_dict(state))
    return said, layer.eval()(h.tensor(2, 3))


for _map in ("matrix_exp", "cayley", "householder"):
    for _sizes in ((4, 4), (3, 5), (5, 3)):

        def orthogonal(h, name=_map, sizes=_sizes):
            layer = h.utils.parametrizations.orthogonal(h.linear(*sizes), "weight", name)
            with h.t.no_grad():  # what completes a rectangle is random
                base = h.t.linalg.qr(h.tensor(max(sizes), max(sizes)))[0]
                layer.parametrizations.weight[0].base.copy_(base)
                free = h.tensor(*layer.weight.shape).clamp(-0.9, 0.9) / 2
                one = h.t.eye(*free.shape, device=h.device)
                layer.parametrizations.weight.original.copy_(free * (1 - one) - one)
            return layer.weight, h.learned(layer, 2, sizes[0])[:3]

        RUN[f"orthogonal by {_map} {_sizes}"] = orthogonal


@RUN
def orthogonal_without_base(h):
    layer = h.utils.parametrizations.orthogonal(h.linear(4, 3), use_trivialization=False)
    return layer.weight, h.learned(layer, 2, 4)


@RUN
def orthogonal_keeps_what_is(h):
    layer = h.linear(3, 3)
    with h.t.no_grad():
        layer.weight.copy_(h.t.linalg.qr(h.tensor(3, 3))[0])
    before = layer.weight.detach().clone()
    return before, h.utils.parametrizations.orthogonal(layer).weight


REFUSED = {
    "no such name": lambda h, p: p.register_parametrization(h.linear(2, 2), "x", h.t.nn.ReLU()),
    "other shape": lambda h, p: p.register_parametrization(
        h.linear(2, 3), "weight", h.module(lambda x: x.T)
    ),
    "other dtype": lambda h, p: p.register_parametrization(
        h.linear(2, 3), "weight", h.module(lambda x: x.int())
    ),
    "no tensor": lambda h, p: p.register_parametrization(
        h.linear(2, 3), "weight", h.module(lambda x: 3)
    ),
    "inverse is no tensor": lambda h, p: p.register_parametrization(
        h.linear(2, 3), "weight", h.module(lambda x: x, lambda x: 3)
    ),
    "inverse of another dtype": lambda h, p: p.register_parametrization(
        h.linear(2, 3), "weight", h.module(lambda x: x, lambda x: x.half())
    ),
    "second of another shape": lambda h, p: p.register_parametrization(
        twice(h, p), "weight", h.module(lambda x: x.T)
    ),
    "second with another inverse": lambda h, p: p.register_parametrization(
        twice(h, p), "weight", h.module(lambda x: x, lambda x: x[0])
    ),
    "assigned without inverse": lambda h, p: setattr(twice(h, p), "weight", h.tensor(3, 2)),
    "assigned a parameter": lambda h, p: setattr(
        twice(h, p), "weight", h.t.nn.Parameter(h.tensor(3, 2))
    ),
    "pickled": lambda h, p: twice(h, p).__getstate__(),
    "not parametrized": lambda h, p: p.remove_parametrizations(h.linear(2, 3), "bias"),
    "two originals": lambda h, p: p.remove_parametrizations(
        h.utils.parametrizations.weight_norm(h.linear(2, 3)), "weight", False
    ),
    "two weight_norms": lambda h, p: h.utils.weight_norm(h.utils.weight_norm(h.linear(2, 3))),
    "no weight_norm": lambda h, p: h.utils.remove_weight_norm(h.linear(2, 3)),
    "two spectral_norms": lambda h, p: h.utils.spectral_norm(h.utils.spectral_norm(h.linear(2, 3))),
    "no spectral_norm": lambda h, p: h.utils.remove_spectral_norm(h.linear(2, 3)),
    "no steps": lambda h, p: h.utils.spectral_norm(h.linear(2, 3), n_power_iterations=0),
    "spectral_norm of None": lambda h, p: h.utils.spectral_norm(
        h.t.nn.Linear(2, 3, bias=False), "bias"
    ),
    "no steps, parametrized": lambda h, p: h.utils.parametrizations.spectral_norm(
        h.linear(2, 3), n_power_iterations=0
    ),
    "spectral_norm of dim 2": lambda h, p: h.utils.parametrizations.spectral_norm(
        h.linear(2, 3), dim=2
    ),
    "orthogonal vector": lambda h, p: h.utils.parametrizations.orthogonal(h.linear(2, 3), "bias"),
    "orthogonal nothing": lambda h, p: h.utils.parametrizations.orthogonal(h.linear(2, 3), "x"),
    "strange map": lambda h, p: h.utils.parametrizations.orthogonal(h.linear(2, 3), "weight", "z"),
    "orthogonal assigned another shape": lambda h, p: setattr(
        h.utils.parametrizations.orthogonal(h.linear(2, 3)), "weight", h.tensor(2, 2)
    ),
    "orthogonal cannot be assigned": lambda h, p: setattr(
        h.utils.parametrizations.orthogonal(h.linear(3, 3), use_trivialization=False),
        "weight",
        h.tensor(3, 3),
    ),
}


def twice(h, p):
    return p.register_parametrization(h.linear(2, 3), "weight", h.module(lambda x: 2 * x))


RUN |= {name: lambda h, make=make: make(h, h.utils.parametrize) for name, make in REFUSED.items()}


@pytest.mark.parametrize("name", RUN)
def test_as_torch(name, device):
    got, warned = outcome(wt, lambda t: RUN[name](Here(t, device)))
    wanted, also = outcome(torch, lambda t: RUN[name](Here(t, "cpu")))
    assert alike(got, wanted), (got, wanted)
    assert warned == also and (type(got) is tuple) == (name in REFUSED)
