"""Checks an answer against the protocol: the schema of the agreed revision, a known `resultType`, the tool's `outputSchema`.

The schemas are the official ones (`protocol/`), with their formats: `uri`, `uri-template`, and `byte`, which is base64. Where
they offer several shapes, the one that the value claims to have is taken (by `type`, or by `blob`), so that a fault is named at
its own place.
"""

from __future__ import annotations

import binascii
import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.schemas import DEEPEST, nested_deeper_than, refuse_to_fetch
from mcptest_engine.suite.compliance import HANDSHAKE_REVISIONS, REVISIONS, STATELESS_REVISION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jsonschema_rs import Validator

    from mcptest_engine.core.json_types import JsonDict, JsonMapping
    from mcptest_engine.judging.matchers import Judge
    from mcptest_engine.servers.session import Session

_FOLDER = Path(__file__).parent / "protocol"
_DEFINITIONS = {
    "initialize": "InitializeResult",
    "server/discover": "DiscoverResult",
    "tools/call": "CallToolResult",
    "tools/list": "ListToolsResult",
    "resources/read": "ReadResourceResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "prompts/get": "GetPromptResult",
    "prompts/list": "ListPromptsResult",
    "completion/complete": "CompleteResult",
}
"""The schema that the result of a request is held to."""
_ERROR_DEFINITIONS = {
    ("2025-11-25", -32042): "URLElicitationRequiredError",
    ("2026-07-28", -32020): "HeaderMismatchError",
    ("2026-07-28", -32021): "MissingRequiredClientCapabilityError",
    ("2026-07-28", -32022): "UnsupportedProtocolVersionError",
}
"""The schemas of the errors that have one of their own. That an error has a code and a message is the wire's affair."""
_SECTIONS = {
    "initialize": "basic/lifecycle#initialization",
    "server/discover": "server/discover",
    "tools/call": "server/tools#tool-result",
    "tools/list": "server/tools#tool",
    "resources/read": "server/resources#resource-contents",
    "resources/list": "server/resources#resource",
    "resources/templates/list": "server/resources#resource-templates",
    "prompts/get": "server/prompts#promptmessage",
    "prompts/list": "server/prompts#prompt",
    "completion/complete": "server/utilities/completion#completion-results",
}
_BLOCK_SECTIONS = {
    "text": "server/tools#text-content",
    "image": "server/tools#image-content",
    "audio": "server/tools#audio-content",
    "resource_link": "server/tools#resource-links",
    "resource": "server/tools#embedded-resources",
}
_LOOKED_INTO = frozenset(
    {
        "content",
        "contents",
        "messages",
        "tools",
        "resources",
        "resourceTemplates",
        "prompts",
        "completion",
        "inputRequests",
    }
)
_RESULT_TYPE = "basic#result-responses"
_MAY_ASK = frozenset({"tools/call", "resources/read", "prompts/get"})
"""The requests whose result may ask for input. Source: MCP 2026-07-28, basic/patterns/mrtr."""
_SECRET = "the invalid value is secret"


class Validity(NamedTuple):
    """What a result is held to: the agreed `revision`, and the judge of the tool's `outputSchema`, where it declares one.

    `fails` tells whether an invalid result fails its test; else it is a warning. `is_known`: the result was checked before it
    was stored, and only valid ones are.
    """

    revision: str
    fails: bool
    output_schema: Judge | None = None
    is_known: bool = False

    def covers(self, method: str) -> bool:
        """Whether the results of `method` can be checked."""
        return method in _DEFINITIONS and (
            self.is_known or self.revision in REVISIONS or self.output_schema is not None
        )


def preload(revision: str | None) -> None:
    """Import the validator and compile what most results are held to, while a server starts."""
    if revision is None or revision in REVISIONS:
        _validator(revision or HANDSHAKE_REVISIONS[-1], "CallToolResult")


def find_task_handle(result: object) -> str | None:
    """What is wrong with a result that only promises one: nothing was judged yet. None for any other result.

    Source: MCP 2025-11-25, basic/utilities/tasks; 2026-07-28, the Tasks extension.
    """
    if not isinstance(result, dict):
        return None
    task = result.get("task")
    promises = isinstance(task, dict) and "taskId" in task and not result.get("content")
    if result.get("resultType") != "task" and not promises:
        return None
    return "the call is not finished: the server answered with a task, and mcptest does not support tasks yet"


