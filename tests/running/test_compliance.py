"""`compliance:` runs: each rule of the specification by a server that breaks it, and sessions pinned to a revision."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.judging import conformance
from mcptest_engine.running.documents import document_of
from mcptest_engine.suite.compliance import CHECKS, REVISIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcptest_engine.core.results import TestResult
    from mcptest_engine.core.run_record import RunRecord

    RecordOf = Callable[..., RunRecord]

SERVERS = Path(__file__).parent.parent / "servers"


def command(*arguments: str, script: str = "nonconforming.py") -> str:
    """The command of a server as it stands in a suite."""
    return json.dumps(
        [sys.executable, *(["-S"] if script == "nonconforming.py" else []), str(SERVERS / script), *arguments]
    )


def checked(record_of: RecordOf, *checks: str, server: str | None = None) -> tuple[TestResult, ...]:
    """The results of checks, each written as in a suite, of one server."""
    listed = "\n".join(f"  - {{ name: n{number}, {check} }}" for number, check in enumerate(checks))
    return record_of(f"servers: {{ s: {{ command: {server or command()} }} }}\ncompliance:\n{listed}\n").tests


def broken(result: TestResult) -> list[str | None]:
    """The rules that do not hold."""
    return [row.name for row in result.assertions if row.passed is False]


def test_a_server_that_keeps_to_the_protocol_passes_every_check(record_of: RecordOf) -> None:
    """In each revision that opens with a handshake."""
    checks = [f"check: {check}" for check in CHECKS if check != "server/discover"]
    pinned = [f"check: initialize, spec_version: {revision}" for revision in REVISIONS[:-1]]
    results = checked(record_of, *checks, *pinned)
    assert [(test.verdict.value, test.message) for test in results] == [("pass", None)] * len(results)
    assert all(test.kind.value == "compliance" and test.assertions and test.tool is None for test in results)


def test_a_stateless_server_passes_every_check_that_its_revision_has(record_of: RecordOf) -> None:
    """MCP 2026-07-28: an opening of another kind, and answers that say how long they may be kept."""
    checks = ["server/discover", "tools/list", "unknown-method"]
    results = checked(
        record_of, *(f"check: {check}, spec_version: draft" for check in checks), server=command(script="stateless.py")
    )
    assert [(test.verdict.value, test.message) for test in results] == [("pass", None)] * 3
    kept = {row.name for row in results[1].assertions}
    assert "`ttlMs` says how long the answer may be cached, in whole milliseconds" in kept


BROKEN = [
    ("initialize", '--set=initialize:protocolVersion="1.0"', ["`protocolVersion` is a revision of the protocol"]),
    (
        "initialize",
        "--set=initialize:protocolVersion=3",
        ["`protocolVersion` is a revision of the protocol", "`protocolVersion` is a string"],
    ),
    ("initialize", "--set=initialize:capabilities=[]", ["`capabilities` is an object"]),
    (
        "initialize",
        "--set=initialize:capabilities.tools=true",
        ["each capability is an object, and its flags are booleans"],
    ),
    (
        "initialize",
        '--set=initialize:capabilities.tools={"listChanged":"yes"}',
        ["each capability is an object, and its flags are booleans"],
    ),
    ("initialize", "--drop=initialize:serverInfo.name", ["`serverInfo` has a name, a string"]),
    ("initialize", "--set=initialize:serverInfo.version=1", ["`serverInfo` has a version, a string"]),
    ("initialize", "--set=initialize:serverInfo.title=1", ["`title` of `serverInfo`, if present, is a string"]),
    ("initialize", "--set=initialize:instructions=[]", ["`instructions`, if present, is a string"]),
    ("ping", '--set=ping={"pong":true}', ["the result is empty, except for `_meta`"]),
    ("tools/list", "--set=tools/list:tools={}", ["the result contains the list `tools`"]),
    ("tools/list", "--drop=tools/list:tools", ["the result contains the list `tools`"]),
    ("tools/list", "--set=tools/list:nextCursor=2", ["`nextCursor`, if present, is a string"]),
    ("tools/list", '--set=tools/list:tools.1.name="look"', ["the names of the tools are unique"]),
    ("tools/list", '--set=tools/list:tools.1.name=""', ["each tool has a name, a string that is not empty"]),
    ("tools/list", "--set=tools/list:tools.1=7", ["each tool has a name, a string that is not empty"]),
    ("tools/list", "--drop=tools/list:tools.1.inputSchema", ["each tool has an `inputSchema`, an object"]),
    ("tools/list", '--set=tools/list:tools.1.inputSchema="any"', ["each tool has an `inputSchema`, an object"]),
    ("tools/list", '--set=tools/list:tools.1.inputSchema.type="array"', ["each `inputSchema` has `type: object`"]),
    (
        "tools/list",
        '--set=tools/list:tools.1.inputSchema={"type":"object","required":"q"}',
        ["in each `inputSchema`, `properties` (if present) is an object and `required` (if present) a list of strings"],
    ),
    (
        "tools/list",
        "--set=tools/list:tools.1.description=7",
        ["each tool's `description`, if present, is a string"],
    ),
    (
        "tools/list",
        '--set=tools/list:tools.1.annotations={"readOnlyHint":"yes"}',
        ["in each tool's `annotations`, `title` (if present) is a string and the hints (if present) are booleans"],
    ),
    (
        "tools/list",
        '--set=tools/list:tools.1.outputSchema={"type":"array"}',
        ["each `outputSchema`, if present, has `type: object`"],
    ),
    (
        "tools/list",
        '--set=tools/list:tools.1.icons=["a.png"]',
        ["each tool's `icons`, if present, are a list of objects with `src`"],
    ),
    ("resources/list", "--drop=resources/list:resources.0.name", ["each resource has a name, a string"]),
    ("resources/list", '--set=resources/list:resources.0.uri="memo://b"', ["the URIs of the resources are unique"]),
    ("resources/list", '--set=resources/list:resources.0.uri="a.txt"', ["each URI begins with a scheme"]),
    (
        "resources/list",
        "--set=resources/list:resources.0.mimeType=1",
        ["each resource's `mimeType`, if present, is a string"],
    ),
    (
        "resources/list",
        '--set=resources/list:resources.0.size="1 kB"',
        ["each resource's `size`, if present, is a number"],
    ),
    (
        "resources/list",
        '--set=resources/list:resources.0.annotations={"priority":2}',
        ["each resource's `annotations`, if present, follow the specification"],
    ),
    (
        "resources/templates/list",
        "--drop=resources/templates/list:resourceTemplates.0.uriTemplate",
        ["each template has a `uriTemplate`, a string that is not empty"],
    ),
    ("prompts/list", '--set=prompts/list:prompts.0.name="part"', ["the names of the prompts are unique"]),
    (
        "prompts/list",
        '--set=prompts/list:prompts.0.arguments=["whom"]',
        ["each prompt's `arguments`, if present, are a list of objects with a name"],
    ),
    (
        "prompts/list",
        '--set=prompts/list:prompts.0.arguments=[{"name":"a","required":"no"}]',
        ["each argument's `required`, if present, is a boolean, and its `description`, if present, is a string"],
    ),
    ("unknown-method", "--unknown=result", ["an unknown method is answered with the error -32601"]),
    ("unknown-method", "--unknown=-32602", ["an unknown method is answered with the error -32601"]),
]


@pytest.mark.parametrize(("check", "fault", "rules"), BROKEN, ids=[fault for _, fault, _ in BROKEN])
def test_a_broken_rule_is_told_and_no_other(record_of: RecordOf, check: str, fault: str, rules: Sequence[str]) -> None:
    """One fault is told once, with the section of the specification."""
    (result,) = checked(record_of, f"check: {check}", server=command(fault))
    assert result.verdict.value == "fail"
    assert broken(result) == rules
    assert result.failure is not None
    assert result.failure.kind.value == "assertion"
    assert result.failure.message.startswith("MCP 2025-11-25, " if "protocolVersion" not in fault else "MCP, ")


def test_every_rule_is_broken_by_some_server_above() -> None:
    """But those that every list has, of which one server each is enough, and those of the stateless revision."""
    told = {rule for _, _, rules in BROKEN for rule in rules}
    rules = [
        *conformance.UNKNOWN_METHOD_RULES[:1],
        *(rule for found in conformance.RESULT_RULES.values() for rule in found),
    ]
    shared = {"the result contains the list", "`resultType`", "`ttlMs`", "`cacheScope`", "`supportedVersions`"}
    untold = [
        rule.says for rule in rules if rule.says not in told and not any(rule.says.startswith(one) for one in shared)
    ]
    assert untold == []


def test_a_ping_that_is_answered_with_null_breaks_the_protocol(record_of: RecordOf) -> None:
    """JSON-RPC allows it and MCP does not: a result is an object."""
    (result,) = checked(record_of, "check: ping", server=command("--set=ping=null"))
    assert result.failure is not None
    assert result.failure.kind.value == "server"
    assert "its `result` is null, not an object" in result.failure.message


def test_a_server_that_does_not_offer_what_is_checked_is_told_so(record_of: RecordOf) -> None:
    """The suite asked for it, so it is sent; what is missing then is told in the words of the capability."""
    (result,) = checked(record_of, "check: resources/list", server=command("--offers=tools"))
    assert broken(result) == [
        "the server offers resources, and declares the capability `resources`",
        "the request is answered with a result",
    ]
    assert result.output == {"error": {"code": -32601, "message": "no resources/list"}}


def test_a_list_that_is_offered_and_not_declared_fails(record_of: RecordOf) -> None:
    """server/resources#capabilities: servers that support resources must declare it."""
    (result,) = checked(record_of, "check: resources/list", server=command("--declares=tools"))
    assert broken(result) == ["a server that offers resources declares the capability `resources`"]


