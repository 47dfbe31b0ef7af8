"""Derivatives as transforms of functions, which nest in any order."""

from __future__ import annotations

import numpy as np
import pytest

import wgtorch as torch
from wgtorch import func
from wgtorch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from wgtorch.utils.checkpoint import checkpoint


def close(tensor, want, rtol=1e-4):
    np.testing.assert_allclose(tensor.detach().cpu().numpy(), want, rtol=rtol, atol=1e-5)


def differences(f, x, eps=1e-6):
    """The Jacobian (*output, *input) by central differences in float64."""
    x = np.asarray(x, np.float64)
    columns = []
    for e in range(x.size):
        step = np.zeros(x.size)
        step[e] = eps
        step = step.reshape(x.shape)
        columns.append((f(x + step) - f(x - step)) / (2 * eps))
    return np.stack(columns, -1).reshape(*np.shape(f(x)), *x.shape)


A = np.random.default_rng(5).standard_normal((3, 4)).astype(np.float32)
PAIRS = [  # the same function in torch and in numpy
    (lambda t: (t.sin() * t.sum(1, keepdim=True)).tanh(),
     lambda a: np.tanh(np.sin(a) * a.sum(1, keepdims=True))),
    (lambda t: (t @ t.t()).softmax(0),
     lambda a: np.exp(a @ a.T) / np.exp(a @ a.T).sum(0)),
    (lambda t: t.cumsum(1).std(1),
     lambda a: a.cumsum(1).std(1, ddof=1)),
    (lambda t: t.amax(1) * t[1:, ::2].exp().sum(),
     lambda a: a.max(1) * np.exp(a[1:, ::2]).sum()),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(PAIRS)))
@pytest.mark.parametrize("mode", [jacrev, jacfwd])
def test_jacobians_are_what_differences_say(device, number, mode):
    f, g = PAIRS[number]
    close(mode(f)(torch.tensor(A, device=device)), differences(g, A), 2e-3)


@pytest.mark.parametrize("outer", [jacrev, jacfwd])
@pytest.mark.parametrize("inner", [jacrev, jacfwd])
def test_hessians_do_not_mind_the_modes(device, outer, inner):
    x = torch.tensor(A[0], device=device)
    got = outer(inner(lambda t: (t.exp() * t.sum()).sum().sin()))(x)

    def slope(a):
        return differences(lambda b: np.sin((np.exp(b) * b.sum()).sum()), a, 1e-4)

    close(got, differences(slope, A[0], 1e-4), 2e-2)
    assert not got.requires_grad


def test_grad_of_grad_of_grad():
    x = torch.tensor(2.0)
    assert grad(grad(grad(lambda x: x**4)))(x).item() == 48
    got = grad(lambda x: x * grad(lambda y: x * y**2)(x))(x)  # d/dx of 2 x^3
    assert got.item() == 24 and not got.requires_grad


def test_no_confusion_between_levels():
    x = torch.tensor(3.0)
    got = grad(lambda x: x * grad(lambda y: x + y)(torch.tensor(1.0)))(x)
    assert got.item() == 1
    forward = jvp(lambda x: x * jvp(lambda y: x + y, (x * 0 + 1,), (x * 0 + 1,))[1], (x,), (x,))
    assert forward[1].item() == 3


def test_the_gradients_of_each_sample(device):
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
        torch.nn.Linear(8, 3),
    ).to(device)  # fmt: skip
    params = {n: p.detach() for n, p in model.named_parameters()}
    rng = np.random.default_rng(1)
    images = torch.tensor(rng.standard_normal((4, 1, 6, 6)).astype(np.float32), device=device)
    classes = torch.tensor([0, 2, 1, 2], device=device)

    def loss(params, image, label):
        out = functional_call(model, params, (image.unsqueeze(0),))
        return torch.nn.functional.cross_entropy(out, label.unsqueeze(0))

    got = vmap(grad(loss), in_dims=(None, 0, 0))(params, images, classes)
    for i in range(4):
        model.zero_grad()
        loss(dict(model.named_parameters()), images[i], classes[i]).backward()
        for name, p in model.named_parameters():
            close(got[name][i], p.grad.cpu().numpy())


