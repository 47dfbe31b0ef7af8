"""Layers and functions of torch.nn beside torch 2.13: values, gradients, refusals, state."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from twins import array, compare  # noqa: E402

import wgtorch  # noqa: E402

CALLS = """
F.conv3d(v, w3, b4, padding=1) ; F.conv3d(v, w3, stride=2, dilation=(2, 1, 1), padding=(2, 1, 0))
F.conv3d(v, w3, padding='same') ; F.conv3d(v[0], w3) ; F.conv3d(v, g3, groups=2)
F.conv_transpose3d(v, t3, b3, 2, 1, 1) ; F.conv_transpose3d(v, t3, None, (1, 2, 1), 0, (0, 1, 0), 1)
F.max_pool3d(v, 2) ; F.max_pool3d(v, (2, 3, 2), 1, 1, ceil_mode=True)
F.max_pool3d(v, 2, return_indices=True)[1] ; F.avg_pool3d(v, 2, 1, 1, count_include_pad=False)
F.avg_pool3d(v, (2, 3, 2), ceil_mode=True) ; F.avg_pool3d(v, 2, divisor_override=3)
F.adaptive_avg_pool3d(v, (2, 3, None)) ; F.adaptive_max_pool3d(v, 2) ; F.lp_pool2d(x.abs(), 2, 2)
F.adaptive_max_pool3d(v, (2, 3, 1), True)[1] ; F.lp_pool1d(x[0].abs(), 3, 2, 1)
F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=(5, 6))
F.max_unpool1d(*F.max_pool1d(x[0], 2, return_indices=True), 2) ; F.adaptive_max_pool2d(x, 2)
F.interpolate(x, scale_factor=2) ; F.interpolate(x, (3, 9)) ; F.interpolate(x, (7, 4), mode='area')
F.interpolate(x, (9, 3), mode='nearest-exact') ; F.interpolate(x, 7, mode='bilinear')
F.interpolate(x, scale_factor=(1.3, 0.7)) ; F.interpolate(x, scale_factor=(0.45, 2.6))
F.interpolate(x, scale_factor=(1.3, 0.7), mode='nearest-exact') ; F.interpolate(x, (11, 1))
F.interpolate(x, scale_factor=(0.45, 2.6), recompute_scale_factor=True)
F.interpolate(v, scale_factor=(0.4, 1.7, 2.6), mode='nearest-exact', recompute_scale_factor=True)
F.interpolate(v, scale_factor=(0.4, 1.7, 2.6)) ; F.interpolate(x[0], scale_factor=2.9)
F.interpolate(x, (3, 11), mode='bilinear', align_corners=True)
F.interpolate(v, 4, mode='trilinear') ; F.interpolate(x, scale_factor=(1.7, 0.6), mode='bilinear')
F.interpolate(x[0], 9, mode='linear') ; F.interpolate(x, (8, 9), mode='bicubic')
F.interpolate(x, 3, mode='bicubic', align_corners=True)
F.interpolate(x, 3, mode='bilinear', antialias=True)
F.interpolate(x, 2, mode='bicubic', antialias=True)
F.interpolate(x, (3, 9), mode='lanczos', antialias=True, align_corners=False)
F.interpolate(x, 3, mode='lanczos', align_corners=False) ; F.interpolate(x[0, 0], 3)
F.interpolate(x, scale_factor=1.7, recompute_scale_factor=True, mode='bilinear')
F.interpolate(x, 3, mode='linear') ; F.interpolate(x, 3, mode='x') ; F.interpolate(x, 3, 2)
F.interpolate(x) ; F.interpolate(x, 3, align_corners=True) ; F.interpolate(x, (3, 4, 5))
F.interpolate(words[None], 2) ; F.interpolate(x.long(), 3) ; F.interpolate(x.bool(), 3)
F.interpolate(x.long(), 3, mode='bilinear') ; F.interpolate(x.int(), 3, mode='bicubic')
F.interpolate(x.int(), 3, mode='bilinear', antialias=True)
F.interpolate(words[None].byte(), 2, mode='linear') ; F.interpolate(words[None].byte(), 2)
F.interpolate(v.abs().byte(), 2) ; F.interpolate(v.abs().byte(), 2, mode='trilinear')
F.grid_sample(x, grid, align_corners=False) ; F.grid_sample(x, grid, align_corners=True)
F.grid_sample(x, grid, padding_mode='border', align_corners=False)
F.grid_sample(x, grid, padding_mode='reflection', align_corners=True)
F.grid_sample(x, grid, padding_mode='reflection', align_corners=False)
F.grid_sample(x, grid, 'nearest', align_corners=False)
F.grid_sample(v, grid3, align_corners=False)
F.grid_sample(x, grid, 'bicubic', align_corners=False) ; F.grid_sample(x, grid, 'x')
F.grid_sample(x, grid, 'bicubic', 'border', align_corners=True) ; F.grid_sample(x, grid[:1])
F.affine_grid(theta, (2, 3, 4, 5), False) ; F.affine_grid(theta, (2, 3, 4, 5), True)
F.pixel_shuffle(y, 2) ; F.pixel_unshuffle(x[:, :, :4], 2) ; F.channel_shuffle(y, 2)
F.pixel_shuffle(x, 2) ; F.pixel_unshuffle(x, 4) ; F.unfold(x, (2, 3), 2, 1, (1, 2)) ; F.unfold(x, 9)
F.fold(F.unfold(x, 2, 1, 1, 2), (5, 6), 2, 1, 1, 2) ; F.fold(x, (5, 6), 2)
F.local_response_norm(y, 3, 0.1) ; F.instance_norm(x, eps=0.1) ; F.rms_norm(x, (6,), eps=0.1)
F.pad(x, (1, 2, 0, 1), 'reflect') ; F.pdist(m) ; F.pdist(m, 1)
F.margin_ranking_loss(m[0], m[1], s, 0.3) ; F.hinge_embedding_loss(m[0], s, reduction='none')
F.cosine_embedding_loss(m, m.flip(0), s[:4], 0.1) ; F.soft_margin_loss(m[0], s, reduction='sum')
F.multi_margin_loss(m, c) ; F.multi_margin_loss(m, c, 2, 0.5, m[0].detach().abs())
F.multi_margin_loss(m[0], c[0]) ; F.multilabel_margin_loss(m, labels)
F.multilabel_margin_loss(m, labels, reduction='none')
F.multilabel_soft_margin_loss(m, (m > 0).float()) ; F.poisson_nll_loss(m, m.abs() * 3, full=True)
F.poisson_nll_loss(m.abs(), m.abs(), False) ; F.gaussian_nll_loss(m, m * 2, m.abs(), full=True)
F.gaussian_nll_loss(m, m * 2, m[:, :1].abs()) ; F.gaussian_nll_loss(m, m * 2, m[:1])
F.triplet_margin_loss(m, m.flip(0), m * 2, swap=True)
F.triplet_margin_loss(m, m * 3, m * 2, 2.0, 1)
F.triplet_margin_with_distance_loss(m, m * 3, m * 2, margin=0.5)
F.ctc_loss(logs, words, lengths, sizes) ; F.ctc_loss(logs, words, lengths, sizes, 2, 'none')
F.ctc_loss(logs, words[:, :2].reshape(-1), lengths, sizes * 0 + 2, reduction='sum')
F.ctc_loss(logs, words, lengths * 0 + 2, sizes, zero_infinity=True, reduction='none')
F.embedding_bag(words, m) ; F.embedding_bag(words, m, mode='sum', per_sample_weights=words * 0.5)
F.embedding_bag(words, m, mode='max') ; F.embedding_bag(flat, m, offsets) ; F.embedding_bag(flat, m)
F.embedding_bag(flat[:2], m, offsets, mode='sum', include_last_offset=True)
F.embedding_bag(flat, m, offsets, mode='max', padding_idx=1) ; F.embedding_bag(words, m, mode='x')
F.embedding_bag(flat, m, offsets, padding_idx=1) ; F.conv_transpose2d(x, t3[:, :, 0])
"""


def named(library, device):
    """The tensors that the calls name; those that are float require a gradient."""
    cached = {}

    def make(values, grad=True):
        t = library.tensor(values, device=device)
        return t.requires_grad_() if grad and t.is_floating_point() else t

    shapes = {
        "v": (2, 4, 4, 5, 3), "w3": (4, 4, 3, 2, 2), "b4": (4,), "g3": (4, 2, 2, 2, 2),
        "t3": (4, 3, 3, 2, 2), "b3": (3,), "x": (2, 4, 5, 6), "y": (2, 8, 3, 2), "m": (4, 5),
        "theta": (2, 2, 3),
    }  # fmt: skip
    for number, (name, shape) in enumerate(shapes.items()):
        cached[name] = make(array(*shape, seed=number))
    cached["t3"] = make(array(4, 3, 3, 2, 2, seed=20))
    points = np.tanh(array(2, 3, 4, 2, seed=3)) * 1.3
    cached["grid"] = make(points.astype(np.float32))
    cached["grid3"] = make(np.tanh(array(2, 2, 3, 2, 3, seed=4)).astype(np.float32))
    cached["s"] = make([1.0, -1.0, 1.0, -1.0, 1.0], False)
    cached["c"] = make([0, 3, 1, 4])
    cached["labels"] = make([[1, 3, -1, 0, 0], [0, -1, 2, 3, 4], [4, 3, 2, 1, 0], [-1, 0, 0, 0, 0]])
    logits = array(6, 3, 5, seed=9)
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    cached["logs"] = make(logs.astype(np.float32))
    cached["words"] = make([[1, 3, 1], [4, 1, 3], [3, 3, 1]])
    cached["lengths"], cached["sizes"] = make([6, 5, 6]), make([3, 2, 1])
    cached["flat"], cached["offsets"] = make([1, 2, 1, 0, 3]), make([0, 2, 2])
    return cached | {"F": library.nn.functional}


def parts(value):
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("text", CALLS.replace(" ; ", "\n").strip().splitlines())
def test_call(text, device):
    answers = []
    for library, place in ((wgtorch, device), (torch, "cpu")):
        names = named(library, place)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outs = parts(eval(text, names))
            slopes = {}
            if outs[0].is_floating_point() and outs[0].requires_grad:
                finite = outs[0].masked_fill(outs[0].detach().isinf(), 0)
                (finite * finite.sin()).sum().backward()
                slopes = {n: t.grad.cpu().numpy() for n, t in names.items()
                          if isinstance(t, library.Tensor) and t.grad is not None}  # fmt: skip
            answers.append(([o.detach().cpu().numpy() for o in outs], slopes))
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
            answers.append(error)
    got, want = answers
    if isinstance(want, Exception):
        assert isinstance(got, type(want)), f"{got!r} where torch says {want!r}"
        return
    assert not isinstance(got, Exception), repr(got)
    for g, w in zip(got[0], want[0], strict=True):
        np.testing.assert_allclose(g, w, rtol=2e-4, atol=2e-5)
    assert got[1].keys() <= want[1].keys()
    for name in want[1]:
        slope = got[1].get(name, np.zeros_like(want[1][name]))
        np.testing.assert_allclose(slope, want[1][name], rtol=1e-3, atol=2e-4, err_msg=name)


MODULES = """
nn.Conv3d(4, 2, (3, 2, 2), padding=1)@v ; nn.ConvTranspose1d(4, 2, 3, 2, 1, 1)@r
nn.ConvTranspose2d(4, 6, 3, 2, groups=2, bias=False)@x ; nn.ConvTranspose3d(4, 2, 2, 2)@v
nn.InstanceNorm1d(4, affine=True)@r ; nn.InstanceNorm2d(4, track_running_stats=True)@x
nn.InstanceNorm3d(4)@v ; nn.BatchNorm3d(4)@v ; nn.RMSNorm(6)@x ; nn.LocalResponseNorm(3)@x
nn.Upsample(scale_factor=2, mode='bilinear')@x ; nn.UpsamplingNearest2d(size=7)@x
nn.UpsamplingBilinear2d(scale_factor=2)@x ; nn.PixelShuffle(2)@x ; nn.ChannelShuffle(2)@x
nn.Unfold(2, padding=1)@x ; nn.Fold((3, 6), 2)@f ; nn.ReflectionPad2d(2)@x ; nn.ZeroPad3d(1)@v
nn.ReplicationPad1d((1, 2))@r ; nn.CircularPad2d(1)@x ; nn.ConstantPad1d(2, 3.5)@r
nn.MaxPool3d(2)@v ; nn.AvgPool3d(2, 1)@v ; nn.LPPool2d(2, 2)@p ; nn.AdaptiveMaxPool2d(2)@x
nn.AdaptiveMaxPool1d(2)@r ; nn.AdaptiveAvgPool3d(2)@v ; nn.AdaptiveMaxPool3d((2, 2, 1))@v
nn.PixelUnshuffle(2)@q
"""
INPUTS = {"v": (2, 4, 4, 5, 3), "x": (2, 4, 5, 6), "r": (2, 4, 7), "f": (2, 8, 10),
          "p": (2, 4, 5, 6), "q": (2, 4, 4, 6)}  # fmt: skip


@pytest.mark.parametrize("text", MODULES.replace(" ; ", "\n").strip().splitlines())
def test_module(text, device):
    made, _, name = text.rpartition("@")
    value = array(*INPUTS[name])
    value = abs(value) if name == "p" else value

    def call(library, module, inputs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return module(inputs[0])

    compare(lambda library: eval(made, {"nn": library.nn}), device, call, value)
    ours, theirs = (repr(eval(made, {"nn": lib.nn})) for lib in (wgtorch, torch))
    assert ours.partition("(")[0] == theirs.partition("(")[0]


def test_losses_as_modules(device):
    m, n = array(4, 5), array(4, 5, seed=2)
    cases = {
        "nn.TripletMarginLoss(2.0)": (m, n, n * 2), "nn.GaussianNLLLoss()": (m, n, abs(m) + 0.1),
        "nn.PoissonNLLLoss()": (m, abs(n)), "nn.SoftMarginLoss()": (m, np.sign(n)),
        "nn.MultiLabelSoftMarginLoss()": (m, (n > 0).astype(np.float32)),
        "nn.HingeEmbeddingLoss()": (m, np.sign(n)), "nn.MarginRankingLoss(0.2)": (m, n, np.sign(n)),
        "nn.TripletMarginWithDistanceLoss()": (m, n, n * 2),
    }  # fmt: skip
    for made, given in cases.items():
        results = []
        for library, place in ((wgtorch, device), (torch, "cpu")):
            tensors = [library.tensor(g, device=place) for g in given]
            results.append(float(eval(made, {"nn": library.nn})(*tensors)))
        assert abs(results[0] - results[1]) < 1e-5 * max(1, abs(results[1])), made
