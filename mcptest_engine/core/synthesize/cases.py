"""Cases of a tool's arguments: at a boundary of its input schema, and just outside it.

Each case is one change to the synthesised arguments, and the validator says of each whether it conforms: a change that did
not turn out as meant is dropped, so that no case claims what the schema does not say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.core.schema_weight import too_heavy
from mcptest_engine.core.synthesize.build import Attempt, DeadEnd, Exhausted, Fuel
from mcptest_engine.core.synthesize.conjunctions import (
    allowed_values,
    json_key,
    kinds_of,
    members,
    required,
    type_of,
)
from mcptest_engine.core.synthesize.numbers import Range, is_machine_bound, is_number
from mcptest_engine.core.synthesize.search import guesses, judged, readable
from mcptest_engine.core.synthesize.values import ArgumentCase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.core.synthesize.values import Synthesis

    Found = tuple[object, tuple[str, ...]]  # a value, and what was guessed in it
    Facets = list[JsonDict]

MOST_CASES = 30  # of one tool
_MOST_ARGUMENTS = 200  # of one tool that are varied
_LONGEST = 10_000  # characters of one text
_MOST_ITEMS = 100
_STEPS = 20_000  # for all cases of one tool
_WRONG: tuple[tuple[str, str, object], ...] = (
    ("string", "is text", "not what is asked for"),
    ("integer", "is a number", 12345),
    ("array", "is a list", []),
    ("object", "is an object", {}),
    ("boolean", "is a boolean", True),
)


class Cases:
    """The cases of one tool; `base` are its arguments as synthesised."""

    def __init__(self, schema: object, base: Synthesis) -> None:
        self._document, self._validator, _ = readable(schema)
        self._fuel = Fuel(_STEPS)
        self._base: dict[str, object] = base.value if isinstance(base.value, dict) else {}
        self._guessed = base.guessed
        self._usable = self._validator is not None and base.problem is None and isinstance(base.value, dict)
        self._found: dict[str, Found | None] = {}
        self._top: Facets = self._conjunction([self._document.root], ()) if self._usable else []
        declared = [name for schema in self._top for name in members(schema, "properties")]
        self._required = list(dict.fromkeys(name for schema in self._top for name in required(schema)))[
            :_MOST_ARGUMENTS
        ]
        self._names = list(dict.fromkeys([*self._base, *declared]))[:_MOST_ARGUMENTS]
        self._seen = {json_key(self._base)}

    def edges(self) -> Iterator[ArgumentCase]:
        """Valid cases that differ from the arguments as synthesised, the most telling first."""
        if not self._usable:
            return
        for name in self._names:
            for what, found in self._declared_bounds(name):
                yield from self._with(f"{what} `{name}`", {name: found}, valid=True)
        optional: dict[str, Found] = {}
        for name in self._names:
            if name not in self._base and (made := self._member(name)) is not None:
                optional[name] = made
        yield from self._with("every optional argument given", optional, valid=True)
        for name in self._names:
            for what, found in self._plain_ends(name):
                yield from self._with(f"{what} `{name}`", {name: found}, valid=True)
        if len(optional) > 1:
            for name, found in optional.items():
                yield from self._with(f"with `{name}`", {name: found}, valid=True)
        bare = {name: value for name, value in self._base.items() if name in self._required}
        yield from self._case("required arguments only", bare, self._guessed, valid=True)

    def violations(self) -> Iterator[ArgumentCase]:
        """Cases that the schema refuses: one left out, of a wrong type, null, out of bounds, unknown."""
        if not self._usable:
            return
        for name in self._required:
            bare = {other: value for other, value in self._base.items() if other != name}
            yield from self._case(f"without `{name}`", bare, self._guessed, valid=False)
        for name in self._names:
            yield from self._of_wrong_type(name)
        for name in self._names:
            yield from self._with(f"`{name}` is null", {name: (None, ())}, valid=False)
        for name in self._names:
            for what, value in self._outside(name):
                yield from self._with(f"`{name}` {what}", {name: (value, ())}, valid=False)
        extra = next(word for word in _unexpected() if word not in self._names)
        yield from self._with("an argument that is not declared", {extra: (True, ())}, valid=False)

    def _of_wrong_type(self, name: str) -> Iterator[ArgumentCase]:
        kind = self._kind(name)
        for wrong, what, value in _WRONG:
            if wrong == kind or (wrong, kind) == ("integer", "number"):
                continue
            case = list(self._with(f"`{name}` {what}", {name: (value, ())}, valid=False))
            if case:
                yield from case
                return

    def _with(self, name: str, given: dict[str, Found], *, valid: bool) -> Iterator[ArgumentCase]:
        arguments = {**self._base, **{name: value for name, (value, _) in given.items()}}
        kept = [guess for guess in self._guessed if guess not in given and not _below(guess, given)]
        guessed = [*kept, *(guess for _, more in given.values() for guess in more)]
        yield from self._case(name, arguments, tuple(guessed), valid=valid)

    def _case(self, name: str, arguments: object, guessed: tuple[str, ...], *, valid: bool) -> Iterator[ArgumentCase]:
        from mcptest_engine.core.sanitise import one_line

        key = json_key(arguments)
        if key in self._seen or self._validator is None or too_heavy(self._document, arguments):
            return
        if judged(self._validator, arguments) is valid:
            self._seen.add(key)
            yield ArgumentCase(name=one_line(name, 120), arguments=arguments, valid=valid, guessed=guessed)

    def _conjunction(self, schemas: list[object], path: tuple[str | int, ...]) -> Facets:
        try:
            return Attempt(self._document, (), self._fuel).conjunction(schemas, path)
        except (DeadEnd, Exhausted):
            return []

    def _member(self, name: str, *more: dict[str, object]) -> Found | None:
        """A value for one argument that also fits `more`, or None."""
        if not more and name in self._found:
            return self._found[name]
        attempt = Attempt(self._document, (), self._fuel)
        found: Found | None
        try:
            value = attempt.build([*attempt.member_schemas(self._top, name), *more], (name,))
            found = value, guesses(attempt.guessed)
        except (DeadEnd, Exhausted):
            found = None
        if not more:
            self._found[name] = found
        return found

    def _facets(self, name: str) -> Facets:
        try:
            schemas = Attempt(self._document, (), self._fuel).member_schemas(self._top, name)
        except Exhausted:
            return []
        return self._conjunction(schemas, (name,))

    def _kind(self, name: str) -> str:
        if name in self._base:
            allowed = kinds_of(self._facets(name))
            return "number" if "number" in allowed else type_of(self._base[name])
        found = self._member(name)
        return type_of(found[0]) if found else ""

    def _declared_bounds(self, name: str) -> Iterator[tuple[str, Found]]:
        """Values at the ends of what the schema says of an argument."""
        facets = self._facets(name)
        listed = allowed_values(facets)
        if listed is not None:
            if len(listed) > 1:
                yield "last choice of", (listed[-1], ())
            return
        span = Range(facets, integer="number" not in kinds_of(facets))
        for what, number in (("highest", span.highest()), ("lowest", span.lowest())):
            if number is not None and not is_machine_bound(number):
                yield what, (number, ())
        for kind, keyword, most in (("string", "Length", _LONGEST), ("array", "Items", _MOST_ITEMS)):
            for what, end in (("longest", "max"), ("shortest", "min")):
                size = _bound(facets, f"{end}{keyword}")
                if size is not None and size <= most and kind in kinds_of(facets):
                    exactly = {"type": kind, f"min{keyword}": size, f"max{keyword}": size}
                    found = self._member(name, exactly)
                    if found:
                        yield what, found

    def _plain_ends(self, name: str) -> Iterator[tuple[str, Found]]:
        """Ends that every value of a type has. Nobody said that a server makes sense of an empty text: a guess."""
        match self._kind(name):
            case "boolean":
                yield "false for", (False, ())
                yield "true for", (True, ())
            case "array":
                yield "empty", ([], (name,))
            case "string":
                yield "empty", ("", (name,))

    def _outside(self, name: str) -> Iterator[tuple[str, object]]:
        facets = self._facets(name)
        if allowed_values(facets) is not None:
            yield "is none of its choices", "not-a-choice"
        span = Range(facets, integer=False)
        if span.high is not None and not is_machine_bound(span.high):
            yield "is above its maximum", int(span.high) + 1
        if span.low is not None and not is_machine_bound(span.low):
            yield "is below its minimum", int(span.low) - 1
        if self._kind(name) in ("integer", "number"):
            yield "is between two allowed numbers", 1.5
        longest, shortest = _bound(facets, "maxLength"), _bound(facets, "minLength")
        if longest is not None and longest < _LONGEST:
            yield "is too long", "a" * (longest + 1)
        if shortest and shortest <= _LONGEST:
            yield "is too short", "a" * (shortest - 1)
        if any("pattern" in schema or "format" in schema for schema in facets):
            yield "is malformed", "!? not well-formed"
        most, fewest = _bound(facets, "maxItems"), _bound(facets, "minItems")
        if most is not None and most < _MOST_ITEMS:
            yield "has too many items", self._items(name, most + 1)
        if fewest and fewest <= _MOST_ITEMS:
            yield "has too few items", self._items(name, fewest - 1)

    def _items(self, name: str, count: int) -> list[object]:
        """That many items, as good as the argument's own where there are any."""
        found = self._member(name)
        value = self._base.get(name, found[0] if found else None)
        one = value[0] if isinstance(value, list) and value else None
        return [one] * count


def first_edge(cases: Cases) -> ArgumentCase | None:
    return next(cases.edges(), None)


def first_violation(cases: Cases) -> ArgumentCase | None:
    return next(cases.violations(), None)


def all_probes(cases: Cases) -> tuple[ArgumentCase, ...]:
    """Every case but the first of each kind; a third of the room for boundaries when there are more than fit."""
    edges, violations = list(cases.edges())[1:], list(cases.violations())[1:]
    room = max(MOST_CASES // 3, MOST_CASES - len(violations))
    return (*edges[:room], *violations[: MOST_CASES - len(edges[:room])])


def _below(guess: str, given: JsonDict) -> bool:
    from mcptest_engine.core.text import pointer

    return any(guess.startswith(f"{pointer((name,))}/") for name in given)


def _bound(facets: Facets, keyword: str) -> int | None:
    bounds = [int(schema[keyword]) for schema in facets if is_number(schema.get(keyword))]
    if not bounds:
        return None
    return min(bounds) if keyword.startswith("max") else max(bounds)


def _unexpected() -> Iterator[str]:
    yield "unexpected"
    for count in range(2, _MOST_ARGUMENTS + 3):
        yield f"unexpected{count}"
