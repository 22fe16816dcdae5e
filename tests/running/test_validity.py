"""Answers that break the protocol or the tool's own `outputSchema` fail, over both transports and in both lifecycles."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.reporting.record_schema import record_fault
from mcptest_engine.reporting.registry import render
from tests.processes import until

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from mcptest_engine.core.results import TestResult

SERVER = Path(__file__).parent.parent / "servers" / "breaking.py"
STDIO = {"command": [sys.executable, "-S", str(SERVER)]}
NOT_FAILED = {"target": "result.isError", "matcher": {"not": {"exact": True}}}
SPOILT = {
    "wrong_output": "`structuredContent` does not match the tool's `outputSchema`: at `degrees`: "
    '"seven" is not of type "number"',
    "no_output": "the tool declares an `outputSchema`, but the result has no `structuredContent`",
    "number_as_text": '/content/0/text: 5 is not of type "string" (server/tools#text-content)',
    "unknown_block": '/content/0/type: "textt" is not one of "text", "image", "audio", "resource_link", "resource"',
    "bad_blob": '/content/0/resource/blob: 5 is not of type "string" (server/tools#embedded-resources)',
    "bad_uri": '/content/0/uri: "no uri" is not a "uri" (server/tools#resource-links)',
    "bad_image": '/content/0/data: "not base64" is not base64 (server/tools#image-content)',
    "empty": '"content" is a required property',
    "task": "the call is not finished: the server answered with a task",
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = [sys.executable, "-S", str(SERVER), "http"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/mcp"
        server.stdin.close()


@pytest.fixture
def run(record_of: Callable[..., RunRecord]) -> Callable[..., RunRecord]:
    """The record of a suite with one server `s`, which is valid and survives a round trip."""

    def running(*tools: dict[str, Any], server: dict[str, Any] = STDIO, options: Any = None, **suite: Any) -> RunRecord:
        text = json.dumps({"servers": {"s": server}, **({"tools": tools} if tools else {}), **suite})
        record = record_of(text, **({} if options is None else options))
        data = json.loads(json.dumps(record.to_json()))
        assert record_fault(data) is None
        assert RunRecord.from_json(data).to_json() == record.to_json()
        return record

    return running


def calls(tool: str, **more: Any) -> dict[str, Any]:
    return {"name": tool, "tool": tool, "expect": [NOT_FAILED], **more}


def by_name(record: RunRecord) -> dict[str, TestResult]:
    return {test.name: test for test in record.tests}


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_an_invalid_result_fails_whatever_is_asserted(
    run: Callable[..., RunRecord], request: pytest.FixtureRequest, transport: str, revision: str
) -> None:
    reached = STDIO if transport == "stdio" else {"url": request.getfixturevalue("url")}
    tools = [calls(name) for name in ("fine", "forecast", "bananas", *SPOILT)]
    record = run(
        *tools,
        {"name": "list", "tool": "resources/list", "expect": [NOT_FAILED]},
        server={**reached, "protocol": revision},
        resources=[{"name": "resource", "uri": "x:1", "expect": [NOT_FAILED]}],
        prompts=[{"name": "prompt", "prompt": "greet", "args": {"who": "you"}, "expect": [NOT_FAILED]}],
    )
    tests = by_name(record)
    for name, words in SPOILT.items():
        failure = tests[name].failure
        assert failure is not None, name
        assert (failure.kind.value, words in failure.message) == ("invalid", True), (name, failure.message)
    assert {name for name, test in tests.items() if test.verdict.value == "pass"} == (
        {"fine", "forecast"} if revision == "2026-07-28" else {"fine", "forecast", "bananas"}
    )
    assert "/contents/0" in (tests["resource"].message or "")
    assert '/messages/0/role: "nobody"' in (tests["prompt"].message or "")
    assert '"resources" is a required property' in (tests["list"].message or "")
    if revision == "2026-07-28":
        assert '/resultType is "banana", not "complete" or "input_required"' in (tests["bananas"].message or "")
    assert record.exit_code == 1


def test_the_row_of_validity_follows_the_written_ones_and_enters_no_score(run: Callable[..., RunRecord]) -> None:
    held = {"target": "attempt", "matcher": {"exact": 1}}
    record = run(calls("number_as_text", threshold=0.5, expect=[held]), calls("fine"))
    bad, fine = record.tests
    assert [row.implicit for row in bad.assertions] == [None, "outcome", "valid"]
    row = bad.assertions[-1]
    assert (row.passed, row.weight, row.actual, row.pointer) == (False, 0.0, "invalid", "/content/0/text")
    assert (bad.score, bad.verdict.value, fine.assertions[-1].passed) == (1.0, "fail", True)


def test_every_report_tells_what_is_invalid(run: Callable[..., RunRecord]) -> None:
    record = run(calls("number_as_text"))
    for reporter in ("pretty", "agent", "md", "junit", "tap", "github", "gitlab", "sarif", "ndjson", "json", "html"):
        text = render(reporter, record).stdout
        assert "/content/0/text" in text, reporter
    assert "<failure" in render("junit", record).stdout


@pytest.mark.parametrize("where", ["run_options", "server"])
def test_validity_may_be_a_warning_or_off(run: Callable[..., RunRecord], where: str) -> None:
    for said, count in (("warn", 1), ("off", 0)):
        options = {"validity": said}
        suite = {"run_options": options} if where == "run_options" else {"server": {**STDIO, **options}}
        record = run(calls("number_as_text"), **suite)
        assert record.exit_code == 0
        assert [("/content/0/text" in text) for text in record.warnings] == [True] * count
        assert not any(row.implicit == "valid" for row in record.tests[0].assertions)


@pytest.mark.parametrize(
    ("revision", "tool", "place"),
    [("2025-11-25", "no_link", "/data/elicitations/0"), ("2026-07-28", "no_capability", "/data/requiredCapabilities")],
)
def test_an_error_of_the_protocols_own_is_held_to_its_schema_also_where_it_is_expected(
    run: Callable[..., RunRecord], revision: str, tool: str, place: str
) -> None:
    suite: dict[str, Any] = {"server": {**STDIO, "protocol": revision}}
    nodes = [{"id": "a", "tool": tool}]
    ran = {"target": "nodes.a.status", "matcher": {"exact": "err"}}
    compositions = [{"name": "c", "nodes": nodes, "expect": [ran]}]
    test, graph = run({"name": "t", "tool": tool, "outcome": "error"}, compositions=compositions, **suite).tests
    assert test.failure is not None
    assert (test.failure.kind.value, f"is not valid MCP {revision}: {place}" in test.failure.message) == (
        "invalid",
        True,
    )
    assert test.assertions[-1].pointer == place
    assert place in str(graph.trace)
    assert run({"name": "t", "tool": tool, "outcome": "error"}, **suite, run_options={"validity": "off"}).exit_code == 0


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_an_invalid_answer_to_the_opening_fails_the_run_once_and_no_test(
    run: Callable[..., RunRecord], revision: str
) -> None:
    method = "initialize" if revision == "2025-11-25" else "server/discover"
    server = {"command": [*STDIO["command"], "opening"], "protocol": revision}
    record = run(calls("fine"), calls("forecast"), server=server)
    assert (record.exit_code, record.verdict.value, record.totals.passed) == (1, "fail", 2)
    (finding,) = record.servers[0].findings
    told = f'server "s", {method}: the result is not valid MCP {revision}: /capabilities/tools: true is not of type "object"'
    assert (finding["kind"], finding["fails"], finding["message"].startswith(told)) == ("invalid_opening", True, True)
    assert record.warnings == (f"{finding['message']} (fails the run: `validity: fail`)",)
    for reporter in ("pretty", "agent", "md", "junit", "html"):
        assert "/capabilities/tools" in render(reporter, record).stdout, reporter
    warned = run(calls("fine"), server=server, run_options={"validity": "warn"})
    assert (warned.exit_code, warned.warnings) == (0, (finding["message"],))
    off = run(calls("fine"), server={**server, "validity": "off"})
    assert (off.exit_code, off.warnings, off.servers[0].findings) == (0, (), ())


def test_a_task_is_unfinished_also_where_validity_is_off(run: Callable[..., RunRecord]) -> None:
    record = run(calls("task"), run_options={"validity": "off"})
    assert record.tests[0].verdict.value == "fail"


def test_an_error_needs_no_output(run: Callable[..., RunRecord]) -> None:
    """MCP, server/tools#output-schema: it is about results that are no errors."""
    (test,) = run(calls("failing_output", outcome="error", expect=[])).tests
    assert test.verdict.value == "pass", test.message


