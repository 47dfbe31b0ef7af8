"""Corners of many calls: their values, dtypes and shapes or complaints, beside torch 2.13."""

from __future__ import annotations

import numpy as np
import pytest
import torch as pytorch

import wgtorch

# x is (2, 3), i counts to 5; `t(...)` makes tensors and `p(tensor, index, value)` puts.
CORNERS = """
i[[np.array([1, 0, 2])]] ; i[:3][[np.array([True, False, True])]]
x[[np.array([1, 0]), np.array([1, 2])]] ; x[[np.array(1), np.array(0)]] ; x[[range(2)]]
p(x * 1, [np.array([1, 0]), np.array([1, 2])], 5.0)
x[np.array([])] ; x[np.zeros((0, 2))] ; p(x * 1, np.array([]), 1.0) ; x[[1.5]] ; x[np.array([1.5])]
x[np.array([1], np.int8)] ; x[np.array([1], np.uint64)] ; x[[np.uint8(1)]] ; x[[float('nan')]]
x[2**63] ; x[-2**63 - 1] ; p(x, 2**63, 1) ; x[0, 2**63] ; x[[2**63]] ; i[[[0, slice(None)]]]
x[([0, None],)] ; x[[object()]] ; x[[b'a']] ; x[([[0], [1, 2]],)] ; x[([t(1.5), t(0)],)]
p(x > 1, ..., 1j) ; (x > 1).new_full((2,), 1j) ; t(1j, dtype=torch.bool) ; (x > 1).fill_(0j)
p(x, 0, 1j) ; t(1j, dtype=torch.float32)

F.kl_div(x[:1], x + 1, reduction='batchmean') ; F.kl_div(t(0.3), x + 1, reduction='batchmean')
torch.orgqr(x[:, :2], x[:, :2]) ; torch.orgqr(x[None, :, :2], x[:, :2]) ; torch.orgqr(x, x[0])
torch.orgqr(x[0], x[0]) ; torch.orgqr(x.T, x[0]) ; torch.orgqr(x.T, t(1.0))
torch.orgqr(x.T, t([1, 2])) ; torch.orgqr(i[:1, None], i[:1]) ; torch.orgqr(x.T, x[0, :1])
torch.ormqr(x.T, x.T, x.T) ; torch.ormqr(x.T, x[0, :2], x.T[None])
torch.ormqr(x.T, t([1, 2]), x.T)
t([-0.0, -float('inf'), 4.0]).pow(-0.5) ; t([-0.0, 4.0]) ** t([-0.5, -0.5])
F.instance_norm(i.reshape(1, 1, 5)) ; F.instance_norm(x[None] > 1) ; F.group_norm(i[None], 1)
F.rms_norm(i, (5,)) ; F.layer_norm(i, (5,))
x[:0, :0][np.array([0, 0])] ; x[:, :0][:, t([7])] ; x[:, :0][t([0]), t([0])]
x[:, :0][t([7])] ; p(x[:0, :0] * 1, t([0]), 1.0) ; x[:0].index_select(0, t([0]))
torch.linalg.inv_ex(t([[1.0, 2], [2, 4]])) ; torch.linalg.inv_ex(torch.zeros(1, 2, 2))
F.hinge_embedding_loss(i, t([1, -1, 1, -1, 0]), margin=2.5, reduction='sum')
F.hinge_embedding_loss(i, i) ; F.hinge_embedding_loss(x, t([1, -1, 0]), margin=2.5)
F.mse_loss(t(1.0), x.half()) ; F.l1_loss(x.half(), t(1.0)) ; F.smooth_l1_loss(t(1.0), x.half())
F.huber_loss(x.half(), x + 1) ; F.huber_loss(t(1.0), x.half()) ; F.huber_loss(i, i + 0.5)

F.adaptive_max_pool1d(x[:0, None], 2, True) ; F.adaptive_max_pool1d(x[:0], 2)
F.adaptive_max_pool1d(x[:, :0], 2) ; F.adaptive_max_pool2d(x[:0, None, None], (2, 3), True)
F.adaptive_max_pool2d(x[None, :0, None], 2) ; F.adaptive_max_pool2d(x[:0, None], 2)
F.adaptive_max_pool3d(x[:0, None, None, None], 2, True)
F.adaptive_max_pool3d(x[:0, None, None], 2)
F.adaptive_max_pool3d(x[None, :0, None, None], 2) ; F.adaptive_max_pool3d(x[None, None, None], 0)
attend(x[0], x, x) ; attend(x[None, None], x, x) ; attend(x, x[None], x) ; attend(x[None], x, x)
attend(x, x, x, x > 1) ; attend(x[None], x[None], x[None], x[0] > 1)
attend(x, x, x, attn_mask=x[0]) ; attend(x, x, x, attn_mask=x[None])
nn.MultiheadAttention(3, 1, batch_first=True)(x[0], x, x) ; nn.TransformerEncoderLayer(3, 1)(x[0])

torch.distributions.Weibull(t(1.0), t(2.0)).cdf(t([0.0, 1.0]))
torch.distributions.LogNormal(t(0.0), t(2.0)).cdf(t([0.0, 1.0]))
torch.distributions.Weibull(t(1.0), t(2.0)).log_prob(t(0.5))
torch.sub(i, i > 2, alpha=3) ; torch.rsub(i > 1, 1, alpha=2) ; torch.rsub(i, i > 1, alpha=2)
torch.sub(i > 1, i, alpha=2) ; torch.sub(i > 1, i > 2, alpha=2) ; i.clone().sub_(i > 1, alpha=2)
torch.add(x > 1, 2, alpha=3) ; torch.add(x > 1, True, alpha=2) ; torch.add(i > 1, i > 2, alpha=0)
torch.add(t([200, 3], dtype=torch.uint8), i[:2] > 0, alpha=100) ; torch.sub(x.half(), x, alpha=0.1)
torch.add(i, 2.0, alpha=2.5) ; torch.add(i, 2, alpha=2.5) ; torch.add(x > 1, x, alpha=True)
torch.maximum(t([100, -3], dtype=torch.int8), t(200, dtype=torch.uint8))
t(-3, dtype=torch.int8) // t([200, 3], dtype=torch.uint8)
t([200, 3], dtype=torch.uint8) < t(-3, dtype=torch.int8)
t([100, -3], dtype=torch.int8).clamp(min=t(200, dtype=torch.uint8))
t([1, 2], dtype=torch.int16).minimum(t(70000))
t(200, dtype=torch.uint8) >> t([1], dtype=torch.int8)
torch.autograd.Variable(x) ; torch.autograd.Variable(1) ; torch.autograd.Variable(i, True)
torch.autograd.Variable(x, requires_grad=True).requires_grad
isinstance(x, torch.autograd.Variable)
isinstance(1, torch.autograd.Variable) ; torch.autograd.Variable(x.requires_grad_()).requires_grad
F.group_norm(x[:1, :2], 2) ; F.group_norm(x[:1, :2], 1) ; F.group_norm(x[:, :2], 2)
F.group_norm(x[:1, :2, None], 2) ; nn.GroupNorm(3, 3)(x[:1]) ; torch.group_norm(x[:1, :2], 2)
x[:1].flip(0).stride() ; x[:, :1].flip(1).stride() ; x[:0].flip(0).stride()
x[:1].T.flip(1).stride()
nn.GRUCell(3, 2)(x, x[:1, :2]) ; nn.RNNCell(3, 2)(x[:1], x[:, :2]) ; nn.RNNCell(2, 2)(x)
nn.LSTMCell(3, 2)(x, (x[:, :2], x[:1, :2])) ; nn.LSTMCell(3, 2)(x, (x[:, :2], x))
nn.LSTMCell(3, 2)(x, (x[None], x)) ; nn.GRUCell(3, 2)(x, x[None]) ; nn.GRUCell(3, 2)(x[0], x[0])
attend(x, x, x, attn_mask=x[:1, :2]) ; attend(x, x, x, attn_mask=x[:, :1], need_weights=False)
attend(x, x, x, attn_mask=i[:4].reshape(2, 2)) ; attend(x, x, x, i[:2]) ; attend(x, x, x, x[0] > 1)
attend(x, x, x, x[:, 0] > -1, need_weights=False)[0] ; attend(x, x, x, is_causal=True)
nn.TransformerEncoderLayer(3, 1)(x, i[:4].reshape(2, 2))
nn.TransformerEncoderLayer(3, 1)(x, None, i)
F.ctc_loss(x[:, None].log_softmax(-1), i[None, 1:2], [0], [1], reduction='none')
F.ctc_loss(x[:, None].log_softmax(-1), i[None, :0], [0], [0])
F.ctc_loss(x[:, None], i[None], [3], [1])
F.ctc_loss(x[:, None], i[None], [-1], [1]) ; F.ctc_loss(x[:, None], i[None, 1:2], [2], [2])
F.ctc_loss(x[:, None], i[None, 1:2], [2], [-1])
F.embedding_bag(i[None, :2], x + 1, max_norm=0.5)
F.embedding_bag(i[:2], x, i[:1], 2.0, 1, mode='max')

torch.searchsorted(t(3.0), x[0]) ; torch.searchsorted(t(3.0), 1.0) ; torch.searchsorted(x, 2.0)
torch.bucketize(x, t(3.0)) ; torch.bucketize(x, x) ; torch.searchsorted(x, x.T)
torch.searchsorted(x[0], x, sorter=t([0])) ; torch.searchsorted(x[0], x, sorter=x[0])
torch.searchsorted(x[:1], t(1.0)) ; torch.searchsorted(x[:0, 0], x)
torch.searchsorted(x[:, :0], x)
torch.cartesian_prod() ; torch.cartesian_prod([x[0], x[1]]) ; torch.broadcast_tensors([x, x])
torch.broadcast_tensors(x, 1) ; torch.atleast_1d([x, 1]) ; torch.block_diag([x])
torch.einsum('i', 2)
[v.grad_fn.name() for v in x.requires_grad_().split(1)] ; x.requires_grad_().chunk(2)[1].output_nr
[v.grad_fn.name() for v in x.requires_grad_().unbind(1)]
x.requires_grad_().unbind(1)[2].output_nr
[v.grad_fn.name() for v in x.requires_grad_().split([1, 1])]
[v.grad_fn.name() for v in x.requires_grad_().tensor_split(2)]

p(x * 1, True, x.long() + 7) ; p(x * 1, False, x.long() + 7) ; p(t(1.0), True, t(2))
F.cosine_similarity(x, i[1:4]) ; F.cosine_similarity(x.half(), x.long())
F.cosine_similarity(i, i, 0)
t(0.5).is_nonzero() ; t([0]).is_nonzero() ; x.is_nonzero() ; x[:0].is_nonzero()
torch.linalg.cond(x[:0]) ; torch.linalg.cond(torch.zeros(2, 3, 0), -2)
call(nn.Linear(3, 2), {'zz': i}, x).shape ; call(nn.Linear(3, 2), {'a.zz': i}, x)
call(nn.Linear(3, 2), {'in_features': i}, x)
torch.empty(0, 2**62, 2**10) ; torch.empty(2, 2**62, 2**10)

torch.func.jacfwd(torch.sin)(i) ; torch.func.hessian(torch.sum)(i) ; torch.func.linearize(abs, i)
torch.func.jacfwd(torch.mul, (0, 1))(x, i[:3]) ; torch.func.jvp(abs, (x,), (x.long(),))
F.prelu(x, t([0.5]).half()) ; F.prelu(x.half(), t(0.5)) ; nn.PReLU()(i) ; F.prelu(i, i[1])
x.add(x, alpha=1j) ; x.sub(x, alpha=1j) ; torch.rsub(x, 1, alpha=1j) ; torch.rsub(x, x, alpha=1j)
i.add(i, alpha=1j) ; x.add(1j, alpha=1j) ; (x * 1).add_(x, alpha=2j) ; x.add(x + 0j, alpha=2j)
x.addmm(x[:, :2], x, alpha=1j) ; x.addmm(x[:, :2], x, beta=1j) ; x.addcmul(x, x, value=1j)
x.index_add(0, t([0]), x[:1], alpha=1j) ; x[None].baddbmm(x[None, :, :2], x[None], alpha=1j)
torch.rand(dtype=torch.float32) ; torch.randn(dtype=torch.float32)
torch.ones() ; torch.zeros() ; torch.empty() ; torch.ones(())

nn.LSTM(3, 3)(x.half()) ; nn.GRU(3, 3)(x.long()) ; nn.RNN(3, 3)(x.half())
F.dropout(x, float('nan')) ; F.dropout(x, float('nan'), False) ; nn.Dropout(float('nan'))(x)
F.dropout(x, 2.0) ; F.alpha_dropout(x, float('nan'))
"""
EXPRESSIONS = [part.strip() for part in CORNERS.replace("\n", ";").split(";") if part.strip()]