def test_a_rule_holds_from_the_revision_that_has_it(record_of: RecordOf) -> None:
    """Before 2025-03-26 a member called `annotations` was anybody's own."""
    server = command('--set=tools/list:tools.1.annotations={"readOnlyHint":"yes"}')
    checks = [f"check: tools/list, spec_version: {revision}" for revision in REVISIONS[:2]]
    results = checked(record_of, *checks, server=server)
    assert [test.verdict.value for test in results] == ["pass", "fail"]


def test_a_pinned_check_is_not_satisfied_with_another_revision(record_of: RecordOf) -> None:
    """A server may answer with a revision of its own, which is conforming and not what was asked for."""
    checks = [
        "check: initialize",
        "check: initialize, spec_version: 2025-11-25",
        "check: ping, spec_version: v2025-06-18",
    ]
    results = checked(record_of, *checks, server=command("--speaks=2024-11-05"))
    assert [test.verdict.value for test in results] == ["pass", "fail", "fail"]
    assert [broken(test) for test in results[1:]] == [
        ["the server uses 2025-11-25"],
        ["the server uses 2025-06-18"],
    ]


def test_a_request_that_the_revision_has_not_is_not_sent(record_of: RecordOf) -> None:
    """A stateless server is never asked `initialize`; that alone is told, whatever else is expected."""
    expect = "expect: [{ target: result.serverInfo.name, matcher: { exact: a } }]"
    results = checked(record_of, f"check: initialize, {expect}", "check: ping", server=command(script="stateless.py"))
    assert [broken(test) for test in results] == [
        ["the negotiated revision has the request `initialize`"],
        ["the negotiated revision has the request `ping`"],
    ]
    assert all(test.output == {} for test in results)


