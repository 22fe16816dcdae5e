"""What else a failed assertion should say: that the server answered an error, or that the tool reported one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.clipping import describe_error
from mcptest_engine.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcptest_engine.core.targets import Target

_APART = frozenset({"error", "request", "session"})
"""Members of the envelope that show the error themselves, or have nothing to do with it."""
_TEXT_READ = 1 << 20  # far more than is shown, however much of it is secret


def circumstances(
    target: Target, envelope: Mapping[str, object], redact: Callable[[Any], Any] | None = None
) -> str | None:
    """One clause for the end of the message; None where there is no error, or the target is about something else.

    `redact` takes secrets out before anything is clipped.
    """
    return None if target.segments[0] in _APART else call_error_text(envelope, redact)


def call_error_text(envelope: Mapping[str, object], redact: Callable[[Any], Any] | None = None) -> str | None:
    """The error that a call came to in the server's own words, on one line; None where it succeeded or was not answered."""
    error, result = envelope.get("error"), envelope.get("result")
    if error is not None:
        return f"the server answered {describe_error(error, redact)}"
    if not isinstance(result, dict) or result.get("isError") is not True:
        return None
    return f"the tool reported an error: {content_text(result, 300, redact) or '(no text)'}"


def content_text(result: Mapping[str, object], limit: int, redact: Callable[[Any], Any] | None = None) -> str:
    """The texts of a tool's `content` on one line; `redact` takes secrets out before they are clipped."""
    text = " ".join(_texts(result))
    return one_line(redact(text) if redact else text, limit)


def _texts(result: Mapping[str, object]) -> Iterator[str]:
    content = result.get("content")
    for block in content[:20] if isinstance(content, list) else ():
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            yield block["text"][:_TEXT_READ]
