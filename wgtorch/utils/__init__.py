"""What surrounds training: reading data, and checkpoints."""

from wgtorch.utils import checkpoint, data

__all__ = ["checkpoint", "data"]
