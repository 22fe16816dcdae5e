"""What changed between two JSON Schemas, keyword by keyword, and whether values were lost or gained.

The rule that makes it sound: a schema allows what all of its keywords allow, so when each keyword of the old schema implies the
same keyword of the new one, nothing that was allowed is lost. Where an implication cannot be shown, the effect is `UNKNOWN`,
never a guess. `$ref`s inside the document are followed and `allOf` is merged where that changes nothing. One exception, made
knowingly: a new optional property loses nothing, although an open schema allowed anything under that name before.
Source: JSON Schema 2020-12, Core 10 and 11, Validation 6.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.safety.changes.bounds import bound_changes
from mcptest_engine.safety.changes.change import Effect, SchemaChange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["schema_changes"]

Schema = Mapping[str, Any]

_MOST_DEPTH = 40
_MOST_STEPS = 5_000
_TEXTS = ("title", "description", "default", "examples", "deprecated")
_SCOPES = (  # keywords that look at each other: merged only when one side has them all
    frozenset({"properties", "patternProperties", "additionalProperties"}),
    frozenset({"prefixItems", "items", "additionalItems"}),
    frozenset({"contains", "minContains", "maxContains"}),
    frozenset({"if", "then", "else"}),
)
_APPLICATORS = frozenset({"anyOf", "oneOf", "allOf", "$ref", "if", "then", "else", "dependentSchemas", "not"})
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_OPAQUE = (
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
    "additionalItems",
    "$dynamicRef",
    "$recursiveRef",
    *_UNEVALUATED,
)
_LOSING = frozenset({Effect.NARROWED, Effect.BOTH, Effect.UNKNOWN})
_GAINING = frozenset({Effect.WIDENED, Effect.BOTH, Effect.UNKNOWN})
_NEWEST = "https://json-schema.org/draft/2020-12/schema"
_CHANGED_WORDS = (
    "$ref", "$dynamicRef", "$recursiveRef", "dependencies", "dependentRequired", "dependentSchemas", "prefixItems", "contains",
    "additionalItems", "unevaluatedProperties", "unevaluatedItems", "exclusiveMinimum", "exclusiveMaximum", "const", "if",
    "propertyNames", "id",
)  # fmt: skip
_ONLY_REFERS = frozenset({"$ref", "$schema", "$id", "$defs", "definitions"})
_JSON_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


def schema_changes(old: Any, new: Any) -> list[SchemaChange]:
    """Every difference between two schemas, in the order of the new one's parts; [] for equal ones."""
    if _text(old) == _text(new):
        return []
    return _Comparison(old, new).run()


class _TooMuch(Exception):
    """The schemas are too deep or too large to be compared."""


