"""What else a failed assertion should say: that the server answered an error, or that the tool reported one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.clipping import told_error
from mcptest_engine.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcptest_engine.core.targets import Target

_TEXT_READ = 1 << 20  # far more than is shown, however much of it is secret
_REPORTED = "the tool reported an error (`isError` is true)"


def circumstances(
    target: Target, envelope: Mapping[str, Any], redact: Callable[[Any], Any] | None = None
) -> str | None:
    """One clause for the end of the message, or None when there is nothing to add.

    Only for targets in `result`; one that looks at `isError` itself needs no word about it. `redact` takes secrets out
    before anything is clipped.
    """
    if target.segments[:1] != ("result",):
        return None
    error = envelope.get("error")
    if "result" not in envelope:
        return None if error is None else f"the server answered {told_error(error, redact)}"
    result = envelope["result"]
    if not isinstance(result, dict) or result.get("isError") is not True or target.segments[1:2] == ("isError",):
        return None
    if target.segments[1:2] == ("content",):
        return _REPORTED
    text = told_texts(result, 120, redact)
    return f"{_REPORTED}: `{text}`" if text else _REPORTED


def told_texts(result: Mapping[str, Any], limit: int, redact: Callable[[Any], Any] | None = None) -> str:
    """The texts of a tool's `content` on one line; `redact` takes secrets out before they are clipped."""
    text = " ".join(_texts(result))
    return one_line(redact(text) if redact else text, limit)


def _texts(result: Mapping[str, Any]) -> Iterator[str]:
    content = result.get("content")
    for block in content[:20] if isinstance(content, list) else ():
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            yield block["text"][:_TEXT_READ]
