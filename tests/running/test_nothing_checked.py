"""A run in which nothing was checked says so, and does not pass for a run that was."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcptest_engine.core.enums import Verdict
from mcptest_engine.core.errors import ExitCode, RecordError
from mcptest_engine.reporting.merge import merge_records
from mcptest_engine.reporting.record_schema import record_fault
from mcptest_engine.reporting.registry import render
from mcptest_engine.running.settings import Selection

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_engine.core.run_record import RunRecord

    RecordOf = Callable[..., RunRecord]

SERVER = json.dumps([sys.executable, "-S", str(Path(__file__).parent.parent / "servers" / "echo.py")])
HEAD = f"servers: {{ s: {{ command: {SERVER} }} }}\n"
SEEN = '[{ target: "result.content[0].text", matcher: { contains: hello } }]'
JUDGED = '[{ target: "result.content[0].text", matcher: { llm-judge: { rubric: it greets } } }]'
SKIPPED = f"""{HEAD}tools:
  - {{ name: a, tool: echo, args: {{ text: hello }}, expect: {SEEN}, skip: needs the staging database }}
  - {{ name: b, tool: echo, args: {{ text: hello }}, expect: {SEEN}, skip: needs the staging database }}
"""
DEFERRED = f"""{HEAD}tools:
  - {{ name: a, tool: echo, args: {{ text: hello }}, expect: {JUDGED} }}
"""
HOOK = json.dumps({"mode": "context", "command": 'echo \'{"skip": {"reason": "no database here"}}\''})
HOOKED = f"""{HEAD}hooks:
  beforeAll:
    - {HOOK}
tools:
  - {{ name: a, tool: echo, args: {{ text: hello }}, expect: {SEEN} }}
"""


def test_a_suite_that_skips_every_test_has_checked_nothing(record_of: RecordOf) -> None:
    record = record_of(SKIPPED)
    assert (record.exit_code, record.verdict) == (ExitCode.NO_TESTS, Verdict.FAIL)
    told = "nothing was checked: 2 tests skipped: needs the staging database"
    for reporter in ("pretty", "minimal", "md", "github", "html"):
        assert f"{told}; 0 passed" in render(reporter, record).stdout, reporter
    for line in ("TAP version 14", "1..2"):
        assert line in render("tap", record).stdout.splitlines()[:2]
    assert render("tap", record).stdout.splitlines()[2] == f"# {told}"
    assert f'<property name="mcptest.unchecked" value="{told}"/>' in render("junit", record).stdout
    assert json.loads(render("json", record).stdout)["unchecked"] == told
    assert record_fault(json.loads(render("json", record).stdout)) is None
    assert json.loads(render("ndjson", record).stdout.splitlines()[-1])["unchecked"] == told
    (invocation,) = json.loads(render("sarif", record).stdout)["runs"][0]["invocations"]
    assert told in [notice["message"]["text"] for notice in invocation["toolExecutionNotifications"]]
    assert told in json.loads(render("gitlab", record).stdout)[0]["description"]
    assert json.dumps(told)[1:-1] in render("openinference", record).stdout
    verdict, _, note = render("agent", record).stdout.splitlines()[:3]
    assert verdict.startswith("VERDICT fail 0/2 passed")
    assert note == f"NOTE {told}"


def test_shards_of_a_suite_that_skips_every_test_have_checked_nothing_together(record_of: RecordOf) -> None:
    """The batches of a cluster are merged so as well. What a hook skips, passes."""
    shards = [record_of(SKIPPED, selection=Selection(shard=(number, 2))) for number in (1, 2)]
    merged = merge_records(shards)
    assert (merged.exit_code, merged.verdict) == (ExitCode.NO_TESTS, Verdict.FAIL)
    assert merge_records([record_of(HOOKED, selection=Selection(shard=(1, 1)))]).exit_code == ExitCode.PASSED


def test_shards_of_different_filters_are_not_the_parts_of_one_run(record_of: RecordOf) -> None:
    one, other, empty = (
        record_of(SKIPPED, selection=Selection(shard=(number, 2), filter=name))
        for number, name in ((1, "a"), (2, "b"), (2, "c"))
    )
    with pytest.raises(RecordError, match="different selections of tests"):
        merge_records([one, other])
    told = render("pretty", empty).stdout
    assert ("the selection matched no test" in told, "has no test" in told) == (True, False)
    assert record_fault(json.loads(render("json", one).stdout)) is None


def test_one_test_that_runs_is_enough(record_of: RecordOf) -> None:
    more = f"  - {{ name: c, tool: echo, args: {{ text: hello }}, expect: {SEEN} }}\n"
    record = record_of(SKIPPED + more)
    assert (record.exit_code, record.verdict) == (ExitCode.PASSED, Verdict.PASS)
    assert "nothing was checked" not in render("pretty", record).stdout
    alone = record_of(SKIPPED + more, selection=Selection(filter="a"))
    assert alone.exit_code == ExitCode.NO_TESTS


def test_what_waits_for_a_key_or_is_skipped_by_a_hook_passes_and_says_so(record_of: RecordOf) -> None:
    deferred, hooked = record_of(DEFERRED), record_of(HOOKED)
    assert [record.exit_code for record in (deferred, hooked)] == [ExitCode.PASSED, ExitCode.PASSED]
    assert "nothing was checked: 1 test inconclusive: " in render("pretty", deferred).stdout
    assert "nothing was checked: 1 test skipped: " in render("pretty", hooked).stdout
    for record in (deferred, hooked):
        told = json.loads(render("json", record).stdout)["unchecked"]
        assert told in json.loads(render("gitlab", record).stdout)[0]["description"]
    assert "no database here" in render("agent", hooked).stdout.splitlines()[1]


@pytest.mark.parametrize(
    ("text", "verdict", "told"),
    [
        (DEFERRED, Verdict.INCONCLUSIVE, "1 inconclusive test fails the run (--fail-on-inconclusive)"),
        (SKIPPED, Verdict.SKIP, "2 skipped tests fail the run (--fail-on-skipped)"),
    ],
)
def test_a_run_may_be_told_to_fail_on_them(record_of: RecordOf, text: str, verdict: Verdict, told: str) -> None:
    record = record_of(text, fail_on=(verdict,))
    assert (record.exit_code, record.verdict) == (ExitCode.FAILED, Verdict.FAIL)
    assert told in record.warnings


def test_a_merge_comes_to_what_the_whole_run_would(record_of: RecordOf) -> None:
    tests = "".join(f"  - {{ name: t{at}, tool: echo, args: {{ text: hello }}, expect: {SEEN} }}\n" for at in range(8))
    good = [record_of(f"{HEAD}tools:\n{tests}", selection=Selection(shard=(at, 2))) for at in (1, 2)]
    assert merge_records(good).exit_code == ExitCode.PASSED
    assert merge_records(good[:1]).exit_code == ExitCode.GATE
    assert merge_records(good[:1], allow_missing=True).exit_code == ExitCode.PASSED
    bad = tests.replace("hello", "bye", 1)
    parts = [record_of(f"{HEAD}tools:\n{bad}", selection=Selection(shard=(at, 2))) for at in (1, 2)]
    assert merge_records(parts).exit_code == ExitCode.FAILED
