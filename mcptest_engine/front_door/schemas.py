"""The JSON Schemas of the tools' arguments and answers. See docs/how-to/mcp-server.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcptest_engine.core.json_types import JsonDict


def _object(required: tuple[str, ...] = (), **properties: object) -> JsonDict:
    """A closed object: unknown arguments are refused."""
    found: JsonDict = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": list(required)} if required else found


def _text(about: str, **more: object) -> JsonDict:
    return {"type": "string", "description": about, **more}


def _list(items: JsonDict) -> JsonDict:
    return {"type": "array", "items": items}


def _given(required: tuple[str, ...], **properties: object) -> dict[str, object]:
    """An object of an answer; open, so that a later version may add members."""
    return {"type": "object", "properties": properties, "required": list(required)}


def _or_null(schema: JsonDict) -> JsonDict:
    """Two branches and no list of types, which some clients cannot pass to their model."""
    return {"anyOf": [schema, {"type": "null"}]}


_STRING, _COUNT = {"type": "string"}, {"type": "integer", "minimum": 0}
_FLAG = {"type": "boolean", "default": False}
_STRINGS = _list(_STRING)
_CURSOR = {"anyOf": [{"type": "integer"}, _STRING]}
_NEXT = {"type": "integer", "description": "Pass this as `cursor` to get the next page."}
_WARNINGS = _list(_given(("tool", "rule", "summary"), tool=_STRING, rule=_STRING, summary=_STRING))

OBJECT: dict[str, object] = {"type": "object"}
NOTHING = _object()
_TARGET: JsonDict = {
    "url": _STRING,
    "bearer_token_env": _STRING,
    "command": {**_STRINGS, "minItems": 1},
    "env": {"type": "object", "additionalProperties": _STRING},
}
_SUITE = _text("YAML text, or a handle")
_CONFIG = _text("A suite file here, or a handle")
_FILTER = _text("A test's name, a part of names, or re:REGEX")
_PAID: JsonDict = {
    "max_cost_usd": {"type": "number", "exclusiveMinimum": 0},
    "models": {**_STRINGS, "minItems": 1},
}
_ALLOW: JsonDict = {"allow": _STRINGS, "presumed": _FLAG}
TARGET = _object(**_TARGET)
CATALOG = _object(**_TARGET, cursor=_CURSOR)
SCAFFOLD = _object(
    **_TARGET,
    tools=_STRINGS,
    include_edge={"type": "boolean", "default": True},
    include_violation={"type": "boolean", "default": True},
    probe={**_FLAG, "description": "All limits and wrong arguments"},
    **_ALLOW,
    all={**_FLAG, "description": "All tools, not 25"},
    text={"type": "boolean", "default": True, "description": "false: return only the handle"},
    cursor=_CURSOR,
)
CALL = _object(("tool",), **_TARGET, tool=_STRING, args=OBJECT, **_ALLOW, execute_destructive=_FLAG)
PROPOSE = _object(
    ("tool",),
    **_TARGET,
    tool=_STRING,
    args=OBJECT,
    single_call=_FLAG,
    execute_destructive=_FLAG,
    suite=_text("A handle: add the test to it"),
)
SUITE = _object(("suite",), suite=_SUITE)
_EDIT = _object(
    old=_text("Text that occurs once"),
    new=_STRING,
    op={"enum": ["add", "replace", "remove"]},
    path=_text("JSON Pointer"),
    value={},
)
EDIT = _object(
    ("suite",),
    suite=_SUITE,
    edits=_list(_EDIT),
    lines={**_list({"type": "integer"}), "description": "Show the lines [first, last]"},
)
RUN_SUITE = _object(("suite",), suite=_SUITE, filter=_FILTER, **_PAID)
TRIGGER = _object(config=_text("A suite file, folder or glob here, or a handle"), filter=_FILTER, **_PAID)
RECORD = _object(("name",), name=_STRING, config=_CONFIG)
MUTATE = _object(
    config=_CONFIG,
    cassette=_STRING,
    operators=_STRINGS,
    budget={"type": "integer", "minimum": 1, "default": 5000},
    seed={"type": "integer", "default": 0},
)
COVERAGE = _object(run_id=_STRING)
LIST_RUNS = _object(limit={"type": "integer", "minimum": 1, "maximum": 200, "default": 20}, cursor=_CURSOR)
GET_RUN = _object(
    ("run_id",),
    run_id=_STRING,
    test=_text("This test alone, whole"),
    only={"enum": ["all", "failed"], "default": "all"},
    cursor=_CURSOR,
)
RENDER = _object(("format",), format=_STRING, run_id=_STRING)
LIST_CASSETTES = _object(cursor=_CURSOR)
GET_CASSETTE = _object(("name",), name=_STRING, cursor=_CURSOR)

HINTS = {
    "command": "the program of a stdio server and its arguments, as a list",
    "cursor": "pass `next_cursor` of the answer before, or leave it out",
    "run_id": "list_runs gives the ids of the runs here",
    "suite": "the YAML text of a suite, or its handle, such as s1",
    "tool": "the name of the tool, as list_tools has it",
    "format": "a format of `mcptest report`, such as md",
    "limit": "1 to 200",
    "only": "`all` or `failed`",
    "models": "a list of names, as `--models` takes them",
}
"""Hints for a missing or wrong argument; the schema says no more than a model needs for a right one."""

RUN = _given(("tests",), run_id=_STRING, tests=_list(OBJECT), next_cursor=_NEXT)
RENDERED = _given(
    ("run_id", "format", "bytes"), run_id=_STRING, format=_STRING, bytes=_COUNT, text=_STRING, file=_STRING
)
CASSETTE = _given(("exchanges",), name=_STRING, exchanges=_list(OBJECT), next_cursor=_NEXT)
REPORT = _given(
    ("ok", "checks"),
    mcptest_version=_STRING,
    ok={"type": "boolean"},
    target=_or_null(OBJECT),
    failed_layer=_or_null(_STRING),
    summary=_given((), ok=_COUNT, warning=_COUNT, failed=_COUNT, skipped=_COUNT),
    checks=_list(OBJECT),
)
RUNS = _given(("runs",), runs=_list(OBJECT), next_cursor=_NEXT)
COVERED = _given(
    ("run_id", "tools_called"),
    run_id=_STRING,
    tools_called=_list(_given(("server", "tool", "calls"), server=_STRING, tool=_STRING, calls=_COUNT)),
    coverage=OBJECT,
    notes=_list(_STRING),
)
CASSETTES = _given(("cassettes",), cassettes=_list(OBJECT), next_cursor=_NEXT)
TOOLS = _given(("tools",), tools=_list(OBJECT), warnings=_WARNINGS, next_cursor=_NEXT)
RESOURCES = _given(
    ("resources", "resourceTemplates"), resources=_list(OBJECT), resourceTemplates=_list(OBJECT), next_cursor=_NEXT
)
PROMPTS = _given(("prompts",), prompts=_list(OBJECT), next_cursor=_NEXT)
CAPABILITIES = _given(
    ("serverInfo", "protocolVersion", "capabilities"),
    serverInfo=_or_null(OBJECT),
    protocolVersion=_or_null(_STRING),
    capabilities=_or_null(OBJECT),
    instructions=_or_null(_STRING),
)
SCAFFOLDED = _given(
    ("handle", "tools", "resources_scaffolded", "prompts_scaffolded", "notes"),
    suite=_text("The YAML text."),
    handle=_text("The handle of the suite, for every `suite` and `config`."),
    tools=_list(_given(("name", "tests_generated"), name=_STRING, tests_generated=_COUNT)),
    resources_scaffolded=_COUNT,
    prompts_scaffolded=_COUNT,
    notes=_list(_STRING),
    next_cursor=_NEXT,
    warnings=_WARNINGS,
)
_PROBLEM = _given(
    ("path", "message", "hint"), path=_STRING, message=_STRING, hint=_or_null(_STRING), line=_COUNT, column=_COUNT
)
EDITED = _given(
    ("suite", "valid", "errors"),
    suite=_text("The handle."),
    valid={"type": "boolean"},
    errors=_list(_PROBLEM),
    warnings=_list(_PROBLEM),
    lines=_COUNT,
    text=_STRING,
    notes=_list(_STRING),
)
CALLED = _given(
    ("tool_class", "duration_ms"),
    result=OBJECT,
    error=OBJECT,
    tool_class=_STRING,
    duration_ms=_COUNT,
    fault=_STRING,
    warnings=_WARNINGS,
)
SCAFFOLDED_CHECKS = _given(
    ("suite", "checks_scaffolded", "notes"), suite=_STRING, checks_scaffolded=_COUNT, notes=_list(_STRING)
)
SCAFFOLDED_TOOLS = _given(
    ("suite", "tools_covered", "notes"),
    suite=_STRING,
    tools_covered=_COUNT,
    notes=_list(_STRING),
    next_cursor=_NEXT,
)
VALIDATED = _given(
    ("valid", "errors"),
    valid={"type": "boolean"},
    errors=_list(_PROBLEM),
    warnings=_list(_PROBLEM),
    notes=_list(_STRING),
)
_VERDICT = {"enum": ["pass", "fail", "inconclusive", "skip"]}
RAN = _given(
    ("verdict", "total", "passed", "failed", "inconclusive", "results", "failures"),
    verdict=_VERDICT,
    run_id=_STRING,
    suites=_list(_text("The run_id and verdict of each, if several ran", type="object")),
    suite=_text("The handle, if the suite came as text."),
    total=_COUNT,
    passed=_COUNT,
    failed=_COUNT,
    inconclusive=_COUNT,
    skipped=_COUNT,
    results=_list(
        _given(
            ("name", "verdict", "duration_ms"),
            name=_STRING,
            verdict=_VERDICT,
            duration_ms=_COUNT,
            reason=_STRING,
            better_arguments=OBJECT,
        )
    ),
    failures=_list(
        {
            **_given(
                ("test", "assert", "repro"),
                test=_STRING,
                line=_COUNT,
                actual=_STRING,
                full=_STRING,
                repro=_STRING,
                repro_call=OBJECT,
            ),
        }
    ),
    notes=_list(_STRING),
)
_SCORE = _or_null({"type": "number"})
MUTATED = _given(
    ("score", "interval", "killed", "survived", "equivalent", "mutants", "tests"),
    score=_SCORE,
    interval=_list({"type": "number"}),
    killed=_COUNT,
    survived=_COUNT,
    equivalent=_COUNT,
    undecided=_COUNT,
    mutants=_list(
        _given(
            ("test", "operator", "path", "status", "change", "assertion"),
            test=_STRING,
            tool=_STRING,
            operator=_STRING,
            path=_STRING,
            status={"enum": ["killed", "survived", "equivalent", "undecided"]},
            change=_STRING,
            assertion=_or_null(_STRING),
        )
    ),
    tests=_list(_given(("name", "score", "strength"), name=_STRING, score=_SCORE, strength=_STRING)),
    left_out=_list(OBJECT),
    proposals=_COUNT,
    notes=_list(_STRING),
)
PROPOSED = _given(
    ("test", "observed", "excluded_volatile", "calls_made", "notes"),
    test=_STRING,
    observed=_list(OBJECT),
    suite=_text("The handle of the suite that the test was added to."),
    excluded_volatile=_list(_STRING),
    calls_made=_COUNT,
    notes=_list(_STRING),
    warnings=_WARNINGS,
)
