"""Snapshots: what is stored, when, and what a run may not do."""

from __future__ import annotations

import pytest

from mcptest_engine.core.errors import UsageError
from mcptest_engine.core.redaction import Redactor
from mcptest_engine.core.results import Failure, FailureKind
from mcptest_engine.judging.matchers import Context, compile_matcher
from mcptest_engine.judging.snapshots import AnswerSnapshots, SnapshotStore
from mcptest_engine.workspace.snapshots import pending_path, read_snapshots

VALUE = {"serial": 1, "items": [{"at": "10:00", "n": 1}, {"at": "10:01", "n": 2}], "text": "one\ntwo\n"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "snapshots" / "suite.yml"


def judge(path, value, argument=True, *, name="a test / result", **may):
    store = SnapshotStore(path, **may)
    mismatch = compile_matcher({"snapshot": argument}, Context(store, "a test", "result"))(value)
    store.save()
    return mismatch


def test_a_missing_snapshot_is_written_on_a_first_interactive_run(path):
    assert judge(path, VALUE, create=True) is None
    assert path.read_text(encoding="utf-8").splitlines()[1:] == [
        "a test / result:",
        "  items:",
        "  - at: '10:00'",
        "    n: 1",
        "  - at: '10:01'",
        "    n: 2",
        "  serial: 1",
        "  text: |",
        "    one",
        "    two",
    ]
    assert judge(path, VALUE) is None


def test_a_missing_snapshot_is_a_failure_under_ci_and_nothing_is_written(path):
    mismatch = judge(path, VALUE)
    assert mismatch.message == (
        "no snapshot `a test / result` is stored yet; accept the current value with `--update-snapshots`"
    )
    assert not path.parent.exists()


def test_a_value_that_differs_fails_and_waits_to_be_accepted(path):
    """Kept beside the accepted one."""
    judge(path, VALUE, create=True)
    mismatch = judge(path, {**VALUE, "serial": 2}, create=True)
    assert mismatch.message == "differs at `serial`: expected `1`, got `2`"
    assert mismatch.pointer == "/serial"
    assert "+" in mismatch.diff
    assert read_snapshots(path) == {"a test / result": VALUE}
    assert read_snapshots(pending_path(path))["a test / result"]["serial"] == 2


def test_under_ci_a_value_that_differs_leaves_no_file(path):
    """House rule: CI never writes one."""
    judge(path, VALUE, create=True)
    assert judge(path, {**VALUE, "serial": 2}) is not None
    assert not pending_path(path).exists()


def test_a_change_that_went_away_waits_no_longer(path):
    judge(path, VALUE, create=True)
    judge(path, {**VALUE, "serial": 2}, create=True)
    assert judge(path, VALUE, create=True) is None
    assert not pending_path(path).exists()


def test_update_rewrites_what_differs(path):
    """`--update-snapshots`."""
    judge(path, VALUE, create=True)
    assert judge(path, [1], update=True) is None
    assert read_snapshots(path) == {"a test / result": [1]}


def test_an_update_refuses_a_second_value_of_the_same_name(path):
    """Whichever was stored, the next run would be red for the other: both tests are named."""
    judge(path, 1, {"name": "x"}, create=True)
    store = SnapshotStore(path, update=True)

    def compared(test_name, value, matcher=None, label="1"):
        context = Context(store, test_name, "result", label=label)
        mismatch = compile_matcher(matcher or {"snapshot": {"name": "x"}}, context)(value)
        return None if mismatch is None else mismatch.message

    assert compared("one", 1) is None
    told = (
        "the snapshot `x` has one value, but this run produced two: `1` in assertion 1 of `one`, value 1, `2` in"
        " assertion 1 of `two`, value 1; give each its own `name`"
    )
    assert compared("two", 2) == told
    assert "in assertion 2 of `one`" in compared("one", 2, label="2")
    assert compared("two", 1) is None
    assert compared("one", 3) is None  # the same assertion, judged again
    each = compared("three", [3, 3, 4], {"each": {"snapshot": {"name": "y"}}})
    assert each.startswith("element [2]: the snapshot `y` has one value")
    assert compared("four", [5, 5], {"each": {"snapshot": {"name": "z"}}}) is None
    store.save()
    assert read_snapshots(path) == {"x": 3, "y": 3, "z": 5}


def test_what_is_ignored_may_change_and_is_not_stored(path):
    """`ignore: [targets]`, inside the value."""
    argument = {"name": "report", "ignore": ["serial", "items[*].at", "nowhere.at.all"]}
    assert judge(path, VALUE, argument, create=True) is None
    stored = read_snapshots(path)["report"]
    assert stored == {"items": [{"n": 1}, {"n": 2}], "text": "one\ntwo\n"}
    later = {**VALUE, "serial": 9, "items": [{"at": "11:00", "n": 1}, {"n": 2}]}
    assert judge(path, later, argument) is None
    assert judge(path, {**later, "text": "x"}, argument).message.startswith("differs at `text`")


def test_an_ignored_element_keeps_its_place(path):
    argument = {"name": "list", "ignore": ["[1]", "[-1]"]}
    assert judge(path, [1, 2, 3], argument, create=True) is None
    assert read_snapshots(path) == {"list": [1, "(ignored)", "(ignored)"]}
    assert judge(path, [1, 5, 6], argument) is None
    assert judge(path, [1, 5, 6, 7], argument) is not None


def test_secrets_are_neither_stored_nor_compared(path):
    """Snapshots compare redacted with redacted."""
    redact = Redactor(["correct-horse-1"]).redact
    assert judge(path, {"a": "correct-horse-1"}, create=True, redact=redact) is None
    assert "correct-horse" not in path.read_text(encoding="utf-8")
    other = Redactor(["battery-staple-2"]).redact
    assert judge(path, {"a": "battery-staple-2"}, redact=other) is None


def test_a_file_that_cannot_be_read_is_an_error_with_a_way_out(path):
    path.parent.mkdir()
    path.write_text("a: [", encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        judge(path, 1)
    assert refused.value.hint == "repair it, or delete it and run again"


def test_a_value_too_deep_to_be_written_fails_and_no_file_is_torn(path, deep):
    """The value could not be stored, so a run that stored it would not be a pass."""
    assert judge(path, deep, create=True).message == "the value is nested too deeply for a snapshot"
    assert not path.exists()


@pytest.mark.parametrize("may", [{"create": True}, {"update": True}, {"keep_pending": True}], ids=str)
def test_nothing_of_an_answer_that_is_not_to_be_trusted_is_stored_or_waits(path, may):
    """Its test timed out, so that it may be the answer to another call."""
    judge(path, VALUE, create=True, name="another")
    store = SnapshotStore(path, **may)
    answer = AnswerSnapshots(store)
    name = "a test / result" if "create" in may else "another"
    answer.propose(name, {**VALUE, "serial": 2}, "here")
    answer.close(Failure(kind=FailureKind.TIMEOUT, message="late"))
    store.save()
    assert name not in store.taken
    assert store.waiting == 0
