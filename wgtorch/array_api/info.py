"""What the namespace says about itself: `__array_namespace_info__()`."""

from __future__ import annotations

from typing import Any

import wgtorch
from wgtorch.array_api.dtypes import KINDS, isdtype


class Info:
    """Capabilities, devices and dtypes, by the array API standard."""

    def capabilities(self) -> dict[str, Any]:
        """All that is optional works; there is no most of dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> Any:
        """Where arrays are made unless a device is given."""
        return wgtorch.get_default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of what is made of Python's numbers."""
        real = wgtorch.get_default_dtype()
        return {"real floating": real, "complex floating": real.to_complex(),
                "integral": wgtorch.int64, "indexing": wgtorch.int64}  # fmt: skip

    def devices(self) -> list[Any]:
        """The cpu, and the GPUs there are."""
        count = wgtorch.webgpu.device_count() if wgtorch.is_webgpu_available() else 0
        return [wgtorch.device("cpu"), *(wgtorch.device("webgpu", k) for k in range(count))]

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes of the standard, or those of a kind, by name; on a GPU without float64."""
        wanted = KINDS["numeric"] + KINDS["bool"]
        halves = (wgtorch.float16, wgtorch.bfloat16)
        gpu = device is not None and wgtorch.device(device).type != "cpu"
        wide = (wgtorch.float64, wgtorch.complex128) if gpu else ()
        found = [d for d in wanted if not any(d is other for other in (*halves, *wide))]
        return {d.name: d for d in found if kind is None or isdtype(d, kind)}


def __array_namespace_info__() -> Info:
    """What this namespace can do."""
    return Info()
