"""Modules as functions: called with parameters that are arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wgtorch.dispatch.doors import PUBLIC
from wgtorch.nn.instance import batch_norms
from wgtorch.nn.utils.stateless import called_with


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

    What is not named keeps its value, unless `strict`. Several dicts count as one; where the module
    sets a buffer anew, a single dict has that afterwards. A parameter that the module has under
    several names is replaced under all of them, unless `tie_weights` is off.
    """
    given = merged(parameter_and_buffer_dicts)
    return called_with(module, given, args, kwargs, tie_weights, strict)


def merged(dicts: Any) -> dict[str, Any]:
    if isinstance(dicts, Mapping):
        return dicts  # type: ignore[return-value]
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


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Has the batch norms of a module keep no statistics, in place, so that `vmap` may call it."""
    for norm in batch_norms(root):
        norm.running_mean = norm.running_var = norm.num_batches_tracked = None
        norm.track_running_stats = False
    return root


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