def put(tensor, index, value):
    tensor[index] = value
    return tensor


def answer(expression: str, library, device: str):
    """The error, or of every tensor its dtype, shape and elements."""
    names = {
        "torch": library, "np": np, "F": library.nn.functional, "nn": library.nn, "p": put,
        "t": lambda data, **more: library.tensor(data, device=device, **more),
        "x": library.arange(6.0, device=device).reshape(2, 3),
        "i": library.arange(5, device=device), "attend": library.nn.MultiheadAttention(3, 1),
        "call": library.func.functional_call,
    }  # fmt: skip
    try:
        return told(eval(expression, names))
    except Exception as e:
        return e


def told(value):
    if isinstance(value, list | tuple):
        return [told(v) for v in value]
    if not hasattr(value, "dtype"):
        return value
    name = str(value.dtype).removeprefix("torch.")
    return name, tuple(value.shape), np.asarray(value.detach().cpu().tolist())


def agree(got, wanted) -> bool:
    if isinstance(wanted, Exception):
        said = str(wanted).splitlines()[0].partition(" (while checking arguments")[0]
        return isinstance(got, type(wanted)) and said in str(got)
    if isinstance(wanted, np.ndarray):
        return np.allclose(got, wanted, 1e-5, 1e-6, equal_nan=True)
    if isinstance(wanted, list | tuple):
        return len(got) == len(wanted) and all(map(agree, got, wanted))
    return got == wanted


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_corner(expression, device):
    wgtorch.set_default_device(device)
    try:
        got = answer(expression, wgtorch, device)
    finally:
        wgtorch.set_default_device(None)
    wanted = answer(expression, pytorch, "cpu")
    assert agree(got, wanted), f"{got!r} instead of {wanted!r}"
