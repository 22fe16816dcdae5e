"""The JSON Schema and the texts of messages, made from the models. `python -m mcptest_engine.suite.model.generate` writes both
anew, and a test holds them equal.
"""

from __future__ import annotations

import json
from inspect import get_annotations
from typing import Any

from mcptest_engine.core.enums import TestKind
from mcptest_engine.suite.model.base import Part
from mcptest_engine.suite.model.suite import Suite
from mcptest_engine.suite.schema import MESSAGES_PATH, OR_TEMPLATE, SCHEMA_PATH, SHORT_FORMS, is_url
from mcptest_engine.suite.short_assertions import pattern_properties

_TEMPLATE = {
    "description": "A template that stands alone, such as `${var.limit}`: it takes the value with its type.",
    "type": "string",
    "pattern": r"^\$\{[^{}]+\}$",
}
# Lists that are the suite's own shape: no template can stand for them.
_SHAPE = frozenset(
    {
        *("imports", "servers", "checks", "nodes", "scorers", "expect", "assertions"),
        *(kind.block for kind in TestKind),
    }
)
# Mappings that are data: one whole template can stand for all of one.
_DATA = frozenset({"args", "meta", "content", "capabilities", "metadata"})
_FIRST = ("name", "description")
_NOT_OF_THE_TYPE = frozenset({"title", "description", "default", "examples", "hints"})
_OF_MESSAGES = ("expected", "place", "choice", "instead", "later", "is_rare")
# Of two kinds of values, the definition of one, and by what its values are known.
_KINDS: dict[str, dict[str, Any]] = {
    "#/$defs/OtherScorer": {
        "required": ["type"],
        "properties": {"type": {"type": "string", "not": {"const": "exec"}}},
    },
    "#/$defs/AssertSetItem": {"required": ["assert-set"]},
    "#/$defs/FromEnv": {"required": ["from_env"]},
}


def generate() -> dict[str, Any]:
    """The JSON Schema, made from the models."""
    raw, known = Suite.model_json_schema(by_alias=True), models()
    definitions = {name: _clean(part, known[name]) for name, part in raw.pop("$defs").items()}
    definitions["Template"] = _TEMPLATE
    for name, block in SHORT_FORMS.items():
        definitions[name]["patternProperties"] = pattern_properties(block)
    definitions["Matchers"] = {
        "description": "One matcher, or several that must all hold.",
        "type": "object",
        "properties": {
            name: {"description": told["description"], "$ref": f"#/$defs/Matcher/properties/{name}"}
            for name, told in definitions["Matcher"]["properties"].items()
        },
        "additionalProperties": False,
        "minProperties": 1,
    }
    root = _clean(raw, Suite)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mcptest suite",
        **root,
        "$defs": definitions,
    }


def generate_messages() -> dict[str, Any]:
    """What `messages` gives, made from the models."""
    items: dict[str, str] = {}
    mappings: dict[str, Any] = {}
    for name, model in models().items():
        about = vars(model).get("about")
        if about is None and model.__subclasses__():
            continue  # what several mappings have in common
        mapping = {key: getattr(about, key) for key in _OF_MESSAGES if about and getattr(about, key)}
        for base in reversed(model.__mro__):
            for attribute, field in getattr(base, "model_fields", {}).items():
                extra, key = field.json_schema_extra, field.alias or attribute
                hints = extra.get("hints", {}) if isinstance(extra, dict) else {}
                found = {
                    "aliases": dict.fromkeys((*hints.get("aliases", ()), *hints.get("told", ())), key),
                    "told": hints.get("told", {}),
                    "missing": {key: hints["missing"]} if "missing" in hints else {},
                }
                mapping |= {part: mapping.get(part, {}) | texts for part, texts in found.items() if texts}
                if "items" in hints and items.setdefault(key, hints["items"]) != hints["items"]:
                    raise ValueError(f"the items of `{key}` have two names")
        mappings[name] = mapping
    return {"items": items, "mappings": mappings}


def models() -> dict[str, type[Part]]:
    """The models of all mappings of the language, by their names in the schema."""
    found: list[type[Part]] = [Part]
    for model in found:
        found += model.__subclasses__()
    return {model.__name__: model for model in sorted(found[1:], key=lambda model: model.__name__)}


def generated_text(content: dict[str, Any]) -> str:
    """What `generate` or `generate_messages` gives, as the shipped file spells it."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _clean(part: dict[str, Any], model: type[Part]) -> dict[str, Any]:
    """An object's schema without the generator's noise. Of its keys, its own are before those of what it is a kind of."""
    cleaned: dict[str, Any] = {key: part[key] for key in ("description", "type") if key in part}
    found, fields = part["properties"], model.model_fields
    first = _FIRST if all(name in found for name in _FIRST) else ()
    own = [fields[key].alias or key for base in model.__mro__ for key in get_annotations(base) if key in fields]
    cleaned["properties"] = {name: _property(name, found[name]) for name in dict.fromkeys([*first, *own])}
    rest = {key: value for key, value in part.items() if key not in (*cleaned, "title")}
    return {**cleaned, **rest}


def _property(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    told = {key: schema[key] for key in ("description", "default", "examples") if schema.get(key) not in (None, [], {})}
    bare = {key: value for key, value in schema.items() if key not in _NOT_OF_THE_TYPE}
    branches = [
        _with_template(_with_kinds(branch)) for branch in bare.pop("anyOf", [bare]) if branch != {"type": "null"}
    ]
    if name not in _SHAPE and _needs_template(branches, data=name in _DATA):
        branches.append({"$ref": "#/$defs/Template"})
    return {**told, **(branches[0] if len(branches) == 1 else {"anyOf": branches})}


def _with_kinds(branch: dict[str, Any]) -> dict[str, Any]:
    """A list or a mapping whose values are of two kinds: of which one is, its keys say, and only that one's faults are told."""
    for word in ("items", "additionalProperties"):
        inner = branch.get(word)
        ways = inner.get("anyOf", []) if isinstance(inner, dict) else []
        for way in ways:
            if condition := _KINDS.get(way.get("$ref", "")):
                other = next(one for one in ways if one != way)
                kinds = {"if": {"type": "object", **condition}, "then": way, **({"else": other} if other else {})}
                return {**branch, word: kinds}
    return branch


def _with_template(branch: dict[str, Any]) -> dict[str, Any]:
    """A URL may begin with a template."""
    pattern = branch.get("pattern", "")
    return {**branch, "pattern": f"{pattern[:-1]}{OR_TEMPLATE})"} if is_url(pattern) else branch


def _needs_template(branches: list[dict[str, Any]], *, data: bool) -> bool:
    """Whether one whole template can stand here, and nothing else in these branches accepts it."""
    if any(branch.get("type") == "string" and not _is_closed(branch) for branch in branches):
        return False
    kinds = {branch.get("type") for branch in branches}
    return data or bool(kinds & {"string", "integer", "number", "boolean", "array"})


def _is_closed(branch: dict[str, Any]) -> bool:
    """Whether a text is of a form that no template has."""
    if "enum" in branch or "const" in branch:
        return True
    return "pattern" in branch and OR_TEMPLATE not in branch["pattern"]


if __name__ == "__main__":
    SCHEMA_PATH.write_text(generated_text(generate()), encoding="utf-8")
    MESSAGES_PATH.write_text(generated_text(generate_messages()), encoding="utf-8")
