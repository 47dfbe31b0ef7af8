"""numpy kept quiet: its own way, and the way for another numpy."""

from __future__ import annotations

import builtins
import importlib.util

import numpy as np
import pytest

from wgtorch.backends import quiet


@pytest.fixture
def elsewhere(monkeypatch):
    """The module as a numpy without the private names imports it."""
    real = builtins.__import__

    def without(name, *args, **named):
        if name == "numpy._core._multiarray_umath":
            raise ImportError(name)
        return real(name, *args, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    spec = importlib.util.spec_from_file_location("another_quiet", quiet.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["this numpy", "another numpy"])
def module(request):
    return quiet if request.param == "this numpy" else request.getfixturevalue("elsewhere")


def test_the_other_way_is_taken(elsewhere):
    assert isinstance(elsewhere.hush.__self__, elsewhere._Fallback)


def test_hushed_and_restored(module):
    with np.errstate(all="raise"):
        before = np.geterr()
        token = module.hush(module.IGNORE)
        try:
            assert set(np.geterr().values()) == {"ignore"}
            assert np.isinf(np.float32(1) / np.float32(0))
        finally:
            module.restore(token)
        assert np.geterr() == before
        with pytest.raises(FloatingPointError):
            np.float32(1) / np.float32(0)


def test_hushed_within_hushed(module):
    with np.errstate(all="raise"):
        outer = module.hush(module.IGNORE)
        inner = module.hush(module.IGNORE)
        module.restore(inner)
        assert np.geterr()["divide"] == "ignore"
        module.restore(outer)
        assert np.geterr()["divide"] == "raise"
