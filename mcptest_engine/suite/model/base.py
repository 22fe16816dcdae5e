"""What all parts of the suite model share: frozen, strict, no unknown keys, and no key without a value."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, Strict, model_validator
from pydantic_core import PydanticCustomError

from mcptest_engine.core.durations import DURATION_PATTERN
from mcptest_engine.core.values import dataclass
from mcptest_engine.suite.forms import URL_PATTERN

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")

Many = Annotated[tuple[T, ...], Strict(strict=False)]
"""A list in the file, a tuple in the model; only the container is read leniently, never its items."""

Text = Annotated[str, Field(min_length=1)]
Group = Annotated[
    str,
    Field(
        min_length=1,
        description="Tests of one group depend on each other. They run one after another, in the order of the "
        "suite. Selecting one of them selects all, and a shard gets all of them.",
        examples=["accounts"],
    ),
]
"""The name that tests which depend on each other have in common."""
Fresh = Annotated[
    bool | Literal["group"],
    Field(
        description="Start a new process of the server for each attempt of a test (`true`), or for each `group` of tests "
        "(`group`). A test without a group gets its own. On a test it overrides the server's.",
        examples=[True, "group"],
    ),
]
"""Whether tests get a process of their own."""
ServerFresh = Annotated[
    bool | Literal["group", "suite"],
    Field(
        description="Start a new process of this server for each attempt of a test (`true`), for each `group` of tests "
        "(`group`; a test without a group gets its own), or for the suite (`suite`), where several suites that run together "
        "would share one.",
        examples=[True, "group", "suite"],
    ),
]
"""Whether the tests of a server get a process of their own, each or all together."""
Milliseconds = Annotated[int, Field(ge=1, le=2_147_483_647)]
Duration = Annotated[str, Field(pattern=DURATION_PATTERN)]
"""A number and its unit, such as `30s`."""
HttpUrl = Annotated[str, Field(pattern=URL_PATTERN)]
Scalar = str | int | float | bool


def one_of(*keys: str) -> ConfigDict:
    """The configuration of a `OneWay` with these keys: what the schema says of them."""
    return ConfigDict(json_schema_extra={"oneOf": [{"required": [key]} for key in keys]})


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What messages and docs say of one mapping, beside its docstring, which is its description in the schema."""

    expected: str = "a mapping"
    """What a message expected where something else stands."""
    place: str = ""
    """Where a key of it belongs, for a key that stands elsewhere: "`key` belongs …"."""
    choice: tuple[str, str] | None = None
    """What it is called, and how to write it, where it lacks each of the keys of which it needs one."""
    instead: Mapping[str, str] = field(default_factory=dict)
    """How to write it, where a "text", a "list" or another "value" stands in its place, which `VALUE` stands for."""
    later: str = ""
    """Keys that a later version has, separated by spaces: they are not taken for misspellings."""
    is_rare: bool = False
    """Whether a misplaced key belongs rather to any other mapping that has it."""
    heading: str = ""
    """The heading of its table in `docs/reference/suite.md`; without one it has no table."""
    text: str = ""
    """The sentences between the heading and the table."""
    link: str = "mapping"
    """How the tables of others name it."""


def hints(
    aliases: str = "", *, missing: str = "", items: str = "", told: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What messages say of a key, as `json_schema_extra` of its field. A subclass that has the key anew adds to it.

    `aliases` are words of other tools for the key, separated by spaces; the hint is "did you mean KEY?". `told` gives other
    hints for such words. `missing` is the hint where the key is missing, `items` what the items of its list are called.
    """
    other = {word: hint for words, hint in (told or {}).items() for word in words.split()}
    given = {"aliases": aliases.split(), "missing": missing, "items": items, "told": other}
    return {"hints": {name: value for name, value in given.items() if value}}


class Part(BaseModel):
    """One mapping of a suite."""

    about: ClassVar[About] = About()

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", defer_build=True, allow_inf_nan=False, protected_namespaces=()
    )

    may_be_null: ClassVar[frozenset[str]] = frozenset()
    """The keys under which null is a value. Elsewhere None in the model means that the key was not written."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_null(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for key, value in data.items():
                if value is None and key not in cls.may_be_null:
                    raise PydanticCustomError("null", "`{key}` has no value", {"key": str(key)})
        return data


class OneWay(Part):
    """A mapping of which exactly one of several keys is there; `model_config = one_of(…)` says so to the schema."""

    ways: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if len(self.model_fields_set.intersection(self.ways)) != 1:
            shown = " or ".join(f"`{way}`" for way in self.ways)
            raise PydanticCustomError("one_way", "either {ways}, and one of them only", {"ways": shown})
        return self
