"""`pretty`: what a person reads."""

from __future__ import annotations

import re
from dataclasses import replace

from mcptest_engine.core.results import Failure, FailureKind
from mcptest_engine.core.run_record import SuiteRun
from mcptest_engine.reporting.layout import columns
from mcptest_engine.reporting.registry import RenderOptions, render


def pretty(record, **options):
    return render("pretty", record, RenderOptions(**options)).stdout


def test_a_small_run_reads_like_this(build):
    """The whole report of one failure among two tests."""
    record = build.record(build.test("echo works", duration_ms=8), build.test("status is fine", "fail", line=19))
    assert pretty(record) == (
        "  PASS  echo works      (8ms)\n"
        "  FAIL  status is fine  (12ms)\n"
        "\n"
        "  1) status is fine\n"
        "     mcptest.yml:19\n"
        "     assertion 1 (`result.content[0].text`) failed: "
        "substring `operational` not found in `status: degraded`\n"
        '     repro: mcptest run --filter "status is fine"\n'
        "\n"
        "1 passed, 1 failed, 0 inconclusive in 99ms\n"
    )


def test_without_a_test_there_is_only_the_sum(build):
    """An empty shard."""
    assert pretty(build.record()) == "0 passed, 0 failed, 0 inconclusive in 99ms\n"


def test_rare_verdicts_are_counted_where_there_are_any(build):
    """upstream: `, N inconclusive` when present."""
    record = build.record(build.test("a", "skip"), build.test("b", "inconclusive"), build.test("c", flaky=True))
    assert pretty(record).endswith("\n1 passed, 0 failed, 1 inconclusive, 1 skipped, 1 flaky in 99ms\n")


def test_tests_are_grouped_by_server_only_where_there_are_several(build):
    """Declared order inside a group."""
    several = build.record(build.test("a"), build.test("b", server="other"), build.test("c"))
    assert pretty(several).splitlines()[:6] == [
        "  demo",
        "  PASS  a  (12ms)",
        "  PASS  c  (12ms)",
        "",
        "  other",
        "  PASS  b  (12ms)",
    ]


def test_a_servers_last_words_are_told_once(build):
    """Forty tests that one dead server ended need one traceback."""
    failure = Failure(kind=FailureKind.SERVER, message="died", stderr_tail="Traceback\n  boom\n")
    text = pretty(build.record(*[build.test(f"t{n}", "fail", failure=failure) for n in range(40)]))
    assert text.count("boom") == 1
    assert text.count("stderr of demo: as under 1)") == 39


def test_no_line_of_a_servers_stands_at_the_beginning_of_ours(build):
    """A CI log takes `::error::` at a line's start for a command."""
    failure = Failure(kind=FailureKind.SERVER, message="died\n::error::x", stderr_tail="::error::y\n  PASS  z\n")
    text = pretty(build.record(build.test("a", "fail", failure=failure)))
    assert not [line for line in text.splitlines() if line.strip().startswith(("::", "PASS"))]


def test_the_slowest_are_told_where_some_stand_out(build):
    """Enough tests to compare, more than 100 ms, and twice the middle."""
    quick = [build.test(f"quick {n}", duration_ms=5) for n in range(6)]
    slow = [build.test(f"slow {n}", duration_ms=200.0 + n) for n in range(4)]
    told = pretty(build.record(*quick, *slow))
    assert told.split("slowest\n")[1].splitlines()[:3] == [
        "    203ms  slow 3",
        "    202ms  slow 2",
        "    201ms  slow 1",
    ]
    one = build.record(*quick, *slow)
    assert slow[3].id.startswith("mcptest.yml::")
    ended = {"sha256": "", "run_id": "", "verdict": "pass", "exit_code": 0, "duration_ms": 1.0, "totals": one.totals}
    suites = tuple(SuiteRun(name=name, path=name, **ended) for name in ("mcptest.yml", "other.yml"))
    assert "slowest\n    203ms  slow 3  (mcptest.yml)\n" in pretty(replace(one, suites=suites))
    assert "slowest" not in pretty(build.record(*quick))
    assert "slowest" not in pretty(build.record(*slow))
    assert "slowest" not in pretty(build.record(*[build.test(f"even {n}", duration_ms=150) for n in range(9)]))


def test_on_a_terminal_only_what_is_to_be_copied_is_wider_than_it(rich_record):
    """Folded lines; a repro line stands whole."""
    wide = [line for line in pretty(rich_record, width=80).splitlines() if columns(line) > 80]
    assert all("repro: " in line or "$(id)" in line for line in wide)


def test_colours_change_no_word(rich_record):
    """NO_COLOR: the words stay without colours."""
    coloured = pretty(rich_record, color=True, width=80)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == pretty(rich_record, width=80)


def test_minimal_counts_on_stdout_and_names_failures_on_stderr(build):
    """upstream: one line on stdout, one `FAIL` line per failure on stderr."""
    failure = Failure(kind=FailureKind.TIMEOUT, message="no answer within 5ms")
    rendered = render("minimal", build.record(build.test("a"), build.test("b", "fail", failure=failure)))
    assert rendered.stdout == "ran 2 tests: 1 passed, 1 failed, 0 inconclusive in 99ms\n"
    assert rendered.stderr == "FAIL b: no answer within 5ms\n"
    assert rendered.text == rendered.stdout + rendered.stderr


def test_what_waited_for_another_call_is_not_among_the_slowest(build):
    """They are ranked by their own time; of one that is there its wait is said."""
    behind = {"ms": 895.0, "tool": "stock_report"}
    tests = [build.test(f"quick {n}", duration_ms=5) for n in range(6)]
    tests += [build.test(f"waits {n}", duration_ms=900.0, behind=behind) for n in range(3)]
    tests += [build.test("slow", duration_ms=890.0), build.test("slow too", duration_ms=1100.0, behind=behind)]
    assert pretty(build.record(*tests)).split("slowest\n")[1].splitlines()[:3] == [
        "    890ms  slow",
        "     1.1s  slow too  (895ms of it waiting for stock_report)",
        "",
    ]
