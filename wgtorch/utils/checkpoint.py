"""Checkpoints under PyTorch's path: functions that run again in backward instead of saving."""

from wgtorch.autograd.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)
from wgtorch.autograd.selective import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "CheckpointError",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]
