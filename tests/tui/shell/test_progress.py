"""How far the runs are, from the engine's events."""

from __future__ import annotations

from mcptest_tui.state.progress import Progress


def test_a_run_goes_from_asked_to_done():
    """Waiting, running with counts and time, the last one's verdict."""
    clock = [10.0]
    progress = Progress(lambda: clock[0])
    progress.ask("a")
    assert progress.busy
    assert progress.run is None
    progress.apply({"event": "run.started", "run": "a", "path": "x.yml", "tests": [{}, {}]})
    clock[0] = 11.5
    progress.apply({"event": "case.finished", "run": "a", "id": "t", "result": {}})
    assert (progress.run, progress.done, progress.total, progress.elapsed) == ("a", 1, 2, 1.5)
    progress.apply({"event": "run.finished", "run": "a", "record": {"verdict": "fail"}})
    assert (progress.busy, progress.last, progress.last_failed, progress.elapsed) == (False, "failed", True, 1.5)


def test_a_run_that_could_not_start_is_no_longer_waited_for():
    """Its suite does not load."""
    progress = Progress(lambda: 0.0)
    progress.ask("a")
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
    progress.ask("b")
    progress.forget()
    assert not progress.busy


def test_a_run_that_was_cancelled_before_it_began_has_not_failed():
    """A person wanted it so."""
    progress = Progress(lambda: 0.0)
    progress.ask("a")
    progress.stop()
    assert progress.stopping
    progress.apply({"event": "run.failed", "run": "a", "kind": "cancelled", "message": "cancelled before it began"})
    assert (progress.busy, progress.stopping, progress.last, progress.last_failed) == (False, False, "cancelled", False)


def test_what_is_asked_for_after_a_stop_is_not_stopped():
    """While the run before it still ends."""
    progress = Progress(lambda: 0.0)
    progress.apply({"event": "run.started", "run": "a", "tests": []})
    progress.stop()
    progress.ask("b")
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
