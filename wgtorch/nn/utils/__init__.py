"""What is done with parameters: gradients clipped, values joined into a vector or parametrized."""

from wgtorch.nn.utils import fusion, parametrizations, parametrize, prune, rnn, stateless
from wgtorch.nn.utils.clip import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from wgtorch.nn.utils.fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
from wgtorch.nn.utils.init import skip_init
from wgtorch.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from wgtorch.nn.utils.vector import parameters_to_vector, vector_to_parameters
from wgtorch.nn.utils.weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
    "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights",
    "fusion", "get_total_norm", "parameters_to_vector", "parametrizations", "parametrize", "prune",
    "remove_spectral_norm", "remove_weight_norm", "rnn", "skip_init", "spectral_norm", "stateless",
    "vector_to_parameters", "weight_norm",
]  # fmt: skip
