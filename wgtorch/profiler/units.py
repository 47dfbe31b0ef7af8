"""Times and sizes as people read them."""

from __future__ import annotations


def text_of_time(us: float, unit: str | None = None) -> str:
    """Microseconds in the largest unit that leaves a digit before the point, or in `unit`."""
    for name, scale in (("s", 1e6), ("ms", 1e3)):
        if unit == name or (unit is None and us >= scale):
            return f"{us / scale:.3f}{name}"
    return f"{us:.3f}us"


def text_of_share(part: float, whole: float) -> str:
    return "NaN" if whole == 0 else f"{100.0 * part / whole:.2f}%"


def text_of_bytes(nbytes: int) -> str:
    for name, scale in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(nbytes) >= scale:
            return f"{nbytes / scale:.2f} {name}"
    return f"{nbytes} B"


def flops_unit(most: float) -> tuple[float, str]:
    """(scale, name) for a column of counts up to `most`."""
    for name, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if most >= scale:
            return scale, f"Total {name}FLOPs"
    return 1.0, "Total FLOPs"
