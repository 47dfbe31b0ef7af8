"""What users ask the engine: `backward`, which adds to `grad`, and `grad`, which returns."""

from __future__ import annotations

import warnings
from collections import namedtuple
from typing import Any

from wgtorch.autograd.constants import repeated
from wgtorch.autograd.engine import Edge, run_backward
from wgtorch.autograd.node import AccumulateGrad, Node, accumulate
from wgtorch.autograd.nodes import past_of
from wgtorch.autograd.transforms.vmap import Batching
from wgtorch.storage import View


class GradientEdge(namedtuple("GradientEdge", ("node", "output_nr", "ownership_token"),
                              defaults=(None,))):  # fmt: skip
    """A place in the graph, for `backward` and `grad` in place of the tensor that was there."""

    __slots__ = ()
    node: Node
    output_nr: int


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Where gradients for `tensor` go."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require"
            " gradients"
        )
    return GradientEdge(past_of(tensor), tensor.output_nr)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Adds to the `grad` of every leaf the gradient of the sum of `tensors`.

    `grad_tensors` are the gradients of something with respect to `tensors`, needed where one has
    several elements. With `inputs` only those (leaves or not) get a `grad`. The graph's saved
    tensors go as it is walked unless `retain_graph` (default: `create_graph`).
    """
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, 2
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to"
                " backward(). Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    given = listed(inputs) if inputs is not None else None
    if given is not None and not given:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    outputs = listed(tensors)
    grads = root_grads(outputs, several(grad_tensors, len(outputs)), False)
    roots = root_edges(outputs)
    keep = create_graph if retain_graph is None else retain_graph
    if given is None:
        run_backward(roots, grads, keep, create_graph)
        return
    edges = dict(zip(target_edges(given), given, strict=True))  # each once
    found = run_backward(roots, grads, keep, create_graph, [*edges])
    for tensor, grad in zip(edges.values(), found, strict=True):
        if grad is not None:
            deliver(tensor, grad)


def deliver(target: Any, grad: Any) -> None:
    """Adds a gradient to one of the `inputs` of `backward`."""
    if isinstance(target, GradientEdge):
        if type(target.node) is not AccumulateGrad:
            raise RuntimeError("backward(inputs=...): a GradientEdge must be that of a leaf")
        target = target.node.variable
    elif target.retains_grad:
        return  # it has got it
    accumulate(target, grad)
    if target._accumulate_hooks:
        for hook in list(target._accumulate_hooks.values()):
            hook(target)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of the sum of `outputs` with respect to `inputs`; no `grad` is touched.

    `grad_outputs` are the gradients of something with respect to `outputs`. An input that has no
    part in them is an error, or None with `allow_unused`, or zeros with `materialize_grads`. With
    `is_grads_batched`, the first dimension of `grad_outputs` counts, and of what is returned.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got:"
            " allow_unused=False."
        )
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True)",
            FutureWarning,
            stacklevel=2,
        )
    roots, targets = listed(outputs), listed(inputs)
    if not targets:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    given = several(grad_outputs, len(roots))
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        found = batched(roots, given, targets, keep, create_graph)
    else:
        grads = root_grads(roots, given, False)
        edges = target_edges(targets)
        found = run_backward(root_edges(roots), grads, keep, create_graph, edges)
    missing = next((i for i, g in enumerate(found) if g is None), None)
    if missing is not None and not allow_unused:
        raise RuntimeError(
            f"The differentiated Tensor at index {missing} appears to not have been used in the"
            " graph. Set allow_unused=True if this is the desired behavior."
        )
    if materialize_grads:
        if any(isinstance(t, GradientEdge) for t in targets):
            raise RuntimeError(
                "materialize_grads cannot be used when the given input is a GradientEdge"
            )
        found = [zeros_like(t) if g is None else g for g, t in zip(found, targets, strict=True)]
    return tuple([g if g is None or create_graph else g.bare() for g in found])


def batched(
    outputs: list, grads: list, targets: list, keep_graph: bool, create_graph: bool
) -> list[Any]:
    """One run of the engine on all gradients in the batch, by vmap."""
    sizes = {g.layout.shape[0] for g in grads if g is not None}
    if len(sizes) != 1:
        raise RuntimeError("is_grads_batched=True: the batch dimensions of grad_outputs differ")
    with Batching(sizes.pop(), "same") as batching:
        given = [g if g is None else batching.wrapped(g, 0) for g in grads]
        chosen = root_grads(outputs, given, True)
        edges = target_edges(targets)
        found = run_backward(root_edges(outputs), chosen, keep_graph, create_graph, edges)
        return [g if g is None else batching.unwrapped(g, 0) for g in found]


# What was asked, checked


def listed(given: Any) -> list[Any]:
    """One or several tensors or edges, as a list."""
    one = isinstance(given, View | GradientEdge)
    return [given] if one else list(given)


def several(given: Any, count: int) -> list[Any]:
    if given is None:
        return [None] * count
    grads = listed(given)
    if len(grads) != count:
        raise RuntimeError(f"got {count} tensors and {len(grads)} gradients")
    return grads


def root_edges(outputs: list[Any]) -> list[Edge]:
    edges = []
    for i, output in enumerate(outputs):
        if isinstance(output, GradientEdge):
            edges.append((output.node, output.output_nr))
        elif not output.requires_grad:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn"
            )
        else:
            edges.append((past_of(output), output.output_nr))
    return edges


def target_edges(inputs: list[Any]) -> list[Edge]:
    edges = []
    for target in inputs:
        if isinstance(target, GradientEdge):
            edges.append((target.node, target.output_nr))
        elif not isinstance(target, View):
            raise TypeError(f"inputs must be tensors or GradientEdges, got {type(target).__name__}")
        elif not target.requires_grad:  # type: ignore[attr-defined]
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        else:
            edges.append((past_of(target), target.output_nr))  # type: ignore[attr-defined]
    return edges


def root_grads(outputs: list[Any], grads: list[Any], batched: bool) -> list[Any]:
    return [
        ones_for(output, i) if grad is None else checked(output, grad, i)
        for i, (output, grad) in enumerate(zip(outputs, grads, strict=True))
    ]


def checked(output: Any, grad: Any, place: int) -> Any:
    if not isinstance(grad, View):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
    shape, dtype = facts_of(output)
    if grad.layout.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{place}] has a shape of"
            f" torch.Size({list(grad.layout.shape)}) and output[{place}] has a shape of"
            f" torch.Size({list(shape)})."
        )
    if not isinstance(output, GradientEdge) and grad.device != output.device:  # type: ignore
        raise RuntimeError(
            f"Function returned an invalid gradient: grad_output[{place}] is on {grad.device},"  # type: ignore
            f" output[{place}] on {output.device}"
        )
    return grad if grad.storage.value.dtype is dtype else grad.to(dtype)  # type: ignore


def facts_of(output: Any) -> tuple[tuple[int, ...], Any]:
    if isinstance(output, GradientEdge):
        return output.node.facts_of(output.output_nr)
    return output.layout.shape, output.storage.value.dtype


def ones_for(output: Any, place: int) -> Any:
    """The gradient of a number with respect to itself."""
    if isinstance(output, GradientEdge):
        raise RuntimeError("grad must be given for outputs that are GradientEdges")
    if output.requires_grad and output.layout.numel != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not output.storage.value.dtype.is_floating_point:
        raise RuntimeError(
            "grad can be implicitly created only for real scalar outputs but got"
            f" {output.storage.value.dtype}"
        )
    return repeated(output, 1)


def zeros_like(tensor: Any) -> Any:
    return tensor.new_zeros(tensor.layout.shape)
