r"""The `.env` file: text to names and values, by the quoting rules that dotenv readers agree on.

Nothing here reads a file or touches the environment. The surprising thing: a line that makes no sense is a warning and
is left out, never an error, because the file belongs to other tools as well.

    NAME=value # comment      trimmed; ` #` starts a comment; `${OTHER}` and `${OTHER:-default}` are looked up
    NAME="a\nb ${OTHER}"       escapes and look-ups; may run over lines
    NAME='$as is'             only `\'` and `\\` mean something else; may run over lines
    export NAME=value         the same as without `export`
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcptest_engine.core.errors import Problem, Severity, Span
from mcptest_engine.core.lazy_patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

_BLANK = lazy_pattern(r"(?:\s+|#[^\r\n]*)*")
_ASSIGNMENT = lazy_pattern(r"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*=([ \t]*)")
_LINE_END = lazy_pattern(r"[^\r\n]*")
_QUOTED = {
    "'": lazy_pattern(r"'((?:[^'\\]|\\.)*)'", re.DOTALL),
    '"': lazy_pattern(r'"((?:[^"\\]|\\.)*)"', re.DOTALL),
}
_AFTER_QUOTE = lazy_pattern(r"[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|\Z)")
_COMMENT = lazy_pattern(r"[ \t]+#.*")
_SINGLE_ESCAPE = lazy_pattern(r"\\([\\'])")
_LOOK_UP_TEXT = r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}"
_LOOK_UP = lazy_pattern(_LOOK_UP_TEXT)
_DOUBLE = lazy_pattern(r"\\(.)|" + _LOOK_UP_TEXT, re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "a": "\a"}


def parse_dotenv(text: str, *, file: str, environ: Mapping[str, str]) -> tuple[dict[str, str], list[Problem]]:
    """The assignments of a `.env` text, the last of a name winning, and a warning for each line that is left out.

    `environ` answers look-ups (`${NAME}`) before the file's own earlier lines do; a name that neither has is
    the empty text.
    """
    reader = _Reader(text.removeprefix("\ufeff"), file, environ)
    reader.read()
    return reader.values, reader.problems


class _Reader:
    """One pass over the text; `at` is the index of the next character."""

    def __init__(self, text: str, file: str, environ: Mapping[str, str]) -> None:
        self.text, self.file, self.environ = text, file, environ
        self.values: dict[str, str] = {}
        self.problems: list[Problem] = []
        self.at = 0
        self._line, self._line_at = 1, 0

    def read(self) -> None:
        while True:
            self._skip(_BLANK)
            if self.at >= len(self.text):
                return
            assignment = _ASSIGNMENT.match(self.text, self.at)
            if assignment is None:
                self._warn("expected NAME=value")
                self._skip(_LINE_END)
                continue
            self.at = assignment.end()
            value = self._value(after_space=bool(assignment[2]))
            if value is not None:
                self.values[assignment[1]] = value

    def _value(self, *, after_space: bool) -> str | None:
        quote = self.text[self.at : self.at + 1]
        if quote in _QUOTED:
            return self._quoted(quote)
        start = self.at
        self._skip(_LINE_END)
        line = self.text[start : self.at]
        if after_space and line.startswith("#"):
            return ""
        return _LOOK_UP.sub(lambda found: self._look_up(found[1], found[2]), _COMMENT.sub("", line).rstrip())

    def _quoted(self, quote: str) -> str | None:
        quoted = _QUOTED[quote].match(self.text, self.at)
        if quoted is None:
            self._warn(f"a value starts with {quote}, but does not end with it")
            self._skip(_LINE_END)
            return None
        self.at = quoted.end()
        if not _AFTER_QUOTE.match(self.text, self.at):
            self._warn("text after the closing quote is ignored")
        self._skip(_LINE_END)
        return _SINGLE_ESCAPE.sub(r"\1", quoted[1]) if quote == "'" else _DOUBLE.sub(self._unescaped, quoted[1])

    def _unescaped(self, found: re.Match[str]) -> str:
        if (escape := found[1]) is None:
            return self._look_up(found[2], found[3])
        return _ESCAPES.get(escape, escape if escape in "\\\"'$`\n" else f"\\{escape}")

    def _look_up(self, name: str, default: str | None) -> str:
        value = self.environ.get(name, self.values.get(name))
        if default is not None:
            return value or default  # as in a shell: `:-` also replaces the empty text
        return value or ""

    def _skip(self, pattern: re.Pattern[str]) -> None:
        if found := pattern.match(self.text, self.at):
            self.at = found.end()

    def _warn(self, message: str) -> None:
        # Counted onwards from the last warning: a file of a million bad lines stays linear.
        breaks = self.text.count("\n", self._line_at, self.at)
        if breaks:
            self._line += breaks
            self._line_at = self.text.rfind("\n", 0, self.at) + 1
        span = Span(self._line, self.at - self._line_at + 1)
        self.problems.append(Problem(message=message, file=self.file, span=span, severity=Severity.WARNING))
