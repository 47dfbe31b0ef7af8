"""vmap, derivatives of functions and forward mode beside PyTorch: the same programs, the same
numbers, shapes and errors."""

from __future__ import annotations

import re
import warnings
from itertools import product

import numpy as np
import pytest

import wgtorch
import wgtorch.autograd.forward_ad
import wgtorch.func

torch = pytest.importorskip("torch")

POINTS = [[0.1, 0.5, -0.7], [1.0, -0.3, 0.4]]


def plain(value):
    """What a program answers, without the library it ran in."""
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if value is None or isinstance(value, bool | int | str):
        return value
    array = np.asarray(value.detach().tolist())
    return array.shape, np.round(array, 4).tolist(), str(value.dtype).split(".")[-1]


def outcome(library, program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(program(library))
        except Exception as error:
            return type(error).__name__, re.split(r"(?<=[a-z)\]])\. ", str(error))[0].rstrip(".")


def agree(program):
    assert outcome(wgtorch, program) == outcome(torch, program)


def points(t, requires_grad=False):
    return t.tensor(POINTS, requires_grad=requires_grad)


# wgtorch.autograd.functional

FUNCTIONS = {
    "rows": lambda t, a: a.exp().sum(1),
    "number": lambda t, a: (a**3).sum(),
    "several": lambda t, a: ((a * a).sum(0), a.sin().sum()),
    "constant": lambda t, a: t.ones(2),
    "linear": lambda t, a: a.sum(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("api", ["vjp", "jvp", "vhp", "hvp"])
def test_products(api, name):
    f = FUNCTIONS[name]
    for create, strict in product((False, True), (False, True)):

        def program(t, create=create, strict=strict):
            x = points(t)
            out = f(t, x)
            v = t.ones(2, 3)
            if api == "vjp":
                v = tuple(map(t.ones_like, out)) if isinstance(out, tuple) else t.ones_like(out)
            functional = getattr(t.autograd.functional, api)
            return functional(lambda a: f(t, a), x, v, create_graph=create, strict=strict)

        agree(program)


WAYS = [{}, {"vectorize": True}, {"create_graph": True}, {"strict": True},
        {"strict": True, "create_graph": True}]  # fmt: skip
FORWARD = [{"vectorize": True, "strategy": "forward-mode"}, {"strategy": "forward-mode"}]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("way", range(len(WAYS) + len(FORWARD)))
def test_jacobians(name, way):
    f, options = FUNCTIONS[name], (WAYS + FORWARD)[way]
    agree(lambda t: t.autograd.functional.jacobian(lambda a: f(t, a), points(t), **options))
    agree(
        lambda t: t.autograd.functional.jacobian(
            lambda a, b: f(t, a * b), (points(t), points(t) * 2), **options
        )
    )


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("way", range(len(WAYS) + 1))
def test_hessians(name, way):
    outer = {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}
    f, options = FUNCTIONS[name], [*WAYS, outer][way]
    agree(lambda t: t.autograd.functional.hessian(lambda a: f(t, a), points(t), **options))


# wgtorch.func


def wrote(y, i):
    y[i] = 0.5
    y[:, i] += y.sum()
    return y


PROGRAMS = {
    "grad": lambda t: t.func.grad(lambda x: (x.sin() * x).sum())(points(t)),
    "grad of trees": lambda t: t.func.grad(lambda d: (d["a"] * d["b"][0]).sum())(
        {"a": points(t), "b": [points(t) + 1]}
    ),
    "argnums": lambda t: t.func.grad(lambda x, y: (x * y).sum(), argnums=(1, 0))(
        points(t), points(t) + 1
    ),
    "negative argnum": lambda t: t.func.grad(lambda x, y: (x * y * y).sum(), argnums=-1)(
        points(t), points(t)
    ),
    "aux": lambda t: t.func.grad_and_value(lambda x: (x.sum(), (x * 2, x)), has_aux=True)(
        points(t)
    ),
    "three deep": lambda t: t.func.grad(t.func.grad(t.func.grad(lambda x: x.exp() * x)))(
        t.tensor(0.5)
    ),
    "jacrev": lambda t: t.func.jacrev(lambda x: {"p": x.sum(1), "q": (x * x,)})(points(t)),
    "jacfwd": lambda t: t.func.jacfwd(lambda x: {"p": x.sum(1), "q": (x * x,)})(points(t)),
    "jacfwd several": lambda t: t.func.jacfwd(lambda x, y: x @ y.t(), argnums=(0, 1))(
        points(t), points(t)
    ),
    "chunks": lambda t: t.func.jacrev(lambda x: x.sin(), chunk_size=2)(points(t)),
    "hessian": lambda t: t.func.hessian(lambda x: x.softmax(1).prod())(points(t)),
    "hessian several": lambda t: t.func.hessian(lambda x, y: (x * y * y).sum(), argnums=(0, 1))(
        points(t)[0], points(t)[1]
    ),
    "vjp": lambda t: t.func.vjp(lambda x, y: (x * y, x), points(t), points(t))[1](
        (points(t), points(t))
    ),
    "vjp one": lambda t: t.func.vjp(lambda x: x.sin(), points(t))[1](points(t)),
    "jvp": lambda t: t.func.jvp(lambda x, y: x * y, (points(t), points(t)), (points(t),) * 2),
    "jvp aux": lambda t: t.func.jvp(lambda x: (x, x + 1), (points(t),), (points(t),), has_aux=True),
    "linearize": lambda t: t.func.linearize(lambda x: x.cos(), points(t))[1](points(t)),
    "per sample": lambda t: t.func.vmap(
        t.func.grad(lambda w, x: t.nn.functional.mse_loss(x @ w, x.sum())), (None, 0)
    )(t.ones(3), points(t)),
    "vmap of hessian": lambda t: t.func.vmap(t.func.hessian(lambda x: (x**3).sum()))(points(t)),
    "vmap of jvp": lambda t: t.func.vmap(lambda v: t.func.jvp(t.sin, (points(t)[0],), (v,)))(
        points(t)
    ),
    "grad of vmap": lambda t: t.func.grad(lambda x: t.vmap(lambda r: r.max() * r)(x).sum())(
        points(t)
    ),
    "grad of an index": lambda t: t.func.grad(
        lambda x: t.vmap(lambda r, i: r.exp()[i] * r)(x, t.tensor([2, 0])).sum()
    )(points(t)),
    "jacfwd of an index": lambda t: t.func.jacfwd(t.vmap(lambda r: r[r.argmax()] ** 2))(points(t)),
    "jacrev of a write": lambda t: t.func.jacrev(
        lambda x: t.vmap(lambda r, i: wrote(r * r, i))(x.reshape(2, 1, 3), t.tensor([0, -1]))
    )(points(t)),
    "no scalar": lambda t: t.func.grad(lambda x: x)(points(t)),
    "no tensor": lambda t: t.func.grad(lambda x: 1)(points(t)),
    "bad argnum": lambda t: t.func.grad(lambda x: x.sum(), argnums=2)(points(t)),
    "same argnums": lambda t: t.func.grad(lambda x, y: x.sum(), argnums=(0, 0))(
        points(t), points(t)
    ),
    "primals": lambda t: t.func.jvp(lambda x: x, points(t), points(t)),
    "strict": lambda t: t.func.jvp(lambda x: t.ones(2), (points(t),), (points(t),), strict=True),
    "integers": lambda t: t.func.vjp(lambda x: x.argmax(1), points(t)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_func(name):
    agree(PROGRAMS[name])


# vmap

MAPS = {
    "dims": lambda t: t.vmap(lambda x, y: x @ y, in_dims=(1, 0), out_dims=-1)(
        t.ones(3, 2, 3), t.arange(12.0).reshape(2, 3, 2)
    ),
    "tree": lambda t: t.vmap(lambda d, k: (d["a"] * k, [d["b"]]), in_dims=({"a": 0, "b": None}, 0))(
        {"a": points(t), "b": t.ones(2)}, t.tensor([1.0, 2.0])
    ),
    "out tree": lambda t: t.vmap(lambda x: {"a": x, "b": x.t()}, out_dims={"a": 1, "b": 2})(
        t.arange(24.0).reshape(2, 3, 4)
    ),
    "not batched": lambda t: t.vmap(lambda x: t.ones(3))(points(t)),
    "out None": lambda t: t.vmap(lambda x: (x, 5), out_dims=(0, None))(points(t)),
    "promotion": lambda t: t.vmap(lambda x: x * 2.5)(t.tensor([1, 2])),
    "0-d promotion": lambda t: t.vmap(lambda x, y: x * y)(t.ones(2, dtype=t.float64), t.ones(2, 3)),
    "reductions": lambda t: t.vmap(lambda x: (x.sum(), x.mean(0, keepdim=True), x.argmax()))(
        points(t)
    ),
    "sort": lambda t: t.vmap(lambda x: tuple(x.sort(descending=True)))(points(t)),
    "where": lambda t: t.vmap(lambda x: t.where(x > 0, x, -2 * x))(points(t)),
    "index": lambda t: t.vmap(lambda x, i: x[i], in_dims=(0, 1))(
        points(t), t.tensor([[0, 1], [2, -1]])
    ),
    "index of a sample": lambda t: t.vmap(lambda x, i: (x[i], x[i, None], x[None, i], x[..., i]))(
        points(t), t.tensor([2, -1])
    ),
    "index among others": lambda t: t.vmap(
        lambda x, i: (
            x[i, :2],
            x[i, i + 1],
            x[:, i, [0, 2]],
            x[i, :, i],
            x[[1, 0], :, i],
            x[0, :, i],
        )
    )(t.arange(54.0).reshape(2, 3, 3, 3), t.tensor([1, -2])),
    "argmax": lambda t: t.vmap(lambda x: x[x.argmax()])(points(t)),
    "write at an index": lambda t: t.vmap(lambda x, i: wrote(x.clone(), i))(
        t.arange(12.0).reshape(2, 2, 3), t.tensor([1, 0])
    ),
    "nonzero": lambda t: t.vmap(lambda x: x.nonzero())(points(t)),
    "masked_select": lambda t: t.vmap(lambda x: x.masked_select(x > 0))(points(t)),
    "mask": lambda t: t.vmap(lambda x: x[x > 0])(points(t)),
    "unique": lambda t: t.vmap(lambda x: x.unique())(points(t)),
    "histc": lambda t: t.vmap(lambda x: x.histc(4))(points(t)),
    "histogram": lambda t: t.vmap(lambda x: tuple(t.histogram(x, 4)))(points(t)),
    "matrix_exp": lambda t: t.vmap(t.matrix_exp)(t.arange(8.0).reshape(2, 2, 2) / 5),
    "bincount": lambda t: t.vmap(lambda x: (x.bincount(), x.bincount(minlength=5)))(
        t.tensor([[0, 2, 2], [2, 1, 0]])
    ),
    "weights": lambda t: t.vmap(lambda x, w: x.bincount(w, minlength=4))(
        t.tensor([[0, 2, 2], [1, 1, 0]]), points(t)
    ),
    "masked_scatter": lambda t: t.vmap(lambda x: x.masked_scatter(x > 0, x * 10))(points(t)),
    "repeat_interleave": lambda t: t.vmap(lambda x, n: x.repeat_interleave(n))(
        points(t), t.tensor([[1, 0, 2], [0, 2, 1]])
    ),
    "nested": lambda t: t.vmap(t.vmap(lambda x, y: x + y, in_dims=(None, 0)), in_dims=(0, None))(
        points(t)[0], points(t)[1]
    ),
    "write": lambda t: t.vmap(lambda x: x.clone().mul_(3).add_(x))(points(t)),
    "item": lambda t: t.vmap(lambda x: x.sum().item())(points(t)),
    "branch": lambda t: t.vmap(lambda x: x if x.sum() > 0 else -x)(points(t)),
    "sizes": lambda t: t.vmap(lambda x, y: x)(t.ones(2), t.ones(3)),
    "no inputs": lambda t: t.vmap(t.sin)(),
    "list of in_dims": lambda t: t.vmap(t.sin, in_dims=[0])(points(t)),
    "rank": lambda t: t.vmap(t.sin, in_dims=2)(points(t)),
    "number": lambda t: t.vmap(t.sin)(2.0),
    "none": lambda t: t.vmap(t.sin, in_dims=(None,))(points(t)),
    "returns a number": lambda t: t.vmap(lambda x: 3)(points(t)),
    "random": lambda t: t.vmap(lambda x: t.rand(2))(points(t)),
    "randomness": lambda t: t.vmap(t.sin, randomness="any")(points(t)),
    "chunk": lambda t: t.vmap(t.sin, chunk_size=0)(points(t)),
}


@pytest.mark.parametrize("name", MAPS)
def test_vmap(name):
    program = MAPS[name]
    if name in ("no inputs", "list of in_dims", "rank", "number", "none"):
        got, want = outcome(wgtorch, program), outcome(torch, program)
        assert got[0] == want[0] and got[1][-40:] == want[1][-40:]  # names differ in front
    else:
        agree(program)


# Forward mode


def forward(t, work):
    fw = t.autograd.forward_ad
    with fw.dual_level():
        out = work(fw.make_dual(points(t), points(t) + 1), points(t) * 2)
        return [list(fw.unpack_dual(o)) for o in out]


DUALS = {
    "elementwise": lambda x, y: [x.sin() * y, x / (x * x + 1), x.relu(), (x * 3).tanh()],
    "views": lambda x, y: [x.t()[1:], x[:, 1], x.reshape(3, 2), x.flip(0)],
    "reductions": lambda x, y: [x.sum(1), x.std(), x.max(1).values, x.logsumexp(1), x.norm()],
    "products": lambda x, y: [x @ y.t(), x.t() @ x, x[0].dot(y[0])],
    "softmax": lambda x, y: [x.softmax(1), x.log_softmax(0)],
    "no derivative": lambda x, y: [x > 0, x.argmax(1), x.detach(), y],
    "in place": lambda x, y: [x.clone().mul_(y), x.clone().fill_(2), x.clone().copy_(y)],
}  # fmt: skip


@pytest.mark.parametrize("name", DUALS)
def test_forward_mode(name):
    agree(lambda t: forward(t, DUALS[name]))
