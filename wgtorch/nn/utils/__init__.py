"""What is done with parameters: gradients clipped, values joined into a vector or parametrized."""

from wgtorch.nn.utils import parametrizations, parametrize, rnn
from wgtorch.nn.utils.clip import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from wgtorch.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from wgtorch.nn.utils.vector import parameters_to_vector, vector_to_parameters
from wgtorch.nn.utils.weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
    "get_total_norm", "parameters_to_vector", "parametrizations", "parametrize",
    "remove_spectral_norm", "remove_weight_norm", "rnn", "spectral_norm", "vector_to_parameters",
    "weight_norm",
]  # fmt: skip