def test_the_checks_of_one_revision_share_a_session(record_of: RecordOf, tmp_path: Path) -> None:
    """One more process for each revision that is not offered anyway."""
    started = tmp_path / "started"
    script = (
        f"import runpy; open({str(started)!r}, 'a').write('x'); runpy.run_path({str(SERVERS / 'nonconforming.py')!r})"
    )
    server = json.dumps([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(SERVERS)!r}); {script}"])
    checks = [
        *("check: initialize", "check: ping, spec_version: 2025-11-25"),
        *("check: initialize, spec_version: 2025-06-18", "check: ping, spec_version: 2025-06-18"),
    ]
    results = checked(record_of, *checks, server=server)
    assert [test.verdict.value for test in results] == ["pass"] * 4
    assert started.read_text() == "xx"


def test_a_check_of_the_opening_sends_nothing_and_tells_what_was_sent(record_of: RecordOf) -> None:
    """The answer that is judged is the one that opened the session."""
    (result,) = checked(record_of, "check: initialize, spec_version: 2025-03-26")
    assert result.request is not None
    assert result.request["method"] == "initialize"
    assert result.request["params"]["protocolVersion"] == "2025-03-26"


def test_what_the_suite_expects_is_judged_too_under_its_own_numbers(record_of: RecordOf) -> None:
    """The rules follow, so that `assertion 2` is the second in the file."""
    (result,) = checked(
        record_of,
        'check: tools/list, expect: [{ target: "result.tools", matcher: { length: 2 } }, '
        '{ target: "session.capabilities.tools", matcher: { exact: 1 } }]',
    )
    assert result.verdict.value == "fail"
    assert [(row.index, row.target, row.passed) for row in result.assertions[:2]] == [
        (0, "result.tools", True),
        (1, "session.capabilities.tools", False),
    ]
    assert result.message is not None
    assert result.message.startswith("assertion 2, line 3 (`session.capabilities.tools`) failed")


