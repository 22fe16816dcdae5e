"""Values that a run record holds as JSON objects: one line of each class lists the members, and both ways follow from it.

A class gets a compiled encoder and a compiled decoder after its first values, as `core/values.py` compiles `__init__`. They are
as fast as functions written by hand. A run of one test does not wait for compiling.
"""

from __future__ import annotations

import sys
from dataclasses import MISSING, fields
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Self


class JsonObject:
    """A dataclass with a JSON form.

    `JSON_MEMBERS` are its fields in the published order. `name?` is left out when it is None or, where its default is another
    value, when it is empty; `key=name` has another name in JSON. The annotation of a field says whether it holds enums or other
    such classes, one or a tuple of them.
    """

    __slots__ = ()
    JSON_MEMBERS: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        return _encoders[type(self)](self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return decode(cls, data)


T = TypeVar("T", bound=JsonObject)


def encode(value: JsonObject) -> dict[str, Any]:
    """The members of a value, those of values in it too."""
    return _encoders[type(value)](value)


def decode(cls: type[T], data: Mapping[str, Any], **others: object) -> T:
    """The encoded value, with `others` for fields that are no members. Raises: KeyError, TypeError, ValueError."""
    value: T = _decoders[cls](data, **others)
    return value


class _Member(NamedTuple):
    """`kind` is the enum or the class with a JSON form that the field holds, one or a tuple of them, None for JSON itself."""

    key: str
    name: str
    is_optional: bool
    is_tuple: bool
    is_nullable: bool
    kind: type[Any] | None
    default: Any

    def decoded(self, value: Any) -> Any:
        if value is None and (self.is_optional or self.is_nullable):
            return self.default if self.is_optional else None
        kind = self.kind
        read = kind.from_json if kind is not None and issubclass(kind, JsonObject) else kind
        if self.is_tuple:
            return tuple(value) if read is None else tuple([read(one) for one in value])
        return value if read is None else read(value)

    def encoding(self, value: str) -> str:
        """The expression that encodes what the expression `value` is."""
        if self.kind is None:
            return f"list({value})" if self.is_tuple else value
        # `_value_` is `value` without a call of Python code
        call = "{}._value_" if issubclass(self.kind, Enum) else "{}.to_json()"
        return self._for_each(f"[{call.format('one')} for one in {value}]", call, value)

    def decoding(self, value: str) -> str:
        """The expression that decodes what the expression `value` is, the default of an optional member aside."""
        if self.kind is None:
            return f"tuple({value})" if self.is_tuple else value
        call = f"{self.kind.__name__}({{}})" if issubclass(self.kind, Enum) else f"{self.kind.__name__}.from_json({{}})"
        return self._for_each(f"tuple([{call.format('one')} for one in {value}])", call, value)

    def _for_each(self, many: str, call: str, value: str) -> str:
        if self.is_tuple:
            return many
        if self.is_nullable and not self.is_optional:
            return f"None if (value := {value}) is None else {call.format('value')}"
        return call.format(value)


_COMPILED_AFTER = 50
"""Compiling takes about as long as encoding or decoding so many values member by member."""


class Encoders(dict[type[Any], "Callable[[Any], dict[str, Any]]"]):
    """The encoder of each class."""

    def __missing__(self, cls: type[Any]) -> Callable[[Any], dict[str, Any]]:
        members, values = tuple(_members(cls)), count(1)

        def encode(value: Any) -> dict[str, Any]:
            if next(values) == _COMPILED_AFTER:
                self[cls] = compiled_encoder(cls)
            out = {}
            for member in members:
                of_member = getattr(value, member.name)
                if not member.is_optional or (of_member is not None if member.default is None else of_member):
                    out[member.key] = _json_of(of_member)
            return out

        self[cls] = encode
        return encode


class Decoders(dict[type[Any], "Callable[..., Any]"]):
    """The decoder of each class."""

    def __missing__(self, cls: type[Any]) -> Callable[..., Any]:
        members, values = tuple(_members(cls)), count(1)

        def decode(data: Mapping[str, Any], **others: object) -> Any:
            if next(values) == _COMPILED_AFTER:
                self[cls] = compiled_decoder(cls)
            found = {
                member.name: member.decoded(data.get(member.key) if member.is_optional else data[member.key])
                for member in members
            }
            return cls(**found, **others)

        self[cls] = decode
        return decode


_encoders, _decoders = Encoders(), Decoders()


def _json_of(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_json_of(one) for one in value]
    if isinstance(value, JsonObject):
        return value.to_json()
    return value.value if isinstance(value, Enum) else value


def compiled_encoder(cls: type[Any]) -> Callable[[Any], dict[str, Any]]:
    first: list[str] = []
    others: list[str] = []
    for member in _members(cls):
        if member.is_optional:
            is_given = (
                f"(value := self.{member.name}) is not None"
                if member.default is None
                else f"value := self.{member.name}"
            )
            others.append(f"if {is_given}: out[{member.key!r}] = {member.encoding('value')}")
        elif others:
            others.append(f"out[{member.key!r}] = {member.encoding(f'self.{member.name}')}")
        else:
            first.append(f"{member.key!r}: {member.encoding(f'self.{member.name}')}")
    lines = "\n    ".join((f"out = {{{', '.join(first)}}}", *others, "return out"))
    scope: dict[str, Any] = {}
    exec(f"def encode(self):\n    {lines}", scope)  # noqa: S102 - names of fields and types, as in `core/values.py`
    encoder: Callable[[Any], dict[str, Any]] = scope["encode"]
    return encoder


def compiled_decoder(cls: type[Any]) -> Callable[..., Any]:
    members = tuple(_members(cls))
    scope: dict[str, Any] = {member.kind.__name__: member.kind for member in members if member.kind is not None}
    scope["cls"] = cls
    arguments = []
    for member in members:
        value = member.decoding(f"data[{member.key!r}]")
        if member.is_optional and member.default is None and member.decoding("") == "":
            value = f"data.get({member.key!r})"
        elif member.is_optional:
            scope[f"_default_{member.name}"] = member.default
            is_given = f"(value := data.get({member.key!r})) is not None"
            value = f"{member.decoding('value')} if {is_given} else _default_{member.name}"
        arguments.append(f"{member.name}={value}")
    exec(f"def decode(data, **others):\n    return cls({', '.join(arguments)}, **others)", scope)  # noqa: S102 - as above
    decoder: Callable[..., Any] = scope["decode"]
    return decoder


def _members(cls: type[Any]) -> Iterator[_Member]:
    module, by_name = vars(sys.modules[cls.__module__]), {field.name: field for field in fields(cls)}
    for member in cls.JSON_MEMBERS.split():
        key, _, name = member.removesuffix("?").rpartition("=")
        field = by_name[name]
        annotation = str(field.type)  # its text: no module of ours evaluates annotations
        kind = module.get(annotation.removesuffix(" | None").removeprefix("tuple[").removesuffix(", ...]"))
        default = field.default if field.default_factory is MISSING else field.default_factory()
        yield _Member(
            key=key or name,
            name=name,
            is_optional=member.endswith("?"),
            is_tuple=annotation.startswith("tuple["),
            is_nullable=annotation.endswith(" | None"),
            kind=kind if isinstance(kind, type) and issubclass(kind, (Enum, JsonObject)) else None,
            default=None if default is MISSING else default,
        )
