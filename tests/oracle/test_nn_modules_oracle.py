"""That layers and their bases are where torch 2.13 has them, and derive from each other alike."""

from __future__ import annotations

import importlib
import inspect

import pytest
import torch as pytorch

import wgtorch
from wgtorch.nn.modules import OTHERS, PUBLIC

ROOMS = sorted({row.split(" | ")[0] for row in PUBLIC.strip().splitlines()} | {*OTHERS})
LAYERS = [name for row in PUBLIC.strip().splitlines() for name in row.split(" | ")[1].split()]
BASES = [
    (room, name)
    for room, members in OTHERS.items()
    for name, value in members.items()
    if isinstance(value, type) and issubclass(value, wgtorch.nn.Module)
]


@pytest.mark.parametrize("room", ROOMS)
def test_a_module_has_what_torch_has(room):
    ours = importlib.import_module(f"wgtorch.nn.modules.{room}")
    theirs = importlib.import_module(f"torch.nn.modules.{room}")
    for name in vars(ours):
        assert name.startswith("__") or hasattr(theirs, name), name
    public = [name for name, value in vars(theirs).items() if inspect.isclass(value)
              and value.__module__ == theirs.__name__ and hasattr(wgtorch.nn, name)]  # fmt: skip
    assert not [name for name in public if not hasattr(ours, name)]


@pytest.mark.parametrize(("room", "name"), BASES)
def test_layers_derive_from_what_torch_has_them_derive_from(room, name):
    def derived(library):
        base = getattr(getattr(library.nn.modules, room), name)
        return [layer for layer in LAYERS if issubclass(getattr(library.nn, layer), base)]

    assert derived(wgtorch) == derived(pytorch)


def test_a_prefix_goes_as_in_torch():
    def left(library):
        model = library.nn.Sequential(library.nn.BatchNorm1d(2), library.nn.Linear(2, 1))
        state = library.nn.ModuleDict({"module": model}).state_dict()
        library.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
        return list(state), dict(state._metadata)

    assert left(wgtorch) == left(pytorch)
