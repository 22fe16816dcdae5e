"""What the models of all mappings share.

They describe the suite language and read no suite: what is generated from them does (`suite/schema.py`).
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from mcptest_engine.core.text import DURATION_PATTERN
from mcptest_engine.core.values import dataclass
from mcptest_engine.suite.schema import URL_PATTERN

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")

Many = tuple[T, ...]

Text = Annotated[str, Field(min_length=1)]
Milliseconds = Annotated[int, Field(ge=1, le=2_147_483_647)]
Duration = Annotated[str, Field(pattern=DURATION_PATTERN)]
"""A number and its unit, such as `30s`."""
HttpUrl = Annotated[str, Field(pattern=URL_PATTERN)]
Scalar = str | int | float | bool


NOT_EMPTY = ConfigDict(json_schema_extra={"minProperties": 1})
"""The configuration of a mapping that must have a key."""


def one_of(*keys: str) -> ConfigDict:
    """The configuration of a mapping that must have exactly one of these keys."""
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

    model_config = ConfigDict(extra="forbid", defer_build=True, protected_namespaces=())
