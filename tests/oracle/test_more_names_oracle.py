"""Names beside the everyday ones against torch: values, gradients and complaints of each call."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.masked")

import wgtorch  # noqa: E402

RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


GIVEN = {
    "x": normal(4, 5), "y": normal(4, 5), "a": normal(4, 4), "v": normal(3, 4), "w": normal(3, 4),
    "s": normal(6), "image": normal(2, 3, 9, 8), "volume": normal(2, 3, 6, 5, 7),
    "draws2": RNG.random((2, 3, 2), np.float32), "draws3": RNG.random((2, 3, 3), np.float32),
    "mask": RNG.random((4, 5)) < 0.6, "some": RNG.random((4, 1)) < 0.6,
    "places": np.array([0, 1, 3, 3.5], np.float32), "lengths": np.array([2, 0, 3]),
    "labels": np.array([1, 0, 3, 3]), "q": normal(5, 2, 4), "k": normal(6, 2, 4),
    "in_weight": normal(12, 4), "in_bias": normal(12), "out_weight": normal(4, 4),
    "bk": normal(1, 1, 4),
    "padding": np.array([[0, 0, 0, 1, 0, 1], [0, 0, 0, 0, 0, 1]], bool), "scale": normal(3),
}  # fmt: skip
FIXED = {"places", "draws2", "draws3"}  # that need no gradient
HEADS = "F.multi_head_attention_forward(q, {0}, {0}, 4, 2, in_weight, in_bias, {1}, {2}, 0.0,"
CALLS = [
    "meshgrid(s, x[0], y[0, :2], indexing='xy')", "meshgrid(s, x[0], indexing='ij')",
    "cross(v, w)", "cross(v, w[:, :1], dim=0)", "renorm(x, 2, 0, 1.5)", "renorm(x, 1, 1, 2)",
    "gradient(x)", "gradient(x, spacing=2.0, edge_order=2)", "gradient(x, dim=-1)",
    "gradient(x, spacing=[places], dim=0)", "gradient(x, spacing=[places], dim=0, edge_order=2)",
    "histogramdd(x.detach()[:, :2], [3, 2])",
    "histogramdd(x.detach(), 2, range=(-2, 2) * 5, density=True)",
    "histogramdd(x.detach()[:, :2], [places[:3], places], weight=lengths.new_ones(4) * 1.5)",
    "linalg.eig(a)[0].abs().sort()", "linalg.eigvals(a + a.T).real.sort()",
    "lu(a, get_infos=True)", "geqrf(x.detach())", "orgqr(*geqrf(x.T.detach()))",
    "ormqr(*geqrf(x.detach()), a)", "ormqr(*geqrf(v.detach().T), a)",
    "ormqr(*geqrf(x.detach()), a, left=False, transpose=True)", "linalg.ldl_factor_ex(a + a.T)[1:]",
    "linalg.ldl_solve(*linalg.ldl_factor(a.detach() + a.detach().T), x.detach())",
    "expand_copy(s, (2, 6))", "view_copy(x, (2, 10))", "split_copy(x, 3, 1)", "unbind_copy(v)",
    "split_with_sizes_copy(x, [1, 3])", "slice_copy(x, 1, 0, 5, 2)", "t_copy(x)",
    "permute_copy(x, (1, 0))", "as_strided_copy(x, (2, 2), (1, 2))", "diagonal_copy(a, 1)",
    "unsafe_chunk(x, 2)", "unsafe_split(x, 3, 1)", "unsafe_split_with_sizes(x, [1, 3])",
    "nonzero_static(mask, size=7)", "nonzero_static(mask, size=30, fill_value=5)",
    "segment_reduce(x[:, :5].T, 'mean', lengths=lengths)", "arcsin_(0.1 * x.detach())",
    "segment_reduce(x.T, 'max', lengths=lengths, initial=0.5)", "x.__rdiv__(2)",
    "segment_reduce(x, 'prod', lengths=lengths.expand(4, 3), axis=1)",
    "F.upsample_nearest(image, scale_factor=2)", "F.upsample_bilinear(image, (5, 7))",
    "F.fractional_max_pool2d(image, 2, (4, 3), return_indices=True, _random_samples=draws2)",
    "F.fractional_max_pool2d(image, (3, 2), output_ratio=(0.5, 0.4), _random_samples=draws2)",
    "F.fractional_max_pool3d(volume, 2, (3, 2, 4), None, True, draws3)",
    "F.adaptive_max_pool1d_with_indices(x, 3)", "F.adaptive_max_pool2d_with_indices(image, (4, 3))",
    "F.adaptive_max_pool3d_with_indices(volume, 2)", "F.max_pool3d_with_indices(volume, 2, 1)",
    "nn.FractionalMaxPool2d(2, (4, 3), None, True, draws2)(image)",
    "nn.FractionalMaxPool3d((2, 1, 3), output_ratio=0.5, _random_samples=draws3)(volume)",
    "F.linear_cross_entropy(x, y, labels, linear_bias=x[:, 0], ignore_index=3)",
    "F.linear_cross_entropy(x, y, y[:, :4].softmax(1), label_smoothing=0.1)",
    HEADS.format("q", "None", "None, False") + " out_weight, None)",
    HEADS.format("k", "bk", "bk, True") + " out_weight, s[:4], False, padding)",
    HEADS.format("k", "None", "None, False")
    + " out_weight, None, need_weights=False, use_separate_proj_weight=True,"
    " q_proj_weight=a, k_proj_weight=a.T, v_proj_weight=out_weight)",
    "native_layer_norm(x, (5,), None, None, 1e-5)",
    "native_group_norm(image, scale, scale, 2, 3, 72, 3, 1e-5)",
    "native_batch_norm(image, scale, None, None, None, True, 0.1, 1e-5)[0]",
    "native_batch_norm(image.detach(), scale, None, None, None, True, 0.1, 1e-5)[1:]",
    "native_dropout(x, 0.5, False)", "native_dropout(x, 1.0, True)[0]",
    "grid_sampler_2d(image, image[:, :2].permute(0, 2, 3, 1).tanh(), 0, 1, True)",
    "empty_permuted((2, 3, 5), (0, 2, 1)).stride()", "x.new_empty_strided((2, 3), (1, 2)).stride()",
]  # fmt: skip
FOLDS = ("sum", "prod", "amax", "amin", "mean", "var", "std", "norm", "logsumexp")
CALLS += [
    f"masked.{name}(x{', 2.0' if name == 'norm' else ''}, {dim}, mask=mask, keepdim={dim == 1})"
    for name in FOLDS for dim in (0, 1)
]  # fmt: skip
CALLS += [
    *(f"masked.{name}(x, 1, mask=mask)" for name in ("cumsum", "cumprod", "softmin")),
    *(f"masked.{name}(x, 0, mask=some)" for name in ("softmax", "log_softmax")),
    *(f"masked.{name}(x.detach(), 1, mask=mask)" for name in ("argmax", "argmin", "median")),
    "masked.logaddexp(x, y, input_mask=mask)", "masked.normalize(x, 2.0, 1, mask=mask)",
]  # fmt: skip
REFUSED = [
    "cross(x, x)", "gradient(s[:2], edge_order=2)", "gradient(x, edge_order=3)",
    "renorm(s, 2, 0, 1)",
    "gradient(x, spacing=(1.0, 2.0, 3.0))", "renorm(x, -1, 0, 1)", "geqrf(s)", "histogramdd(s, 3)",
    "linalg.eig(x * nan @ x.T)", "segment_reduce(s, 'sum', lengths=lengths)",
    "segment_reduce(s, 'sum')", "F.fractional_max_pool2d(image, 2)", "histogramdd(x, [3])",
    "F.fractional_max_pool2d(image, 4, output_size=8)", "pca_lowrank(x, 9)",
    "nn.FractionalMaxPool2d(2)", "nn.FractionalMaxPool2d(2, output_ratio=1.5)",
    "nn.FractionalMaxPool3d(2, 3, 0.5)",
]  # fmt: skip


def evaluated(library, call: str, device: str = "cpu"):
    """(results, gradients) of a call, as arrays."""
    names = {"F": library.nn.functional}
    for name, array in GIVEN.items():
        names[name] = library.tensor(array, device=device)
        if array.dtype == np.float32 and name not in FIXED:
            names[name].requires_grad_()
    scope = {**{n: getattr(library, n) for n in dir(library)}, **names}
    value = eval(call, {}, scope)
    found = []

    def collect(part) -> None:
        if isinstance(part, library.Tensor):
            found.append(part)
        elif isinstance(part, tuple | list):
            for each in part:
                collect(each)
        else:
            found.append(library.tensor(0 if part is None else part))

    collect(value)
    wanting = [t for t in found if t.requires_grad]
    if wanting:
        parts = [(t.real if t.is_complex() else t).nan_to_num(0, 0, 0) for t in wanting]
        sum(t.cos().sum() for t in parts).backward()
    grads = {n: t.grad for n, t in names.items() if n != "F" and t.grad is not None}
    arrays = [t.detach().cpu().numpy() for t in found]
    return arrays, {n: g.cpu().numpy() for n, g in grads.items()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_values_and_gradients(call, device):
    (ours, slopes), (theirs, want) = evaluated(wgtorch, call, device), evaluated(torch, call)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)
    for name, gradient in want.items():
        np.testing.assert_allclose(slopes[name], gradient, rtol=1e-3, atol=5e-5, err_msg=name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", REFUSED)
def test_complaints(call):
    with pytest.raises(Exception) as theirs:
        evaluated(torch, call)
    with pytest.raises(type(theirs.value)) as ours:
        evaluated(wgtorch, call)
    assert str(ours.value).split("\n")[0] == str(theirs.value).split("\n")[0]


def test_decompositions_of_low_rank(device):
    wgtorch.manual_seed(0)
    a = normal(3, 8, 2) @ normal(3, 2, 6)
    U, S, V = wgtorch.svd_lowrank(wgtorch.tensor(a, device=device), q=3)
    np.testing.assert_allclose(((U * S.unsqueeze(-2)) @ V.mT).cpu().numpy(), a, atol=1e-4)
    U, S, V = wgtorch.pca_lowrank(wgtorch.tensor(a, device=device), q=2, center=False)
    np.testing.assert_allclose(S.cpu().numpy(), np.linalg.svd(a)[1][:, :2], rtol=1e-4)


def test_eigenvectors_and_their_gradient(device):
    a = normal(3, 4, 4)
    found = {}
    for library, place in ((wgtorch, device), (torch, "cpu")):
        x = library.tensor(a, device=place, requires_grad=True)
        values, vectors = library.linalg.eig(x)
        assert library.allclose((x + 0j) @ vectors, vectors * values.unsqueeze(-2), atol=1e-4)
        ((vectors.abs() ** 3).sum() + (values.real * values.imag**2).sum()).backward()
        found[library] = x.grad.cpu().numpy()
    np.testing.assert_allclose(found[wgtorch], found[torch], rtol=1e-3, atol=1e-3)
