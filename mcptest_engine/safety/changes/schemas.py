"""What changed between two JSON Schemas, keyword by keyword, and whether values were lost or gained.

Why this is sound: a schema allows what all of its keywords allow, so when each keyword of the old schema implies the same
keyword of the new one, nothing that was allowed is lost. Where an implication cannot be shown, the effect is `UNKNOWN`, never a
guess. `$ref`s inside the document are followed, and `allOf` is merged where that changes nothing. One deliberate exception: a
new optional property loses nothing, although an open schema allowed anything under that name before.
Source: JSON Schema 2020-12, Core 10 and 11, Validation 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.safety.changes.bounds import bound_changes
from mcptest_engine.safety.changes.change import Effect, SchemaChange
from mcptest_engine.safety.changes.keywords import (
    dependent_required,
    member,
    of_type,
    text_changes,
    text_keywords,
    type_change,
    values_change,
)
from mcptest_engine.safety.changes.reading import (
    TEXTS,
    UNEVALUATED,
    canonical,
    dialect,
    has_nested_id,
    listed,
    mapping,
    mergeable,
    names,
    overlap,
    pointed,
    reads_alike,
    types_of,
    values_of,
    with_one_type,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.core.json_types import JsonDict
    from mcptest_engine.safety.changes.reading import Schema

_MOST_DEPTH = 40
_MOST_STEPS = 5_000
_APPLICATORS = frozenset({"anyOf", "oneOf", "allOf", "$ref", "if", "then", "else", "dependentSchemas", "not"})
_OPAQUE = (
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
    "additionalItems",
    "$dynamicRef",
    "$recursiveRef",
    *UNEVALUATED,
)
_LOSING = frozenset({Effect.NARROWED, Effect.BOTH, Effect.UNKNOWN})
_GAINING = frozenset({Effect.WIDENED, Effect.BOTH, Effect.UNKNOWN})
_ONLY_REFERS = frozenset({"$ref", "$schema", "$id", "$defs", "definitions"})


def schema_changes(old: object, new: object) -> list[SchemaChange]:
    """Every difference between two schemas, in the order of the new one's parts; none for equal schemas."""
    if canonical(old) == canonical(new):
        return []
    return _Comparison(old, new).run()


class _TooMuch(Exception):
    """The schemas are too deep or too large to be compared."""


