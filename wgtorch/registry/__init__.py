"""The open registries: devices, ops, kernels, gradients, functions and methods of users.

Every `register_*` returns a handle; `handle.unregister()`, or leaving its `with` block, takes the
registration back. Names exist in Python's spelling and, for those who come from JavaScript, in
camelCase.
"""

from __future__ import annotations

from types import ModuleType

from wgtorch.registry.configs import (
    BaseKernelConfig,
    BinaryKernelConfigCPU,
    BinaryKernelCPU,
    CPUForwardFn,
    CPUKernelConfig,
    DispatchConfig,
    KernelConfig,
    KernelConfigWebGPU,
    KernelPredicate,
    KernelWebGPU,
    ReductionKernelConfigCPU,
    ReductionKernelCPU,
    ScalarCPUForwardFn,
    ScalarCPUKernelConfig,
    ScalarWebGPUKernelConfig,
    TensorKernelConfig,
    UnaryKernelConfigCPU,
    UnaryKernelCPU,
    WebGPUKernelConfig,
)  # fmt: skip
from wgtorch.registry.coverage import (
    CoverageReport,
    DTypeCoverageReport,
    OpCoverageEntry,
    coverage_report,
    dtype_coverage_report,
)  # fmt: skip
from wgtorch.registry.devices import (
    DeviceBuffer,
    DeviceCapabilities,
    DeviceConfig,
    DeviceContext,
    DeviceEntry,
    DeviceHandle,
    DeviceLike,
    DeviceRegistry,
    DeviceType,
    get_device_capabilities,
    get_device_config,
    get_device_context,
    has_device,
    initialize_device,
    is_cpu_only_mode,
    list_custom_devices,
    list_devices,
    register_device,
    require_webgpu,
    unregister_device,
    validate_device,
)  # fmt: skip
from wgtorch.registry.dtypes import (
    DTypeComponents,
    DTypeConfig,
    DTypeDisplayConfig,
    DTypeEntry,
    DTypeHandle,
    DTypeInfo,
    DTypeRegistry,
    DTypeSerializationConfig,
    RegisteredDType,
    get_dtype,
    get_dtype_info,
    get_real_dtype,
    has_dtype,
    is_complex_dtype,
    is_floating_point_dtype,
    list_custom_dtypes,
    list_dtypes,
    numpy_dtype,
    register_dtype,
    validate_dtype,
)  # fmt: skip
from wgtorch.registry.functions import (
    FunctionConfig,
    FunctionEntry,
    MethodConfig,
    MethodEntry,
    get_function,
    get_method,
    has_function,
    has_method,
    list_functions,
    list_methods,
    register_function,
    register_method,
)  # fmt: skip
from wgtorch.registry.gradients import (
    AutogradConfig,
    AutogradDevice,
    AutogradDType,
    AutogradEntry,
    BackwardFn,
    BinaryBackwardFn,
    GradContext,
    GradientsFor,
    InputsFor,
    SaveForBackward,
    SetupContextFn,
    UnaryBackwardFn,
    get_autograd,
    has_autograd,
    register_backward,
)  # fmt: skip
from wgtorch.registry.handles import (
    AutogradHandle,
    FunctionHandle,
    Handle,
    KernelHandle,
    MethodHandle,
    ScalarKernelHandle,
)  # fmt: skip
from wgtorch.registry.kernels import (
    KernelEntry,
    KernelInfo,
    KernelRegistry,
    find_kernel_with_predicate,
    get_kernel,
    get_scalar_kernel,
    has_scalar_kernel,
    register_forward,
    register_scalar_forward,
)  # fmt: skip
from wgtorch.registry.questions import (
    BINARY_OP_NAMES,
    OP_SCHEMAS,
    REDUCTION_OP_NAMES,
    UNARY_OP_NAMES,
    BinaryOpSchema,
    CreationOpSchema,
    OpInfo,
    OpKind,
    OpName,
    OpSchema,
    ReductionOpSchema,
    ShapeOpSchema,
    UnaryOpSchema,
    get_op_info,
    get_op_kind,
    get_op_schema,
    has_kernel,
    is_binary_op,
    is_binary_op_name,
    is_reduction_op,
    is_reduction_op_name,
    is_unary_op,
    is_unary_op_name,
    list_kernels,
    list_ops,
)  # fmt: skip
from wgtorch.registry.shaders import shader
from wgtorch.registry.shortcuts import (
    BinaryOpConfig,
    UnaryOpConfig,
    UnaryOpFn,
    UnaryOpParams,
    register_binary_op,
    register_unary_op,
)  # fmt: skip

register_kernel, register_autograd = register_forward, register_backward
DTypeHandleImpl = DTypeHandle
register_scalar_kernel, ScalarKernelEntry, CPUKernelEntry = (
    register_scalar_forward, KernelEntry, KernelEntry,
)  # fmt: skip

__all__ = sorted(
    name for name, value in globals().items()
    if not name.startswith("_") and name not in ("ModuleType", "annotations")
    and not isinstance(value, ModuleType)
)  # fmt: skip


def __dir__() -> list[str]:
    return __all__


# The spelling of JavaScript, which is understood but not shown
coverageReport = coverage_report
findKernelWithPredicate = find_kernel_with_predicate
getAutograd = get_autograd
getDType = get_dtype
getFunction = get_function
getKernel = get_kernel
getMethod = get_method
getOpInfo = get_op_info
getScalarKernel = get_scalar_kernel
hasAutograd = has_autograd
hasDType = has_dtype
hasFunction = has_function
hasKernel = has_kernel
hasMethod = has_method
hasScalarKernel = has_scalar_kernel
listCustomDTypes = list_custom_dtypes
listDTypes = list_dtypes
listFunctions = list_functions
listKernels = list_kernels
listMethods = list_methods
listOps = list_ops
registerAutograd = register_backward
registerBinaryOp = register_binary_op
registerDType = register_dtype
registerFunction = register_function
registerKernel = register_forward
registerMethod = register_method
registerScalarKernel = register_scalar_forward
registerUnaryOp = register_unary_op
requireWebGPU = require_webgpu
validateDevice = validate_device
validateDType = validate_dtype
