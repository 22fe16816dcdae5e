"""Hooks that failed, in every report: each once, with the end of what it wrote."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from junitparser import JUnitXml
from lxml import etree

from mcptest_engine.core.events import HookFinished, HookStarted, RunStarted
from mcptest_engine.core.results import Failure, FailureKind
from mcptest_engine.core.run_record import HookResult, RunRecord, SuiteInfo
from mcptest_engine.reporting.layout import Ink
from mcptest_engine.reporting.merge import merge_records
from mcptest_engine.reporting.progress import ProgressView
from mcptest_engine.reporting.record_schema import record_fault, record_schema
from mcptest_engine.reporting.registry import FORMATS, RenderOptions, render

TRACEBACK = "".join(f"line {number}\n" for number in range(1, 31)) + "\x1b[31mno database\n"


def hook(phase: str, **more: object) -> HookResult:
    fields = {"command": f"./{phase}.sh", "passed": True, "exit_code": 0, "duration_ms": 1.5, "started_offset_ms": 2.0}
    return HookResult(phase=phase, **{**fields, **more})  # type: ignore[arg-type]


def failed(phase: str, **more: object) -> HookResult:
    return hook(phase, **{"passed": False, "exit_code": 3, "message": "exited with 3", "output": TRACEBACK, **more})


def kept(build, name: str, phase: str = "beforeAll"):
    failure = Failure(kind=FailureKind.HOOK, message=f"{phase} failed: ./{phase}.sh exited with 3")
    return build.test(name, "fail", failure=failure, request=None, duration_ms=0.0)


@pytest.fixture
def no_setup(build) -> RunRecord:
    """A run of 50 tests whose `beforeAll` failed."""
    tests = [kept(build, f"t{number}") for number in range(50)]
    return build.record(*tests, hooks=(failed("beforeAll"), hook("afterAll")))


@pytest.fixture
def around(build) -> RunRecord:
    """A `beforeEach` that failed once, an `afterEach` that failed twice alike, and an `afterAll` that was killed."""
    one, two = kept(build, "one", "beforeEach"), build.test("two")
    hooks = (
        failed("beforeEach", test=one.id, output="wrong\n"),
        *(failed("afterEach", test=test.id, output="") for test in (one, two)),
        failed("afterAll", exit_code=None, message="took longer than 60 s and was killed", output="so far\n"),
    )
    told = (
        "one: afterEach failed: ./afterEach.sh exited with 3",
        "two: afterEach failed: ./afterEach.sh exited with 3",
    )
    last = "afterAll failed: ./afterAll.sh took longer than 60 s and was killed"
    return build.record(one, two, hooks=hooks, warnings=(*told, last, "something else"))


@pytest.mark.parametrize("format_", [name for name in FORMATS if name not in {"json", "ndjson", "html", "minimal"}])
def test_what_a_failed_before_all_wrote_is_shown_once(format_: str, no_setup: RunRecord) -> None:
    """One readable reason, not a hundred copies of a traceback; and no escape sequence of it."""
    text = render(format_, no_setup, RenderOptions(agent_budget=100_000)).stdout
    assert text.count("no database") == 1
    assert "line 30" in text
    assert "line 18" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize("format_", ["pretty", "md", "github"])
def test_the_tests_that_it_kept_from_running_have_no_copy_of_the_reason(format_: str, no_setup: RunRecord) -> None:
    """The hook's own block says how many there are."""
    text = render(format_, no_setup).stdout
    assert text.count("beforeAll failed: ./beforeAll.sh exited with 3 (50 tests not run)") == 1
    assert text.count("beforeAll failed") == 1


def test_an_agent_gets_the_output_in_the_reason(no_setup: RunRecord) -> None:
    """One line, and each failure still has its block, as far as the budget goes."""
    first, reason, *rest = render("agent", no_setup, RenderOptions(agent_budget=100_000)).stdout.splitlines()
    assert first.startswith("VERDICT fail 0/50 passed (50 failed")
    assert reason.startswith("REASON beforeAll failed: ./beforeAll.sh exited with 3; output: ")
    assert reason.endswith("no database")
    assert rest[:3] == [
        "FAIL t0",
        "assert: beforeAll failed: ./beforeAll.sh exited with 3",
        'repro: mcptest run --filter "t0"',
    ]
    assert len(rest) == 150


def test_an_agent_sees_what_a_before_each_wrote_as_the_actual(around: RunRecord) -> None:
    """It is why that test failed."""
    lines = render("agent", around).stdout.splitlines()
    notes = [line for line in lines if line.startswith("NOTE ")]
    assert notes == [
        "NOTE one: afterEach failed: ./afterEach.sh exited with 3",
        "NOTE two: afterEach failed: ./afterEach.sh exited with 3",
        "NOTE afterAll failed: ./afterAll.sh took longer than 60 s and was killed",
    ]
    assert lines[1 + len(notes) : 4 + len(notes)] == [
        "FAIL one",
        "assert: beforeEach failed: ./beforeEach.sh exited with 3",
        "actual: output: wrong",
    ]


