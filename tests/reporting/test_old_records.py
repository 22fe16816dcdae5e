"""Records that an older mcptest wrote load, render, compare and merge as ever.

`records/` holds what version 0.1.0 wrote (commit 0e6580d): one run, and the same suite in two shards. One of its tests passed
although its tool reported an error, as was the rule then.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mcptest_engine.core.results import Failure, FailureKind, Verdict, VerifyResult
from mcptest_engine.core.run_record import RunRecord
from mcptest_engine.reporting.compare import compare_runs
from mcptest_engine.reporting.facts import failed_server, reasons
from mcptest_engine.reporting.merge import merge_records
from mcptest_engine.reporting.record_schema import record_fault
from mcptest_engine.reporting.registry import FORMATS, render

RECORDS = Path(__file__).parent / "records"


def read(name: str) -> RunRecord:
    data = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
    assert record_fault(data) is None
    record = RunRecord.from_json(data)
    assert record.to_json() == data
    return record


@pytest.mark.parametrize("name", FORMATS)
def test_a_record_of_0_1_renders_with_the_verdicts_that_it_had(name: str) -> None:
    record = read("0.1")
    assert "sun" in render(name, record).text
    assert [test.verdict.value for test in record.tests] == [
        "pass",
        "fail",
        "pass",
        "skip",
        "pass",
        "pass",
        "inconclusive",
    ]


def test_a_record_of_0_1_compares_with_one_that_fails_on_a_tools_error_now() -> None:
    before = read("0.1")
    failed = (replace(test, verdict=Verdict.FAIL) if "error" in test.name else test for test in before.tests)
    compared = compare_runs(before, before.with_tests(tuple(failed)))
    assert [pair.either.name for pair in compared.newly_failing] == ["an error was a pass"]
    assert [pair.either.name for pair in compared.still_failing] == ["sun"]
    assert (compared.notes, compared.fixed, compared.new, compared.gone) == ((), (), (), ())


def test_shards_of_0_1_that_ran_nothing_exit_as_each_of_them_did() -> None:
    """Their records do not say whether the suite skips a test or the policy kept it from being run."""
    shards = [read("0.1-shard-1"), read("0.1-shard-2")]
    skipped = [
        replace(
            shard.with_tests(tuple(replace(test, verdict=Verdict.SKIP, failure=None) for test in shard.tests)),
            exit_code=0,
        )
        for shard in shards
    ]
    assert merge_records(skipped).exit_code == 0


def test_shards_of_0_1_merge_into_the_whole_run() -> None:
    whole, merged = read("0.1"), merge_records([read("0.1-shard-1"), read("0.1-shard-2")])
    assert {test.id: test.verdict for test in merged.tests} == {test.id: test.verdict for test in whole.tests}
    assert (merged.exit_code, merged.verdict, merged.totals) == (whole.exit_code, whole.verdict, whole.totals)


def test_a_step_that_failed_is_told_once_in_a_record_without_the_parts_of_messages(build) -> None:
    """Its words are the whole message, and the server is the step's."""
    row = build.assertion()
    words = Failure(kind=FailureKind.ASSERTION, message=str(row.message))
    step = VerifyResult(
        index=0,
        name="stock",
        server="other",
        tool="stock",
        verdict=Verdict.FAIL,
        duration_ms=1.0,
        message=row.message,
        failure=words,
        assertions=(row,),
    )
    test = build.test("a", "fail", failure=replace(words, message=step.summary), assertions=(), verify=(step,))
    assert [reason.text for reason in reasons(test)] == [f"verify step 1 (stock): {row.message}"]
    assert failed_server(test) == "other"
