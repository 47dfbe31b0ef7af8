"""Averages of weights along training, and the schedule that goes with them."""

import copy

import wgtorch as wt
from wgtorch import nn
from wgtorch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn


def model(device, value):
    layer = nn.Linear(1, 1, bias=False).to(device)
    with wt.no_grad():
        layer.weight.fill_(value)
    return layer


def test_all_weigh_the_same(device):
    averaged = AveragedModel(model(device, 9.0))
    for value in (1.0, 2.0, 6.0):
        averaged.update_parameters(model(device, value))
    assert averaged.module.weight.item() == 3 and averaged.n_averaged.item() == 3
    assert averaged(wt.ones(1, 1, device=device)).item() == 3
    again = AveragedModel(model(device, 0.0))
    again.load_state_dict(averaged.state_dict())
    again.update_parameters(model(device, 7.0))
    assert list(averaged.state_dict()) == ["n_averaged", "module.weight"]
    assert again.module.weight.item() == 4 and averaged.module.weight.item() == 3


def test_an_average_on_the_cpu_of_a_model_on_a_gpu(webgpu):
    averaged = AveragedModel(model(webgpu, 0.0), "cpu", multi_avg_fn=get_ema_multi_avg_fn(0.75))
    for value in (4.0, 8.0):
        averaged.update_parameters(model(webgpu, value))
    assert averaged.module.weight.is_cpu and averaged.module.weight.item() == 5


def test_the_average_does_not_follow_the_model(device):
    layer = model(device, 1.0)
    averaged = AveragedModel(layer)
    averaged.update_parameters(layer)
    with wt.no_grad():
        layer.weight.fill_(5)
    assert averaged.module.weight.item() == 1
    assert copy.deepcopy(averaged).module.weight.item() == 1


def test_statistics_of_all_batches(device):
    norm = nn.BatchNorm1d(1, momentum=0.5).to(device).eval()
    instance = nn.InstanceNorm1d(1, track_running_stats=True).to(device)
    instance.running_mean.fill_(9)
    update_bn([wt.tensor([[1.0], [3.0]]), (wt.tensor([[4.0], [8.0]]),)], norm, device)
    assert norm.running_mean.tolist() == [4] and norm.running_var.tolist() == [5]
    assert norm.momentum == 0.5 and not norm.training
    update_bn([], nn.Sequential(norm, instance))
    assert norm.running_mean.tolist() == [0] and instance.running_mean.tolist() == [9]


def test_the_rate_goes_to_its_goal_and_stays():
    optimizer = wt.optim.SGD([wt.ones(1, requires_grad=True)], lr=1.0)
    schedule = SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    rates = []
    for _ in range(4):
        rates.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    assert rates == [1.0, 0.75, 0.5, 0.5]
    other = SWALR(wt.optim.SGD([wt.ones(1, requires_grad=True)], lr=1.0), swa_lr=0.5)
    other.load_state_dict(schedule.state_dict())
    assert other.anneal_epochs == 2 and other.last_epoch == schedule.last_epoch == 4
