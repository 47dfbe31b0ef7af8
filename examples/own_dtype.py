"""A dtype of your own: int8 numbers with a float32 scale for each block of 32, as models ship.

It prints, saves, promotes, moves and has gradients as any dtype; ops run in float32. A kernel
that reads the int8 numbers themselves is registered for one op.

python examples/own_dtype.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import wgtorch as torch
from wgtorch.registry import DTypeConfig, DTypeDisplayConfig, register_dtype, register_forward

BLOCK = 32


def encode(x):
    flat = x.reshape(-1)
    padded = torch.cat([flat, flat.new_zeros(-len(flat) % BLOCK)]).reshape(-1, BLOCK)
    scale = padded.abs().amax(1, keepdim=True) / 127
    data = (padded / torch.where(scale == 0, 1.0, scale)).round().to(torch.int8)
    return {"data": data.reshape(-1)[: len(flat)].reshape(x.shape), "scale": scale[:, 0]}


def decode(data, scale):
    each = scale.repeat_interleave(BLOCK)[: data.numel()].reshape(data.shape)
    return data.float() * each


CONFIG = DTypeConfig(
    name="int8_blocks",
    components={"data": torch.int8, "scale": torch.float32},
    encode=encode,
    decode=decode,
    itemsize=1 + 4 / BLOCK,
    display=DTypeDisplayConfig(
        element=lambda number: f"{number:.3f}",
        facts=lambda data, scale: {"blocks": len(scale)},
    ),
)


def linear(input, weight, bias):
    """x @ w.T for weights whose rows are whole blocks: the scales come after the sums."""
    rows, columns = weight.data.shape
    blocks = columns // BLOCK
    x = input.reshape(-1, blocks, BLOCK).transpose(0, 1)
    w = weight.data.float().reshape(rows, blocks, BLOCK).permute(1, 2, 0)
    scale = weight.scale.reshape(rows, blocks).t().unsqueeze(1)
    out = ((x @ w) * scale).sum(0).reshape(*input.shape[:-1], rows)
    return out if bias is None else out + bias


def fits(input_dtype, weight_shape):
    return input_dtype is torch.float32 and weight_shape[1] % BLOCK == 0


def main() -> None:
    device = "webgpu" if torch.is_webgpu_available() else "cpu"
    torch.manual_seed(0)
    with register_dtype(CONFIG) as int8_blocks:
        x = torch.randn(2, 64, device=device)
        small = x.to(int8_blocks)
        print(small[:, :4])
        print(f"{x.nbytes} bytes become {small.nbytes:.0f}, {error(small, x):.2%} off")
        print("promotes:", (small + 1).dtype, (small * x).dtype, (small > 0).dtype)
        parts = int8_blocks.components(small)
        print("made of:", {name: (tuple(t.shape), t.dtype) for name, t in parts.items()})

        with tempfile.TemporaryDirectory() as folder:
            torch.save({"weight": small}, Path(folder) / "small.safetensors")
            again = torch.load(Path(folder) / "small.safetensors")["weight"]
        print("saved and loaded:", again.dtype, "on", again.device, bool((again == small).all()))
        print("on the cpu the same:", bool((small.cpu().float() == small.float().cpu()).all()))

        model = torch.nn.Linear(64, 3).to(device)
        right = model(x)
        model.weight = torch.nn.Parameter(model.weight.detach().to(int8_blocks))
        plain = model(x)
        with register_forward("linear", device, linear, dtypes=[int8_blocks], predicate=fits):
            quick = model(x)
            quick.square().sum().backward()
        print(f"a layer of such weights is {error(plain, right):.2%} off,", end=" ")
        print(f"its own kernel {error(quick, plain):.0e} from that")
        print("the gradient is", model.weight.grad.dtype, tuple(model.weight.grad.shape))


def error(found: torch.Tensor, right: torch.Tensor) -> float:
    return ((found.float() - right).norm() / right.norm()).item()


if __name__ == "__main__":
    main()
