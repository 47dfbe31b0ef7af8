"""Records: frozen dataclasses that need no code written and compiled for each, which is most of the
time that a dataclass takes to import."""

from __future__ import annotations

from inspect import get_annotations
from typing import Any, ClassVar, TypeVar, dataclass_transform

R = TypeVar("R", bound="Record")
REQUIRED: Any = object()


@dataclass_transform(frozen_default=True)
class Record:
    """Its fields are what the class annotates, by place or by name; their defaults are its
    attributes. A default that is a dict is copied; one that is a function is a staticmethod."""

    _fields: ClassVar[dict[str, Any]] = {}  # name -> default

    def __init_subclass__(cls) -> None:
        bases = [base for base in reversed(cls.__mro__) if hasattr(base, "_fields")]
        names = [name for base in bases for name in get_annotations(base) if name != "_fields"]
        cls._fields = {name: getattr(cls, name, REQUIRED) for name in names}

    def __init__(self, *args: Any, **given: Any):
        fields, values = self._fields, self.__dict__
        values.update(zip(fields, args, strict=False))
        if len(args) > len(fields) or any([name in values for name in given]):
            raise TypeError(f"{type(self).__name__}() got too many values for {list(fields)}")
        values.update(given)
        for name, default in fields.items():
            if name not in values:
                if default is REQUIRED:
                    raise TypeError(f"{type(self).__name__}() missing {name!r}")
                values[name] = dict(default) if type(default) is dict else default
        if len(values) > len(fields):
            raise TypeError(f"{type(self).__name__}() got unexpected {[*values][len(args) :]}")
        self.__post_init__()

    def __post_init__(self) -> None:
        """What is to be checked once all fields are there."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot assign to field {name!r} of a {type(self).__name__}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self._fields)
        return f"{type(self).__name__}({said})"


@dataclass_transform(frozen_default=True, kw_only_default=True)
class NamedRecord(Record):
    """One whose fields are given by name, those of a subclass among those of its base."""


def replace(record: R, **changes: Any) -> R:
    """The same record, but for some fields."""
    fields = record.__dict__
    return type(record)(**{name: fields[name] for name in record._fields} | changes)
