"""Problems of a suite as an editor shows them: with the end of what is wrong, and the edit that a did-you-mean stands for.

Places come from the loader; where the marked word ends is read off the text, since the loader keeps only beginnings. The
surprising thing: this works on the lines alone, so that a text that is not YAML at all is marked as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.errors import Suggestion
from mcptest_engine.suite.text_edits import EditRefused, TextEdit, apply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcptest_engine.core.errors import Problem

LINE_END = re.compile(r"\r\n|\r|\n")
_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s:,\[\]{}#"'](?:[^:,\[\]{}]|:(?=\S))*?)\s*:(?=\s|$)""")
_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'""")
_PLAIN = re.compile(r"(?:[^\s#]|(?<=\S)#)+(?:[ \t]+(?:[^\s#]|(?<=\S)#)+)*")
_PLAIN_IN_FLOW = re.compile(r"[^\s,\[\]{}#]+(?:[ \t]+[^\s,\[\]{}#]+)*")
_LEADING = r"""["']?(?:\$\{(?:\w+\.)?)?"""


class Fix(NamedTuple):
    """Replace the columns `column` up to, without, `end_column` of a line by `text`; counted from 1 in code points."""

    line: int
    column: int
    end_column: int
    text: str


class Insert(NamedTuple):
    """Put `value` where nothing is yet: at `path` in the file."""

    path: tuple[str | int, ...]
    value: Any


class Diagnostic(NamedTuple):
    """One problem in one file.

    `file` is absolute. Lines and columns count from 1 in code points, `end_column` is the first that is no longer marked. A
    problem that belongs to no place stands at 1:1 and marks nothing. `severity` is "error" or "warning". `pointer` is the JSON
    Pointer as in `core.errors.Problem`. `fix` is the edit that `hint` proposes where that is one word for another,
    `insert` what is missing.
    """

    file: str
    line: int
    column: int
    end_column: int
    severity: str
    message: str
    hint: str | None = None
    pointer: str = ""
    fix: Fix | None = None
    insert: Insert | None = None

    def to_json(self) -> dict[str, Any]:
        told = self._asdict()
        told.pop("insert")  # only of what a catalog says, which does not travel
        return {**told, "fix": None if self.fix is None else self.fix._asdict()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Diagnostic:
        fix = data.get("fix")
        return cls(**{**data, "fix": None if fix is None else Fix(**fix)})


def diagnostics_of(
    problems: Sequence[Problem], lines_of: Callable[[str], Sequence[str]], *, file: str
) -> tuple[Diagnostic, ...]:
    """The problems in their order. `lines_of(file)` gives a file's lines; `file` is where those without a file belong."""
    return tuple(_diagnostic(problem, lines_of, problem.file or file) for problem in problems)


def _diagnostic(problem: Problem, lines_of: Callable[[str], Sequence[str]], file: str) -> Diagnostic:
    severity, span = problem.severity.value, problem.span
    if span is None:
        return Diagnostic(file, 1, 1, 1, severity, problem.shown, problem.hint, problem.pointer)
    lines = lines_of(file)
    line = lines[span.line - 1] if span.line <= len(lines) else ""
    return Diagnostic(
        file,
        span.line,
        span.column,
        end_of_word(line, span.column),
        severity,
        problem.shown,
        problem.hint,
        problem.pointer,
        _fix(problem, span.line, span.column, line),
    )


def fixes_of(diagnostics: Iterable[Diagnostic], file: str) -> list[Fix]:
    """The fixes for one file in the order of their places; of two that touch each other the first."""
    found: list[Fix] = []
    told = [item.fix for item in diagnostics if item.fix is not None and item.file == file]
    for fix in sorted(set(told), key=lambda fix: (fix.line, fix.column, fix.end_column)):
        if not found or (found[-1].line, found[-1].end_column) <= (fix.line, fix.column):
            found.append(fix)
    return found


def put_missing(text: str, diagnostics: Iterable[Diagnostic], file: str) -> tuple[str, int]:
    """The text of a file with what its diagnostics miss, and how many that were; one that cannot be put there is left out."""
    from mcptest_engine.suite.edit import set_value

    count = 0
    for path, value in (one.insert for one in diagnostics if one.insert is not None and one.file == file):
        try:
            text = apply(text, set_value(text, path, value))
            count += 1
        except EditRefused:
            continue
    return text, count


def edits_of(fixes: Iterable[Fix], lines: Sequence[str], newline: str) -> list[TextEdit]:
    """The same as edits of the text that `lines` make up with `newline` between them; one outside of it is left out."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + len(newline))
    edits = []
    for fix in fixes:
        if 0 < fix.line <= len(lines) and 0 < fix.column <= fix.end_column <= len(lines[fix.line - 1]) + 1:
            start = starts[fix.line - 1]
            text = fix.text.replace("\n", newline)
            edits.append(TextEdit(start + fix.column - 1, start + fix.end_column - 1, text))
    return edits


def end_of_word(line: str, column: int) -> int:
    """The column after the key or value that begins at `column` of the line; one column at least is marked.

    Of a value that goes over several lines, and of a flow collection, what stands on this line is marked.
    """
    start = column - 1
    if start >= len(line):
        return column + 1
    key = _KEY.match(line, start)
    if key is not None:
        return key.end(1) + 1
    if line[start] in "{[":
        return len(line.rstrip()) + 1
    flow = any(mark in line[:start] for mark in "{[")
    found = _QUOTED.match(line, start) or (_PLAIN_IN_FLOW if flow else _PLAIN).match(line, start)
    return column + 1 if found is None else found.end() + 1


def _fix(problem: Problem, number: int, column: int, line: str) -> Fix | None:
    """The edit for `did you mean X?` where the word that is written instead stands right at the place."""
    hint = problem.hint
    if not isinstance(hint, Suggestion) or hint.meant == hint.written:
        return None
    found = re.compile(f"{_LEADING}({re.escape(hint.written)})(?![\\w-])").match(line, column - 1)
    return None if found is None else Fix(number, found.start(1) + 1, found.end(1) + 1, hint.meant)
