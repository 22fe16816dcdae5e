"""One row: what is being run, the counters, how long, what a save runs, and the last message.

Drawn anew without a layout, because it changes many times a second. On tiny terminals it also names the modes, in place
of the mode bar.
"""

from __future__ import annotations

from typing import NamedTuple

from textual.content import Content
from textual.widget import Widget

from mcptest_tui.safe import one_line, shown
from mcptest_tui.words import MARKS, duration_shown, mark

COUNTED = ("pass", "fail", "inconclusive", "skip")
STYLES = {status: f"$verdict-{status}" for status in COUNTED}
GAP = "   "


class Status(NamedTuple):
    """What the bar shows."""

    running: bool = False
    text: str = ""
    done: int = 0
    total: int = 0
    counts: tuple[tuple[str, int], ...] = ()
    elapsed: float | None = None
    watch: str = ""
    spent: str = ""
    extra: Content = Content("")
    message: str = ""
    severity: str = "information"
    mode: str = ""


class StatusBar(Widget):
    """` ● running 41/120   38 ✓  2 ✗   3.2 s   saved weather.yml → 4 tests       watch: affected`."""

    def __init__(self) -> None:
        super().__init__()
        self._status = Status()

    def show(self, status: Status) -> None:
        """Something has changed."""
        if status != self._status:
            self._status = status
            self.refresh()

    def render(self) -> Content:
        """As much as fits, in order of use; the message is cut last."""
        width, status = self.size.width, self._status
        left = Content(" ").join([part for part in (Content(""), self._mode(), self._run()) if part is not None])
        right = Content.styled(f"watch: {status.watch} ", "$muted") if status.watch and width >= 60 else Content("")
        parts = [
            part for part in (self._counts(), self._elapsed(), Content(status.spent), status.extra) if part.cell_length
        ]
        for part in parts:
            if left.cell_length + len(GAP) + part.cell_length + right.cell_length <= width:
                left = left + Content(GAP) + part
        room = width - left.cell_length - right.cell_length - len(GAP) - 1
        if status.message and room >= 10:
            style = {"error": "$verdict-fail", "warning": "$verdict-inconclusive"}.get(status.severity, "$muted")
            left = left + Content(GAP) + shown(one_line(status.message, room), style=style)
        return left + Content(" " * max(width - left.cell_length - right.cell_length, 0)) + right

    def _mode(self) -> Content | None:
        if not self.screen.has_class("-tiny") or not self._status.mode:
            return None
        return Content.styled(f"{self._status.mode} {MARKS['split']}", "bold $primary")

    def _run(self) -> Content:
        status = self._status
        text = one_line(status.text, 30)
        if status.running:
            steps = f" {status.done}/{status.total}" if status.total else ""
            return Content.assemble((MARKS["on"], "$primary"), f" {text}{steps}")
        return Content(text)

    def _counts(self) -> Content:
        return Content("  ").join(
            [Content.styled(f"{count} {mark(status)}", STYLES.get(status, "")) for status, count in self._status.counts]
        )

    def _elapsed(self) -> Content:
        return Content("" if self._status.elapsed is None else duration_shown(self._status.elapsed))
