"""The error in an answer, and the texts of its content, on one line: for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.clipping import describe_error
from mcptest_engine.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.core.targets import Target

_APART = frozenset({"error", "request", "session"})
"""Members of the envelope that show the error themselves, or are not about it."""
_TEXT_READ = 1 << 20  # far more than is shown, however much of it is secret


def error_clause(
    target: Target, envelope: Mapping[str, object], redact: Callable[[object], object] | None = None
) -> str | None:
    """The error, as a clause for the end of a failed assertion's message; None without one, or if the path is not about it.

    `redact` removes secrets before the text is truncated.
    """
    return None if target.segments[0] in _APART else call_error_text(envelope, redact)


def call_error_text(envelope: Mapping[str, object], redact: Callable[[Any], Any] | None = None) -> str | None:
    """The error of a call in the server's own words, on one line; None if it succeeded or was not answered."""
    error, result = envelope.get("error"), envelope.get("result")
    if error is not None:
        return f"the server answered {describe_error(error, redact)}"
    if not isinstance(result, dict) or result.get("isError") is not True:
        return None
    return f"the tool reported an error: {content_text(result, 300, redact) or '(no text)'}"


def content_text(result: Mapping[str, object], limit: int, redact: Callable[[Any], Any] | None = None) -> str:
    """The texts of a tool's `content` on one line; `redact` removes secrets before they are truncated."""
    content = result.get("content")
    blocks = (block for block in (content[:20] if isinstance(content, list) else ()) if isinstance(block, dict))
    text = " ".join(block["text"][:_TEXT_READ] for block in blocks if isinstance(block.get("text"), str))
    return one_line(redact(text) if redact else text, limit)
