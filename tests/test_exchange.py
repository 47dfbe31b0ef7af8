"""Tensors beside numpy, as storages, as other dtypes, as text, and in older programs' words."""

from __future__ import annotations

import asyncio
import pickle

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.config import CHECK, MAX_FUSED

ARRAY = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


@pytest.mark.parametrize(
    "call", [lambda x, a: a + x, lambda x, a: a - x, lambda x, a: a @ x, lambda x, a: x @ a,
             lambda x, a: a**x, lambda x, a: x / a, lambda x, a: a // x, lambda x, a: a % x]
)  # fmt: skip
def test_arithmetic_with_arrays_makes_tensors(call):
    x = torch.tensor(ARRAY)
    result = call(x, ARRAY + 1)
    assert type(result) is torch.Tensor and result.dtype is torch.float32
    np.testing.assert_array_equal(result.numpy(), call(ARRAY, ARRAY + 1))


def test_comparisons_and_bits_with_arrays():
    x, a = torch.tensor([1, 2, 3]), np.array([3, 2, 1])
    assert (x < a).tolist() == (a > x).tolist() == [True, False, False]
    assert (a != x).tolist() == [True, False, True] and (x >= a).dtype is torch.bool
    assert (a & x).tolist() == [1, 2, 1] and (a << x).tolist() == [6, 8, 8]


def test_numpy_functions_of_tensors_are_tensors():
    x = torch.tensor(ARRAY)
    assert type(np.sin(x)) is torch.Tensor
    np.testing.assert_array_equal(np.hypot(x, ARRAY).numpy(), np.hypot(ARRAY, ARRAY))
    assert np.isnan(torch.tensor([1.0, np.nan])).tolist() == [False, True]
    result = np.sqrt(x)
    result[0, 0] = 7  # memory of its own
    assert x[0, 0] == 1


def test_numpy_cannot_see_a_gpu(webgpu):
    x = torch.ones(2, device=webgpu)
    for call in (lambda: np.sin(x), lambda: np.ones(2) + x, lambda: x == np.ones(2)):
        with pytest.raises(TypeError, match=r"Use Tensor.cpu\(\) to copy the tensor to host"):
            call()


def test_functions_say_how_to_make_a_tensor(device):
    x = torch.ones(2, device=device)
    with pytest.raises(TypeError, match=r"not ndarray; torch.from_numpy\(x\) makes a tensor of it"):
        torch.add(x, np.ones(2))
    with pytest.raises(TypeError, match=r"not list; torch.tensor\(x\) makes a tensor of it"):
        torch.sin([1.0])


# Storages


def test_a_storage_is_what_its_views_share(device):
    x = torch.arange(6.0, device=device).reshape(2, 3)
    storage = x[1].storage()
    assert storage.size() == len(storage) == 6 and storage.nbytes() == storage.byteLength == 24
    assert storage.tolist() == list(storage) == [0, 1, 2, 3, 4, 5]
    storage[1] = 50
    storage[4:] = -1
    assert x.tolist() == [[0, 50, 2], [3, -1, -1]]
    assert storage.dtype is torch.float32 and storage.device == torch.device(device)
    assert storage.data_ptr() == x.data_ptr() == x.untyped_storage().data_ptr()
    copy = storage.clone().fill_(1)
    assert copy.tolist() == [1] * 6 and x[0, 0] == 0
    assert storage.cpu().device.type == "cpu"
    assert storage.untyped()[8:12] if False else storage.untyped()[11] == 64
    assert torch.is_storage(storage) and not torch.is_storage(x)


# Other dtypes on the same memory


def test_a_view_as_another_dtype_shares_memory(device):
    x = torch.zeros(4, device=device)
    bits = x.view(torch.int32)
    bits[1] = 0x3F800000
    assert x.tolist() == [0, 1, 0, 0]
    x[2] = -2.0
    assert bits.tolist() == [0, 0x3F800000, -0x40000000, 0]
    halves = x.view(torch.int16)
    assert halves.shape == (8,) and halves[3] == 0x3F80
    assert x._version == bits._version == 2
    wide = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]], dtype=torch.int32, device=device)
    assert wide[1].view(torch.int64).tolist() == [5 + (6 << 32), 7 + (8 << 32)]
    assert (x.detach() + 1).view(torch.uint8).shape == (16,)


