"""Stops a training in the middle, and goes on from a checkpoint as if nothing had happened.

Saves the network, the optimizer, the schedule and the state of the random numbers to one
safetensors file, builds everything anew from it, and compares the losses with those of a
training that was never stopped.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import wgtorch as torch
from wgtorch import nn
from wgtorch.optim import AdamW
from wgtorch.optim.lr_scheduler import CosineAnnealingLR

STEPS = 60


class Training:
    """A network that learns which of two spirals a point lies on."""

    def __init__(self, device: str):
        torch.manual_seed(0)
        turn = torch.linspace(0.5, 3.0, 100).repeat(2)
        side = torch.arange(200) // 100
        angle = 3.0 * turn + 3.141592653589793 * side
        points = torch.stack([turn * angle.cos(), turn * angle.sin()], 1)
        self.points, self.labels = points.to(device), side.to(device)
        self.model = nn.Sequential(
            nn.Linear(2, 32), nn.Tanh(), nn.Dropout(0.1), nn.Linear(32, 32), nn.Tanh(),
            nn.Linear(32, 2),
        ).to(device)  # fmt: skip
        self.device = device
        self.optimizer = AdamW(self.model.parameters(), lr=0.02)
        self.schedule = CosineAnnealingLR(self.optimizer, STEPS)

    def run(self, steps: int) -> list[float]:
        losses = []
        for _ in range(steps):
            self.optimizer.zero_grad()
            loss = nn.functional.cross_entropy(self.model(self.points), self.labels)
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
            losses.append(loss.detach())
        return torch.stack(losses).tolist()

    def save(self, path: Path) -> None:
        checkpoint = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "random": torch.get_rng_state(self.device),
        }
        torch.save(checkpoint, path)

    def load(self, path: Path) -> None:
        checkpoint = torch.load(path)
        self.model.load_state_dict(checkpoint["model"])
        self.optimizer.load_state_dict(checkpoint["optimizer"])
        self.schedule.load_state_dict(checkpoint["schedule"])
        torch.set_rng_state(checkpoint["random"], self.device)


def main(given: list[str] | None = None) -> tuple[list[float], list[float]]:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="webgpu" if torch.is_webgpu_available() else "cpu")
    device = parser.parse_args(given).device

    whole = Training(device).run(STEPS)
    first = Training(device)
    parts = first.run(STEPS // 2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.safetensors"
        first.save(path)
        print(f"Stopped after step {STEPS // 2}; the checkpoint has {path.stat().st_size:,} bytes")
        second = Training(device)
        second.load(path)
    parts += second.run(STEPS - STEPS // 2)

    for step in range(9, STEPS, 10):
        print(f"step {step + 1:3}: loss {whole[step]:.6f} in one go, {parts[step]:.6f} resumed")
    print("identical" if whole == parts else "NOT identical")
    return whole, parts


if __name__ == "__main__":
    main()