class _Comparison:
    """Two documents under comparison.

    `_under_way` holds the pairs being compared: a pair met again inside itself holds if the rest does, as values are finite.
    """

    def __init__(self, old: Any, new: Any) -> None:
        self._roots = (old, new)
        self._under_way: set[tuple[int, int]] = set()
        self._steps = 0
        self._has_bases = [_has_nested_id(root) for root in self._roots]

    def run(self) -> list[SchemaChange]:
        old, new = self._roots
        try:
            return self._compare(old, new, "", 0)
        except (_TooMuch, RecursionError):
            return [SchemaChange("", "", Effect.UNKNOWN, "the schema changed, and is too large to tell how")]

    def _compare(self, old_raw: Any, new_raw: Any, path: str, depth: int) -> list[SchemaChange]:
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
                return [] if same else [self._unknown(path, "$ref", "refers to what could not be followed")]
            return [*self._keywords(old, new, path, depth), *_annotations(old, new, path)]
        finally:
            self._under_way.discard(pair)

    def _keywords(self, old: Schema, new: Schema, path: str, depth: int) -> Iterator[SchemaChange]:
        if depth == 0 and _dialect(old) != _dialect(new):
            effect = Effect.NEUTRAL if all(map(_reads_alike, self._roots)) else Effect.UNKNOWN
            yield SchemaChange(
                path, "$schema", effect, "the dialect (`$schema`) changed", old.get("$schema"), new.get("$schema")
            )
        if self._unevaluated_differ(old, new):
            yield self._unknown(path, "unevaluatedProperties", "what is left unevaluated may have changed")
        yield from _type_change(old, new, path)
        yield from _values_change(old, new, path)
        yield from bound_changes(old, new, path)
        yield from _text_keywords(old, new, path)
        yield from self._object(old, new, path, depth)
        yield from self._array(old, new, path, depth)
        yield from self._branches(old, new, path, depth)
        yield from self._all_of(old, new, path, depth)
        yield from self._not(old, new, path)
        for keyword in _OPAQUE:
            if not self._same(old.get(keyword), new.get(keyword)):
                yield self._unknown(path, keyword, f"`{keyword}` changed")

    def _unevaluated_differ(self, old: Schema, new: Schema) -> bool:
        if not any(key in schema for key in _UNEVALUATED for schema in (old, new)):
            return False
        return any(not self._same(old.get(key), new.get(key)) for key in _APPLICATORS)

    # objects

    def _object(self, old: Schema, new: Schema, path: str, depth: int) -> Iterator[SchemaChange]:
        had, has = _mapping(old.get("properties")), _mapping(new.get("properties"))
        needed, needs = _names(old.get("required")), _names(new.get("required"))
        for name in [*has, *(name for name in had if name not in has)]:
            yield from self._property(old, new, name, path, depth)
        for name in dict.fromkeys([*needs, *needed]):
            place = _member(path, name)
            if name in needs and name not in needed:
                what = "is required now" if name in had or name not in has else "is new and required"
                yield SchemaChange(place, "required", Effect.NARROWED, what)
            elif name in needed and name not in needs and name in has:
                yield SchemaChange(place, "required", Effect.WIDENED, "is optional now")
            elif name in needed and name not in needs and name not in had:
                yield SchemaChange(place, "required", Effect.WIDENED, "is no longer required")
        yield from self._other_properties(old, new, path, depth)
        yield from self._names_of_properties(old, new, path, depth)
        yield from _dependent_required(old, new, path)

    def _property(self, old: Schema, new: Schema, name: str, path: str, depth: int) -> Iterator[SchemaChange]:
        had, has = _mapping(old.get("properties")), _mapping(new.get("properties"))
        place = _member(path, name)
        if name in had and name in has:
            yield from self._compare(had[name], has[name], place, depth + 1)
        elif name in has:
            others = old.get("additionalProperties", True)
            required = name in _names(new.get("required"))
            if old.get("patternProperties"):
                yield self._unknown(place, "properties", "is new, under a name that may have been constrained before")
            elif isinstance(others, Mapping) and not self._implies(others, has[name], 0, depth):
                yield SchemaChange(
                    place, "properties", Effect.BOTH, "is new, and not as other properties were", new=has[name]
                )
            elif others is not True and others != {}:
                told = "is new" if required else f"is new, optional{_of_type(has[name])}"
                yield SchemaChange(place, "properties", Effect.WIDENED, told, new=has[name])
            elif not required:
                yield SchemaChange(
                    place, "properties", Effect.NEUTRAL, f"is new, optional{_of_type(has[name])}", new=has[name]
                )
        else:
            refused = new.get("additionalProperties") is False
            told = "was removed, and other properties are refused" if refused else "was removed"
            yield SchemaChange(place, "properties", Effect.BOTH, told, old=had[name])

    def _other_properties(self, old: Schema, new: Schema, path: str, depth: int) -> Iterator[SchemaChange]:
        had, has = _mapping(old.get("patternProperties")), _mapping(new.get("patternProperties"))
        for pattern in has.keys() | had.keys():
            if pattern in had and pattern in has:
                yield from self._compare(had[pattern], has[pattern], f"{path}{{/{one_line(pattern, 60)}/}}", depth + 1)
        if had.keys() != has.keys():
            yield self._unknown(path, "patternProperties", "`patternProperties` has other patterns")
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
            told = "elements must be unique now" if narrowed else "elements may repeat now"
            yield SchemaChange(path, "uniqueItems", Effect.NARROWED if narrowed else Effect.WIDENED, told)
        keys = ("contains", "minContains", "maxContains")
        if any(not self._same(old.get(key), new.get(key)) for key in keys):
            if not any(key in old for key in keys):
                yield SchemaChange(path, "contains", Effect.NARROWED, "must contain certain elements now (`contains`)")
            elif not any(key in new for key in keys):
                yield SchemaChange(
                    path, "contains", Effect.WIDENED, "need not contain certain elements any more (`contains`)"
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
        """The alternatives; of a schema without any, what else it says is the only one."""
        found = schema.get(keyword)
        if isinstance(found, list):
            return found
        return [{key: value for key, value in schema.items() if key not in _TEXTS}]

    def _covered(self, these: list[Any], those: list[Any], side: int, depth: int) -> bool:
        """Whether each of `these` allows nothing that none of `those` does."""
        return all(any(self._implies(one, other, side, depth) for other in those) for one in these)

    def _implies(self, one: Any, other: Any, side: int, depth: int) -> bool:
        """Whether all that `one` allows is allowed by `other`; `side` is the document that `one` stands in."""
        if side == 0:
            return not any(change.effect in _LOSING for change in self._compare(one, other, "?", depth + 1))
        return not any(change.effect in _GAINING for change in self._compare(other, one, "?", depth + 1))

    def _apart(self, alternatives: list[Any], side: int) -> bool:
        """Whether no value can match two of them."""
        known = [self._normal(one, side) for one in alternatives]
        return all(
            one is not None and other is not None and self._disjoint(one, other, side)
            for at, one in enumerate(known)
            for other in known[at + 1 :]
        )

    def _disjoint(self, one: Schema, other: Schema, side: int) -> bool:
        first, second = _types(one), _types(other)
        if first is not None and second is not None and not _overlap(first, second):
            return True
        values, others = _values(one), _values(other)
        if values is not None and others is not None:
            return not set(values) & set(others)
        if first != frozenset({"object"}) or second != first:
            return False
        for name in set(_names(one.get("required"))) & set(_names(other.get("required"))):
            parts = [self._normal(_mapping(part.get("properties")).get(name, True), side) for part in (one, other)]
            found = [None if part is None else _values(part) for part in parts]
            if found[0] is not None and found[1] is not None and not set(found[0]) & set(found[1]):
                return True
        return False

    def _all_of(self, old: Schema, new: Schema, path: str, depth: int) -> Iterator[SchemaChange]:
        before, after = _list(old.get("allOf")), _list(new.get("allOf"))
        if len(before) == len(after):
            for one, other in zip(before, after, strict=True):
                yield from self._compare(one, other, path, depth + 1)
        elif self._covered_all(after, before):
            yield SchemaChange(path, "allOf", Effect.WIDENED, "has to meet fewer conditions (`allOf`)")
        elif self._covered_all(before, after):
            yield SchemaChange(path, "allOf", Effect.NARROWED, "has to meet more conditions (`allOf`)")
        else:
            yield self._unknown(path, "allOf", "`allOf` changed")

    def _covered_all(self, fewer: list[Any], more: list[Any]) -> bool:
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

    def _same(self, one: Any, other: Any) -> bool:
        """Whether two parts are the same text and mean the same: a part that refers to others means what these say."""
        text = _text(one)
        return text == _text(other) and ('"$ref"' not in text or self._same_definitions())

    def _same_definitions(self) -> bool:
        old, new = (root if isinstance(root, Mapping) else {} for root in self._roots)
        return all(_text(old.get(key)) == _text(new.get(key)) for key in ("$defs", "definitions"))

    def _target(self, raw: Any, side: int) -> Any:
        """What a schema that only refers leads to, so that a tree is known again; the schema itself where that is nowhere."""
        found = raw
        for _ in range(_MOST_DEPTH):
            if not isinstance(found, Mapping) or "$ref" not in found or not found.keys() <= _ONLY_REFERS:
                return found
            found = None if self._has_bases[side] else _pointed(self._roots[side], found["$ref"])
        return raw

    def _normal(self, raw: Any, side: int) -> Schema | None:
        """A schema as a mapping, its reference followed and its `allOf` merged where that is the same; None if not."""
        if isinstance(raw, bool):
            return {} if raw else {"not": {}}
        if not isinstance(raw, Mapping):
            return None
        parts: list[Schema] = []
        if not self._gather(raw, side, parts, 0):
            return None
        merged: dict[str, Any] = dict(parts[0])
        kept: list[Any] = []
        for part in parts[1:]:
            if _mergeable(merged, part):
                merged |= {key: value for key, value in part.items() if key not in merged}
            else:
                kept.append(part)
        if kept:
            merged["allOf"] = kept
        return _with_one_type(merged)

    def _gather(self, raw: Schema, side: int, parts: list[Schema], depth: int) -> bool:
        """The schema without its reference and its `allOf`, then what these say; false when one cannot be followed."""
        if depth > _MOST_DEPTH:
            return False
        parts.append({key: value for key, value in raw.items() if key not in {"$ref", "allOf", "$defs", "definitions"}})
        further = list(_list(raw.get("allOf")))
        if "$ref" in raw:
            found = None if self._has_bases[side] else _pointed(self._roots[side], raw["$ref"])
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


def _mergeable(merged: Schema, part: Schema) -> bool:
    told = [{key for key in schema if key not in _TEXTS} for schema in (merged, part)]
    if told[0] & told[1] or any(key in names for key in _UNEVALUATED for names in told):
        return False
    return not any(scope & told[0] and scope & told[1] for scope in _SCOPES)


_OF_TYPE: Mapping[str, frozenset[str]] = {
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
    "array": frozenset(
        {"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"}
    ),
    "object": frozenset(
        {"properties", "patternProperties", "additionalProperties", "required", "propertyNames", "minProperties"}
        | {"maxProperties", "dependentRequired"}
    ),
}
_OF_TYPE = {**_OF_TYPE, "integer": _OF_TYPE["number"]}


def _with_one_type(schema: dict[str, Any]) -> Schema:
    """`anyOf` of different types as one schema with several types: keywords about one type let every other type pass."""
    branches = schema.get("anyOf")
    if not isinstance(branches, list) or not branches or _types(schema) is not None:
        return schema
    joined: dict[str, Any] = {}
    types: list[str] = []
    for branch in branches:
        told = branch.get("type") if isinstance(branch, Mapping) else None
        if not isinstance(told, str) or told not in _JSON_TYPES or _overlap(frozenset({told}), frozenset(types)):
            return schema
        own = {key: value for key, value in branch.items() if key != "type" and key not in _TEXTS}
        if not own.keys() <= _OF_TYPE.get(told, frozenset()) or own.keys() & schema.keys():
            return schema
        types.append(told)
        joined |= own
    return {**{key: value for key, value in schema.items() if key != "anyOf"}, "type": types, **joined}


def _dialect(schema: Schema) -> str:
    return str(schema.get("$schema", _NEWEST)).rstrip("#").removeprefix("https:").removeprefix("http:")


def _reads_alike(schema: Any) -> bool:
    """Whether every dialect reads the schema alike: it has none of the words whose meaning changed."""
    text = _text(schema)
    return not any(f'"{word}"' in text for word in _CHANGED_WORDS) and '"items": [' not in text


def _has_nested_id(schema: Any) -> bool:
    """Whether a part has an `$id` of its own, from which references inside it count."""
    own = isinstance(schema, Mapping) and "$id" in schema
    return _text(schema).count('"$id":') > own


def _pointed(root: Any, reference: Any) -> Any:
    """What a reference into its own document leads to; None for any other one."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    from urllib.parse import unquote

    found = root
    for token in unquote(reference[1:]).split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and token in found:
            found = found[token]
        elif isinstance(found, list) and token.isdigit() and int(token) < len(found):
            found = found[int(token)]
        else:
            return None
    return found if reference == "#" or reference.startswith("#/") else None


def _type_change(old: Schema, new: Schema, path: str) -> Iterator[SchemaChange]:
    before, after = _types(old), _types(new)
    if before == after:
        return
    wide = _JSON_TYPES
    kept = _within(before or wide, after or wide)
    keeps = _within(after or wide, before or wide)
    if kept and keeps:
        return
    effect = Effect.WIDENED if kept else Effect.NARROWED if keeps else Effect.BOTH
    yield SchemaChange(
        path,
        "type",
        effect,
        f"type {_types_text(before)} became {_types_text(after)}",
        old.get("type"),
        new.get("type"),
    )


def _types(schema: Schema) -> frozenset[str] | None:
    told = schema.get("type")
    if isinstance(told, str):
        return frozenset({told})
    return frozenset(str(one) for one in told) if isinstance(told, list) else None


def _within(these: Iterable[str], those: frozenset[str]) -> bool:
    return all(one in those or (one == "integer" and "number" in those) for one in these)


def _overlap(these: frozenset[str], those: frozenset[str]) -> bool:
    return any(one in those or (one in {"integer", "number"} and those & {"integer", "number"}) for one in these)


def _types_text(types: frozenset[str] | None) -> str:
    return "any" if types is None else one_line(" or ".join(sorted(types)), 120)


def _of_type(schema: Any) -> str:
    types = _types(schema) if isinstance(schema, Mapping) else None
    return "" if types is None else f" ({_types_text(types)})"


def _values_change(old: Schema, new: Schema, path: str) -> Iterator[SchemaChange]:
    before, after = _values(old), _values(new)
    if before is None and after is None:
        return
    if before is None or after is None:
        effect = Effect.NARROWED if before is None else Effect.WIDENED
        told = (
            f"is one of {_shown(after)} now" if after is not None else f"need not be one of {_shown(before)} any more"
        )
        yield SchemaChange(path, "enum", effect, told, before and list(before), after and list(after))
        return
    gone, added = [text for text in before if text not in after], [text for text in after if text not in before]
    if gone:
        yield SchemaChange(path, "enum", Effect.NARROWED, f"no longer allows {_shown(gone)}", gone, None)
    if added:
        yield SchemaChange(path, "enum", Effect.WIDENED, f"also allows {_shown(added)}", None, added)


def _values(schema: Schema) -> list[str] | None:
    """The values of `enum` and `const` as JSON texts, those that both allow; None for a schema with neither."""
    listed = schema.get("enum")
    found = [_text(value) for value in listed] if isinstance(listed, list) else None
    if "const" in schema:
        only = _text(schema["const"])
        return [only] if found is None or only in found else []
    return found


def _shown(values: Iterable[str] | None) -> str:
    told = list(values or ())
    more = f" and {len(told) - 5} more" if len(told) > 5 else ""
    return ", ".join(f"`{one_line(text, 60)}`" for text in told[:5]) + more


def _text_keywords(old: Schema, new: Schema, path: str) -> Iterator[SchemaChange]:
    for keyword in ("pattern", "format"):
        before, after = old.get(keyword), new.get(keyword)
        if before == after:
            continue
        if before is None:
            yield SchemaChange(path, keyword, Effect.NARROWED, f"has a `{keyword}` now", before, after)
        elif after is None:
            yield SchemaChange(path, keyword, Effect.WIDENED, f"has no `{keyword}` any more", before, after)
        else:
            yield SchemaChange(
                path, keyword, Effect.UNKNOWN, f"`{keyword}` changed: cannot tell whether it breaks", before, after
            )


def _dependent_required(old: Schema, new: Schema, path: str) -> Iterator[SchemaChange]:
    before, after = _mapping(old.get("dependentRequired")), _mapping(new.get("dependentRequired"))
    for name in dict.fromkeys([*after, *before]):
        had, has = set(_names(before.get(name))), set(_names(after.get(name)))
        if has - had:
            yield SchemaChange(
                _member(path, name), "dependentRequired", Effect.NARROWED, "requires other properties beside it now"
            )
        if had - has:
            yield SchemaChange(
                _member(path, name), "dependentRequired", Effect.WIDENED, "requires fewer properties beside it"
            )


def _annotations(old: Schema, new: Schema, path: str) -> Iterator[SchemaChange]:
    for keyword in _TEXTS:
        before, after = old.get(keyword), new.get(keyword)
        if _text(before) == _text(after) and (keyword in old) == (keyword in new):
            continue
        became = f" {_shown_default(old)} became {_shown_default(new)}" if keyword == "default" else " changed"
        told = f"{keyword}{became}"
        yield SchemaChange(path, keyword, Effect.NEUTRAL, told, before, after)


def _shown_default(schema: Schema) -> str:
    return f"`{one_line(_text(schema['default']), 60)}`" if "default" in schema else "(none)"


def _member(path: str, name: str) -> str:
    name = one_line(name, 80)
    return f"{path}.{name}" if path else name


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _names(value: Any) -> list[str]:
    return [name for name in _list(value) if isinstance(name, str)]


def _text(value: Any) -> str:
    """A value as JSON that is the same for equal values: `1` and `1.0` are, `1` and `true` are not."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