def test_bytes_of_every_dtype(device):
    raw = np.random.default_rng(3).integers(0, 100, (2, 16)).astype(np.uint8)
    for dtype in (torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32):
        x = torch.tensor(raw, device=device).view(dtype)
        np.testing.assert_array_equal(x.cpu().numpy(), raw.view(dtype.np))
        assert x.clone().view(torch.uint8).tolist() == raw.tolist()


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.int64], ids=str)
def test_bytes_of_each_sample(dtype, device):
    x = torch.arange(12.0, device=device).reshape(3, 4)
    each = torch.vmap(lambda row: row[2:].view(dtype) * 1)(x)
    want = torch.stack([row[2:].view(dtype) for row in x])
    assert each.dtype is dtype and (each == want).all()


# Text


def test_formats():
    assert f"{torch.tensor([1.5])}" == "tensor([1.5000])"
    assert f"{torch.tensor(1.5):.3f}" == "1.500" and f"{torch.tensor(2)}" == "2"
    parameter = torch.nn.Parameter(torch.tensor(1.0))
    assert f"{parameter}".startswith("Parameter containing:")
    with pytest.raises(TypeError, match=r"unsupported format string passed to Tensor.__format__"):
        f"{torch.ones(2):.2f}"


def test_type_names(webgpu):
    x = torch.ones(2, device=webgpu)
    assert x.type() == "torch.webgpu.FloatTensor"
    assert x.type("torch.webgpu.HalfTensor").dtype is torch.float16
    assert x.type("int64").device == x.device
    assert not isinstance(x, torch.FloatTensor)


def test_explain(device):
    x = torch.ones(3, device=device) + 1
    if device == "webgpu":
        assert "@compute" in x.explain() or MAX_FUSED == 1 or CHECK
        x.tolist()
        assert "computed already" in x.explain() and ".explain()" in x.explain()
    else:
        assert "nothing to explain" in x.explain()


def test_results_with_names(device):
    x = torch.tensor([[3.0, 1.0], [2.0, 4.0]], device=device)
    best = x.max(0)
    place = "" if device == "cpu" else ", device='webgpu:0'"
    assert repr(best) == (
        f"torch.return_types.max(\nvalues=tensor([3., 4.]{place}),\nindices=tensor([0, 1]{place}))"
    )
    assert isinstance(best, torch.return_types.max) and isinstance(best, tuple)
    assert isinstance(x.topk(1), torch.return_types.topk)
    assert isinstance(x.cummax(0), torch.return_types.cummax)
    again = pickle.loads(pickle.dumps(x.sort()))
    assert type(again) is torch.return_types.sort and again.values.tolist() == [[1, 3], [2, 4]]


# Older words


def test_tensor_as_a_constructor():
    assert torch.Tensor(2, 3).shape == (2, 3) and torch.Tensor(2, 3).dtype is torch.float32
    x = torch.tensor([1.0, 2.0])
    assert torch.Tensor(x).data_ptr() == x.data_ptr()
    with pytest.raises(TypeError, match="sizes must be ints"):
        torch.Tensor([1], 2)

    with pytest.raises(TypeError, match=r"expected torch.LongTensor \(got torch.FloatTensor\)"):
        torch.LongTensor(x)
    with pytest.raises(TypeError, match="argument 'size' .* must be tuple of ints, not str"):
        x.view("int32")
    with pytest.raises(TypeError, match=r"zeros\(\): argument 'out' must be Tensor, not int"):
        torch.zeros(2, out=3)

    class Mine(torch.Tensor):
        pass

    assert type(Mine(2, 2)) is Mine and Mine([1, 2]).tolist() == [1, 2]


def test_another_size_in_place(device):
    x = torch.arange(4.0, device=device)
    view, version = x[1:], x._version
    assert x.resize_(2, 3) is x
    assert x.tolist() == [[0, 1, 2], [3, 0, 0]] and x._version > version
    x[0, 1] = 9
    assert view.tolist() == [9, 2, 3]  # still the same memory
    assert x.resize_(0).tolist() == [] and x.resize_(4).tolist() == [0, 9, 2, 3]
    y = torch.zeros(1, device=device).set_(x)
    y[0] = 5
    assert x[0] == 5
    with pytest.raises(RuntimeError, match="Could not set tensor of type int64 to a tensor of"):
        y.set_(torch.ones(2, dtype=torch.int64, device=device))


