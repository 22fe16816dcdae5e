"""What a test came to, in the few words that fit behind its first line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_tui.words import took_shown

if TYPE_CHECKING:
    from mcptest_tui.state.store import TestRow

_LEAD = re.compile(r"^assertion [^(]+\((.*?)\) failed:\s*(?=(?P<words>\w*))", re.DOTALL)
_LONGEST = 300
_COMPARED = 60
"""Characters of an assertion's message that tell it from what precedes it."""


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
    text = words_of(row.result) if row.status != "pass" else ""
    if row.status == "pass" and told and row.own_ms is not None and not stale:
        text = f"passed in {took_shown(row.own_ms)}"
    return Note(row.status, text, stale)


def words_of(result: dict[str, Any] | None) -> str:
    """The first thing that went wrong: of an assertion what it expected and found, else the failure's message."""
    if result is None:
        return ""
    failed = [one for one in result.get("assertions") or () if isinstance(one, dict) and one.get("passed") is False]
    failure = result.get("failure")
    message = str((failure.get("message") if isinstance(failure, dict) else None) or result.get("message") or "")
    if failed and not any("implicit" in one for one in failed):
        first = str(failed[0].get("message") or "")
        cause, follows, _ = message.partition(f"; {first[:_COMPARED]}")
        if not follows:  # else a node of a composition failed before it
            return _short(_LEAD.sub(lambda lead: f"{lead[1]} " if lead["words"] == "does" else "", first))
        message = cause
    return _short(message)


def _short(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0][:_LONGEST].strip() if lines else ""
