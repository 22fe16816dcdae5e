"""A summary of runs: totals, what changed since the run before, the slowest tests, and the servers.

`Store.apply_many` moves it on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.text import counted
from mcptest_tui.state.spending import cost_of, sum_text
from mcptest_tui.words import duration_shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcptest_engine.engine_process.workbench_events import RunFinished, ServerState, TestOfRun
    from mcptest_tui.state.test_row import TestRow

SLOWEST = 5
FAULTS = {
    "tool_error": "the tool reported an error, which the test does not expect",
    "protocol_error": "the server answered with an error, which the test does not expect",
    "invalid": "the result violates the protocol or the tool's output schema",
    "budget": "the server answered, and went over the budget",
    "score": "the server answered, and the score is too low",
    "metric": "the server answered, and the metric is out of range",
    "server": "the server failed",
    "timeout": "the server did not answer in time",
    "auth": "the server refused the credentials",
    "hook": "a hook of the suite failed",
    "scorer": "a scorer of the suite failed",
    "suite": "the suite has an error that appeared only at run time",
}
"""Whose a failure is, by its kind; of an assertion that failed its own rows say it."""
OF_COMPOSITIONS = {
    "budget": "the composition went over its budget",
}
"""The same where several calls were made, or none."""
OF_MODELS = {
    "budget": "the model went over the budget",
    "score": "the result was graded, and the score is too low",
    "metric": "the model ended the conversation, and a measure of its calls is out of range",
    "server": "the model or a server failed",
    "timeout": "the model or a server did not answer in time",
    "auth": "the model's provider, or a server, refused the credentials",
}
"""The same where a model was asked, or an answer judged."""
FAULTS_OF = {"composition": OF_COMPOSITIONS, "agent": OF_MODELS, "eval": OF_MODELS}


class ServerView(NamedTuple):
    """One server of a suite: its last state, why it failed, and what it wrote on stderr last, in the run of `run_id`."""

    state: str = ""
    message: str = ""
    hint: str = ""
    stderr: str = ""
    run_id: str = ""

    def of_run(self, run_id: str) -> ServerView:
        """Return the same view, without stderr text from another run."""
        return self if self.run_id in ("", run_id) else self._replace(stderr="")


@dataclass(slots=True)
class Summary:
    """The summary of a run. The lists hold names of tests, `slowest` as `slowest` gives them.

    `hooks` and `rollups` are those of the record; `gates` says which floors of the suite's `coverage` were missed and which
    limits of its `effects` exceeded; `effects` are the rows of the record's calls.
    `deferred` are those of the inconclusive that wait for a model, `needing` those whose made-up arguments were refused,
    `unchecked` says why nothing was checked; the rest is the
    record's spending.
    """

    path: str = ""
    total: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    duration_ms: float = 0.0
    broken: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    slowest: list[tuple[str, float]] = field(default_factory=list)
    interrupted: bool = False
    message: str = ""
    hooks: list[dict[str, Any]] = field(default_factory=list)
    rollups: list[dict[str, Any]] = field(default_factory=list)
    gates: list[str] = field(default_factory=list)
    effects: list[dict[str, Any]] = field(default_factory=list)
    deferred: int = 0
    needing: int = 0
    models: list[dict[str, Any]] = field(default_factory=list)
    scorers: list[dict[str, Any]] = field(default_factory=list)
    unchecked: str = ""

    @property
    def passed(self) -> bool:
        """Whether tests ran and all passed, with no gate missed and nothing left unchecked."""
        return (
            bool(self.total)
            and not self.counts.get("fail")
            and not self.counts.get("inconclusive")
            and not self.message
            and not self.unchecked
            and not self.gates
        )

    @property
    def cost_text(self) -> str:
        """Return the cost of the run, as far as prices are known."""
        return sum_text([cost_of(row.get("cost_usd")) for row in (*self.models, *self.scorers)])

    @property
    def title(self) -> str:
        """`120 passed in 3.2 s`, `2 failed, 118 passed in 3.2 s`; that nothing was checked, and why, comes first."""
        words = (
            ("fail", "failed"),
            ("inconclusive", "inconclusive"),
            ("pass", "passed"),
            ("skip", "skipped"),
            ("stopped", "not run"),
        )
        parts = [f"{self.deferred} deferred"] if self.deferred else []
        parts += [f"{self.needing} {'needs' if self.needing == 1 else 'need'} arguments"] if self.needing else []
        some = {"inconclusive": f" ({', '.join(parts)})"} if parts else {}
        told = ", ".join(
            f"{self.counts[status]} {word}{some.get(status, '')}" for status, word in words if self.counts.get(status)
        )
        sums = f"{told or counted(0, 'test')} in {duration_shown(self.duration_ms / 1000)}"
        return f"{self.unchecked}; {sums}" if self.unchecked else sums


class RunView:
    """The last run's summary, and the servers' states by (suite, server)."""

    def __init__(self) -> None:
        self.summary: Summary | None = None
        self.servers: dict[tuple[str, str], ServerView] = {}
        self._finished: dict[str, list[str]] = {}
        self._around: dict[str, list[dict[str, Any]]] = {}

    def hooks_around(self, test: str) -> Sequence[dict[str, Any]]:
        """The hooks that ran around a test when it ran last, in order."""
        return self._around.get(test, ())

    def start(self, tests: Iterable[TestOfRun]) -> None:
        """Forget the hooks around these tests, because a new run has started."""
        for test in tests:
            self._around.pop(test["id"], None)

    def finish_test(self, run: str, test: str) -> None:
        """Record that a test of a run was decided."""
        self._finished.setdefault(run, []).append(test)

    def finish_hook(self, hook: dict[str, Any]) -> None:
        """Store the result of a hook around a test."""
        if "test" in hook:
            self._around.setdefault(hook["test"], []).append(hook)

    def fail(self, run: str) -> None:
        """Forget the tests of a run that did not begin."""
        self._finished.pop(run, None)

    def put_server(self, event: ServerState) -> None:
        """Store the new state of a suite's server."""
        if event["state"] == "closed":
            return
        place = event.get("path", ""), event["server"]
        before = self.servers.get(place, ServerView())
        stderr = event.get("stderr", "")
        self.servers[place] = ServerView(
            event["state"],
            event.get("message", ""),
            event.get("hint", ""),
            stderr or before.stderr,
            "" if stderr else before.run_id,
        )

    def finish(self, event: RunFinished, tests: Mapping[str, TestRow]) -> None:
        """Make the summary of a run that has ended; `tests` are all that there are, by id."""
        record = event["record"]
        rows = [tests[test] for test in self._finished.pop(event["run"], ()) if test in tests]
        spending = record.get("spending")
        spending = spending if isinstance(spending, dict) else {}
        counts = Counter(row.standing for row in rows)
        path = event["path"]
        for server in record.get("servers") or ():
            if isinstance(server, dict) and server.get("stderr_tail"):
                place = (path, str(server.get("name", "")))
                self.servers[place] = self.servers.get(place, ServerView())._replace(
                    stderr=str(server["stderr_tail"]), run_id=str(record.get("run_id") or "")
                )
        self.summary = Summary(
            path=path,
            total=len(rows),
            counts=counts,
            duration_ms=float(record.get("duration_ms") or 0.0),
            broken=[row.name for row in rows if row.before == "pass" and row.standing == "fail"],
            mended=[row.name for row in rows if row.before == "fail" and row.standing == "pass"],
            slowest=slowest([row for row in rows if row.status != "stopped"]),
            interrupted=bool(record.get("interrupted")),
            hooks=_mappings(record.get("hooks")),
            rollups=_mappings(record.get("metric_rollups")),
            deferred=sum(row.deferred and row.standing == "inconclusive" for row in rows),
            needing=sum(row.verdict == "inconclusive" and needs_arguments(row.result or {}) for row in rows),
            models=_mappings(spending.get("models")),
            scorers=_mappings(spending.get("scorers")),
            gates=[str(gate["message"]) for gate in record.get("gates") or ()],
            unchecked="" if record.get("interrupted") else _why_unchecked(rows),
            effects=_mappings(effects.get("calls") if isinstance(effects := record.get("effects"), dict) else None),
        )


