"""The words of a structural problem: what was expected, what was found, and what to write instead.

Everything here is a function of a value and a piece of schema, and returns one line or None.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from typing import Any

from mcptest_engine.core.errors import Suggestion, did_you_mean
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.suite.schema import PATH_PATTERN, is_duration, is_url, messages, messages_of
from mcptest_engine.suite.secrets import without_userinfo

_SHOWN = 40


def kind_of(value: object) -> str:
    """The JSON Schema type of a plain value; `integer` only for an int."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def found(value: object) -> str:
    """The value in the author's words, such as `the text "5s"`."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {_number(value)}"
        case str():
            return f'the text "{one_line(without_userinfo(value), _SHOWN)}"' if value else "an empty text"
        case list():
            return "a list" if value else "an empty list"
        case _:
            return "a mapping" if value else "an empty mapping"


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value) if value.bit_length() < 128 else "of very many digits"
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else (".inf" if value > 0 else "-.inf")
    return repr(value)


def expected(schema: dict[str, Any], key: str, definition: str | None) -> str:
    """What a piece of schema asks for, in the author's words; `key` is the key that it stands under."""
    if "const" in schema:
        const = schema["const"]
        return f"`{const}`" if isinstance(const, str) else _shown(const)
    if "enum" in schema:
        words = schema["enum"]  # of `2025-11-25` and `v2025-11-25` one is enough
        return "one of " + ", ".join(
            f"`{word}`" for word in words if word.removeprefix("v") not in words or word[0] != "v"
        )
    match schema.get("type"):
        case "integer":
            return "a whole number" + (" of milliseconds" if key.endswith("_ms") else "")
        case "number":
            return "a number"
        case "boolean":
            return "true or false"
        case "string":
            return ", ".join(_forms(schema["pattern"])) if "pattern" in schema else "text"
        case "array":
            kind = schema.get("items", {}).get("type")
            items = (
                "numbers"
                if kind == "number"
                else messages()["items"].get(key, "texts" if kind == "string" and not key else None)
            )
            if kind == "string" and key in ("tools", "sets", "equal_function_sets"):
                items = "tools"
            elif kind == "string" and key in ("allowed", "restricted"):
                items = "two tools"
            return f"a list of {items}" if items else "a list"
        case _:
            expected: str = messages_of(definition).get("expected", "a mapping")
            return expected


def either(phrases: list[str], conjunction: str = "or") -> str:
    """`a`, `a or b`, `a, b or c`, without repetition."""
    unique = list(dict.fromkeys(phrases))
    if len(unique) > 1 and "true or false" in unique:
        at = unique.index("true or false")
        unique[at : at + 1] = ["true", "false"]
    return unique[0] if len(unique) == 1 else f"{', '.join(unique[:-1])} {conjunction} {unique[-1]}"


_A_DURATION = "a number and its unit, such as `30s`"


def _forms(pattern: str) -> list[str]:
    if pattern == PATH_PATTERN:
        return ["a path that begins with `/`"]
    return ([_A_DURATION] if is_duration(pattern) else []) + (["a URL"] if is_url(pattern) else [])


def wrong_form(pattern: str, value: str, key: str) -> tuple[str, str | None]:
    """The message and the hint for a text that has not the form asked for."""
    shown = found(value) if "@" not in value else "another text"  # it may hold a password
    if pattern == PATH_PATTERN:
        return f"expected {_forms(pattern)[0]}, found {shown}", f"write `{key}: /health`"
    if not is_duration(pattern):
        scheme = "https" if key == "token_endpoint" else "http"
        return f"a URL starts with {_SCHEMES}, found {shown}", _url_hint(value, scheme)
    hint = _duration_hint(value)
    if hint is None and is_url(pattern):
        hint = f"a URL starts with {_SCHEMES}" if "://" in value else _url_hint(value, "http")
    message = f"expected {', or '.join(_forms(pattern))}, found {shown}"
    return message, hint or f"write `{key}: 30s`"


