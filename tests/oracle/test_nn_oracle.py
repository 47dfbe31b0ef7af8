"""Modules, losses and functions against PyTorch: outputs and gradients for the same state."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import wgtorch as wt  # noqa: E402

RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def positive(*shape):
    return np.abs(normal(*shape)) + 0.1


def ours(array, device, wants=False):
    return wt.tensor(array, device=device, requires_grad=wants and array.dtype.kind == "f")


def theirs(array, wants=False):
    return torch.tensor(array, requires_grad=wants and array.dtype.kind == "f")


def close(ours_, theirs_, what, rtol=2e-5):
    """Equal to `rtol` of each element, or of the largest where sums cancel."""
    got, wanted = ours_.detach().cpu().numpy(), theirs_.detach().numpy()
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0.1)
    np.testing.assert_allclose(got, wanted, rtol, rtol * largest, err_msg=what)


def compare(call, arrays, device, make=lambda nn: None):
    """`call(nn, made, *inputs)` with both libraries: result, and gradients of all that wants."""
    us, them = make(wt.nn), make(torch.nn)
    if us is not None:
        load(us, them, device)
        assert repr(us) == repr(them)
    x, y = [ours(a, device, True) for a in arrays], [theirs(a, True) for a in arrays]
    got, wanted = call(wt.nn, us, *x), call(torch.nn, them, *y)
    assert tuple(got.shape) == tuple(wanted.shape)
    close(got, wanted, "result")
    weights = np.random.default_rng(1).standard_normal(tuple(got.shape)).astype(np.float32)
    (got * ours(weights, device)).sum().backward()
    (wanted * theirs(weights)).sum().backward()
    for number, (a, b) in enumerate(zip(x, y, strict=True)):
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            close(a.grad, b.grad, f"gradient of input {number}")
    for (name, a), b in zip(us.named_parameters(), them.parameters(), strict=True) if us else ():
        close(a.grad, b.grad, f"gradient of {name}")
    for (name, a), b in zip(us.named_buffers(), them.buffers(), strict=True) if us else ():
        close(a, b, name)


def load(us, them, device):
    """PyTorch's parameters, made rounder than they start, in both."""
    with torch.no_grad():
        for param in them.parameters():
            param.copy_(torch.tensor(normal(*param.shape)))
    us.load_state_dict({name: wt.tensor(t.numpy()) for name, t in them.state_dict().items()})
    us.to(device)