def test_a_person_sees_each_failed_hook_in_a_block(around: RunRecord) -> None:
    """What failed alike is told once, and no warning says it again."""
    text = render("pretty", around).stdout
    block = text[text.index("  hooks\n") :].split("\n\n")
    assert block[0].splitlines() == [
        "  hooks",
        '     beforeEach failed: ./beforeEach.sh exited with 3 (around "one")',
        "       │ wrong",
        '     afterEach failed: ./afterEach.sh exited with 3 (around 2 tests, "one" first)',
        "     afterAll failed: ./afterAll.sh took longer than 60 s and was killed",
        "       │ so far",
    ]
    assert block[1] == "  warning: something else"
    assert "     mcptest.yml:10  (hook failure)" in text


def test_hooks_stand_in_markdown_tap_and_github(around: RunRecord) -> None:
    """Each in its own form."""
    markdown = render("md", around).stdout
    assert "### Hooks" in markdown
    assert markdown.count("<code>afterEach failed") == 1
    tap = render("tap", around).stdout.splitlines()
    assert "# afterAll failed: ./afterAll.sh took longer than 60 s and was killed" in tap
    assert tap[tap.index("# afterAll failed: ./afterAll.sh took longer than 60 s and was killed") + 1] == "#   so far"
    github = render("github", around).stdout
    assert (
        "::warning title=afterAll::afterAll failed: ./afterAll.sh took longer than 60 s and was killed%0A  so far"
        in github
    )
    assert github.count("took longer") == 1
    assert re.search(r"^::error file=.*title=one::beforeEach failed", github, re.MULTILINE)


def test_junit_has_hook_failures_as_errors(around: RunRecord, no_setup: RunRecord) -> None:
    """What was written stands with the test, and the document is as its schema says."""
    schema = etree.XMLSchema(etree.parse(str(Path(__file__).with_name("junit.xsd"))))
    for record, count in ((around, 1), (no_setup, 50)):
        text = render("junit", record).stdout
        schema.assertValid(etree.fromstring(text.encode()))
        parsed = JUnitXml.fromstring(text.encode())
        assert (parsed.errors, parsed.failures) == (count, 0)
        assert 'type="hook"' in text
        written = [case.system_err for suite in parsed for case in suite if case.system_err]
        assert len(written) == len({hook.test for hook in record.hooks if not hook.passed and hook.test} or {None})


def test_the_record_keeps_hooks(around: RunRecord) -> None:
    """There and back, and as the schema says."""
    data = json.loads(render("json", around).stdout)
    assert record_fault(data) is None
    assert RunRecord.from_json(data) == around
    assert list(data)[-1] == "hooks"
    properties = record_schema()["$defs"]["hook"]["properties"]
    for told in data["hooks"]:
        assert list(told) == [name for name in properties if name in told]
    assert {name for told in data["hooks"] for name in told} == set(properties)
    assert record_fault({**data, "hooks": []}) is not None
    assert record_fault({**data, "hooks": [{**data["hooks"][0], "surprise": 1}]}) is not None


def test_merged_shards_keep_the_hooks_of_each(build) -> None:
    """Every shard has set itself up."""
    shards = [
        build.record(
            build.test(name), hooks=(hook("beforeAll", duration_ms=index),), shard=(index, 2), run_id=f"{index}"
        )
        for index, name in ((1, "a"), (2, "b"))
    ]
    assert [told.duration_ms for told in merge_records(shards).hooks] == [1, 2]


def test_the_progress_shows_the_hook_that_runs(build) -> None:
    """It may take long, and nothing else is to be seen."""
    view = ProgressView(Ink(on=False))
    suite = SuiteInfo(name="s", path="s.yml", sha256="0" * 64)
    view.advance(RunStarted(run_id="r", suite=suite, tests=(), workers=1), 0.0)
    view.advance(HookStarted(phase="beforeAll", command="./seed.sh\x1b[2J"), 1.0)
    shown = ["".join(text for text, _ in line) for line in view.lines(4.0)]
    assert shown[1] == "  running beforeAll: ./seed.sh␛[2J  3s"
    view.advance(HookFinished(result=failed("beforeAll")), 5.0)
    assert len(list(view.lines(6.0))) == 1
    assert view.take_lines(100) == ["  beforeAll failed: ./beforeAll.sh exited with 3"]


def test_a_command_of_many_lines_is_told_in_one(build) -> None:
    """A `|` block of YAML, of any length."""
    record = build.record(
        build.test("one"), hooks=(failed("afterAll", command="bash -c 'a\nb'" + "x" * 500, output=""),)
    )
    (line,) = [line for line in render("pretty", record).stdout.splitlines() if "afterAll failed" in line]
    assert "bash -c 'a\\nb'" in line
    assert len(line) < 250


def test_a_hook_that_did_well_is_not_mentioned(build) -> None:
    """Only the record has it, and the page that shows all of the record."""
    plain = build.record(build.test("one"))
    hooked = replace(plain, hooks=(hook("beforeAll", output="fine\n"),))
    for format_ in FORMATS:
        if format_ not in {"json", "ndjson", "html"}:
            assert render(format_, hooked) == render(format_, plain)
