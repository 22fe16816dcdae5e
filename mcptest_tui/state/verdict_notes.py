"""The result of a test in the few words that fit behind its first line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_tui.words import took_shown

if TYPE_CHECKING:
    from mcptest_tui.state.test_row import TestRow

_LONGEST = 300


class Note(NamedTuple):
    """What is shown of a test on its first line: a mark, words behind it, and whether the text has changed since."""

    status: str
    text: str = ""
    stale: bool = False


def note_of(row: TestRow, digest: str, *, told: bool = False) -> Note:
    """`digest` is that of the test as it stands in the editor, "" when not known; `told` asks for a word about a pass too."""
    stale = bool(digest and row.ran_digest and digest != row.ran_digest and not row.busy)
    if row.status not in ("fail", "inconclusive", "skip", "pass"):
        return Note(row.status)
    text = first_problem_text(row.result) if row.status != "pass" else ""
    if row.status == "pass" and told and row.own_ms is not None and not stale:
        text = f"passed in {took_shown(row.own_ms)}"
    return Note(row.status, text, stale)


def first_problem_text(result: dict[str, Any] | None) -> str:
    """The first thing that went wrong: of an assertion what it expected and found, else the failure's message."""
    if result is None:
        return ""
    failed = [one for one in result.get("assertions") or () if isinstance(one, dict) and one.get("passed") is False]
    failure = result.get("failure")
    message = str((failure.get("message") if isinstance(failure, dict) else None) or result.get("message") or "")
    if failed and not any("implicit" in one for one in failed):
        return _short(cause_of(failure) or _assertion_text(failed[0]))
    return _short(message)


def _assertion_text(row: dict[str, Any]) -> str:
    reason = str(row.get("reason") or row.get("message") or "")
    if row.get("note"):
        return f"{row['note']}: {reason}"
    return f"`{row.get('target')}` {reason}" if "reason" in row and "actual" not in row else reason


def cause_of(failure: object) -> str:
    """What failed in a composition before the assertion that failed; "" where nothing did."""
    parts = failure.get("parts") or () if isinstance(failure, dict) else ()
    return next((str(part["message"]) for part in parts if part["of"] == "cause"), "")


def _short(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0][:_LONGEST].strip() if lines else ""