IMAGE, LINE = normal(2, 4, 7, 6), normal(3, 4, 9)
MODULES = {
    "Linear(5, 3)": [normal(4, 5)],
    "Linear(5, 3, bias=False)": [normal(2, 3, 5)],
    "Bilinear(3, 4, 2)": [normal(5, 3), normal(5, 4)],
    "Conv1d(4, 6, 3)": [LINE],
    "Conv1d(4, 6, 3, stride=2, padding=1, groups=2)": [LINE],
    "Conv1d(4, 2, 3, padding='same', padding_mode='circular')": [LINE],
    "Conv2d(4, 3, 3)": [IMAGE],
    "Conv2d(4, 3, 3)@unbatched": [normal(4, 5, 5)],
    "Conv2d(4, 8, (3, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 2))": [IMAGE],
    "Conv2d(4, 4, 3, groups=4, bias=False, padding=1)": [IMAGE],
    "Conv2d(4, 2, 3, padding=1, padding_mode='reflect')": [IMAGE],
    "Conv2d(4, 2, 4, padding='same', padding_mode='replicate')": [IMAGE],
    "Conv2d(4, 2, 3, padding='same', dilation=2)": [IMAGE],
    "BatchNorm1d(4)": [normal(6, 4)],
    "BatchNorm1d(4, momentum=None)": [LINE],
    "BatchNorm2d(4, eps=1e-3, momentum=0.3)": [IMAGE],
    "BatchNorm2d(4, affine=False, track_running_stats=False)": [IMAGE],
    "BatchNorm2d(4, bias=False)": [IMAGE],
    "LayerNorm(6)": [IMAGE],
    "LayerNorm((7, 6), bias=False)": [IMAGE],
    "LayerNorm(6, elementwise_affine=False)": [IMAGE],
    "GroupNorm(2, 4)": [IMAGE],
    "GroupNorm(4, 4, affine=False)": [LINE],
    "Embedding(6, 3)": [np.array([[0, 5, 2], [2, 2, 1]])],
    "Embedding(6, 3, padding_idx=2)": [np.array([0, 5, 2, 2, 1])],
    "Embedding(6, 3, max_norm=0.9, norm_type=1.0)": [np.array([3, 3, 1])],
    "Embedding(6, 3, scale_grad_by_freq=True)": [np.array([3, 3, 1])],
    "MaxPool1d(3)": [LINE],
    "MaxPool2d(2)": [IMAGE],
    "MaxPool2d((3, 2), stride=(2, 1), padding=1, dilation=1, ceil_mode=True)": [IMAGE],
    "AvgPool1d(3, stride=2, padding=1, count_include_pad=False)": [LINE],
    "AvgPool2d(2)": [IMAGE],
    "AvgPool2d(3, stride=2, padding=1, ceil_mode=True)": [IMAGE],
    "AvgPool2d(2, divisor_override=3)": [IMAGE],
    "AdaptiveAvgPool1d(4)": [LINE],
    "AdaptiveAvgPool2d((None, 4))": [IMAGE],
    "Flatten()": [IMAGE],
    "Flatten(0, 1)": [IMAGE],
    "Unflatten(1, (2, 2))": [IMAGE],
    "Identity(3, unused=4)": [LINE],
    "Dropout(0.0)": [LINE],
    "Dropout2d(0.5).eval()": [IMAGE],
    "ReLU(inplace=False)": [LINE],
    "ReLU6()": [LINE * 5],
    "ELU(0.7)": [LINE],
    "CELU(0.7)": [LINE],
    "SELU()": [LINE],
    "LeakyReLU(0.2)": [LINE],
    "RReLU().eval()": [LINE],
    "PReLU(4)": [LINE],
    "PReLU()": [LINE],
    "Hardtanh(-0.5, 0.7)": [LINE],
    "Hardsigmoid()": [LINE * 3],
    "Hardswish()": [LINE * 3],
    "Hardshrink(0.4)": [LINE],
    "Softshrink(0.4)": [LINE],
    "SiLU()": [LINE],
    "Mish()": [LINE],
    "GELU()": [LINE],
    "GELU(approximate='tanh')": [LINE],
    "GLU(1)": [LINE],
    "Sigmoid()": [LINE],
    "LogSigmoid()": [LINE * 20],
    "Tanh()": [LINE],
    "Tanhshrink()": [LINE],
    "Softplus(2.0, 1.5)": [LINE],
    "Softsign()": [LINE],
    "Threshold(0.1, 20)": [LINE],
    "Softmax(1)": [LINE],
    "LogSoftmax(-1)": [LINE * 30],
    "Softmin(0)": [LINE],
    "Softmax2d()": [IMAGE],
}


@pytest.mark.parametrize("form", MODULES)
def test_module(form, device):
    def make(nn):
        return eval(f"nn.{form.partition('@')[0]}", {"nn": nn})

    compare(lambda nn, module, *x: module(*x), MODULES[form], device, make)


@pytest.mark.parametrize("form", ["BatchNorm1d(4)", "BatchNorm2d(4, affine=False)"])
def test_batch_norm_evaluates_with_running_statistics(form, device):
    def make(nn):
        return eval(f"nn.{form}", {"nn": nn})

    arrays = [LINE if "1d" in form else IMAGE]

    def call(nn, module, x):
        module.train()
        module(x.detach())
        module.eval()
        return module(x)

    compare(call, arrays, device, make)


