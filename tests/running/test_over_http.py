"""What HTTP says beside an answer, or in place of one: judged where a test asks for it, kept where it does not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.reporting.record_schema import record_fault
from mcptest_engine.reporting.registry import render
from tests.processes import longer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest_engine.core.run_record import RunRecord

    RecordOf = Callable[..., RunRecord]

SERVERS = Path(__file__).parent.parent / "servers"


def serving(script: str, *arguments: str) -> Iterator[str]:
    """The address of a server that ends with the test."""
    command = [sys.executable, str(SERVERS / f"{script}.py"), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.stdin.close()


@pytest.fixture(scope="module")
def echo() -> Iterator[str]:
    """`tests/servers/http_echo.py`: its path chooses how it behaves."""
    yield from serving("http_echo")


@pytest.fixture
def late() -> Iterator[str]:
    """`tests/servers/http_late.py`: what it says unasked comes on the session's own stream."""
    yield from serving("http_late")


@pytest.fixture
def forgetful() -> Iterator[str]:
    """`tests/servers/http_forgetful.py`: a 404 for the tool `gone`, in the middle of a session."""
    yield from serving("http_forgetful")


@pytest.mark.parametrize("workers", [1, 8])
def test_a_session_that_ended_with_404_costs_no_other_test_anything(
    record_of: RecordOf, forgetful: str, workers: int
) -> None:
    """MCP 2025-11-25, basic/transports, session management: the next request opens another one, as often as it takes."""
    rows = "".join(
        f"""
  - {{ name: gone {number}, tool: gone, expect: [{{ target: http.status, matcher: {{ exact: 404 }} }}] }}
  - {{ name: ok {number}, tool: ok, expect: [{{ target: "result.content[0].text", matcher: {{ exact: ok }} }}] }}"""
        for number in range(4)
    )
    record = record_of(f'servers: {{ s: {{ url: "{forgetful}/mcp" }} }}\ntools:{rows}', workers=workers)
    assert [test.message for test in record.tests] == [None] * 8
    assert record.servers[0].restarts == 0


def test_a_call_that_is_under_way_when_its_session_ends_with_404_gets_its_answer(
    record_of: RecordOf, forgetful: str
) -> None:
    """The next test opens another session while the server still works on the call."""
    rows = "".join(
        f"""
  - {{ name: {tool}, tool: {tool}, expect: [{{ target: {target}, matcher: {{ exact: {value} }} }}] }}"""
        for tool, target, value in (
            ("late", '"result.content[0].text"', "late"),
            ("gone", "http.status", "404"),
            ("after", '"result.content[0].text"', "after"),
        )
    )
    record = record_of(f'servers: {{ s: {{ url: "{forgetful}/mcp" }} }}\ntools:{rows}', workers=2)
    assert [test.message for test in record.tests] == [None] * 3
    assert len(record.tests[0].attempts) == 0


def test_a_refused_call_passes_when_its_status_is_what_is_expected(record_of: RecordOf, echo: str) -> None:
    """ "Rejects a call without a token": in the call, and where already the session cannot be opened."""
    record = record_of(f"""
servers: {{ call: {{ url: "{echo}/status/403" }}, opening: {{ url: "{echo}/bearer/right" }} }}
tools:
  - name: in the call
    server: call
    tool: look
    expect: [{{ target: http.status, matcher: {{ exact: 403 }} }}]
  - name: at the opening
    server: opening
    tool: look
    expect:
      - {{ target: http.status, matcher: {{ exact: 401 }} }}
      - {{ target: 'http.headers["www-authenticate"]', matcher: {{ contains: "realm=" }} }}
""")
    assert [(test.verdict, test.message) for test in record.tests] == [("pass", None)] * 2
    assert record.exit_code == 0
    for test, status in zip(record.tests, (403, 401), strict=True):
        assert test.output is not None
        assert test.output["http"]["status"] == status
    assert record_fault(json.loads(json.dumps(record.to_json()))) is None


def test_a_refusal_that_was_not_expected_is_told_first_and_what_failed_by_it_after(
    record_of: RecordOf, echo: str
) -> None:
    """The failure is the refusal's; the rows say what was expected."""
    record = record_of(f"""
servers: {{ s: {{ url: "{echo}/plain401" }} }}
tools:
  - name: n
    tool: look
    expect: [{{ target: http.status, matcher: {{ exact: 200 }} }}]
  - {{ name: unasserted, tool: look }}
""")
    test, unasserted = record.tests
    assert test.failure is not None
    assert unasserted.failure is not None
    assert test.failure.kind == unasserted.failure.kind == "auth"
    assert (len(test.assertions), len(unasserted.assertions)) == (1, 0)
    assert unasserted.output is not None
    assert unasserted.output["http"]["status"] == 401
    lines = render("pretty", record).text.splitlines()
    first = next(number for number, line in enumerate(lines) if "401" in line)
    assert "assertion 1" not in lines[first]
    assert any(
        "assertion 1, line 6 (`http.status`) failed: expected `200`, got `401`" in line for line in lines[first:]
    )


