"""Where the time of a training step goes: the profiler, on the small transformer with an offload.

Prints the ops that take longest on the GPU (or the cpu), what saved tensors did, and writes a trace
for ui.perfetto.dev: ops above, kernels and copies of the GPU below, waits where they are.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from small_transformer import arguments, bench_of

import wgtorch as torch
from wgtorch.autograd.graph import save_on_cpu
from wgtorch.autograd.profiler import EventList, profile, record_function


def main(given: list[str] | None = None) -> EventList:
    options = arguments(__doc__ or "", given)
    bench = bench_of(options)
    on_gpu = torch.device(options.device).type == "webgpu"
    bench.step(save_on_cpu)  # compiles what there is to compile
    with profile(use_device="webgpu" if on_gpu else None) as prof:
        bench.model.zero_grad()
        with record_function("forward"), save_on_cpu():
            loss = bench.loss()
        with record_function("backward"):
            loss.backward()
        with record_function("wait"):
            bench.settle()
    events = prof.function_events
    assert events is not None
    order = "self_device_time_total" if on_gpu else "self_cpu_time_total"
    print(prof.key_averages().table(sort_by=order, row_limit=12, max_name_column_width=40))
    for name in ("saved_tensors::pack", "saved_tensors::d2h", "saved_tensors::h2d", "stall"):
        found = [event for event in events if event.name.startswith(name)]
        spent = sum(event.end - event.start for event in found) / 1000
        moved = sum(event.facts.get("bytes", 0) for event in found)
        print(f"{name:<22}{len(found):6} events {spent:10.2f} ms {moved:14,} bytes")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "step.json"
        prof.export_chrome_trace(path)
        print(f"the trace has {path.stat().st_size:,} bytes; export_chrome_trace(path) keeps it")
    return events


if __name__ == "__main__":
    main(sys.argv[1:])
