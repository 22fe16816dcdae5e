"""What a call must come to: a successful one is wanted by default, over both transports and in both eras of the protocol."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcptest_engine.core.enums import ERROR_FAILURES, Verdict
from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.reporting.record_schema import record_fault
from mcptest_engine.reporting.registry import render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MANIFEST = """
mock_server:
  tools:
    - name: down
      response: { isError: true, content: [{ type: text, text: "database is down" }] }
    - name: cursed
      error: { code: -32050, message: "the book is cursed" }
    - name: fine
      response: { content: [{ type: text, text: "all is well" }] }
"""
DOWN = "the tool reported an error: database is down"
CURSED = 'the server answered error -32050 "the book is cursed"'
SEEN = '{ target: "result.content[0].text", matcher: { contains: "database" } }'
NEGATED = "{ target: result.isError, matcher: { not: { exact: true } } }"
TESTS = f"""
tools:
  - {{ name: bare, tool: down, outcome: success }}
  - {{ name: seen, tool: down, expect: [{SEEN}] }}
  - {{ name: in time, tool: down, expect: {{ max_duration_ms: 60000 }} }}
  - {{ name: scored, tool: down, threshold: 0.1, expect: [{SEEN}] }}
  - {{ name: in a set, tool: down, expect: [ assert-set: {{ threshold: 0.1, assertions: [{SEEN}] }} ] }}
  - {{ name: cursed, tool: cursed, expect: [{{ target: duration_ms, matcher: {{ gte: 0 }} }}] }}
  - {{ name: unknown, tool: fines, expect: [{{ target: attempt, matcher: {{ exact: 1 }} }}] }}
  - {{ name: fine, tool: fine, expect: [{{ target: attempt, matcher: {{ exact: 1 }} }}] }}
  - {{ name: wanted, tool: down, outcome: error, expect: [{SEEN}] }}
  - {{ name: wanted by the protocol, tool: cursed, outcome: error }}
  - {{ name: not given, tool: fine, outcome: error }}
  - {{ name: either, tool: down, outcome: any, expect: [{SEEN}] }}
  - {{ name: decided, tool: down, expect: [{{ target: result.isError, matcher: {{ exact: true }} }}] }}
  - {{ name: denied, tool: down, expect: [{NEGATED}] }}
  - {{ name: whole, tool: down, expect: [{{ target: result, matcher: {{ jq: ".isError" }} }}] }}
resources:
  - {{ name: no resource, uri: "x://nothing", expect: [{{ target: attempt, matcher: {{ exact: 1 }} }}] }}
prompts:
  - {{ name: no prompt, prompt: nothing, expect: [{{ target: attempt, matcher: {{ exact: 1 }} }}] }}
