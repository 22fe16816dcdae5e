"""Tests with made-up arguments (`guess`): what an error of their call means, and which arguments would be better.

The surprising thing: an error never lets such a test pass by itself. Valid arguments that are refused leave it open whether the
server is broken; invalid ones are refused for what they are only where the error is about arguments, and no valid arguments got
the same one in the run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.clipping import told_error
from mcptest_engine.core.kinds import Wanted
from mcptest_engine.core.lazy_patterns import lazy_pattern
from mcptest_engine.judging.circumstances import told_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_engine.running.cases import Asked

METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602
_LONGEST = 300
_READ = 4_000

_ABOUT_ARGUMENTS = lazy_pattern(
    r"validation (error|failed|failure)|validationerror|zoderror"
    r"|invalid[ _]?(argument|param(eter)?|input|type|value)"
    r"|-32602|field required|required property|is not of type|additional propert|input ?schema|json schema"
    r"|(unexpected|unknown|unrecogni[sz]ed|missing|extra)( \d+)?( required)?( positional| keyword)?"
    r" (argument|param(eter)?|property|field|key)"
    r"|(argument|param(eter)?|property|field)s? .{0,60}(missing|required|invalid|must|expected|not allowed)",
    re.IGNORECASE,
)
"""Words that validation uses of arguments, and hardly any other error does."""
_FAULT = lazy_pattern(
    r"\b(required|requires|missing|must|invalid|should|expect(ed|s)|allowed|too|least|most|unexpected|unknown|unsupported"
    r"|cannot be|can't be|may not|empty|range|between|undefined|null|none|nan|positive|negative|greater|less|longer|shorter"
    r"|not an?)\b",
    re.IGNORECASE,
)
"""Words that say of a named thing what is wrong with it."""


def refused_guess(asked: Asked, envelope: Mapping[str, Any], redact: Callable[[Any], Any]) -> str | None:
    """Why a test with made-up arguments is inconclusive after an error; None where the error decides it all the same.

    It does where the arguments were to be refused and the error is about them, and where the server does not know what was
    called: no arguments would help.
    """
    told = error_text(envelope, redact)
    if asked.outcome is Wanted.ERROR:
        if _is_about_arguments(asked, envelope):
            return None
        return f"the call failed, and nothing shows that its invalid arguments are why: {told}"
    if _is_unknown(asked, envelope):
        return None
    return f"the generated arguments were refused: {told}; replace them"


def same_error(told: str) -> str:
    """Why a refusal shows nothing; `told` says the error."""
    return f"valid arguments got the same error, so nothing shows that the invalid ones were refused: {told}"


def error_text(envelope: Mapping[str, Any], redact: Callable[[Any], Any]) -> str:
    """The server's own words for an error, on one line."""
    if envelope["error"] is not None:
        return told_error(envelope["error"], redact)
    return told_texts(envelope["result"], _LONGEST, redact) or "(no text)"


def _words_of(envelope: Mapping[str, Any]) -> str:
    error = envelope["error"]
    if error is None:
        return told_texts(envelope["result"], _READ)
    return str(error.get("message", ""))[:_READ] if isinstance(error, dict) else str(error)[:_READ]


def _is_about_arguments(asked: Asked, envelope: Mapping[str, Any]) -> bool:
    """Whether an error is the refusal of arguments: by its code, in the words of validation, or for one that it names."""
    if _is_unknown(asked, envelope):
        return False
    error = envelope["error"]
    if isinstance(error, dict) and error.get("code") == INVALID_PARAMS:
        return True
    words = _words_of(envelope)
    if _ABOUT_ARGUMENTS.search(words) is not None:
        return True
    arguments = (asked.params or {}).get("arguments")
    names = asked.guess or (tuple(arguments) if isinstance(arguments, dict) else ())
    named = (re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words, re.IGNORECASE) for name in names if name)
    return any(named) and _FAULT.search(words) is not None


def _is_unknown(asked: Asked, envelope: Mapping[str, Any]) -> bool:
    """Whether the server says that it has no such tool or prompt."""
    error, name = envelope["error"], str((asked.params or {}).get("name", ""))
    if isinstance(error, dict) and error.get("code") == METHOD_NOT_FOUND:
        return True
    if not name:
        return False
    called = rf"\W{{0,2}}{re.escape(name)}\W{{0,2}}"
    unknown = (
        rf"\b(unknown|no such) (tool|prompt)\b|\b(tool|prompt) {called} ?(is |was )?(not found|unknown|does not exist)"
    )
    return re.search(unknown, _words_of(envelope), re.IGNORECASE) is not None
