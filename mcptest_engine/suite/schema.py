"""The published JSON Schema of the suite language: shipped as a file, generated from the models.

Reading it needs no pydantic. `python -m mcptest_engine.suite.schema` writes the file anew, and a test holds the two equal.
What stands for a number, a boolean or a list may in a file also be one whole template such as `"${var.limit}"`: editors
must accept that, while a suite whose templates have been replaced must not hold one any more (`strict_schema`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mcptest_engine.suite.forms import is_url

SCHEMA_PATH = Path(__file__).with_name("suite.schema.json")

_TEMPLATE = {
    "description": "A template that stands alone, such as `${var.limit}`: it takes the value with its type.",
    "type": "string",
    "pattern": r"^\$\{[^{}]+\}$",
}
# Blocks that are the suite's own shape: no template can stand for them.
_SHAPE = frozenset(
    {
        *(
            "servers",
            "imports",
            "tools",
            "resources",
            "prompts",
            "compliance",
            "checks",
            "agents",
            "compositions",
            "nodes",
            "evals",
            "scorers",
            "prices",
        ),
        *("expect", "assertions", "matcher"),
    }
)
# Mappings that are data: one whole template can stand for all of one.
_DATA = frozenset({"args", "meta", "content", "capabilities", "metadata"})
_SHORT_FORMS = {"Expect": "tools", "AgentExpect": "agents"}
"""What has the short form of assertions, with the block whose targets its keys are."""
_FIRST = ("name", "description")
_SET_ITEM = "#/$defs/AssertSetItem"
_OTHER_SCORER = "#/$defs/OtherScorer"
# The last alternative of a URL's pattern, which only editors see: `${BASE}/mcp` is one as soon as the suite is loaded.
_OR_TEMPLATE = r"|\$\{"


def schema_text() -> str:
    """The JSON Schema as editors and `mcptest schema` have it."""
    return SCHEMA_PATH.read_text(encoding="utf-8")


def strict_schema() -> dict[str, Any]:
    """The JSON Schema of a suite whose templates have been replaced by their values."""
    schema: dict[str, Any] = json.loads(schema_text().replace(json.dumps(_OR_TEMPLATE)[1:-1], ""))
    schema["$defs"]["Template"] = False
    for name in _SHORT_FORMS:
        del schema["$defs"][name]["patternProperties"]  # the short form, which is replaced when a file is read
    del schema["$defs"]["Matchers"]
    return schema


def generate() -> dict[str, Any]:
    """The JSON Schema, made from the models."""
    from mcptest_engine.suite.model import Suite
    from mcptest_engine.suite.short_assertions import pattern_properties

    raw = Suite.model_json_schema(by_alias=True)
    definitions = {name: _clean(part) for name, part in raw.pop("$defs").items()}
    definitions["Template"] = _TEMPLATE
    for name, block in _SHORT_FORMS.items():
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
    root = _clean(raw)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mcptest suite",
        **root,
        "$defs": definitions,
    }


def write() -> None:
    """Write the shipped file anew."""
    SCHEMA_PATH.write_text(generated_text(), encoding="utf-8")


def generated_text() -> str:
    """The generated schema, as the shipped file spells it."""
    return json.dumps(generate(), indent=2, ensure_ascii=False) + "\n"


def _clean(part: dict[str, Any]) -> dict[str, Any]:
    """An object's schema without the generator's noise, its keys in reading order."""
    cleaned: dict[str, Any] = {key: part[key] for key in ("description", "type") if key in part}
    found = part["properties"]
    first = _FIRST if all(name in found for name in _FIRST) else ()
    ordered = [*first, *(name for name in found if name not in first)]
    cleaned["properties"] = {name: _property(name, found[name]) for name in ordered}
    rest = {key: value for key, value in part.items() if key not in (*cleaned, "title")}
    return {**cleaned, **rest}


def _property(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    told = {key: schema[key] for key in ("description", "default", "examples") if schema.get(key) not in (None, [], {})}
    bare = {key: value for key, value in schema.items() if key not in ("title", "description", "default", "examples")}
    branches = [
        _with_template(_with_sets(branch)) for branch in bare.pop("anyOf", [bare]) if branch != {"type": "null"}
    ]
    if name not in _SHAPE and _wants_template(branches, data=name in _DATA):
        branches.append({"$ref": "#/$defs/Template"})
    return {**told, **(branches[0] if len(branches) == 1 else {"anyOf": branches})}


def _with_sets(branch: dict[str, Any]) -> dict[str, Any]:
    """A list of assertions and sets: which of the two an item is, its key says, so that only that one's faults are told."""
    ways = branch.get("items", {}).get("oneOf", [])
    if {"$ref": _OTHER_SCORER} in ways:
        (scorer,) = (way for way in ways if way != {"$ref": _OTHER_SCORER})
        other = {
            "type": "object",
            "required": ["type"],
            "properties": {"type": {"type": "string", "not": {"const": "exec"}}},
        }
        return {**branch, "items": {"if": other, "then": {"$ref": _OTHER_SCORER}, "else": scorer}}
    if {"$ref": _SET_ITEM} not in ways:
        return branch
    (assertion,) = (way for way in ways if way != {"$ref": _SET_ITEM})
    condition = {"type": "object", "required": ["assert-set"]}
    return {**branch, "items": {"if": condition, "then": {"$ref": _SET_ITEM}, "else": assertion}}


def _with_template(branch: dict[str, Any]) -> dict[str, Any]:
    """A URL may begin with a template."""
    pattern = branch.get("pattern", "")
    return {**branch, "pattern": f"{pattern[:-1]}{_OR_TEMPLATE})"} if is_url(pattern) else branch


def _wants_template(branches: list[dict[str, Any]], *, data: bool) -> bool:
    """Whether one whole template can stand here, and nothing else in these branches accepts it."""
    if any(branch.get("type") == "string" and not _is_closed(branch) for branch in branches):
        return False
    kinds = {branch.get("type") for branch in branches}
    return data or bool(kinds & {"string", "integer", "number", "boolean", "array"})


def _is_closed(branch: dict[str, Any]) -> bool:
    """Whether a text is of a form that no template has."""
    if "enum" in branch or "const" in branch:
        return True
    return "pattern" in branch and _OR_TEMPLATE not in branch["pattern"]


if __name__ == "__main__":
    write()
