"""What else a failed assertion should say: that the server answered an error, or that the tool reported one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.sanitise import one_line
from mcptest_engine.judging.clipping import show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcptest_engine.core.targets import Target

_TEXT_READ = 2_000  # far more than is shown, so that a secret at the end of what is shown is whole
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
        return None if error is None else f"the server answered {told_error(redact(error) if redact else error)}"
    result = envelope["result"]
    if not isinstance(result, dict) or result.get("isError") is not True or target.segments[1:2] == ("isError",):
        return None
    if target.segments[1:2] == ("content",):
        return _REPORTED
    text = " ".join(_texts(result))
    text = one_line(redact(text) if redact else text, 120)
    return f"{_REPORTED}: `{text}`" if text else _REPORTED


def told_error(error: object) -> str:
    """A JSON-RPC error in words: `error -32602 "Unknown tool: x"`."""
    if isinstance(error, dict):
        return f"error {show(error.get('code'), 40)} {show(error.get('message'))}"
    return f"error {show(error)}"


def _texts(result: Mapping[str, Any]) -> Iterator[str]:
    content = result.get("content")
    for block in content[:20] if isinstance(content, list) else ():
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            yield block["text"][:_TEXT_READ]
