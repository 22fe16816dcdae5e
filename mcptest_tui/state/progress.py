"""The progress of the runs: which is active, how much of it is done, how long it takes, and the verdict of the last.

`Store.apply_many` moves it on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcptest_tui.state.spending import RunCost

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SILENT_SECONDS = 5.0
"""After so long without a result, something hangs, as far as anybody can see."""
LEAST_DONE, LEAST_SECONDS = 3, 1.0
"""Before so many tests are done, and in the first second, nobody can say how long the rest will take."""
GIVEN_UP = frozenset({"interrupted", "bail"})
"""What keeps a test from running that a run was ended before; a test that the policy refuses was not given up."""
CANCELLED = "cancelled"
"""The kind of a run that was ended before it began, because a person wanted it so."""


@dataclass(slots=True)
class Progress:
    """The state of the status bar's left end.

    `done`, `total`, `not_run`, `started` and `spent` are of all runs since none was on: those of 33 suites count together.
    `took` are the seconds of those that have ended, as their records have them. `not_run` are the
    tests that were given up when a run was stopped.
    """

    clock: Callable[[], float]
    run: str | None = None
    newest: str = ""
    """The run that is on, or was last."""
    path: str = ""
    done: int = 0
    total: int = 0
    not_run: int = 0
    started: float = 0.0
    asked: dict[str, int] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    unwanted: set[str] = field(default_factory=set)
    last_seconds: float | None = None
    took: float = 0.0
    ended: float | None = None
    spent: RunCost = field(default_factory=RunCost)
    heard: float = 0.0

    @property
    def silent(self) -> float | None:
        """Seconds without a result or a run's begin, once they are too many; None before, and while nothing runs."""
        seconds = self.clock() - self.heard
        return seconds if self.run is not None and seconds >= SILENT_SECONDS else None

    @property
    def busy(self) -> bool:
        """Whether a run is active or waits for its turn."""
        return self.run is not None or bool(self.waiting)

    @property
    def elapsed(self) -> float:
        """Seconds since the first of the active and waiting runs was requested, else the duration of the last."""
        return self.clock() - self.started if self.busy else self.last_seconds or 0.0

    @property
    def left(self) -> float | None:
        """Seconds until all is done if it goes on as it did; None while too little is done to say, or nothing comes: a server
        that hangs for longer than several tests took makes each estimate a false one.
        """
        if not self.busy or self.done < LEAST_DONE or self.elapsed < LEAST_SECONDS or self.done >= self.total:
            return None
        each = (self.heard - self.started) / self.done
        if self.silent is not None or self.clock() - self.heard > max(LEAST_SECONDS, LEAST_DONE * each):
            return None
        return self.elapsed / self.done * (self.total - self.done)

    @property
    def stopping(self) -> bool:
        """Whether the active run, or all that wait, are being cancelled."""
        return self.run in self.unwanted if self.run is not None else self.busy and self.waiting <= self.unwanted

    @property
    def _active_runs(self) -> set[str]:
        return self.waiting if self.run is None else {self.run, *self.waiting}

    @property
    def since_last(self) -> float:
        """Seconds since the last run ended."""
        return self.clock() - self.ended if self.ended is not None else float("inf")

    def stop(self, run: str | None = None) -> None:
        """Cancel one run, or all that are active or wait now."""
        self.unwanted |= self._active_runs if run is None else {run}

    def request(self, run: str, tests: int = 0) -> None:
        """A run of so many tests was requested; the engine has not answered yet."""
        self._begin()
        self.waiting.add(run)
        self.asked[run] = tests
        self.total += tests

    def _begin(self) -> None:
        if not self.busy:
            self.done = self.total = self.not_run = 0
            self.took = 0.0
            self.started = self.clock()
            self.spent = RunCost()
            self.asked.clear()

    def forget(self, run: str | None = None) -> None:
        """A run that could not be queued, or all of them: the engine is gone."""
        if run is None:
            self.waiting.clear()
        self.waiting.discard(run or "")
        if run is None or run == self.run:
            self.run = None
        self.unwanted &= self._active_runs

    def queue(self, run: str) -> None:
        """Record that the engine has queued a run."""
        self._begin()
        self.waiting.add(run)

    def start(self, run: str, path: str, tests: int) -> None:
        """Record that a run of `tests` tests of the suite at `path` has started."""
        self._begin()
        self.waiting.discard(run)
        self.run, self.newest, self.path = run, run, path
        self.total += tests - self.asked.pop(run, 0)

    def finish_test(self, test: str, result: Mapping[str, Any]) -> None:
        """Count a test as done, or as not run, and add its cost."""
        if result.get("not_run") in GIVEN_UP:
            self.not_run += 1
        else:
            self.done += 1
        self.spent.finish(test, result)

    def finish(self, run: str, record: Mapping[str, Any]) -> None:
        """Record the end of a run, and add its duration."""
        self.took += record.get("duration_ms", 0.0) / 1000
        self._end(run)

    def fail(self, run: str, kind: str) -> None:
        """Record the end of a run that was cancelled or could not begin."""
        self.not_run += self.asked.pop(run, 0) if kind == CANCELLED else 0
        self._end(run)

    def _end(self, run: str) -> None:
        if run == self.run:
            self.ended = self.clock()
        self.forget(run)
        if not self.busy:
            self.last_seconds = self.took or self.clock() - self.started