def needs_arguments(result: Mapping[str, Any]) -> bool:
    """Whether a call with made-up arguments was to succeed and met with an error."""
    rows = result.get("assertions") or ()
    return result.get("verdict") == "inconclusive" and any(
        one.get("implicit") == "outcome" and one.get("passed") is None and one["matcher"] == {"exact": "success"}
        for one in rows
    )


def _why_unchecked(rows: Sequence[TestRow]) -> str:
    """`nothing was checked: 2 tests skipped: REASON`, as the reports say it; "" where a test passed or failed."""
    if not rows or any(row.verdict in {"pass", "fail"} for row in rows):
        return ""
    words = {"skip": "skipped"}
    reasons = Counter(
        (words.get(row.verdict, row.verdict), str((row.result or {}).get("message") or "")) for row in rows
    )
    ((word, reason), count), *others = reasons.most_common()
    more = f"; {counted(len(others), 'more reason')}" if others else ""
    return f"nothing was checked: {counted(count, 'test')} {word}{f': {reason}' if reason else ''}{more}"


def _mappings(found: object) -> list[dict[str, Any]]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def slowest(rows: Sequence[TestRow], most: int = SLOWEST) -> list[tuple[str, float]]:
    """The slowest tests with their own milliseconds; what is deferred took none."""
    timed = [(row.name, own_ms) for row in rows if not row.deferred and (own_ms := row.own_ms) is not None]
    return sorted(timed, key=lambda one: -one[1])[:most]


def repro_command(path: str, name: str) -> str:
    """The command that runs one test again, as reports quote it; `path` is the suite's, relative to where one stands."""
    import shlex

    from mcptest_engine.core.sanitise import one_line
    from mcptest_engine.reporting.repro import quoted_name
    from mcptest_engine.workspace.workspace import SUITE_FILES

    config = "" if path in SUITE_FILES else f" --config {shlex.quote(one_line(path))}"
    return f"mcptest run --filter {quoted_name(one_line(name))}{config}"
