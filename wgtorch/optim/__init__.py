"""Optimizers, which change parameters by their gradients, and learning rate schedules."""

from wgtorch.optim import lr_scheduler
from wgtorch.optim.adam import Adam
from wgtorch.optim.adamw import AdamW
from wgtorch.optim.optimizer import Optimizer
from wgtorch.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]
