"""What agents did here, as rows, newest first, and how much of it a person has not seen yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcptest_engine.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

RUN, INLINE, PROPOSAL, UNREADABLE = "run", "inline", "proposal", "unreadable"
FAILED = ("fail", "inconclusive")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRow:
    """One thing that was done; `at` is in seconds since 1970, `file` the absolute path of what was left of it.

    `suite` is relative to the workspace; `client` is what the agent called itself, "" where that is not known.
    """

    id: str
    kind: str
    at: float
    file: str
    suite: str = ""
    name: str = ""
    verdict: str = ""
    inline: bool = False
    interrupted: bool = False
    duration_ms: float = 0.0
    totals: Mapping[str, int] = field(default_factory=dict)
    mode: str = ""
    cassette: str = ""
    client: str = ""
    version: str = ""
    source: str = ""
    bytes: int = 0

    @property
    def status(self) -> str:
        """The verdict by which the row is marked: a run that could not judge a test is no clean pass."""
        if self.kind != RUN:
            return {INLINE: "new", PROPOSAL: "inconclusive"}.get(self.kind, "skip")
        if self.verdict == "pass" and self.totals.get("inconclusive"):
            return "inconclusive"
        return self.verdict if self.verdict in ("pass", "fail") else "inconclusive"

    @property
    def outcome(self) -> str:
        """The result in few words, such as `1 of 2 failed`."""
        if self.kind != RUN:
            return {INLINE: "no result", PROPOSAL: "to review"}.get(self.kind, "unreadable")
        totals = self.totals
        total = totals.get("total", 0)
        if totals.get("failed"):
            return f"{totals['failed']} of {total} failed"
        if self.interrupted:
            return "cut short"
        if not total:
            return "no tests"
        if totals.get("inconclusive"):
            return f"{totals['inconclusive']} inconclusive"
        return f"{totals.get('passed', 0)} passed" if totals.get("passed") or self.verdict != "pass" else "all skipped"

    @property
    def what(self) -> str:
        """The suite, by its file, or by its name where it came as text."""
        if self.kind == PROPOSAL:
            return self.name
        if self.kind == UNREADABLE:
            return f"{self.id}.json"
        if self.kind == INLINE or self.inline:
            return self.name if self.name and self.name != self.id else "inline suite"
        return self.suite.rpartition("/")[2]

    @property
    def who(self) -> str:
        """The agent, or how a proposal was made."""
        return self.source if self.kind == PROPOSAL else self.client


def row_of(told: Mapping[str, object]) -> AgentRow:
    """Return a row made of the engine's answer."""
    client = told.get("client")
    who = {"client": client["name"], "version": client["version"]} if isinstance(client, dict) else {}
    return AgentRow(**{**{key: value for key, value in told.items() if key != "client"}, **who})


class AgentsView:
    """The rows, which of them are shown, and the cursor: it stays on its row wherever that goes, but the top is the newest."""

    def __init__(self) -> None:
        self.rows: tuple[AgentRow, ...] = ()
        self.shown: tuple[AgentRow, ...] = ()
        self.more = False
        self.failures_only = False
        self.unseen = 0
        self.at = 0
        self.is_read_on = False
        """Whether somebody is reading about the current row, so that no newer one takes its place."""
        self._runs: set[str] | None = None

    def put(self, rows: Iterable[AgentRow], *, more: bool, further: bool = False) -> list[AgentRow]:
        """Other rows. Returns the runs that have ended since the last time; none the first time, or when `further` back was
        looked.
        """
        self.rows, self.more = tuple(rows), more
        runs = {row.id: row for row in self.rows if row.kind == RUN}
        known = self._runs
        self._runs = runs.keys() | (known or set())
        self._show()
        return [] if known is None or further else [row for key, row in runs.items() if key not in known]

    def turn(self) -> None:
        """Switch between failures only and all rows."""
        self.failures_only = not self.failures_only
        self._show()

    @property
    def current(self) -> AgentRow | None:
        """The row under the cursor."""
        return self.shown[self.at] if self.at < len(self.shown) else None

    def go(self, at: int) -> None:
        """Move the cursor to row `at`, or to the nearest."""
        self.at = min(max(at, 0), max(len(self.shown) - 1, 0))

    def _show(self) -> None:
        current = self.current if self.at or self.is_read_on else None
        failed = (row for row in self.rows if row.kind == RUN and row.status in FAILED)
        self.shown = tuple(failed) if self.failures_only else self.rows
        places = (at for at, row in enumerate(self.shown) if current is not None and row.id == current.id)
        self.at = next(places, min(self.at, max(len(self.shown) - 1, 0)))


def news(fresh: list[AgentRow]) -> str:
    """Return the message about runs that ended while another mode was shown."""
    if len(fresh) == 1:
        row = fresh[0]
        return f"{row.client or 'an agent'}: {row.outcome}"
    failed = sum(row.status == "fail" for row in fresh)
    return f"{counted(len(fresh), 'run')} by agents: {f'{failed} failed' if failed else 'all passed'}"
