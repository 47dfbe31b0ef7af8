"""A shader of your own as an op: differentiable, batched by vmap, checked against numpy.

python examples/own_shader.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import wgtorch as torch
from wgtorch.func import vmap
from wgtorch.registry import shader

SOURCE = """
fn value_at(i: u32) -> result_type {
    let x = input_nth(i);
    let period = scale_nth(i);
    return x + sin(period * x) * sin(period * x) / period;
}
"""


@shader(
    SOURCE,
    backward={
        "input": lambda grad, input, scale: grad * (1 + (2 * scale * input).sin()),
        "scale": lambda grad, input, scale: grad * snake_slope(input, scale),
    },
)
def snake(input, scale):
    "x + sin(a x)^2 / a, an activation that repeats (L. Ziyin and others, 2020)"
    return input + np.sin(scale * input) ** 2 / scale


def snake_slope(x, a):
    return (x * (2 * a * x).sin() - (a * x).sin() ** 2 / a) / a


def main() -> None:
    device = "webgpu" if torch.is_webgpu_available() else "cpu"
    x = torch.linspace(-4, 4, 9, device=device, requires_grad=True)
    a = torch.tensor(2.0, device=device, requires_grad=True)
    y = snake(x, a)
    y.sum().backward()
    print(f"on {device}:", y.detach().cpu())
    print("numpy says  ", snake(x.detach().cpu(), a.detach().cpu()))
    print("gradients:", x.grad.cpu(), a.grad.item())
    rows = torch.randn(3, 5, device=device)
    print("a row each:", vmap(lambda r: torch.snake(r, a.detach()).sum())(rows).tolist())
    print("as a method, in a larger formula:", (rows.snake(a.detach()) * 2).mean().item())
    worst = (y.detach().cpu() - snake(x.detach().cpu(), a.detach().cpu())).abs().max().item()
    print(f"largest difference to numpy: {worst:.1e}")


if __name__ == "__main__":
    main()