@pytest.mark.parametrize("shape, wrap", [((7, 2), True), ((4, 3), True), ((2, 5), False)])
def test_fill_diagonal_writes_where_numpy_does(device, shape, wrap):
    x = torch.ones(shape, device=device, requires_grad=True)
    y = x * 2
    assert y.fill_diagonal_(9, wrap=wrap) is y
    y.sum().backward()
    wanted = np.full(shape, 2.0, "f4")
    np.fill_diagonal(wanted, 9, wrap=wrap)
    np.testing.assert_array_equal(y.detach().cpu(), wanted)
    np.testing.assert_array_equal(x.grad.cpu(), np.where(wanted == 9, 0, 2))
    across = torch.ones(shape[::-1], device=device).t().fill_diagonal_(9, wrap=wrap)
    np.testing.assert_array_equal(across.cpu() == 9, wanted == 9)
    cube = torch.zeros(2, 2, 2, device=device).fill_diagonal_(1)
    assert cube.nonzero().tolist() == [[0, 0, 0], [1, 1, 1]]
    for wrong, text in (((3,), "larger than 1"), ((2, 2, 3), "must be of equal length")):
        with pytest.raises(RuntimeError, match=text):
            torch.ones(wrong, device=device).fill_diagonal_(0)


def test_views_in_place_pass_gradients(device):
    w = torch.arange(6.0, device=device).reshape(2, 3).requires_grad_()
    y = w * 2
    assert y.t_().unsqueeze_(0).shape == (1, 3, 2)
    (y * torch.tensor([[1.0, 10.0]], device=device)).sum().backward()
    assert w.grad.tolist() == [[2, 2, 2], [20, 20, 20]]
    x = torch.zeros(2, 3, device=device)
    rows = x[1]
    x.transpose_(0, 1)[2, 1] = 7
    assert rows.tolist() == [0, 0, 7] and x.shape == (3, 2)


def test_the_accelerator_is_the_gpu(webgpu):
    place = torch.accelerator.current_accelerator()
    assert place == torch.device("webgpu") and torch.accelerator.is_available()
    assert torch.accelerator.device_count() >= 1
    x = torch.ones(5, device=place)[torch.tensor([9], device=place)]
    with pytest.raises(IndexError):
        torch.accelerator.synchronize()
    assert torch.accelerator.memory_allocated() >= x.nbytes
    assert torch.compile(len) is len and torch.compile(mode="max")(len) is len
    with pytest.raises(TypeError, match="unexpected keyword argument 'modee'"):
        torch.compile(len, modee="max")


def test_tensors_on_a_gpu_are_close(webgpu):
    x = torch.ones(2, 2, device=webgpu)
    torch.testing.assert_close(x, x + 1e-7)
    with pytest.raises(AssertionError, match="attribute 'device' do not match: webgpu:0 != cpu"):
        torch.testing.assert_close(x, x.cpu())
    torch.testing.assert_close(x, x.cpu(), check_device=False)
    with pytest.raises(AssertionError, match=r"difference: 1.0 at index \(1, 0\)"):
        torch.testing.assert_close(x, torch.tensor([[1.0, 1], [2, 1]], device=webgpu))
    with pytest.raises(AssertionError, match="0.0078125 at index"):
        torch.testing.assert_close(x.bfloat16(), x.bfloat16() + 2.0**-7, rtol=0, atol=1e-4)
    with pytest.raises(TypeError, match="No comparison pair was able to handle"):
        torch.testing.assert_close(x, 1.0)


def test_functions_of_python_need_the_cpu(webgpu):
    with pytest.raises(TypeError, match="apply_ is only implemented on CPU tensors"):
        torch.ones(2, device=webgpu).apply_(abs)


def test_out_takes_another_size(device):
    out = torch.ones(2, dtype=torch.int64, device=device)
    assert torch.zeros(2, 3, out=out) is out
    assert out.shape == (2, 3) and out.dtype is torch.int64 and (out == 0).all()
    with pytest.raises(RuntimeError, match="does not match device of out parameter"):
        torch.ones(2, out=out, device="meta")