def test_a_status_that_holds_of_success_as_well_makes_no_error_green(record_of: RecordOf, echo: str) -> None:
    """Neither a page with HTTP 500 nor a JSON-RPC error with HTTP 400 is what such a test asks for."""
    wide = "[{ target: http.status, matcher: { lt: 600 } }]"
    narrow = "[{ target: http.status, matcher: { gte: 400 } }]"
    scored = "[{ target: http.status, matcher: { gte: 400 } }, { target: http.status, matcher: { lt: 400 } }]"
    record = record_of(f"""
servers: {{ page: {{ url: "{echo}/status/500" }}, refusing: {{ url: "{echo}/rpc-error" }} }}
tools:
  - {{ name: page, server: page, tool: look, expect: {wide} }}
  - {{ name: error, server: refusing, tool: look, expect: {wide} }}
  - {{ name: page of a success, server: page, tool: look, outcome: success, expect: {narrow} }}
  - {{ name: error of a success, server: refusing, tool: look, outcome: success, expect: {narrow} }}
  - {{ name: either status, server: refusing, tool: look, threshold: 0.5, expect: {scored} }}
  - {{ name: page wanted, server: page, tool: look, expect: {narrow} }}
  - {{ name: error wanted, server: refusing, tool: look, expect: {narrow} }}
""")
    assert [(test.name, test.verdict) for test in record.tests] == [
        *((name, "fail") for name in ("page", "error", "page of a success", "error of a success", "either status")),
        *((name, "pass") for name in ("page wanted", "error wanted")),
    ]


@pytest.mark.parametrize(("said", "verdict"), [("success", "pass"), ("error", "fail")])
def test_what_defaulttest_says_of_the_outcome_comes_after_an_expected_status(
    record_of: RecordOf, echo: str, said: str, verdict: str
) -> None:
    """A status that only an error has comes first; one that any answer has does not."""
    record = record_of(f"""
defaultTest: {{ outcome: {said} }}
servers: {{ refusing: {{ url: "{echo}/status/403" }}, fine: {{ url: "{echo}/json" }} }}
tools:
  - {{ name: refused, server: refusing, tool: look, expect: [{{ target: http.status, matcher: {{ exact: 403 }} }}] }}
  - {{ name: fine, server: fine, tool: look, expect: [{{ target: http.status, matcher: {{ lt: 600 }} }}] }}
""")
    assert [test.verdict for test in record.tests] == ["pass", verdict]


def test_what_http_told_is_kept_without_what_it_must_not_show(record_of: RecordOf, late: str) -> None:
    """Status, headers and body of a refusal are in the record; cookies and the session's id are credentials."""
    record = record_of(f"""
servers: {{ s: {{ url: "{late}/mcp" }} }}
tools:
  - {{ name: locked, tool: locked }}
  - name: open
    tool: open
    expect: [{{ target: 'http.headers["mcp-session-id"]', matcher: {{ exact: s-1 }} }}]
""")
    locked, opened = record.tests
    assert locked.output is not None
    assert locked.output["http"]["status"] == 403
    assert locked.output["http"]["headers"]["set-cookie"] == "[REDACTED]"
    assert "the door is locked" in locked.output["http"]["body"]
    assert opened.verdict == "pass"
    assert opened.output is not None
    assert opened.output["http"]["headers"]["mcp-session-id"] == "[REDACTED]"
    assert "abc123def456" not in json.dumps(record.to_json())


def test_what_comes_on_another_stream_is_waited_for(
    record_of: RecordOf, late: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """basic/transports#listening-for-messages-from-the-server: the answer may be here first."""
    suite = f"""
servers: {{ s: {{ url: "{late}/mcp" }} }}
tools:
  - name: first
    tool: first
    expect: [{{ target: "notifications[0].params.data", matcher: {{ exact: first }} }}]
  - name: second
    tool: balance
    verify: [{{ tool: second, expect: [{{ target: "notifications[-1].params.data", matcher: {{ exact: second }} }}] }}]
"""
    for seconds in longer(0.25):
        monkeypatch.setattr("mcptest_engine.running.calling.SETTLING_SECONDS", seconds)
        record = record_of(suite)
        if record.exit_code == 0:  # else it was on its way for longer than it is waited for
            break
    assert [(test.verdict, test.message) for test in record.tests] == [("pass", None)] * 2


@pytest.mark.parametrize("fault", ["drop_response", "disconnect"])
def test_an_answer_over_http_is_lost_and_the_session_goes_on(record_of: RecordOf, echo: str, fault: str) -> None:
    """The server of this path knows one session only."""
    record = record_of(f"""
servers: {{ s: {{ url: "{echo}/session" }} }}
tools:
  - name: n
    tool: look
    fault: {fault}
    retries: 1
    expect: [{{ target: attempt, matcher: {{ exact: 2 }} }}, {{ target: http.status, matcher: {{ exact: 200 }} }}]
    verify: [{{ tool: look }}]
""")
    (test,) = record.tests
    assert (test.verdict, test.message) == ("pass", None)
    assert [attempt.verdict for attempt in test.attempts] == ["inconclusive", "pass"]


def test_a_server_that_is_not_ready_in_time_ends_the_run_with_its_own_exit_code(record_of: RecordOf) -> None:
    """Exit code 3, and every report says which server was waited for."""
    record = record_of("""
servers: { s: { url: "http://127.0.0.1:1/mcp", wait_for_ready: 50ms } }
tools: [{ name: n, tool: look }]
""")
    assert (record.exit_code, record.verdict) == (3, "fail")
    assert record.tests[0].failure is not None
    assert record.tests[0].failure.kind == "server"
    for name in ("pretty", "agent", "junit", "tap", "md", "github", "minimal"):
        assert "not ready: server" in render(name, record).text, name