def find_invalidity(
    method: str, answer: Mapping[str, object], validity: Validity, redact: Callable[[Any], Any]
) -> tuple[str, str] | None:
    """The first fault of an answer to `method`, as (message, JSON Pointer into the result or error); None where it is valid.

    Requests whose results have no schema here, and revisions that are not known, give None too. The message quotes redacted
    values.
    """
    if validity.is_known or not validity.covers(method):
        return None
    if answer.get("error") is not None:
        return _find_error_fault(answer["error"], validity.revision, redact)
    result = answer.get("result")
    if validity.revision not in REVISIONS:  # nothing but the tool's own schema tells what its results are to be
        return _find_output_fault(result, validity.output_schema, redact) if isinstance(result, dict) else None
    definition, revision = _DEFINITIONS[method], validity.revision
    if nested_deeper_than(result, DEEPEST) and isinstance(result, dict):
        # What no schema of the protocol looks into may be as deep as it likes.
        deep = {key for key, value in result.items() if nested_deeper_than(value, DEEPEST - 1)}
        judged = _LOOKED_INTO if validity.output_schema is None else _LOOKED_INTO | {"structuredContent"}
        if not deep.isdisjoint(judged):
            return f"the result is nested more than {DEEPEST} levels deep, too deep to be checked", ""
        result = {key: {} if key in deep else value for key, value in result.items()}
    if revision == STATELESS_REVISION and isinstance(result, dict):
        kind = result.get("resultType")
        if kind == "input_required" and method in _MAY_ASK:
            definition = "InputRequiredResult"
        elif isinstance(kind, str) and kind != "complete":
            known = '"complete" or "input_required"' if method in _MAY_ASK else '"complete"'
            shown = one_line(redact(json.dumps(kind, ensure_ascii=False)), 60)
            return f"the result is not valid MCP {revision}: /resultType is {shown}, not {known} ({_RESULT_TYPE})", (
                "/resultType"
            )
    validator = _validator(revision, definition)
    try:
        is_valid = validator.is_valid(result)
    except (ValueError, OverflowError):  # half a character, or a number that no schema can judge
        return (
            "the result cannot be checked: it contains half a character (a lone surrogate) or a number out of range",
            "",
        )
    if not is_valid:
        from mcptest_engine.judging.matchers.json_schema import first_fault

        fault = first_fault(validator, redact(result))
        place, words = (fault.place, fault.words) if fault is not None else ("", _SECRET)
        words = words.replace('is not a "byte"', "is not base64")
        where = f"{one_line(place, 120)}: " if place else ""
        return f"the result is not valid MCP {revision}: {where}{words} ({_section(method, place, result)})", place
    return _find_output_fault(result, validity.output_schema, redact)


def find_fault(
    session: Session,
    method: str,
    answer: Mapping[str, object],
    output_schema: object,
    redact: Callable[[object], object],
) -> str | None:
    """What is wrong with the answer to a request that no suite makes, in the words of a run; None where nothing is.

    `output_schema` is what the tool's list declares. Nothing is wrong where the server's settings have `validity: off`.
    """
    if session.spec.validity == "off":
        return None
    unfinished = find_task_handle(answer.get("result"))
    if unfinished is not None:
        return unfinished
    judge = None
    if isinstance(output_schema, dict):
        from mcptest_engine.judging.matchers import Context
        from mcptest_engine.judging.matchers.json_schema import matches_schema

        judge = matches_schema(output_schema, Context())
    validity = Validity(session.protocol_version or "", fails=session.spec.validity == "fail", output_schema=judge)
    fault = find_invalidity(method, answer, validity, redact)
    return None if fault is None else fault[0]


def _find_error_fault(error: Any, revision: str, redact: Callable[[Any], Any]) -> tuple[str, str] | None:
    definition = _ERROR_DEFINITIONS.get((revision, error.get("code")))
    if definition is None or nested_deeper_than(error, DEEPEST):
        return None
    validator, answer = _validator(revision, definition), {"error": error}
    try:
        if validator.is_valid(answer):
            return None
    except (ValueError, OverflowError):
        return (
            "the error cannot be checked: it contains half a character (a lone surrogate) or a number out of range",
            "",
        )
    from mcptest_engine.judging.matchers.json_schema import first_fault

    fault = first_fault(validator, redact(answer))
    place, words = (fault.place.removeprefix("/error"), fault.words) if fault is not None else ("", _SECRET)
    where = f"{one_line(place, 120)}: " if place else ""
    return f"the error {error['code']} is not valid MCP {revision}: {where}{words} (`{definition}`)", place


