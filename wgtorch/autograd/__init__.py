"""Reverse-mode differentiation. Knows ops by their formulas, never their kernels."""

from typing import TYPE_CHECKING

from wgtorch.autograd import (
    anomaly_mode,
    forward_ad,
    function,
    functional,
    grad_mode,
    graph,
    profiler,
)
from wgtorch.autograd.anomaly_mode import (
    detect_anomaly,
    is_anomaly_check_nan_enabled,
    is_anomaly_detection_enabled,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from wgtorch.autograd.engine import run_backward as execute_backward
from wgtorch.autograd.function import Function, FunctionCtx
from wgtorch.autograd.grad_mode import set_multithreading_enabled
from wgtorch.autograd.gradcheck import GradcheckError, GradcheckResult, gradcheck, gradgradcheck
from wgtorch.autograd.gradcompare import compare_with_cpu
from wgtorch.autograd.gradients import backward, grad
from wgtorch.autograd.graph import (
    GradientEdge,
    Node,
    PackHook,
    UnpackHook,
    allow_mutation_on_saved_tensors,
    compose_hooks,
    device_budget,
    disable_saved_tensors_hooks,
    get_gradient_edge,
    increment_version,
    is_parameter_memory,
    register_multi_grad_hook,
    save_on_cpu,
    saved_tensors_hooks,
)
from wgtorch.autograd.mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from wgtorch.autograd.saved_tensor import SavedTensor
from wgtorch.autograd.variable import Variable
from wgtorch.lazy import later

if TYPE_CHECKING:
    from wgtorch.autograd.spill import spill_to_disk

__getattr__, __dir__ = later(
    globals(),
    {
        "compression": "wgtorch.autograd.compression",
        "report": "wgtorch.autograd.report",
        "spill": "wgtorch.autograd.spill",
        "spill_to_disk": "wgtorch.autograd.spill",
    },
)

__all__ = [
    "Function",
    "FunctionCtx",
    "GradcheckError",
    "GradcheckResult",
    "GradientEdge",
    "Node",
    "PackHook",
    "SavedTensor",
    "UnpackHook",
    "Variable",
    "allow_mutation_on_saved_tensors",
    "anomaly_mode",
    "backward",
    "compare_with_cpu",
    "compose_hooks",
    "detect_anomaly",
    "device_budget",
    "disable_saved_tensors_hooks",
    "enable_grad",
    "execute_backward",
    "forward_ad",
    "function",
    "functional",
    "get_gradient_edge",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "increment_version",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_detection_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_parameter_memory",
    "no_grad",
    "profiler",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "spill_to_disk",
]
