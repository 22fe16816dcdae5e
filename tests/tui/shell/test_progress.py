"""How far the runs are, from the engine's events."""

from __future__ import annotations

import pytest

from mcptest_tui.state.store import Store
from tests.tui.state.making import cancelled, ended, failed, finished, started, store_of


def test_a_run_goes_from_asked_to_done():
    """Waiting, running with counts and time, the last one's verdict."""
    clock = [10.0]
    store = Store(clock=lambda: clock[0])
    progress = store.progress
    progress.request("a")
    assert (progress.busy, progress.run) == (True, None)
    store.apply_many([started("a", "t", "u")])
    clock[0] = 11.5
    store.apply_many([finished("a", "t")])
    assert (progress.run, progress.done, progress.total, progress.elapsed) == ("a", 1, 2, 1.5)
    store.apply_many([ended("a", verdict="fail", duration_ms=0.0)])
    assert (progress.busy, progress.elapsed) == (False, 1.5)


def test_what_the_last_run_took_is_what_its_record_says_as_in_its_summary():
    """And of several suites, their sum."""
    clock = [0.0]
    store = Store(clock=lambda: clock[0])
    for run in "ab":
        store.progress.request(run)
    clock[0] = 9.0
    store.apply_many([ended(run, verdict="pass", duration_ms=1500) for run in "ab"])
    assert store.progress.elapsed == 3.0


def test_a_run_that_could_not_start_is_no_longer_waited_for():
    """Its suite does not load."""
    store = store_of()
    progress = store.progress
    progress.request("a")
    store.apply_many([failed("a", "3 problems")])
    assert not progress.busy


def test_the_next_run_in_the_queue_is_still_waited_for():
    """One after the other."""
    store = store_of()
    store.apply_many([{"event": "run.queued", "run": run, "path": "s.yml"} for run in "ab"])
    store.apply_many([started("a"), ended("a", verdict="pass")])
    assert store.progress.waiting == {"b"}


def test_when_the_engine_is_gone_nothing_is_on():
    """Runs do not outlive it."""
    store = store_of()
    store.apply_many([started("a")])
    store.progress.request("b")
    store.interrupt()
    assert not store.progress.busy


def test_a_run_that_was_cancelled_before_it_began_is_over():
    """A person wanted it so."""
    store = store_of()
    progress = store.progress
    progress.request("a")
    progress.stop()
    assert progress.stopping
    store.apply_many([cancelled("a")])
    assert (progress.busy, progress.stopping) == (False, False)


def test_what_is_asked_for_after_a_stop_is_not_stopped():
    """While the run before it still ends."""
    store = store_of()
    progress = store.progress
    store.apply_many([started("a")])
    progress.stop()
    progress.request("b")
    assert progress.stopping
    store.apply_many([ended("a")])
    assert not progress.stopping
    store.apply_many([started("b")])
    assert not progress.stopping


def test_other_events_change_nothing():
    """Of other parts, or of an engine that knows more than this workbench."""
    store = store_of()
    unknown = {"event": "unheard.of", "id": 5}
    server = {"event": "server.state", "session": "s", "server": "s", "state": "ready"}
    delta = store.apply_many([{"event": "traffic", "rows": []}, unknown, server])  # type: ignore[list-item]
    assert not store.progress.busy
    assert not store.progress.heard
    assert not any(delta)


def test_the_runs_of_several_suites_count_together():
    """Findings: over 33 suites the bar counted suites, and the sum said what the last of them took."""
    clock = [10.0]
    store = Store(clock=lambda: clock[0])
    progress = store.progress
    for run, tests in (("a", 2), ("b", 3)):
        progress.request(run, tests)
    for run, tests in (("a", 2), ("b", 3)):
        ids = [f"{run}{number}" for number in range(tests)]
        store.apply_many([started(run, *ids, path=f"{run}.yml")])
        for test in ids:
            clock[0] += 1.0
            store.apply_many([finished(run, test)])
        if run == "a":
            assert (progress.done, progress.total, progress.left) == (2, 5, None)
            store.apply_many([ended(run, verdict="pass", duration_ms=0.0)])
        else:
            assert (progress.done, progress.total) == (5, 5)
    store.apply_many([ended("b", verdict="pass", duration_ms=0.0)])
    assert (progress.busy, progress.elapsed, progress.not_run) == (False, 5.0, 0)
    progress.request("c", 1)
    assert (progress.done, progress.total) == (0, 1)


def test_how_long_the_rest_takes_is_told_once_enough_is_done():
    clock = [0.0]
    store = Store(clock=lambda: clock[0])
    progress = store.progress
    progress.request("a", 10)
    for _ in range(4):
        clock[0] += 1.0
        store.apply_many([finished("a", "t")])
    assert progress.left == 6.0
    clock[0] += 2.9
    assert progress.left is not None
    clock[0] += 0.2
    assert progress.left is None, "the next test takes longer than three of those before it: nobody knows how long"
    store.apply_many([finished("a", "t")])
    assert progress.left == pytest.approx(7.1)


def test_what_was_given_up_when_a_run_was_stopped_is_counted():
    store = store_of()
    progress = store.progress
    progress.request("a", 2)
    progress.request("b", 3)
    given_up = finished("a", "u", "skip", not_run="interrupted", message="not run: interrupted")
    store.apply_many([started("a", "t", "u"), finished("a", "t"), given_up])
    store.apply_many([ended("a", verdict="fail", interrupted=True), cancelled("b")])
    assert (progress.done, progress.not_run, progress.busy) == (1, 4, False)
