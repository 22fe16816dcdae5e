"""What is wrong with the file: a list below the text that jumps, and the problem under the cursor spelled out on one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line, shown
from mcptest_tui.widgets.lines import Lines, nearest
from mcptest_tui.words import MARKS, mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType

    from mcptest_engine.running.documents import Diagnostic

_MARKS = {"error": mark("fail"), "warning": "!"}


class ProblemList(Lines):
    """One row for each problem: where, what, and the hint; Enter goes there."""

    HELP = (
        "What is wrong with the suite. {edit.there} goes to the place, {edit.fix} applies the fix where there is one."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("edit.list")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"problems--{ink}" for ink in ("error", "warning", "place", "message", "hint")
    }
    DEFAULT_CSS = """
    ProblemList {
        & > .problems--error { color: $text-error; text-style: bold; }
        & > .problems--warning { color: $text-warning; text-style: bold; }
        & > .problems--place { color: $foreground 60%; }
        & > .problems--message { color: $foreground; }
        & > .problems--hint { color: $foreground 70%; text-style: italic; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.problems: Sequence[Diagnostic] = ()
        self._file = ""

    def show(self, problems: Sequence[Diagnostic], file: str) -> None:
        """Show these problems; those of other files than `file` name theirs."""
        if (problems, file) != (self.problems, self._file):
            before = self.row_at(self.cursor)
            self.problems, self._file = problems, file
            self.changed(cursor=nearest(problems, self.cursor, lambda one: one == before))

    def row_at(self, at: int) -> Diagnostic | None:
        return self.problems[at] if at < len(self.problems) else None

    def count(self) -> int:
        return len(self.problems)

    def pieces(self, at: int, width: int) -> list[tuple[str, str]]:
        """Return a problem as `✗ 12:5  unknown key "nmae"  did you mean name?`."""
        told = self.problems[at]
        place = f"{told.line}:{told.column}"
        if told.file != self._file:
            place = f"{one_line(told.file.rpartition('/')[2], 24)}:{place}"
        pieces = [
            (f"{_MARKS.get(told.severity, ' ')} ", f"problems--{told.severity}"),
            (f"{place:<7} ", "problems--place"),
        ]
        room = width - sum(cell_len(text) for text, _ in pieces)
        kept = min(cell_len(told.hint) + 2, room // 3) if told.hint else 0
        message = one_line(told.message, room - kept)
        pieces.append((message, "problems--message"))
        room -= cell_len(message) + 2
        if told.hint and room > 10:
            pieces.append((f"  {one_line(told.hint, room)}", "problems--hint"))
        return pieces


class ProblemLine(Widget):
    """One row above the status bar: the problem under the cursor and its fix, else what the word there means."""

    DEFAULT_CSS = """
    ProblemLine { height: 1; color: $foreground; background: $background; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__(id="problem-line")
        self._told: tuple[Diagnostic | None, str, str] = (None, "", "")

    def show(self, problem: Diagnostic | None, fix: str = "", otherwise: str = "") -> None:
        """`fix` is such as `nmae → name   f9 or alt+⏎ apply`; `otherwise` is what stands there without a problem."""
        if self._told != (problem, fix, otherwise):
            self._told = (problem, fix, otherwise)
            self.refresh()

    def render(self) -> Content:
        """The message first, then the fix or the hint, as much as fits."""
        problem, fix, otherwise = self._told
        width = self.content_size.width
        if problem is None:
            return shown(one_line(otherwise, width), style="$foreground 60%")
        style = "$text-error" if problem.severity == "error" else "$text-warning"
        begin = Content.styled(f"{_MARKS.get(problem.severity, '')} ", f"bold {style}")
        tail = fix or problem.hint or ""
        room = width - begin.cell_length
        least = min(cell_len(tail) + 3, room // 2) if tail else 0
        message = one_line(problem.message, room - least)
        room -= cell_len(message) + 3
        parts = [begin, shown(message, style=style)]
        if tail and room > 8:
            parts += [Content("   "), shown(one_line(tail, room), style="bold" if fix else "$foreground 75%")]
        return Content("").join(parts)


def fix_text(problem: Diagnostic, line: str, keys: str) -> str:
    """Return the fix as `nmae → name   f9 or alt+⏎ applies`, "" without one."""
    fix = problem.fix
    if problem.insert is not None and fix is None:
        return f"add `{problem.insert.path[-1]}`   {keys} applies"
    if fix is None:
        return ""
    if fix.column == fix.end_column:
        return f"add `{fix.text.lstrip(', ' + chr(10))}`   {keys} applies"
    return f"{line[fix.column - 1 : fix.end_column - 1]} {MARKS['arrow']} {fix.text}   {keys} applies"
