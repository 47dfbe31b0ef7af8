"""These tests ask PyTorch; where it is not installed there is nothing to ask."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]
