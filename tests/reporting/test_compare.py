"""Two runs compared: what became of each test, and how it is told."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mcptest_engine.core.results import Verdict
from mcptest_engine.reporting.compare import Thresholds, compare_runs
from mcptest_engine.reporting.run_diff import run_diff_markdown, run_diff_text
from tests.reporting.conftest import make_record, make_rich_record, make_test


def names(pairs):
    return [pair.either.name for pair in pairs]


BEFORE = make_record(
    make_test("stays"),
    make_test("breaks"),
    make_test("still broken", "fail"),
    make_test("is mended", "fail"),
    make_test("is gone"),
    make_test("cannot be judged now"),
    make_test("slow now", duration_ms=100.0),
    make_test("fast now", duration_ms=300.0),
    make_test("scored", score=0.5, threshold=0.4),
    make_test("paid", cost_usd=0.01, tokens=10),
)
AFTER = make_record(
    make_test("stays"),
    make_test("new and broken", "fail"),
    make_test("breaks", "fail"),
    make_test("still broken", "fail"),
    make_test("is mended", flaky=True),
    make_test("is new"),
    make_test("cannot be judged now", "inconclusive", message="no model"),
    make_test("slow now", duration_ms=200.0),
    make_test("fast now", duration_ms=100.0),
    make_test("scored", score=0.75, threshold=0.4),
    make_test("paid", cost_usd=None, tokens=30),
)


def test_each_test_is_found_by_what_became_of_it():
    """The lists that a person looks at first."""
    found = compare_runs(BEFORE, AFTER)
    assert names(found.newly_failing) == ["new and broken", "breaks"]
    assert names(found.fixed) == names(found.newly_flaky) == ["is mended"]
    assert names(found.still_failing) == ["still broken"]
    assert names(found.changed) == ["cannot be judged now"]
    assert names(found.new) == ["new and broken", "is new"]
    assert names(found.gone) == ["is gone"]
    assert names(found.slower) == ["slow now"]
    assert names(found.faster) == ["fast now"]
    assert names(found.scores) == ["scored"]
    assert names(found.costs) == ["paid"]


def test_a_time_counts_when_ratio_and_difference_both_do():
    """3 ms for 1 ms is noise, 1,020 ms for 1,000 ms as well."""
    pairs = [(1.0, 3.0), (1000.0, 1020.0), (100.0, 151.0), (100.0, 149.0)]
    before, after = (
        make_record(*(make_test(str(at), duration_ms=pair[side]) for at, pair in enumerate(pairs))) for side in (0, 1)
    )
    assert names(compare_runs(before, after).slower) == ["2"]
    assert names(compare_runs(before, after, Thresholds(ratio=1.0, floor_ms=0)).slower) == ["0", "2", "3", "1"]


def test_a_kept_answer_and_a_failed_test_have_no_time_to_compare():
    """A cached result took none, a failed test may have waited for a timeout."""
    before = make_record(make_test("a"), make_test("b"))
    after = make_record(make_test("a", cached=True, duration_ms=900.0), make_test("b", "fail", duration_ms=900.0))
    assert compare_runs(before, after).slower == ()


def test_notes_say_why_two_runs_may_not_be_alike():
    """Another text, other flags, another part, an early end."""
    other = replace(
        BEFORE,
        interrupted=True,
        flags=("--var", "K=V"),
        shard=(1, 2),
        mode="replayed",
        suite=replace(BEFORE.suite, sha256="b" * 64),
    )
    assert compare_runs(BEFORE, other).notes == (
        "the suite's text has changed between the runs",
        "the second run was interrupted",
        "the first run had no flags, the second `--var K=V`",
        "the runs are of different shards",
        "the first run was live, the second replayed",
    )


def test_the_text_and_the_markdown_are_the_accepted_ones(golden):
    """House: what is looked at is a snapshot."""
    compared = compare_runs(BEFORE, AFTER)
    golden("diff-runs.txt", run_diff_text(compared, lambda _code, text: text))
    golden("diff-runs.md", run_diff_markdown(compared))


def test_no_name_or_message_can_speak_to_the_terminal_or_the_page():
    compared = compare_runs(make_record(), make_rich_record())
    for text in (run_diff_text(compared, lambda _code, text: text), run_diff_markdown(compared)):
        assert not [mark for mark in "\x1b\x07\x7f\u202e\r" if mark in text]
    assert "<b>bold</b>" not in run_diff_markdown(compared)


RUNS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(list(Verdict)), max_size=4).map(
    lambda verdicts: make_record(*(make_test(name, verdict.value) for name, verdict in verdicts.items()))
)


@given(RUNS)
def test_a_run_compared_with_itself_shows_nothing_but_what_still_fails(run):
    """compare(A, A)."""
    found = compare_runs(run, run)
    assert found.unchanged == len(run.tests)
    assert len(found.still_failing) == run.totals.failed
    assert not any((found.newly_failing, found.fixed, found.changed, found.new, found.gone, found.slower, found.scores))


@given(RUNS, RUNS)
def test_what_is_new_one_way_is_gone_the_other(one, other):
    """And every test of either run is accounted for."""
    there, back = compare_runs(one, other), compare_runs(other, one)
    assert names(there.new) == names(back.gone)
    assert set(names(there.fixed)) <= set(names(back.newly_failing))
    moved = {name for pairs in (there.newly_failing, there.fixed, there.changed) for name in names(pairs)} - set(
        names(there.new)
    )
    assert there.unchanged + len(moved) + len(there.new) == len(other.tests)