_SCHEMES = "`http://` or `https://`"


def _url_hint(value: str, scheme: str) -> str | None:
    if re.fullmatch(r"[A-Za-z0-9.-]+(:[0-9]+)?(/[^\s@]*)?", value) and ("." in value or ":" in value):
        return f"write `{scheme}://{one_line(value, 60)}`"
    return None


def const_hint(const: object) -> str | None:
    """What to do about the one value that is possible."""
    if const is True:
        return "remove it, or write `true`"
    return "to log in as a person, use `mcptest login URL`, without `auth`" if const == "client_credentials" else None


def type_hint(schema: dict[str, Any], value: Any, key: str, definition: str | None, spelling: str) -> str | None:
    """How to mend a value of the wrong type; `spelling` is the value as the file has it."""
    if "enum" in schema:
        return _word_for(value, schema["enum"])
    match schema.get("type"):
        case "integer" | "number":
            return _number_hint(value, key, whole=schema["type"] == "integer")
        case "boolean":
            return boolean_hint(value)
        case "string" if is_duration(schema.get("pattern", "")):
            return _duration_hint(value)
        case "string":
            if key == "scorers" and isinstance(value, dict):
                return "declare it at the top of the file, under `scorers:` next to `evals:`, and write its name here"
            if key == "sampling" and isinstance(value, bool):
                return "write the text of the model"
            if key == "scope" and isinstance(value, list) and all(isinstance(item, str) for item in value):
                return one_line(f'write `"{" ".join(value)}"`, with spaces between them', 120)
            hint = _text_hint(value, spelling)
            return hint and without_userinfo(hint)
        case "array":
            return _list_hint(value, key)
        case _:
            hint = _mapping_hint(without_userinfo(value) if isinstance(value, str) else value, key, definition)
            return hint and without_userinfo(hint)


_DURATION = re.compile(
    r"([0-9]+(?:\.[0-9]+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)", re.IGNORECASE
)
_FACTORS = {"m": 60_000, "h": 3_600_000, "s": 1000}
_NUMERIC = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?")


def _number_hint(value: object, key: str, *, whole: bool) -> str | None:
    if isinstance(value, float) and math.isfinite(value):
        return f"write `{int(value)}`" if value.is_integer() else f"write `{round(value)}`, or another whole number"
    if not isinstance(value, str):
        return None
    text = value.strip()
    if _NUMERIC.fullmatch(text) and len(text) < _SHOWN and not (whole and "." in text):
        return f"write `{text}` without quotes"
    duration = _DURATION.fullmatch(text) if key.endswith("_ms") and len(text) < _SHOWN else None
    if duration is None:
        return None
    unit = duration[2].lower()
    factor = 1 if unit.startswith(("ms", "milli")) else _FACTORS[unit[0]]
    return f"write `{round(float(duration[1]) * factor)}`"


_COMPOUND = re.compile(r"(?:([0-9]+)h)? *(?:([0-9]+)m)? *(?:([0-9]+)s)?")


