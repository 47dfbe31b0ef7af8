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
    "RMSprop(p)",
    "RMSprop(p, lr=0.05, alpha=0.8, eps=1e-3, weight_decay=0.1, momentum=0.9, maximize=True)",
    "RMSprop(p, lr=0.05, momentum=0.5, centered=True)",
    "Adagrad(p)",
    "Adagrad(p, 0.1, lr_decay=0.2, weight_decay=0.1, initial_accumulator_value=0.5)",
    "Adagrad(p, 0.1, eps=0.01, maximize=True, foreach=False)",
    "Adadelta(p)",
    "Adadelta(p, 0.5, rho=0.7, eps=1e-3, weight_decay=0.2, maximize=True)",
    "Adamax(p)",
    "Adamax(p, 0.1, betas=(0.7, 0.8), eps=1e-3, weight_decay=0.2, maximize=True)",
    "NAdam(p)",
    "NAdam(p, 0.1, betas=(0.7, 0.8), eps=1e-3, weight_decay=0.2, momentum_decay=0.1)",
    "NAdam(p, 0.1, weight_decay=0.2, decoupled_weight_decay=True, maximize=True)",
    "RAdam(p)",
    "RAdam(p, 0.1, betas=(0.7, 0.99), eps=1e-3, weight_decay=0.2)",
    "RAdam(p, 0.1, betas=(0.5, 0.9), weight_decay=0.2, decoupled_weight_decay=True)",
    "ASGD(p)",
    "ASGD(p, 0.1, lambd=0.1, alpha=0.5, t0=2, weight_decay=0.1)",
    "Rprop(p)",
    "Rprop(p, 0.3, etas=(0.3, 1.5), step_sizes=(0.1, 0.5), maximize=True)",
    "Adafactor(p)",
    "Adafactor(p, 0.5, beta2_decay=-0.5, eps=(1e-3, 0.01), d=1.5, weight_decay=0.1)",
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


def test_adafactor_of_vectors_and_more_dimensions(device):
    for shape in [(12,), (), (2, 3, 2)]:
        start = np.resize(START, shape)
        a = wt.tensor(start, device=device, requires_grad=True)
        b = torch.tensor(start, requires_grad=True)
        pairs = (a, wt.optim.Adafactor([a], 0.3)), (b, torch.optim.Adafactor([b], 0.3))
        for _ in range(4):
            for x, optimizer in pairs:
                optimizer.zero_grad()
                (x.sin() + x * x).sum().backward()
                optimizer.step()
        np.testing.assert_allclose(a.detach().cpu().numpy(), b.detach().numpy(), rtol=2e-5)


@pytest.mark.parametrize("form", [
    "Muon(p, 0.1)",
    "Muon(p, 0.1, nesterov=False, momentum=0.5, adjust_lr_fn='match_rms_adamw')",
])  # fmt: skip
def test_muon(form, device):
    for start in (START, START.T.copy()):
        a = wt.tensor(start, device=device, requires_grad=True)
        b = torch.tensor(start, requires_grad=True)
        us = eval(form, vars(wt.optim) | {"p": [a]})
        them = eval(form, vars(torch.optim) | {"p": [b]})
        assert repr(us) == repr(them)
        for _ in range(3):
            for x, optimizer in ((a, us), (b, them)):
                optimizer.zero_grad()
                (x.sin() + x * x).sum().backward()
                optimizer.step()
        # steps are computed in bfloat16
        np.testing.assert_allclose(a.detach().cpu().numpy(), b.detach().numpy(), atol=4e-3)


LBFGS = [
    "LBFGS(p)",
    "LBFGS(p, lr=0.3, max_iter=5, history_size=2)",
    "LBFGS(p, line_search_fn='strong_wolfe', max_iter=4)",
    "LBFGS(p, lr=30, line_search_fn='strong_wolfe', max_iter=3, max_eval=12)",
]


@pytest.mark.parametrize("form", LBFGS)
def test_lbfgs(form, device):
    a = [wt.tensor(x, device=device, requires_grad=True) for x in (START, START[0])]
    b = [torch.tensor(x, requires_grad=True) for x in (START, START[0])]
    us = eval(form, vars(wt.optim) | {"p": a})
    them = eval(form, vars(torch.optim) | {"p": b})
    assert repr(us) == repr(them)

    def closure(p, optimizer):
        def run():
            optimizer.zero_grad()
            loss = (p[0] - 0.5).square().sum() + (p[0] * p[1]).sin().sum() + (p[1] ** 4).sum()
            loss.backward()
            return loss

        return run

    for _ in range(2):
        ours, theirs = us.step(closure(a, us)), them.step(closure(b, them))
        np.testing.assert_allclose(ours.item(), theirs.item(), rtol=1e-4)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x.detach().cpu().numpy(), y.detach().numpy(), atol=2e-3)
    ours, theirs = us.state_dict()["state"][0], them.state_dict()["state"][0]
    assert ours.keys() == theirs.keys()
    if "max_iter" in form:  # near the minimum both end by chance
        assert ours["func_evals"] == theirs["func_evals"]
        assert ours["n_iter"] == theirs["n_iter"]


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
    "CyclicLR(o, 0.01, 0.1, 4)",
    "CyclicLR(o, [0.01, 0.02], [0.1, 0.4], 3, 5, 'triangular2', base_momentum=0.6)",
    "CyclicLR(o, 0.01, 0.1, 4, mode='exp_range', gamma=0.9, cycle_momentum=False)",
    "CyclicLR(o, 0.01, 0.1, 4, scale_fn=lambda x: 1 / (1 + x), scale_mode='iterations')",
    "ReduceLROnPlateau(o, patience=2, cooldown=1, min_lr=0.001)",
    "ReduceLROnPlateau(o, 'max', 0.5, 0, 0.3, 'abs')",
    "SequentialLR(o, [LinearLR(o, 0.1, 1.0, 4), CosineAnnealingLR(o, 10), ExponentialLR(o, 0.5)],"
    " [4, 12])",
    "ChainedScheduler([ExponentialLR(o, 0.9), StepLR(o, 4)])",
    "SWALR(o, 0.05)",
    "SWALR(o, [0.05, 0.8], 7, 'linear')",
    "SWALR(o, 0.05, 0)",
]


def scheduled(library, form, kind):
    options = {"lr": 0.3} | ({"momentum": 0.9} if kind == "SGD" else {})
    groups = [{"params": [library.ones(1, requires_grad=True)]} for _ in range(2)]
    groups[1]["lr"] = 0.5
    optimizer = getattr(library.optim, kind)(groups, **options)
    known = vars(library.optim.lr_scheduler) | vars(library.optim.swa_utils)
    return optimizer, eval(form, known | {"o": optimizer})


def course(library, form, kind):
    optimizer, schedule = scheduled(library, form, kind)
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


def numbers(schedule):
    return {n: v for n, v in vars(schedule).items() if n[0] != "_" and type(v) in (int, float)}


@pytest.mark.parametrize("form", [f for f in SCHEDULES if f[:4] not in ("Sequ", "Chai", "SWAL")])
def test_schedules_hold_their_numbers_by_the_same_names(form):
    ours, theirs = scheduled(wt, form, "AdamW")[1], scheduled(torch, form, "AdamW")[1]
    assert numbers(ours) == numbers(theirs)
