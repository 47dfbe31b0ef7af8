"""Records are like frozen dataclasses; parameters are what inspect.signature says."""

import functools
import inspect
from typing import Any

import pytest

import wgtorch
from wgtorch.op import REGISTRY
from wgtorch.parameters import parameters, worked_out
from wgtorch.record import NamedRecord, Record, replace


class Point(Record):
    """A place."""

    x: int
    y: int = 2
    tags: dict[str, int] = {}
    size: Any = staticmethod(len)

    @property
    def sum(self) -> int:
        return self.x + self.y


class Named(NamedRecord):
    first: int
    second: int = 5


class More(Named):
    third: int


def test_fields_are_given_by_place_or_by_name():
    point = Point(1)
    assert (point.x, point.y, point.sum) == (1, 2, 3) and point.size([1, 2]) == 2
    assert (Point(1, 7).y, Point(y=7, x=1).y) == (7, 7)
    assert (More(third=1, first=2).second, More(third=1, first=2).first) == (5, 2)


@pytest.mark.parametrize(
    "args, given, text",
    [((), {}, r"missing \['x'\]"), ((1, 2, {}, len, 5), {}, "too many"),
     ((1,), {"x": 2}, "a second 'x'"), ((1,), {"z": 2}, "unexpected 'z'")],
)  # fmt: skip
def test_wrong_fields_are_refused(args, given, text):
    with pytest.raises(TypeError, match=rf"Point\(\).*{text}"):
        Point(*args, **given)


def test_records_do_not_change_and_are_equal_by_fields():
    point = Point(1, tags={})
    with pytest.raises(AttributeError, match="cannot assign to field 'x' of a Point"):
        point.x = 2
    assert point == Point(1) and point != Point(2) and point != (1, 2)
    assert replace(point, y=9) == Point(1, 9) and point.y == 2
    assert hash(Named(first=1)) == hash(Named(second=5, first=1))
    with pytest.raises(AttributeError, match="cannot delete field 'x' of a Point"):
        del point.x
    with pytest.raises(TypeError, match=r"Named\(\) got too many values"):
        Named(1)
    assert repr(Named(first=1)) == "Named(first=1, second=5)"


def test_each_record_has_a_dict_of_its_own():
    one, other = Point(1), Point(1)
    one.tags["a"] = 1
    assert other.tags == {} and Point(1).tags == {}


def test_records_have_signatures():
    assert list(inspect.signature(Point).parameters) == ["x", "y", "tags", "size"]
    assert inspect.signature(Point).parameters["y"].default == 2
    assert str(inspect.signature(More)) == "(*, first: int, third: int, second: int = 5)"


def wrapped(function):
    return functools.wraps(function)(lambda *args: function(*args))


@pytest.mark.parametrize(
    "function",
    [lambda: 0, lambda a, b=1, *, c, d=None: 0, lambda a, /, b: 0, lambda *a, **k: 0,
     wrapped(lambda a, b=2: 0), functools.partial(lambda a, b: 0, 1), functools.wraps],
)  # fmt: skip
def test_parameters_are_those_of_the_signature(function):
    same_as_signature(function)


def test_parameters_of_ops_are_those_of_their_signatures():
    for op in REGISTRY.values():
        same_as_signature(op.reference)


def same_as_signature(function):
    known = inspect.signature(function).parameters
    found = parameters(function)
    assert list(found) == list(known)
    for name, p in known.items():
        assert found[name] == (name, p.kind, p.default, p.annotation)


def test_what_is_worked_out_is_kept():
    class Counted:
        calls = 0

        @worked_out
        def value(self):
            "A value."
            self.calls += 1
            return self.calls

    counted = Counted()
    assert (counted.value, counted.value, Counted().value) == (1, 1, 1)
    assert Counted.value.__doc__ == "A value."


def test_names_that_come_later_are_found_and_listed():
    graph = wgtorch.autograd.graph
    assert "spill_to_disk" in dir(graph) and "saved_tensor_report" in dir(graph)
    assert graph.spill_to_disk is wgtorch.autograd.spill_to_disk
    assert wgtorch.autograd.spill.spill_to_disk is graph.spill_to_disk
    assert wgtorch.autograd.report.__name__ == "wgtorch.autograd.report"
    assert not {"TYPE_CHECKING", "later"} & {*dir(graph), *dir(wgtorch.autograd)}
    with pytest.raises(AttributeError, match="module 'wgtorch.autograd.graph' has no"):
        _ = graph.x
