"""The session ledger: what became of the tests and tools of one suite over several runs, and what changed in between.

The words of tests and servers in it are theirs. Records of older versions have none.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.enums import Strength, Verdict
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping


class ChangeKind(StrEnum):
    """How a test changed from one version to the next."""

    REMOVED = "removed"
    SKIPPED = "skipped"
    ASSERTION_REMOVED = "assertion_removed"
    ASSERTION_WEAKENED = "assertion_weakened"
    VALUE_REPLACED = "value_replaced"
    ASSERTION_ADDED = "assertion_added"
    ASSERTION_STRENGTHENED = "assertion_strengthened"
    ASSERTION_CHANGED = "assertion_changed"
    ARGUMENTS_CHANGED = "arguments_changed"
    CALL_CHANGED = "call_changed"
    OUTCOME_CHANGED = "outcome_changed"
    VALIDITY_OFF = "validity_off"
    LIMIT_CHANGED = "limit_changed"
    STEP_REMOVED = "step_removed"
    CALL_MOCKED = "call_mocked"


_WORDS = {
    ChangeKind.REMOVED: "test removed",
    ChangeKind.VALUE_REPLACED: "expected value replaced",
    ChangeKind.OUTCOME_CHANGED: "expected outcome changed",
    ChangeKind.VALIDITY_OFF: "validity no longer checked",
    ChangeKind.STEP_REMOVED: "verify step removed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TestChange:
    """One change of a test. `place` is what it is about, such as an assertion path; `before` and `after` are texts to show.

    `weakens`: the test demands less than before.
    """

    kind: ChangeKind
    place: str = ""
    before: str | None = None
    after: str | None = None
    weakens: bool = False

    @property
    def title(self) -> str:
        """The kind in words, such as "assertion weakened"."""
        return _WORDS.get(self.kind) or self.kind.value.replace("_", " ")

    @property
    def text(self) -> str:
        """The change in one line: "expected value replaced: `result.structuredContent.sum`: exact: 4 → exact: 5"."""
        place = f"`{self.place}`" if self.place else ""
        values = " → ".join(text for text in (self.before, self.after) if text is not None)
        return ": ".join(part for part in (self.title, place, values) if part)

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"kind": self.kind.value}
        out |= {
            key: value
            for key, value in (("place", self.place), ("before", self.before), ("after", self.after))
            if value
        }
        return out | {"weakens": self.weakens}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TestChange:
        return cls(
            kind=ChangeKind(data["kind"]),
            place=data.get("place", ""),
            before=data.get("before"),
            after=data.get("after"),
            weakens=data["weakens"],
        )


class TurnCause(StrEnum):
    """Why the verdict of a test changed.

    TEST: the test changed, and its earlier version would not have passed. REPLACED: another command, URL or cassette answers
    in the server's place. SERVER: the server changed. ANSWER: the server answered differently, and whether it changed is not
    known. NEITHER: neither changed, so the test is flaky.
    """

    TEST = "test"
    REPLACED = "replaced"
    SERVER = "server"
    ANSWER = "answer"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A test that failed and no longer does, or that demands less than before.

    `after` is None for a test that the suite no longer has. `from_run` is the run with the earlier version, `to_run` the one
    that saw the change. `server_changes` are lines on what is different about the server. `restored_in` is the later run in
    which the test demanded again what it had demanded.
    """

    test: str
    server: str
    before: Verdict
    after: Verdict | None
    from_run: str
    to_run: str
    cause: TurnCause
    tool: str | None = None
    changes: tuple[TestChange, ...] = ()
    server_changes: tuple[str, ...] = ()
    restored_in: str | None = None

    @property
    def is_green_by_test(self) -> bool:
        """Whether the test passes now because it was changed."""
        return self.is_by_test and self.before is Verdict.FAIL and self.after is Verdict.PASS

    @property
    def is_dropped(self) -> bool:
        """Whether a test that failed is skipped now, or gone."""
        return self.is_by_test and self.before is Verdict.FAIL and self.after is not Verdict.PASS

    @property
    def is_by_test(self) -> bool:
        return self.cause is TurnCause.TEST and self.restored_in is None

    @property
    def needs_review(self) -> bool:
        """Whether nothing shows that what failed was corrected."""
        return self.is_by_test or self.cause is TurnCause.REPLACED

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"test": self.test, "server": self.server}
        if self.tool is not None:
            out["tool"] = self.tool
        out |= {"before": self.before.value, "after": None if self.after is None else self.after.value}
        out |= {"from_run": self.from_run, "to_run": self.to_run, "cause": self.cause.value}
        if self.changes:
            out["changes"] = [change.to_json() for change in self.changes]
        if self.server_changes:
            out["server_changes"] = list(self.server_changes)
        if self.restored_in is not None:
            out["restored_in"] = self.restored_in
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Turn:
        return cls(
            test=data["test"],
            server=data["server"],
            tool=data.get("tool"),
            before=Verdict(data["before"]),
            after=None if data["after"] is None else Verdict(data["after"]),
            from_run=data["from_run"],
            to_run=data["to_run"],
            cause=TurnCause(data["cause"]),
            changes=tuple(map(TestChange.from_json, data.get("changes", ()))),
            server_changes=tuple(data.get("server_changes", ())),
            restored_in=data.get("restored_in"),
        )


class ToolStatus(StrEnum):
    """What became of a tool: its tests pass; some pass and some fail; none passes; all are skipped; no test calls it."""

    PASSED = "passed"
    PARTLY = "partly"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNTOUCHED = "untouched"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerTool:
    """A tool that a server offers or a test calls, after the newest result of each test.

    `tests` counts the tests that call it. `strength` is that of the strongest test that passed, None where none did. `offered`
    is None where the server's list is not known.
    """

    server: str
    tool: str
    status: ToolStatus
    tests: int = 0
    strength: Strength | None = None
    offered: bool | None = None

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "server": self.server,
            "tool": self.tool,
            "status": self.status.value,
            "tests": self.tests,
        }
        if self.strength is not None:
            out["strength"] = self.strength.value
        if self.offered is not None:
            out["offered"] = self.offered
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LedgerTool:
        return cls(
            server=data["server"],
            tool=data["tool"],
            status=ToolStatus(data["status"]),
            tests=data["tests"],
            strength=Strength(data["strength"]) if "strength" in data else None,
            offered=data.get("offered"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What became of one suite over `runs`, the ids of runs from the oldest to the newest."""

    runs: tuple[str, ...]
    tools: tuple[LedgerTool, ...] = ()
    turns: tuple[Turn, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "runs": list(self.runs),
            "tools": [tool.to_json() for tool in self.tools],
            "turns": [turn.to_json() for turn in self.turns],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Ledger:
        return cls(
            runs=tuple(data["runs"]),
            tools=tuple(map(LedgerTool.from_json, data["tools"])),
            turns=tuple(map(Turn.from_json, data["turns"])),
        )


def count_to_review(ledger: object, run_id: str) -> int:
    """How many tests need a review since this run, from the JSON of its ledger, which may be of any shape."""
    turns = ledger.get("turns") if isinstance(ledger, dict) else None
    own = [turn for turn in turns if isinstance(turn, dict)] if isinstance(turns, list) else []
    return sum(turn.get("to_run") == run_id and turn.get("cause") in _TO_REVIEW for turn in own)


_TO_REVIEW = frozenset({TurnCause.TEST, TurnCause.REPLACED})
