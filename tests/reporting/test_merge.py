"""Merging the records of shards."""

from __future__ import annotations

import gc
import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcptest_engine.cli.main import main
from mcptest_engine.core.effects import CallDecision, DecidedBy, Effect, Effects
from mcptest_engine.core.errors import RecordError
from mcptest_engine.core.results import Verdict
from mcptest_engine.core.run_record import ServerRecord, SuiteInfo, SuiteNotRun
from mcptest_engine.reporting.facts import suite_lines
from mcptest_engine.reporting.many import join_records
from mcptest_engine.reporting.merge import merge_records
from mcptest_engine.reporting.registry import render

FIRST, SECOND = "01JCQQYV4S3H6KX7M8RN2T5XZC", "01JCQQYV4S3H6KX7M8RN2T5XZD"
OTHER = SuiteInfo(name="other", path="other.yml", sha256="b" * 64)


@given(shard_of=st.lists(st.integers(0, 2), max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_the_shards_of_a_run_merge_into_the_run(shard_of, build):
    """Whoever ran a test, it stands where it was declared."""
    tests = [build.test(f"t{line}", line=line, file="a.yml") for line in range(len(shard_of))]
    shards = [
        build.record(
            *[test for test, owner in zip(tests, shard_of, strict=True) if owner == shard],
            run_id=FIRST[:-1] + str(shard),
        )
        for shard in range(3)
    ]
    assert merge_records(shards).tests == tuple(tests)


def test_tests_of_one_line_stand_where_the_whole_run_has_them(build):
    """The rows of one test share its line, so that only their places in the plan can tell."""
    rows = [build.test(f"asked #{number}", line=3) for number in range(1, 6)]
    odd = build.record(rows[1], rows[3], shard=(1, 2), places=(1, 3))
    even = build.record(rows[0], rows[2], rows[4], run_id=SECOND, shard=(2, 2), places=(0, 2, 4))
    merged = merge_records([odd, even])
    assert [test.name for test in merged.tests] == [test.name for test in rows]
    assert (merged.shard, merged.places) == (None, ())


def test_imports_stand_before_the_file_that_imports_them(build):
    """The order of files is what the shards agree on."""
    rows = {name: build.test(name, file=name[0], line=int(name[1])) for name in ("b1", "b2", "a1", "a2")}
    shards = [build.record(rows["b1"], rows["a1"]), build.record(rows["b2"], rows["a2"], run_id=SECOND)]
    assert [test.name for test in merge_records(shards).tests] == ["b1", "b2", "a1", "a2"]


def test_a_shards_own_order_is_never_changed(build):
    """Lines are a guess, the record is not."""
    odd = build.record(build.test("late", line=50), build.test("early", line=10))
    merged = merge_records([odd, build.record(build.test("middle", line=30), run_id=SECOND)])
    assert [test.name for test in merged.tests] == ["middle", "late", "early"]


def test_sums_times_and_verdict_are_those_of_the_whole(build):
    """Totals counted anew, the longest duration, the earliest start, servers joined."""
    one = build.record(build.test("a"), duration_ms=5.0, warnings=("slow",), started_at="2026-01-02T03:04:06Z")
    two = build.record(
        build.test("b", "fail", line=11),
        run_id=SECOND,
        duration_ms=9.0,
        warnings=("slow", "noise"),
        started_at="2026-01-02T03:04:05Z",
        servers=(ServerRecord(name="demo", transport="stdio", restarts=1, stderr_tail="x"),),
    )
    merged = merge_records([one, two])
    assert (merged.totals.total, merged.totals.passed, merged.totals.failed) == (2, 1, 1)
    assert (merged.run_id, merged.started_at, merged.duration_ms) == (SECOND, "2026-01-02T03:04:05Z", 9.0)
    assert (merged.verdict, merged.exit_code, merged.warnings) == (Verdict.FAIL, 1, ("slow", "noise"))
    (server,) = merged.servers
    assert (server.restarts, server.stderr_tail, server.protocol_version) == (1, "x", "2025-11-25")


@pytest.mark.parametrize(
    ("codes", "code"), [((0, 0), 0), ((0, 1), 1), ((1, 130), 130), ((5, 6), 5), ((1, 6), 1), ((0, 6), 6), ((2, 5), 2)]
)
def test_the_exit_code_is_the_first_that_applies(codes, code, build):
    """130, 2, 3, 5, 1, 6."""
    shards = [
        build.record(build.test(f"t{n}"), run_id=FIRST[:-1] + str(n), exit_code=each, interrupted=each == 130)
        for n, each in enumerate(codes)
    ]
    merged = merge_records(shards)
    assert (merged.exit_code, merged.verdict) == (code, Verdict.FAIL if code else Verdict.PASS)
    assert merged.interrupted == (code == 130)


def test_an_empty_shard_says_nothing_as_long_as_another_ran_tests(build):
    """7 is for a selection that matched nothing at all."""
    empty = build.record(exit_code=7, warnings=("matched none",), run_id=SECOND)
    merged = merge_records([build.record(build.test("a")), empty])
    assert (merged.exit_code, merged.warnings) == (0, ())
    assert merge_records([build.record(exit_code=7), empty]).exit_code == 7


@pytest.mark.parametrize("change", [{"name": "other"}, {"path": "other.yml"}, {"sha256": "b" * 64}])
def test_records_of_different_suites_are_refused(change, build):
    """No report of two suites as if they were one."""
    suite = SuiteInfo(**{"name": "demo", "path": "mcptest.yml", "sha256": "a" * 64, **change})
    with pytest.raises(RecordError, match="are of different"):
        merge_records([build.record(build.test("a")), build.record(build.test("b"), suite=suite, run_id=SECOND)])


def test_a_test_in_two_records_is_refused(build):
    """The same record given twice would count everything twice."""
    with pytest.raises(RecordError, match=f'the test "a" is in both runs {FIRST} and {SECOND}'):
        merge_records([build.record(build.test("a")), build.record(build.test("a"), run_id=SECOND)])
    with pytest.raises(RecordError, match="no run record"):
        merge_records([])


def test_a_shard_that_is_missing_is_told_and_nothing_passes_without_it(rich_record):
    """Green means checked: the tests of a lost shard have not passed."""
    part = replace(rich_record, tests=(), warnings=(), exit_code=0, verdict=Verdict.PASS, shard=(1, 3))
    merged = merge_records([part, replace(part, shard=(3, 3))])
    assert merged.warnings[0] == "shard 2/3 is missing: its tests are not in this report"
    assert (merged.verdict, merged.exit_code, merged.shard) == (Verdict.FAIL, 6, None)


def test_shards_of_different_divisions_are_not_merged(rich_record):
    """1/2 and 2/3 share tests and leave others out."""
    part = replace(rich_record, tests=(), shard=(1, 2))
    with pytest.raises(RecordError, match="different counts: 1/2, 2/3"):
        merge_records([part, replace(part, shard=(2, 3))])


def test_shards_of_different_selections_are_not_merged(rich_record):
    """Each may have left out what the other one should have run."""
    part = replace(rich_record, tests=(), shard=(1, 2), selection="one")
    other = replace(part, shard=(2, 2), selection="two")
    with pytest.raises(RecordError, match="different selections of tests"):
        merge_records([part, other])
    assert merge_records([part, replace(other, selection="one")]).selection is None
    assert merge_records([part, replace(other, selection=None)]).selection is None


@pytest.mark.parametrize("enabled", [True, False])
def test_report_leaves_the_collector_as_it_found_it(enabled, rich_record, tmp_path):
    """It stops while records are read; whoever calls the command in a process of its own goes on with it."""
    path = tmp_path / "run.json"
    path.write_text(json.dumps(rich_record.to_json()), encoding="utf-8")
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        assert main(["report", str(path), "--format", "minimal"]) == 0
        assert main(["report", str(tmp_path / "none.json")]) == 2
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()


# the runs of several suites


def test_the_limits_of_effects_of_one_suite_are_not_held_against_the_calls_of_another(build):
    """Each suite's are judged in its own run; a report over several would blame the wrong one."""
    dropped = Effect(
        server="demo",
        tool="drop",
        tool_class="destructive",
        decision=CallDecision.EXECUTED,
        decided_by=DecidedBy.SUITE,
        count=2,
    )
    limited = build.record(build.test("a"), effects=Effects(calls=(), limits={"destructive": 0}))
    free = build.record(build.test("b", "fail"), suite=OTHER, effects=Effects(calls=(dropped,)))
    joined = join_records([limited, free])
    assert (joined.missed_gates, joined.exit_code) == ([], 1)
    told = render("agent", joined).stdout
    assert "EFFECTS 2 destructive executed" in told
    assert "NOTE" not in told


def test_what_is_noted_of_any_suite_is_noted_of_all(build):
    """Of coverage with the suite's path, as among the warnings; and that a suite's snapshots were not saved."""
    one = build.record(build.test("a"), warnings=("coverage: x",), coverage_notes=("coverage: x",))
    other = build.record(
        build.test("b"),
        suite=OTHER,
        warnings=("coverage: y",),
        coverage_notes=("coverage: y",),
        unsaved_snapshots=True,
    )
    joined = join_records([one, other])
    assert joined.coverage_notes == joined.warnings == ("mcptest.yml: coverage: x", "other.yml: coverage: y")
    assert joined.unsaved_snapshots
    assert merge_records([one, replace(other, suite=one.suite, run_id=SECOND)]).unsaved_snapshots


def test_shards_of_several_suites_merge_where_one_command_ended_before_its_last_suite(build):
    """As with `--bail`. Suites whose text has changed do not."""
    failed = build.record(build.test("a", "fail"), run_id=FIRST)
    one = replace(join_records([failed], not_run=[SuiteNotRun(path=OTHER.path, reason="ended")]), shard=(1, 2))
    parts = [build.record(build.test("b"), run_id=SECOND), build.record(suite=OTHER, run_id=SECOND)]
    other = replace(join_records(parts), shard=(2, 2))
    merged = merge_records([one, other])
    assert (merged.exit_code, merged.totals.total, merged.not_run) == (1, 2, ())
    assert [(suite.path, suite.exit_code) for suite in merged.suites] == [("mcptest.yml", 1), ("other.yml", 6)]
    assert suite_lines(merged)[1].endswith("; the tests of some shards are missing (exit code 6)")
    assert merged.warnings == ("other.yml: not every shard ran its tests, because one of the commands ended early",)
    for changed in (replace(failed.suite, sha256="c" * 64), replace(failed.suite, path="third.yml")):
        with pytest.raises(RecordError, match="different texts"):
            merge_records([replace(join_records([replace(parts[0], suite=changed), parts[1]]), shard=(2, 2)), one])


def test_merged_suites_and_their_tests_stand_in_the_order_of_the_command(build):
    """Also where a shard could not load the first of them, and its record is named first. What no shard ran is listed once."""
    suites = [SuiteInfo(name=name, path=f"{name}.yml", sha256=name * 64) for name in "zab"]

    def shard(number, *not_run):
        left_out = {suite.path for suite in not_run}
        parts = [
            build.record(
                build.test(f"t{number}", id=f"{suite.path}::t{number}", file="shared.yml", line=9 - number),
                suite=suite,
                run_id=FIRST[:-1] + str(number),
            )
            for suite in suites
            if suite.path not in left_out
        ]
        return replace(join_records(parts, not_run=not_run), shard=(number, 2))

    problem = {"file": "z.yml", "line": 1, "column": 1, "message": "no variable `KEY`", "hint": None}
    ended = SuiteNotRun(path="b.yml", reason="ended")
    invalid = SuiteNotRun(path="z.yml", reason="invalid", problems=(problem,))
    merged = merge_records([shard(2, invalid, ended), shard(1, ended)])
    assert [suite.path for suite in merged.suites] == ["z.yml", "a.yml"]
    assert [test.id for test in merged.tests] == ["z.yml::t1", "a.yml::t2", "a.yml::t1"]
    assert (merged.not_run, merged.exit_code) == ((ended,), 2)
    assert merged.warnings == (
        "1 suite not run, because the command ended before: b.yml",
        "z.yml: the suite was not run: no variable `KEY`",
    )


def test_a_server_has_one_name_in_all_shards_of_several_suites(build):
    """Also where the tests of a shard call it for one suite alone: two suites may have different servers of one name."""
    suites = [SuiteInfo(name="a", path="a.yml", sha256="a" * 64), OTHER]

    def shard(number, *lines):
        """The tests of the first suite and those of the other one, by their lines."""
        tests = [
            [build.test(f"t{line}", line=line, id=f"{suite.path}::tool::t{line}", server="shop") for line in own]
            for suite, own in zip(suites, lines, strict=True)
        ]
        run_id = FIRST[:-1] + str(number)
        parts = [build.record(*own, suite=suite, run_id=run_id) for own, suite in zip(tests, suites, strict=True)]
        return replace(join_records(parts), shard=(number, 2))

    for first, second in (([1], []), ([], [2])), (([1], [2]), ([3], [])):
        merged = merge_records([shard(1, *first), shard(2, *second)])
        names = [test.server for test in merged.tests]
        assert names == [f"shop ({test.id.partition('::')[0]})" for test in merged.tests]
        assert sorted(server.name for server in merged.servers) == sorted(set(names))
    merged = merge_records([shard(1, [1], []), shard(2, [2], [])])
    assert [server.name for server in merged.servers] == ["shop"]
