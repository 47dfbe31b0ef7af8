"""Trains a convolutional network on 1,797 real handwritten digits, three times over.

Plain; with saved activations waiting on the host (`save_on_cpu`); and with them in 8 bits, by
the pair of hooks below. Compares accuracy, time and memory, and draws what happened.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import wgtorch as torch
from wgtorch import nn
from wgtorch.autograd.graph import is_parameter_memory, save_on_cpu, saved_tensors_hooks
from wgtorch.utils.data import DataLoader, TensorDataset

try:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table
except ImportError:  # the same numbers without the frame
    Console = Progress = Table = None  # type: ignore[assignment,misc]

TESTED = 360  # of the 1,797 images


# The data, and the network


def digits(device: str) -> tuple[TensorDataset, TensorDataset]:
    """Images (1, 8, 8) between 0 and 1 and their labels: what to train on, what to test on."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        sys.exit("The digits come with scikit-learn: pip install scikit-learn")
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    images = torch.tensor((data.images[order, None] / 16).astype(np.float32), device=device)
    labels = torch.tensor(data.target[order], device=device)
    return (
        TensorDataset(images[TESTED:], labels[TESTED:]),
        TensorDataset(images[:TESTED], labels[:TESTED]),
    )


def network() -> nn.Sequential:
    head = nn.Sequential(nn.Flatten(), nn.Dropout(0.25), nn.Linear(256, 10))
    return nn.Sequential(block(1, 16), block(16, 64), head)


def block(channels: int, out: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(), nn.MaxPool2d(2)
    )


# Eight bits for thirty-two: a pair of hooks


def pack(t: torch.Tensor) -> Any:
    """Each activation as a byte, with the range that the bytes divide; parameters as they are."""
    if not t.is_floating_point() or t.numel() < 256 or is_parameter_memory(t):
        return t
    low, high = t.amin(), t.amax()
    step = ((high - low) / 255).clamp(min=1e-12)  # a constant tensor has no range
    return ((t - low) / step).round().to(torch.uint8), low, step


def unpack(packed: Any) -> torch.Tensor:
    if isinstance(packed, torch.Tensor):
        return packed
    levels, low, step = packed
    return levels.to(torch.float32) * step + low


WAYS: dict[str, Callable[[], AbstractContextManager]] = {
    "plain": nullcontext,
    "save_on_cpu": save_on_cpu,
    "8 bits": lambda: saved_tensors_hooks(pack, unpack),
}


# Training


@dataclass
class Run:
    """What one training was like."""

    way: str
    accuracy: float = 0.0
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0
    steps: int = 0
    peak_bytes: int = 0
    saved_on_device: int = 0
    saved_on_host: int = 0
    saved_by_block: list[int] = field(default_factory=list)
    timeline: list[tuple[str, int]] = field(default_factory=list)

    @property
    def ms_per_step(self) -> float:
        return 1000 * self.seconds / max(self.steps, 1)