SCORES, CLASSES = normal(6, 5), np.array([0, 4, 2, 2, 1, 3])
MAPS, PIXELS = normal(2, 3, 4, 2), RNG.integers(0, 3, (2, 4, 2))
HIDDEN = np.array([0, 4, 2, -100, 1, 2])
MIXED = RNG.dirichlet(np.ones(5), 6).astype(np.float32)
WEIGHT = "weight=w([0.2, 1.0, 0.5, 2.0, 0.1])"
LOGITS, LABELS = normal(4, 3) * 10, RNG.integers(0, 2, (4, 3)).astype(np.float32)
CHANCE = RNG.uniform(0, 1, (4, 3)).astype(np.float32)
CHANCE[0] = [0, 1, 1]  # where logarithms are cut off
LOSSES = {
    "CrossEntropyLoss()": [SCORES, CLASSES],
    "CrossEntropyLoss()@one": [SCORES[0], np.array(3)],
    "CrossEntropyLoss()@maps": [MAPS, PIXELS],
    "CrossEntropyLoss()@ignored": [SCORES, HIDDEN],
    "CrossEntropyLoss(ignore_index=2, reduction='none')": [SCORES, CLASSES],
    f"CrossEntropyLoss({WEIGHT}, ignore_index=2)": [SCORES, CLASSES],
    f"CrossEntropyLoss({WEIGHT}, label_smoothing=0.2, ignore_index=2)": [SCORES, CLASSES],
    "CrossEntropyLoss(label_smoothing=0.1)": [SCORES, HIDDEN],
    "CrossEntropyLoss(label_smoothing=0.1, reduction='sum')": [MAPS, PIXELS],
    "CrossEntropyLoss(label_smoothing=0.1, reduction='none')": [SCORES, HIDDEN],
    "CrossEntropyLoss()@probabilities": [SCORES, MIXED],
    f"CrossEntropyLoss({WEIGHT}, label_smoothing=0.3)@probabilities": [SCORES, MIXED],
    "CrossEntropyLoss(reduction='none')@probabilities": [SCORES, MIXED],
    f"NLLLoss({WEIGHT})": [SCORES, HIDDEN],
    "NLLLoss(reduction='sum')": [MAPS, PIXELS],
    "MSELoss()": [normal(3, 4), normal(3, 4)],
    "MSELoss(reduction='sum')": [normal(3, 4), normal(3, 4)],
    "L1Loss(reduction='none')": [normal(3, 4), normal(3, 4)],
    "SmoothL1Loss(beta=0.7)": [normal(3, 4), normal(3, 4)],
    "SmoothL1Loss(beta=0.0)": [normal(3, 4), normal(3, 4)],
    "HuberLoss(delta=0.6)": [normal(3, 4), normal(3, 4)],
    "BCELoss(reduction='none')": [CHANCE[1:], LABELS[1:]],
    "BCELoss(weight=w([1.0, 0.5, 2.0]))": [CHANCE[1:], CHANCE[1:] * 0.5],
    "BCEWithLogitsLoss()": [LOGITS, LABELS],
    "BCEWithLogitsLoss(pos_weight=w([1.0, 3.0, 0.5]), reduction='sum')": [LOGITS, LABELS],
    "BCEWithLogitsLoss(weight=w([1.0, 3.0, 0.5]), reduction='none')": [LOGITS, CHANCE],
    "KLDivLoss(reduction='batchmean')": [SCORES, MIXED],
    "KLDivLoss(reduction='sum', log_target=True)": [SCORES, np.log(MIXED)],
    "CosineSimilarity(dim=1)": [normal(4, 3), normal(4, 3)],
    "PairwiseDistance(p=3.0)": [normal(4, 3), normal(4, 3)],
}


@pytest.mark.parametrize("form", LOSSES)
def test_loss(form, device):
    def make(nn):
        library, place = (torch, None) if nn is torch.nn else (wt, device)
        return eval(
            f"nn.{form.partition('@')[0]}",
            {"nn": nn, "w": lambda values: library.tensor(values, device=place)},
        )

    def call(nn, loss, input, target):
        return loss(input, target if "Cosine" in form or "Pair" in form else target.detach())

    compare(call, LOSSES[form], device, make)


