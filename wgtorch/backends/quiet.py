"""numpy without its warnings: infinities and NaNs are results like any other.

`np.errstate` takes longer than adding two small arrays. The one place that goes behind it to the
context variable that numpy keeps its error state in; where a numpy has none, errstate serves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    from numpy._core._multiarray_umath import _extobj_contextvar, _make_extobj
except ImportError:  # another numpy

    class _Fallback:
        """The same two calls, through np.errstate."""

        def set(self, _: Any) -> Any:
            entered = np.errstate(all="ignore")
            entered.__enter__()
            return entered

        def reset(self, entered: Any) -> None:
            entered.__exit__(None, None, None)

    _extobj_contextvar, _IGNORE = _Fallback(), None
else:
    _IGNORE = _make_extobj(all="ignore")

hush, restore = _extobj_contextvar.set, _extobj_contextvar.reset
IGNORE = _IGNORE
