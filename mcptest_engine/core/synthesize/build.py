"""One attempt at a value for a schema: every decision is taken by number, so that another attempt can take another one.

At each place of the value all schemas that apply there are collected into one conjunction: references and `allOf` are
followed, a branch is chosen of `anyOf`, `oneOf` and `if`, and the value is built to fit what is left. `not`, the other
branches of a `oneOf` and the like are first ignored, since most values are outside them anyway; the validator's word on
the whole value then says where to decide otherwise.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from mcptest_engine.core.synthesize.conjunctions import (
    DEPENDING,
    allowed_values,
    author_values,
    count_of,
    depending,
    json_key,
    kinds_of,
    members,
    prefix_schemas,
    required,
    type_of,
)
from mcptest_engine.core.synthesize.conventions import likely_numbers, likely_texts
from mcptest_engine.core.synthesize.formats import format_texts, longer_text
from mcptest_engine.core.synthesize.negation import REFUSED, UNLIKE, negations
from mcptest_engine.core.synthesize.numbers import Range, is_number
from mcptest_engine.core.synthesize.patterns import fits_pattern, pattern_texts
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcptest_engine.core.json_types import Json, JsonDict
    from mcptest_engine.core.schema_document import Document

    Path = tuple[str | int, ...]
    Conjunction = list[JsonDict]

T = TypeVar("T")

_APPLICATORS = frozenset({"allOf", "anyOf", "oneOf", "if", "not", "extends"})

DEEPEST = 48  # levels of one value; what needs more is not an argument that anybody gives
LONGEST_TEXT = 65_536  # characters
MOST_ITEMS = 1_000  # of an array, and members of an object
_STEPS_A_VALUE = 16
_CHARACTERS_A_STEP = 50
_CANDIDATES = 16  # values tried at one place
_TEXTS = 8
_MANY = 64  # branches of one choice
_URLS = frozenset({"uri", "iri", "url"})
_FEW = 16  # patterns whose compiled form is at hand


class DeadEnd(Exception):
    """Nothing fits at this place as decided so far."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(why)
        self.path = path


class Exhausted(Exception):
    """The steps allowed for one schema are used up."""


