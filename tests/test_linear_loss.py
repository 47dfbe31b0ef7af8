"""The cross entropy of a linear layer's result, a chunk of rows at a time."""

from math import log

import pytest

import wgtorch as torch
from wgtorch.nn import LinearCrossEntropyLoss, LinearCrossEntropyOptions
from wgtorch.nn import functional as F


def operands(device, rows=256, features=8, classes=2048):
    torch.manual_seed(0)
    input, weight = torch.randn(rows, features), torch.randn(classes, features)
    target = torch.randint(0, classes, (rows,))
    return [t.to(device) for t in (input, weight, target)]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_chunks_give_what_all_logits_give(device, reduction):
    input, weight, target = operands(device, 10, 4, 6)
    target[3] = 5  # ignored
    scale = torch.arange(1.0, 7.0, device=device)
    facts = {"weight": scale, "reduction": reduction, "ignore_index": 5}
    found = []
    for options in (None, LinearCrossEntropyOptions(batch_chunk_size=3)):
        x, w = input.clone().requires_grad_(), weight.clone().requires_grad_()
        loss = F.linear_cross_entropy(x, w, target, options=options, **facts)
        found.append((loss, *torch.autograd.grad(loss.sum(), (x, w))))
    for want, got in zip(*found, strict=True):
        torch.testing.assert_close(got, want)
    assert F.linear_cross_entropy(input, weight, target, options=options).dim() == 0


def test_logits_of_one_chunk_exist_at_a_time(webgpu):
    input, weight, target = operands(webgpu)
    input.requires_grad_()
    peaks = []
    for options in (None, LinearCrossEntropyOptions(batch_chunk_size=16)):
        torch.webgpu.synchronize()
        torch.webgpu.reset_peak_memory_stats()
        before = torch.webgpu.memory_allocated()
        loss = F.linear_cross_entropy(input, weight, target, options=options)
        torch.autograd.grad(loss, input)[0].tolist()
        peaks.append(torch.webgpu.max_memory_allocated() - before)
    logits = 256 * 2048 * 4
    assert peaks[0] >= 2 * logits and peaks[1] <= logits / 2, peaks


def test_rows_of_a_chunk():
    x = torch.zeros(100, 8)
    assert LinearCrossEntropyOptions().rows(x, 80) == 8  # 10 at once, rounded up, of which half
    assert LinearCrossEntropyOptions(chunking_method="aspect_ratio:4").rows(x, 80) == 4
    assert LinearCrossEntropyOptions(chunking_method=None).rows(x, 80) == 100
    with pytest.raises(ValueError, match="give different chunk sizes \\(5 vs 16\\)"):
        LinearCrossEntropyOptions(False, 5, "aspect_ratio").rows(x, 80)
    with pytest.raises(ValueError, match="invalid chunking_method: 'aspect_ratio:0'"):
        LinearCrossEntropyOptions(chunking_method="aspect_ratio:0")


def test_the_module_has_its_own_layer():
    loss = LinearCrossEntropyLoss(4, 3, out_features=(2,), bias=True)
    assert loss.linear.weight.shape == (6, 4)
    input, target = torch.ones(5, 4), torch.tensor([[0, 2]] * 5)
    logits = loss.linear(input).reshape(5, 3, 2)
    torch.testing.assert_close(loss(input, target), F.cross_entropy(logits, target))
    options = LinearCrossEntropyOptions()
    with pytest.warns(UserWarning, match="``options`` ignored; .*out_features=\\(2,\\)"):
        F.linear_cross_entropy(input, loss.linear.weight.reshape(3, 2, 4), target, options=options)


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32, torch.bool], ids=lambda d: d.name)
def test_classes_are_of_int64_or_uint8(dtype):
    x, weight, target = torch.ones(3, 5), torch.ones(4, 5), torch.zeros(3, dtype=dtype)
    with pytest.raises(RuntimeError, match="expected target dtype to be Long or Byte, but got"):
        F.linear_cross_entropy(x, weight, target)
    with pytest.raises(RuntimeError, match="expected target dtype to be Long or Byte, but got"):
        F.nll_loss(x, target)
    assert F.cross_entropy(x, target.to(torch.uint8)).item() == pytest.approx(log(5))