def test_binary_cross_entropy_is_cut_off_at_zero_and_one(device):
    x, y = ours(CHANCE[:1], device, True), theirs(CHANCE[:1], True)
    target = np.array([[1, 0, 1]], np.float32)
    got = wt.nn.BCELoss(reduction="none")(x, ours(target, device))
    wanted = torch.nn.BCELoss(reduction="none")(y, theirs(target))
    assert wanted.tolist() == [[100, 100, 0]]
    close(got, wanted, "loss")
    got.sum().backward()
    wanted.sum().backward()
    close(x.grad, y.grad, "gradient", rtol=1e-4)


FUNCTIONS = {
    "F.normalize(x, dim=0)": [normal(4, 3)],
    "F.normalize(x, p=1.0)": [normal(4, 3)],
    "F.pad(x, (1, 2))": [normal(3, 4)],
    "F.pad(x, (1, 2, 0, 3), value=1.5)": [normal(3, 4)],
    "F.pad(x, (-1, 2, 1, -2))": [normal(3, 4)],
    "F.pad(x, (2, 1), mode='reflect')": [normal(2, 3, 4)],
    "F.pad(x, (2, 1, 1, 0), mode='replicate')": [IMAGE],
    "F.pad(x, (2, 1, 1, 3), mode='circular')": [IMAGE],
    "F.pad(x, (-1, 3, 2, -2), mode='reflect')": [IMAGE],
    "F.pad(x, (-5, 2), mode='replicate')": [normal(2, 3, 4)],
    "F.pad(x, (-1, 2), mode='circular')": [normal(2, 3, 4)],
    "F.relu(x * 1, inplace=True)": [LINE],
    "F.elu(x * 1, 0.5, inplace=True)": [LINE],
    "F.leaky_relu(x * 1, 0.1, True)": [LINE],
    "F.hardtanh(x * 1, -1.0, 0.5, True)": [LINE],
    "F.silu(x * 1, inplace=True)": [LINE],
    "F.dropout(x, 0.5, training=False)": [LINE],
    "F.alpha_dropout(x, 0.5)": [LINE],
    "F.cosine_similarity(x, y, dim=0)": [normal(4, 3), normal(4, 3)],
    "F.bilinear(x, y, z)": [normal(2, 5, 3), normal(2, 5, 4), normal(2, 3, 4)],
    "F.kl_div(x, y, reduction='none')": [SCORES, MIXED],
}


@pytest.mark.parametrize("form", FUNCTIONS)
def test_function(form, device):
    def call(nn, _, *tensors):
        return eval(form, {"F": nn.functional} | dict(zip("xyz", tensors, strict=False)))

    compare(call, FUNCTIONS[form], device)


def test_one_hot(device):
    index = np.array([[0, 2], [3, 1]])
    for classes in (-1, 6):
        got = wt.nn.functional.one_hot(ours(index, device), classes)
        wanted = torch.nn.functional.one_hot(theirs(index), classes)
        assert got.dtype is wt.int64 and got.tolist() == wanted.tolist()


def test_max_pooling_says_where(device):
    for pool, array in (("MaxPool1d", LINE), ("MaxPool2d", IMAGE)):
        got = getattr(wt.nn, pool)(2, return_indices=True)(ours(array, device))
        wanted = getattr(torch.nn, pool)(2, return_indices=True)(theirs(array))
        assert [t.tolist() for t in got] == [t.tolist() for t in wanted]


@pytest.mark.parametrize("name", ["clip_grad_norm_", "clip_grad_value_"])
def test_clipping(name, device):
    grads = [normal(3, 4) * 5, normal(2)]
    us = [wt.nn.Parameter(wt.zeros(*g.shape, device=device)) for g in grads]
    them = [torch.nn.Parameter(torch.zeros(*g.shape)) for g in grads]
    for norm in (2.0, 1.0, float("inf")) if name == "clip_grad_norm_" else (None,):
        for a, b, g in zip(us, them, grads, strict=True):
            a.grad, b.grad = ours(g, device), theirs(g)
        more = () if norm is None else (norm,)
        got = getattr(wt.nn.utils, name)(us, 0.7, *more)
        wanted = getattr(torch.nn.utils, name)(them, 0.7, *more)
        if norm is not None:
            close(got, wanted, "norm")
        for a, b in zip(us, them, strict=True):
            close(a.grad, b.grad, "clipped")
