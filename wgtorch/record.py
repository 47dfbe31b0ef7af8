"""Records: frozen dataclasses that need no code written and compiled for each, which is most of the
time that a dataclass takes to import."""

from __future__ import annotations

from inspect import Parameter, Signature, get_annotations
from typing import Any, ClassVar, TypeVar, dataclass_transform

R = TypeVar("R", bound="Record")
REQUIRED: Any = object()


class Signed:
    """What inspect.signature says of a Record."""

    def __get__(self, instance: Any, owner: type[Record]) -> Signature:
        kind = Parameter.KEYWORD_ONLY if owner._by_name else Parameter.POSITIONAL_OR_KEYWORD
        fields = sorted(owner._fields.items(), key=lambda field: field[1] is not REQUIRED)
        notes: dict[str, Any] = {}
        for base in reversed(owner.__mro__):
            notes |= get_annotations(base)
        named = [
            Parameter(
                name,
                kind,
                default=Parameter.empty if default is REQUIRED else default,
                annotation=notes[name],
            )
            for name, default in fields
        ]
        return Signature(named)


@dataclass_transform(frozen_default=True)
class Record:
    """Its fields are what the class annotates, by place or by name; their defaults are its
    attributes. A default that is a dict is copied; one that is a function is a staticmethod."""

    _fields: ClassVar[dict[str, Any]] = {}  # name -> default
    _by_name: ClassVar[bool] = False  # whether fields are given by name alone
    __signature__: ClassVar[Any] = Signed()

    def __init_subclass__(cls) -> None:
        bases = [base for base in reversed(cls.__mro__) if hasattr(base, "_fields")]
        names = [n for base in bases for n in get_annotations(base) if not n.startswith("_")]
        cls._fields = {name: getattr(cls, name, REQUIRED) for name in names}

    def __init__(self, *args: Any, **given: Any):
        fields, values = self._fields, self.__dict__
        if len(args) > (0 if self._by_name else len(fields)):
            raise TypeError(f"{type(self).__name__}() got too many values: {args}")
        values.update(zip(fields, args, strict=False))
        for name in given:
            if name not in fields or name in values:
                what = "unexpected" if name not in fields else "a second"
                raise TypeError(f"{type(self).__name__}() got {what} {name!r}; it has {[*fields]}")
        values.update(given)
        missing = []
        for name, default in fields.items():
            if name not in values:
                if default is REQUIRED:
                    missing.append(name)
                values[name] = dict(default) if type(default) is dict else default
        if missing:
            raise TypeError(f"{type(self).__name__}() missing {missing}")
        self.__post_init__()

    def __post_init__(self) -> None:
        """What is to be checked once all fields are there."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot assign to field {name!r} of a {type(self).__name__}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete field {name!r} of a {type(self).__name__}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *[self.__dict__[name] for name in self._fields]))

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self._fields)
        return f"{type(self).__name__}({said})"


@dataclass_transform(frozen_default=True, kw_only_default=True)
class NamedRecord(Record):
    """One whose fields are given by name, those of a subclass among those of its base."""

    _by_name = True


def replace(record: R, **changes: Any) -> R:
    """The same record, but for some fields."""
    fields = record.__dict__
    return type(record)(**{name: fields[name] for name in record._fields} | changes)
