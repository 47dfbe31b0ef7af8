"""Bad input, op by op: which exception, what it says, and that the next op works."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.backends.webgpu import steps

F, nn, optim = torch.nn.functional, torch.nn, torch.optim
NAN, INF = math.nan, math.inf


class Maker:
    """Small tensors on one device."""

    def __init__(self, device: str):
        self.device = device

    def of(self, data, dtype=None):
        return torch.tensor(data, dtype=dtype, device=self.device)

    def floats(self, *shape, **more):
        return torch.ones(*shape, device=self.device, **more)

    def ints(self, *shape):
        return torch.ones(*shape, dtype=torch.int64, device=self.device)


@pytest.fixture(params=["cpu", "webgpu"])
def make(request) -> Maker:
    if request.param == "webgpu" and not torch.is_webgpu_available():
        pytest.skip("no adapter")
    return Maker(request.param)


def is_well(make: Maker) -> bool:
    return (make.of([1.0, 2.0]) + 1).tolist() == [2.0, 3.0] and torch.is_grad_enabled()


CASES = {  # name: (call, exception, part of its text)
    "negative size": (lambda m: m.floats(-1), RuntimeError, "negative dimension -1"),
    "a word as size": (lambda m: m.floats("a"), TypeError, "must be tuple of ints"),
    "half a size": (
        lambda m: m.floats((2, 2.5)), TypeError,
        "ones(): argument 'size' (position 1) must be tuple of ints, but found element of type"
        " float at pos 1",
    ),
    "a float for a size": (
        lambda m: torch.zeros(2.0), TypeError,
        "zeros(): argument 'size' (position 1) must be tuple of ints, not float",
    ),
    "a float for a shape": (
        lambda m: m.floats(2).reshape(2.0), TypeError,
        "reshape(): argument 'shape' (position 1) must be tuple of ints, not float",
    ),
    "a word in a shape": (
        lambda m: m.floats(2).reshape(("a", 2)), TypeError,
        "reshape(): argument 'shape' (position 1) must be tuple of ints, but found element of type"
        " str at pos 0",
    ),
    "a float for dims": (
        lambda m: m.floats(2).permute(0.0), TypeError,
        "permute(): argument 'dims' (position 1) must be tuple of ints, not float",
    ),
    "a float for repeats": (
        lambda m: m.floats(2).repeat(2.0), TypeError,
        "repeat(): argument 'repeats' (position 1) must be tuple of ints, not float",
    ),
    "cat without a list": (
        lambda m: torch.cat(m.floats(2), m.floats(2)), TypeError,
        "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor",
    ),
    "a number for a factor": (
        lambda m: m.floats(2).addcmul(m.floats(2), 3), TypeError,
        "addcmul(): argument 'tensor2' (position 3) must be Tensor, not int",
    ),
    "size overflow": (lambda m: m.floats(2**40, 2**40), RuntimeError, ""),
    "dtype by name": (lambda m: m.floats(2, dtype="float32"), TypeError, "torch.dtype, not str"),
    "unknown device": (lambda m: torch.zeros(2, device="moon"), RuntimeError, "moon"),
    "fill with None": (lambda m: m.floats(2).fill_(None), TypeError, "Number, not NoneType"),
    "fill with a word": (lambda m: m.floats(2).fill_("a"), TypeError, "Number, not str"),
    "NaN into ints": (lambda m: m.ints(2).fill_(NAN), RuntimeError, "int64_t without overflow"),
    "write NaN": (lambda m: m.ints(2).__setitem__(0, NAN), RuntimeError, "without overflow"),
    "300 as uint8": (lambda m: m.of([300], torch.uint8), RuntimeError, "uint8 without overflow"),
    "NaN as int64": (lambda m: m.of([NAN], torch.int64), RuntimeError, "without overflow"),
    "numpy's NaN as int64": (lambda m: m.of(np.array([INF]), torch.int64), RuntimeError, "int64"),
    "beyond int64": (lambda m: m.of([2**64]), ValueError, "Overflow"),
    "2**70 as operand": (lambda m: m.ints(2) + 2**70, OverflowError, "too big"),
    "data None": (lambda m: m.of(None), RuntimeError, "infer dtype of NoneType"),
    "None in data": (lambda m: m.of([1, None]), RuntimeError, "infer dtype of NoneType"),
    "ragged data": (lambda m: m.of([[1, 2], [3]]), ValueError, "expected sequence of length 2"),
    "endless arange": (lambda m: torch.arange(INF, device=m.device), RuntimeError, "range"),
    "arange by nothing": (lambda m: torch.arange(0, 1, 1e-20), RuntimeError, "overflow"),
    "negative eye": (lambda m: torch.eye(-1, device=m.device), RuntimeError, "got -1"),
    "like a number": (lambda m: torch.zeros_like(5), TypeError, "Tensor, not int"),
    "ints that want grad": (lambda m: m.ints(2).requires_grad_(), RuntimeError, "floating point"),
    "grad wanted by word": (lambda m: m.floats(2).requires_grad_("a"), TypeError, "bool"),
    "int of two": (lambda m: int(m.floats(2)), ValueError, "only one element"),
    "item of two": (lambda m: m.floats(2).item(), RuntimeError, "2 elements"),
    "bool of two": (lambda m: bool(m.floats(2)), RuntimeError, "ambiguous"),
    "a word within": (lambda m: "a" in m.floats(2), RuntimeError, "__contains__"),
    "plus a word": (lambda m: m.floats(2) + "a", TypeError, "unsupported operand"),
    "shapes apart": (lambda m: m.floats(2) + m.floats(3), RuntimeError, "size of tensor a"),
    "a cpu tensor by another device's index": (
        lambda m: torch.ones(3)[torch.zeros(1, dtype=torch.int64, device="meta")], RuntimeError,
        "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
    ),
    "dtypes apart in a product": (
        lambda m: m.floats(2, 2) @ m.floats(2, 2).half(), RuntimeError,
        "but got: float != c10::Half; cast one with .to(torch.float16)",
    ),
    "devices apart": (
        lambda m: m.floats(2) + torch.ones(2, device="meta"), RuntimeError, "same device",
    ),
    "minus of bools": (lambda m: -(m.floats(2) > 0), RuntimeError, "bool"),
    "in place from floats": (lambda m: m.ints(2).add_(1.5), RuntimeError, "can't be cast"),
    "write to expanded": (lambda m: m.floats(1).expand(3).add_(1), RuntimeError, "clone()"),
    "out of another dtype": (
        lambda m: torch.exp(m.floats(2), out=m.ints(2)), RuntimeError, "can't be cast",
    ),
    "dim out of range": (lambda m: m.floats(2, 3).sum(5), IndexError, "[-2, 1], but got 5"),
    "a dim twice": (lambda m: m.floats(2, 3).sum((0, -2)), RuntimeError, "multiple times"),
    "squeeze a dim twice": (lambda m: m.floats(1, 1).squeeze((0, 0)), RuntimeError, "multiple"),
    "max of nothing": (lambda m: m.floats(0).max(), RuntimeError, "numel() == 0"),
    "mean of ints": (lambda m: m.ints(3).mean(), RuntimeError, "floating point"),
    "softmax dim": (lambda m: F.softmax(m.floats(2), 2), IndexError, "got 2"),
    "too many of the top": (lambda m: m.floats(3).topk(4), RuntimeError, "k"),
    "inner sizes": (lambda m: m.floats(2, 3) @ m.floats(2, 3), RuntimeError, "(2x3 and 2x3)"),
    "two unknown sizes": (lambda m: m.floats(2, 3).view(-1, -1), RuntimeError, "inferred"),
    "view that copies": (lambda m: m.floats(2, 3).t().view(6), RuntimeError, "reshape"),
    "windows without width": (
        lambda m: F.unfold(m.floats(1, 1, 4, 4), 0),
        RuntimeError,
        "kernel size should be greater than zero",
    ),
    "windows that stand": (
        lambda m: F.unfold(m.floats(1, 1, 4, 4), 2, stride=0),
        RuntimeError,
        "stride should be greater than zero",
    ),
    "windows at one place": (
        lambda m: F.unfold(m.floats(1, 1, 4, 4), 2, dilation=0),
        RuntimeError,
        "dilation should be greater than zero",
    ),
    "a resized matrix": (
        lambda m: F.interpolate(m.floats(4, 4), scale_factor=2),
        NotImplementedError,
        "Only 3D, 4D and 5D input Tensors supported (got 2D)",
    ),
    "lanczos of points": (
        lambda m: F.interpolate(m.floats(1, 1, 4, 4), 2, mode="lanczos"),
        ValueError,
        "requires antialias=True",
    ),
    "int64 resized": (
        lambda m: F.interpolate(m.ints(1, 1, 4, 4), 2, mode="bilinear"),
        NotImplementedError,
        "\"upsample_bilinear2d_channels_last\" not implemented for 'Long'",
    ),
    "bytes resized in a row": (
        lambda m: F.interpolate(m.ints(1, 1, 4).byte(), 2, mode="linear"),
        NotImplementedError,
        "\"compute_indices_weights_linear\" not implemented for 'Byte'",
    ),
    "bags that fall": (
        lambda m: F.embedding_bag(m.ints(3), m.floats(4, 2), m.of([0, 2, 1])).tolist(),
        RuntimeError,
        "offsets must not decrease",
    ),
    "bags past the end": (
        lambda m: F.embedding_bag(m.ints(3), m.floats(4, 2), m.of([0, 7])).tolist(),
        RuntimeError,
        "can not be greater than input's length 3",
    ),
    "bags from the middle": (
        lambda m: F.embedding_bag(m.ints(3), m.floats(4, 2), m.of([1, 2])).tolist(),
        RuntimeError,
        "offsets[0] has to be 0",
    ),
    "no such row to leave out": (
        lambda m: F.embedding_bag(m.ints(2, 3), m.floats(4, 2), padding_idx=9),
        RuntimeError,
        "padding_idx must be within the number of embeddings, -4 through 3, but got 9",
    ),
    "a tangent too short": (
        lambda m: torch.func.jvp(torch.sin, (m.floats(3),), (m.floats(2),)),
        RuntimeError,
        "Tensor is of size [3] while the given forward gradient is of size [2]",
    ),
    "negative windows": (lambda m: m.floats(5).unfold(0, -1, 1), RuntimeError, "size is -1"),
    "beyond the storage": (
        lambda m: m.floats(5).as_strided((4,), (2,)), RuntimeError, "out of bounds",
    ),
    "split by word": (lambda m: m.floats(6).split("a"), TypeError, "not str"),
    "join nothing": (lambda m: torch.cat([]), (RuntimeError, ValueError), "non-empty"),
    "stack of unequal": (
        lambda m: torch.stack([m.floats(2), m.floats(3)]), RuntimeError, "equal size",
    ),
    "index": (lambda m: m.floats(3)[3], IndexError, "index 3 is out of bounds"),
    "indices": (lambda m: m.floats(3)[m.of([0, 3])].tolist(), IndexError, "index 3"),
    "written indices": (
        lambda m: m.floats(3).index_put_((m.of([-4]),), m.of(1.0)).tolist(), IndexError, "-4",
    ),
    "gathered": (lambda m: m.floats(3).gather(0, m.of([3])).tolist(), RuntimeError, "index 3"),
    "scattered": (lambda m: m.floats(3).scatter(0, m.of([3]), 1.0).tolist(), RuntimeError, "3"),
    "float indices": (lambda m: m.floats(3)[m.of([0.0])], IndexError, "must be long"),
    "a mask of another size": (lambda m: m.floats(3)[m.of([True])], IndexError, "mask"),
    "negative steps": (lambda m: m.floats(3)[::-1], ValueError, "step must be greater"),
    "embedding": (lambda m: F.embedding(m.of([3]), m.floats(3, 2)).tolist(), IndexError, "3"),
    "stride 0": (
        lambda m: F.conv2d(m.floats(1, 1, 4, 4), m.floats(1, 1, 3, 3), stride=0),
        RuntimeError, "non-positive stride",
    ),
    "kernel of nothing": (
        lambda m: F.conv2d(m.floats(1, 1, 4, 4), m.floats(1, 1, 0, 0)), RuntimeError, "kernel size",
    ),
    "stride by word": (
        lambda m: F.conv1d(m.floats(1, 1, 4), m.floats(1, 1, 3), stride="a"), TypeError, "stride",
    ),
    "kernel beyond input": (
        lambda m: F.conv1d(m.floats(1, 1, 4), m.floats(1, 1, 5)), RuntimeError, "size",
    ),
    "padding of a pool": (
        lambda m: F.max_pool2d(m.floats(1, 1, 4, 4), 2, padding=2), RuntimeError, "half",
    ),
    "a class too many": (
        lambda m: F.cross_entropy(m.floats(2, 3), m.of([0, 3])).item(),
        (IndexError, RuntimeError), "3",
    ),
    "label smoothing": (
        lambda m: F.cross_entropy(m.floats(2, 3), m.of([0, 1]), label_smoothing=1.5),
        RuntimeError, "label_smoothing",
    ),
    "dropout of more than all": (lambda m: F.dropout(m.floats(2), 1.5), ValueError, "1.5"),
    "layer norm of ints": (lambda m: F.layer_norm(m.ints(2, 3), (3,)), NotImplementedError, "Long"),
    "batch norm's eps": (
        lambda m: F.batch_norm(m.floats(2, 3), m.floats(3), m.floats(3), eps=-1), ValueError, "eps",
    ),
    "negative deviation": (lambda m: m.floats(2).normal_(0, -1), RuntimeError, "std"),
    "empty range": (lambda m: torch.randint(5, 5, (2,), device=m.device), RuntimeError, "from"),
    "no grad to find": (lambda m: m.floats(2).sum().backward(), RuntimeError, "does not require"),
    "grad of many": (
        lambda m: m.floats(2, requires_grad=True).backward(), RuntimeError, "scalar outputs",
    ),
    "grad for nobody": (
        lambda m: torch.autograd.grad(m.floats(2, requires_grad=True).sum(), []),
        RuntimeError, "cannot be empty",
    ),
    "learning rate": (
        lambda m: optim.SGD([m.floats(2, requires_grad=True)], lr=-1), ValueError, "learning rate",
    ),
    "one beta": (
        lambda m: optim.Adam([m.floats(2, requires_grad=True)], betas=(0.9,)), ValueError, "betas",
    ),
}  # fmt: skip


def structured_checks() -> bool:
    """Whether kernels' complaints are raised at once anyway."""
    return bool(steps.CHECK)


