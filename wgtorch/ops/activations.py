"""Smooth activations: sigmoid and what is made of such curves. See rectifiers.py for the others."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from wgtorch.layout import wrap_dim
from wgtorch.lazy import Lazy
from wgtorch.op import composite, elementwise
from wgtorch.ops.arguments import floats_only
from wgtorch.ops.branches import choose
from wgtorch.ops.samples import binary, normal, options, share, unary, wide

special = Lazy("scipy.special")
F = "nn.functional."


def logistic(x):
    """1 / (1 + e^-x); what overflows on the way is 0 in the end."""
    return np.reciprocal(1 + np.exp(-x))


@elementwise(
    "sigmoid(input)",
    vjp={"input": lambda grad, result: grad * (1 - result) * result},
    samples=unary(),
    result="float",
    complex=True,
)
def sigmoid(input):
    "1 / (1 + exp(-input)), the logistic function"
    return logistic(input)


@elementwise(
    "logsigmoid(input)",
    vjp={"input": lambda grad, input: grad * (-input).sigmoid()},
    samples=unary(),
    refuses=floats_only("log_sigmoid_cpu"),
    torch=F + "logsigmoid",
    inplace=False,
)
def logsigmoid(input):
    "log(sigmoid(input)), without overflow on the way"
    return np.minimum(input, 0) - np.log1p(np.exp(-np.abs(input)))


def slope_of_cross_entropy(grad, input, other):
    """As if no logarithm was cut off, and finite where one was."""
    return grad * (input - other) / ((1 - input) * input).clamp(min=1e-12)


LOG, REST = "clamp_min(log(input), -100)", "clamp_min(log1p(-input), -100)"
BOTH = f"({REST} - {LOG})"


@elementwise(  # from the nearer end, as lerp: one product, whether it is rounded or not
    f"select((other - 1) * {BOTH} - {LOG}, other * {BOTH} - {REST}, other < 0.5)",
    vjp={
        "input": slope_of_cross_entropy,
        "other": lambda grad, input: grad * ((-input).log1p() - input.log()),
    },
    samples=binary(share, share),
    refuses=floats_only("binary_cross_entropy"),
    inplace=False,
)
def _binary_cross_entropy(input, other):
    "Binary cross entropy of probabilities, logarithms from -100 on"
    with np.errstate(divide="ignore"):
        log, rest = np.maximum(np.log(input), -100), np.maximum(np.log1p(-input), -100)
    return choose(other < 0.5, other * (rest - log) - rest, (other - 1) * (rest - log) - log)


@elementwise(
    "select(div(softplus(input * beta), beta), input, gt(input * beta, threshold))",
    vjp={
        "input": lambda grad, input, beta, threshold: grad.where(
            input * beta > threshold, grad * (input * beta).sigmoid()
        )
    },
    samples=options(wide, {}, {"beta": 2.0, "threshold": 5.0}),
    refuses=floats_only("softplus_cpu"),
    torch=F + "softplus",
    inplace=False,
)
def softplus(input, beta: float = 1.0, threshold: float = 20.0):
    "log(1 + exp(beta * input)) / beta, and input itself where beta * input is above threshold"
    x = input * beta
    smooth = np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    return choose(x > threshold, input, smooth / np.asarray(beta, input.dtype))


def slope_of_silu(grad, input):
    s = input.sigmoid()
    return grad * (s * (1 + input * (1 - s)))


@elementwise(
    "silu(input)",
    vjp={"input": slope_of_silu},
    samples=unary(),
    refuses=floats_only("silu_cpu"),
    torch=F + "silu",
    complex=True,
)
def silu(input):
    "input * sigmoid(input), also called swish"
    return input * logistic(input)


def slope_of_mish(grad, input):
    w = input.softplus().tanh()
    return grad * (w + input * input.sigmoid() * (1 - w * w))


@elementwise(
    "mish(input)",
    vjp={"input": slope_of_mish},
    samples=unary(),
    refuses=floats_only("mish_cpu"),
    torch=F + "mish",
)
def mish(input):
    "input * tanh(softplus(input))"
    smooth = np.maximum(input, 0) + np.log1p(np.exp(-np.abs(input)))
    return input * np.tanh(smooth)


def normal_density(input):
    return (input * input * -0.5).exp() * (1 / sqrt(2 * pi))


@elementwise(
    "gelu_slope(input)",
    vjp={"input": lambda grad, input: grad * normal_density(input) * (2 - input * input)},
    samples=unary(),
    refuses=floats_only("GeluBackwardKernelImpl"),
    torch="-",
    inplace=False,
)
def _gelu_slope(input):
    "The derivative of gelu: the normal distribution, and input times its density."
    return special.ndtr(input) + input * np.exp(input * input * -0.5) * (1 / sqrt(2 * pi))


def in_this_form(door):
    """`gelu` by the error function, or by its approximation with tanh."""

    def call(input, *, approximate="none"):
        if approximate == "none":
            return door(input)
        if approximate == "tanh":
            return input._gelu_tanh()
        raise RuntimeError("approximate argument must be either none or tanh.")

    return call


@elementwise(
    "gelu(input)",
    vjp={"input": lambda grad, input: grad * input._gelu_slope()},
    samples=unary(),
    refuses=floats_only("GeluKernelImpl"),
    front=in_this_form,
    torch=F + "gelu",
)
def gelu(input):
    "input times the share of a normal distribution below it (Hendrycks and Gimpel 2016)"
    return input * special.ndtr(input)


FIRST, CUBIC = 2 * sqrt(2 / pi), 0.044715 * 2 * sqrt(2 / pi)  # (1 + tanh(y)) / 2 = sigmoid(2 y)


def curve_of_gelu_tanh(grad, input):
    square = input * input
    turn = input * (FIRST + CUBIC * square)
    share, rest = turn.sigmoid(), (-turn).sigmoid()  # 1 - share has no digits left where it is 1
    steep = FIRST + 3 * CUBIC * square
    bend = steep * steep * (rest - share) + 6 * CUBIC * input
    return grad * share * rest * (2 * steep + input * bend)


@elementwise(
    "gelu_tanh_slope(input)",
    vjp={"input": curve_of_gelu_tanh},
    samples=unary(),
    refuses=floats_only("GeluBackwardKernelImpl"),
    torch="-",
    inplace=False,
)
def _gelu_tanh_slope(input):
    "The derivative of gelu with its distribution approximated by a tanh."
    square = input * input
    share = logistic(input * (FIRST + CUBIC * square))
    return share + input * share * (1 - share) * (FIRST + 3 * CUBIC * square)


@elementwise(
    "gelu_tanh(input)",
    vjp={"input": lambda grad, input: grad * input._gelu_tanh_slope()},
    samples=unary(),
    refuses=floats_only("GeluKernelImpl"),
    torch="-",
    inplace=False,
)
def _gelu_tanh(input):
    "gelu with its distribution approximated by a tanh"
    return 0.5 * input * (1 + np.tanh(sqrt(2 / pi) * (input + 0.044715 * input * input * input)))


# Gates


def slope_of_gate(grad, input, other):
    s = other.sigmoid()
    return grad * input * (s * (1 - s))


@elementwise(
    "input * sigmoid(other)",
    vjp={"input": lambda grad, other: grad * other.sigmoid(), "other": slope_of_gate},
    samples=binary(),
    refuses=floats_only("glu_cpu"),
    torch="-",
    inplace=False,
)
def _gated(input, other):
    "input * sigmoid(other)"
    return input * logistic(other)


@composite(
    samples=lambda rng: [((normal(rng, 3, 4),), {}), ((normal(rng, 6, 2),), {"dim": 0})],
    torch=F + "glu",
)
def glu(input, dim: int = -1):
    "The first half along dim, times the sigmoid of the second"
    if not input.ndim:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    dim = wrap_dim(dim, input.ndim)
    size = input.shape[dim]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {size}")
    half = size // 2
    return input.narrow(dim, 0, half)._gated(input.narrow(dim, half, half))
