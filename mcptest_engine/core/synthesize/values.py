"""What synthesis gives: a value with what was guessed in it, and named cases of a tool's arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from mcptest_engine.core.json_types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """A value for one schema. `value` is valid under it when `problem` is None, and else the best attempt.

    `guessed` tells where the value is a mere guess (free text, a path, an id, an unbounded number): the name of an argument,
    or its JSON Pointer when it lies deeper ("/filter/name"); "" is the value itself.
    """

    value: Json
    guessed: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentCase:
    """Arguments for one call of a tool, named on one line; `valid` says whether they conform to its input schema.

    `guessed` is as in `Synthesis`.
    """

    name: str
    arguments: Json
    valid: bool
    guessed: tuple[str, ...] = ()
