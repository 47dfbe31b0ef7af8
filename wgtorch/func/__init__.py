"""Transforms of functions: derivatives and batches, which nest in any order."""

from wgtorch.absent import answer_for
from wgtorch.autograd.transforms.vmap import vmap
from wgtorch.func.forward import jacfwd, jvp, linearize
from wgtorch.func.reverse import grad, grad_and_value, hessian, jacrev, vjp
from wgtorch.func.stateless import (
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]

answer_for(__name__)
