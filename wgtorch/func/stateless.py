"""Modules as functions: called with parameters that are arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from wgtorch.dispatch.doors import PUBLIC

Entry = tuple[dict[str, Any], str]  # a module's table of parameters or buffers, and a name in it


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls `module` with these tensors in place of its parameters and buffers, by dotted name.

    What is not named keeps its value, unless `strict`. Several dicts count as one. A parameter that
    the module has under several names is replaced under all of them, unless `tie_weights` is off.
    """
    given = merged(parameter_and_buffer_dicts)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with replaced(module, given, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def merged(dicts: Any) -> dict[str, Any]:
    if isinstance(dicts, Mapping):
        return dict(dicts)
    if not isinstance(dicts, Sequence):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got"
            f" {type(dicts)}"
        )
    if not all(isinstance(d, Mapping) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    keys = [key for d in dicts for key in d]
    repeated = [key for key in dict.fromkeys(keys) if keys.count(key) > 1]
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is"
            f" ambiguous"
        )
    return {key: value for d in dicts for key, value in d.items()}


@contextmanager
def replaced(module: Any, given: dict[str, Any], tie: bool, strict: bool) -> Iterator[None]:
    known = entries(module)
    check_names(module, given, known, strict)
    targets: list[tuple[Entry, Any]] = []
    for name, value in given.items():
        table, key = known[name]
        held = table[key]
        names = [name]
        if tie and held is not None:
            names += [n for n, (t, k) in known.items() if t[k] is held and n not in given]
        targets += [(known[n], value) for n in names]
    before = [(entry, entry[0][entry[1]]) for entry, _ in targets]
    try:
        for (table, key), value in targets:
            table[key] = value
        yield
    finally:
        for (table, key), value in before:
            table[key] = value


def entries(module: Any) -> dict[str, Entry]:
    """Where each parameter and buffer is kept, by dotted name."""
    found: dict[str, Entry] = {}
    for path, part in module.named_modules(remove_duplicate=False):
        prefix = path + "." if path else ""
        for table in (part._parameters, part._buffers):
            found |= {prefix + name: (table, name) for name in table}
    return found


def check_names(module: Any, given: dict[str, Any], known: dict[str, Entry], strict: bool) -> None:
    strange = [name for name in given if name not in known]
    if strange and not strict:
        raise AttributeError(f"'{type(module).__name__}' object has no attribute '{strange[0]}'")
    lacking = [name for name in known if name not in given] if strict else []
    said = [
        f"{word} key(s): {', '.join(map(repr, names))}."
        for word, names in (("Unexpected", strange), ("Missing", lacking))
        if names
    ]
    if said:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(said)
        )


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(parameters, buffers) by name, those of all models stacked: for `vmap` over an ensemble."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    kind = type(models[0])
    if any(type(model) is not kind for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return (
        {name: stacked_leaf(name, [p[name] for p in params]) for name in params[0]},
        {name: stacked_leaf(name, [b[name] for b in buffers]) for name in buffers[0]},
    )


def stacked_leaf(name: str, tensors: list[Any]) -> Any:
    """A leaf of its own."""
    wants = {t.requires_grad for t in tensors}
    if len(wants) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    return PUBLIC["stack"]([t.detach() for t in tensors]).requires_grad_(wants.pop())
