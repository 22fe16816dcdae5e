"""What it takes to break a schema: for each of its keywords a schema whose values do not conform to that keyword."""

from __future__ import annotations

REFUSED = "mcptest:refused"  # a keyword of ours: the values that it may not be
UNLIKE = "mcptest:unlike"  # a keyword of ours: any value that is not of the usual kind
TYPES = ("string", "object", "integer", "array", "boolean", "null", "number")
_MOST = 24

_SWAPPED = {  # keyword: (type, the keyword of the opposite, added to the bound)
    "minLength": ("string", "maxLength", -1),
    "maxLength": ("string", "minLength", 1),
    "minItems": ("array", "maxItems", -1),
    "maxItems": ("array", "minItems", 1),
    "minProperties": ("object", "maxProperties", -1),
    "maxProperties": ("object", "minProperties", 1),
    "minimum": ("number", "exclusiveMaximum", 0),
    "maximum": ("number", "exclusiveMinimum", 0),
    "exclusiveMinimum": ("number", "maximum", 0),
    "exclusiveMaximum": ("number", "minimum", 0),
}


def negations(schema: object, references: list[object]) -> list[object]:
    """Schemas none of whose values conform to `schema`, as good as each alone; `references` are what its `$ref`s lead to."""
    if schema is True or schema == {}:
        return []
    if schema is False or not isinstance(schema, dict):
        return [True]
    ways: list[object] = [{"not": target} for target in references]
    for keyword, value in schema.items():
        ways += _ways(keyword, value, schema)
        if len(ways) >= _MOST:
            break
    return ways[:_MOST]


def _ways(keyword: str, value: object, schema: dict[str, object]) -> list[object]:
    if keyword in _SWAPPED and isinstance(value, (int, float)) and not isinstance(value, bool):
        kind, opposite, more = _SWAPPED[keyword]
        return [{"type": kind, opposite: value + more}] if more == 0 or value + more >= 0 else []
    match value:
        case list():
            return _ways_of_list(keyword, value)
        case dict() | bool():
            return _ways_of_schema(keyword, value, schema)
    match keyword:
        case "type":
            return _ways_of_list("type", [value])
        case "const":
            return [{REFUSED: [value]}]
        case "pattern" | "format":
            return [{"type": "string", UNLIKE: True}]
        case "multipleOf":
            return [{"type": "number", UNLIKE: True}]
    return []


def _ways_of_list(keyword: str, value: list[object]) -> list[object]:
    match keyword:
        case "type":
            return [
                {"type": kind} for kind in TYPES if kind not in value and (kind, "number" in value) != ("integer", True)
            ]
        case "enum":
            return [{REFUSED: value}]
        case "const":
            return [{REFUSED: [value]}]
        case "required":
            return [{"type": "object", "properties": {name: False}} for name in value if isinstance(name, str)]
        case "anyOf" | "oneOf":
            return [{"allOf": [{"not": branch} for branch in value]}]
        case "allOf":
            return [{"not": branch} for branch in value]
    return []


def _ways_of_schema(keyword: str, value: object, schema: dict[str, object]) -> list[object]:
    broken = {"not": value}
    match keyword:
        case "const":
            return [{REFUSED: [value]}]
        case "properties":
            named = [(name, {"not": member}) for name, member in value.items()] if isinstance(value, dict) else []
            return [{"type": "object", "required": [name], "properties": {name: member}} for name, member in named]
        case "not":
            return [value]
        case "items" | "prefixItems":
            return [{"type": "array", "minItems": 1, "items": broken}]
        case "contains":
            return [{"type": "array", "items": broken}]
        case "additionalProperties" | "unevaluatedProperties":
            extra = _name_not_in(schema.get("properties"))
            return [{"type": "object", "required": [extra], "properties": {extra: broken}}]
        case "propertyNames":
            return [{"type": "object", "minProperties": 1, "propertyNames": broken}]
        case "uniqueItems":
            return [{"type": "array", "minItems": 2, "items": {"const": 1}}] if value is True else []
        case "if":
            given, lacking = schema.get("then", True), schema.get("else", True)
            return [{"allOf": [value, {"not": given}]}, {"allOf": [broken, {"not": lacking}]}]
    return []


def _name_not_in(properties: object) -> str:
    taken = properties if isinstance(properties, dict) else {}
    return next(name for name in (f"extra{count or ''}" for count in range(len(taken) + 1)) if name not in taken)
