"""The session ledger: what became of the tests and tools of one suite over several runs, and what changed in between.

The words of tests and servers in it are theirs. Records of older versions have none.
"""

from __future__ import annotations

from enum import StrEnum

from mcptest_engine.core.enums import Strength, Verdict
from mcptest_engine.core.json_object import JsonObject
from mcptest_engine.core.values import dataclass


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
class TestChange(JsonObject):
    """One change of a test. `place` is what it is about, such as an assertion path; `before` and `after` are texts to show.

    `weakens`: the test demands less than before.
    """

    JSON_MEMBERS = "kind place? before? after? weakens"

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
class Turn(JsonObject):
    """A test that failed and no longer does, or that demands less than before.

    `after` is None for a test that the suite no longer has. `from_run` is the run with the earlier version, `to_run` the one
    that saw the change. `server_changes` are lines on what is different about the server. `restored_in` is the later run in
    which the test demanded again what it had demanded.
    """

    JSON_MEMBERS = "test server tool? before after from_run to_run cause changes? server_changes? restored_in?"

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


class ToolStatus(StrEnum):
    """What became of a tool: its tests pass; some pass and some fail; none passes; all are skipped; no test calls it."""

    PASSED = "passed"
    PARTLY = "partly"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNTOUCHED = "untouched"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerTool(JsonObject):
    """A tool that a server offers or a test calls, after the newest result of each test.

    `tests` counts the tests that call it. `strength` is that of the strongest test that passed, None where none did. `offered`
    is None where the server's list is not known.
    """

    JSON_MEMBERS = "server tool status tests strength? offered?"

    server: str
    tool: str
    status: ToolStatus
    tests: int = 0
    strength: Strength | None = None
    offered: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger(JsonObject):
    """What became of one suite over `runs`, the ids of runs from the oldest to the newest."""

    JSON_MEMBERS = "runs tools turns"

    runs: tuple[str, ...]
    tools: tuple[LedgerTool, ...] = ()
    turns: tuple[Turn, ...] = ()


def count_to_review(ledger: object, run_id: str) -> int:
    """How many tests need a review since this run, from the JSON of its ledger, which may be of any shape."""
    turns = ledger.get("turns") if isinstance(ledger, dict) else None
    own = [turn for turn in turns if isinstance(turn, dict)] if isinstance(turns, list) else []
    return sum(turn.get("to_run") == run_id and turn.get("cause") in _TO_REVIEW for turn in own)


_TO_REVIEW = frozenset({TurnCause.TEST, TurnCause.REPLACED})
