"""A stateless call of a module: with other tensors in the place of its parameters and buffers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wgtorch.storage import View

NOTHING = object()
Entry = tuple[dict[str, Any], str]  # a module's table of parameters or buffers, and a name in it


def functional_call(
    module: Any,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`torch.func.functional_call` under its older name; deprecated, as in PyTorch."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 "
        "and will be removed in a future version of PyTorch. "
        "Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return called_with(module, parameters_and_buffers, args, kwargs, tie_weights, strict)


def called_with(
    module: Any, given: dict[str, Any], args: Any, kwargs: Any, tie: bool, strict: bool
) -> Any:
    """What `module` returns with the tensors of `given`; those that it sets anew are in it then."""
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with replaced(module, given, tie, strict):
        return module(*args, **(kwargs or {}))


@contextmanager
def replaced(module: Any, given: dict[str, Any], tie: bool, strict: bool) -> Iterator[None]:
    known = entries(module)
    check_names(module, given, known, strict)
    targets: list[tuple[Entry, Any]] = []
    for name, value in given.items():
        names = tied_to(name, given, known) if tie else [name]
        targets += [(known[n], value) for n in names]
    before = [((table, key), table.get(key, NOTHING)) for (table, key), _ in targets]
    try:
        for (table, key), value in targets:
            table[key] = value
        yield
    finally:
        for name, value in list(given.items()):
            table, key = known[name]
            if table.get(key, value) is not value:
                given[name] = table[key]
        for (table, key), value in before:
            if value is NOTHING:
                table.pop(key, None)
            else:
                table[key] = value


def tied_to(name: str, given: dict[str, Any], known: dict[str, Entry]) -> list[str]:
    """All names of what the module has under `name`; ValueError if they are given two values."""
    table, key = known[name]
    held = table.get(key)
    names = [name] if held is None else [n for n, (t, k) in known.items() if t.get(k) is held]
    if any(given.get(n, given[name]) is not given[name] for n in names):
        raise ValueError(
            f"functional_call got multiple values for keys {sorted(names)}, which are tied. "
            "Consider using tie_weights=False"
        )
    return names


def entries(module: Any) -> dict[str, Entry]:
    """Where each parameter and buffer is kept, by dotted name."""
    found: dict[str, Entry] = {}
    for path, part in module.named_modules(remove_duplicate=False):
        prefix = path + "." if path else ""
        for table in (part._parameters, part._buffers):
            found |= {prefix + name: (table, name) for name in table}
    return found


def stranger(module: Any, name: str) -> Entry:
    """Where a tensor is kept during the call that is no parameter of the module, nor a buffer."""
    *path, key = name.split(".")
    for part in path:
        if part not in module._modules:
            raise AttributeError(f"{type(module).__name__} has no attribute `{part}`")
        module = module._modules[part]
    held = getattr(module, key, None)
    if held is not None and not isinstance(held, View):
        raise TypeError(f"attribute `{key}`: {held} is not an instance of torch.Tensor")
    return module.__dict__, key


def check_names(module: Any, given: dict[str, Any], known: dict[str, Entry], strict: bool) -> None:
    strange = [name for name in given if name not in known]
    if not strict:
        known |= {name: stranger(module, name) for name in strange}
        return
    lacking = [name for name in known if name not in given]
    said = [
        f"{word} key(s): {', '.join(map(repr, names))}."
        for word, names in (("Unexpected", strange), ("Missing", lacking))
        if names
    ]
    if said:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(said)
        )
