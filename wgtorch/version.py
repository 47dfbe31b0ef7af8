"""The version, and what PyTorch's module of this name says of GPUs: none of theirs is here."""

from __future__ import annotations

__version__ = "0.1.0"
cuda: str | None = None
hip: str | None = None
xpu: str | None = None
debug = False
git_version = ""
