"""A Product is a batch of matrix products as a GPU runs it: which kernel, in which tiles, in how
many parts along k.

A convolution is a Product too; it only reads and stores through other functions (readers.py).
"""

from __future__ import annotations

import re
from math import inf
from typing import Any, NamedTuple

from wgtorch.dtype import DType, float32
from wgtorch.op import Pass
from wgtorch.ops.readers import HALVES, Reader, binding, loader, start
from wgtorch.record import Record, replace

MAX_GROUPS = 65535
WARP_OF_EIGHT = re.compile(r"llvmpipe.* 256 bits")
FIELDS = ("m", "n", "k", "batches", "parts", "k_part", "tiles", "inner")


class Tile(NamedTuple):
    """A way to cut a result for workgroups (see matmul_tiles.wgsl), and how fast it was found to
    be on an H200 (tools/bench_tiles.py): a step along k takes a group `alone` on its unit so long,
    and groups that share one `each` so long, where that is more together."""

    threads: tuple[int, int]
    groups: tuple[int, int]
    each: float  # nanoseconds
    alone: float
    slices: int = 1  # of a stretch of k, which threads of one workgroup add up

    @property
    def rows(self) -> int:
        return 4 * self.threads[0] * self.groups[0]

    @property
    def cols(self) -> int:
        return 4 * self.threads[1] * self.groups[1]

    @property
    def group(self) -> int:
        """The threads of a workgroup."""
        return self.threads[0] * self.threads[1] * self.slices

    @property
    def nbytes(self) -> int:
        """Of workgroup memory: the tiles; x's place is also that of the sums of half the slices."""
        x, y = (TILE_K * (side // 4 + 1) * self.slices for side in (self.rows, self.cols))
        return 16 * (max(x, self.slices // 2 * self.rows * self.cols // 4) + y)


TILE_K = 16
TILES = (
    Tile((16, 16), (2, 4), 177.0, 183.0),
    Tile((16, 16), (2, 2), 99.0, 101.0),
    Tile((16, 8), (2, 2), 54.0, 60.0),
    Tile((8, 16), (2, 2), 54.0, 63.0),
    Tile((8, 8), (2, 2), 28.0, 51.0),
    Tile((8, 8), (2, 2), 57.0, 61.0, slices=2),
    Tile((8, 8), (1, 1), 11.5, 19.5),
    Tile((8, 8), (1, 1), 22.0, 25.5, slices=2),
    Tile((4, 8), (1, 1), 31.0, 29.0, slices=4),
    Tile((4, 4), (1, 1), 40.0, 44.0, slices=8),
)
UNITS = {"discrete": 128, "integrated": 16}
LONGEST = 1 << 17  # k of a part on software: llvmpipe ends a thread's loops at 65,535 turns
PARTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)  # of k
FINISH = 20000.0  # nanoseconds that another pass takes, and the call of it
FINISH_PART = 150.0  # that it takes longer for each part


class Addend(Record):
    """What is added to results: its element for (batch, row, col) lies `row` and `col` apart."""

    buffer: str
    dtype: DType
    scaled: bool  # whether it is alpha * product + beta * addend
    numbers: dict[str, float]  # z_offset z_far z_near z_row z_col, alpha:f32 beta:f32
    rows: int = 1  # how many neighbouring rows have the same

    def finish(self, slot: int) -> tuple[str, ...]:
        """WGSL that declares finish(batch, row, col, x)."""
        row = f"row / {self.rows}u" if self.rows > 1 else "row"
        at = f"{start('z')} + {row} * launch.z_row + col * launch.z_col"
        sum = "launch.alpha * x + launch.beta * z" if self.scaled else "x + z"
        return (
            loader("z", slot, self.dtype, by_fours=False),
            "fn finish(batch: u32, row: u32, col: u32, x: f32) -> f32 {\n"
            f"    let z = z_load({at});\n    return {sum};\n}}",
        )


class Result(Record):
    """Where results go, and what is done to them on the way."""

    dtype: DType
    by_fours: bool  # whether four columns are four neighbours, the first at the start of a quad
    swapped: bool = False  # (batch, row, col) is at (batch * n + col) * m + row, not the reverse
    addend: Addend | None = None
    places: tuple[str, ...] = ()  # WGSL that declares place_of and origin, where not dense
    pixels: tuple[tuple[str, float], ...] = ()  # fields of `launch` that these ask for
    partial: bool = False  # whether the product is only some of the result

    @property
    def numbers(self) -> dict[str, float]:
        return dict(self.pixels) | (self.addend.numbers if self.addend else {})

    @property
    def reads(self) -> list[str]:
        return [self.addend.buffer] if self.addend else []

    def front(self, slot: int) -> list[str]:
        """Declares place_of, origin and finish; what it reads stands from `slot` on."""
        places = self.places or (DENSE_PLACE[self.swapped], DENSE_ORIGIN[self.swapped])
        return [*places, *(self.addend.finish(slot) if self.addend else (UNFINISHED,))]


class Product(Record):
    m: int
    n: int
    k: int
    batches: int
    inner: int
    x: Reader
    y: Reader
    result: Result
    numel: int

    def passes(self, traits: Any) -> list[Pass]:
        kernel = choose(self, traits)
        if self.result.partial:
            kernel = replace(kernel, parts=1, k_part=max(1, self.k))
        if kernel.parts == 1 and (self.result.by_fours or self.result.dtype is float32):
            return [self.main(kernel, self.result, "result")]
        share = Result(float32, by_fours=self.n % 4 == 0)
        return [self.main(kernel, share, "share"), self.sum(kernel)]

    def main(self, kernel: Kernel, result: Result, target: str) -> Pass:
        reads = [self.x.buffer, self.y.buffer, *result.reads]
        front = [*kernel.front, *self.x.front, *self.y.front, *result.front(2)]
        front.append(KEEP_QUAD if result.by_fours else KEEP_EACH)
        front.append(f"const APART = {str(result.partial).lower()};")
        store = stored(result.dtype, len(reads), result.by_fours)
        numbers = self.numbers(kernel) | self.x.numbers | self.y.numbers | result.numbers
        groups = folded(kernel.tiles, self.batches * kernel.parts)
        time = kernel.nanoseconds
        if target == "result" and not result.partial:
            main = launched(kernel.shader, groups, numbers, reads, target, front)
            return replace(main, store=store, by_fours=result.by_fours, nanoseconds=time)
        share = (target, float32, kernel.parts * self.batches * self.m * self.n)
        temps = () if target == "result" else (share,)
        main = launched(kernel.shader, groups, numbers, reads, target, [*front, *store], temps)
        return replace(main, nanoseconds=time)

    def sum(self, kernel: Kernel) -> Pass:
        """Adds the parts up, and stores what the main kernel could not."""
        result, quads = self.result, -(-self.numel // 4)
        reads = ["share", *result.reads]
        front = [loader("share", 0, float32, by_fours=False), *result.front(1)]
        numbers = self.numbers(kernel) | result.numbers
        numbers |= {"quads": quads, "last": self.numel - 1}
        groups = (min(-(-quads // 64), MAX_GROUPS), 1, 1)
        sum = launched("matmul_parts.wgsl", groups, numbers, reads, "result", front)
        return replace(sum, store=stored(result.dtype, len(reads), True), by_fours=True)

    def numbers(self, kernel: Kernel) -> dict[str, float]:
        values = (self.m, self.n, self.k, self.batches, kernel.parts, kernel.k_part, kernel.tiles)
        return dict(zip(FIELDS, (*values, self.inner), strict=True))


class Kernel(Record):
    shader: str
    front: tuple[str, ...]
    tiles: int
    parts: int
    k_part: int
    nanoseconds: float = 0.0


def launched(
    shader: str, groups: tuple[int, int, int], numbers: dict[str, float], reads: list[str],
    target: str, front: list[str], temps: tuple = (),
) -> Pass:  # fmt: skip
    fields, values = tuple(numbers), tuple(numbers.values())
    return Pass(shader, groups, values, tuple(reads), (target,), tuple(front), temps, fields=fields)


def folded(tiles: int, z: int) -> tuple[int, int, int]:
    """Workgroups for so many tiles: no axis may have more than 65,535."""
    across = min(tiles, MAX_GROUPS)
    return across, -(-tiles // across), min(z, MAX_GROUPS)


# Which kernel


def choose(product: Product, traits: Any) -> Kernel:
    m, n, k = product.m, product.n, product.k
    if traits.is_software:
        if eight_as_one(traits):
            return eight_lanes(product)
        return cut("matmul_plain.wgsl", (), product, 32, 32, max(1, -(-k // LONGEST)), 4)
    if k == 0 or max(m, n) <= 8:
        return cut("matmul_plain.wgsl", (), product, 32, 32, 1, 4)
    if n == 1 and product.y.along_k and k >= 64:
        return vector(product, traits)
    best, least = None, inf
    for tile in TILES:
        if tile.nbytes <= traits.workgroup_bytes and tile.group <= traits.group_size:
            for parts in PARTS if tile.slices == 1 else (1,):
                time = estimate(product, tile, parts, traits)
                if time < least:
                    best, least = (tile, parts), time
    if best is None:
        return cut("matmul_plain.wgsl", (), product, 32, 32, 1, 4)
    return replace(tiled(product, *best), nanoseconds=least)


def eight_as_one(traits: Any) -> bool:
    """Whether the adapter runs eight neighbouring threads as one, and lets them talk."""
    return traits.subgroups and WARP_OF_EIGHT.search(traits.name) is not None


def tiled(product: Product, tile: Tile, parts: int) -> Kernel:
    whole = product.k % TILE_K == 0
    front = declared(tile, whole, ahead=whole and not product.y.gathers)
    return cut("matmul_tiles.wgsl", front, product, tile.rows, tile.cols, parts, TILE_K)


def eight_lanes(product: Product) -> Kernel:
    m, work = product.m, product.m * product.n * product.k
    blocks = 1 if m <= 8 else 2 if m <= 16 or work < 1 << 20 else 4
    tiles = -(-m // (8 * blocks)) * -(-product.n // 32) * product.batches
    parts = 1 if tiles >= 4 else min(4, max(1, product.k // 256))
    parts = max(parts, -(-product.k // LONGEST))
    front = (f"const BLOCKS = {blocks}u;",)
    return cut("matmul_lanes.wgsl", front, product, 8 * blocks, 32, parts, 4)


def vector(product: Product, traits: Any) -> Kernel:
    rows, wanted = 1, 2 * UNITS.get(traits.kind, 64)
    if not product.x.along_k:
        rows, wanted = 128, 16 * UNITS.get(traits.kind, 64)
    groups = -(-product.m // rows) * product.batches
    parts = max(1, min(wanted // groups, product.k // 64))
    return cut("matmul_vector.wgsl", (), product, rows, 1, parts, 16)


def estimate(product: Product, tile: Tile, parts: int, traits: Any) -> float:
    """Nanoseconds, on a GPU like the one the tiles were measured on."""
    units = UNITS.get(traits.kind, 64)
    k_part = -(-product.k // (parts * tile.slices * TILE_K)) * TILE_K
    if parts > 1 and k_part * (parts - 1) >= product.k:
        return inf  # fewer parts do
    tiles = -(-product.m // tile.rows) * -(-product.n // tile.cols)
    sharing = -(-tiles * product.batches * parts // units)
    time = k_part * max(tile.alone, sharing * tile.each)
    if parts > 1:
        size = product.batches * product.m * product.n
        time += FINISH + parts * (FINISH_PART + size * 0.002)
    return time


def declared(tile: Tile, whole: bool, ahead: bool) -> tuple[str, ...]:
    (tm, tn), (gm, gn) = tile.threads, tile.groups
    consts = {"THREADS_M": tm, "THREADS_N": tn, "GROUPS_M": gm, "GROUPS_N": gn, "TILE_K": TILE_K,
              "SLICES": tile.slices}  # fmt: skip
    lines = [f"const {name} = {value}u;" for name, value in consts.items()]
    flags = {"WHOLE": whole, "AHEAD": ahead}
    return (*lines, *(f"const {name} = {str(flag).lower()};" for name, flag in flags.items()))


def cut(
    shader: str, front: tuple[str, ...], product: Product, rows: int, cols: int, parts: int,
    step: int,
) -> Kernel:  # fmt: skip
    """A kernel whose groups compute rows x cols, along parts of k that are multiples of `step`."""
    tiles = -(-product.m // rows) * -(-product.n // cols)
    k_part = max(1, -(-product.k // (parts * step))) * step
    return Kernel(shader, front, tiles, max(1, -(-product.k // k_part)), k_part)


# How results are stored

UNFINISHED = "fn finish(z: u32, row: u32, col: u32, x: f32) -> f32 { return x; }"
DENSE_PLACE = (
    "fn place_of(z: u32, row: u32, col: u32) -> u32 {\n"
    "    return (z * launch.m + row) * launch.n + col;\n}",
    "fn place_of(z: u32, row: u32, col: u32) -> u32 {\n"
    "    return (z * launch.n + col) * launch.m + row;\n}",
)
DENSE_ORIGIN = (
    "fn origin(i: u32) -> vec3u {\n"
    "    let line = i / launch.n;\n"
    "    return vec3u(line / launch.m, line % launch.m, i % launch.n);\n}",
    "fn origin(i: u32) -> vec3u {\n"
    "    let line = i / launch.m;\n"
    "    return vec3u(line / launch.n, i % launch.m, line % launch.n);\n}",
)
KEEP_QUAD = """
fn keep(z: u32, row: u32, col: u32, v: vec4f) {
    if row >= launch.m || col >= launch.n { return; }
    store4(place_of(z, row, col) >> 2u, vec4f(
        finish(z, row, col, v.x), finish(z, row, col + 1u, v.y),
        finish(z, row, col + 2u, v.z), finish(z, row, col + 3u, v.w)
    ));
}
"""
KEEP_EACH = """
fn keep_one(z: u32, row: u32, col: u32, x: f32) {
    if col < launch.n { store_one(place_of(z, row, col), finish(z, row, col, x)); }
}
fn keep(z: u32, row: u32, col: u32, v: vec4f) {
    if row >= launch.m { return; }
    keep_one(z, row, col, v.x);
    keep_one(z, row, col + 1u, v.y);
    keep_one(z, row, col + 2u, v.z);
    keep_one(z, row, col + 3u, v.w);
}
"""


def summed(parts: int, numel: int) -> Pass:
    """The sum of as many parts of a float32 result, one behind the other in `share`."""
    quads = -(-numel // 4)
    numbers = {"m": 1, "n": numel, "batches": 1, "parts": parts, "quads": quads, "last": numel - 1}
    front = [loader("share", 0, float32, by_fours=False), IN_LINE, UNFINISHED]
    groups = (min(-(-quads // 64), MAX_GROUPS), 1, 1)
    sum = launched("matmul_parts.wgsl", groups, numbers, ["share"], "result", front)
    return replace(sum, store=stored(float32, 1, True), by_fours=True)


IN_LINE = "fn origin(i: u32) -> vec3u { return vec3u(0u, 0u, i); }"


def stored(dtype: DType, slot: int, by_fours: bool) -> tuple[str, str]:
    """Declares the result, and the function that stores a quad of it or one element."""
    if not by_fours:
        store = "fn store_one(i: u32, x: f32) { result[i] = x; }"
        return binding(slot, "result", "f32", "read_write"), store
    half = HALVES.get(dtype)
    kind, value = "vec4f", "v"
    if half:
        kind, value = "vec2u", f"vec2u(pack2_{half}(v.xy), pack2_{half}(v.zw))"
    store = f"fn store4(q: u32, v: vec4f) {{ result[q] = {value}; }}"
    return binding(slot, "result", kind, "read_write"), store
