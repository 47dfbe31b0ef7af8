"""What is wrong with an index, a join or a split is said in PyTorch's words, by its exceptions."""

from __future__ import annotations

import pytest
import torch as pytorch

import wgtorch

WRONG = """
x[5]; x[0, 5]; x[0, 0, 0]; x[-4]; x[i([5])]; x[i([True, False])]; x[i([1.0])]; x[1.5]; x[::-1]
x[1:2:0]; x[0:1.5]; x['a']; x[object()]; i(1.0)[0]; x[i([0, 1]), i([0, 1, 2])]
x[i([[True, False], [True, False]])]; x[i([True, False, True]), 7]; x[:, i([0]), 1]; len(i(1.0))
x.__setitem__(0, i([1.0, 2.0])); x.__setitem__(i([0]), torch.ones(3)); x.__setitem__(0, 'a')
x.__setitem__(i([0]), i([1, 2, 3, 4])); x.__setitem__(x > 4, i([1.0, 2.0])); x.__setitem__(0, None)
x.__setitem__(slice(0, 2), torch.ones(3, 4)); x.__setitem__((0, 0, 0), 1); list(iter(i(1.0)))
x.gather(0, i([0.5])); x.gather(0, i([0])); x.gather(1, torch.zeros(5, 2).long())
x.gather(5, i([[0]])); x.gather(0, i([[5]])); x.index_select(0, i([[0]])); x.index_select(2, i([0]))
x.index_select(0, i([0.0])); i(3.0).index_select(0, i([0, 0])); x.take(i([0.0]))
torch.take_along_dim(x, i([0]), 1); torch.take_along_dim(x, i([[0.0]]), 1)
x.scatter(0, i([[0]]), torch.ones(1, 1).double()); x.scatter(0, i([0]), 1.0)
x.scatter(0, i([[0, 0, 0, 0, 0]]), 1.0); x.scatter(0, i([[0, 0]]), torch.ones(1, 1))
x.scatter(0, i([[0.0]]), 1.0); x.scatter(0, i([[0]]), 1.0, reduce='mul'); x.scatter(0, i([[9]]), 1.)
x.scatter_add(0, i([[0]]), 1.0); x.scatter_reduce(0, i([[0]]), torch.ones(1, 1), 'foo')
x.index_add(0, i([[0]]), x[:1]); x.index_add(0, i([0]), x[:2]); x.index_add(0, i([0]), x[:1, :2])
x.index_add(0, i([0]), x[:1].double()); x.index_add(0, i([-1]), x[:1]);
x.index_add(0, i([0.]), x[:1])
x.index_copy(0, i([[0]]), x[:1]); x.index_copy(0, i([0]), x[:2]); x.index_copy(0, i([0]), x[:1, :2])
x.index_copy(0, i([0]), x[0]); x.index_copy(0, i([0]), x[:1].double())
x.index_fill(0, i([[0]]), 1.0); x.index_fill(0, i([0.0]), 1.0); x.index_fill(0, i([0]), i([1.0]))
x.index_put((i([0]),), i([1.0, 2.0])); x.index_put((i([0, 1]),), i(1.0).double())
x.index_put((i([0]), i([0]), i([0])), i(1.0)); x.index_put(i([0]), i(1.0))
x.masked_select(i([1, 0, 1, 0])); x.masked_scatter(x > 3, i([1.0]))
x.masked_scatter(i([1, 0, 0, 0]), x); x.flip(0, 0); x.flip(2); x.flip(); x.roll((1, 2), (0,))
x.roll(1, 5); x.roll((1, 2)); x.rot90(1, (0, 0)); x.rot90(1, (0,)); torch.rot90(x[0])
x.repeat(2); x.repeat(2, -1); x.repeat_interleave(i([1, 2]), 0); x.repeat_interleave(-1)
x.repeat_interleave(i([-1, 2, 3]), 0); x.repeat_interleave(i([1, 2, 3]), 0, output_size=7)
x.repeat_interleave(i([[1]]), 0); x.repeat_interleave(i([1.0])); torch.fliplr(x[0])
torch.flipud(i(1.0)); x[0].tril(); x.tril(1.5); torch.tril_indices(-1, 4); x[None].diag()
i(1.0).diag(); x.diag_embed(0, 0, 0); x.diagonal_scatter(torch.ones(2))
x.select_scatter(torch.ones(2), 0, 0); x.select_scatter(torch.ones(4), 0, 5)
x.slice_scatter(torch.ones(2, 2)); torch.cat([]); torch.cat([x, i(1.0)]); torch.cat([x, x[0]])
torch.cat([x, x[:, :2]]); torch.cat([x, x], 5); torch.cat(x); torch.cat([x, 1]); torch.stack([])
torch.stack([x, x[0]]); torch.stack([x, x], 3); torch.hstack([]); x.split(0); x.split(-1)
x.split([1, 1]); i(1.0).split(1); x.chunk(0); i(1.0).chunk(1); x.tensor_split(0)
x.tensor_split((1, 2), 5); i(1.0).tensor_split(1); x.hsplit(3); x[0].hsplit(3); x[0].vsplit(3)
x.vsplit(2); x.dsplit(2); x.unbind(5); i(1.0).unbind(); i(1.0).hsplit(2); torch.block_diag(x[None])
torch.meshgrid(x[0], x[0], indexing='zz'); torch.meshgrid(); torch.meshgrid(i([1]), i([1.0]))
torch.cartesian_prod(x); torch.combinations(x); torch.combinations(i([1, 2, 3]), r=-1)
torch.unravel_index(i([1.0]), (2, 3)); torch.unravel_index(i([1]), (-2, 3)); torch.bincount(i([-1]))
torch.bincount(x); torch.bincount(i([1]), i([1.0, 2.0])); torch.bincount(i([1]), minlength=-1)
x.as_strided((2, 2), (1, -1)); x.as_strided((2, 2), (1,)); x.as_strided((2, -2), (1, 1))
x.as_strided((2, 2), (1, 1), -1); x.broadcast_to((3, 5)); torch.broadcast_tensors(x, x[:, :2])
"""
EXPRESSIONS = [part.strip() for part in WRONG.replace("\n", ";").split(";") if part.strip()]


def complaint(expression: str, library, device: str) -> Exception:
    names = {
        "torch": library,
        "i": lambda data: library.tensor(data, device=device),
        "x": library.arange(12.0, device=device).reshape(3, 4),
    }
    with pytest.raises((IndexError, RuntimeError, TypeError, ValueError)) as told:
        eval(expression, names)
        if device == "webgpu":
            wgtorch.webgpu.synchronize()
    return told.value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_complaint(expression, device):
    wgtorch.set_default_device(device)
    try:
        got = complaint(expression, wgtorch, device)
    finally:
        wgtorch.set_default_device(None)
    want = complaint(expression, pytorch, "cpu")
    assert isinstance(got, type(want)), f"{got!r} instead of {want!r}"
    first = str(got).splitlines()[0]
    assert str(want).splitlines()[0] in first  # which may name the op before, and a remedy behind
