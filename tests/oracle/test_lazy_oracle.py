"""Lazy modules against torch: what they become, their state both ways, and what they refuse."""

import copy
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import wgtorch as wt  # noqa: E402
from tests.oracle.beside import Programs, alike, outcome  # noqa: E402

FORMS = {  # a lazy module, the same with its size, an input
    "LazyLinear(3)": ("Linear(5, 3)", (2, 5)),
    "LazyLinear(3, bias=False)": ("Linear(5, 3, bias=False)", (2, 4, 5)),
    "LazyConv1d(4, 2, groups=2)": ("Conv1d(6, 4, 2, groups=2)", (2, 6, 5)),
    "LazyConv2d(4, (2, 3), padding=1)": ("Conv2d(3, 4, (2, 3), padding=1)", (3, 5, 6)),
    "LazyConv3d(2, 2, 2, bias=False)": ("Conv3d(3, 2, 2, 2, bias=False)", (1, 3, 4, 4, 4)),
    "LazyConvTranspose1d(4, 2, 2, output_padding=1)": (
        "ConvTranspose1d(3, 4, 2, 2, output_padding=1)", (2, 3, 5),
    ),
    "LazyConvTranspose2d(4, 2, groups=2)": ("ConvTranspose2d(2, 4, 2, groups=2)", (1, 2, 3, 3)),
    "LazyConvTranspose3d(2, 2, bias=False)": ("ConvTranspose3d(3, 2, 2, bias=False)", (3, 2, 3, 2)),
    "LazyBatchNorm1d()": ("BatchNorm1d(4)", (3, 4)),
    "LazyBatchNorm2d(1e-3, None)": ("BatchNorm2d(3, 1e-3, None)", (2, 3, 4, 4)),
    "LazyBatchNorm2d(bias=False)": ("BatchNorm2d(3, bias=False)", (2, 3, 4, 4)),
    "LazyBatchNorm3d(affine=False)": ("BatchNorm3d(2, affine=False)", (2, 2, 3, 2, 2)),
    "LazyInstanceNorm1d()": (
        "InstanceNorm1d(3, affine=True, track_running_stats=True)", (2, 3, 4),
    ),
    "LazyInstanceNorm3d(bias=False)": (
        "InstanceNorm3d(2, affine=True, track_running_stats=True, bias=False)", (2, 2, 2, 3, 2),
    ),
}  # fmt: skip


class Lazy:
    def __init__(self, t, device, form="LazyLinear(3)"):
        self.t, self.device = t, device
        self.form = form
        known, self.shape = FORMS[form]
        self.rng = np.random.default_rng(0)
        self.lazy, self.known = self.module(form), self.module(known)
        self.input = self.tensor(*self.shape)

    def module(self, form):
        return eval(f"nn.{form}", {"nn": self.t.nn}).to(self.device)

    def tensor(self, *shape):
        values = self.rng.standard_normal(shape).astype(np.float32)
        return self.t.tensor(values, device=self.device)


def told(module):
    named = [*module.named_parameters(), *module.named_buffers()]
    state = [[name, str(value)] for name, value in module.state_dict().items()]
    return repr(module), type(module).__name__, [n for n, _ in named], len(state)


def sizes(module):
    return [[name, list(tensor.shape)] for name, tensor in module.state_dict().items()]


WHOLE = Programs()


@WHOLE
def the_first_input_says_it(h):
    before = told(h.lazy), repr(h.lazy.state_dict()).count("<Uninitialized")
    before += (h.lazy.has_uninitialized_params(),)
    h.lazy(h.input)
    return before, told(h.lazy), sizes(h.lazy), hasattr(h.lazy, "_initialize_hook")


