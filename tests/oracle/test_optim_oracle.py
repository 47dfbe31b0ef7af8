"""Optimizers and schedules against PyTorch, step by step."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import wgtorch as wt  # noqa: E402

RNG = np.random.default_rng(0)
START = RNG.standard_normal((3, 4)).astype(np.float32)
FORMS = [
    "SGD(p)",
    "SGD(p, lr=0.1, momentum=0.9)",
    "SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.1)",
    "SGD(p, lr=0.05, momentum=0.9, dampening=0.3, maximize=True)",
    "Adam(p, lr=0.1)",
    "Adam(p, lr=0.1, amsgrad=True, weight_decay=0.2)",
    "Adam(p, lr=0.1, betas=(0.5, 0.7), eps=0.01, maximize=True)",
    "Adam(p, decoupled_weight_decay=True, weight_decay=0.1)",
    "AdamW(p, lr=0.1)",
    "AdamW(p, lr=0.1, amsgrad=True, weight_decay=0.5)",
]


@pytest.mark.parametrize("form", FORMS)
def test_five_steps(form, device):
    a = wt.tensor(START, device=device, requires_grad=True)
    b = torch.tensor(START, requires_grad=True)
    us = eval(form, vars(wt.optim) | {"p": [a]})
    them = eval(form, vars(torch.optim) | {"p": [b]})
    assert repr(us) == repr(them)
    for step in range(5):
        for x, optimizer in ((a, us), (b, them)):
            optimizer.zero_grad()
            (x.sin() * (step + 1) + x * x).sum().backward()
            optimizer.step()
        np.testing.assert_allclose(
            a.detach().cpu().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-5, err_msg=str(step)
        )
    ours, theirs = us.state_dict(), them.state_dict()
    assert ours["param_groups"] == theirs["param_groups"]
    assert ours["state"].keys() == theirs["state"].keys()
    for name, value in theirs["state"].get(0, {}).items():
        kept = ours["state"][0][name]
        kept = kept.cpu().numpy() if isinstance(kept, wt.Tensor) else kept
        np.testing.assert_allclose(kept, value.numpy(), rtol=1e-5, atol=1e-6, err_msg=name)


SCHEDULES = [
    "StepLR(o, 3)",
    "MultiStepLR(o, [2, 5, 5, 9], 0.3)",
    "ExponentialLR(o, 0.9)",
    "CosineAnnealingLR(o, 7, 0.01)",
    "LinearLR(o, 0.2, 0.9, 6)",
    "ConstantLR(o, 0.3, 4)",
    "PolynomialLR(o, 8, 2.0)",
    "LambdaLR(o, [lambda t: 0.9**t, lambda t: 1 / (t + 1)])",
    "MultiplicativeLR(o, lambda t: 0.95)",
    "OneCycleLR(o, 0.4, 26)",
    "OneCycleLR(o, [0.4, 0.8], epochs=5, steps_per_epoch=6, three_phase=True,"
    " anneal_strategy='linear')",
    "CosineAnnealingWarmRestarts(o, 3, 2, 0.01)",
    "ReduceLROnPlateau(o, patience=2, cooldown=1, min_lr=0.001)",
    "ReduceLROnPlateau(o, 'max', 0.5, 0, 0.3, 'abs')",
    "SequentialLR(o, [LinearLR(o, 0.1, 1.0, 4), CosineAnnealingLR(o, 10), ExponentialLR(o, 0.5)],"
    " [4, 12])",
    "ChainedScheduler([ExponentialLR(o, 0.9), StepLR(o, 4)])",
]


def course(library, form, kind):
    options = {"lr": 0.3} | ({"momentum": 0.9} if kind == "SGD" else {})
    groups = [{"params": [library.ones(1, requires_grad=True)]} for _ in range(2)]
    groups[1]["lr"] = 0.5
    optimizer = getattr(library.optim, kind)(groups, **options)
    schedule = eval(form, vars(library.optim.lr_scheduler) | {"o": optimizer})
    seen = [schedule.get_last_lr()]
    for step in range(25):
        optimizer.step()
        schedule.step(*([abs(step - 6) / 10] if "Plateau" in form else []))
        seen.append(schedule.get_last_lr())
        seen.append([g["betas"][0] if kind == "AdamW" else g["momentum"]
                     for g in optimizer.param_groups])  # fmt: skip
    return seen


@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
@pytest.mark.parametrize("form", SCHEDULES)
def test_schedules(form, kind):
    np.testing.assert_allclose(course(wt, form, kind), course(torch, form, kind), rtol=1e-12)
