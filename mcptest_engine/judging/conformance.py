"""What the specification says of the answers that every server gives, as assertions: the rules behind `compliance:`.

A rule is an assertion like one of a suite, judged, recorded and reported as such; which ones hold depends on the revision
that was agreed on. The surprising thing: the rules are chosen when the answer is there, so that one fault is told once. Of a
server that answers an error only that is told, and what should stand in a list is not missed where there is no list.

Source: MCP 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28, in the section that each rule names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.core.targets import Spread, parse_target, resolve
from mcptest_engine.suite.compliance import (
    HANDSHAKE_REVISIONS,
    REVISIONS,
    STATELESS_REVISION,
    UNKNOWN_METHOD,
    has_request,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcptest_engine.core.json_types import JsonDict, JsonMapping

METHOD_NOT_FOUND = -32601
PROBED_METHOD = "mcptest/unknown-method"
"""What is sent for `unknown-method`: no revision has it, and no server is expected to."""

CAPABILITIES = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resources",
    "prompts/list": "prompts",
}
"""The capability that a server declares which answers the request."""


class Rule(NamedTuple):
    """One rule. `says` is what must hold, `section` where the specification says so; it holds from `since` up to `until`."""

    says: str
    target: str
    matcher: JsonMapping
    section: str
    since: str = REVISIONS[0]
    until: str = REVISIONS[-1]

    def holds_in(self, revision: str) -> bool:
        """Whether this revision has the rule."""
        return self.since <= revision <= self.until


def method_of(check: str) -> str:
    """The request that a check sends."""
    return PROBED_METHOD if check == UNKNOWN_METHOD else check


def assertions_for(check: str, envelope: JsonMapping, *, pin: str | None, sent: bool = True) -> list[JsonDict]:
    """The rules that an answer is held to, as assertions of a suite; `envelope` holds it, and `session` beside it.

    `pin` is the revision that the check is pinned to. With `sent` false there was nothing to ask: the revision that was
    agreed on has no such request.
    """
    agreed = envelope["session"]["protocol_version"]
    # By the rules of a revision that is not known here nobody can be judged: what all have is left.
    revision = pin or (agreed if agreed in REVISIONS else None)
    rules = _rules(check, envelope, pin) if sent else (_having(check),)
    held = [rule for rule in rules if rule.holds_in(revision or REVISIONS[0])]
    return [_assertion(rule, revision, envelope) for rule in held if _can_be_judged(rule, envelope)]


def _can_be_judged(rule: Rule, envelope: Mapping[str, object]) -> bool:
    """Of entries that lack what should be unique, another rule tells."""
    return rule.matcher is not _UNIQUE or not isinstance(resolve(parse_target(rule.target), envelope), Spread)


def _assertion(rule: Rule, revision: str | None, envelope: Mapping[str, object]) -> dict[str, object]:
    source = "MCP" if revision is None else f"MCP {revision}"
    message = f"{source}, {rule.section}: {rule.says}" if rule.section else rule.says
    if rule.matcher is _UNIQUE:
        message += _repeated(resolve(parse_target(rule.target), envelope))
    return {"name": rule.says, "target": rule.target, "matcher": rule.matcher, "message": message}


def _repeated(values: object) -> str:
    """Which text stands in a list twice, as an addition to a message; "" where none does."""
    seen: set[str] = set()
    for value in values if isinstance(values, list) else ():
        if isinstance(value, str) and value in seen:
            return f" (`{one_line(value, 60)}` is given more than once)"
        seen.update((value,) if isinstance(value, str) else ())
    return ""


def _rules(check: str, envelope: Mapping[str, object], pin: str | None) -> Iterator[Rule]:
    """The rules of a check that can be judged, in order."""
    if pin is not None:
        yield Rule(f"the server uses {pin}", "session.protocol_version", {"exact": pin}, "")
    error = envelope["error"]
    if check == UNKNOWN_METHOD:
        yield from UNKNOWN_METHOD_RULES if error is not None else UNKNOWN_METHOD_RULES[:1]
        return
    capability = CAPABILITIES.get(check)
    if capability is not None:
        yield _declares(capability, error)
    yield ANSWERED
    result = envelope.get("result")
    if error is not None or not isinstance(result, dict):
        return
    if pin is None and check == "initialize":
        yield A_KNOWN_REVISION
    yield from RESULT_RULES.get(check, ())
    member = MEMBERS.get(check)
    if member is not None and isinstance(result.get(member), list):
        yield from ENTRY_RULES[check]


def _having(check: str) -> Rule:
    revisions = [revision for revision in REVISIONS if has_request(revision, check)]
    says = f"the negotiated revision has the request `{check}`"
    return Rule(says, "session.protocol_version", {"one-of": revisions}, "")


def _declares(capability: str, error: object) -> Rule:
    """A server that offers nothing of the kind is told so, and one that does must declare it."""
    says = f"a server that offers {capability} declares the capability `{capability}`"
    if isinstance(error, dict) and error.get("code") == METHOD_NOT_FOUND:
        says = f"the server offers {capability}, and declares the capability `{capability}`"
    return Rule(says, f"session.capabilities.{capability}", {"type": "object"}, f"server/{capability}#capabilities")


# --- shapes

_TEXT = {"type": "string"}
_NAME = {"type": "string", "minLength": 1}
_FLAG = {"type": "boolean"}
_OBJECT = {"type": "object"}
_OF_OBJECTS = {"required": ["type"], "properties": {"type": {"const": "object"}}}
_FROM_TITLES = "2025-06-18"
_FROM_ICONS = "2025-11-25"


def _members(**members: Mapping[str, object]) -> JsonDict:
    """An object whose members, where they are there, have these shapes."""
    return {"schema": {"properties": members}}


def _each(*required: str, **members: Mapping[str, object]) -> JsonDict:
    """A list whose objects have the required members, and these shapes in members that are there.

    An entry of another kind passes: the first rule of a list tells of it (`_entry`), and not all of them.
    """
    item: JsonDict = {"properties": members}
    return {"schema": {"items": {**item, "required": list(required)} if required else item}}


def _entry(name: str) -> dict[str, object]:
    """A list of objects that have the member `name`, a text that is not empty."""
    return {"schema": {"items": {"type": "object", "required": [name], "properties": {name: _NAME}}}}


def _nested(member: str, **members: Mapping[str, object]) -> dict[str, object]:
    """A list of objects of which `member`, where it is there, is an object with members of these shapes."""
    return _each(**{member: {"type": "object", "properties": members}})


_UNIQUE = {"schema": {"uniqueItems": True}}
_ICONS = {"type": "array", "items": {"type": "object", "properties": {"src": _TEXT}, "required": ["src"]}}
_AUDIENCE = {"type": "array", "items": {"enum": ["user", "assistant"]}}
_ANNOTATED: Mapping[str, Mapping[str, object]] = {
    "audience": _AUDIENCE,
    "priority": {"type": "number", "minimum": 0, "maximum": 1},
    "lastModified": _TEXT,
}
_CHANGES = {"type": "object", "properties": {"listChanged": _FLAG}}
_CAPABILITIES = _members(
    experimental={"type": "object", "additionalProperties": _OBJECT},
    logging=_OBJECT,
    completions=_OBJECT,
    prompts=_CHANGES,
    resources={"type": "object", "properties": {"listChanged": _FLAG, "subscribe": _FLAG}},
    tools=_CHANGES,
)

# --- rules of the whole answer

ANSWERED = Rule("the request is answered with a result", "error", {"exact": None}, "basic#responses")
A_KNOWN_REVISION = Rule(
    "`protocolVersion` is a revision of the protocol",
    "result.protocolVersion",
    {"one-of": list(HANDSHAKE_REVISIONS)},
    "basic/lifecycle#version-negotiation",
)
_LIFECYCLE = "basic/lifecycle#initialization"
_PAGES = "server/utilities/pagination#response-format"
_NEXT_CURSOR = Rule("`nextCursor`, if present, is a string", "result", _members(nextCursor=_TEXT), _PAGES)
_STATELESS_RULES = (
    Rule(
        "`resultType` is `complete`",
        "result.resultType",
        {"exact": "complete"},
        "basic#result-responses",
        since=STATELESS_REVISION,
    ),
    Rule(
        "`ttlMs` says how long the answer may be cached, in whole milliseconds",
        "result.ttlMs",
        {"schema": {"type": "integer", "minimum": 0}},
        "server/utilities/caching#cacheable-results",
        since=STATELESS_REVISION,
    ),
    Rule(
        "`cacheScope` says for whom it may be cached: `public` or `private`",
        "result.cacheScope",
        {"one-of": ["public", "private"]},
        "server/utilities/caching#cacheable-results",
        since=STATELESS_REVISION,
    ),
)


def _list_rules(member: str, section: str) -> tuple[Rule, ...]:
    """The rules of a list's answer, apart from its entries."""
    return (
        Rule(f"the result contains the list `{member}`", f"result.{member}", {"type": "array"}, section),
        _NEXT_CURSOR,
        *_STATELESS_RULES,
    )


