"""torch.signal: windows, by the names and arguments that signal processing has for them."""

from wgtorch.signal import windows

__all__ = ["windows"]