def _find_output_fault(
    result: Any, output_schema: Judge | None, redact: Callable[[Any], Any]
) -> tuple[str, str] | None:
    """Source: MCP 2025-06-18 and later, server/tools#output-schema: results MUST conform to it; errors need not."""
    if output_schema is None or result.get("isError") is True or result.get("resultType") == "input_required":
        return None
    section = "(server/tools#output-schema)"
    if "structuredContent" not in result:
        return f"the tool declares an `outputSchema`, but the result has no `structuredContent` {section}", ""
    content = result["structuredContent"]
    reason = output_schema(content)
    if reason is None:
        return None
    fault, shown = reason(), redact(content)
    if shown is not content:
        again = output_schema(shown)
        words, place = (_SECRET, "") if again is None else (again().message, again().pointer)
    else:
        words, place = fault.message, fault.pointer
    return (
        f"`structuredContent` does not match the tool's `outputSchema`: {words} {section}",
        f"/structuredContent{place}",
    )


def _section(method: str, place: str, result: Any) -> str:
    """Where the specification says what is broken at `place`."""
    parts = place.split("/")
    if method == "tools/call" and parts[1:2] == ["content"] and len(parts) > 3 and parts[3] != "type":
        block = result["content"][int(parts[2])]
        return _BLOCK_SECTIONS.get(block.get("type"), _SECTIONS[method])
    return _RESULT_TYPE if place == "/resultType" else _SECTIONS[method]


@lru_cache(maxsize=64)
def _validator(revision: str, definition: str) -> Validator:
    import jsonschema_rs

    schemas = _schemas(revision)
    key = "$defs" if "$defs" in schemas else "definitions"
    schema = {"$schema": schemas["$schema"], "$ref": f"#/{key}/{definition}", key: schemas[key]}
    if key == "definitions":  # draft 7 ignores what stands beside a `$ref`
        schema = {"$schema": schemas["$schema"], "allOf": [{"$ref": schema["$ref"]}], key: schemas[key]}
    return jsonschema_rs.validator_for(
        schema, validate_formats=True, formats={"byte": _is_base64}, retriever=refuse_to_fetch
    )


def _is_base64(text: str) -> bool:
    try:
        binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=len(REVISIONS))
def _schemas(revision: str) -> JsonDict:
    schemas: JsonDict = json.loads((_FOLDER / f"{revision}.json").read_text(encoding="utf-8"))
    key = "$defs" if "$defs" in schemas else "definitions"
    definitions = schemas[key]
    schemas[key] = {name: _with_distinct_branches(schema, definitions) for name, schema in definitions.items()}
    return schemas


def _with_distinct_branches(schema: Any, definitions: JsonMapping) -> Any:
    """The schema with every `anyOf` whose branches differ by their `type`, or by having `blob`, as a choice by that member."""
    if isinstance(schema, list):
        return [_with_distinct_branches(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    branches = [(one, definitions[one["$ref"].rpartition("/")[2]]) for one in schema.get("anyOf", ()) if "$ref" in one]
    if branches and len(branches) == len(schema["anyOf"]):
        types = [branch.get("properties", {}).get("type", {}).get("const") for _, branch in branches]
        if all(types):
            return {
                "type": "object",
                "required": ["type"],
                "properties": {"type": {"enum": types}},
                "allOf": [
                    {"if": {"required": ["type"], "properties": {"type": {"const": name}}}, "then": one}
                    for name, (one, _) in zip(types, branches, strict=True)
                ],
            }
        blob = [one for one, branch in branches if "blob" in branch.get("required", ())]
        rest = [one for one, branch in branches if "blob" not in branch.get("required", ())]
        if len(blob) == len(rest) == 1:
            return {"type": "object", "if": {"required": ["blob"]}, "then": blob[0], "else": rest[0]}
    return {key: _with_distinct_branches(value, definitions) for key, value in schema.items()}
