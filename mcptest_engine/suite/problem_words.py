"""The words of a structural problem: what was expected, what was found, and what to write instead.

Everything here is a function of a value and a piece of schema, and returns one line or None.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from typing import Any

from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.suite.forms import PATH_PATTERN, is_duration, is_url
from mcptest_engine.suite.known_words import VALUE_ALIASES
from mcptest_engine.suite.secrets import without_userinfo

_SHOWN = 40


def kind_of(value: Any) -> str:
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


def found(value: Any) -> str:
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


_ITEMS = {
    "tools": "tests",
    "resources": "tests",
    "prompts": "tests",
    "compliance": "checks",
    "checks": "checks",
    "agents": "tests",
    "evals": "evals",
    "scorers": "scorers",
    "sets": "lists of tools",
    "equal_function_sets": "lists of tools",
    "allowed": "pairs of tools",
    "restricted": "pairs of tools",
    "calls": "calls",
    "correct": "tools",
    "of": "tools",
    "delegation": "hand-offs",
    "compositions": "compositions",
    "nodes": "nodes",
    "cases": "cases",
    "needs": "node ids",
    "models": "models",
    "criteria": "criteria",
    "expect": "assertions",
    "assertions": "assertions",
    "all-of": "matchers",
    "any-of": "matchers",
    "verify": "steps",
    "derivedMetrics": "metrics",
    "weighted_average": "terms",
    "weighted_sum": "terms",
    "beforeAll": "commands",
    "afterAll": "commands",
    "beforeEach": "commands",
    "afterEach": "commands",
    "roots": "roots",
    "subscriptions": "uris",
    "sampling": "answers",
    "elicitation": "answers",
}
_MAPPINGS = {
    "ToolTest": "a test, which is a mapping",
    "ResourceTest": "a test, which is a mapping",
    "PromptTest": "a test, which is a mapping",
    "ComplianceCheck": "a check, which is a mapping",
    "Compliance": "a mapping with `checks`",
    "Composition": "a composition, which is a mapping with `name` and `nodes`",
    "Node": "a node, which is a mapping with `id` and `tool`",
    "Need": "a mapping with `id`",
    "Mock": "a mapping with `result`",
    "Loop": "a mapping with `until` and `max`",
    "Assembly": "a mapping with `assemble`",
    "CompositionCase": "a case, which is a mapping with `name` and `vars`",
    "CompositionBudget": "a mapping with caps such as `max_cost_usd`",
    "AgentTest": "a test, which is a mapping",
    "EvalTest": "an eval, which is a mapping",
    "EvalCall": "a mapping with `tool` and `args`",
    "Scorer": "a scorer, which is a mapping with `name`, `type` and `command`",
    "OtherScorer": "a scorer, which is a mapping with `name` and `type`",
    "Judge": "a mapping with `model`, `models` or `jury`",
    "LlmJudge": "a mapping with `rubric`",
    "Price": "a mapping with `input_usd_per_mtok` and `output_usd_per_mtok`",
    "Inconclusive": "a mapping with keys such as `on` and `min_trials`",
    "FunctionSets": "a mapping with `sets`",
    "ToolSelection": "a mapping with `tool` or `tools`",
    "Trajectory": "a mapping with `calls`",
    "GoldenPath": "a mapping with `calls`",
    "ExpectedCall": "a mapping with `tool` and `args`",
    "ToolEdges": "a mapping with `allowed` or `restricted`",
    "Delegation": "a mapping with `from` and `to`",
    "Distractors": "a mapping with `count`",
    "TokenEfficiency": "a mapping with `correct`",
    "AgentBudget": "a mapping with `per_test_usd_cents` or `per_suite_usd_cents`",
    "EffectLimits": "a mapping with `destructive` or `mutating`",
    "AgentTools": "a mapping with `allow`, `deny` or `dry`",
    "AgentEval": "a mapping with metrics such as `rubric` and `mcp_use`",
    "Rubric": "a mapping with `criteria` or `tree`",
    "Criterion": "a criterion, which is a mapping with `name`",
    "Branch": "a mapping with `ask`, `yes` and `no`, or with `score`",
    "Threshold": "a mapping with `threshold`",
    "Assertion": "an assertion, which is a mapping with `target` and `matcher`",
    "Matcher": "a mapping with one matcher",
    "Server": "a server, which is a mapping with `command` or `url`",
    "Expect": "a mapping with `assertions`",
    "AgentExpect": "a mapping with `assertions`",
    "Approx": "a mapping with `value` and `tolerance`",
    "Transform": "a mapping with `jq`",
    "HeaderFromEnv": "a mapping with `env`",
    "Auth": "a mapping with `bearer_token_env` or `oauth`",
    "OAuth": "a mapping with `grant`, `client_id` and `client_secret_env`",
    "Http": "a mapping with keys such as `timeout` and `verify`",
    "Readiness": "a mapping with `url` and `timeout`",
    "Client": "a mapping with keys such as `sampling` and `elicitation`",
    "Sampling": "a mapping with `content` or `error`",
    "Elicitation": "a mapping with `action` or `error`",
    "ProtocolError": "a mapping with `code` and `message`",
    "Root": "a mapping with `uri`",
    "Delay": "a mapping with `delay_ms`",
    "VerifyStep": "a step, which is a mapping with `tool`, `uri` or `prompt`",
    "TokenBudget": "a mapping with `budget`",
    "AssertSet": "a set, which is a mapping with `assertions`",
    "AssertSetItem": "a mapping with `assert-set`",
    "DefaultTest": "a mapping with keys such as `expect` and `threshold`",
    "DerivedMetric": "a metric, which is a mapping with `name` and `value`",
    "MetricTerm": "a mapping with `ref` and `weight`",
    "MetricValue": "a mapping with `weighted_average` or `weighted_sum`",
    "Hooks": "a mapping with `beforeAll`, `afterAll`, `beforeEach` or `afterEach`",
    "ContextStep": "a mapping with `command` and `mode: context`",
}


# A definition of which exactly one of several keys is there -> what it is called, and how it is written.
WAYS = {
    "Server": ("a server", "write `command: [program, argument]` or `url: http://…`"),
    "Auth": ("`auth`", "write `bearer_token_env: NAME`, with the name of an environment variable"),
    "VerifyStep": ("a step", "write the request: `tool: NAME`, `uri: URI` or `prompt: NAME`"),
    "MetricValue": ("a metric", "write `weighted_average:` and below it a list of `{ ref: NAME, weight: 1 }`"),
    "AgentTest": ("an agent test", "write the prompt, such as `prompt: How warm is it in Oslo?`"),
    "ToolSelection": ("`tool_selection`", "write which tool must be called, such as `tool: get_weather`"),
    "Rubric": ("a rubric", "write `criteria:` and below it a list of `{ name: NAME }`"),
    "Branch": ("a branch", "write a question, such as `ask: Does it name the city?`, or `score: 1`"),
    "Sampling": ("an answer to sampling", "write the answer of the model, such as `content: Paris`"),
    "Elicitation": ("an answer to elicitation", "write `action: accept`, `decline` or `cancel`"),
}


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
                "numbers" if kind == "number" else _ITEMS.get(key, "texts" if kind == "string" and not key else None)
            )
            if kind == "string" and key in ("tools", "sets", "equal_function_sets"):
                items = "tools"
            elif kind == "string" and key in ("allowed", "restricted"):
                items = "two tools"
            return f"a list of {items}" if items else "a list"
        case _:
            return _MAPPINGS.get(definition or "", "a mapping")


def either(phrases: list[str], conjunction: str = "or") -> str:
    """`a`, `a or b`, `a, b or c`, without repetition."""
    unique = list(dict.fromkeys(phrases))
    return unique[0] if len(unique) == 1 else f"{', '.join(unique[:-1])} {conjunction} {unique[-1]}"


_A_DURATION = "a number and its unit, such as `30s`"


def _forms(pattern: str) -> list[str]:
    if pattern == PATH_PATTERN:
        return ["a path that begins with `/`"]
    return ([_A_DURATION] if is_duration(pattern) else []) + (["a url"] if is_url(pattern) else [])


def wrong_form(pattern: str, value: str, key: str) -> tuple[str, str | None]:
    """The message and the hint for a text that has not the form asked for."""
    shown = found(value) if "@" not in value else "another text"  # it may hold a password
    if pattern == PATH_PATTERN:
        return f"expected {_forms(pattern)[0]}, found {shown}", f"write `{key}: /health`"
    if not is_duration(pattern):
        scheme = "https" if key == "token_endpoint" else "http"
        return f"a url starts with {_SCHEMES}, found {shown}", _url_hint(value, scheme)
    hint = _duration_hint(value)
    if hint is None and is_url(pattern):
        hint = f"a url starts with {_SCHEMES}" if "://" in value else _url_hint(value, "http")
    message = f"expected {', or '.join(_forms(pattern))}, found {shown}"
    return message, hint or f"write `{key}: 30s`"


_SCHEMES = "`http://` or `https://`"


def _url_hint(value: str, scheme: str) -> str | None:
    if re.fullmatch(r"[A-Za-z0-9.-]+(:[0-9]+)?(/[^\s@]*)?", value) and ("." in value or ":" in value):
        return f"write `{scheme}://{one_line(value, 60)}`"
    return None


def const_hint(const: Any) -> str | None:
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


def _number_hint(value: Any, key: str, *, whole: bool) -> str | None:
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


def _duration_hint(value: Any) -> str | None:
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


def _word_for(value: Any, words: list[Any]) -> str | None:
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


def boolean_hint(value: Any) -> str | None:
    """`true` or `false` for a word or number that means it elsewhere."""
    word = str(value).strip().lower() if isinstance(value, (str, int)) else ""
    if word in _TRUE:
        return "write `true`"
    return "write `false`" if word in _FALSE else None


def _text_hint(value: Any, spelling: str) -> str | None:
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


def _list_hint(value: Any, key: str) -> str | None:
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
    if isinstance(value, str):
        pair = _PAIR.fullmatch(value.strip())
        if pair and not value.startswith(("http:", "https:")):
            return f"a space is missing after the colon: write `{pair[1]}: {one_line(pair[2], _SHOWN)}`"
        return _text_for_mapping(value, definition)
    if isinstance(value, list):
        if definition == "Matcher":
            return "write `all-of:` before a list of matchers"
        if definition in ("Trajectory", "GoldenPath"):
            return "write `calls:` below it, and the list below that"
        if definition == "AssertSet":
            return "write `assertions:` below `assert-set:`, and the list below that"
        if key == "capabilities":
            return "write each capability as `name: {}`, without `- `"
        if key in ("env", "headers", "args", "variables", "meta", "content"):
            return "write each entry as `name: value`, without `- `"
        return "write each server as `name:` with its keys below" if key == "servers" else "remove the `- `"
    if definition == "Matcher":
        return f"write `{{ exact: {_shown(value)} }}`"
    if definition == "Threshold" and type(value) in (int, float):
        return f"write `{{ threshold: {_shown(value)} }}`"
    if definition == "Branch" and isinstance(value, (int, float)):
        return f"write `{{ score: {_shown(int(value) if isinstance(value, bool) else value)} }}`"
    if definition == "Approx" and isinstance(value, (int, float)):
        return f"write `{{ value: {_shown(value)}, tolerance: 0.01 }}`"
    return "remove the key, or write `{}`" if value is None and key == "args" else None


def _text_for_mapping(value: str, definition: str | None) -> str | None:
    text = _flow_item(value)
    if definition == "Matcher":
        return one_line(f"write `{{ contains: {text} }}`", 120)
    if definition == "Server":
        if value.startswith(("http://", "https://")):
            return one_line(f"write `url: {value}` below it", 120)
        return one_line(f"write `command: [{', '.join(_flow_item(part) for part in _argv(value))}]` below it", 120)
    if definition == "Transform":
        return one_line(f"write `{{ jq: {text} }}`", 120)
    if definition in _TEXT_FOR_MAPPING:
        return _TEXT_FOR_MAPPING[definition]
    if definition == "Root":
        return one_line(f"write `{{ uri: {text} }}`", 120)
    if definition == "Snapshot":
        return one_line(f"write `true`, or `{{ name: {text} }}`", 120)
    if definition in ("ToolTest", "ResourceTest", "PromptTest"):
        return one_line(f"write `name: {text}`, and the request below it", 120)
    if definition == "LlmJudge":
        return one_line(f"write `{{ rubric: {text} }}`", 120)
    if definition == "Criterion":
        return one_line(f"write `{{ name: {text} }}`", 120)
    if definition == "MetricTerm":
        return one_line(f"write `{{ ref: {text} }}`", 120)
    if definition == "VerifyStep":
        return one_line(f"write `tool: {text}`, and its `args` and `expect` below it", 120)
    return None


_TEXT_FOR_MAPPING = {
    "Auth": "write `{ bearer_token_env: NAME }`, with the name of an environment variable",
    "OAuth": "write `{ grant: client_credentials, client_id: …, client_secret_env: NAME }`",
    "Http": "write `{ timeout: 30s }`, or the other options that you mean",
    "Client": "write `{ sampling: … }`, or another capability of the client",
    "ProtocolError": "write `{ code: -1, message: … }`",
}


def enum_hint(value: Any, words: list[Any]) -> str | None:
    """The word of an enumeration that was meant."""
    if value is None and "null" in words:
        return 'quote it: "null"'
    if not isinstance(value, str):
        return None
    if "drop_response" in words and "delay" in value.lower():
        return "write `{ delay_ms: 250 }`"
    alias = VALUE_ALIASES.get(value.strip().lower())
    if alias in words:
        return f"did you mean `{alias}`?"
    near = did_you_mean(value, [str(word) for word in words])
    if near is None and "drop_response" in words:
        return "it may also be `{ delay_ms: 250 }`"
    return near


def alias_hint(key: str, alias: str, name: str, value: Any) -> str:
    """What to write for a word of another tool; `name` is the definition whose key `alias` is meant."""
    if (special := _ALIAS_HINTS.get((name, key))) is not None:
        return special
    if name == "Matcher" and alias == "not" and key != "not":
        inner = "contains" if "contains" in key else "exact"
        return f"did you mean `not: {{ {inner}: … }}`?"
    if name == "Auth" and alias == "oauth":
        return "did you mean `oauth: { grant: client_credentials, … }`?"
    if name == "OAuth" and alias == "client_secret_env":
        return "a secret must not be in the file: name its environment variable, `client_secret_env: NAME`"
    if alias == "fault" and key in ("delay", "latency"):
        shown = value if type(value) is int else 250
        return f"did you mean `fault: {{ delay_ms: {shown} }}`?"
    if name == "Http" and key == "insecure":
        return "did you mean `verify: false`?"
    return f"did you mean `{alias}`?"


_AUTH_HINT = "did you mean `auth: { bearer_token_env: NAME }`?"
_OAUTH_HINT = "did you mean `auth: { oauth: { grant: client_credentials, … } }`?"
_VERIFY_HINT = "did you mean `http: { verify: … }`?"
_DROP_HINT = "did you mean `fault: drop_response`?"
_COMMAND_HINT = "arguments belong in the list of `command`, after the program"
_ALIAS_HINTS = {
    ("Server", "args"): _COMMAND_HINT,
    ("Server", "arguments"): _COMMAND_HINT,
    ("Server", "token_env"): _AUTH_HINT,
    ("Server", "bearer_token_env"): _AUTH_HINT,
    ("Server", "oauth"): _OAUTH_HINT,
    ("Server", "client_id"): _OAUTH_HINT,
    ("Server", "client_secret"): _OAUTH_HINT,
    ("Server", "client_secret_env"): _OAUTH_HINT,
    ("Server", "insecure"): "did you mean `http: { verify: false }`?",
    ("Server", "tls_verify"): _VERIFY_HINT,
    ("Server", "ssl_verify"): _VERIFY_HINT,
    ("Server", "verify_ssl"): _VERIFY_HINT,
    ("Server", "verify_tls"): _VERIFY_HINT,
    ("Server", "capabilities"): "did you mean `client: { capabilities: … }`?",
    ("ToolTest", "drop"): _DROP_HINT,
    ("ResourceTest", "drop"): _DROP_HINT,
    ("PromptTest", "drop"): _DROP_HINT,
    ("Delay", "drop"): "write `fault: drop_response`, without a mapping",
    ("Delay", "drop_response"): "write `fault: drop_response`, without a mapping",
    ("Delay", "disconnect"): "write `fault: disconnect`, without a mapping",
}


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
            return f"expected a list of {least} {kind}, found {len(value)}"
        if len(value) < least:
            return "the list must not be empty"
        if most is not None and len(value) > most:
            return f"at most {most} items, found {len(value)}"
    return None


def _shown(value: Any) -> str:
    return one_line(json.dumps(value, ensure_ascii=False), _SHOWN)