def train(way: str, options: argparse.Namespace, budget: float, tick: Callable[[], None]) -> Run:
    """Trains a fresh network; stops early where `budget` seconds would not do."""
    run, end = Run(way), time.perf_counter() + budget
    torch.manual_seed(options.seed)
    learned, tested = digits(options.device)
    model, context = network().to(options.device), WAYS[way]
    loader = DataLoader(learned, options.batch_size, shuffle=True, drop_last=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=0.01, total_steps=options.epochs * len(loader) + 1
    )
    loss_of = nn.CrossEntropyLoss()

    def step(images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        with context():
            loss = loss_of(model(images), labels)
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss.detach()

    for epoch in range(options.epochs):
        start, losses = time.perf_counter(), []
        for images, labels in loader:
            losses.append(step(images, labels))
        run.losses += torch.stack(losses).tolist()  # the one wait of an epoch
        if epoch or options.epochs == 1:  # the first one also compiles
            run.seconds += time.perf_counter() - start
            run.steps += len(losses)
        tick()
        if time.perf_counter() > end:
            print(f"{way}: stopped after {epoch + 1} of {options.epochs} epochs", file=sys.stderr)
            break
    run.accuracy = accuracy(model, tested)
    measure(run, model, learned, options)
    return run


def accuracy(model: nn.Module, tested: TensorDataset) -> float:
    model.eval()
    with torch.no_grad():
        images, labels = tested.tensors
        right = model(images).argmax(1) == labels
    model.train()
    return right.float().mean().item()


# What one step keeps, and where


def is_gpu(device: str) -> bool:
    return torch.device(device).type == "webgpu"


def allocated(device: str, which: str = "current") -> int:
    return torch.memory_stats(device)[f"allocated_bytes.all.{which}"] if is_gpu(device) else 0


def on_host(device: str) -> int:
    return torch.memory_stats(device)["saved_tensors.host_bytes.current"] if is_gpu(device) else 0


def settle(device: str) -> None:
    if is_gpu(device):
        torch.webgpu.synchronize(device)


def measure(run: Run, model: nn.Module, data: TensorDataset, options: argparse.Namespace) -> None:
    """One more step, looked at closely."""
    device = options.device
    images, labels = next(iter(DataLoader(data, options.batch_size)))
    settle(device)
    torch.reset_peak_memory_stats(device)
    before = on_host(device)
    with stops(run, model, device), tally(run, images):
        loss = nn.functional.cross_entropy(model(images), labels)
    settle(device)
    run.saved_on_host += on_host(device) - before
    loss.backward()
    settle(device)
    run.peak_bytes = allocated(device, "peak")
    run.timeline.append(("end", allocated(device)))
    model.zero_grad()


@contextmanager
def stops(run: Run, model: nn.Module, device: str) -> Iterator[None]:
    """Notes device memory after each layer, forward and backward, and when a block begins."""

    def note(name: str) -> None:
        run.timeline.append((name, allocated(device)))

    def after(layer: nn.Module, args: Any, out: torch.Tensor) -> None:
        name = type(layer).__name__
        note(name)
        out.register_hook(lambda grad: note(f"{name}, back"))

    def begin(block: nn.Module, args: Any) -> None:
        run.saved_by_block.append(0)

    layers = [layer for block in model.children() for layer in block.children()]
    handles = [layer.register_forward_hook(after) for layer in layers]
    handles += [block.register_forward_pre_hook(begin) for block in model.children()]
    note("start")
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def tally(run: Run, batch: torch.Tensor) -> AbstractContextManager:
    """The run's way of saving, with the bytes that it keeps added up, each memory once.

    Parameters and the batch do not count: their memory is in use anyway.
    """
    way, seen = WAYS[run.way](), {memory_of(batch)}
    pair = way if isinstance(way, saved_tensors_hooks) else None

    def pack(t: torch.Tensor) -> Any:
        packed = pair.pack_hook(t) if pair else t
        kept = packed if isinstance(packed, tuple) else (packed,)
        for part in kept:
            if not isinstance(part, torch.Tensor) or is_parameter_memory(part):
                continue  # on its way to the host, or here anyway
            if memory_of(part) not in seen:
                seen.add(memory_of(part))
                nbytes = part.untyped_storage().nbytes()
                run.saved_by_block[-1] += nbytes
                if part.device.type == "cpu":
                    run.saved_on_host += nbytes
                else:
                    run.saved_on_device += nbytes
        return packed

    return saved_tensors_hooks(pack, pair.unpack_hook if pair else lambda packed: packed)


def memory_of(t: torch.Tensor) -> int:
    return t.untyped_storage().data_ptr()


def same_gradients(options: argparse.Namespace) -> int:
    """Compares the gradients of a step under save_on_cpu, bit for bit, with those of a plain one.

    Returns how many there are; raises AssertionError at the first that differs.
    """
    learned, _ = digits(options.device)
    images, labels = (t[: options.batch_size] for t in learned.tensors)
    torch.manual_seed(options.seed)
    model = network().to(options.device)
    found: dict[str, list[np.ndarray]] = {}
    for way in ("plain", "save_on_cpu"):
        torch.manual_seed(options.seed + 1)  # the same elements drop out
        model.zero_grad()
        with WAYS[way]():
            loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        found[way] = [param.grad.cpu().numpy() for param in model.parameters()]
    names = [name for name, _ in model.named_parameters()]
    for name, plain, saved in zip(names, found["plain"], found["save_on_cpu"], strict=True):
        assert plain.any() and plain.tobytes() == saved.tobytes(), f"gradients of {name} differ"
    return len(names)


# Telling


def size(count: int) -> str:
    return f"{count / 1024:,.0f} KiB"


def table(runs: list[Run]) -> None:
    head = ["", "accuracy", "ms / step", "peak on device", "saved on device", "saved on host"]
    rows = []
    for run in runs:
        sizes = [size(n) for n in (run.peak_bytes, run.saved_on_device, run.saved_on_host)]
        rows.append([run.way, f"{run.accuracy:.4f}", f"{run.ms_per_step:.2f}", *sizes])
    if Table is None:
        for row in [head, *rows]:
            print("".join(f"{cell:>16}" for cell in row))
        return
    grid = Table()
    for name in head:
        grid.add_column(name, justify="right" if name else "left")
    for row in rows:
        grid.add_row(*row)
    Console().print(grid)


def draw(runs: list[Run], path: Path, device: str) -> None:
    try:
        import matplotlib
    except ImportError:
        print("No picture without matplotlib: pip install matplotlib")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), constrained_layout=True)
    for run, width in zip(runs, (4, 2, 1), strict=True):  # the first two are one line
        window = min(10, len(run.losses))
        smooth = np.convolve(run.losses, np.ones(window) / window, "valid")
        steps = np.arange(window, len(run.losses) + 1)
        left.plot(steps, smooth, label=run.way, linewidth=width)
        right.plot([bytes_ / 1024 for _, bytes_ in run.timeline], marker=".", label=run.way)
    left.set(title="Loss, mean of 10 steps", xlabel="step", yscale="log")
    names = [name for name, _ in runs[0].timeline]
    right.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    on = device if is_gpu(device) else f"{device} (not counted)"
    right.set(title=f"One step: KiB allocated on {on}", ylim=(0, None))
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(f"Loss curves and memory of a step: {path}")


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """Yields what to call, with the name of the training, after each epoch."""
    if Progress is None:
        done = iter(range(1, total + 1))
        yield lambda way: print(f"\r{next(done)}/{total} {way:<12}", end="", file=sys.stderr)
        print(file=sys.stderr)
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda way: bar.update(task, advance=1, description=way)


def arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="webgpu" if torch.is_webgpu_available() else "cpu")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=150, help="for all three trainings")
    parser.add_argument("--png", type=Path, default=Path("train_digits.png"))
    options = parser.parse_args(given)
    if is_gpu(options.device) and not torch.is_webgpu_available():
        parser.error(f"--device {options.device}: no WebGPU adapter; `python -m wgtorch` says why")
    return options


def main(given: list[str] | None = None) -> list[Run]:
    options = arguments(given)
    device = options.device
    adapter = torch.webgpu.get_device_name(device) if is_gpu(device) else "none"
    print(f"Training on {device} ({adapter})" if is_gpu(device) else f"Training on {device}")
    runs: list[Run] = []
    end = time.perf_counter() + options.seconds
    with progress(len(WAYS) * options.epochs) as tick:
        for way in WAYS:
            share = (end - time.perf_counter()) / (len(WAYS) - len(runs))
            runs.append(train(way, options, share, lambda way=way: tick(way)))
    table(runs)
    count = same_gradients(options)
    print(f"Gradients under save_on_cpu: all {count} bitwise equal to plain ones")
    draw(runs, options.png, device)
    plain, saved = runs[0], runs[1]
    if is_gpu(device):
        print(
            f"Under save_on_cpu the peak is {size(plain.peak_bytes - saved.peak_bytes)} lower; "
            f"saved are {size(plain.saved_on_device)}, {size(max(plain.saved_by_block))} of them "
            "by the largest block"
        )
    print(
        f'accuracy={plain.accuracy:.4f} device={device} adapter="{adapter}" '
        f"peak_bytes={plain.peak_bytes} peak_bytes_save_on_cpu={saved.peak_bytes} "
        f"steps_per_s={1000 / max(plain.ms_per_step, 1e-9):.1f}"
    )
    return runs


if __name__ == "__main__":
    main()