MEMBERS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
"""Where the entries of a list stand in its answer."""

RESULT_RULES: Mapping[str, tuple[Rule, ...]] = {
    "initialize": (
        Rule("`protocolVersion` is a string", "result.protocolVersion", {"type": "string"}, _LIFECYCLE),
        Rule("`capabilities` is an object", "result.capabilities", {"type": "object"}, _LIFECYCLE),
        Rule(
            "each capability is an object, and its flags are booleans",
            "result",
            _members(capabilities=_CAPABILITIES["schema"]),
            "basic/lifecycle#capability-negotiation",
        ),
        Rule("`serverInfo` has a name, a string", "result.serverInfo.name", {"type": "string"}, _LIFECYCLE),
        Rule("`serverInfo` has a version, a string", "result.serverInfo.version", {"type": "string"}, _LIFECYCLE),
        Rule(
            "`title` of `serverInfo`, if present, is a string",
            "result",
            _members(serverInfo={"properties": {"title": _TEXT}}),
            _LIFECYCLE,
            since=_FROM_TITLES,
        ),
        Rule("`instructions`, if present, is a string", "result", _members(instructions=_TEXT), _LIFECYCLE),
    ),
    "server/discover": (
        Rule(
            "`supportedVersions` lists revisions, including the one that was requested",
            "result.supportedVersions",
            {"all-of": [{"each": {"type": "string"}}, {"contains": STATELESS_REVISION}]},
            "server/discover",
        ),
        Rule("`capabilities` is an object", "result.capabilities", {"type": "object"}, "server/discover"),
        Rule(
            "each capability is an object, and its flags are booleans",
            "result",
            _members(capabilities=_CAPABILITIES["schema"]),
            "server/discover",
        ),
        Rule("`instructions`, if present, is a string", "result", _members(instructions=_TEXT), "server/discover"),
        *_STATELESS_RULES,
    ),
    "ping": (
        Rule(
            "the result is empty, except for `_meta`",
            "result",
            {"schema": {"propertyNames": {"const": "_meta"}}},
            "basic/utilities/ping#behavior-requirements",
        ),
    ),
    "tools/list": _list_rules("tools", "server/tools#listing-tools"),
    "resources/list": _list_rules("resources", "server/resources#listing-resources"),
    "resources/templates/list": _list_rules("resourceTemplates", "server/resources#resource-templates"),
    "prompts/list": _list_rules("prompts", "server/prompts#listing-prompts"),
}
"""The rules of a result, by check."""