IN_DATA = {  # what is wrong with the numbers themselves; a GPU says so at the next sync
    "chance above 1": (lambda m: torch.bernoulli(m.of([0.5, 2.0])), "bernoulli: Expected p_in"),
    "no chance at all": (lambda m: torch.bernoulli(m.of([NAN])), "bernoulli: Expected p_in >= 0"),
    "chance below 0": (
        lambda m: m.floats(2).bernoulli_(m.of([-0.5, 1.0])), "bernoulli: Expected p_in >= 0",
    ),
    "weight below 0": (lambda m: torch.multinomial(m.of([-1.0, 2.0]), 1), "element < 0"),
    "endless weight": (lambda m: torch.multinomial(m.of([INF, 2.0]), 1, True), "either `inf`"),
    "no weight": (
        lambda m: torch.multinomial(m.of([[0.0, 0.0], [1.0, 0.0]]), 1),
        "multinomial: invalid multinomial distribution (sum of probabilities <= 0)",
    ),
    "deviations": (
        lambda m: torch.normal(m.floats(2), m.of([1.0, -1.0])),
        "normal expects all elements of std >= 0.0",
    ),
    "no deviation": (lambda m: torch.normal(0.0, m.of([NAN])), "all elements of std >= 0.0"),
    "no probability": (
        lambda m: F.binary_cross_entropy(m.of([1.5]), m.of([1.0])),
        "binary_cross_entropy: all elements of input should be between 0 and 1",
    ),
    "no target": (
        lambda m: F.binary_cross_entropy(m.of([0.5]), m.of([-1.0])),
        "all elements of target should be between 0 and 1",
    ),
    "negative class": (lambda m: F.one_hot(m.of([0, -1]), 3), "one_hot: Class values must be non"),
    "class too large": (lambda m: F.one_hot(m.of([0, 3]), 3), "must be smaller than num_classes"),
    "negative rate": (lambda m: torch.poisson(m.of([3.0, -1.0])), "invalid Poisson rate"),
    "no rate": (lambda m: torch.poisson(m.of([NAN])), "invalid Poisson rate"),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_DATA)