@WHOLE
def known_state_into_a_lazy_one(h):
    for _, tensor in sorted(h.known.state_dict().items()):
        if tensor.is_floating_point():
            tensor.copy_(h.tensor(*tensor.shape).abs())
    said = str(h.lazy.load_state_dict(h.known.state_dict()))
    before = said, sizes(h.lazy), type(h.lazy).__name__
    if "Instance" in h.form:  # to which torch refuses any input then
        return before
    return before, h.lazy(h.input), type(h.lazy).__name__


@WHOLE
def unknown_state_into_a_lazy_one(h):
    said = str(h.lazy.load_state_dict(h.module(h.form).state_dict()))
    return said, h.lazy.has_uninitialized_params(), told(h.lazy)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", WHOLE)
def test_every_kind(name, form, device):
    compare(WHOLE[name], device, form)


RUN = Programs()


@RUN
def copies_are_lazy_by_themselves(h):
    for copied in (copy.deepcopy(h.lazy), pickle.loads(pickle.dumps(h.lazy))):
        copied(h.input)
        assert type(copied) is not type(h.lazy) and not hasattr(copied, "_load_hook")
    return told(h.lazy), h.lazy.has_uninitialized_params()


@RUN
def dtypes_are_kept(h):
    h.lazy.half()
    norm = h.t.nn.LazyBatchNorm1d().to(h.device).half()
    before = str(h.lazy.weight.dtype), str(norm.running_mean.dtype)
    h.lazy(h.input.half())
    return before, str(h.lazy.weight.dtype)


@RUN
def requires_grad_is_kept(h):
    weight = h.t.nn.UninitializedParameter(requires_grad=False)
    seen = [repr(weight), isinstance(weight, h.t.nn.Parameter), h.t.nn.parameter.is_lazy(weight)]
    weight.materialize((2, 3))
    buffer = h.t.nn.UninitializedBuffer()
    kinds = [repr(buffer), isinstance(buffer, h.t.nn.Buffer)]
    buffer.materialize((3,), dtype=h.t.float16)
    return seen, weight.requires_grad, weight.shape, kinds, buffer.shape, str(buffer.dtype)


@RUN
def unknown_state_into_a_known_one(h):
    h.known.load_state_dict(h.lazy.state_dict())


@RUN
def a_shape_is_asked(h):
    return h.lazy.weight.shape


@RUN
def an_input_of_another_rank(h):
    h.t.nn.LazyConv2d(3, 2)(h.t.ones(2, 2))


@RUN
def groups_that_do_not_divide(h):
    h.t.nn.LazyConv1d(4, 2, groups=2)(h.t.ones(1, 3, 4))


@RUN
def another_size_than_was_loaded(h):
    h.lazy.load_state_dict(h.known.state_dict())
    h.lazy(h.tensor(2, 4))


@RUN
def what_does_not_say_how(h):
    class Own(h.t.nn.lazy.LazyModuleMixin if h.t is wt else h.t.nn.modules.lazy.LazyModuleMixin,
              h.t.nn.Linear):  # fmt: skip
        pass

    Own(2, 3)(h.t.ones(1, 2))


@RUN
def what_forgets_one(h):
    class Own(type(h.lazy)):
        def initialize_parameters(self, input):
            pass

    Own(3).to(h.device)(h.input)


@RUN
def weight_norm(h):
    h.t.nn.utils.weight_norm(h.lazy)


@RUN
def spectral_norm(h):
    h.t.nn.utils.spectral_norm(h.lazy)


@pytest.mark.parametrize("name", RUN)
def test_as_torch(name, device):
    compare(RUN[name], device, "LazyLinear(3)")


def compare(program, device, form):
    got, warned = outcome(wt, lambda t: program(Lazy(t, device, form)))
    wanted, also = outcome(torch, lambda t: program(Lazy(t, "cpu", form)))
    assert alike(got, wanted), (got, wanted)
    assert warned == also


def test_ops_refuse():
    for t in (wt, torch):
        with pytest.raises(ValueError, match="uninitialized parameter in .*Call `forward` with"):
            t.nn.LazyLinear(3).weight + 1
