"""Schedules: how the learning rate changes while training goes on."""

from wgtorch.optim.lr_scheduler.cycle import CosineAnnealingWarmRestarts, OneCycleLR
from wgtorch.optim.lr_scheduler.cyclic import CyclicLR
from wgtorch.optim.lr_scheduler.decay import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from wgtorch.optim.lr_scheduler.plateau import ReduceLROnPlateau
from wgtorch.optim.lr_scheduler.schedule import LRScheduler
from wgtorch.optim.lr_scheduler.sequence import ChainedScheduler, SequentialLR

_LRScheduler = LRScheduler  # as it was called before PyTorch 2.0

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR",
    "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip
