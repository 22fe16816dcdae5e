"""One row: what is being run, the counters, how long, what a save runs, and the last message.

Drawn anew without a layout, because it changes many times a second. A message is there for seconds, so it takes the place of
whatever does not fit beside it. On tiny terminals it also names the modes, in place
of the mode bar.
"""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from mcptest_tui.safe import one_line, shown
from mcptest_tui.words import MARKS, duration_shown, mark

COUNTED = ("pass", "fail", "inconclusive", "skip", "stopped")
STYLES = {status: f"$verdict-{status}" for status in COUNTED}
GAP = "   "


class Status(NamedTuple):
    """What the status bar shows: its texts and counts."""

    running: bool = False
    text: str = ""
    done: int = 0
    total: int = 0
    counts: tuple[tuple[str, int], ...] = ()
    elapsed: float | None = None
    left: float | None = None
    watch: str = ""
    live: str = ""
    spent: str = ""
    extra: Content = Content("")
    message: str = ""
    details: str = ""
    severity: str = "information"
    mode: str = ""


class StatusBar(Widget):
    """` ● running 41/120   38 ✓  2 ✗   3.2 s, about 6.1 s left   saved weather.yml → 4 tests       watch: affected`."""

    def __init__(self) -> None:
        super().__init__()
        self._status = Status()

    def show(self, status: Status) -> None:
        if status != self._status:
            self._status = status
            self.refresh()

    def render(self) -> Content:
        return laid_out(self._status, self.size.width, tiny=self.screen.has_class("-tiny"))


def laid_out(status: Status, width: int, *, tiny: bool = False) -> Content:
    """As much as fits, in order of use; a message makes room for itself."""
    right = Content.styled(f"watch: {status.watch} ", "$muted") if status.watch and width >= 60 else Content("")
    mode = Content.styled(f"{status.mode} {MARKS['split']}", "bold $primary") if tiny and status.mode else Content("")
    begin = Content(" ").join([Content(""), *([mode] if mode.cell_length else []), _run(status)])
    parts = [Content.styled(f"{count} {mark(name)}", STYLES.get(name, "$muted")) for name, count in status.counts]
    counts = Content("  ").join(parts)
    elapsed = Content("" if status.elapsed is None else duration_shown(status.elapsed))
    if status.left is not None:
        elapsed += Content(f", about {duration_shown(status.left)} left")
    live = Content("" if status.message else status.live)
    left, end = begin, right.cell_length + len(GAP) if right.cell_length else 0
    for part in (counts, elapsed, Content(status.spent), status.extra, live):
        if part.cell_length and left.cell_length + len(GAP) + part.cell_length + end <= width:
            left = left + Content(GAP) + part
    if not status.message:
        return _row(left, right, width)
    # What goes for a message is there again once that goes; while a run is on, its counters stay.
    counted = begin + Content(GAP) + counts if counts.cell_length else begin
    fewer = [(left, right), (left, Content("")), (counted, Content(""))]
    fewer += [] if status.running else [(begin, Content("")), (mode, Content(""))]
    whole = f"{status.message} ({status.details})" if status.details else status.message
    wanted = cell_len(one_line(whole, width))
    for beside, behind in fewer:
        gap = GAP if beside.cell_length else " "
        room = width - beside.cell_length - behind.cell_length - len(gap) - 1
        if room >= wanted:
            break
    if room < 10:
        return _row(left, right, width)
    said = whole if room >= wanted else status.message
    style = {"error": "$verdict-fail", "warning": "$verdict-inconclusive"}.get(status.severity, "$muted")
    return _row(beside + Content(gap) + shown(one_line(said, room), style=style), behind, width)


def _row(left: Content, right: Content, width: int) -> Content:
    return left + Content(" " * max(width - left.cell_length - right.cell_length, 0)) + right


def _run(status: Status) -> Content:
    text = one_line(status.text, 30)
    if status.running:
        steps = f" {status.done}/{status.total}" if status.total else ""
        return Content.assemble((MARKS["on"], "$primary"), f" {text}{steps}")
    return Content(text)
