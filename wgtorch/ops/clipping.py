"""numpy's ufunc that brings numbers between two others: in one pass, ten times as fast as a maximum
and a minimum of it. `np.clip` comes to the same, after 2 us of looking at its arguments."""

from __future__ import annotations

import numpy as np

try:
    from numpy._core.umath import clip
except ImportError:  # another numpy
    clip = np.clip

__all__ = ["clip"]
