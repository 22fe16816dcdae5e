"""GitHub Actions: annotations at the suite's lines, in the escapes of workflow commands."""

from __future__ import annotations

from mcptest_engine.core.results import Attempt, Failure, FailureKind, Verdict
from mcptest_engine.reporting.registry import render


def lines(record):
    return render("github", record).stdout.splitlines()


def test_a_failure_is_an_error_at_the_line_of_its_test(build):
    """GitHub workflow commands: `::error file=…,line=…,title=…::message`."""
    failure = Failure(kind=FailureKind.TIMEOUT, message="no answer within 30000ms")
    found, _ = lines(build.record(build.test("a", "fail", file="suites/a.yml", line=7, failure=failure)))
    assert found == (
        '::error file=suites/a.yml,line=7,title=a::no answer within 30000ms%0Arepro: mcptest run --filter "a"'
    )


def test_properties_and_messages_are_escaped_as_the_runner_reads_them(build):
    """`%`, CR and LF in a message; `:` and `,` in a property besides."""
    failure = Failure(kind=FailureKind.SERVER, message="50% of: a, b")
    found, _ = lines(build.record(build.test("a: 5%, b", "fail", failure=failure)))
    assert ",title=a%3A 5%25%2C b::50%25 of: a, b%0A" in found


def test_what_is_doubtful_is_a_warning(build):
    """Inconclusive and flaky tests."""
    attempts = (Attempt(verdict=Verdict.FAIL, duration_ms=1.0), Attempt(verdict=Verdict.PASS, duration_ms=1.0))
    found = lines(
        build.record(
            build.test("a", "inconclusive", message="no model", line=3),
            build.test("b", flaky=True, attempts=attempts, line=4),
            build.test("c"),
        )
    )
    assert found == [
        "::warning file=mcptest.yml,line=3,title=a::inconclusive: no model",
        "::warning file=mcptest.yml,line=4,title=b::flaky: passed at attempt 2",
        "mcptest: 2 passed, 0 failed, 1 inconclusive, 1 flaky in 99ms",
    ]


def test_no_server_text_begins_a_line(rich_record):
    """Every line is a command of ours or the sums: a server cannot issue a workflow command."""
    assert all(line.startswith(("::error ", "::warning ", "mcptest: ")) for line in lines(rich_record))
