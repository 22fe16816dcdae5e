"""How far the runs are, from the engine's events."""

from __future__ import annotations

import pytest

from mcptest_tui.state.progress import Progress


def test_a_run_goes_from_asked_to_done():
    """Waiting, running with counts and time, the last one's verdict."""
    clock = [10.0]
    progress = Progress(lambda: clock[0])
    progress.request("a")
    assert (progress.busy, progress.run) == (True, None)
    progress.apply({"event": "run.started", "run": "a", "path": "x.yml", "tests": [{}, {}]})
    clock[0] = 11.5
    progress.apply({"event": "case.finished", "run": "a", "id": "t", "result": {}})
    assert (progress.run, progress.done, progress.total, progress.elapsed) == ("a", 1, 2, 1.5)
    progress.apply({"event": "run.finished", "run": "a", "record": {"verdict": "fail"}})
    assert (progress.busy, progress.last, progress.last_failed, progress.elapsed) == (False, "failed", True, 1.5)


def test_what_the_last_run_took_is_what_its_record_says_as_in_its_summary():
    """And of several suites, their sum."""
    clock = [0.0]
    progress = Progress(lambda: clock[0])
    for run in "ab":
        progress.request(run)
    clock[0] = 9.0
    for run in "ab":
        progress.apply({"event": "run.finished", "run": run, "record": {"verdict": "pass", "duration_ms": 1500}})
    assert progress.elapsed == 3.0


def test_a_run_that_could_not_start_is_no_longer_waited_for():
    """Its suite does not load."""
    progress = Progress(lambda: 0.0)
    progress.request("a")
    progress.apply({"event": "run.failed", "run": "a", "message": "3 problems"})
    assert (progress.busy, progress.last, progress.last_failed) == (False, "3 problems", True)


def test_the_next_run_in_the_queue_is_still_waited_for():
    """One after the other."""
    progress = Progress(lambda: 0.0)
    for run in "ab":
        progress.apply({"event": "run.queued", "run": run})
    progress.apply({"event": "run.started", "run": "a", "tests": []})
    progress.apply({"event": "run.finished", "run": "a", "record": {"verdict": "pass"}})
    assert progress.waiting == {"b"}


def test_when_the_engine_is_gone_nothing_is_on():
    """Runs do not outlive it."""
    progress = Progress(lambda: 0.0)
    progress.apply({"event": "run.started", "run": "a", "tests": []})
    progress.request("b")
    progress.forget()
    assert not progress.busy


def test_a_run_that_was_cancelled_before_it_began_has_not_failed():
    """A person wanted it so."""
    progress = Progress(lambda: 0.0)
    progress.request("a")
    progress.stop()
    assert progress.stopping
    progress.apply({"event": "run.failed", "run": "a", "kind": "cancelled", "message": "cancelled before it began"})
    assert (progress.busy, progress.stopping, progress.last, progress.last_failed) == (False, False, "cancelled", False)


def test_what_is_asked_for_after_a_stop_is_not_stopped():
    """While the run before it still ends."""
    progress = Progress(lambda: 0.0)
    progress.apply({"event": "run.started", "run": "a", "tests": []})
    progress.stop()
    progress.request("b")
    assert progress.stopping
    progress.apply({"event": "run.finished", "run": "a", "record": {}})
    assert not progress.stopping
    progress.apply({"event": "run.started", "run": "b", "tests": []})
    assert not progress.stopping


def test_other_events_change_nothing():
    """Of any shape."""
    progress = Progress(lambda: 0.0)
    for event in ({"event": "traffic", "rows": []}, {}, {"event": "server.state", "run": None}):
        progress.apply(event)
    assert not progress.busy


def test_the_runs_of_several_suites_count_together():
    """Findings: over 33 suites the bar counted suites, and the sum said what the last of them took."""
    clock = [10.0]
    progress = Progress(lambda: clock[0])
    for run, tests in (("a", 2), ("b", 3)):
        progress.request(run, tests)
    for run, tests in (("a", 2), ("b", 3)):
        progress.apply({"event": "run.started", "run": run, "path": f"{run}.yml", "tests": [{}] * tests})
        for _ in range(tests):
            clock[0] += 1.0
            progress.apply({"event": "case.finished", "run": run, "id": "t", "result": {"verdict": "pass"}})
        if run == "a":
            assert (progress.done, progress.total, progress.left) == (2, 5, None)
            progress.apply({"event": "run.finished", "run": run, "record": {"verdict": "pass"}})
        else:
            assert (progress.done, progress.total) == (5, 5)
    progress.apply({"event": "run.finished", "run": "b", "record": {"verdict": "pass"}})
    assert (progress.busy, progress.elapsed, progress.not_run) == (False, 5.0, 0)
    progress.request("c", 1)
    assert (progress.done, progress.total) == (0, 1)


def test_how_long_the_rest_takes_is_told_once_enough_is_done():
    clock = [0.0]
    progress = Progress(lambda: clock[0])
    progress.request("a", 10)
    for _ in range(4):
        clock[0] += 1.0
        progress.apply({"event": "case.finished", "run": "a", "id": "t", "result": {"verdict": "pass"}})
    assert progress.left == 6.0
    clock[0] += 2.9
    assert progress.left is not None
    clock[0] += 0.2
    assert progress.left is None, "the next test takes longer than three of those before it: nobody knows how long"
    progress.apply({"event": "case.finished", "run": "a", "id": "t", "result": {"verdict": "pass"}})
    assert progress.left == pytest.approx(7.1)


def test_what_was_given_up_when_a_run_was_stopped_is_counted():
    progress = Progress(lambda: 0.0)
    progress.request("a", 2)
    progress.request("b", 3)
    progress.apply({"event": "run.started", "run": "a", "tests": [{}, {}]})
    for result in ({"verdict": "pass"}, {"verdict": "skip", "not_run": "interrupted"}):
        progress.apply({"event": "case.finished", "run": "a", "id": "t", "result": result})
    progress.apply({"event": "run.finished", "run": "a", "record": {"verdict": "fail", "interrupted": True}})
    progress.apply({"event": "run.failed", "run": "b", "kind": "cancelled", "message": "cancelled before it began"})
    assert (progress.done, progress.not_run, progress.busy) == (1, 4, False)
