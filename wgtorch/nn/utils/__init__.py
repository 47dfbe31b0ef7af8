"""What training loops do with all parameters at once: clip gradients, join into a vector."""

from wgtorch.nn.utils import rnn
from wgtorch.nn.utils.clip import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from wgtorch.nn.utils.vector import parameters_to_vector, vector_to_parameters

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
    "get_total_norm", "parameters_to_vector", "rnn", "vector_to_parameters",
]  # fmt: skip
