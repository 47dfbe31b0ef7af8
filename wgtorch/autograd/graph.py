"""The graph as users see it: nodes, edges, hooks on them, and what happens to saved tensors."""

from typing import TYPE_CHECKING

from wgtorch.autograd.budget import device_budget
from wgtorch.autograd.composition import compose_hooks, hooks_for, pair_if, share_packed
from wgtorch.autograd.gradients import GradientEdge, get_gradient_edge
from wgtorch.autograd.multi_hooks import increment_version, register_multi_grad_hook
from wgtorch.autograd.mutation import allow_mutation_on_saved_tensors
from wgtorch.autograd.node import Node
from wgtorch.autograd.offload import save_on_cpu
from wgtorch.autograd.parameters import adopt, is_parameter_memory
from wgtorch.autograd.saved_hooks import (
    PackHook,
    UnpackHook,
    disable_saved_tensors_hooks,
    saved_tensors_hooks,
)
from wgtorch.autograd.verified import HookCheckError
from wgtorch.lazy import later

if TYPE_CHECKING:
    from wgtorch.autograd.compression import compress
    from wgtorch.autograd.report import (
        SavedTensorReport,
        plot_saved_tensors,
        saved_tensor_report,
    )
    from wgtorch.autograd.spill import spill_to_disk

__getattr__, __dir__ = later(
    globals(),
    {
        "SavedTensorReport": "wgtorch.autograd.report",
        "compress": "wgtorch.autograd.compression",
        "plot_saved_tensors": "wgtorch.autograd.report",
        "saved_tensor_report": "wgtorch.autograd.report",
        "spill_to_disk": "wgtorch.autograd.spill",
    },
)

__all__ = [
    "GradientEdge",
    "HookCheckError",
    "Node",
    "PackHook",
    "SavedTensorReport",
    "UnpackHook",
    "adopt",
    "allow_mutation_on_saved_tensors",
    "compose_hooks",
    "compress",
    "device_budget",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "hooks_for",
    "increment_version",
    "is_parameter_memory",
    "pair_if",
    "plot_saved_tensors",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensor_report",
    "saved_tensors_hooks",
    "share_packed",
    "spill_to_disk",
]
