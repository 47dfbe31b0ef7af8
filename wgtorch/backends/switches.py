"""Switches of PyTorch's `torch.backends`, which programs turn without asking if they are there.

`torch.backends.cudnn.benchmark = True` changes nothing here; what they are set to is kept.
"""

from __future__ import annotations

from typing import Any


class Switches:
    """A library that is not here: not available, with switches that do nothing."""

    def __init__(self, name: str, **switches: Any):
        self._name = name
        vars(self).update(switches)

    def is_available(self) -> bool:
        return False

    def is_built(self) -> bool:
        return False

    def version(self) -> None:
        return None

    def __repr__(self) -> str:
        return f"<torch.backends.{self._name}, which wgtorch does without>"


cudnn = Switches("cudnn", enabled=False, benchmark=False, deterministic=False, allow_tf32=False)
cuda = Switches("cuda", matmul=Switches("cuda.matmul", allow_tf32=False))
mps = Switches("mps")
mkl = Switches("mkl")
mkldnn = Switches("mkldnn", enabled=False)
openmp = Switches("openmp")
