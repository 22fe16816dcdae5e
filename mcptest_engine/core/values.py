"""`dataclass` as the standard library has it, but an `__init__` is written when the first value of its class is made.

The library writes and compiles six functions for each class while its module is imported: half a millisecond a class, a quarter
of all that `mcptest run` does before its first test, and most of it for classes that the run makes no value of. Here whatever
can be the same function for every class is, and `__init__` waits. To the type checker it is the library's own decorator, and
`fields`, `replace`, `asdict` and `match` work as they do on its classes. What the start of a command imports uses it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, FrozenInstanceError, fields
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass
else:

    def dataclass(*, frozen=False, slots=False, kw_only=False, eq=True):  # noqa: ANN001, ANN201
        """What the library's does with the same arguments, and with its `field`."""
        return lambda cls: _prepared(cls, frozen=frozen, slots=slots, kw_only=kw_only, eq=eq)


__all__ = ["dataclass"]

_UNGIVEN = object()
_MANY = 20
"""A class of so many fields has its values set in a quicker way, which takes longer to begin with."""


def _prepared(cls: type, *, frozen: bool, slots: bool, kw_only: bool, eq: bool) -> type:
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)

    def write_first(self: object, *args: object, **named: object) -> None:
        made.__init__ = _init(made, frozen=frozen, slots=slots)
        made.__init__(self, *args, **named)

    made.__init__ = write_first
    if "__repr__" not in vars(cls):
        made.__repr__ = _repr
    if eq:
        made.__eq__ = _equal
        made.__hash__ = _hash if frozen else None
    if frozen:
        made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete
        if slots:
            made.__getstate__, made.__setstate__ = _state, _restore
    return made  # type: ignore[no-any-return]


def _init(cls: Any, *, frozen: bool, slots: bool) -> Callable[..., None]:
    """The `__init__` of a class, from its fields. A slot's own setter takes half as long as `object.__setattr__`."""
    scope: dict[str, Any] = {"_set": object.__setattr__, "_UNGIVEN": _UNGIVEN}
    opened = frozen and slots and len(fields(cls)) >= _MANY
    plain = not frozen or opened
    positional: list[str] = []
    named: list[str] = []
    body: list[str] = []
    for field in fields(cls):
        name, parameter, value = field.name, field.name, field.name
        if field.default_factory is not MISSING:
            scope[f"_new_{name}"] = field.default_factory
            parameter += "=_UNGIVEN"
            value = f"_new_{name}() if {name} is _UNGIVEN else {name}" if field.init else f"_new_{name}()"
        elif field.default is not MISSING:
            scope[f"_default_{name}"] = field.default
            parameter += f"=_default_{name}"
            value = name if field.init else f"_default_{name}"
        elif not field.init:
            continue  # `__post_init__` sets it
        if field.init:
            (named if field.kw_only else positional).append(parameter)
        if frozen and slots and not opened:
            scope[f"_set_{name}"] = getattr(cls, name).__set__
            body.append(f"_set_{name}(self, {value})")
        else:
            body.append(f"self.{name} = {value}" if plain else f"_set(self, {name!r}, {value})")
    if opened:
        # Setting an attribute is several times as fast as calling its setter: so the value is of a twin class meanwhile, which
        # lets them be set. A derived class has a twin of its own, because its values may be laid out otherwise.
        scope |= {"_cls": cls, "_twin": _settable_twin(cls), "_twin_of": _settable_twin}
        twin = "_twin if _own is _cls else _twin_of(_own)"
        body = ["_own = self.__class__", f"_set(self, '__class__', {twin})", *body, "_set(self, '__class__', _own)"]
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join(["self", *positional, *(["*", *named] if named else [])])
    lines = "\n    ".join(body or ["pass"])
    exec(f"def __init__({parameters}):\n    {lines}", scope)  # noqa: S102 - names of fields, as the library does it
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


@cache
def _settable_twin(cls: type) -> type:
    settable = {"__setattr__": object.__setattr__, "__delattr__": object.__delattr__}  # with one alone it is slower
    return type(cls.__name__, (cls,), {"__slots__": (), **settable})


def _getter(cls: Any) -> Callable[[Any], Any]:
    names = [field.name for field in fields(cls) if field.compare]
    return attrgetter(*names) if names else lambda _: ()


_compared: Callable[[Any], Callable[[Any], Any]] = cache(_getter)


def _equal(self: object, other: object) -> Any:
    if type(self) is not type(other):
        return NotImplemented
    values = _compared(type(self))
    return values(self) == values(other)


def _hash(self: object) -> int:
    return hash(_compared(type(self))(self))


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_to_set(_self: object, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