# --- rules of the entries of a list

_TOOL, _RESOURCE, _PROMPT = "server/tools#tool", "server/resources#resource", "server/prompts#prompt"
_TEMPLATE = "server/resources#resource-templates"


def _described(target: str, section: str, kind: str) -> tuple[Rule, ...]:
    """What the entries of every list have in common."""
    return (
        Rule(f"each {kind}'s `description`, if present, is a string", target, _each(description=_TEXT), section),
        Rule(
            f"each {kind}'s `title`, if present, is a string",
            target,
            _each(title=_TEXT),
            section,
            since=_FROM_TITLES,
        ),
        Rule(
            f"each {kind}'s `_meta`, if present, is an object",
            target,
            _each(_meta=_OBJECT),
            "basic#_meta",
            since=_FROM_TITLES,
        ),
        Rule(
            f"each {kind}'s `icons`, if present, are a list of objects with `src`",
            target,
            _each(icons=_ICONS),
            "basic#icons",
            since=_FROM_ICONS,
        ),
    )


_TOOLS = "result.tools"
_RESOURCES = "result.resources"
_TEMPLATES = "result.resourceTemplates"
_PROMPTS = "result.prompts"

ENTRY_RULES: Mapping[str, tuple[Rule, ...]] = {
    "tools/list": (
        Rule("each tool has a name, a string that is not empty", _TOOLS, _entry("name"), _TOOL),
        Rule("the names of the tools are unique", f"{_TOOLS}[*].name", _UNIQUE, _TOOL),
        Rule("each tool has an `inputSchema`, an object", _TOOLS, _each("inputSchema", inputSchema=_OBJECT), _TOOL),
        Rule("each `inputSchema` has `type: object`", _TOOLS, _each(inputSchema=_OF_OBJECTS), _TOOL),
        Rule(
            "in each `inputSchema`, `properties` (if present) is an object and `required` (if present) a list of strings",
            _TOOLS,
            _each(inputSchema={"properties": {"properties": _OBJECT, "required": {"type": "array", "items": _TEXT}}}),
            _TOOL,
        ),
        *_described(_TOOLS, _TOOL, "tool"),
        Rule(
            "in each tool's `annotations`, `title` (if present) is a string and the hints (if present) are booleans",
            _TOOLS,
            _nested(
                "annotations",
                title=_TEXT,
                readOnlyHint=_FLAG,
                destructiveHint=_FLAG,
                idempotentHint=_FLAG,
                openWorldHint=_FLAG,
            ),
            _TOOL,
            since="2025-03-26",
        ),
        Rule(
            "each `outputSchema`, if present, has `type: object`",
            _TOOLS,
            _each(outputSchema={**_OBJECT, **_OF_OBJECTS}),
            "server/tools#output-schema",
            since=_FROM_TITLES,
            until=HANDSHAKE_REVISIONS[-1],
        ),
        Rule(
            "each `outputSchema`, if present, is an object",
            _TOOLS,
            _each(outputSchema=_OBJECT),
            "server/tools#output-schema",
            since=STATELESS_REVISION,
        ),
    ),
    "resources/list": (
        Rule("each resource has a URI, a string that is not empty", _RESOURCES, _entry("uri"), _RESOURCE),
        Rule("each resource has a name, a string", _RESOURCES, _each("name", name=_TEXT), _RESOURCE),
        Rule("the URIs of the resources are unique", f"{_RESOURCES}[*].uri", _UNIQUE, "server/resources"),
        Rule(
            "each URI begins with a scheme",
            _RESOURCES,
            _each(uri={"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9+.-]*:"}),
            "server/resources#common-uri-schemes",
        ),
        *_described(_RESOURCES, _RESOURCE, "resource"),
        Rule("each resource's `mimeType`, if present, is a string", _RESOURCES, _each(mimeType=_TEXT), _RESOURCE),
        Rule(
            "each resource's `size`, if present, is a number",
            _RESOURCES,
            _each(size={"type": "number", "minimum": 0}),
            _RESOURCE,
            since="2025-03-26",
        ),
        Rule(
            "each resource's `annotations`, if present, follow the specification",
            _RESOURCES,
            _nested("annotations", **_ANNOTATED),
            "server/resources#annotations",
        ),
    ),
    "resources/templates/list": (
        Rule(
            "each template has a `uriTemplate`, a string that is not empty",
            _TEMPLATES,
            _entry("uriTemplate"),
            _TEMPLATE,
        ),
        Rule("each template has a name, a string", _TEMPLATES, _each("name", name=_TEXT), _TEMPLATE),
        *_described(_TEMPLATES, _TEMPLATE, "template"),
        Rule("each template's `mimeType`, if present, is a string", _TEMPLATES, _each(mimeType=_TEXT), _TEMPLATE),
        Rule(
            "each template's `annotations`, if present, follow the specification",
            _TEMPLATES,
            _nested("annotations", **_ANNOTATED),
            "server/resources#annotations",
        ),
    ),
    "prompts/list": (
        Rule("each prompt has a name, a string that is not empty", _PROMPTS, _entry("name"), _PROMPT),
        Rule("the names of the prompts are unique", f"{_PROMPTS}[*].name", _UNIQUE, _PROMPT),
        *_described(_PROMPTS, _PROMPT, "prompt"),
        Rule(
            "each prompt's `arguments`, if present, are a list of objects with a name",
            _PROMPTS,
            _each(
                arguments={
                    "type": "array",
                    "items": {"type": "object", "properties": {"name": _NAME}, "required": ["name"]},
                }
            ),
            _PROMPT,
        ),
        Rule(
            "each argument's `required`, if present, is a boolean, and its `description`, if present, is a string",
            _PROMPTS,
            _each(
                arguments={
                    "type": "array",
                    "items": {"properties": {"required": _FLAG, "description": _TEXT}},
                }
            ),
            _PROMPT,
        ),
    ),
}
"""The rules of the entries of a list, by check; judged where there is a list."""

UNKNOWN_METHOD_RULES = (
    Rule(
        "an unknown method is answered with the error -32601",
        "error.code",
        {"exact": METHOD_NOT_FOUND},
        "basic#responses",
    ),
    Rule("the error has a `message`, a string", "error.message", {"type": "string"}, "basic#responses"),
)
"""The rules of `unknown-method`."""
