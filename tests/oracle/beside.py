"""A program run in two libraries: what it answers, whichever it ran in."""

import re
import warnings

import numpy as np


def plain(value):
    """What a program answers, without the library it ran in."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, BaseException):
        return type(value).__name__
    array = value.detach().cpu().numpy()
    return np.round(array.astype(np.float64), 4).tolist()


def outcome(library, program):
    """The answer, or the type and the text of the error; and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "Using backward.. with create_graph=True")
        warnings.filterwarnings("ignore", ".* has no kernel on .*; it runs on the cpu")
        try:
            answer = plain(program(library))
        except Exception as error:
            answer = type(error).__name__, text_of(error)
    return answer, sorted({type(w.message).__name__ for w in caught})


def alike(got, wanted):
    """The same answer, but for the last digits of floats."""
    if isinstance(got, list) and isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(alike, got, wanted))
    if isinstance(got, float) and isinstance(wanted, float):
        return np.isclose(got, wanted, 1e-4, 2.1e-4, equal_nan=True)
    return got == wanted


def text_of(error):
    """The first sentence: PyTorch's hints name its own internals. Classes without their rooms."""
    said = re.sub(
        r"<(?:class ')?(?:wg)?torch\.[\w.]*?(\w+)(?:'| object at \w+)>", r"\1", str(error)
    )
    return re.split(r"(?<=[a-z)\]])\.\s|\n", said)[0].rstrip(".")


def leaf(t, *data):
    return t.tensor(list(data), requires_grad=True)


class Programs(dict):
    """Functions of a library by name; a decorator enters them."""

    def __call__(self, function):
        self[function.__name__] = function
        return function


class Library:
    """A library on a device, `h.t`, whose random numbers are the same in all of them."""

    def __init__(self, t, device):
        self.t, self.device, self.utils = t, device, t.nn.utils
        self.rng = np.random.default_rng(0)

    def tensor(self, *shape):
        values = self.rng.standard_normal(shape).astype(np.float32)
        return self.t.tensor(values, device=self.device)

    def same(self, module):
        with self.t.no_grad():
            for name, tensor in sorted([*module.named_parameters(), *module.named_buffers()]):
                if tensor.is_floating_point():
                    values = self.tensor(*tensor.shape)
                    tensor.copy_(values.abs() if "var" in name else values)
        return module.to(self.device)
