"""Shape inference: each rule against literals, against its op on data, and in what it refuses."""

from __future__ import annotations

import pytest

import wgtorch as torch
from wgtorch import shape_inference as infer

RULES = [  # (a call, the shape)
    (lambda: infer.identity_shape((2, 3)), (2, 3)),
    (lambda: infer.broadcast_shape((2, 1), (3,)), (2, 3)),
    (lambda: infer.cum_shape((2, 3), -1), (2, 3)),
    (lambda: infer.softmax_shape((2, 3), 1), (2, 3)),
    (lambda: infer.flip_shape((2, 3), (0, 1)), (2, 3)),
    (lambda: infer.insert_dim((2, 3), -1, 5), (2, 3, 5)),
    (lambda: infer.remove_dim((2, 3, 4), 1), (2, 4)),
    (lambda: infer.replace_dim((2, 3, 4), -2, 9), (2, 9, 4)),
    (lambda: infer.scale_dim((2, 3), 1, 2), (2, 6)),
    (lambda: infer.scale_dim((2, 6), -1, 0.5), (2, 3)),
    (lambda: infer.reshape_shape((2, 3, 4), (6, -1)), (6, 4)),
    (lambda: infer.expand_shape((2, 1), (5, -1, 3)), (5, 2, 3)),
    (lambda: infer.flatten_shape((2, 3, 4), 1), (2, 12)),
    (lambda: infer.permute_shape((2, 3, 4), (2, 0, 1)), (4, 2, 3)),
    (lambda: infer.transpose_shape((2, 3, 4), 0, -1), (4, 3, 2)),
    (lambda: infer.t_shape((2, 3)), (3, 2)),
    (lambda: infer.matrix_transpose_shape((5, 2, 3)), (5, 3, 2)),
    (lambda: infer.squeeze_shape((1, 2, 1)), (2,)),
    (lambda: infer.squeeze_shape((1, 2, 1), 0), (2, 1)),
    (lambda: infer.unsqueeze_shape((2,), -1), (2, 1)),
    (lambda: infer.select_shape((2, 3), 1, 2), (2,)),
    (lambda: infer.narrow_shape((5, 3), 0, 1, 2), (2, 3)),
    (lambda: infer.slice_shape((9, 3), 0, 1, -1, 2), (4, 3)),
    (lambda: infer.slice_shape((9, 8), -1, end=3), (9, 3)),
    (lambda: infer.at_shape((3, 4, 5), 0, ..., slice(1, 3), None), (4, 2, 1)),
    (lambda: infer.tile_shape((2, 3), (2, 2, 1)), (2, 4, 3)),
    (lambda: infer.diag_shape((3,), 1), (4, 4)),
    (lambda: infer.diag_shape((3, 5)), (3,)),
    (lambda: infer.cat_shape([(2, 3), (4, 3)]), (6, 3)),
    (lambda: infer.stack_shape([(2, 3), (2, 3)], 1), (2, 2, 3)),
    (lambda: infer.gather_shape((3, 4), 1, (3, 2)), (3, 2)),
    (lambda: infer.scatter_shape((3, 4), 1, (3, 2)), (3, 4)),
    (lambda: infer.index_select_shape((3, 4), 0, (7,)), (7, 4)),
    (lambda: infer.matmul_shape((2, 1, 3, 4), (5, 4, 6)), (2, 5, 3, 6)),
    (lambda: infer.matmul_shape((4,), (4,)), ()),
    (lambda: infer.matmul2d_shape((2, 3), (3, 4)), (2, 4)),
    (lambda: infer.outer_shape((2,), (3,)), (2, 3)),
    (lambda: infer.trace_shape((3, 5)), ()),
    (lambda: infer.einsum_output_shape("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), (2, 3, 5)),
    (lambda: infer.einsum_shape("ii->i", (3, 3)), (3,)),
    (lambda: infer.cholesky_shape((2, 3, 3)), (2, 3, 3)),
    (lambda: infer.inverse_shape((3, 3)), (3, 3)),
    (lambda: infer.det_shape((2, 3, 3)), (2,)),
    (lambda: infer.eig_shape((2, 3, 3)), ((2, 3), (2, 3, 3))),
    (lambda: infer.lu_shape((3, 4)), ((3, 3), (3, 3), (3, 4))),
    (lambda: infer.svd_shape((5, 3), False), ((5, 3), (3,), (3, 3))),
    (lambda: infer.conv1d_shape((2, 3, 9), (4, 3, 3), stride=2), (2, 4, 4)),
    (lambda: infer.conv2d_shape((2, 4, 9, 9), (6, 2, 3, 3), padding=1, groups=2), (2, 6, 9, 9)),
    (lambda: infer.conv3d_shape((1, 2, 8, 9, 8), (4, 2, 3, 3, 3), dilation=2), (1, 4, 4, 5, 4)),
    (lambda: infer.conv3d_shape((2, 8, 8, 8), (4, 1, 2, 2, 2), 2, 0, 1, 2), (4, 4, 4, 4)),
    (lambda: infer.conv_transpose2d_shape((1, 2, 5, 5), (2, 3, 3, 3), 2), (1, 3, 11, 11)),
    (lambda: infer.pool1d_shape((2, 3, 9), 2), (2, 3, 4)),
    (lambda: infer.pool2d_shape((2, 3, 9, 9), 3, 2, 1), (2, 3, 5, 5)),
    (lambda: infer.pool3d_shape((2, 3, 9, 9, 8), (2, 3, 4)), (2, 3, 4, 3, 2)),
    (lambda: infer.adaptive_pool1d_shape((2, 3, 9), 4), (2, 3, 4)),
    (lambda: infer.adaptive_pool2d_shape((2, 3, 9, 9), (4, None)), (2, 3, 4, 9)),
    (lambda: infer.rearrange_shape((2, 12), "a (b c) -> b (a c)", b=3), (3, 8)),
    (lambda: infer.reduce_shape((2, 3, 4), "a b c -> c", "max"), (4,)),
    (lambda: infer.repeat_shape((2, 3), "a b -> a (b r)", r=2), (2, 6)),
    (lambda: infer.pack_shape([(2, 3), (2, 4, 5)], "a *"), (2, 23)),
    (lambda: infer.unpack_shape((2, 7), [(3,), (2, 2)], "a *"), ((2, 3), (2, 2, 2))),
]


@pytest.mark.parametrize("call, shape", RULES)
def test_rules(call, shape):
    found = call()
    assert found == shape
    assert isinstance(found, torch.Size) or all(isinstance(part, torch.Size) for part in found)


REFUSED = [
    (lambda: infer.matmul_shape((2, 3), (4, 5)), RuntimeError, "(2x3 and 4x5)"),
    (lambda: infer.cat_shape([(2, 3), (2, 4)]), RuntimeError, "Sizes of tensors must match"),
    (lambda: infer.expand_shape((2, 3), (4, 3)), RuntimeError, "must match the existing size (2)"),
    (lambda: infer.reshape_shape((2, 3), (4, -1)), RuntimeError, "invalid for input of size 6"),
    (lambda: infer.cum_shape((2, 3), 2), IndexError, "[-2, 1], but got 2"),
    (lambda: infer.select_shape((2, 3), 0, 5), IndexError, "index 5 out of range"),
    (lambda: infer.scale_dim((2, 3), 1, 0.5), ValueError, "3 times 0.5 is not whole"),
    (lambda: infer.validate_split_dim(3, 2), IndexError, "but got 3"),
    (lambda: infer.validate_scalar((2,)), RuntimeError, "invalid for input of size 2"),
    (lambda: infer.validate_square_matrix((2, 3)), torch.errors.LinalgError, "[2, 3]"),
    (lambda: infer.det_shape((3,)), RuntimeError, "expected square matrices"),
    (lambda: infer.einsum_shape("ij", (2,), (3,)), torch.errors.EinsumError, "1 operands, but 2"),
    (lambda: infer.validate_ranks("ij,j->i", (2, 3), ()), torch.errors.EinsumError, "operand 1"),
    (lambda: infer.validate_einsum("ij->k", (2, 3)), RuntimeError, "k"),
    (lambda: infer.conv3d_shape((1, 3, 8, 8, 8), (4, 2, 3, 3, 3)), RuntimeError, "does not fit"),
    (lambda: infer.pool3d_shape((8, 8), 2), RuntimeError, "expected 4 or 5 dimensions"),
]


@pytest.mark.parametrize("call, kind, text", REFUSED)
def test_refusals(call, kind, text):
    with pytest.raises(kind) as told:
        call()
    assert text in str(told.value)


def test_what_fits_is_accepted():
    infer.validate_scalar((1, 1))
    infer.validate_ranks("i...,j", (2, 3, 4), (5,))
    assert infer.validate_square_matrix((2, 2)) == (2, 2)
    assert infer.normalize_dim(-1, 3) == 2


def test_dtypes():
    rules = infer.DTypeRule
    assert infer.unary_dtype(torch.int32) is torch.int32
    assert infer.unary_dtype(torch.int32, rules.FLOAT) is torch.float32
    assert infer.unary_dtype(torch.float16, rules.FLOAT) is torch.float16
    assert infer.unary_dtype(torch.float16, rules.BOOLEAN) is torch.bool
    assert infer.binary_dtype(torch.int8, torch.uint8) is torch.int16
    assert infer.binary_dtype(torch.int8, torch.int8, rules.FLOAT) is torch.float32
    assert infer.binary_result((2, 1), torch.float32, (), torch.float64) == ((2, 1), torch.float32)
    assert infer.ShapeRule("matmul") is infer.ShapeRule.MATMUL


def test_rules_say_what_ops_do(device):
    x, y = torch.ones(3, 4, device=device), torch.ones(4, 2, device=device)
    assert infer.matmul_shape(x.shape, y.shape) == (x @ y).shape
    assert infer.stack_shape([x.shape] * 2, -1) == torch.stack([x, x], -1).shape
    assert infer.at_shape(x.shape, slice(None, None, 2), 1) == x.at(slice(None, None, 2), 1).shape


# The namespace, bound


def test_a_namespace_of_its_own(webgpu):
    bound = torch.create_torch(webgpu, torch.float16)
    assert bound.zeros(2).device.type == webgpu and bound.zeros(2).dtype is torch.float16
    assert bound.tensor([1, 2]).dtype is torch.int64 and bound.arange(3).device.type == webgpu
    assert bound.ones(2, device="cpu", dtype=torch.int8).device.type == "cpu"
    assert bound.matmul is torch.matmul and bound.float32 is torch.float32 and "nn" in dir(bound)
    assert torch.zeros(2).device.type == "cpu"
    with pytest.raises(AttributeError, match="has no attribute 'moon'"):
        bound.moon  # noqa: B018


def test_facts_of_a_tensor():
    facts = torch.TensorMeta.of(torch.zeros(4, 6)[1:, ::2])
    assert (facts.shape, facts.strides, facts.offset) == ((3, 3), (6, 2), 6)
    assert (facts.dtype, str(facts.device)) == (torch.float32, "cpu")
    assert isinstance(3, torch.Number) and isinstance(slice(3), torch.IndexSpec)


def test_helpers_of_those_who_write_ops():
    out = torch.zeros(2)
    assert torch.apply_out(out, torch.ones(2)) is out and out.tolist() == [1, 1]
    assert torch.apply_out(None, out) is out
    both = torch.create_cum_extreme_result(out, out)
    assert isinstance(both, torch.return_types.cummax)
    told = torch.errors.build_einops_error("no such axis", "a b -> c", 7)
    assert str(told) == "no such axis\n  a b -> c\n         ^"
    assert torch.get_device_module("cpu") is torch.cpu and torch.cpu.is_available()
    assert torch.get_device_module("webgpu") is torch.webgpu
