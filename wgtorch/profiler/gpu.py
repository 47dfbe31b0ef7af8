"""GPUs under observation: kernels and copies by their own clock, and where the host waits."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from wgtorch.backend import backend
from wgtorch.device import Device
from wgtorch.profiler.event import DeviceType, FunctionEvent, Kernel
from wgtorch.profiler.patches import Patches
from wgtorch.profiler.recorder import Recorder


class Lanes:
    """The timers of all GPUs that are open, and the first one in any case."""

    def __init__(self, recorder: Recorder, patches: Patches):
        backend(Device("webgpu"))
        timing = import_module("wgtorch.backends.webgpu.timing")
        self.recorder, self.timers = recorder, []
        for device in list(Device._known.values()):
            if device.type == "webgpu" and device.backend is not None:
                home: Any = device.backend
                timer = timing.Timer(home, recorder.note)
                self.timers.append((device, home, timer))
                recorder.pools.append(home.gpu.pool)
        watch_transfers(patches)
        for _, home, timer in self.timers:
            timer.start()
            patches.put(home.queue, "wait", stalled("stall: GPU", home.queue.wait))

    def finish(self) -> None:
        """What was promised and is alive belongs to what is profiled."""
        event = self.recorder.begin("webgpu::synchronize", "op")
        try:
            for _, home, _ in self.timers:
                home.synchronize()
        finally:
            self.recorder.end(event)

    def stop(self) -> None:
        """Adds what ran to the events."""
        for device, home, timer in self.timers:
            for span in timer.stop():
                self.add(span, device, home.gpu.traits.name)

    def add(self, span: Any, device: Device, name: str) -> None:
        recorder = self.recorder
        op, slot = span.note
        event = FunctionEvent(recorder.ids(), span.name, span.kind, 0, None)
        event.device_type = DeviceType.WebGPU
        event.start = (span.begin - recorder.zero) / 1000
        event.end = (span.end - recorder.zero) / 1000
        event.facts = {"device": f"{device} {name}", "device index": device.index}
        if span.kind in ("d2h", "h2d"):
            event.name = f"saved_tensors::{span.kind}" if slot else f"Memcpy {WORDS[span.kind]}"
            event.facts |= (
                {"slot id": slot["slot id"], "op": slot["op"], "slot": slot["slot"]}
                if (slot)
                else {}
            )
        if span.nbytes:
            event.facts["bytes"] = span.nbytes
        if op is not None:
            event.facts["op id"] = op.id
            event.facts.setdefault("op", op.name)
            op.kernels.append(Kernel(event.name, device.index, event.end - event.start))
        recorder.events.append(event)


WORDS = {"d2h": "DtoH", "h2d": "HtoD"}


def watch_transfers(patches: Patches) -> None:
    """Copies know the slot for which they were asked, however late they leave."""
    transfer: Any = import_module("wgtorch.backends.webgpu.transfer")
    send, leave, fulfil = transfer.Dock.send, transfer.Download.leave, transfer.Fetch.fulfil

    def sending(dock: Any, value: Any) -> Any:
        download = send(dock, value)
        recorder = Recorder.current
        if recorder is not None and recorder.thread.slot is not None:
            recorder.moving[download] = recorder.thread.slot
        return download

    patches.put(transfer.Dock, "send", sending)
    patches.put(transfer.Download, "leave", for_slot(leave, lambda download: download))
    patches.put(transfer.Download, "array", stalled("stall: copy to host", transfer.Download.array))
    patches.put(transfer.Fetch, "fulfil", for_slot(fulfil, lambda fetch: fetch.download))


def for_slot(plain: Callable, download_of: Callable[[Any], Any]) -> Callable:
    def run(mover: Any, *args: Any) -> Any:
        recorder = Recorder.current
        if recorder is None:
            return plain(mover, *args)
        before = recorder.thread.slot
        recorder.thread.slot = recorder.moving.get(download_of(mover))
        try:
            return plain(mover, *args)
        finally:
            recorder.thread.slot = before

    return run


def stalled(name: str, plain: Callable) -> Callable:
    """A wait, as an event; with the slot for which it is."""

    def wait(*args: Any) -> Any:
        recorder = Recorder.current
        if recorder is None:
            return plain(*args)
        event = recorder.begin(name, "stall")
        slot = recorder.thread.slot or (recorder.moving.get(args[0]) if args else None)
        if slot is not None:
            event.facts.update(slot)
        try:
            return plain(*args)
        finally:
            recorder.end(event)

    return wait