def test_hessians_of_each_sample(device):
    x = torch.tensor(A, device=device)
    got = vmap(hessian(lambda t: (t**3).sum()))(x)
    close(got, np.stack([np.diag(6 * row) for row in A]))


def test_an_ensemble_runs_at_once(device):
    models = [torch.nn.Linear(4, 2).to(device) for _ in range(3)]
    params, buffers = func.stack_module_state(models)
    assert params["weight"].shape == (3, 2, 4) and params["weight"].is_leaf and not buffers
    x = torch.tensor(A, device=device)
    got = vmap(lambda p: functional_call(models[0], p, (x,)))(params)
    for i, model in enumerate(models):
        close(got[i], model(x).detach().cpu().numpy())
    got.sum().backward()
    close(params["bias"].grad, np.full((3, 2), 3.0))


def test_batch_norms_of_each_sample():
    """Which would all write into one mean."""
    model = torch.nn.Sequential(
        torch.nn.BatchNorm1d(4), torch.nn.InstanceNorm1d(4, 1e-5, 0.1, 0, 1)
    )
    assert func.replace_all_batch_norm_modules_(model) is model
    assert "running_mean" not in model[0].state_dict() and model[1].running_mean is not None
    x = torch.tensor(A).reshape(3, 1, 4) + torch.tensor(A)
    close(vmap(model[0])(x), np.stack([model[0](part).detach().numpy() for part in x]))


def test_results_lead_back_only_to_those_outside_who_want_it(device):
    w = torch.tensor(A[0], device=device, requires_grad=True)
    x = torch.tensor(A[1], device=device)
    slope = grad(lambda x: (x * x * w).sum())(x)
    slope.sum().backward()
    close(w.grad, 2 * A[1])
    assert not grad(lambda x: (x * x).sum())(x).requires_grad
    with torch.no_grad():
        assert not grad(lambda x: (x * x * w).sum())(x).requires_grad
    leaf = x.clone().requires_grad_()
    for mode in (jacrev, jacfwd):
        leaf.grad = None
        mode(lambda t: t.sin())(leaf).sum().backward()
        close(leaf.grad, -np.sin(A[1]))


def test_no_grad_inside_stops_the_derivative():
    def f(x):
        with torch.no_grad():
            y = x * x
        return (x + y).sum()

    assert grad(f)(torch.tensor([2.0])).tolist() == [1.0]


def test_vjp_and_jvp(device):
    x = torch.tensor(A, device=device)
    out, pull = vjp(lambda t: (t.sin(), {"sum": t.sum()}), x)
    one = torch.ones((), device=device)
    (back,) = pull((torch.ones_like(x), {"sum": one}))
    close(back, np.cos(A) + 1)
    close(out[1]["sum"], A.sum())
    (again,) = vmap(lambda c: pull((c, {"sum": one * 0})))(torch.ones(2, 3, 4, device=device))
    close(again, np.stack([np.cos(A)] * 2))
    value, moved, aux = jvp(lambda t: (t * 2, t + 1), (x,), (x,), has_aux=True)
    close(value, 2 * A)
    close(moved, 2 * A)
    close(aux, A + 1)
    assert not func.jvp(lambda t: torch.ones(2), (x,), (x,))[1].any()


def test_several_arguments_and_aux(device):
    x, y = torch.tensor(A[0], device=device), torch.tensor(A[1], device=device)
    both = grad(lambda x, y, k: ((x * y * k).sum(), x), argnums=(0, 1), has_aux=True)
    (gx, gy), aux = both(x, y, k=2)
    close(gx, 2 * A[1])
    close(gy, 2 * A[0])
    close(aux, A[0])
    slope, (value, more) = func.grad_and_value(lambda d: ((d["a"] ** 2).sum(), 7), has_aux=True)(
        {"a": x}
    )
    close(slope["a"], 2 * A[0])
    assert more == 7 and not value.requires_grad
    jac = jacrev(lambda x, y: {"p": x * y}, argnums=(0, 1), chunk_size=3)(x, y)
    close(jac["p"][0], np.diag(A[1]))
    fwd = jacfwd(lambda x, y: {"p": x * y}, argnums=-1)(x, y)
    close(fwd["p"], np.diag(A[0]))