def _duration_hint(value: object) -> str | None:
    """How a bare number, or a number with a unit of another spelling, is written."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e9:
        return f"write `{_number(value)}s` for seconds, or `{_number(value)}ms` for milliseconds"
    text = value.strip() if isinstance(value, str) and len(value) < _SHOWN else ""
    if _NUMERIC.fullmatch(text) and not text.startswith(("-", "+")):
        return f"write `{text}s` for seconds, or `{text}ms` for milliseconds"
    duration = _DURATION.fullmatch(text)
    if duration is None:
        parts = _COMPOUND.fullmatch(text)
        hours, minutes, seconds = (int(part or 0) for part in parts.groups()) if parts and text else (0, 0, 0)
        total = hours * 3600 + minutes * 60 + seconds
        return f"write `{total}s`" if total else None
    unit = duration[2].lower()
    return f"write `{duration[1]}{'ms' if unit.startswith(('ms', 'milli')) else unit[0]}`"


def _word_for(value: object, words: list[Any]) -> str | None:
    """What is written for a value of another type where one of a few words belongs."""
    if "accept" in words and isinstance(value, bool):
        return "write `accept`" if value else "write `decline`"
    if "drop_response" in words and type(value) is int:
        return f"write `{{ delay_ms: {_number(value)} }}`"
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) and value[0] in words:
        return f"write `{value[0]}`, without a list"
    return None


_TRUE = frozenset({"yes", "on", "y", "true", "1"})
_FALSE = frozenset({"no", "off", "n", "false", "0"})


def boolean_hint(value: object) -> str | None:
    """`true` or `false` for a word or number that means it elsewhere."""
    word = str(value).strip().lower() if isinstance(value, (str, int)) else ""
    if word in _TRUE:
        return "write `true`"
    return "write `false`" if word in _FALSE else None


def _text_hint(value: object, spelling: str) -> str | None:
    if isinstance(value, (bool, int, float)):
        return f'quote it: "{spelling}"'
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return f"write `{_flow_item(value[0])}`, without a list"
    if isinstance(value, dict) and len(value) == 1:
        inner = next(iter(value))
        if inner == "jq" and isinstance(value[inner], str):
            return f"write the program itself: `{_flow_item(value[inner])}`"
        if isinstance(inner, str) and ("{" in spelling[:2] or value[inner] is None):
            return "quote text that begins with `{`"
    return None


SCORERS_HINT = "`scorers:` belongs at the top of the file, next to `evals:`: one key cannot be a mapping and a list"


def _list_hint(value: object, key: str) -> str | None:
    if key == "verify" and isinstance(value, dict | str):
        return (
            "put `- ` before the step" if isinstance(value, dict) else f"write `- tool: {_flow_item(value)}` below it"
        )
    if isinstance(value, dict) and key == "scorers" and all(isinstance(item, dict) for item in value.values()):
        return "write each as `- name: NAME`, with its other keys below"
    if isinstance(value, dict) and key == "evals" and "scorers" in value:
        return SCORERS_HINT
    if isinstance(value, dict):
        return "put `- ` before each entry" if value else "write `[]`"
    if not isinstance(value, str) or not value.strip():
        return None
    if key == "command":
        return f"write `[{', '.join(_flow_item(part) for part in _argv(value))}]`"
    parts = [part.strip() for part in value.split(",")] if key in _LISTS_OF_WORDS else [value]
    return one_line(f"write `[{', '.join(_flow_item(part) for part in parts if part)}]`", 120)


_LISTS_OF_WORDS = frozenset({"tags", "inherit_env", "models", "scorers", "servers"})


def _argv(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _flow_item(text: str) -> str:
    """A text as an item of a YAML flow list: plain where that is safe."""
    if re.fullmatch(r"(?:--?)?[A-Za-z./_][\w./@=+-]*", text) and text.lower() not in ("true", "false", "null"):
        return text
    return json.dumps(one_line(text), ensure_ascii=False)


_PAIR = re.compile(r"([A-Za-z_][\w-]*):(\S.*)")


def _mapping_hint(value: Any, key: str, definition: str | None) -> str | None:
    pair = _PAIR.fullmatch(value.strip()) if isinstance(value, str) else None
    if pair and not value.startswith(("http:", "https:")):
        return f"a space is missing after the colon: write `{pair[1]}: {one_line(pair[2], _SHOWN)}`"
    if isinstance(value, str) and definition == "Server":
        if value.startswith(("http://", "https://")):
            return one_line(f"write `url: {value}` below it", 120)
        return one_line(f"write `command: [{', '.join(_flow_item(part) for part in _argv(value))}]` below it", 120)
    kind = "text" if isinstance(value, str) else "list" if isinstance(value, list) else "value"
    instead: str | None = messages_of(definition).get("instead", {}).get(kind)
    if instead is not None:
        plain = int(value) if isinstance(value, bool) and definition != "Matcher" else value
        return one_line(instead.replace("VALUE", _flow_item(value) if kind == "text" else _shown(plain)), 120)
    if kind == "list":
        if key == "capabilities":
            return "write each capability as `name: {}`, without `- `"
        if key in ("env", "headers", "args", "variables", "meta", "content"):
            return "write each entry as `name: value`, without `- `"
        return "write each server as `name:` with its keys below" if key == "servers" else "remove the `- `"
    return "remove the key, or write `{}`" if value is None and key == "args" else None


# A value of an enumeration -> the word of the language.
_VALUE_ALIASES = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
    "map": "object",
    "mapping": "object",
    "none": "null",
    "nil": "null",
    "error": "fail",
    "warning": "warn",
    "warn": "warning",
    "err": "error",
    "fatal": "critical",
    "panic": "emergency",
    "trace": "debug",
    "verbose": "debug",
    "yes": "accept",
    "ok": "accept",
    "allow": "accept",
    "approve": "accept",
    "no": "decline",
    "deny": "decline",
    "refuse": "decline",
    "reject": "decline",
    "dismiss": "cancel",
    "close": "disconnect",
    "cut": "disconnect",
    "drop": "drop_response",
    "lose": "drop_response",
    "lost": "drop_response",
    "exact": "strict",
    "in_order": "subsequence",
    "any_order": "unordered",
}


def enum_hint(value: Any, words: list[Any]) -> str | None:
    """The word of an enumeration that was meant."""
    if value is None and "null" in words:
        return 'quote it: "null"'
    if not isinstance(value, str):
        return None
    if "drop_response" in words and "delay" in value.lower():
        return "write `{ delay_ms: 250 }`"
    alias = _VALUE_ALIASES.get(value.strip().lower())
    if alias in words:
        return Suggestion(value, str(alias))
    near = did_you_mean(
        value, [str(word) for word in words if f"{word}".removeprefix("v") not in words or word[0] != "v"]
    )
    if near is None and "drop_response" in words:
        return "it may also be `{ delay_ms: 250 }`"
    return near


def alias_hint(key: str, alias: str, name: str, value: object) -> str:
    """What to write for a word of another tool; `name` is the definition whose key `alias` is meant."""
    if alias == "fault" and key in ("delay", "latency"):
        shown = value if type(value) is int else 250
        return f"did you mean `fault: {{ delay_ms: {shown} }}`?"
    told: str | None = messages_of(name).get("told", {}).get(key)
    return told or Suggestion(key, alias)


def null_hint(schema: dict[str, Any], key: str) -> str:
    """What to do about a key without a value."""
    if key == "args":
        return "remove the key, or write `{}`"
    if key in ("client", "http"):
        return (
            "write its content below it, indented, or write `{}`"
            if key == "client"
            else "remove the key, or write `{}`"
        )
    if schema.get("type") in ("integer", "boolean", "string", "number"):
        return "write a value after the colon, or remove the key"
    return "write its content below it, indented, or remove the key"


def bound_message(schema: dict[str, Any], value: Any) -> str | None:
    """Why a number, text or list of the right type is still refused; None when it is not."""
    if isinstance(value, (int, float)):
        if "minimum" in schema and value < schema["minimum"]:
            return f"must be at least {schema['minimum']}, found {_number(value)}"
        if "maximum" in schema and value > schema["maximum"]:
            return f"must be at most {schema['maximum']}, found {_number(value)}"
    if isinstance(value, str) and len(value) < schema.get("minLength", 0):
        return "must not be empty"
    if isinstance(value, list):
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if most is not None and least == most and len(value) != least:
            kind = "numbers" if schema.get("items", {}).get("type") == "number" else "texts"
            return f"expected a list of {least} {kind}, found a list of {len(value)}"
        if len(value) < least:
            return "the list must not be empty"
        if most is not None and len(value) > most:
            return f"at most {most} items, found {len(value)}"
    return None


def _shown(value: object) -> str:
    return one_line(json.dumps(value, ensure_ascii=False), _SHOWN)
