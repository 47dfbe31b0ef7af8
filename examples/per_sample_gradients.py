"""The gradient of every sample on its own, by vmap, beside a loop: the same numbers, sooner."""

from __future__ import annotations

import sys
import time

import wgtorch as torch
from wgtorch.func import functional_call, grad, vmap


def main(device: str = "cpu", samples: int = 64) -> float:
    """Prints both times; gives the largest difference between the two ways."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 10)
    ).to(device)
    images = torch.randn(samples, 64, device=device)
    classes = (torch.arange(samples) % 10).to(device)
    params = {name: p.detach() for name, p in model.named_parameters()}

    def loss(params, image, label):
        out = functional_call(model, params, (image.unsqueeze(0),))
        return torch.nn.functional.cross_entropy(out, label.unsqueeze(0))

    def at_once():
        found = vmap(grad(loss), in_dims=(None, 0, 0))(params, images, classes)
        return {name: g.cpu().numpy() for name, g in found.items()}

    def by_loop():
        rows = [grad(loss)(params, images[i], classes[i]) for i in range(samples)]
        return {name: torch.stack([row[name] for row in rows]).cpu().numpy() for name in params}

    ways = []
    for name, way in (("at once", at_once), ("one by one", by_loop)):
        way()  # kernels are written and compiled in the first run
        start = time.perf_counter()
        found = way()
        print(f"{samples} gradients {name}: {(time.perf_counter() - start) * 1e3:.1f} ms")
        ways.append(found)
    first, second = ways
    worst = max(float(abs(first[name] - second[name]).max()) for name in params)
    norms = sum((g.reshape(samples, -1) ** 2).sum(1) for g in first.values()) ** 0.5
    print(f"norms from {norms.min():.3f} to {norms.max():.3f}, largest difference {worst:.1e}")
    return worst


if __name__ == "__main__":
    main(*sys.argv[1:2])
