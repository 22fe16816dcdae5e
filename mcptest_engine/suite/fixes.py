"""The fixes of many problems at once: those that do not touch each other, as edits of one text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcptest_engine.suite.text_edits import EditRefused, TextEdit, apply

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest_engine.running.diagnostics import Diagnostic, Fix


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