"""


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("outcome") / "manifest.yml"
    path.write_text(MANIFEST, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def url(manifest: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "mcptest_engine.mock", "--tools-from", str(manifest), "--http", "0"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            line = next(line for line in server.stderr if "http://" in line)
            yield line[line.index("http://") :].split()[0]
        finally:
            server.terminate()


@pytest.fixture
def server(request: pytest.FixtureRequest, manifest: Path) -> dict[str, Any]:
    transport, era = request.param
    command = [sys.executable, "-m", "mcptest_engine.mock", "--tools-from", str(manifest)]
    reached = {"command": command} if transport == "stdio" else {"url": request.getfixturevalue("url")}
    return {**reached, "protocol": era}


@pytest.fixture
def stdio(manifest: Path) -> dict[str, Any]:
    return {"command": [sys.executable, "-m", "mcptest_engine.mock", "--tools-from", str(manifest)]}


def told(record: RunRecord) -> dict[str, tuple[str, str | None]]:
    """The verdict of each test, and the kind of its failure. The record is valid and survives a round trip."""
    data = json.loads(json.dumps(record.to_json()))
    assert record_fault(data) is None
    assert RunRecord.from_json(data).to_json() == record.to_json()
    return {
        test.name: (test.verdict.value, None if test.failure is None else test.failure.kind.value)
        for test in record.tests
    }


@pytest.mark.parametrize(
    "server",
    [(transport, era) for transport in ("stdio", "http") for era in ("2025-11-25", "2026-07-28")],
    indirect=True,
)
def test_an_error_that_no_test_expects_fails_it(record_of: Callable[..., RunRecord], server: dict[str, Any]) -> None:
    record = record_of("servers: { s: " + json.dumps(server) + " }\n" + TESTS)
    tool, protocol = ("fail", "tool_error"), ("fail", "protocol_error")
    assert told(record) == {
        **dict.fromkeys(["bare", "seen", "in time", "scored", "in a set"], tool),
        **dict.fromkeys(["cursed", "unknown", "no resource", "no prompt"], protocol),
        **dict.fromkeys(["fine", "wanted", "wanted by the protocol", "either", "decided", "whole"], ("pass", None)),
        "not given": ("fail", "assertion"),
        "denied": tool,
    }
    tests = {test.name: test for test in record.tests}
    failed = tests["scored"]
    assert failed.failure is not None
    assert (failed.message, failed.failure.hint) == (DOWN, "if the test expects this error, say `outcome: error`")
    assert failed.score == 1.0
    row = failed.assertions[-2].to_json()
    assert row == {
        "index": 1,
        "implicit": "outcome",
        "target": "outcome",
        "matcher": {"exact": "success"},
        "weight": 0.0,
        "passed": False,
        "message": f"`outcome: success` failed: {DOWN}",
        "actual": "tool_error",
    }
    assert [one.implicit for one in tests["fine"].assertions] == [None, "outcome", "valid"]
    assert {one.implicit for name in ("either", "decided") for one in tests[name].assertions} <= {None, "valid"}
    assert tests["cursed"].message == CURSED
    assert (tests["unknown"].failure or failed.failure).hint == "did you mean `fine`?"
    assert tests["denied"].message == DOWN


NO_ERROR = "{ target: error, matcher: { exists: false } }"
A_LIST = "{ target: result.content, matcher: { type: array } }"
STATED = f"""
tools:
  - {{ name: outvoted, tool: down, threshold: 0.5, expect: [{NEGATED}, {A_LIST}] }}
  - {{ name: outvoted in a set, tool: down, expect: [ assert-set: {{ threshold: 0.5, assertions: [{NO_ERROR}, {A_LIST}] }} ] }}
  - {{ name: without weight, tool: down, threshold: 1, expect: [{NEGATED[:-2]}, weight: 0 }}, {A_LIST}] }}
  - {{ name: no error, tool: down, expect: [{NO_ERROR}] }}
  - {{ name: one of two, tool: down, expect: [{{ target: error, matcher: {{ any-of: [exists: false, exact: null] }} }}] }}
  - name: whole
    tool: down
    threshold: 0.5
    expect: [{{ target: result, matcher: {{ jq: ".isError != true" }} }}, {A_LIST}]
  - {{ name: in defaultTest's place, tool: down, threshold: 0.5, expect: [{NEGATED}, {A_LIST}] }}
  - {{ name: said, tool: down, outcome: any, threshold: 0.5, expect: [{NEGATED}, {A_LIST}] }}
  - {{ name: reported, tool: down, expect: [{NO_ERROR}, {{ target: result.isError, matcher: {{ exact: true }} }}] }}
  - name: this error or none
    tool: cursed
    expect: [{{ target: error, matcher: {{ any-of: [exact: null, subset: {{ code: -32050 }}] }} }}]
  - {{ name: another error, tool: cursed, expect: [{{ target: error.code, matcher: {{ not: {{ exact: -32602 }} }} }}] }}
  - {{ name: fine, tool: fine, threshold: 0.5, expect: [{NEGATED}, {NO_ERROR}] }}
"""


def test_a_test_that_states_that_no_error_came_passes_on_none(
    record_of: Callable[..., RunRecord], stdio: dict[str, Any]
) -> None:
    """However little the statement weighs. One that can hold of an error leaves the call's outcome open."""
    record = record_of("defaultTest: { outcome: any }\nservers: { s: " + json.dumps(stdio) + " }\n" + STATED)
    tool = ("fail", "tool_error")
    assert told(record) == {
        **dict.fromkeys(["outvoted", "outvoted in a set", "without weight", "no error", "one of two", "whole"], tool),
        "in defaultTest's place": tool,
        **dict.fromkeys(["said", "reported", "this error or none", "another error", "fine"], ("pass", None)),
    }


def test_every_report_tells_the_servers_words_first(record_of: Callable[..., RunRecord], stdio: dict[str, Any]) -> None:
    """Once for the call, not once more for each assertion that failed with it."""
    missing = '{ target: "result.content[0].text", matcher: { contains: "rows" } }'
    suite = f"tools:\n  - {{ name: n, tool: down, expect: [{missing}, {NEGATED.replace('isError', 'rows')}] }}\n"
    record = record_of("servers: { s: " + json.dumps(stdio) + " }\n" + suite)
    for reporter in ("pretty", "agent", "md", "junit", "tap", "github", "gitlab", "sarif", "ndjson", "json", "html"):
        text = render(reporter, record).stdout
        assert "database is down" in text, reporter
    pretty = render("pretty", record).stdout
    assert pretty.index(DOWN) < pretty.index("assertion 1")
    assert pretty.count(DOWN) == 1


@pytest.mark.parametrize(
    ("block", "verdicts"),
    [
        ("defaultTest: { outcome: error }", ["pass", "pass", "fail"]),
        ("defaultTest: { outcome: success }", ["fail", "pass", "pass"]),
        ("run_options: { outcome: any }", ["pass", "pass", "pass"]),
        ("defaultTest: { outcome: success }\nrun_options: { outcome: any }", ["fail", "pass", "pass"]),
    ],
)
def test_what_holds_for_all_tests(
    record_of: Callable[..., RunRecord], stdio: dict[str, Any], block: str, verdicts: list[str]
) -> None:
    """A test that looks at the error has decided for itself, whatever holds for all."""
    suite = f"""
{block}
tools:
  - {{ name: a, tool: down, expect: [{SEEN}] }}
  - {{ name: b, tool: down, expect: [{{ target: result.isError, matcher: {{ exact: true }} }}] }}
  - {{ name: c, tool: fine }}
"""
    record = record_of("servers: { s: " + json.dumps(stdio) + " }\n" + suite)
    assert [test.verdict.value for test in record.tests] == verdicts


def test_the_steps_of_verify_must_succeed_as_well(record_of: Callable[..., RunRecord], stdio: dict[str, Any]) -> None:
    step = f"{{ tool: down, expect: [{SEEN}] }}"
    suite = f"""
tools:
  - name: a
    tool: fine
    verify: [{step}]
  - name: b
    tool: fine
    verify: [{{ tool: down, outcome: error }}]
  - name: c
    tool: down
    expect: [{SEEN}]
    verify: [{{ tool: down, expect: [{{ target: result.isError, matcher: {{ exact: true }} }}] }}]
  - name: d
    tool: down
    verify: [{{ tool: down, expect: [{{ target: result.isError, matcher: {{ exact: true }} }}] }}]
"""
    record = record_of("servers: { s: " + json.dumps(stdio) + " }\n" + suite)
    assert told(record) == {
        "a": ("fail", "tool_error"),
        "b": ("pass", None),
        "c": ("pass", None),
        "d": ("fail", "tool_error"),
    }
    assert record.tests[0].message == f"verify step 1 (down): {DOWN}"


_TARGETS = st.sampled_from(
    ["result", "result.content", "result.content[0].text", "result.nothing", "duration_ms", "attempt", "notifications"]
)
_PLAIN = st.sampled_from(
    [{"exists": True}, {"exists": False}, {"contains": "down"}, {"regex": "."}, {"gte": 0}, {"length": {"gte": 0}}]
)
_MATCHERS = st.recursive(_PLAIN, lambda inner: st.builds(lambda one: {"not": one}, inner), max_leaves=3)
_ROWS = st.builds(lambda target, matcher: {"target": target, "matcher": matcher}, _TARGETS, _MATCHERS)
_SETS = st.builds(
    lambda rows: {"assert-set": {"threshold": 0, "assertions": rows}}, st.lists(_ROWS, min_size=1, max_size=3)
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    tests=st.lists(
        st.tuples(
            st.sampled_from(["down", "cursed", "unheard of"]),
            st.lists(_ROWS | _SETS, max_size=3),
            st.sampled_from([None, 0, 0.5]),
        ),
        min_size=10,
        max_size=20,
    )
)
def test_no_test_whose_call_failed_is_green(
    record_of: Callable[..., RunRecord], stdio: dict[str, Any], tests: list[tuple[str, list[Any], float | None]]
) -> None:
    """Whatever it asserts, unless it looks at the error or says `outcome`."""
    written = [
        {
            "name": f"{at}",
            "tool": tool,
            "expect": expect,
            **({"threshold": threshold} if expect and threshold is not None else {}),
        }
        for at, (tool, expect, threshold) in enumerate(tests)
    ]
    record = record_of(json.dumps({"servers": {"s": stdio}, "tools": written}))
    assert {test.verdict for test in record.tests} == {Verdict.FAIL}
    assert {test.failure and test.failure.kind for test in record.tests} <= ERROR_FAILURES


def test_the_report_for_agents_says_which_part_of_a_set_or_a_score_fell_short(
    record_of: Callable[..., RunRecord], stdio: dict[str, Any]
) -> None:
    wrong = '{ target: "result.content[0].text", matcher: { contains: ill } }'
    also = '{ target: "result.content[0].type", matcher: { exact: image } }'
    suite = f"""tools:
  - {{ name: a set, tool: fine, expect: [ assert-set: {{ assertions: [{wrong}, {also}] }} ] }}
  - {{ name: a score, tool: fine, threshold: 0.9, expect: [{also}, {wrong}] }}
"""
    record = record_of("servers: { s: " + json.dumps(stdio) + " }\n" + suite, workers=1)
    of_set, of_score = (line for line in render("agent", record).stdout.splitlines() if line.startswith("assert: "))
    told = "(0 of 2 hold): assertion 1.1, line 3 (`result.content[0].text`) failed: substring `ill` not found in `all is well`"
    assert of_set.endswith(f"{told} (and 1 more failed assertion)")
    assert of_score.endswith(
        'assertion 1, line 4 (`result.content[0].type`) failed: expected `"image"`, got `"text"` (and 1 more failed assertion)'
    )