def test_linearize(device):
    x = torch.tensor(A, device=device)
    out, push = func.linearize(lambda t: t.sin(), x)
    close(out, np.sin(A))
    close(push(x), np.cos(A) * A)


WRONG = {
    "not a number": (
        lambda x: grad(lambda x: x)(x),
        "to return a scalar Tensor, got tensor with 1",
    ),
    "no tensor": (lambda x: grad(lambda x: 3)(x), "to return a Tensor, got <class 'int'>"),
    "argnum": (lambda x: grad(lambda x: x.sum(), 1)(x), "Got argnum=1, but only 1 positional"),
    "no argnums": (lambda x: grad(lambda x: x.sum(), ())(x), "argnums must be non-empty"),
    "twice": (lambda x: grad(lambda x, y: x.sum(), (0, 0))(x, x), "elements must be unique"),
    "aux": (lambda x: grad(lambda x: x.sum(), has_aux=True)(x), "should be a tuple: (output, aux)"),
    "primals": (lambda x: jvp(lambda x: x, x, x), "Expected primals to be a tuple"),
    "trees": (lambda x: jvp(lambda x: x, (x,), (x, x)), "to have the same python structure"),
    "cotangents": (lambda x: vjp(lambda x: x, x)[1]((x, x)), "Expected pytree structure of cotan"),
    "strict": (
        lambda x: jvp(lambda x: torch.ones(2), (x,), (x,), strict=True),
        "The output of f is independent of the inputs",
    ),
    "names": (
        lambda x: functional_call(torch.nn.Linear(2, 2), {"weight": x}, x, strict=True),
        "Missing key(s): 'bias'.",
    ),
    "no models": (lambda x: func.stack_module_state([]), "at least one model, got 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name):
    call, said = WRONG[name]
    with pytest.raises(RuntimeError) as error:
        call(torch.ones(2))
    assert said in str(error.value)


def test_tied_weights_are_replaced_together():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(2, 2, bias=False)
            self.second = torch.nn.Linear(2, 2, bias=False)
            self.second.weight = self.first.weight

        def forward(self, x):
            return self.second(self.first(x))

    model, x = Tied(), torch.ones(1, 2)
    before = model.first.weight
    new = {"first.weight": torch.eye(2) * 3}
    close(functional_call(model, new, (x,)), [[9.0, 9.0]])
    loose = functional_call(model, new, (x,), tie_weights=False)
    close(loose, 3 * before.sum(1).detach().numpy()[None])
    assert model.first.weight is before and model.second.weight is before


def test_checkpoints_inside(device):
    x, w = torch.tensor(A, device=device), torch.tensor(A[0] + 1, device=device)

    def slopes(run, w):
        def number(r):
            return run(lambda t: (t * w).sin() * t, r).sum()

        return vmap(grad(number))(x).sum()

    def kept(function, r):
        return function(r)

    def again(function, r):
        return checkpoint(function, r, use_reentrant=False)

    close(slopes(again, w), slopes(kept, w).cpu().numpy())
    got = grad(lambda w: slopes(again, w))(w)
    close(got, grad(lambda w: slopes(kept, w))(w).cpu().numpy())
    close(jacfwd(lambda r: again(torch.sin, r))(x[0]), np.diag(np.cos(A[0])))


def test_jacobians_of_each_sample(device):
    x = torch.tensor(A, device=device)
    got = vmap(lambda r: torch.autograd.functional.jacobian(torch.sin, r))(x)
    close(got, np.stack([np.diag(np.cos(row)) for row in A]))


def test_a_tensor_that_is_no_parameter_is_there_during_the_call():
    class Shifted(torch.nn.Module):
        def forward(self, x):
            return x + self.shift

    module = Shifted()
    close(functional_call(module, {"shift": torch.ones(2)}, (torch.zeros(2),)), [1.0, 1.0])
    assert not hasattr(module, "shift")
