"""The names that programs use in passing, evaluated here and in torch: results, text and errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch as pytorch

import wgtorch

SAME = r"""
f"{torch.tensor(3.)}"
f"{torch.tensor(3)}"
f"{torch.tensor(3.):.2f}"
f"{x}"
f"{x:.2f}"
"%s" % x
x.type()
x.type(torch.float16).type()
x.type("torch.HalfTensor")
x.type(torch.LongTensor)
x.type(3)
x.type(dtype=torch.int64)
x.type("torch.NoTensor")
m.max(0)
m.sort()
m.topk(1)
torch.aminmax(x)
m.kthvalue(1)
m.mode()
m.cummax(0)
isinstance(m.max(0), torch.return_types.max)
isinstance(m.sort(), torch.return_types.sort)
m.min(0) == m.min(0)
torch.return_types.nothing
torch.finfo(torch.float32)
torch.finfo(torch.float16)
torch.finfo(torch.bfloat16)
torch.finfo(torch.float64)
torch.finfo()
torch.finfo(torch.complex64)
torch.finfo(torch.float16).max
torch.finfo(torch.float32).eps
torch.finfo(torch.float32).tiny
torch.finfo(torch.float64).bits
torch.finfo(torch.int32)
torch.iinfo(torch.int8)
torch.iinfo(torch.int64)
torch.iinfo(torch.uint8).min
torch.iinfo(torch.int16).bits
torch.iinfo(torch.float32)
torch.iinfo(torch.bool)
torch.broadcast_shapes((2, 1), (3,))
torch.broadcast_shapes((5, 1, 1), 4, (3, 1))
torch.broadcast_shapes((2, 1), (3,), 4)
torch.broadcast_shapes((2,), (3,))
torch.broadcast_shapes((-1,))
torch.broadcast_shapes()
torch.broadcast_shapes((0,), (1,))
torch.broadcast_tensors(torch.zeros(2, 1), torch.zeros(3))
torch.numel(m)
torch.numel(input=m)
torch.numel(3)
torch.is_storage(x.untyped_storage())
torch.is_storage(x)
torch.is_complex(x)
torch.is_complex(3)
torch.is_floating_point(torch.ones(2, dtype=torch.int8))
torch.is_signed(torch.ones(2, dtype=torch.uint8))
torch.is_nonzero(torch.tensor(3.))
torch.is_nonzero(torch.tensor([0]))
torch.is_nonzero(x)
torch.is_same_size(x, x)
torch.is_tensor(3)
torch.clone(x)
torch.detach(x)
torch.positive(x) is x
torch.narrow_copy(m, 1, 0, 1)
torch.sym_int(2.7)
torch.sym_int(-2.7)
torch.sym_float(3)
torch.sym_not(0)
torch.typename(x)
torch.typename(3)
torch.result_type(torch.tensor([1, 2]), 1.0)
torch.result_type(1, 1.0)
torch.can_cast(torch.float32, torch.int64)
torch.promote_types(torch.int8, torch.uint8)
torch.get_default_dtype()
torch.set_default_tensor_type("torch.IntTensor")
torch.Tensor(2, 3).shape
torch.Tensor().shape
torch.Tensor([1, 2])
torch.Tensor(5).shape
torch.Tensor((2, 3))
torch.Tensor(torch.tensor([1, 2]))
torch.Tensor(torch.Size([2, 3])).shape
torch.Tensor(np.arange(3))
torch.Tensor([[1, 2], [3, 4]])
torch.Tensor("a")
torch.Tensor(True)
torch.Tensor({})
x.view(float)
torch.Tensor(2.5)
torch.LongTensor([1, 2])
torch.LongTensor([1.7])
torch.LongTensor(2).dtype
torch.BoolTensor([0, 1])
torch.ByteTensor([300])
isinstance(x, torch.FloatTensor)
isinstance(x, torch.LongTensor)
isinstance(x, torch.Tensor)
torch.FloatTensor.dtype
torch.FloatTensor
x.new(2, 3).shape
x.new([1, 2])
torch.zeros(2, out=torch.ones(2))
torch.ones(2, out=torch.zeros(2, dtype=torch.int64))
torch.arange(3, out=torch.ones(3))
torch.full((2,), 3, out=torch.ones(2))
torch.zeros(2, out=torch.ones(2), dtype=torch.int32)
torch.eye(2, out=torch.ones(2, 2, dtype=torch.int64))
torch.linspace(0, 1, 3, out=torch.zeros(3, dtype=torch.float64))
torch.logspace(0, 1, 3, out=torch.zeros(3))
x.storage()
x.untyped_storage()
x.storage()[0]
x.storage().nbytes()
len(x.storage()), len(x.untyped_storage())
x.storage().dtype
m[1].storage().tolist()
x.untyped_storage().tolist()
x.untyped_storage()[3]
x.view(torch.int32)
x.view(torch.int16)
x.view(torch.float64)
x.view(dtype=torch.uint8)
torch.ones(3).view(torch.float64)
torch.ones(2, 4).t().view(torch.int16)
torch.tensor(1.).view(torch.int16)
torch.tensor(1.).view(torch.int32)
torch.ones(2, requires_grad=True).view(torch.int32).requires_grad
torch.ones(4)[1:].view(torch.float64)
torch.ones(4)[1:3].view(torch.float64)
torch.ones(4)[::2].view(torch.int16)
torch.ones(2, 3)[:, :2].view(torch.float64)
y.resize_(2)
y.resize_(2, 2)
y.resize_((3, 3)).shape
y.resize_(3, 3)[0]
y[1:].resize_(2)
y.resize_as_(torch.ones(2, 2))
torch.ones(9, 3).fill_diagonal_(5, wrap=True)
torch.ones(10, 1).fill_diagonal_(5, True)
torch.ones(9, 3).fill_diagonal_(5)
torch.ones(3, 3, 3).fill_diagonal_(5)
torch.ones(2, 4).fill_diagonal_(5, True)
torch.ones(2).fill_diagonal_(5)
torch.ones(2, 2, 3).fill_diagonal_(5)
torch.ones(2, 2, requires_grad=True).fill_diagonal_(5)
y.resize_("a")
torch.ones(2, requires_grad=True).resize_(3)
torch.from_numpy(np.ones(3)).resize_(5)
y.apply_(lambda v: v * 2)
torch.tensor([1, 2]).apply_(lambda v: v / 2)
torch.ones(2, requires_grad=True).apply_(abs)
y.apply_(3)
y.map_(torch.ones(1), lambda a, b: a - b)
y.map_(torch.ones(3), lambda a, b: a)
torch.zeros(2).set_(y)
torch.zeros(2).set_(y.storage(), 1, (2,), (2,))
torch.zeros(2).set_(y.untyped_storage())
torch.zeros(1).set_()
x.is_same_size(y)
m.t_(), m._version
m.transpose_(0, 1).transpose_(1, 0)
y.unsqueeze_(0).squeeze_()
y.unsqueeze_(1).swapaxes_(0, 1).swapdims_(1, 0)
y.as_strided_((2,), (2,))
torch.ones(2, 3, requires_grad=True).t_()
(torch.ones(2, 3, requires_grad=True) * 2).t_().shape
list(reversed(y))
torch.empty_strided((2, 3), (1, 2)).stride()
torch.zero_(torch.ones(2)), torch.fill_(torch.ones(2), 3)
torch.get_device(x)
torch.compile(len) is len or callable(torch.compile(len))
torch.testing.assert_close(x, x * 2)
torch.testing.assert_close(torch.tensor([1, 2]), torch.tensor([1, 3]))
torch.testing.assert_close(x, y)
torch.testing.assert_close(x, x.double())
torch.testing.assert_close(x, x.double(), check_dtype=False)
torch.testing.assert_close(torch.tensor(1.0), torch.tensor(2.0))
torch.testing.assert_close(1.0, 2.0)
torch.testing.assert_close(1, 2)
torch.testing.assert_close(1, 1.0)
torch.testing.assert_close([x[0], x[1]], [x[0], x[0]])
torch.testing.assert_close({"a": x}, {"a": x + 1})
torch.testing.assert_close((1, [2, {"k": 3}]), (1, [2, {"k": 4}]))
torch.testing.assert_close([1], [1, 2])
torch.testing.assert_close({"a": 1}, {"b": 1})
torch.testing.assert_close(torch.tensor(torch.nan), torch.tensor(torch.nan))
torch.testing.assert_close(torch.tensor(torch.nan), torch.tensor(torch.nan), equal_nan=True)
torch.testing.assert_close(x, x + 0.1, rtol=0.2, atol=0)
torch.testing.assert_close(x, x + 0.1, rtol=0.2)
torch.testing.assert_close(x, x + 0.1, msg="hello")
torch.testing.assert_close(x, x + 1, msg=lambda text: text.upper())
torch.testing.assert_close(x > 1, x > 2)
torch.testing.assert_close("a", "b")
torch.testing.assert_close(x * 0, x)
torch.testing.assert_close(x, x * 0)
torch.testing.assert_close(x / 0, x / 0)
torch.testing.assert_close(torch.tensor([1.0, torch.inf]), torch.tensor([2.0, torch.inf]))
torch.testing.assert_close(x.half(), x.half() * 1.01)
torch.testing.assert_close(m.t(), m.t().contiguous(), check_stride=True)
torch.testing.assert_close(a, a * 2)
torch.testing.assert_close(torch.tensor([1 + 1j]), torch.tensor([1 + 2j]))
torch.testing.assert_close(torch.ByteTensor([3, 2]), torch.ByteTensor([1, 5]))
torch.testing.assert_close(m, m + torch.tensor([0.0, 1e-6]))
torch.testing.assert_close(None, None)
x.is_sparse, x.is_quantized, x.is_nested
torch.cuda.is_available()
torch.cuda.device_count()
torch.cuda.memory_allocated()
torch.cuda.empty_cache()
torch.version.cuda
torch.backends.cudnn.benchmark
torch.backends.cudnn.is_available()
torch.backends.cuda.is_built()
torch.backends.mps.is_available()
torch.compiled_with_cxx11_abi()
torch.are_deterministic_algorithms_enabled()
torch.get_deterministic_debug_mode()
torch.set_deterministic_debug_mode(7)
torch.set_deterministic_debug_mode("x")
torch.set_deterministic_debug_mode(1.5)
torch.get_float32_matmul_precision()
torch.set_num_threads(0)
torch.set_num_threads(1.5)
torch.is_warn_always_enabled()
torch.set_warn_always("x")
torch.is_autocast_enabled()
torch.get_autocast_cpu_dtype()
torch.get_autocast_gpu_dtype()
torch.get_autocast_ipu_dtype()
torch.get_autocast_xla_dtype()
torch.get_autocast_dtype("cpu")
torch.is_autocast_cache_enabled()
torch.is_autocast_cpu_enabled()
torch.is_autocast_ipu_enabled()
torch.is_autocast_xla_enabled()
torch.autocast_increment_nesting(), torch.autocast_increment_nesting()
torch.autocast_decrement_nesting(), torch.autocast_decrement_nesting()
torch.clear_autocast_cache()
torch.inf, torch.pi, torch.e, torch.newaxis
torch.channels_last
x[torch.newaxis].shape
x + a
a / x
a == x
x == a
x @ a
np.sin(x)
np.add(a, x)
np.exp(torch.tensor([1, 2]))
np.modf(x)
np.matmul(x, a)
np.float64(3) + x
np.int64(3) * torch.tensor([1, 2])
np.where(x > 1, x, 0)
np.concatenate([x, x])
np.linalg.norm(x)
np.sin(torch.ones(2, requires_grad=True))
x[a > 1]
a[x > 1]
torch.tensor([1, 2]) + a
"""
EXPRESSIONS = SAME.strip().splitlines()


def told(expression: str, library) -> tuple[type | None, str]:
    """(the exception's type, what is said of it or of the result)."""
    names = {
        "torch": library, "np": np, "x": library.tensor([1.0, 2.0]), "a": np.array([1.0, 2.0]),
        "y": library.tensor([1.0, 2.0, 3.0, 4.0]), "m": library.tensor([[1.0, 2.0], [3.0, 4.0]]),
    }  # fmt: skip
    try:
        return None, repr(eval(expression, names))
    except Exception as error:
        text = str(error)
        return type(error), text if isinstance(error, AssertionError) else text.split("\n")[0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_same_is_said(expression):
    want, text = told(expression, pytorch)
    kind, said = told(expression, wgtorch)
    assert said.replace("wgtorch.", "torch.") == text
    assert (kind is None) == (want is None)
    assert kind is None or issubclass(kind, want)
