"""Freight is copies between device and host that ride in kernels which compute for long.

One queue runs copies and kernels one after the other. A product of matrices keeps a GPU busy for
milliseconds and its bus idle; here some more workgroups of its own launch write host memory, or
read it. A Move waits for such a carrier; who needs what it moves before one came has it copied.
Off unless `Freight(home).start()`: worth it where tools/bench_offload.py overlap says (c) hides.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from wgtorch.backends.webgpu.pipelines import FIELDS, Kernel
from wgtorch.backends.webgpu.pool import STORAGE, Buffer, Pool

PAIRS = 2  # moves that one carrier takes along
SPARE = 16  # workgroups that move; more would keep those waiting that compute
MOST = 256 << 20  # bytes that may wait
QUAD = 16  # bytes that a thread moves at a time
CARRIES = "for (var z = group.z; z < launch.batches * launch.parts; z += groups.z)"
THREADS = "FREIGHT_THREADS"
HEAD = re.compile(
    r"(@compute @workgroup_size\([^)]*\))\s*fn main\(\s*@builtin\(workgroup_id\) group: vec3u,"
    r"\s*@builtin\(num_workgroups\) groups: vec3u,"
    r"\s*@builtin\(local_invocation_index\) local: u32,?\s*\)"
)
MAIN = """
{attributes}
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) local: u32,
) {{
    if group.z > 0u {{
        carried(group - vec3u(0u, 0u, 1u), groups - vec3u(0u, 0u, 1u), local);
        return;
    }}
    let mover = group.y * groups.x + group.x;
    if mover >= {spare}u {{ return; }}
    let step = min({spare}u, groups.x * groups.y) * {threads};
    let first = mover * {threads} + local;
{moves}}}
"""
MOVE = """    for (var i = launch.begin_{n} + first; i < launch.end_{n}; i += step) {{
        freight_to_{n}[i] = freight_from_{n}[i];
    }}
"""


class Move:
    """Bytes that are to be elsewhere, in quads; `done` of them are."""

    __slots__ = ("done", "nbytes", "quads", "source", "target")

    def __init__(self, source: Buffer, target: Buffer, nbytes: int):
        self.source, self.target, self.nbytes = source, target, nbytes
        self.quads, self.done = -(-nbytes // QUAD), 0


class Freight:
    """`bytes_per_flop`: what the bus moves while a kernel computes."""

    def __init__(self, home: Any, bytes_per_flop: float = 1e-3, least_bytes: int = 1 << 16):
        self.home, self.queue, self.dock = home, home.queue, home.dock
        self.bytes_per_flop, self.least_bytes = bytes_per_flop, least_bytes
        self.moves: deque[Move] = deque()
        self.carriers: dict[Kernel, Kernel | None] = {}
        self.carried = self.copied = 0  # bytes, for those who measure
        self.empty = home.take(QUAD)

    def start(self) -> None:
        if self.dock.round_trip:
            pool = self.dock.pool
            self.dock.pool = Pool(self.queue.device, pool.usage | STORAGE)
            self.dock.pool.make_room, self.dock.pool.fail = pool.make_room, pool.fail
            self.dock.freight = self
            self.queue.dispatch = self.dispatch

    def stop(self) -> None:
        self.unload()
        self.dock.freight = None
        self.queue.__dict__.pop("dispatch", None)

    def load(self, source: Buffer, target: Buffer, nbytes: int) -> None:
        usages = [b.block.handle and b.block.handle.usage & STORAGE for b in (source, target)]
        if nbytes < self.least_bytes or not all(u == STORAGE for u in usages):
            self.queue.copy(source, target, nbytes)
            return
        self.moves.append(Move(source, target, nbytes))
        while sum([QUAD * (move.quads - move.done) for move in self.moves]) > MOST:
            self.copy(self.moves.popleft())

    def settle(self, buffer: Buffer) -> None:
        """What goes from or to this buffer is copied now."""
        for move in [m for m in self.moves if m.source is buffer or m.target is buffer]:
            self.moves.remove(move)
            self.copy(move)

    def unload(self) -> None:
        while self.moves:
            self.copy(self.moves.popleft())

    def copy(self, move: Move) -> None:
        self.copied += move.nbytes
        self.queue.copy(move.source, move.target, move.nbytes)

    # In place of the queue's method

    def dispatch(self, kernel: Kernel, blocks: list, numbers: tuple, groups: Any) -> None:
        really = type(self.queue).dispatch
        carrier = self.carrier(kernel) if self.moves else None
        if carrier is None:
            really(self.queue, kernel, blocks, numbers, groups)
            return
        m, n, k, batches = numbers[:4]
        room = int(2.0 * m * n * k * batches * self.bytes_per_flop) // QUAD
        moves, more, bound = [], [], list(blocks)
        # a kernel may not read a buffer that its spare workgroups could write
        apart = [m for m in self.moves if not {m.source.block, m.target.block} & set(blocks)]
        for move in apart[:PAIRS]:
            end = min(move.quads, move.done + room)
            room -= end - move.done
            more += [move.done, end]
            bound += [move.source.block, move.target.block]
            self.carried += QUAD * (end - move.done)
            move.done = end
            moves.append(move)
        for _ in range(PAIRS - len(moves)):
            more += [0, 0]
            bound += [self.empty.block, self.empty.block]
        for move in moves:
            if move.done == move.quads:
                self.moves.remove(move)
        x, y, z = groups
        really(self.queue, carrier, bound, (*numbers, *more), (x, y, z + 1))

    def carrier(self, kernel: Kernel) -> Kernel | None:
        """The same kernel with room for moves; None for one that cannot."""
        if kernel not in self.carriers:
            self.carriers[kernel] = self._built(kernel)
        return self.carriers[kernel]

    def _built(self, kernel: Kernel) -> Kernel | None:
        pipelines = self.home.gpu.pipelines
        source = next((text for text, known in pipelines.cache.items() if known is kernel), "")
        fields, head = FIELDS.search(source), HEAD.search(source)
        count = len(re.findall(r"@group\(0\) @binding\(", source))
        fits = count + 2 * PAIRS < self.home.gpu.most_buffers
        if not (fields and head and fits and CARRIES in source):
            return None
        if not fields[1].startswith("m: u32, n: u32, k: u32, batches: u32"):
            return None
        return pipelines.get(with_room(source, fields, head, count), f"{kernel.label}+freight")


def with_room(source: str, fields: Any, head: Any, count: int) -> str:
    """The kernel's text, its `main` called by one that moves first."""
    listed = "".join([f", begin_{n}: u32, end_{n}: u32" for n in range(PAIRS)])
    text = source.replace(head[0], "fn carried(group: vec3u, groups: vec3u, local: u32)").replace(
        fields[0], f"struct Launch {{ {fields[1]}{listed} }}"
    )
    size = re.search(r"workgroup_size\(([^),]*)", head[1])
    assert size is not None
    moves = "".join([MOVE.format(n=n) for n in range(PAIRS)])
    main = MAIN.format(attributes=head[1], spare=SPARE, threads=THREADS, moves=moves)
    bindings = "".join(
        [
            f"@group(0) @binding({count + 2 * n + i}) var<storage, {access}>"
            f" freight_{way}_{n}: array<vec4u>;\n"
            for n in range(PAIRS)
            for i, (way, access) in enumerate((("from", "read_write"), ("to", "read_write")))
        ]
    )
    return f"{text}\n{bindings}const {THREADS} = u32({size[1]});\n{main}"