def test_wrong_values_raise_the_same_on_both_devices(name, make):
    call, text = IN_DATA[name]
    if make.device == "cpu" or structured_checks():
        with pytest.raises(RuntimeError) as caught:
            call(make)
    else:
        result = call(make)  # nobody waits for the GPU here
        with pytest.raises(RuntimeError) as caught:
            result.sum().item()
    assert text in str(caught.value)
    assert is_well(make)


def test_other_exceptions_arrive_too(make):
    with pytest.raises(ValueError, match="var has negative entry/entries"):
        F.gaussian_nll_loss(make.floats(2), make.floats(2), make.of([1.0, -1.0])).item()
    assert is_well(make)


@pytest.mark.parametrize("name", ["no probability", "negative rate"])
def test_wrong_values_raise_at_once_if_asked(name, monkeypatch):
    if not torch.is_webgpu_available():
        pytest.skip("no adapter")
    monkeypatch.setattr(steps, "CHECK", 1)
    call, text = IN_DATA[name]
    with pytest.raises(RuntimeError, match=text):
        call(Maker("webgpu"))


def test_right_values_raise_nothing(make):
    assert torch.bernoulli(make.of([0.0, 1.0])).tolist() == [0, 1]
    assert torch.multinomial(make.of([[0.0, 3.0], [1.0, 0.0]]), 1).tolist() == [[1], [0]]
    assert torch.normal(make.of([3.0]), make.of([0.0])).tolist() == [3]
    assert F.one_hot(make.of([2]), 3).tolist() == [[0, 0, 1]]
    assert torch.bernoulli(make.floats(0)).tolist() == []


@pytest.mark.parametrize("name", CASES)
def test_bad_input_gets_its_exception_and_the_next_op_works(name, make):
    call, exception, text = CASES[name]
    with pytest.raises(exception) as caught:
        call(make)
    assert text in str(caught.value)
    assert is_well(make)


@pytest.mark.parametrize("fold", ["sum", "max", "argmax", "std"])
def test_more_elements_than_a_kernel_counts_are_refused_not_folded_wrong(fold):
    if not torch.is_webgpu_available():
        pytest.skip("no adapter")
    many = torch.ones(1, device="webgpu").expand(2**33)
    with pytest.raises(RuntimeError, match=r"less than 2\*\*32"):
        getattr(many, fold)()
    assert is_well(Maker("webgpu"))


def test_threads_take_turns(make):
    wrong = []

    def work(k: int) -> None:
        for i in range(20):
            x = make.floats(50, requires_grad=True)
            y = (x * k + i).sum()
            y.backward()
            if y.item() != 50 * (k + i) or x.grad.tolist() != [k] * 50:
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert not wrong


def test_pools_of_nothing_are_empty(make):
    assert F.adaptive_avg_pool2d(make.floats(1, 1, 4, 4), 0).shape == (1, 1, 0, 0)
