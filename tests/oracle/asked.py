"""Expressions about distributions, answered by both libraries, and whether the answers agree."""

from __future__ import annotations

import re
import warnings

import numpy as np
import torch

import wgtorch


def names(library):
    """What a case is made of: T(...) is a tensor of float64."""

    def tensor(*rows):
        return library.tensor(np.array(rows[0] if len(rows) == 1 else rows, np.float64))

    rooms = library.distributions
    known = {name: getattr(rooms, name) for name in dir(rooms) if not name.startswith("_")}
    return {**known, "T": tensor, "t": library, "C": rooms.constraints, "R": rooms.transforms}


def made(text):
    return [eval(text, names(library)) for library in (wgtorch, torch)]


def plain(value):
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if hasattr(value, "detach"):
        return value.detach().numpy()
    return value if isinstance(value, int | float | str | None) else repr(value)


def outcome(ask, *given):
    """The answer, or the error; and without the warnings, which tell where code is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return plain(ask(*given))
    except Exception as error:
        kind = next(k for k in (NotImplementedError, RuntimeError, type(error))
                    if isinstance(error, k))  # fmt: skip
        return [
            "error",
            kind.__name__,
            re.sub(" {5,}", " ", str(error).replace("wgtorch", "torch")),
        ]


def same(got, wanted):
    if isinstance(got, np.ndarray) and isinstance(wanted, np.ndarray):
        close = {"rtol": 1e-6, "atol": 1e-6 if got.dtype == np.float32 else 1e-9}
        equal = got.shape == wanted.shape and got.dtype == wanted.dtype
        return equal and np.allclose(got, wanted, **close, equal_nan=True)
    if isinstance(got, list) and isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(same, got, wanted))
    return type(got) is type(wanted) and got == wanted
