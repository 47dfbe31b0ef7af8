"""Backends by device type. Each is imported only when its device is first used."""

from wgtorch.backend import Backend, register
from wgtorch.backends import forked as forked
from wgtorch.backends.switches import cuda, cudnn, mkl, mkldnn, mps, openmp
from wgtorch.device import Device


def _cpu(device: Device) -> Backend:
    from wgtorch.backends.cpu import CPU

    return CPU(device)


def _webgpu(device: Device) -> Backend:
    from wgtorch.backends.watched import watched
    from wgtorch.backends.webgpu.backend import WebGPU

    return watched(WebGPU(device))


def _meta(device: Device) -> Backend:
    from wgtorch.backends.meta import Meta

    return Meta(device)


register("cpu", _cpu)
register("webgpu", _webgpu)
register("meta", _meta)
