"""The graph as users see it: nodes, edges, hooks on them, and what happens to saved tensors."""

from wgtorch.autograd.gradients import GradientEdge, get_gradient_edge
from wgtorch.autograd.multi_hooks import increment_version, register_multi_grad_hook
from wgtorch.autograd.mutation import allow_mutation_on_saved_tensors
from wgtorch.autograd.node import Node
from wgtorch.autograd.offload import save_on_cpu
from wgtorch.autograd.parameters import adopt, is_parameter_memory
from wgtorch.autograd.saved_hooks import (
    PackHook,
    UnpackHook,
    compose_hooks,
    disable_saved_tensors_hooks,
    saved_tensors_hooks,
)
from wgtorch.autograd.spill import spill_to_disk

__all__ = [
    "GradientEdge",
    "Node",
    "PackHook",
    "UnpackHook",
    "adopt",
    "allow_mutation_on_saved_tensors",
    "compose_hooks",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "is_parameter_memory",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "spill_to_disk",
]
