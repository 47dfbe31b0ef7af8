"""Kernels as text, without a GPU: golden ones to the letter, and what holds of all.

Where a change of the code generator is meant: python tests/test_kernels.py writes the golden files
anew, and the difference is reviewed like code. tools/kernels.py --base shows it for all kernels.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import wgtorch as torch
from tools import kernels, press
from wgtorch.backends.webgpu.library import COMMENT
from wgtorch.backends.webgpu.pipelines import read_once
from wgtorch.op import REGISTRY
from wgtorch.registry.ways import way_on_a_gpu

GOLDEN = Path(__file__).resolve().parent / "kernels"
PRESSES = {"strong": press.STRONG, "weak": press.WEAK, "software": press.SOFTWARE}


def operands(device):
    """Tensors whose layouts and dtypes make kernels differ."""

    def made(*shape, dtype=torch.float32):
        return torch.tensor([[1] * shape[-1]] * shape[0], dtype=dtype, device=device)

    return {
        "x": made(4, 8), "y": made(4, 8), "row": made(1, 8), "column": made(4, 1),
        "i": made(4, 8, dtype=torch.int64), "u": made(4, 8, dtype=torch.uint8),
        "h": made(4, 8, dtype=torch.float16), "b": made(4, 8, dtype=torch.bool), "torch": torch,
        "wide": made(64, 128), "tall": torch.ones(4096, 400, device=device),
    }  # fmt: skip


CASES = {  # name: (expression, press)
    "add": ("x + y", "strong"),
    "number": ("x * 2 - 1", "strong"),
    "chain_shared_operand": ("(x * 2 + 1).relu() * x", "strong"),
    "chain_on_a_cpu": ("(x * 2 + 1).relu() * x", "software"),
    "broadcast": ("row + column", "strong"),
    "transposed": ("x.T + y.T", "strong"),
    "transposed_by_blocks": ("wide.T + 1", "strong"),
    "offset": ("x[1:] + y[1:]", "strong"),
    "uint8_wraps": ("u + 255", "strong"),
    "bool_and": ("b & (x > 0)", "strong"),
    "half_rounds": ("h * 0.5 + 1", "strong"),
    "int64": ("i * 3 + 1", "strong"),
    "int64_emulated": ("i * 3 + 1", "weak"),
    "cast": ("i.float() * x", "strong"),
    "condition": ("torch.where(b, x, 0)", "strong"),
    "sum_all": ("(x * y).sum()", "software"),
    "sum_rows": ("x.sum(1)", "strong"),
    "softmax_keeps_rows": ("tall.softmax(1)", "strong"),
    "product_ended": ("(x @ y.T + column).relu()", "software"),
    "put": ("y.clone()[:, 1].copy_(x[:, 0])", "strong"),
}


def printed(name: str) -> str:
    """The kernels of a case, one after the other."""
    expression, chosen = CASES[name]
    index = PRESSES[chosen]
    press.forget(index)
    result = eval(expression, operands(f"press:{index}"))
    result.cpu().numpy()
    kept = press.texts(index).items()
    return "\n".join(f"// {expression}: {label}\n{text}" for text, label in kept)


@pytest.mark.parametrize("name", CASES)
def test_golden(name):
    want = (GOLDEN / f"{name}.wgsl").read_text(encoding="utf-8")
    assert printed(name) == want, "if this was meant: python tests/test_kernels.py"


def test_no_golden_file_is_left_over():
    assert {path.stem for path in GOLDEN.glob("*.wgsl")} == set(CASES)


def test_an_intermediate_is_stored_while_it_is_alive():
    press.forget(press.STRONG)
    found = operands("press:0")
    kept = found["x"] * 2
    (kept + 1).exp().cpu()
    assert next(iter(press.texts(press.STRONG))).count("read_write") == 2
    del kept
    (found["x"] * 2 + 1).exp().cpu()
    assert list(press.texts(press.STRONG))[1].count("read_write") == 1


def test_numbers_and_sizes_are_data():
    """Kernels are shared by all sizes and scalars; only structure is text."""
    press.forget(press.STRONG)
    for size in (4, 8, 100):
        x = torch.ones(size, device="press:0").cumsum(0)
        (x * size + 0.5).cpu()
    names = [label for label in press.texts(press.STRONG).values() if label == "mul+add"]
    assert len(names) == 1


def test_a_cpu_loads_its_numbers_once():
    """Before any loop: the kernel itself reads a copy."""
    kept = read_once(printed("chain_on_a_cpu"))
    assert "var<immediate> given: Launch; var<private> launch: Launch;" in kept
    main = kept[kept.index("fn main") :]
    assert main.index("{ launch = given;") < main.index("launch.count")
    assert kept.count("given") == 2


SAMPLED = [n for n, op in REGISTRY.items() if op.samples and way_on_a_gpu(op) != "through the cpu"]


@pytest.mark.parametrize("name", SAMPLED)
def test_weak_adapters_are_spared_what_they_lack(name):
    """No 64-bit types, no half floats, and no more than ten buffers."""
    for about, text in kernels.kernels_of(REGISTRY[name], press.WEAK).items():
        body = COMMENT.sub("", text)
        assert not re.search(r"\b(i64|u64|f64|f16)\b|\d(li|lu|lf)\b|^enable", body, re.M), about
        assert body.count("var<storage") <= 10, about


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name in CASES:
        (GOLDEN / f"{name}.wgsl").write_text(printed(name), encoding="utf-8")