class _Comparison:
    """The comparison of two documents.

    `_under_way` holds the pairs being compared: a recursive pair adds no changes of its own, as values are finite.
    """

    def __init__(self, old: object, new: object) -> None:
        self._roots = (old, new)
        self._under_way: set[tuple[int, int]] = set()
        self._steps = 0
        self._has_bases = [has_nested_id(root) for root in self._roots]

    def run(self) -> list[SchemaChange]:
        old, new = self._roots
        try:
            return self._compare(old, new, "", 0)
        except (_TooMuch, RecursionError):
            return [SchemaChange("", "", Effect.UNKNOWN, "the schema changed, and is too large to tell how")]

    def _compare(self, old_raw: object, new_raw: object, path: str, depth: int) -> list[SchemaChange]:
        self._steps += 1
        if depth > _MOST_DEPTH or self._steps > _MOST_STEPS:
            raise _TooMuch
        old_raw, new_raw = self._target(old_raw, 0), self._target(new_raw, 1)
        pair = (id(old_raw), id(new_raw))
        if pair in self._under_way:
            return []
        self._under_way.add(pair)
        try:
            old, new = self._normal(old_raw, 0), self._normal(new_raw, 1)
            if old is None or new is None:
                same = self._same(old_raw, new_raw)
                return [] if same else [self._unknown(path, "$ref", "contains a reference that could not be followed")]
            return [*self._keywords(old, new, path, depth), *text_changes(old, new, path)]
        finally:
            self._under_way.discard(pair)

    def _keywords(self, old: Schema, new: Schema, path: str, depth: int) -> Iterator[SchemaChange]:
        if depth == 0 and dialect(old) != dialect(new):
            effect = Effect.NEUTRAL if all(map(reads_alike, self._roots)) else Effect.UNKNOWN
            yield SchemaChange(
                path, "$schema", effect, "the dialect (`$schema`) changed", old.get("$schema"), new.get("$schema")
            )
        if self._unevaluated_differ(old, new):
            yield self._unknown(path, "unevaluatedProperties", "what is left unevaluated may have changed")
        yield from type_change(old, new, path)
        yield from values_change(old, new, path)
        yield from bound_changes(old, new, path)
        yield from text_keywords(old, new, path)
        yield from self._object(old, new, path, depth)
        yield from self._array(old, new, path, depth)
        yield from self._branches(old, new, path, depth)
        yield from self._all_of(old, new, path, depth)
        yield from self._not(old, new, path)
        for keyword in _OPAQUE:
            if not self._same(old.get(keyword), new.get(keyword)):
                yield self._unknown(path, keyword, f"`{keyword}` changed")

    def _unevaluated_differ(self, old: Schema, new: Schema) -> bool:
        if not any(key in schema for key in UNEVALUATED for schema in (old, new)):
            return False
        return any(not self._same(old.get(key), new.get(key)) for key in _APPLICATORS)

    # objects

    def _object(self, old: Schema, new: Schema, path: str, depth: int) -> Iterator[SchemaChange]:
        had, has = mapping(old.get("properties")), mapping(new.get("properties"))
        needed, needs = names(old.get("required")), names(new.get("required"))
        for name in [*has, *(name for name in had if name not in has)]:
            yield from self._property(old, new, name, path, depth)
        for name in dict.fromkeys([*needs, *needed]):
            place = member(path, name)
            if name in needs and name not in needed:
                what = "is required now" if name in had or name not in has else "is new and required"
                yield SchemaChange(place, "required", Effect.NARROWED, what)
            elif name in needed and name not in needs and name in has:
                yield SchemaChange(place, "required", Effect.WIDENED, "is optional now")
            elif name in needed and name not in needs and name not in had:
                yield SchemaChange(place, "required", Effect.WIDENED, "is no longer required")
        yield from self._other_properties(old, new, path, depth)
        yield from self._names_of_properties(old, new, path, depth)
        yield from dependent_required(old, new, path)

    def _property(self, old: Schema, new: Schema, name: str, path: str, depth: int) -> Iterator[SchemaChange]:
        had, has = mapping(old.get("properties")), mapping(new.get("properties"))
        place = member(path, name)
        if name in had and name in has:
            yield from self._compare(had[name], has[name], place, depth + 1)
        elif name in has:
            others = old.get("additionalProperties", True)
            required = name in names(new.get("required"))
            if old.get("patternProperties"):
                yield self._unknown(place, "properties", "is new, under a name that may have been constrained before")
            elif isinstance(others, Mapping) and not self._implies(others, has[name], 0, depth):
                yield SchemaChange(
                    place,
                    "properties",
                    Effect.BOTH,
                    "is new, and not allowed by the earlier rule for other properties",
                    new=has[name],
                )
            elif others is not True and others != {}:
                message = "is new" if required else f"is new, optional{of_type(has[name])}"
                yield SchemaChange(place, "properties", Effect.WIDENED, message, new=has[name])
            elif not required:
                yield SchemaChange(
                    place, "properties", Effect.NEUTRAL, f"is new, optional{of_type(has[name])}", new=has[name]
                )
        else:
            refused = new.get("additionalProperties") is False
            message = "was removed, and other properties are refused" if refused else "was removed"
            yield SchemaChange(place, "properties", Effect.BOTH, message, old=had[name])

    def _other_properties(self, old: Schema, new: Schema, path: str, depth: int) -> Iterator[SchemaChange]:
        had, has = mapping(old.get("patternProperties")), mapping(new.get("patternProperties"))
        for pattern in has.keys() | had.keys():
            if pattern in had and pattern in has:
                yield from self._compare(had[pattern], has[pattern], f"{path}{{/{one_line(pattern, 60)}/}}", depth + 1)
        if had.keys() != has.keys():
            yield self._unknown(path, "patternProperties", "the patterns of `patternProperties` changed")
        before, after = old.get("additionalProperties", True), new.get("additionalProperties", True)
        if before is not False and after is False:
            yield SchemaChange(
                path,
                "additionalProperties",
                Effect.NARROWED,
                "other properties are refused now (`additionalProperties: false`)",
            )
        elif before is False and after is not False:
            yield SchemaChange(path, "additionalProperties", Effect.WIDENED, "other properties are allowed now")
        else:
            yield from self._compare(before, after, f"{path}{{}}", depth + 1)

    def _names_of_properties(self, old: Schema, new: Schema, path: str, depth: int) -> Iterator[SchemaChange]:
        if "propertyNames" in old or "propertyNames" in new:
            yield from self._compare(
                old.get("propertyNames", True), new.get("propertyNames", True), f"{path}{{name}}", depth + 1
            )

    # arrays

    def _array(self, old: Schema, new: Schema, path: str, depth: int) -> Iterator[SchemaChange]:
        before, after = old.get("items", True), new.get("items", True)
        first, then = old.get("prefixItems", []), new.get("prefixItems", [])
        if (
            isinstance(before, list)
            or isinstance(after, list)
            or not isinstance(first, list)
            or not isinstance(then, list)
        ):
            if not (self._same(before, after) and self._same(first, then)):
                yield self._unknown(path, "items", "`items` changed")
        elif len(first) != len(then):
            yield self._unknown(path, "prefixItems", "`prefixItems` has another length")
        else:
            for index, (one, other) in enumerate(zip(first, then, strict=True)):
                yield from self._compare(one, other, f"{path}[{index}]", depth + 1)
            yield from self._compare(before, after, f"{path}[]", depth + 1)
        if bool(old.get("uniqueItems")) != bool(new.get("uniqueItems")):
            narrowed = bool(new.get("uniqueItems"))
            message = "elements must be unique now" if narrowed else "elements may repeat now"
            yield SchemaChange(path, "uniqueItems", Effect.NARROWED if narrowed else Effect.WIDENED, message)
        keys = ("contains", "minContains", "maxContains")
        if any(not self._same(old.get(key), new.get(key)) for key in keys):
            if not any(key in old for key in keys):
                yield SchemaChange(path, "contains", Effect.NARROWED, "must contain certain elements now (`contains`)")
            elif not any(key in new for key in keys):
                yield SchemaChange(
                    path, "contains", Effect.WIDENED, "no longer needs to contain certain elements (`contains`)"
                )
            else:
                yield self._unknown(path, "contains", "`contains` changed")

    # combinations

    def _branches(self, old: Schema, new: Schema, path: str, depth: int) -> Iterator[SchemaChange]:
        for keyword in ("anyOf", "oneOf"):
            if keyword not in old and keyword not in new:
                continue
            if self._same(old.get(keyword), new.get(keyword)):
                continue
            yield from self._alternatives(old, new, keyword, path, depth)

    def _alternatives(self, old: Schema, new: Schema, keyword: str, path: str, depth: int) -> Iterator[SchemaChange]:
        before, after = self._listed(old, keyword), self._listed(new, keyword)
        exclusive = keyword == "oneOf"
        if exclusive and not (self._apart(before, 0) and self._apart(after, 1)):
            yield self._unknown(path, keyword, "`oneOf` changed, and its alternatives may overlap")
            return
        kept, keeps = self._covered(before, after, 0, depth), self._covered(after, before, 1, depth)
        if len(before) == len(after) and keyword in old and keyword in new:
            for index, (one, other) in enumerate(zip(before, after, strict=True)):
                found = self._compare(one, other, f"{path}({keyword} {index})", depth + 1)
                yield from (change for change in found if change.effect is Effect.NEUTRAL or not (kept and keeps))
        elif kept and keeps:
            return
        elif kept:
            yield SchemaChange(path, keyword, Effect.WIDENED, f"allows more alternatives (`{keyword}`)")
        elif keeps:
            yield SchemaChange(path, keyword, Effect.NARROWED, f"allows fewer alternatives (`{keyword}`)")
        else:
            yield self._unknown(path, keyword, f"`{keyword}` changed")

    def _listed(self, schema: Schema, keyword: str) -> list[Any]:
        """The alternatives of a keyword; without the keyword, the schema itself is the only alternative."""
        found = schema.get(keyword)
        if isinstance(found, list):
            return found
        return [{key: value for key, value in schema.items() if key not in TEXTS}]

    def _covered(self, these: list[object], those: list[object], side: int, depth: int) -> bool:
        """Whether each of `these` schemas allows only what a single one of `those` allows."""
        return all(any(self._implies(one, other, side, depth) for other in those) for one in these)

    def _implies(self, one: object, other: object, side: int, depth: int) -> bool:
        """Whether `other` allows all that `one` allows; `side` is 0 if `one` is of the old document, 1 if of the new one."""
        if side == 0:
            return not any(change.effect in _LOSING for change in self._compare(one, other, "?", depth + 1))
        return not any(change.effect in _GAINING for change in self._compare(other, one, "?", depth + 1))

    def _apart(self, alternatives: list[object], side: int) -> bool:
        """Whether no value can match two of the alternatives."""
        known = [self._normal(one, side) for one in alternatives]
        return all(
            one is not None and other is not None and self._disjoint(one, other, side)
            for at, one in enumerate(known)
            for other in known[at + 1 :]
        )

    def _disjoint(self, one: Schema, other: Schema, side: int) -> bool:
        first, second = types_of(one), types_of(other)
        if first is not None and second is not None and not overlap(first, second):
            return True
        values, others = values_of(one), values_of(other)
        if values is not None and others is not None:
            return not set(values) & set(others)
        if first != frozenset({"object"}) or second != first:
            return False
        for name in set(names(one.get("required"))) & set(names(other.get("required"))):
            parts = [self._normal(mapping(part.get("properties")).get(name, True), side) for part in (one, other)]
            found = [None if part is None else values_of(part) for part in parts]
            if found[0] is not None and found[1] is not None and not set(found[0]) & set(found[1]):
                return True
        return False

    def _all_of(self, old: Schema, new: Schema, path: str, depth: int) -> Iterator[SchemaChange]:
        before, after = listed(old.get("allOf")), listed(new.get("allOf"))
        if len(before) == len(after):
            for one, other in zip(before, after, strict=True):
                yield from self._compare(one, other, path, depth + 1)
        elif self._covered_all(after, before):
            yield SchemaChange(path, "allOf", Effect.WIDENED, "has to meet fewer conditions (`allOf`)")
        elif self._covered_all(before, after):
            yield SchemaChange(path, "allOf", Effect.NARROWED, "has to meet more conditions (`allOf`)")
        else:
            yield self._unknown(path, "allOf", "`allOf` changed")

    def _covered_all(self, fewer: list[object], more: list[object]) -> bool:
        return all(any(self._same(one, other) for other in more) for one in fewer)

    def _not(self, old: Schema, new: Schema, path: str) -> Iterator[SchemaChange]:
        if self._same(old.get("not"), new.get("not")):
            return
        if "not" not in old:
            yield SchemaChange(path, "not", Effect.NARROWED, "refuses more values now (`not`)")
        elif "not" not in new:
            yield SchemaChange(path, "not", Effect.WIDENED, "refuses fewer values now (`not`)")
        else:
            yield self._unknown(path, "not", "`not` changed")

    # reading

    def _same(self, one: object, other: object) -> bool:
        """Whether two parts are equal as text and in meaning: with a reference, the definitions have to be equal as well."""
        text = canonical(one)
        return text == canonical(other) and ('"$ref"' not in text or self._same_definitions())

    def _same_definitions(self) -> bool:
        old, new = (root if isinstance(root, Mapping) else {} for root in self._roots)
        return all(canonical(old.get(key)) == canonical(new.get(key)) for key in ("$defs", "definitions"))

    def _target(self, raw: object, side: int) -> Any:
        """The target of a schema that is only a reference, to recognize recursion; else the schema itself."""
        found = raw
        for _ in range(_MOST_DEPTH):
            if not isinstance(found, Mapping) or "$ref" not in found or not found.keys() <= _ONLY_REFERS:
                return found
            found = None if self._has_bases[side] else pointed(self._roots[side], found["$ref"])
        return raw

    def _normal(self, raw: object, side: int) -> Schema | None:
        """A schema as a mapping, with its reference followed and its `allOf` merged where that changes nothing.

        None when it is no schema, or a reference cannot be followed.
        """
        if isinstance(raw, bool):
            return {} if raw else {"not": {}}
        if not isinstance(raw, Mapping):
            return None
        parts: list[Schema] = []
        if not self._gather(raw, side, parts, 0):
            return None
        merged: JsonDict = dict(parts[0])
        kept: list[Any] = []
        for part in parts[1:]:
            if mergeable(merged, part):
                merged |= {key: value for key, value in part.items() if key not in merged}
            else:
                kept.append(part)
        if kept:
            merged["allOf"] = kept
        return with_one_type(merged)

    def _gather(self, raw: Schema, side: int, parts: list[Schema], depth: int) -> bool:
        """Append to `parts` the schema without its reference and `allOf`, then those it refers to and combines.

        False when one of them cannot be followed.
        """
        if depth > _MOST_DEPTH:
            return False
        parts.append({key: value for key, value in raw.items() if key not in {"$ref", "allOf", "$defs", "definitions"}})
        further = list(listed(raw.get("allOf")))
        if "$ref" in raw:
            found = None if self._has_bases[side] else pointed(self._roots[side], raw["$ref"])
            if found is None:
                return False
            further.insert(0, found)
        for one in further:
            if isinstance(one, bool):
                one = {} if one else {"not": {}}
            if not isinstance(one, Mapping) or not self._gather(one, side, parts, depth + 1):
                return False
        return True

    @staticmethod
    def _unknown(path: str, keyword: str, what: str) -> SchemaChange:
        return SchemaChange(path, keyword, Effect.UNKNOWN, f"{what}: cannot tell whether it breaks")
