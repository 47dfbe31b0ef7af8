"""What tools write from the op declarations is up to date: the table of ops, the type stubs."""

from __future__ import annotations

from tools import docs, stubs


def test_table_of_ops():
    assert docs.PATH.read_text(encoding="utf-8") == docs.table(), "run python tools/docs.py"


def test_stubs():
    for path, made in stubs.FILES.items():
        assert path.read_text(encoding="utf-8") == made(), "run python tools/stubs.py"


def test_signatures_are_those_of_calls():
    """Of what users call, not of kernels: with the arguments that a front adds."""
    methods = stubs.methods()
    assert "def add(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor: ..." in methods
    assert "def where(self, condition: Tensor, other: Tensor | Number) -> Tensor: ..." in methods
    assert "def clamp(self, min: Tensor | Number | None = None" in methods
    assert "def equal(self, other: Any) -> builtins.bool: ..." in methods
    assert "def permute(self, *dims: Any) -> Tensor: ..." in methods
    assert "def __rsub__(self, other: Any) -> Tensor: ..." in methods
    functions = stubs.package()
    assert "def div(input: Tensor | Number, other: Tensor | Number, *, rounding_mode" in functions
    assert "def sum(input: Tensor, dim: Any | None = None, keepdim" in functions
    assert "def cat(tensors: Sequence[Tensor], dim: builtins.int = 0" in functions
