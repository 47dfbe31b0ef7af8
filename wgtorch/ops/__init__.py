"""Every op of wgtorch, one block each. Importing this package fills `op.REGISTRY`."""

from wgtorch.ops import arithmetic, reductions, views

__all__ = ["arithmetic", "reductions", "views"]
