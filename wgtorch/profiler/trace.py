"""Events as a Chrome trace: one process for the program, one for each GPU with two lanes."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CATEGORIES = {"op": "cpu_op", "backward": "cpu_op", "user": "user_annotation",
              "saved": "saved_tensors", "stall": "stall", "kernel": "kernel", "clear": "kernel",
              "d2h": "gpu_memcpy", "h2d": "gpu_memcpy", "copy": "gpu_memcpy"}  # fmt: skip
GPU = 1 << 20  # what GPUs are numbered from, as processes
LANES = {"kernel": 1, "gpu_memcpy": 2}


def write_trace(events: Sequence[Any], path: str | Path, metadata: dict[str, Any]) -> None:
    """Writes JSON; packed if the name ends in .gz."""
    text = json.dumps(trace_of(events, metadata))
    if str(path).endswith(".gz"):
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.write(text)
    else:
        Path(path).write_text(text, encoding="utf-8")


def trace_of(events: Sequence[Any], metadata: dict[str, Any]) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    devices, threads, known = {}, set(), {event.id: event for event in events}
    for event in events:
        row = row_of(event)
        rows.append(row)
        if event.is_on_device:
            devices[row["pid"]] = event.facts.get("device", "webgpu")
            rows += arrow(known.get(event.facts.get("op id")), event, row)
        else:
            threads.add(event.thread)
    return {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "deviceProperties": [{"id": pid - GPU, "name": name} for pid, name in devices.items()],
        **metadata,
        "traceEvents": names_of(devices, threads) + rows,
    }


def row_of(event: Any) -> dict[str, Any]:
    category = CATEGORIES[event.kind]
    args = {"id": event.id, **event.facts}
    if event.input_shapes:
        args["Input Dims"] = event.input_shapes
    if event.stack:
        args["Call stack"] = ";".join(event.stack)
    if event.flops:
        args["flops"] = event.flops
    if event.sequence_nr >= 0:
        args["Sequence number"] = event.sequence_nr
    pid, tid = os.getpid(), event.thread
    if event.is_on_device:
        pid, tid = GPU + event.facts.get("device index", 0), LANES[category]
    return {"ph": "X", "cat": category, "name": event.name, "pid": pid, "tid": tid,
            "ts": round(event.start, 3), "dur": round(event.end - event.start, 3),
            "args": args}  # fmt: skip


def arrow(op: Any, event: Any, row: dict[str, Any]) -> list[dict[str, Any]]:
    """From the op that asked for it to the work on the GPU."""
    if op is None:
        return []
    common = {"cat": "ac2g", "name": "ac2g", "id": event.id}
    return [
        {**common, "ph": "s", "pid": os.getpid(), "tid": op.thread, "ts": round(op.start, 3)},
        {**common, "ph": "f", "bp": "e", "pid": row["pid"], "tid": row["tid"], "ts": row["ts"]},
    ]


def names_of(devices: dict[int, str], threads: set[int]) -> list[dict[str, Any]]:
    pid = os.getpid()
    rows = [meta("process_name", pid, 0, "python")]
    rows += [meta("thread_name", pid, tid, f"thread {tid}") for tid in sorted(threads)]
    for gpu, name in devices.items():
        rows.append(meta("process_name", gpu, 0, name))
        rows += [meta("thread_name", gpu, 1, "kernels"), meta("thread_name", gpu, 2, "copies")]
    return rows


def meta(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "ts": 0, "args": {"name": name}}
