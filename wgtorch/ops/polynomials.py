"""Orthogonal polynomials, of any order, by their recurrences (Abramowitz and Stegun, 22.7).

p(0) is 1, p(1) = first[0] y + first[1], and from there on, with y = input or 2 input - 1,
    p(k + 1) = ((times[0] + k times[1]) y + times[2] + k times[3]) p(k) - (less[0] + k less[1])
    p(k - 1), over k + 1 where the rule divides.
shaders/lib/polynomials.wgsl computes the same in pairs of floats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from wgtorch.op import elementwise
from wgtorch.ops.samples import inside

MOST = 65536  # orders beyond it are NaN: none converges to anything that a float could hold


class Rule(NamedTuple):
    first: tuple[int, int]
    times: tuple[int, int, int, int]
    less: tuple[int, int]
    divides: bool = False

    def wgsl(self, shifted: bool) -> str:
        first, times, less = (", ".join(f"{v}.0" for v in part) for part in self[:3])
        return (
            f"polynomial(input, n, vec2<f32>({first}), vec4<f32>({times}), vec2<f32>({less}),"
            f" {int(self.divides)}.0, {str(shifted).lower()})"
        )

    def value(self, x: np.ndarray, n: np.ndarray, shifted: bool) -> np.ndarray:
        """In float64, whatever x is. What grows beyond 2^400 is counted in powers of 2^600."""
        x, order = np.broadcast_arrays(np.asarray(x, np.float64), np.trunc(n))
        known = order <= MOST
        bounded = np.clip(x, -1e154, 1e154)  # where every p(2) is infinite
        y = 2 * bounded - 1 if shifted else bounded
        before, p = np.ones_like(y), self.first[0] * y + self.first[1]
        out = np.where(order < 2, p * np.maximum(np.abs(x) / 1e154, 1), p)
        out = np.where(order < 1, np.where(order < 0, 0.0, 1.0), out)
        scaled, last = np.zeros(y.shape, int), int(np.max(order, where=known, initial=0))
        a0, a1, b0, b1 = self.times
        for k in range(1, last):
            big = 600 * (np.abs(p) > 2.0**400)
            p, before, scaled = np.ldexp(p, -big), np.ldexp(before, -big), scaled + big
            a, c = (a0 + k * a1) * y + b0 + k * b1, self.less[0] + k * self.less[1]
            before, p = p, (a * p - c * before) / (k + 1 if self.divides else 1)
            out = np.where(order == k + 1, np.ldexp(p, np.minimum(scaled, 5000)), out)
        return np.where(known, out + 0.0, np.nan)  # never -0


def orthogonal(rule: Rule, shifted: bool = False) -> Callable:
    """An op of `input`, where the polynomials are taken, and of `n`, their orders."""

    def declared(function: Callable):
        def reference(input, n):
            dtype = np.result_type(*(a for a in (input, n) if isinstance(a, np.ndarray)))
            return rule.value(input, n, shifted).astype(dtype)

        reference.__name__, reference.__doc__ = function.__name__, function.__doc__
        reference.__module__ = function.__module__
        return elementwise(
            rule.wgsl(shifted),
            samples=lambda rng: [
                ((2 * inside(rng, 3, 5), rng.integers(0, 9, (3, 5))), {}),
                ((inside(rng, 4, 1), rng.integers(-1, 40, 6)), {}),
            ],
            result="float",
            torch=f"special.{function.__name__.strip('_')}",
            inplace=False,
        )(reference)

    return declared


CHEBYSHEV = (2, 0, 0, 0), (1, 0)
T, U = Rule((1, 0), *CHEBYSHEV), Rule((2, 0), *CHEBYSHEV)
V, W = Rule((2, -1), *CHEBYSHEV), Rule((2, 1), *CHEBYSHEV)


@orthogonal(T)
def _chebyshev_polynomial_t(input, n):
    "The Chebyshev polynomial of the first kind, cos(n acos(input)); 0 for n below 0"


@orthogonal(U)
def _chebyshev_polynomial_u(input, n):
    "The Chebyshev polynomial of the second kind: sin((n + 1) t) / sin(t), t = acos(input)"


@orthogonal(V)
def _chebyshev_polynomial_v(input, n):
    "The Chebyshev polynomial of the third kind: cos((n + 1/2) t) / cos(t / 2), t = acos(input)"


@orthogonal(W)
def _chebyshev_polynomial_w(input, n):
    "The Chebyshev polynomial of the fourth kind: sin((n + 1/2) t) / sin(t / 2), t = acos(input)"


@orthogonal(T, shifted=True)
def _shifted_chebyshev_polynomial_t(input, n):
    "chebyshev_polynomial_t at 2 input - 1"


@orthogonal(U, shifted=True)
def _shifted_chebyshev_polynomial_u(input, n):
    "chebyshev_polynomial_u at 2 input - 1"


@orthogonal(V, shifted=True)
def _shifted_chebyshev_polynomial_v(input, n):
    "chebyshev_polynomial_v at 2 input - 1"


@orthogonal(W, shifted=True)
def _shifted_chebyshev_polynomial_w(input, n):
    "chebyshev_polynomial_w at 2 input - 1"


@orthogonal(Rule((2, 0), (2, 0, 0, 0), (0, 2)))
def _hermite_polynomial_h(input, n):
    "The physicist's Hermite polynomial, orthogonal under exp(-x ** 2); 0 for n below 0"


@orthogonal(Rule((1, 0), (1, 0, 0, 0), (0, 1)))
def _hermite_polynomial_he(input, n):
    "The probabilist's Hermite polynomial, orthogonal under exp(-x ** 2 / 2); 0 for n below 0"


@orthogonal(Rule((-1, 1), (-1, 0, 1, 2), (0, 1), True))
def _laguerre_polynomial_l(input, n):
    "The Laguerre polynomial, orthogonal under exp(-x) on x > 0; 0 for n below 0"


@orthogonal(Rule((1, 0), (1, 2, 0, 0), (0, 1), True))
def _legendre_polynomial_p(input, n):
    "The Legendre polynomial, orthogonal on [-1, 1]; 0 for n below 0"