RESIZED = "An output with one or more elements was resized since it had shape"


def test_out_of_another_size_leaves_what_shares_its_memory(device):
    x = torch.arange(6.0, device=device)
    with pytest.warns(UserWarning, match=RESIZED):
        torch.exp(torch.zeros(3, device=device), out=x[1:3])
    assert x.tolist() == [0, 1, 1, 1, 4, 5]
    square = x.view(2, 3)
    with pytest.warns(UserWarning, match=RESIZED):
        assert torch.cat([x[4:5].clone(), x[5:].clone()], out=x).tolist() == [4, 5]
    assert square.tolist() == [[4, 5, 1], [1, 4, 5]]
    base = torch.zeros(3, device=device)
    with pytest.warns(UserWarning, match=RESIZED):
        longer = torch.add(torch.zeros(4, device=device), 7, out=base[2:])
    assert base.tolist() == [0, 0, 7] and longer.tolist() == [7] * 4
    line = square.view(6)
    assert (line[4:4].storage_offset(), square[:, 2:2].storage_offset()) == (4, 2)
    assert torch.add(torch.zeros(2, device=device), 9, out=line[2:2]).tolist() == [9, 9]
    assert square.tolist() == [[4, 5, 9], [9, 4, 5]]
    empty = torch.empty(0, device=device)
    assert torch.softmax(torch.zeros(2, device=device), 0, out=empty).tolist() == [0.5, 0.5]


def test_memory_of_numpy_is_written_by_out_and_never_left():
    array = np.zeros(4, np.float32)
    tensor = torch.from_numpy(array)
    with (
        pytest.warns(UserWarning, match=RESIZED),
        pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"),
    ):
        torch.exp(torch.zeros(6), out=tensor)
    with pytest.warns(UserWarning, match=RESIZED):
        torch.exp(torch.zeros(2), out=tensor)
    assert tensor.shape == (2,) and array.tolist() == [1, 1, 0, 0]


def test_cuda_is_not_there_and_says_what_is():
    assert not torch.cuda.is_available() and torch.cuda.device_count() == 0
    with pytest.raises(AttributeError, match=r"use torch\.webgpu\.synchronize"):
        torch.cuda.synchronize()
    assert not hasattr(torch.cuda, "Stream")
    torch.cuda.manual_seed_all(5)
    first = torch.rand(2)
    torch.manual_seed(5)
    assert (torch.rand(2) == first).all()


def test_switches_keep_what_they_are_set_to(monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    assert torch.backends.cudnn.benchmark and not torch.backends.cudnn.is_available()
    assert not torch.backends.mps.is_built()


# Shapes, and waiting


def test_shapes():
    assert torch.can_broadcast_to((3, 1), (2, 3, 4)) and torch.can_broadcast_to((), (2,))
    assert not torch.can_broadcast_to((2, 3, 4), (3, 4)) and not torch.can_broadcast_to((2,), (3,))
    assert torch.needs_broadcast((2, 1), (2, 3)) and not torch.needs_broadcast((2,), (2,))
    with pytest.raises(RuntimeError, match="size of tensor a"):
        torch.needs_broadcast((2,), (3,))


def test_awaited(device):
    x = torch.tensor([1.0, -2.0, 3.0], device=device)
    assert asyncio.run(torch.masked_select_async(x, x > 0)).tolist() == [1, 3]
    only = torch.tensor([0.0, 1.0], device=device)
    assert asyncio.run(torch.multinomial_async(only, 3, True)).tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="element < 0"):
        asyncio.run(torch.multinomial_async(x, 1))


def test_functions_that_are_methods(device):
    x = torch.arange(6.0, device=device).reshape(2, 3).t()
    assert torch.contiguous(x).is_contiguous() and torch.contiguous(x).tolist() == x.tolist()
    narrow = torch.narrow_copy(x, 0, 1, 2)
    narrow.zero_()
    assert x.tolist() == [[0, 3], [1, 4], [2, 5]] and narrow.shape == (2, 2)
    assert torch.expand_as(x[:, :1], x).shape == (3, 2)
    assert torch.numel(x) == 6 and torch.sym_int(x[2, 1]) == 5
    with pytest.raises(TypeError, match="clone\\(\\): argument 'input'"):
        torch.clone(3)
