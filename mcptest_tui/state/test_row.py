"""One test of the open suites, with its newest result. A row lives as long as its test does, and is written to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.enums import Strength, is_weak
from mcptest_tui.words import waited_ms

if TYPE_CHECKING:
    from mcptest_engine.engine_process.workbench_events import AgentTurn, NodeChanged
    from mcptest_engine.running.documents import TestItem

VERDICTS = ("pass", "fail", "inconclusive", "skip")
STATUSES = ("new", "stopped", "queued", "running", *VERDICTS)
BUSY = ("queued", "running")


@dataclass(slots=True, eq=False)
class TestRow:
    """One test. `status` is "new", "queued", "running", "stopped" (its last run ended without running it; `message` says why),
    or a verdict; `verdict` what it came to last, whatever it does now, and `before` what it came to the time before; `path` is
    its suite's file, `file` its own; `place` is the file and the line of the row of data that it is made of.

    `digest` is of the test as it stands, `ran_digest` of the test as it was when its result came to be, `asked_digest` of the
    test as the newest run has it that was asked for and has not decided it ("" for none); that run is `run`. `added` says that
    the test appeared while the suite was open, `remembered` that its verdict is of an earlier session. `nodes` is how far the
    nodes of a composition are that runs, by id: the events of it, None before; `talk` are the turns of an agent test that runs.
    `deferred` says that it is inconclusive since no model is set up for it. `calls` and `spends` are the test's; `behind` is
    that of its result; `waits` says why a save that affects it did not start it, "" when none did. `answered` says of a busy
    test whose call has ended what its verdict waits for: "list", that of the server, or "alone", to be run again without
    others. `strength` is what it demands,
    "" as long as nobody knows, `mutation_score` the share of wrong answers that it noticed in the last mutation run.
    """

    id: str
    name: str
    block: str
    kind: str
    server: str
    tool: str
    path: str
    file: str
    line: int
    end_line: int
    tags: tuple[str, ...]
    place: tuple[str, int] | None = None
    digest: str = ""
    status: str = "new"
    duration_ms: float | None = None
    behind: dict[str, Any] | None = None
    flaky: bool = False
    cached: bool = False
    result: dict[str, Any] | None = None
    ran_digest: str = ""
    asked_digest: str = ""
    run: str = ""
    run_id: str = ""
    started: float = 0.0
    added: bool = False
    remembered: bool = False
    verdict: str = "new"
    before: str = "new"
    folded: str = ""
    nodes: dict[str, NodeChanged] | None = None
    talk: list[AgentTurn] | None = None
    deferred: bool = False
    calls: tuple[tuple[str, str], ...] = ()
    spends: bool = False
    waits: str = ""
    message: str = ""
    answered: str = ""
    strength: str = ""
    mutation_score: float | None = None

    @property
    def standing(self) -> str:
        """The result of its newest run: the verdict, which stays while it runs again, or "stopped"."""
        return "stopped" if self.status == "stopped" else self.verdict

    @property
    def is_weak(self) -> bool:
        """Whether the assertions of the test demand little."""
        return is_weak(Strength(self.strength) if self.strength else None, self.mutation_score)

    @property
    def own_ms(self) -> float | None:
        """The duration in ms, without the time spent behind an earlier call."""
        return None if self.duration_ms is None else self.duration_ms - waited_ms(self.behind)

    @property
    def shown(self) -> str:
        """The status under which it is drawn: "deferred" for what is inconclusive for want of a model."""
        return "deferred" if self.deferred and self.status == "inconclusive" else self.status

    @property
    def line_at_fault(self) -> int:
        """The line of the case or the node that failed, else that of the test."""
        failure = None if self.outdated else (self.result or {}).get("failure")
        found = failure.get("line") if isinstance(failure, dict) else None
        own = self.place[1] if self.place is not None and self.place[0] == self.file else self.line
        return found if isinstance(found, int) else own

    @property
    def own_place(self) -> tuple[str, int]:
        """The file and the line to look at: of a row of data those of the row."""
        return self.place if self.place is not None and self.place[0] != self.file else (self.file, self.line_at_fault)

    @property
    def busy(self) -> bool:
        """Whether the test waits for a run or is in one."""
        return self.status in BUSY

    @property
    def outdated(self) -> bool:
        """Whether its result is of another text than the one that stands there, and no run of this one is on."""
        if not self.digest or not self.ran_digest:
            return False
        return self.digest not in (self.ran_digest, self.asked_digest)


def row_of(item: TestItem, path: str, *, added: bool) -> TestRow:
    row = TestRow(
        item.id,
        item.name,
        item.block,
        item.kind,
        item.server,
        item.tool,
        path,
        item.file,
        item.line,
        item.end_line,
        item.tags,
        item.row,
    )
    row.digest, row.added, row.calls, row.spends = item.digest, added, item.calls, item.spends
    row.strength, row.mutation_score = item.strength, item.mutation_score
    return row


def update_row(row: TestRow, item: TestItem) -> None:
    row.name, row.block, row.kind, row.server, row.tool = item.name, item.block, item.kind, item.server, item.tool
    row.file, row.line, row.end_line, row.tags = item.file, item.line, item.end_line, item.tags
    row.place = item.row
    row.calls, row.spends = (item.calls, item.spends) if item.digest else (row.calls, row.spends)
    if item.strength:
        row.strength, row.mutation_score = item.strength, item.mutation_score
    row.digest = item.digest or row.digest
    row.folded = f"{row.name}\n{row.tool}".casefold()