class Fuel:
    """How many steps all attempts at one schema may take: counted, not timed, so that the same schema ends the same way."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def burn(self, steps: int = 1) -> None:
        self.left -= steps
        if self.left < 0:
            raise Exhausted


@dataclass(frozen=True, slots=True)
class Taken:
    """A decision: where, which, of how many, and the schema (its `id`) that asked for it, 0 for a choice of values."""

    path: Path
    index: int
    count: int
    owner: int


class Attempt:
    """Builds one value. `plan` numbers the first decisions; after them the first option is taken each time."""

    def __init__(self, document: Document, plan: Sequence[int], fuel: Fuel) -> None:
        self.taken: list[Taken] = []
        self.guessed: list[Path] = []
        self._document = document
        self._plan = plan
        self._fuel = fuel
        self._open: list[int] = []  # the schemas of the places around this one, to see recursion
        self._kept: list[object] = []  # made-up schemas, alive as long as their `id` is used

    def build(self, schemas: Sequence[object], path: Path = (), *, nth: int = 0) -> Json:
        """A value for all of `schemas` at once; `nth` asks for different ones where an array must not repeat itself."""
        self._fuel.burn(_STEPS_A_VALUE)
        if len(path) > DEEPEST:
            raise DeadEnd(path, f"it would be nested more than {DEEPEST} levels deep")
        found = self.conjunction(schemas, path)
        mark = len(self._open)
        self._open.extend(id(schema) for schema in found)
        try:
            return self._value(found, path, nth)
        finally:
            del self._open[mark:]

    def _choose(self, path: Path, options: Sequence[T], why: str, owner: object = None) -> T:
        if not options:
            raise DeadEnd(path, why)
        if len(options) == 1:
            return options[0]
        at = len(self.taken)
        index = min(self._plan[at], len(options) - 1) if at < len(self._plan) else 0
        self.taken.append(Taken(path, index, len(options), id(owner) if owner is not None else 0))
        return options[index]

    # What applies at a place

    def conjunction(self, schemas: Sequence[object], path: Path) -> Conjunction:
        found: Conjunction = []
        self._collect(schemas, path, found, set())
        return found

    def _collect(self, schemas: Sequence[object], path: Path, found: Conjunction, seen: set[int]) -> None:
        waiting = list(schemas)
        for schema in waiting:  # which grows meanwhile
            if schema is False:
                raise DeadEnd(path, "the schema allows nothing there")
            if not isinstance(schema, dict) or id(schema) in seen:
                continue
            self._fuel.burn()
            seen.add(id(schema))
            if "$ref" in schema or "$dynamicRef" in schema or "$recursiveRef" in schema:
                targets = self._document.references(schema)
                waiting += targets
                if self._document.legacy and targets:
                    continue
            found.append(schema)
            if not _APPLICATORS.isdisjoint(schema):
                waiting += self._applied(schema, path)

    def _applied(self, schema: dict[str, object], path: Path) -> list[object]:
        more: list[Json] = []
        every = schema.get("allOf", schema.get("extends"))
        if isinstance(every, list):
            more += every
        elif isinstance(every, dict):
            more.append(every)
        some = schema.get("anyOf")
        if isinstance(some, list) and some:
            more.append(self._choose(path, self._ordered(some), "no branch of `anyOf` fits", schema))
        one = schema.get("oneOf")
        if isinstance(one, list) and one:
            usable = self._ordered(one)
            options = [(branch, alone) for alone in (False, True) for branch in usable]
            branch, alone = self._choose(path, options, "no branch of `oneOf` fits", schema)
            more.append(branch)
            if alone:
                self._fuel.burn(len(one))
                more += [self._keep({"not": other}) for other in one if other is not branch]
        if "if" in schema:
            met = [schema["if"], schema.get("then", True)]
            unmet = [self._keep({"not": schema["if"]}), schema.get("else", True)]
            more += self._choose(path, [[], met, unmet], "", schema)
        if "not" in schema:
            references = self._document.references(schema["not"]) if isinstance(schema["not"], dict) else []
            ways = [[self._keep(way)] for way in negations(schema["not"], references)]
            more += self._choose(path, [[], *ways], "", schema)
        return more

    def _ordered(self, branches: list[object]) -> list[object]:
        """Branches in the author's order, but null last, and inside a recursion those that end it first."""
        usable = [branch for branch in islice(branches, _MANY) if branch is not False]
        recursive = any(id(target) in self._open for branch in usable for target in self._targets(branch))
        recursive = recursive or len(self._open) > len(set(self._open))
        if recursive:
            return sorted(usable, key=self._cost)
        return sorted(usable, key=lambda branch: isinstance(branch, dict) and branch.get("type") == "null")

    def _targets(self, schema: object) -> list[Json]:
        if isinstance(schema, dict):
            return [schema, *(self._document.references(schema) if "$ref" in schema else ())]
        return []

    def _cost(self, schema: object) -> int:
        """How much a branch asks for, roughly: 0 for a constant up to 4 for what leads back to where we are."""
        targets = self._targets(schema)
        if any(id(target) in self._open for target in targets):
            return 4
        if not targets:
            return 1
        target = targets[-1]
        if "const" in target or "enum" in target:
            return 0
        match target.get("type"):
            case "null" | "string" | "number" | "integer" | "boolean":
                return 1
            case "array":
                return 3 if target.get("minItems") else 1
            case "object":
                return 3 if target.get("required") else 1
        return 2

    def _keep(self, schema: object) -> object:
        self._kept.append(schema)
        return schema

    # The value at a place

    def _value(self, schemas: Conjunction, path: Path, nth: int) -> Json:
        self._fuel.burn()
        allowed = allowed_values(schemas)
        kinds = kinds_of(schemas)
        refused = [json_key(value) for schema in schemas for value in schema.get(REFUSED, ())]
        if allowed is not None:
            fitting = islice(
                (value for value in allowed if _plainly_fits(value, schemas, kinds, refused)), _CANDIDATES + nth
            )
            return self._choose(path, _rotated(list(fitting), nth), "none of the values listed fits")
        given = [value for value in author_values(schemas) if _plainly_fits(value, schemas, kinds, refused)]
        if given and not nth:
            value = self._choose(path, [*given[:4], _BUILT], "")
            if value is not _BUILT:
                return value
        kind = self._choose(path, kinds, "no type fits")
        match kind:
            case "object":
                return self._object(schemas, path, nth)
            case "array":
                return self._array(schemas, path, nth)
            case "string":
                return self._text(schemas, path, nth, refused)
            case "boolean":
                fitting_flags = [flag for flag in _rotated([True, False], nth) if json_key(flag) not in refused]
                return self._choose(path, fitting_flags, "no boolean fits")
            case "null":
                return self._choose(path, [None] if json_key(None) not in refused else [], "null is refused")
            case _:
                return self._number(schemas, path, nth, refused, integer=kind == "integer")

    def _number(self, schemas: Conjunction, path: Path, nth: int, refused: list[str], *, integer: bool) -> float:
        allowed = Range(schemas, integer=integer)
        preferred = likely_numbers(_name(path), schemas)
        if any(schema.get(UNLIKE) for schema in schemas):
            preferred = [0.5, 0.123456789, 7, 11]
        numbers = [number for number in allowed.choices(preferred, nth) if json_key(number) not in refused]
        if not allowed.bounded:
            self.guessed.append(path)
        return self._choose(path, numbers[:_CANDIDATES], "no number is within its bounds")

    def _text(self, schemas: Conjunction, path: Path, nth: int, refused: list[str]) -> str:
        least = max((count_of(schema, "minLength", 0) for schema in schemas), default=0)
        most = min((count_of(schema, "maxLength", LONGEST_TEXT) for schema in schemas), default=LONGEST_TEXT)
        if least > LONGEST_TEXT:
            raise DeadEnd(path, f"a text of {least} characters is more than mcptest makes up")
        self._fuel.burn(least // _CHARACTERS_A_STEP)
        texts: dict[str, None] = {}
        for text in self._texts(schemas, path, nth, least, most):
            if least <= len(text) <= most and json_key(text) not in refused:
                texts[text] = None
                if len(texts) >= _TEXTS:
                    break
        self.guessed.append(path)
        return self._choose(path, list(texts), "no text was found that fits its pattern, format and length")

    def _texts(self, schemas: Conjunction, path: Path, nth: int, least: int, most: int) -> Iterator[str]:
        formats = [schema["format"] for schema in schemas if isinstance(schema.get("format"), str)]
        patterns = [schema["pattern"] for schema in schemas if isinstance(schema.get("pattern"), str)]
        plain = [*(text for name in formats for text in format_texts(name, nth))]
        plain += [longer for name in formats if (longer := longer_text(name, least)) is not None]
        if any(schema.get("contentEncoding") == "base64" for schema in schemas):
            plain.append("aGVsbG8=" * max(1, -(-least // 8)))
        if any(schema.get(UNLIKE) for schema in schemas):
            plain = ["", "!", "a", "1", " ", "hello", "A b", "-"]
        words = likely_texts(_name(path), schemas)
        plain += [f"{words[0]}{nth + 1}" if nth else words[0], *words[1:]]
        plain += [
            _stretched(words[-2] + (str(nth) if nth else ""), least, most),
            "a" * least,
            str(nth)[-max(most, 1) :],
        ]
        if nth:
            plain.append(chr(ord("a") + nth) if nth < 26 else f"{nth:x}")
        if not patterns:
            yield from plain
            return
        for text in plain:
            self._fuel.burn()
            if all(fits_pattern(pattern, text) for pattern in patterns):
                yield text
        beginnings = ["https://example.com/", ""] if not _URLS.isdisjoint(formats) else [""]
        for pattern in patterns:
            for text in pattern_texts(pattern, least, most, nth):
                for beginning in beginnings:
                    self._fuel.burn()
                    if all(fits_pattern(other, beginning + text) for other in patterns):
                        yield beginning + text

    def _array(self, schemas: Conjunction, path: Path, nth: int) -> list[object]:
        least = max((count_of(schema, "minItems", 0) for schema in schemas), default=0)
        most = min((count_of(schema, "maxItems", MOST_ITEMS) for schema in schemas), default=MOST_ITEMS)
        contained = [schema for schema in schemas if "contains" in schema]
        wanted = [(schema["contains"], count_of(schema, "minContains", 1)) for schema in contained]
        fixed = max((len(prefix_schemas(schema)) for schema in schemas), default=0)
        if least > MOST_ITEMS or sum(count for _, count in wanted) > MOST_ITEMS:
            raise DeadEnd(path, f"an array of more than {MOST_ITEMS} items is more than mcptest makes up")
        demands = [demanded for demanded, count in wanted for _ in range(count)]
        start = 0
        if demands:
            starts = [at for at in (fixed, 0) if at + len(demands) <= most or at == 0]
            start = self._choose(path, list(dict.fromkeys(starts)), "")
        length = max(least, start + len(demands) if demands else 0)
        typed = any(isinstance(schema.get("items"), (dict, list)) or "prefixItems" in schema for schema in schemas)
        if length < max(fixed, 1) <= most and typed:
            lengths = [max(fixed, 1), length]
            ends = any(id(schema) in self._open[: -len(schemas) or None] for schema in schemas)
            length = self._choose(path, lengths[::-1] if ends else lengths, "")
        if nth and not typed:
            length = max(length, 1)
        if length > most:
            raise DeadEnd(path, "it needs more items than `maxItems` allows")
        apart = any(schema.get("uniqueItems") is True for schema in schemas)
        avoided: list[object] = []
        if any("maxContains" in schema or schema.get("minContains") == 0 for schema in contained):
            others = [self._keep({"not": schema["contains"]}) for schema in contained]
            avoided = self._choose(path, [[], others], "")
        items = []
        for at in range(length):
            here = self._item_schemas(schemas, at)
            here += [demands[at - start]] if start <= at < start + len(demands) else avoided
            items.append(self.build(here, (*path, at), nth=nth + at if apart else nth))
        return items

    def _item_schemas(self, schemas: Conjunction, at: int) -> list[object]:
        found, left = [], []
        for schema in schemas:
            prefix = prefix_schemas(schema)
            rest = schema.get("items") if not isinstance(schema.get("items"), list) else schema.get("additionalItems")
            if at < len(prefix):
                found.append(prefix[at])
            elif rest is not None:
                found.append(rest)
            elif "unevaluatedItems" in schema:
                left.append(schema["unevaluatedItems"])
        return found or left

    def _object(self, schemas: Conjunction, path: Path, nth: int) -> dict[str, object]:
        seen = {id(schema) for schema in schemas}
        schemas = list(schemas)
        names = self._needed(schemas, path, seen)
        least = max((count_of(schema, "minProperties", 0) for schema in schemas), default=0)
        most = min((count_of(schema, "maxProperties", MOST_ITEMS) for schema in schemas), default=MOST_ITEMS)
        if least > MOST_ITEMS:
            raise DeadEnd(path, f"an object of more than {MOST_ITEMS} members is more than mcptest makes up")
        if nth:
            least = max(least, min(1, most))
        if len(names) < least:
            depending = any(not DEPENDING.isdisjoint(schema) for schema in schemas)
            for name in self._further_names(schemas, path, names):
                names[name] = None
                if depending:
                    names = self._needed(schemas, path, seen, names)
                if len(names) >= least:
                    break
        if not least <= len(names) <= most:
            raise DeadEnd(path, f"it would have {len(names)} members, and {least} to {most} are allowed")
        return {name: self.build(self.member_schemas(schemas, name), (*path, name), nth=nth) for name in names}

    def _needed(self, schemas: Conjunction, path: Path, seen: set[int], given: Iterable[str] = ()) -> dict[str, None]:
        """The names that must be there, in the order they are declared in; schemas that depend on them are added."""
        names = dict.fromkeys(given)
        size = (-1, -1)
        while (len(names), len(schemas)) != size:
            size = (len(names), len(schemas))
            for schema in list(schemas):
                names.update(dict.fromkeys(required(schema)))
                for more in depending(schema, names):
                    if isinstance(more, (list, str)):
                        entries = [more] if isinstance(more, str) else more
                        names.update(dict.fromkeys(entry for entry in entries if isinstance(entry, str)))
                    elif id(more) not in seen or more is False:
                        self._collect([more], path, schemas, seen)
        declared = [name for schema in schemas for name in members(schema, "properties") if name in names]
        return dict.fromkeys([*declared, *names])

    def _further_names(self, schemas: Conjunction, path: Path, names: dict[str, None]) -> Iterator[str]:
        taken = set(names)
        for name in self._possible_names(schemas, path):
            self._fuel.burn()
            if name in taken:
                continue
            taken.add(name)
            if not any(rule is False for rule in self.member_schemas(schemas, name)):
                yield name

    def _possible_names(self, schemas: Conjunction, path: Path) -> Iterator[str]:
        """Declared names, names that fit a pattern, then any that are allowed."""
        for schema in schemas:
            yield from members(schema, "properties")
        for schema in schemas:
            for pattern in members(schema, "patternProperties"):
                for nth in range(4):
                    self._fuel.burn(20)
                    yield from islice(pattern_texts(pattern, 0, 100, nth), 2)
        rules = [schema["propertyNames"] for schema in schemas if "propertyNames" in schema]
        for nth in range(MOST_ITEMS):
            if rules:
                told = list(self.guessed)
                yield self.build([{"type": "string"}, *rules], (*path, "name"), nth=nth)
                self.guessed = told  # a member's name is not a member
            else:
                yield f"extra{nth + 1}"

    def member_schemas(self, schemas: Conjunction, name: str) -> list[object]:
        found, left = [], []
        for schema in schemas:
            own, patterned = members(schema, "properties"), members(schema, "patternProperties")
            self._fuel.burn(1 + len(patterned) * (1 if len(patterned) <= _FEW else 20))
            mine = [own[name]] if name in own else []
            mine += [rule for pattern, rule in patterned.items() if fits_pattern(pattern, name)]
            if mine:
                found += mine
            elif "additionalProperties" in schema:
                found.append(schema["additionalProperties"])
            elif "unevaluatedProperties" in schema:
                left.append(schema["unevaluatedProperties"])
        return found or left


_BUILT = object()


def _plainly_fits(value: object, schemas: Conjunction, kinds: list[str], refused: list[str]) -> bool:
    """Whether a value offered by the author is worth trying; the validator has the last word."""
    if type_of(value) not in kinds or (refused and json_key(value) in refused):
        return False
    if isinstance(value, str):
        return all(
            count_of(schema, "minLength", 0) <= len(value) <= count_of(schema, "maxLength", len(value))
            and (not isinstance(schema.get("pattern"), str) or fits_pattern(schema["pattern"], value))
            for schema in schemas
        )
    if is_number(value):
        return value in Range(schemas, integer=False)
    return True


def _name(path: Path) -> str:
    """The argument's name that a place belongs to: for an array's item that of the array."""
    return next((token for token in reversed(path) if isinstance(token, str)), "")


def _stretched(text: str, least: int, most: int) -> str:
    if len(text) < least:
        text = (f"{text} " * (least // (len(text) + 1) + 1))[:least]
        return text if text.strip() == text else text[:-1] + "o"
    return text[:most]


def _rotated(options: list[T], by: int) -> list[T]:
    at = by % len(options) if options else 0
    return options[at:] + options[:at]
