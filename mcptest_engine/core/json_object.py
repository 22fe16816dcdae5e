"""Values that a run record holds as JSON objects: one line of each class lists the members, and both ways follow from it.

A class gets a compiled encoder after its first values, and a compiled decoder at once, as `core/values.py` compiles `__init__`.
Compiled functions are as fast as functions written by hand. A run of one test does not wait for compiling.
"""

from __future__ import annotations

import sys
from dataclasses import MISSING, fields
from enum import Enum
from functools import cache
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
    value: T = _decoder(cls)(data, **others)
    return value


class _Member(NamedTuple):
    """`encode` and `decode` are expressions with `{}` for the value."""

    key: str
    name: str
    is_optional: bool
    default: Any
    encode: str
    decode: str


_COMPILED_AFTER = 50
"""Compiling an encoder takes about as long as encoding so many values member by member."""


class Encoders(dict[type[Any], "Callable[[Any], dict[str, Any]]"]):
    """The encoder of each class."""

    def __missing__(self, cls: type[Any]) -> Callable[[Any], dict[str, Any]]:
        members, values = tuple(_members(cls, {})), count(1)

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


def _json_of(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_json_of(one) for one in value]
    if isinstance(value, JsonObject):
        return value.to_json()
    return value.value if isinstance(value, Enum) else value


def compiled_encoder(cls: type[Any]) -> Callable[[Any], dict[str, Any]]:
    scope: dict[str, Any] = {}
    first: list[str] = []
    others: list[str] = []
    for member in _members(cls, scope):
        if member.is_optional:
            is_given = (
                f"(value := self.{member.name}) is not None"
                if member.default is None
                else f"value := self.{member.name}"
            )
            others.append(f"if {is_given}: out[{member.key!r}] = {member.encode.format('value')}")
        elif others:
            others.append(f"out[{member.key!r}] = {member.encode.format(f'self.{member.name}')}")
        else:
            first.append(f"{member.key!r}: {member.encode.format(f'self.{member.name}')}")
    lines = "\n    ".join((f"out = {{{', '.join(first)}}}", *others, "return out"))
    exec(f"def encode(self):\n    {lines}", scope)  # noqa: S102 - names of fields and types, as in `core/values.py`
    encoder: Callable[[Any], dict[str, Any]] = scope["encode"]
    return encoder


def _new_decoder(cls: type[Any]) -> Callable[..., Any]:
    scope: dict[str, Any] = {"cls": cls}
    arguments = []
    for member in _members(cls, scope):
        value = member.decode.format(f"data[{member.key!r}]")
        if member.is_optional and member.default is None and member.decode == "{}":
            value = f"data.get({member.key!r})"
        elif member.is_optional:
            scope[f"_default_{member.name}"] = member.default
            is_given = f"(value := data.get({member.key!r})) is not None"
            value = f"{member.decode.format('value')} if {is_given} else _default_{member.name}"
        arguments.append(f"{member.name}={value}")
    exec(f"def decode(data, **others):\n    return cls({', '.join(arguments)}, **others)", scope)  # noqa: S102 - as above
    decoder: Callable[..., Any] = scope["decode"]
    return decoder


_encoders = Encoders()
_decoder: Callable[[Any], Callable[..., Any]] = cache(_new_decoder)


def _members(cls: type[Any], scope: dict[str, Any]) -> Iterator[_Member]:
    """The members of a class; the types that their expressions name are put into `scope`."""
    module, by_name = vars(sys.modules[cls.__module__]), {field.name: field for field in fields(cls)}
    for member in cls.JSON_MEMBERS.split():
        key, _, name = member.removesuffix("?").rpartition("=")
        field, is_optional = by_name[name], member.endswith("?")
        annotation = str(field.type)  # its text: no module of ours evaluates annotations
        inner = annotation.removesuffix(" | None").removeprefix("tuple[").removesuffix(", ...]")
        kind, encode, decode = module.get(inner), "{}", "{}"
        if isinstance(kind, type) and issubclass(kind, Enum):
            # `_value_` is `value` without a call of Python code
            scope[inner], encode, decode = kind, "{}._value_", f"{inner}({{}})"
        elif isinstance(kind, type) and issubclass(kind, JsonObject):
            scope[inner], encode, decode = kind, "{}.to_json()", f"{inner}.from_json({{}})"
        if annotation.startswith("tuple["):
            encode = "list({})" if encode == "{}" else f"[{encode.format('one')} for one in {{}}]"
            decode = "tuple({})" if decode == "{}" else f"tuple([{decode.format('one')} for one in {{}}])"
        elif annotation.endswith(" | None") and encode != "{}" and not is_optional:
            encode = f"None if (value := {{}}) is None else {encode.format('value')}"
            decode = f"None if (value := {{}}) is None else {decode.format('value')}"
        default = field.default if field.default_factory is MISSING else field.default_factory()
        yield _Member(key or name, name, is_optional, None if default is MISSING else default, encode, decode)
