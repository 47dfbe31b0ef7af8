"""Views and writes through them, beside PyTorch: what is refused, what becomes of gradients."""

import pytest

import wgtorch
from tests.oracle.beside import outcome

torch = pytest.importorskip("torch")

VIEWS = {
    "unbind": lambda t, y: y.unbind(1),
    "split": lambda t, y: y.split(2),
    "sizes": lambda t, y: y.split([1, 3]),
    "chunk": lambda t, y: t.chunk(y, 2, -1),
    "tensor_split": lambda t, y: t.tensor_split(y, 2),
    "hsplit": lambda t, y: t.hsplit(y, 2),
    "unsafe_split": lambda t, y: t.unsafe_split(y, 2),
    "unsafe_chunk": lambda t, y: t.unsafe_chunk(y, 2),
    "iteration": lambda t, y: tuple(y),
    "slice": lambda t, y: (y[:2], y[2:]),
    "as_strided": lambda t, y: (y.as_strided((2, 2), (4, 1), 1), y[2:]),
}


def recorded(t):
    x = t.arange(16.0).reshape(4, 4).requires_grad_()
    return x, x * 1.0


def written(t, views):
    """A part written to while that is recorded."""
    x, y = recorded(t)
    views(t, y)[1].mul_(3.0)
    y.sum().backward()
    return y, x.grad


def written_by_a_number(t, views):
    x, y = recorded(t)
    views(t, y)[0].fill_(3.0)
    (y * y).sum().backward()
    return y, x.grad


def written_inside(t, views):
    x, y = recorded(t)
    views(t, y)[1][:1].mul_(3.0)
    y.sum().backward()
    return y, x.grad


def of_a_leaf(t, views):
    return views(t, recorded(t)[0])[1].mul_(3.0)


def of_a_constant(t, views):
    x = t.ones(4, 4)
    views(t, x)[1].mul_(3.0)
    return x, x.requires_grad


def of_a_constant_with_a_gradient(t, views):
    x, w = t.ones(4, 4), t.tensor(2.0, requires_grad=True)
    part = views(t, x)[1].mul_(w)
    (x.sum() + part.sum()).backward()
    return x, w.grad


def read_after_its_base_was_written(t, views):
    x, y = recorded(t)
    part = views(t, y)[1]
    y.mul_(2.0)
    (part * part).sum().backward()
    return x.grad


def made_without_recording(t, views):
    _, y = recorded(t)
    with t.no_grad():
        part = views(t, y)[1]
    return part.mul_(3.0)


def written_without_recording(t, views):
    x, y = recorded(t)
    with t.no_grad():
        views(t, y)[1].mul_(3.0)
    (y * y).sum().backward()
    return y, x.grad


PROGRAMS = (
    written, written_by_a_number, written_inside, of_a_leaf, of_a_constant,
    of_a_constant_with_a_gradient, read_after_its_base_was_written, made_without_recording,
    written_without_recording,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("name", VIEWS)
def test_a_part_is_written_to_as_in_pytorch(name, program):
    answers = [outcome(lib, lambda t: program(t, VIEWS[name])) for lib in (wgtorch, torch)]
    assert answers[0] == answers[1]


SHAPES = [(2, 3), (2, 3, 4, 5), (2, 1, 4, 5), (2, 3, 1, 1), (0, 3, 2, 2), (2, 0, 2, 2),
          (1, 3, 1, 2), (2, 3, 1, 1, 1), (2, 3, 4, 1, 2)]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_orders_of_memory(shape):
    def orders(t):
        x = t.ones(shape)
        last = x.movedim(1, -1).contiguous().movedim(-1, 1)
        formats = t.contiguous_format, t.channels_last, t.channels_last_3d, t.preserve_format
        return [y.is_contiguous(memory_format=f) for y in (x, last) for f in formats]

    assert orders(wgtorch) == orders(torch)
