"""What stands in a JSON Schema and checks nothing: keywords and formats that no draft knows, or not the draft it names.

A validator passes over them without a word, as the specification asks of it, so a misspelt `requird` makes every value valid.
Source: JSON Schema drafts 04 to 2020-12; which keywords the validator heeds in which draft was tried out.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.core.schema_document import OPAQUE, Document
from mcptest_engine.core.text import pointer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SINGLE = frozenset(
    [
        "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
        "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"
    ]
)  # fmt: skip
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_NAMED = frozenset({"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"})
_PLAIN = frozenset(
    [
        "$anchor", "$comment", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveAnchor", "$recursiveRef", "$ref",
        "$schema", "$vocabulary", "contentEncoding", "contentMediaType", "dependentRequired", "deprecated", "description",
        "exclusiveMaximum", "exclusiveMinimum", "format", "id", "maxContains", "maxItems", "maxLength", "maxProperties",
        "maximum", "minContains", "minItems", "minLength", "minProperties", "minimum", "multipleOf", "pattern", "readOnly",
        "required", "title", "type", "uniqueItems", "writeOnly"
    ]
)  # fmt: skip
_MEMBERS = frozenset(
    [
        "additionalProperties", "dependentRequired", "dependentSchemas", "maxProperties", "minProperties",
        "patternProperties", "properties", "propertyNames", "required", "unevaluatedProperties"
    ]
)  # fmt: skip
_ITEMS = frozenset(
    ["contains", "items", "maxItems", "minItems", "prefixItems", "unevaluatedItems", "uniqueItems"]
)  # fmt: skip
_NARROWING = frozenset(
    ["$dynamicRef", "$recursiveRef", "$ref", "allOf", "anyOf", "const", "enum", "else", "if", "not", "oneOf", "then", "type"]
)  # fmt: skip
_OPENAPI = frozenset({"discriminator", "externalDocs", "nullable", "xml"})
_OPENAPI_FORMATS = frozenset({"binary", "byte", "double", "float", "int32", "int64", "password"})
KEYWORDS = _SINGLE | _LISTS | _NAMED | _PLAIN | OPAQUE
FORMATS = frozenset(
    [
        "date", "date-time", "duration", "email", "hostname", "idn-email", "idn-hostname", "ipv4", "ipv6", "iri",
        "iri-reference", "json-pointer", "regex", "relative-json-pointer", "time", "uri", "uri-reference", "uri-template",
        "uuid",
    ]
)  # fmt: skip
_ONLY_OLDER = {"additionalItems": "`items` describes the items after `prefixItems`"}
_ONLY_NEWER = dict.fromkeys(
    [
        "$anchor", "$dynamicRef", "$dynamicAnchor", "dependentRequired", "dependentSchemas", "maxContains", "minContains",
        "prefixItems", "unevaluatedItems", "unevaluatedProperties"
    ],
    "remove `$schema` to use draft 2020-12",
)  # fmt: skip


class Ineffective(NamedTuple):
    """A part of a schema that checks nothing. `path` leads to it from the schema's root; `is_key` for a keyword."""

    path: tuple[str | int, ...]
    message: str
    hint: str | None
    is_key: bool = True


def ineffective_parts(schema: object) -> Iterator[Ineffective]:
    """Every part of a schema that checks nothing, outermost first: not annotations, `x-…` or words of OpenAPI.

    The schema is one that the validator takes. Linear, without recursion.
    """
    legacy, references = Document(schema).legacy, sorted(_references(schema))
    elsewhere = _ONLY_NEWER if legacy else _ONLY_OLDER
    met: list[tuple[object, tuple[str | int, ...]]] = [(schema, ())]
    for node, path in met:  # which grows meanwhile
        if not isinstance(node, dict):
            continue
        for key, value in node.items():
            here = (*path, key)
            if key not in KEYWORDS:
                # A member such as `components` may hold what others refer to.
                if not (key.startswith("x-") or key in _OPENAPI or _leads_through(references, f"#{pointer(here)}")):
                    hint = did_you_mean(key, KEYWORDS) or "an annotation of your own begins with `x-`"
                    yield Ineffective(here, f"`{key}` is not a JSON Schema keyword, so it checks nothing", hint)
            elif key in elsewhere:
                yield Ineffective(here, f"`{key}` checks nothing in this draft of JSON Schema", elsewhere[key])
            elif key == "format" and isinstance(value, str) and value not in FORMATS | _OPENAPI_FORMATS:
                hint = did_you_mean(value, FORMATS) or "a `pattern` can check it"
                yield Ineffective(
                    here, f"`{value}` is not a JSON Schema format, so it checks nothing", hint, is_key=False
                )
            elif key in _NAMED and isinstance(value, dict):
                met.extend((member, (*here, name)) for name, member in value.items())
            elif key in _LISTS and isinstance(value, list):
                met.extend((member, (*here, at)) for at, member in enumerate(value))
            elif key in _SINGLE:
                met.append((value, here))


def missing_type(schema: object) -> str | None:
    """The type that a schema describes without asking for it, "object" or "array": it takes every value of another type."""
    if not isinstance(schema, dict) or not _NARROWING.isdisjoint(schema):
        return None
    members, items = (not names.isdisjoint(schema) for names in (_MEMBERS, _ITEMS))
    return ("object" if members else "array") if members != items else None


def _leads_through(references: Sequence[str], place: str) -> bool:
    """Whether one of the sorted references leads to a place such as `#/a`, or below it."""
    for least in (place, f"{place}/"):
        at = bisect_left(references, least)
        if at < len(references) and (references[at] == place or references[at].startswith(f"{place}/")):
            return True
    return False


def _references(schema: object) -> Iterator[str]:
    """Where the `$ref` of a schema lead, such as `#/a/b`."""
    met = [schema]
    for node in met:  # which grows meanwhile
        if isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str):
                yield reference
            met += node.values()
        elif isinstance(node, list):
            met += node
