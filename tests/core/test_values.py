"""A value class behaves as one of the standard library's: `core/values.py` only writes its `__init__` later."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from mcptest_engine.core import values

if TYPE_CHECKING:
    from collections.abc import Callable

    Decorate = Callable[..., Callable[[type], type]]

FORMS: tuple[dict[str, bool], ...] = (
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "slots": True},
    {"frozen": True},
    {"slots": True},
    {"slots": True, "eq": False},
)


def plain(decorate: Decorate, **form: bool) -> Any:
    @decorate(**form)
    class Plain:
        """Of each kind of field."""

        one: int
        two: str = "two"
        hidden: bytes = field(default=b"", repr=False, compare=False)
        many: list[int] = field(default_factory=list)

    return Plain


def derived(decorate: Decorate, **form: bool) -> Any:
    parent: Any = plain(decorate, **form)

    @decorate(**form)
    class Derived(parent):
        """Inherits, and sets a field of its own."""

        three: float = 3.0
        later: int = field(init=False, default=0)

        def __post_init__(self) -> None:
            object.__setattr__(self, "later", self.one + 1)

    return Derived


@dataclasses.dataclass(frozen=True, slots=True)
class Library:
    """The standard library's, for comparison."""

    one: int
    many: tuple[int, ...] = ()


@values.dataclass(frozen=True, slots=True)
class Ours:
    """The same fields."""

    one: int
    many: tuple[int, ...] = ()


def outcome(ask: Callable[[], object]) -> object:
    try:
        return ask()
    except (TypeError, FrozenInstanceError) as wrong:
        return type(wrong), str(wrong).replace("Library", "Ours")


@pytest.mark.parametrize("form", FORMS, ids=" ".join)
@pytest.mark.parametrize("build", [plain, derived])
def test_a_value_class_does_what_the_library_does(build: Callable[..., Any], form: dict[str, bool]) -> None:
    """The same arguments are taken and refused, and the same is shown, equal, hashed, replaced and taken apart."""
    library, ours = build(dataclasses.dataclass, **form), build(values.dataclass, **form)
    for arguments, named in (
        ((), {"one": 1}),
        ((1,), {}),
        ((1, "b", b"c", [4]), {}),
        ((), {"one": 1, "two": "b", "many": [4], "hidden": b"c"}),
        ((), {}),
        ((), {"one": 1, "four": 4}),
        ((1,), {"one": 1}),
    ):

        def told(cls: Any, arguments: Any = arguments, named: Any = named) -> object:
            made = cls(*arguments, **named)
            same, other = cls(*arguments, **named), replace(made, two="other")
            return (repr(made), made == same, made == other, made != other, made == 1, asdict(other))

        assert outcome(partial(told, ours)) == outcome(partial(told, library))
    made = [cls(one=1) for cls in (library, ours)]
    assert made[0] != made[1], "values of different classes are never equal"
    assert outcome(lambda: hash(made[1])) == outcome(lambda: hash(made[0])) or not form.get("eq", True)
    assert outcome(lambda: setattr(made[1], "two", "b")) == outcome(lambda: setattr(made[0], "two", "b"))
    assert outcome(lambda: delattr(made[1], "two")) == outcome(lambda: delattr(made[0], "two"))
    assert ours.__match_args__ == library.__match_args__
    assert getattr(ours, "__slots__", None) == getattr(library, "__slots__", None)
    assert [(one.name, one.default, one.compare) for one in fields(ours)] == [
        (one.name, one.default, one.compare) for one in fields(library)
    ]


def test_each_value_gets_a_list_of_its_own() -> None:
    """A default made by a factory is never shared."""
    cls = plain(values.dataclass, slots=True)
    first, second = cls(1), cls(1)
    first.many.append(1)
    assert (first.many, second.many) == ([1], [])


def test_a_value_that_holds_itself_can_be_shown() -> None:
    """As the library shows it, instead of without end."""
    one = plain(values.dataclass, slots=True)(1)
    one.many.append(one)
    assert repr(one).endswith("many=[...])")


def test_a_frozen_value_survives_copying_and_pickling() -> None:
    """Slots that refuse to be set are restored all the same."""
    one = Ours(1, (2, 3))
    assert copy.copy(one) == copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    match one:
        case Ours(1, many):
            assert many == (2, 3)
    classes: tuple[Any, Any] = (Ours, Library)
    assert outcome(classes[0]) == outcome(classes[1])


def test_a_class_of_many_fields_can_be_derived_from() -> None:
    """Its values are set in a quicker way, which a derived class with a layout of its own takes, too."""
    many: Any = values.dataclass(frozen=True, slots=True)(
        type("Many", (), {"__annotations__": {f"field_{number}": "int" for number in range(values._MANY)}})
    )

    class Derived(many):  # with a `__dict__`
        pass

    class Slotted(many):
        __slots__ = ("note",)

    for cls in (many, Derived, Slotted):
        value = cls(*range(values._MANY))
        assert type(value) is cls
        assert dataclasses.astuple(value) == tuple(range(values._MANY))
        assert outcome(lambda value=value: setattr(value, "field_0", 1))[0] is FrozenInstanceError  # type: ignore[index,misc]
