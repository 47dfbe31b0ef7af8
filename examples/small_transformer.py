"""The model that the pages on saved tensors measure themselves on: a small transformer.

It learns to repeat a sequence of tokens it has seen. `compare` runs one training step per way of
saving tensors, plain first, and prints what each costs: bytes and milliseconds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import wgtorch as torch
from wgtorch import nn
from wgtorch.autograd.graph import save_on_cpu, saved_tensor_report

Way = Callable[[], AbstractContextManager]


class Attention(nn.Module):
    """Each token looks at those before it, with several heads."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.mix = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        mixed = self.mix(x).reshape(batch, length, 3, self.heads, width // self.heads)
        query, key, value = mixed.permute(2, 0, 3, 1, 4).unbind(0)
        scores = query @ key.transpose(-2, -1) / (width // self.heads) ** 0.5
        weights = scores.masked_fill(mask, -1e9).softmax(-1)
        return self.out((weights @ value).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and two linear layers, each added to what it was given."""

    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.feed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.first(x), mask)
        return x + self.feed(self.second(x))


class Transformer(nn.Module):
    """Tokens (batch, length) to scores of the next one (batch, length, vocabulary).

    `around(block, x, mask)` calls a block; a page on checkpoints puts its own there.
    """

    def __init__(
        self,
        vocabulary: int = 64,
        width: int = 64,
        heads: int = 4,
        layers: int = 4,
        length: int = 64,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.ModuleList([Block(width, heads, dropout) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)
        self.register_buffer("mask", torch.ones(length, length).triu(1) > 0)
        self.around: Callable = lambda block, x, mask: block(x, mask)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.places
        for block in self.blocks:
            x = self.around(block, x, self.mask)
        return self.head(self.norm(x))


def sequences(batch: int, length: int, vocabulary: int, device: str) -> torch.Tensor:
    """Random tokens, said twice: (batch, length + 1)."""
    half = torch.randint(0, vocabulary, (batch, length // 2 + 1))
    return torch.cat([half, half], 1)[:, : length + 1].to(device)


@dataclass
class Cost:
    """What one way of saving tensors costs, a step."""

    way: str
    on_device: int  # bytes that the graph keeps there between forward and backward
    on_host: int
    on_disk: int
    peak: int  # of device memory, during the step
    milliseconds: float
    error: float  # largest difference of a gradient from the plain one, relative to its largest


class Bench:
    """One model, one batch, and the gradients of the plain way."""

    def __init__(self, device: str, steps: int = 3, batch: int = 8, **sizes: int):
        torch.manual_seed(0)
        self.device, self.steps = device, steps
        self.model = Transformer(**sizes).to(device)
        length, vocabulary = self.model.places.shape[0], self.model.head.out_features
        self.data = sequences(batch, length, vocabulary, device)
        self.plain: list[torch.Tensor] = []

    def loss(self) -> torch.Tensor:
        scores = self.model(self.data[:, :-1])
        return nn.functional.cross_entropy(scores.flatten(0, 1), self.data[:, 1:].flatten())

    def settle(self) -> None:
        if torch.device(self.device).type == "webgpu":
            torch.webgpu.synchronize(self.device)

    def step(self, way: Way) -> None:
        self.model.zero_grad()
        torch.manual_seed(1)
        with way():
            loss = self.loss()
        loss.backward()
        self.settle()

    def cost(self, name: str, way: Way) -> Cost:
        self.step(way)  # compiles what there is to compile
        start = time.perf_counter()
        for _ in range(self.steps):
            self.step(way)
        spent = (time.perf_counter() - start) / self.steps
        grads = [p.grad for p in self.model.parameters()]
        self.plain = self.plain or grads
        pairs = zip(grads, self.plain, strict=True)
        error = max([((g - p).abs().max() / p.abs().max()).item() for g, p in pairs])
        self.model.zero_grad()
        return self.held(Cost(name, 0, 0, 0, 0, 1000 * spent, error), way)

    def held(self, cost: Cost, way: Way) -> Cost:
        """One more step, stopped between forward and backward to look at the memory."""
        self.settle()
        torch.reset_peak_memory_stats(self.device)
        with way():
            loss = self.loss()
        self.settle()
        report = saved_tensor_report(loss)
        cost.on_device, cost.on_host = report.bytes_in("device"), report.bytes_in("host")
        cost.on_disk = report.bytes_in("disk")
        loss.backward()
        self.settle()
        cost.peak = torch.memory_stats(self.device)["allocated_bytes.all.peak"]
        return cost


def compare(bench: Bench, ways: Sequence[tuple[str, Way]]) -> list[Cost]:
    """The costs of "plain" and of each way, as a table."""
    costs = [bench.cost(name, way) for name, way in [("plain", nullcontext), *ways]]
    heads = ("way", "kept: device KiB", "host", "disk", "peak KiB", "ms / step", "gradient error")
    print(f"{heads[0]:<24}" + "".join(f"{head:>17}" for head in heads[1:]))
    for cost in costs:
        sizes = (cost.on_device, cost.on_host, cost.on_disk, cost.peak)
        cells = [*(f"{n / 1024:,.0f}" for n in sizes), f"{cost.milliseconds:.1f}",
                 f"{cost.error:.1e}"]  # fmt: skip
        print(f"{cost.way:<24}" + "".join(f"{cell:>17}" for cell in cells))
    return costs


def arguments(about: str, given: list[str] | None) -> argparse.Namespace:
    """What every page takes: the device, and how large the model is."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--device", default="webgpu" if torch.is_webgpu_available() else "cpu")
    parser.add_argument("--steps", type=int, default=3, help="timed, after one that is not")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--png", type=Path, help="where to draw what the last step kept")
    return parser.parse_args(given)


def bench_of(options: argparse.Namespace) -> Bench:
    sizes = {"layers": options.layers, "width": options.width, "length": options.length}
    return Bench(options.device, options.steps, options.batch, **sizes)


def main(given: list[str] | None = None) -> list[Cost]:
    """What saving on the host costs; the pages beside this file show the other ways."""
    options = arguments(__doc__ or "", given)
    return compare(bench_of(options), [("save_on_cpu", save_on_cpu)])


if __name__ == "__main__":
    main()
