"""Optimizers, which change parameters by their gradients, and learning rate schedules."""

from wgtorch.absent import answer_for
from wgtorch.optim import lr_scheduler, swa_utils
from wgtorch.optim.adadelta import Adadelta
from wgtorch.optim.adafactor import Adafactor
from wgtorch.optim.adagrad import Adagrad
from wgtorch.optim.adam import Adam
from wgtorch.optim.adamax import Adamax
from wgtorch.optim.adamw import AdamW
from wgtorch.optim.asgd import ASGD
from wgtorch.optim.lbfgs import LBFGS
from wgtorch.optim.muon import Muon
from wgtorch.optim.nadam import NAdam
from wgtorch.optim.optimizer import Optimizer
from wgtorch.optim.radam import RAdam
from wgtorch.optim.rmsprop import RMSprop
from wgtorch.optim.rprop import Rprop
from wgtorch.optim.sgd import SGD

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon",
    "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "lr_scheduler", "swa_utils",
]  # fmt: skip

answer_for(__name__)