def test_an_invalid_answer_of_a_node_fails_its_composition(run: Callable[..., RunRecord]) -> None:
    nodes = [{"id": "a", "tool": "number_as_text"}, {"id": "b", "tool": "fine"}]
    total = {"target": "cost.total", "matcher": {"lte": 1}}
    record = run(compositions=[{"name": "c", "nodes": nodes, "expect": [total]}])
    (test,) = record.tests
    assert test.failure is not None
    assert (test.failure.kind.value, "/content/0/text" in test.failure.message) == ("invalid", True)


# --- whatever is asserted

_TARGETS = ["result", "result.content", "result.content[0].text", "result.nothing", "duration_ms", "attempt"]
_OF_GRAPHS = ["output", "cost.total", "composition.order", "composition.tokens_total"]
_MATCHERS = st.recursive(
    st.sampled_from([{"exists": True}, {"exists": False}, {"contains": "5"}, {"regex": "."}, {"gte": 0}, {"lte": 1}]),
    lambda inner: st.builds(lambda one: {"not": one}, inner),
    max_leaves=3,
)
_WRONG = [*SPOILT, "no_link", "no_capability", "hidden", "fien"]


def _expectations(targets: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Assertions, alone and in sets that any of theirs may satisfy."""
    rows = st.builds(
        lambda target, matcher: {"target": target, "matcher": matcher}, st.sampled_from(targets), _MATCHERS
    )
    sets = st.builds(
        lambda inner: {"assert-set": {"threshold": 0, "assertions": inner}}, st.lists(rows, min_size=1, max_size=2)
    )
    return st.builds(lambda found: {"expect": found}, st.lists(rows | sets, max_size=3))


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@settings(
    max_examples=2, phases=[Phase.generate], deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    tests=st.lists(
        st.tuples(st.sampled_from(_WRONG), _expectations(_TARGETS), st.sampled_from([None, "any", "error"])),
        min_size=15,
        max_size=20,
    ),
    graphs=st.lists(st.tuples(st.sampled_from(_WRONG), _expectations(_OF_GRAPHS)), min_size=6, max_size=10),
)
def test_no_invalid_answer_and_no_unlisted_tool_is_green(
    run: Callable[..., RunRecord],
    request: pytest.FixtureRequest,
    transport: str,
    revision: str,
    tests: list[tuple[str, dict[str, Any], str | None]],
    graphs: list[tuple[str, dict[str, Any]]],
) -> None:
    """Whatever a test asserts, and whatever `outcome` it says; an unknown name alone is what `any` and `error` allow."""
    reached = STDIO if transport == "stdio" else {"url": request.getfixturevalue("url")}
    of_the_other = "no_capability" if revision == "2025-11-25" else "no_link"  # an error like any other here
    written = [
        {"name": f"{tool} {at}", "tool": tool, **expected, **({} if outcome is None else {"outcome": outcome})}
        for at, (tool, expected, outcome) in enumerate(tests)
        if outcome is None or tool not in ("fien", of_the_other)
    ]
    composed = [
        {"name": f"{tool} graph {at}", "nodes": [{"id": "a", "tool": tool}], **expected}
        for at, (tool, expected) in enumerate(graphs)
        if tool != of_the_other
    ]
    blocks = {"tools": written, "compositions": composed}
    record = run(server={**reached, "protocol": revision}, **{name: rows for name, rows in blocks.items() if rows})
    assert [test.name for test in record.tests if test.verdict.value != "fail"] == []


# --- the catalog


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_an_unknown_tool_fails_with_the_nearest_name(
    run: Callable[..., RunRecord], request: pytest.FixtureRequest, transport: str, revision: str
) -> None:
    reached = STDIO if transport == "stdio" else {"url": request.getfixturevalue("url")}
    held = {"target": "error.message", "matcher": {"contains": "fien"}}
    record = run(
        {"name": "wrong", "tool": "fien"},
        {"name": "wanted", "tool": "fien", "outcome": "error", "expect": [held]},
        server={**reached, "protocol": revision},
    )
    wrong, wanted = record.tests
    assert wrong.failure is not None
    assert wrong.failure.message.startswith('server "s" lists no tool "fien"; the server answered error -32602')
    assert (wrong.failure.kind.value, wrong.failure.hint) == ("protocol_error", "did you mean `fine`?")
    assert wanted.verdict.value == "pass"


def test_an_unlisted_prompt_fails_although_it_is_answered(run: Callable[..., RunRecord]) -> None:
    options = {"validity": "off"}
    prompts = [{"name": "p", "prompt": "gret", "args": {"who": "x"}}]
    (test,) = run(prompts=prompts, run_options=options).tests
    assert test.failure is not None
    assert (test.failure.kind.value, test.failure.hint) == ("suite", "did you mean `greet`?")
    assert run(prompts=prompts, run_options={**options, "catalog": "off"}).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"citty": "x"}, 'the tool "fine" has no argument `citty`; did you mean `city`?'),
        (
            {"days": "3"},
            'the `inputSchema` of "fine" does not allow the arguments: at `days`: "3" is not of type "integer"',
        ),
    ],
)
def test_odd_arguments_are_a_warning_and_a_failure_under_strict(
    run: Callable[..., RunRecord], arguments: dict[str, Any], words: str
) -> None:
    record = run(calls("fine", args=arguments))
    assert record.exit_code == 0
    assert [text.startswith(f"fine: {words}") for text in record.warnings] == [True]
    strict = run(calls("fine", args=arguments), options={"strict": True})
    (test,) = strict.tests
    assert test.failure is not None
    assert (strict.exit_code, test.failure.kind.value) == (1, "suite")
    wanted = run(calls("failing_output", args=arguments, outcome="error", expect=[]), options={"strict": True})
    assert (wanted.exit_code, wanted.warnings) == (0, ())


def test_odd_arguments_of_nodes_and_evals_are_warned_of_like_those_of_tests(
    run: Callable[..., RunRecord], tmp_path: Path
) -> None:
    """What a node is called with is known only when its parents have answered."""
    scorer = tmp_path / "scorer.py"
    scorer.write_text("""print('{"verdict": "pass", "score": 1, "reasoning": "good"}')""")
    wrong = 'the tool "fine" has no argument `citty`; did you mean `city`?'
    suite: dict[str, Any] = {
        "compositions": [
            {
                "name": "graph",
                "nodes": [
                    {"id": "a", "tool": "forecast"},
                    {"id": "b", "tool": "fine", "needs": ["a"], "args": {"citty": "${a.structuredContent.degrees}"}},
                ],
            }
        ],
        "evals": [
            {"name": "graded", "call": {"tool": "fine", "args": {"citty": "x"}}, "rubric": "r", "scorers": ["s"]}
        ],
        "scorers": [{"name": "s", "type": "exec", "command": [sys.executable, str(scorer)]}],
    }
    record = run(**suite)
    assert (record.exit_code, record.warnings) == (0, (f"graph: node `b`: {wrong}", f"graded: {wrong}"))
    strict = run(**suite, options={"strict": True})
    for test in strict.tests:
        assert test.failure is not None
        assert (test.failure.kind.value, test.failure.hint) == ("suite", "did you mean `city`?")
        assert 'the tool "fine" has no argument `citty`' in test.failure.message
    assert run(**suite, options={"strict": True}, run_options={"catalog": "off"}).exit_code == 0


def test_odd_arguments_are_the_hint_of_a_node_or_an_eval_that_fails(run: Callable[..., RunRecord]) -> None:
    tool = {"tool": "failing_output", "args": {"citty": "x"}}
    scorers = [{"name": "s", "type": "exec", "command": ["no-such-scorer"]}]
    evals = [{"name": "graded", "call": tool, "rubric": "r", "scorers": ["s"]}]
    record = run(compositions=[{"name": "graph", "nodes": [{"id": "a", **tool}]}], evals=evals, scorers=scorers)
    for test in record.tests:
        assert test.failure is not None
        assert test.failure.hint == 'the tool "failing_output" has no argument `citty`; did you mean `city`?'
        assert "no such city" in test.failure.message
    assert record.warnings == ()


def test_a_node_fails_when_its_tool_is_not_listed(run: Callable[..., RunRecord]) -> None:
    total = {"target": "cost.total", "matcher": {"lte": 1}}
    record = run(
        compositions=[
            {"name": "refused", "nodes": [{"id": "a", "tool": "fien"}], "expect": [total]},
            {"name": "answered", "nodes": [{"id": "a", "tool": "hidden"}], "expect": [total]},
        ]
    )
    refused, answered = record.tests
    assert refused.failure is not None
    assert 'server "s" lists no tool "fien"; the server answered error -32602' in refused.failure.message
    assert (refused.failure.kind.value, refused.failure.hint) == ("suite", "did you mean `fine`?")
    assert answered.failure is not None
    assert answered.failure.kind.value == "suite"
    assert 'server "s" lists no tool "hidden", and answered the call' in answered.failure.message


def test_the_list_is_read_once_and_not_at_all_when_it_is_off(run: Callable[..., RunRecord], tmp_path: Path) -> None:
    log = tmp_path / "log"
    server = {"command": [sys.executable, "-S", str(SERVER.with_name("offering.py")), str(log)]}
    tests = [{"name": f"t{number}", "tool": "rest"} for number in range(5)]
    assert run(*tests, server=server).exit_code == 0
    assert log.read_text() == "listed\n"
    log.unlink()
    assert run(*tests, server={**server, "catalog": "off"}).exit_code == 0
    assert not log.exists()


def test_a_list_that_cannot_be_read_fails_nothing_and_says_what_is_not_checked(run: Callable[..., RunRecord]) -> None:
    server = {"command": [sys.executable, "-S", str(SERVER.with_name("offering.py")), "/dev/null", "closed"]}
    record = run({"name": "t", "tool": "rest"}, server=server)
    assert record.exit_code == 0
    (warning,) = record.warnings
    assert warning == (
        'the tools of server "s" could not be listed, so names, arguments and output schemas are not checked: server "s" '
        'answered "tools/list" with error -32000 "not today"'
    )


def test_a_list_that_never_comes_is_waited_for_once_and_said(run: Callable[..., RunRecord]) -> None:
    server = {"command": [sys.executable, "-S", str(SERVER.with_name("offering.py")), "/dev/null", "silent"]}
    tests = [{"name": f"t{number}", "tool": "rest"} for number in range(100)]
    record = run(*tests, server=server, run_options={"timeout_ms": 1_000, "concurrency": 1})
    assert (record.exit_code, record.totals.passed) == (0, 100)
    (warning,) = record.warnings
    assert warning == (
        'the tools of server "s" could not be listed, so names, arguments and output schemas are not checked: no answer '
        "came within the time limit of a call"
    )


# --- a server whose list goes astray, or changes

ODD = """
import os, sys, threading
sys.path.insert(0, FOLDER)
import minimcp
how, marker = sys.argv[1:]
number = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
names = ("get_it", "get_on", "get_stuck")
tools = [{"name": name, "inputSchema": {"type": "object"}, "outputSchema": number} for name in names]
waiting = []
deep = None
for _ in range(300):
    deep = [deep]

def handle(method, params, message):
    if method == "tools/list":
        if how == "refuses":
            minimcp.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no list"}})
            minimcp.answer(waiting.pop(), {"content": [], "structuredContent": {"n": 1}})
            return minimcp.NO_ANSWER
        if how == "once" and waiting:
            raise minimcp.RpcError(-32000, "rate limited")
        if how == "once":
            waiting.append("listed")
        if how == "dies" or (how == "dies once" and not os.path.exists(marker)):
            open(marker, "w").close()
            threading.Timer(0.05, os._exit, (3,)).start()
            return minimcp.NO_ANSWER
        return {"tools": [*tools, {"name": "get_it", "inputSchema": {"type": "object"}}] if how == "twice" else tools}
    if params["name"] == "get_stuck":
        threading.Event().wait()
    if how == "refuses":
        waiting.append(message["id"])
        return minimcp.NO_ANSWER
    if params["name"] == "get_on":
        number["required"] = ["m"]
        minimcp.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    result = {"content": [], "structuredContent": {"m" if how == "changes" and params["name"] == "get_on" else "n": 1}}
    if how == "task":
        return {"content": [], "task": {"taskId": "t", "status": "working"}}
    if how == "deep beside":
        result = {**result, "structuredContent": {}, "_meta": {"deep": deep}}
    if how == "deep":
        result["structuredContent"]["more"] = deep
    if how in ("dies once", "banana", "once", "stuck"):
        result["structuredContent"] = {}
    return result

if how == "banana":
    minimcp.initialized = lambda params, *_: {
        "protocolVersion": "banana", "capabilities": {"tools": {}}, "serverInfo": {"name": "b", "version": "1"}
    }
minimcp.serve(handle, lists=True)
"""


LISTS_NEVER = """
import json, pathlib, sys
answered = 0
def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    said = json.loads(line)
    if said.get("method") == "initialize":
        opening = {"capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
        send({"id": said["id"], "result": {"protocolVersion": said["params"]["protocolVersion"], **opening}})
    elif said.get("method") == "tools/call" and said["params"]["name"] == "answer":
        send({"id": said["id"], "result": {"content": [{"type": "text", "text": "done"}]}})
        answered += 1
        if answered == 2:
            send({"id": "have you read it?", "method": "ping"})
    elif said.get("id") == "have you read it?":
        pathlib.Path(sys.argv[1]).touch()
"""


def test_a_run_that_is_ended_while_answers_wait_for_the_list_judges_them(
    run_of: Callable[..., Coroutine[None, None, RunRecord]], tmp_path: Path
) -> None:
    """A server that does one thing after the other lists nothing while it hangs in a call."""
    script, marker = tmp_path / "never.py", tmp_path / "marker"
    script.write_text(LISTS_NEVER)
    names = {"right": "done", "wrong": "gone"}
    tests: list[dict[str, Any]] = [
        {"name": name, "tool": "answer", "expect": [{"target": "result.content[0].text", "matcher": {"exact": text}}]}
        for name, text in names.items()
    ]
    tests.append({"name": "hangs", "tool": "hang"})
    server = {"command": [sys.executable, str(script), str(marker)]}

    async def ended() -> RunRecord:
        run = asyncio.ensure_future(run_of(json.dumps({"servers": {"s": server}, "tools": tests})))
        await asyncio.to_thread(until, marker.exists)
        run.cancel()
        return await run

    record = asyncio.run(ended())
    verdicts = {test.name: (test.verdict.value, test.message) for test in record.tests}
    assert verdicts["right"] == ("pass", None)
    assert verdicts["wrong"][0] == "fail"
    assert verdicts["hangs"][0] == "skip"
    assert re.fullmatch(r"interrupted after [\d.]+ m?s", verdicts["hangs"][1] or "")
    (warning,) = [text for text in record.warnings if "could not be listed, so names" in text]
    assert warning.endswith("the run was ended before an answer came")


@pytest.fixture
def odd(run: Callable[..., RunRecord], tmp_path: Path) -> Callable[..., RunRecord]:
    """The record of calls of a server that is odd in one way, one at a time."""
    script = tmp_path / "odd.py"
    script.write_text(ODD.replace("FOLDER", repr(str(SERVER.parent))))

    def running(how: str, *names: str) -> RunRecord:
        server = {"command": [sys.executable, str(script), how, str(tmp_path / "marker")]}
        tests = [{**calls(name), "name": f"{number} {name}"} for number, name in enumerate(names)]
        return run(*tests, server=server, run_options={"concurrency": 1, "timeout_ms": 5_000})

    return running


def test_a_list_that_dies_with_its_server_is_read_again(odd: Callable[..., RunRecord]) -> None:
    (test,) = odd("dies once", "get_it").tests
    assert test.failure is not None
    assert "does not match the tool's `outputSchema`" in test.failure.message


@pytest.mark.parametrize(("how", "why"), [("dies", "exited with code 3"), ("refuses", "its `id` is null")])
def test_an_answer_that_no_list_was_there_to_check_is_told(odd: Callable[..., RunRecord], how: str, why: str) -> None:
    record = odd(how, "get_it")
    assert (record.exit_code, record.tests[0].verdict.value) == (0, "pass")
    (warning,) = [text for text in record.warnings if "could not be listed, so names" in text]
    assert why in warning


@pytest.mark.parametrize("restart", [True, False])
def test_a_list_behind_a_call_that_hangs_is_read_of_a_fresh_server_or_said_to_be_missing(
    run: Callable[..., RunRecord], tmp_path: Path, *, restart: bool
) -> None:
    """Not after the time that the other test gives to its call, which is half a minute."""
    script = tmp_path / "odd.py"
    script.write_text(ODD.replace("FOLDER", repr(str(SERVER.parent))))
    tests = [calls("get_it"), calls("get_stuck", timeout_ms=200)]
    server = {"command": [sys.executable, str(script), "stuck", str(tmp_path / "marker")]}
    record = run(*tests, server=server, run_options={"restart": restart})
    failure = by_name(record)["get_it"].failure
    unread = [text for text in record.warnings if "could not be listed, so names" in text]
    assert (failure is not None, len(unread)) == (restart, not restart)
    assert failure is None or "does not match the tool's `outputSchema`" in failure.message
    assert record.totals.failed == 1 + restart


def test_a_list_that_cannot_be_read_a_second_time_leaves_what_was_read(odd: Callable[..., RunRecord]) -> None:
    record = odd("once", "get_it", "get_unknown", "get_it")
    assert [test.failure and test.failure.kind.value for test in record.tests] == ["invalid", "suite", "invalid"]


def test_a_tool_that_is_listed_twice_is_a_warning(odd: Callable[..., RunRecord]) -> None:
    record = odd("twice", "get_it")
    assert (record.exit_code, record.warnings) == (
        0,
        ('server "s" lists the tool "get_it" more than once; the first one counts',),
    )


def test_a_list_that_changed_is_read_again_before_the_next_call(odd: Callable[..., RunRecord]) -> None:
    record = odd("changes", "get_it", "get_on", "get_it")
    assert [test.verdict.value for test in record.tests] == ["pass", "fail", "fail"]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("task", "the call is not finished"),
        ("deep", "too deep to be checked"),
        ("deep beside", "does not match the tool's `outputSchema`"),
        ("banana", "does not match the tool's `outputSchema`"),
    ],
)
def test_nothing_turns_the_check_of_an_output_off(odd: Callable[..., RunRecord], how: str, words: str) -> None:
    record = odd(how, "get_it")
    (test,) = record.tests
    assert test.failure is not None
    assert words in test.failure.message
    assert [text for text in record.warnings if "not held to the protocol" in text] == [] or how == "banana"


# --- hygiene

NOISE = """
import signal, sys
sys.path.insert(0, FOLDER)
import minimcp
print("starting up", flush=True)
minimcp.serve(lambda *_: minimcp.text("ok"))
if "stays" in sys.argv:
    signal.pause()
"""


@pytest.mark.parametrize(("mode", "kinds"), [("goes", ["stdout_noise"]), ("stays", ["stdout_noise", "outlives_stdin"])])
def test_what_a_server_does_beside_its_answers_is_found(
    run: Callable[..., RunRecord], tmp_path: Path, mode: str, kinds: list[str]
) -> None:
    script = tmp_path / "noise.py"
    script.write_text(NOISE.replace("FOLDER", repr(str(SERVER.parent))))
    server = {"command": [sys.executable, str(script), mode], "shutdown_grace_ms": 300}
    record = run({"name": "t", "tool": "x"}, server=server)
    (found,) = record.servers
    assert [finding["kind"] for finding in found.findings] == kinds
    assert record.exit_code == 0
    assert tuple(finding["message"] for finding in found.findings) == record.warnings
    for failing in ({"options": {"strict": True}}, {"run_options": {"hygiene": "fail"}}):
        failed = run({"name": "t", "tool": "x"}, server=server, **failing)
        assert (failed.exit_code, failed.verdict.value, failed.totals.passed) == (1, "fail", 1)
        assert all(finding["fails"] for finding in failed.servers[0].findings)
        assert "fails the run" in render("agent", failed).stdout
    off = run({"name": "t", "tool": "x"}, server={**server, "hygiene": "off"})
    assert (off.servers[0].findings, off.warnings) == ((), ())


CRASH = """
import os, sys, pathlib
sys.path.insert(0, FOLDER)
import minimcp
PID = pathlib.Path(sys.argv[2])
stored = []
def call(method, params, message):
    if params["name"] == "look":
        return minimcp.text(" ".join(stored))
    stored.append("Ada")
    PID.write_text(str(os.getpid()))
    minimcp.answer(message["id"], minimcp.text("stored"))
    end()
def end():
    os.kill(os.getpid(), 11) if sys.argv[1] == "segv" else os._exit(42)
minimcp.serve(call)
end()
"""


@pytest.mark.parametrize(("mode", "told"), [("segv", "was ended by SIGSEGV"), ("exit", "exited with code 42")])
def test_a_server_that_crashes_between_calls_or_at_its_end_is_found(
    run: Callable[..., RunRecord], tmp_path: Path, mode: str, told: str
) -> None:
    script, pid = tmp_path / "crash.py", tmp_path / "pid"
    (tmp_path / "gone.sh").write_text(f'while [ -f {pid} ] && [ -d "/proc/$(cat {pid})" ]; do :; done\n')
    script.write_text(CRASH.replace("FOLDER", repr(str(SERVER.parent))))
    server = {"command": [sys.executable, "-S", str(script), mode, str(pid)]}
    record = run({"name": "t", "tool": "look"}, server=server)
    (found,) = record.servers[0].findings
    message = f'server "s" {told} when its stdin was closed, after tools/call "look"'
    assert (found["kind"], found["message"], found["fails"]) == ("crashed", message, False)
    assert (record.exit_code, record.warnings) == (0, (message,))
    assert message in render("md", record).stdout
    failing = run({"name": "t", "tool": "look"}, server=server, run_options={"hygiene": "fail"})
    assert (failing.exit_code, failing.totals.passed) == (1, 1)
    found_it = {"target": "result.content[0].text", "matcher": {"exact": "Ada"}}
    record = run(
        {"name": "stored", "tool": "create_record", "group": "g"},
        {"name": "found", "tool": "look", "group": "g", "expect": [found_it]},
        {"name": "again", "tool": "look", "group": "g", "expect": [found_it]},
        server=server,
        hooks={"beforeEach": f"sh {tmp_path}/gone.sh"},
    )
    assert f'server "s" {told} between calls, after tools/call "create_record"' in record.warnings
    hints = {test.name: test.failure.hint or "" for test in record.tests if test.failure is not None}
    lost = f'server "s" was restarted before this call, because it {told}: its state is lost'
    assert {name: hint.startswith(lost) for name, hint in hints.items()} == {"found": True, "again": False}
