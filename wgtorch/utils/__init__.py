"""What surrounds training: reading data."""

from wgtorch.utils import data

__all__ = ["data"]
