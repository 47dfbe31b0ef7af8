"""Learning rate schedules: their rates by hand, state, misuse."""

import numpy as np
import pytest
from test_optim import leaf, stepped

import wgtorch as wt
from wgtorch.optim import SGD
from wgtorch.optim import lr_scheduler as S


def rates(make, steps, group_rates=(1.0,)):
    optimizer = SGD([{"params": [leaf([1.0])], "lr": lr} for lr in group_rates], momentum=0.5)
    schedule = make(optimizer)
    seen = [schedule.get_last_lr()[0]]
    for _ in range(steps):
        optimizer.step()
        schedule.step()
        seen.append(optimizer.param_groups[0]["lr"])
    return seen


SCHEDULES = {
    "StepLR": (lambda o: S.StepLR(o, 2, 0.5), [1, 1, 0.5, 0.5, 0.25]),
    "MultiStepLR": (lambda o: S.MultiStepLR(o, [1, 3, 3], 0.5), [1, 0.5, 0.5, 0.125, 0.125]),
    "ExponentialLR": (lambda o: S.ExponentialLR(o, 0.5), [1, 0.5, 0.25, 0.125, 0.0625]),
    "ConstantLR": (lambda o: S.ConstantLR(o, 0.5, 2), [0.5, 0.5, 1, 1, 1]),
    "LinearLR": (lambda o: S.LinearLR(o, 0.25, 1.0, 3), [0.25, 0.5, 0.75, 1, 1]),
    "PolynomialLR": (lambda o: S.PolynomialLR(o, 4, 2.0), [1, 0.5625, 0.25, 0.0625, 0]),
    "LambdaLR": (lambda o: S.LambdaLR(o, lambda t: 1 / (t + 1)), [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
    "MultiplicativeLR": (lambda o: S.MultiplicativeLR(o, lambda t: t), [1, 1, 2, 6, 24]),
    "CosineAnnealingLR": (lambda o: S.CosineAnnealingLR(o, 2), [1, 0.5, 0, 0.5, 1]),
    "CyclicLR": (lambda o: S.CyclicLR(o, 0, 1, 2, mode="triangular2"), [0, 0.5, 1, 0.5, 0]),
    "CosineAnnealingWarmRestarts": (
        lambda o: S.CosineAnnealingWarmRestarts(o, 1, 2), [1, 1, 0.5, 1, 0.8535534]),
    "OneCycleLR": (
        lambda o: S.OneCycleLR(o, 1.0, 5, pct_start=0.4, anneal_strategy="linear", div_factor=2,
                               final_div_factor=5), [0.5, 1, 0.7, 0.4, 0.1]),
    "SequentialLR": (
        lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.5, 9), S.ExponentialLR(o, 0.5)], [2]),
        [0.5, 0.5, 1, 0.5, 0.25]),
    "ChainedScheduler": (
        lambda o: S.ChainedScheduler([S.ExponentialLR(o, 0.5), S.StepLR(o, 2, 0.1)]),
        [1, 0.5, 0.025, 0.0125, 0.000625]),
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedule(name):
    make, wanted = SCHEDULES[name]
    np.testing.assert_allclose(rates(make, 4), wanted, rtol=1e-6, atol=1e-12)


def test_a_plateau_lowers_the_rate():
    optimizer = SGD([leaf([1.0])], lr=1.0)
    schedule = S.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=1, min_lr=0.2)
    seen = []
    for loss in [5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3]:
        schedule.step(wt.tensor(float(loss)))
        seen.append(optimizer.param_groups[0]["lr"])
    assert seen == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2]


def test_schedules_resume_from_their_state():
    make = SCHEDULES["OneCycleLR"][0]
    optimizer = SGD([leaf([1.0])], lr=1.0, momentum=0.5)
    schedule = make(optimizer)
    for _ in range(2):
        optimizer.step()
        schedule.step()
    other = SGD([leaf([1.0])], lr=1.0, momentum=0.5)
    again = make(other)
    again.load_state_dict(schedule.state_dict())
    other.load_state_dict(optimizer.state_dict())
    other.step()
    again.step()
    np.testing.assert_allclose(other.param_groups[0]["lr"], 0.4)


def test_a_constant_schedule_keeps_its_factor_under_that_name():
    schedule = S.ConstantLR(SGD([leaf([1.0])], lr=1.0), 0.5, 2)
    assert schedule.factor == schedule.state_dict()["factor"] == 0.5
    schedule.load_state_dict({"factor": 0.25, "last_epoch": 1})
    schedule.optimizer.step()
    schedule.step()
    assert schedule.get_last_lr() == [0.5 / 0.25]


def test_a_plateau_has_its_lowest_rate_for_groups_added_later():
    schedule = S.ReduceLROnPlateau(SGD([leaf([1.0])], lr=1.0), factor=0.1, patience=0, min_lr=0.2)
    schedule.optimizer.add_param_group({"params": [leaf([1.0])], "lr": 3.0})
    for _ in range(2):
        schedule.step(1.0)
    assert schedule.min_lrs == [0.2, 0.2]
    np.testing.assert_allclose(schedule.get_last_lr(), [0.2, 0.3])


def test_schedules_change_tensor_rates_in_place():
    rate = wt.tensor(1.0)
    p = leaf([1.0])
    optimizer = SGD([p], lr=rate)
    schedule = S.ExponentialLR(optimizer, 0.5)
    stepped(optimizer, p, [1.0])
    schedule.step()
    assert optimizer.param_groups[0]["lr"] is rate and rate.item() == 0.5
    assert stepped(optimizer, p, [1.0]).tolist() == [-0.5]


def test_schedules_misused():
    optimizer = SGD([leaf([1.0])], lr=1.0)
    schedule = S.ExponentialLR(optimizer, 0.5)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        schedule.step()
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        S.StepLR(3, 1)
    with pytest.raises(ValueError, match="Expected 1 lr_lambdas, but got 2"):
        S.LambdaLR(optimizer, [len, len])
    with pytest.raises(KeyError, match="'initial_lr' is not specified in param_groups"):
        S.StepLR(SGD([leaf([1.0])]), 1, last_epoch=3)
    with pytest.raises(ValueError, match="total_steps OR"):
        S.OneCycleLR(optimizer, 1.0)
    with pytest.raises(ValueError, match="does not support `ReduceLROnPlateau`"):
        S.SequentialLR(optimizer, [S.ReduceLROnPlateau(optimizer)], [])


def test_a_cycle_keeps_the_state_of_a_callable_scale():
    class Scale:
        factor = 1.0

        def __call__(self, cycle):
            return self.factor

    one, other = (
        S.CyclicLR(SGD([leaf([1.0])], momentum=0.5), 0.1, 0.5, 2, scale_fn=Scale())
        for _ in range(2)
    )
    one._scale_fn_custom.factor = 0.5
    other.load_state_dict(one.state_dict())
    other.optimizer.step()
    other.step()
    np.testing.assert_allclose(other.get_last_lr(), [0.1 + 0.4 * 0.5 * 0.5])
    with pytest.raises(ValueError, match="mode is invalid and scale_fn is None"):
        S.CyclicLR(one.optimizer, 0.1, 0.5, mode="square")
