"""torch.special against torch: every name that is there, on numbers its functions are made for."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import wgtorch  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.uniform(0.05, 0.95, (3, 5)).astype(np.float32)  # where all are defined
FIRST = {"polygamma": (2,), "zeta": (2.5,), "gammainc": (X + 1,), "gammaincc": (X + 1,)}
LAST = {"softmax": (-1,), "log_softmax": (0,), "logsumexp": (1,), "xlogy": (X + 1,),
        "xlog1py": (X + 1,), "multigammaln": (1,)}  # fmt: skip
NAMES = sorted(wgtorch.special.__all__)
LAST.update({name: (np.arange(5),) for name in NAMES if "_polynomial_" in name})


def call(library, name, x):
    first, last = (
        [library.tensor(a) if isinstance(a, np.ndarray) else a for a in some.get(name, ())]
        for some in (FIRST, LAST)
    )
    return getattr(library.special, name)(*first, x, *last)


def test_nothing_is_missing():
    assert set(torch.special.__all__) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients(name):
    for x in (X, X[0, 0], X.astype(np.float64)):
        if name in ("softmax", "log_softmax", "logsumexp") and x.ndim < 2:
            continue
        a, b = wgtorch.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
        ours, theirs = call(wgtorch, name, a), call(torch, name, b)
        np.testing.assert_allclose(
            ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6
        )
        assert ours.requires_grad >= theirs.requires_grad
        if theirs.requires_grad:
            ours.sum().backward()
            theirs.sum().backward()
            np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=2e-5, atol=1e-6)


def test_options():
    a, b = wgtorch.tensor(X), torch.tensor(X)
    for text in (
        "special.round(x, decimals=2)",
        "special.logit(x, eps=0.3)",
        "special.multigammaln(x + 3, 4)",
        "special.logsumexp(x, (0, 1), keepdim=True)",
        "special.erf(x, out=1 * x)",
    ):
        ours = eval("library." + text, {"library": wgtorch, "x": a})
        theirs = eval("library." + text, {"library": torch, "x": b})
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)
    for library, x in ((wgtorch, a), (torch, b)):
        with pytest.raises(RuntimeError, match="p has to be greater than or equal to 1"):
            library.special.multigammaln(x, 0)
