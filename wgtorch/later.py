"""Names of wgtorch that are imported when they are first asked for, and where they are."""

MODULES = ("_ops", "array_api", "distributions", "einops", "func", "indexing", "linalg", "masked",
           "nn", "optim", "profiler", "quasirandom", "registry", "shape_inference", "signal",
           "special", "testing", "types", "typing", "utils")  # fmt: skip
EINOPS = ("clear_einops_cache", "get_einops_cache_size", "pack", "rearrange", "reduce", "repeat",
          "unpack")  # fmt: skip
WINDOWS = ("bartlett_window", "blackman_window", "hamming_window", "hann_window",
           "kaiser_window")  # fmt: skip
PROFILER = ("profiler_allow_cudagraph_cupti_lazy_reinit_cuda12",)
DEVICES = (
    "BufferUsage", "DeviceBuffer", "DeviceCapabilities", "DeviceConfig", "DeviceContext",
    "DeviceEntry", "DeviceHandle",
    "get_device_config", "get_device_context", "has_device", "initialize_device",
    "is_cpu_only_mode", "list_custom_devices", "list_devices", "register_device", "require_webgpu",
    "unregister_device", "validate_device",
)  # fmt: skip
REGISTRY = (
    "coverageReport", "coverage_report", "dtype_coverage_report", "findKernelWithPredicate",
    "find_kernel_with_predicate", "getAutograd", "getDType", "getFunction", "getKernel",
    "getMethod", "getOpInfo", "getScalarKernel", "get_autograd", "get_dtype", "get_dtype_info",
    "get_function", "get_kernel", "get_method", "get_op_info", "get_op_kind", "get_op_schema",
    "get_real_dtype", "get_scalar_kernel", "hasAutograd", "hasDType", "hasFunction", "hasKernel",
    "hasMethod", "hasScalarKernel", "has_autograd", "has_dtype", "has_function", "has_kernel",
    "has_method", "has_scalar_kernel", "is_binary_op", "is_complex_dtype",
    "is_floating_point_dtype", "is_reduction_op", "is_unary_op", "listCustomDTypes", "listDTypes",
    "listFunctions", "listKernels", "listMethods", "listOps", "list_custom_dtypes", "list_dtypes",
    "list_functions", "list_kernels", "list_methods", "list_ops", "numpy_dtype", "registerAutograd",
    "registerBinaryOp", "registerDType", "registerFunction", "registerKernel", "registerMethod",
    "registerScalarKernel", "registerUnaryOp", "register_autograd", "register_backward",
    "register_binary_op", "register_dtype", "register_forward", "register_function",
    "register_kernel", "register_method", "register_scalar_forward", "register_scalar_kernel",
    "register_unary_op", "requireWebGPU", "validateDType", "validateDevice", "validate_dtype",
)  # fmt: skip
TYPES = (
    "AxesRecord", "DeviceInput", "DeviceLike", "DeviceType", "IndexSpec", "IndicesSpec", "MaskSpec",
    "Number", "RangeSpec", "ReduceOperation", "Shape", "ShapedTensor", "SliceSpec", "Sublist",
    "SublistElement", "SubscriptIndex", "TensorCreator", "TensorData", "TensorLike", "TensorMeta",
    "TypedArray",
)  # fmt: skip
FUNCTIONAL = (  # of nn.functional, under the same name here
    "bilinear", "channel_shuffle", "conv3d", "conv_transpose3d", "cosine_similarity", "max_pool3d",
    "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle",
)  # fmt: skip
COPIES = (
    "alias_copy", "as_strided_copy", "detach_copy", "diagonal_copy", "expand_copy", "permute_copy",
    "select_copy", "slice_copy", "split_copy", "split_with_sizes_copy", "squeeze_copy", "t_copy",
    "transpose_copy", "unbind_copy", "unfold_copy", "unsqueeze_copy", "view_as_complex_copy",
    "view_as_real_copy", "view_copy",
)  # fmt: skip
INNER = ("affine_grid_generator", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d",
          "native_batch_norm", "native_channel_shuffle", "native_dropout", "native_group_norm",
          "native_layer_norm")  # fmt: skip
LATER = {
    **{name: name for name in MODULES},
    **dict.fromkeys(COPIES, "copies"),
    **dict.fromkeys(EINOPS, "einops"),
    **dict.fromkeys(INNER, "native_names"),
    **dict.fromkeys(("pca_lowrank", "svd_lowrank"), "lowrank"),
    **dict.fromkeys(FUNCTIONAL, "nn.functional"),
    "norm_except_dim": "nn.utils.weight_norm",
    **dict.fromkeys(TYPES, "types"),
    **dict.fromkeys(("Torch", "create_torch"), "namespace"),
    **dict.fromkeys(("apply_out", "create_cum_extreme_result"), "_ops"),
    **dict.fromkeys(PROFILER, "profiler"),
    **dict.fromkeys(WINDOWS, "windows"),
    **dict.fromkeys(REGISTRY, "registry"),
    **dict.fromkeys(DEVICES, "registry.devices"),
}
