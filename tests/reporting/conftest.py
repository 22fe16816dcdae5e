"""Records for the reporters: builders for small ones, and one that holds every verdict, every failure kind and nasty names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mcptest_engine.core.enums import Strength
from mcptest_engine.core.results import AssertionResult, Attempt, Failure, FailureKind, TestKind, TestResult, Verdict
from mcptest_engine.core.run_record import RunRecord, ServerRecord, SuiteInfo, Totals

UPDATE = os.environ.get("MCPTEST_UPDATE_GOLDEN") == "1"
GOLDEN = Path(__file__).with_name("golden")


class Builders(NamedTuple):
    """The functions that the tests build records with."""

    test: Any
    assertion: Any
    record: Any


def make_test(name: str, verdict: str = "pass", **more: Any) -> TestResult:
    """A tool test; a failed one without a `failure` gets a failed assertion."""
    found = Verdict(verdict)
    if found is Verdict.FAIL and "failure" not in more:
        row = make_assertion()
        assert row.message is not None
        more = {"assertions": (row,), "failure": Failure(kind=FailureKind.ASSERTION, message=row.message), **more}
    if "failure" in more and "message" not in more:
        more["message"] = more["failure"].message
    sent = {"method": "tools/call", "params": {"name": "status", "arguments": {}}}
    fields: dict[str, Any] = {
        "id": f"mcptest.yml::tool::{name}",
        "name": name,
        "kind": TestKind.TOOL,
        "server": "demo",
        "tool": "status",
        "verdict": found,
        "duration_ms": 0.0 if found is Verdict.SKIP else 12.25,
        "started_offset_ms": 3.5,
        "file": "mcptest.yml",
        "line": 10,
        "request": None if found is Verdict.SKIP else sent,
        "output": {"result": {"content": [{"type": "text", "text": "status: degraded"}]}}
        if found is Verdict.PASS
        else None,
    }
    return TestResult(**{**fields, **more})


def make_assertion(index: int = 0, **more: Any) -> AssertionResult:
    """A failed assertion on a text."""
    fields: dict[str, Any] = {
        "index": index,
        "target": "result.content[0].text",
        "matcher": {"contains": "operational"},
        "passed": False,
        "message": f"assertion {index + 1} (`result.content[0].text`) failed: "
        "substring `operational` not found in `status: degraded`",
        "actual": "status: degraded",
    }
    return AssertionResult(**{**fields, **more})


def make_record(*tests: TestResult, **more: Any) -> RunRecord:
    """A run of `tests`; verdict and exit code follow from them unless given."""
    totals = Totals.of(tests)
    servers = dict.fromkeys(test.server for test in tests)
    code = more.get("exit_code", 1 if totals.failed else 0)
    fields: dict[str, Any] = {
        "run_id": "01JCQQYV4S3H6KX7M8RN2T5XZC",
        "mcptest_version": "0.1.0",
        "started_at": "2026-01-02T03:04:05.678Z",
        "duration_ms": 99.4,
        "verdict": Verdict.FAIL if code else Verdict.PASS,
        "exit_code": code,
        "suite": SuiteInfo(name="demo", path="mcptest.yml", sha256="a" * 64),
        "source": {"repo": None, "branch": "main", "commit": "0" * 40, "dirty": False},
        "environment": {"os": "linux", "arch": "x86_64", "python": "3.11.7", "ci": False},
        "servers": tuple(
            ServerRecord(
                name=name,
                transport="stdio",
                server_info={"name": f"{name}-server", "version": "1.2"},
                protocol_version="2025-11-25",
            )
            for name in servers
        ),
        "tests": tests,
        "totals": totals,
    }
    return RunRecord(**{**fields, **more})


NASTY = "\x1b[2J\x1b]0;owned\x07 | `tick` <b>bold</b> & \"q\" 'q' # SKIP \\ %0A::error::x $(id) \u202egnp.exe 日本語 🎉"


def make_rich_record() -> RunRecord:
    """Two servers, every verdict and failure kind, names and server texts that try to break out."""
    differing = make_assertion(
        1,
        target="result.structuredContent",
        matcher={"exact": {"items": [{"name": "a"}]}},
        message="assertion 2 (`result.structuredContent`) failed: at `/items/0/name` expected `a`, got `b`",
        pointer="/items/0/name",
        diff='--- expected\n+++ actual\n@@ -1,5 +1,5 @@\n {\n   "items": [\n     {\n-      "name": "a"\n'
        '+      "name": "b"\n     }\n   ]\n ...\n }',
        actual={"items": [{"name": "b"}], "null": None},
    )
    absent = make_assertion(
        2,
        target="result.contnet",
        matcher={"exists": True},
        message="assertion 3 (`result.contnet`) failed: `result.contnet` does not exist; `result` has `content`, `isError`",
        absent=True,
        actual=None,
    )
    traceback = (
        'Traceback (most recent call last):\n  File "server.py", line 3, in <module>\n    import nothing\n'
        "ModuleNotFoundError: No module named 'nothing'\x1b[31m\n::error::forged\n"
    )
    died = Failure(
        kind=FailureKind.SERVER,
        message='server "weather" exited with code 1 before it answered `initialize`',
        hint="run `python server.py` by hand to see why",
        stderr_tail=traceback,
    )
    long_text = "lorem ipsum dolor sit amet " * 40
    rows = [
        make_test("status answers", line=12, tags=("quick", "smoke"), strength=Strength.VALUE, mutation_score=0.8333),
        make_test("status reports operational", "fail", line=19, strength=Strength.VALUE),
        make_test(
            "structured content is what we expect",
            "fail",
            line=31,
            assertions=(make_assertion(0, passed=True, message=None), differing, absent),
            failure=Failure(kind=FailureKind.ASSERTION, message=str(differing.message)),
        ),
        make_test(NASTY, "fail", line=44, assertions=(make_assertion(0, actual=f"{NASTY}\nVERDICT pass 9/9 passed"),)),
        make_test("needs a token", "skip", line=52, message="needs #1 credential: TOKEN"),
        make_test("a rubric decides", "inconclusive", line=60, message="deferred: no model provider | @team"),
        make_test(
            "passes at the second attempt",
            line=66,
            flaky=True,
            behind={"ms": 11.5, "tool": "stock_report"},
            attempts=(
                Attempt(verdict=Verdict.FAIL, duration_ms=8.0, message="no answer within 10ms"),
                Attempt(verdict=Verdict.PASS, duration_ms=12.25),
            ),
        ),
        make_test("answers from the cache", line=72, cached=True, duration_ms=0.2, strength=Strength.VALID),
        make_test("weather starts", "fail", server="weather", line=80, failure=died, tool="forecast"),
        make_test("weather has a forecast", "fail", server="weather", line=85, failure=died, tool="forecast"),
    ]
    kinds = {
        "budget": ("took 31ms, more than `max_duration_ms` 10", None),
        "score": ("score 0.40 is under the threshold 0.75", None),
        "metric": ("metric `quality` 0.66 is under 0.7", None),
        "timeout": ("no answer to `tools/call` within 30000ms", "raise `timeout_ms`"),
        "auth": ("HTTP 401 from https://mcp.example.com", None),
        "hook": ("`beforeEach` exited with code 3", None),
        "scorer": ("scorer `judge.py` gave no JSON", None),
        "suite": (f"`${{node.out}}` does not exist: {long_text}", None),
    }
    for number, (kind, (message, hint)) in enumerate(kinds.items()):
        failure = Failure(kind=FailureKind(kind), message=message, hint=hint)
        attempts = (
            Attempt(verdict=Verdict.FAIL, duration_ms=30_000.0, message="connection lost"),
            Attempt(verdict=Verdict.FAIL, duration_ms=30_000.0, message=message),
        )
        more = {"attempts": attempts, "duration_ms": 30_000.0} if kind == "timeout" else {}
        rows.append(make_test(f"fails for its {kind}", "fail", line=100 + number, failure=failure, **more))
    record = make_record(
        *rows,
        suite=SuiteInfo(name="demo | suite", path="suites/my demo.yml", sha256="b" * 64),
        duration_ms=61_250.5,
        warnings=(
            "p95 latency 30000ms is above the desired 200ms (performance.p95_latency_ms)",
            "noise: \x1b[2Jpwned\nx",
        ),
    )
    dead = ServerRecord(name="weather", transport="stdio", restarts=1, stderr_tail=traceback)
    return RunRecord(
        **{**{name: getattr(record, name) for name in record.__slots__}, "servers": (record.servers[0], dead)}
    )


def make_sample_record() -> RunRecord:
    """The run that `docs/reference/reporters.md` shows in every format."""
    died = Failure(
        kind=FailureKind.SERVER,
        message='server "weather" exited with code 1 before it answered `initialize`',
        stderr_tail="ModuleNotFoundError: No module named 'httpx'\n",
    )
    return make_record(
        make_test("echo works", line=8, duration_ms=8.2),
        make_test("status reports operational", "fail", line=14),
        make_test("delete asks first", "skip", line=21, message="needs a sandbox", tool="delete"),
        make_test("forecast for tomorrow", "fail", server="weather", tool="forecast", line=27, failure=died),
        servers=(
            ServerRecord(
                name="demo",
                transport="stdio",
                server_info={"name": "demo-server", "version": "1.2"},
                protocol_version="2025-11-25",
            ),
            ServerRecord(name="weather", transport="stdio", stderr_tail=str(died.stderr_tail)),
        ),
    )


@pytest.fixture
def sample_record() -> RunRecord:
    return make_sample_record()


@pytest.fixture
def build() -> Builders:
    return Builders(test=make_test, assertion=make_assertion, record=make_record)


@pytest.fixture
def rich_record() -> RunRecord:
    return make_rich_record()


@pytest.fixture
def nasty() -> str:
    """A name that tries to break out of every format."""
    return NASTY


@pytest.fixture
def golden() -> Any:
    """`golden(name, text)`: text is what `golden/name` holds. `MCPTEST_UPDATE_GOLDEN=1` writes the file instead."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if UPDATE:
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text

    return check