def test_a_server_that_does_not_open_fails_its_checks(record_of: RecordOf) -> None:
    """There is no answer to judge, and whose fault it is is told."""
    server = json.dumps([sys.executable, "-S", "-c", "raise SystemExit('no')"])
    results = checked(record_of, "check: initialize", "check: ping, spec_version: 2025-06-18", server=server)
    assert [test.failure.kind.value if test.failure else "" for test in results] == ["server", "server"]
    assert all(test.assertions == () for test in results)


def test_checks_are_selected_skipped_and_tried_again_like_tests(record_of: RecordOf) -> None:
    """Tags, `skip` and `retries` mean what they mean elsewhere."""
    results = checked(
        record_of,
        "check: ping, skip: not yet, tags: [a]",
        "check: unknown-method, retries: 2",
        server=command("--unknown=result"),
    )
    assert [(test.verdict.value, test.message) for test in results[:1]] == [("skip", "not yet")]
    assert results[0].tags == ("a",)
    assert len(results[1].attempts) == 3


def test_the_docs_name_every_rule_and_every_check() -> None:
    """docs/how-to/compliance.md is where a user looks up what a message is about."""
    page = (SERVERS.parent.parent / "docs" / "how-to" / "compliance.md").read_text(encoding="utf-8")
    rules = [
        conformance.ANSWERED,
        conformance.A_KNOWN_REVISION,
        *conformance.UNKNOWN_METHOD_RULES,
        *(rule for found in (*conformance.RESULT_RULES.values(), *conformance.ENTRY_RULES.values()) for rule in found),
    ]
    assert [rule.says for rule in rules if rule.says not in page] == []
    assert [check for check in CHECKS if f"`{check}`" not in page] == []


def test_a_screen_lists_checks_and_agents_under_their_blocks(tmp_path: Path) -> None:
    """Also while the suite is not sound: what is called is the check, and of an agent nothing."""
    text = "servers: { s: { command: [a] } }\ncompliance:\n  checks: [{ name: a, check: ping }]\n"
    text += "agents: [{ name: b, prompt: p }]\n"
    for suffix in ("", "nonsense: 1\n"):
        document = document_of(tmp_path / "s.yml", text + suffix, start_dir=tmp_path, environ={})
        assert document.sound == (not suffix)
        assert [(test.block, test.kind, test.name, test.tool, test.line) for test in document.tests] == [
            ("compliance", "compliance", "a", "ping", 3),
            ("agents", "agent", "b", "", 4),
        ]
