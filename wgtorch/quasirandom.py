"""Points that fill a cube more evenly than random ones, by Sobol' sequences (scipy's)."""

from __future__ import annotations

import warnings

from scipy.stats import qmc

from wgtorch.create import tensor
from wgtorch.dtype import DType, get_default_dtype
from wgtorch.random import initial_seed
from wgtorch.tensor import Tensor

__all__ = ["SobolEngine"]


class SobolEngine:
    """Points of a Sobol' sequence in [0, 1)^dimension, on the cpu (S. Joe and F. Kuo, 2008).

    `scramble` shifts and mixes their digits at random, by `seed`: the first is then not 0, and
    averages over several seeds have errors that can be estimated.
    """

    MAXBIT, MAXDIM = 30, 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.num_generated = 0
        given = initial_seed() % (1 << 32) if seed is None else seed
        self._sequence = qmc.Sobol(dimension, scramble=scramble, bits=self.MAXBIT, seed=given)

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next `n` points, (n, dimension)."""
        if n < 1:
            raise RuntimeError(f"draw: n must be at least 1, got {n}")
        with warnings.catch_warnings():  # of numbers of points that are no power of 2
            warnings.simplefilter("ignore", UserWarning)
            points = self._sequence.random(n)
        self.num_generated += n
        found = tensor(points, dtype=dtype or get_default_dtype(), device="cpu")
        return found if out is None else out.resize_(found.shape).copy_(found)  # type: ignore

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next 2**m points, where those drawn before and they are a power of 2 together."""
        n = 1 << m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2."
                f" {self.num_generated} points have been previously generated, then:"
                f" n={self.num_generated}+2**{m}={total}. If you still want to do this, please use"
                " 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Back to the first point."""
        self._sequence.reset()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """As if `n` points had been drawn."""
        self._sequence.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        facts = [f"dimension={self.dimension}"]
        facts += ["scramble=True"] * self.scramble
        facts += [f"seed={self.seed}"] * (self.seed is not None)
        return f"{type(self).__name__}({', '.join(facts)})"
