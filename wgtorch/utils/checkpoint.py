"""Checkpoints under PyTorch's path: functions that run again in backward instead of saving."""

from wgtorch.autograd.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)

__all__ = [
    "CheckpointError",
    "checkpoint",
    "checkpoint_sequential",
    "set_checkpoint_early_stop",
]
