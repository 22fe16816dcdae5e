"""The JSON Schemas of what the verbs take and give. Source: agent-interface; decisions 14, Front door."""

from __future__ import annotations

from typing import Any


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """A closed object: an argument that is none is refused."""
    found: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": list(required)} if required else found


def _text(about: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": about, **more}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _given(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    """An answer's object; open, so that a later version may tell more."""
    return {"type": "object", "properties": properties, "required": list(required)}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Two branches rather than a list of types, which some clients cannot hand to their model."""
    return {"anyOf": [schema, {"type": "null"}]}


_STRING, _COUNT = {"type": "string"}, {"type": "integer", "minimum": 0}
_CURSOR = {
    "anyOf": [{"type": "integer"}, _STRING],
    "description": "The `next_cursor` of the previous answer, to get the next page.",
}
_NEXT = {"type": "integer", "description": "Pass this as `cursor` to get the next page."}
_WARNINGS = _list(_given(("tool", "rule", "summary"), tool=_STRING, rule=_STRING, summary=_STRING))

OBJECT: dict[str, Any] = {"type": "object"}
NOTHING = _object()
_TARGET: dict[str, Any] = {
    "url": _text("A Streamable HTTP endpoint. Exactly one of `url` and `command`."),
    "bearer_token_env": _text("The environment variable that holds the token for `url`."),
    "command": {
        "type": "array",
        "items": {"type": "string"},
        "minItems": 1,
        "description": "The program of a stdio server and its arguments. Without --enable-writes, exactly this "
        "command must be declared under `servers:` in mcptest.yml.",
    },
    "env": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "Environment variables for `command`.",
    },
}
TARGET = _object(**_TARGET)
CATALOG = _object(**_TARGET, cursor=_CURSOR)
SCAFFOLD = _object(
    **_TARGET,
    tools={"type": "array", "items": {"type": "string"}, "description": "Write tests for these tools only."},
    include_edge={
        "type": "boolean",
        "default": True,
        "description": "Write a test at a limit of the schema for each tool.",
    },
    include_violation={
        "type": "boolean",
        "default": True,
        "description": "Write a test with invalid arguments for each tool.",
    },
    probe={
        "type": "boolean",
        "default": False,
        "description": "Write all further tests of limits and invalid arguments.",
    },
    allow={
        "type": "array",
        "items": {"type": "string"},
        "description": "Tools whose tests may run although they do not declare readOnlyHint: true. For a tool "
        "that changes something, one test runs; for a destructive tool, none.",
    },
    presumed={
        "type": "boolean",
        "default": False,
        "description": "Let the tests of all tools run whose names suggest that they are read-only.",
    },
    all={"type": "boolean", "default": False, "description": "All tools at once, in place of 25 per page."},
    cursor=_CURSOR,
)
PROPOSE = _object(
    ("tool",),
    **_TARGET,
    tool=_text("The tool to call."),
    args={"type": "object", "default": {}, "description": "The arguments of the call."},
    single_call={"type": "boolean", "default": False, "description": "Call the tool only once."},
    execute_destructive={
        "type": "boolean",
        "default": False,
        "description": "Allow exactly one call of a tool that is classified as destructive.",
    },
)
SUITE = _object(("suite",), suite=_text("The complete YAML text of a suite."))
_PAID: dict[str, Any] = {
    "max_cost_usd": {
        "type": "number",
        "exclusiveMinimum": 0,
        "description": "Limit the cost of models and scorers. At the limit, the other rows are skipped.",
    },
    "models": {
        "type": "array",
        "items": {"type": "string"},
        "minItems": 1,
        "description": "Ask these models in place of those that agent tests and evals name.",
    },
}
RUN_SUITE = _object(("suite",), suite=_text("The complete YAML text of a suite."), **_PAID)
TRIGGER = _object(
    **_PAID,
    config=_text("The path of a suite in this workspace. Default: mcptest.yaml or mcptest.yml."),
    filter=_text("The name of a test, a part of names, or `re:` and a regular expression."),
)
RECORD = _object(
    ("name",),
    name=_text("A name for the cassette: letters, digits, `.`, `_` and `-`."),
    config=_text("The path of a suite in this workspace. Default: mcptest.yaml or mcptest.yml."),
)
MUTATE = _object(
    config=_text("The path of a suite in this workspace. Default: mcptest.yaml or mcptest.yml."),
    cassette=_text("Take the answers of this cassette and start no server."),
    operators={"type": "array", "items": _STRING, "description": "Make only these kinds of wrong answers."},
    budget={"type": "integer", "minimum": 1, "default": 5000, "description": "How many mutants are judged at most."},
    seed={"type": "integer", "default": 0, "description": "Which mutants are drawn where there are more."},
)
COVERAGE = _object(run_id=_text("The id of a run. Default: the latest."))
LIST_RUNS = _object(
    limit={"type": "integer", "minimum": 1, "maximum": 200, "default": 20, "description": "The number of runs."},
    cursor=_CURSOR,
)
GET_RUN = _object(
    ("run_id",),
    run_id=_text("The id of a run, from list_runs."),
    only={"enum": ["all", "failed"], "default": "all", "description": "Which tests to return."},
    cursor=_CURSOR,
)
LIST_CASSETTES = _object(cursor=_CURSOR)
GET_CASSETTE = _object(("name",), name=_text("The name of a cassette, from list_cassettes."), cursor=_CURSOR)

RUN = _given(("tests",), run_id=_STRING, tests=_list(OBJECT), next_cursor=_NEXT)
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
    ("suite", "tools", "resources_scaffolded", "prompts_scaffolded", "notes"),
    suite=_STRING,
    tools=_list(_given(("name", "tests_generated"), name=_STRING, tests_generated=_COUNT)),
    resources_scaffolded=_COUNT,
    prompts_scaffolded=_COUNT,
    notes=_list(_STRING),
    next_cursor=_NEXT,
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
_PROBLEM = _given(("path", "message", "hint"), path=_STRING, message=_STRING, hint=_or_null(_STRING))
VALIDATED = _given(
    ("valid", "errors"),
    valid={"type": "boolean"},
    errors=_list(_PROBLEM),
    warnings=_list(_PROBLEM),
    notes=_list(_STRING),
)
_VERDICT = {"enum": ["pass", "fail", "inconclusive", "skip"]}
RAN = _given(
    ("verdict", "run_id", "total", "passed", "failed", "inconclusive", "results", "failures"),
    verdict=_VERDICT,
    run_id=_STRING,
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
            **_given(("test", "assert", "repro"), test=_STRING, actual=_STRING, full=_STRING, repro=_STRING),
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
    ("test", "excluded_volatile", "calls_made", "notes"),
    test=_STRING,
    excluded_volatile=_list(_STRING),
    calls_made=_COUNT,
    notes=_list(_STRING),
    warnings=_WARNINGS,
)
