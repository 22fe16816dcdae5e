"""The terminal's title and its progress mark. Both show only counts, and are restored at the end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcptest_tui.words import mark

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcptest_tui.state.progress import Progress

KEEP, GIVE_BACK = "\x1b[22;2t", "\x1b[23;2t"
NO_PROGRESS = "\x1b]9;4;0;0\x07"


def title_text(counts: Mapping[str, int], *, running: bool) -> str:
    """Return the terminal's title: `✗2 ✓38 mcptest`, with `● ` before it during a run."""
    parts = [f"{mark(status)}{counts[status]}" for status in ("fail", "pass") if counts.get(status)]
    return " ".join([*([mark("running")] if running else []), *parts, "mcptest"])


def progress_text(done: int, total: int, *, failed: bool) -> str:
    """OSC 9;4: how much of a run is done, in red once something has failed."""
    return f"\x1b]9;4;{2 if failed else 1};{min(100 * done // total, 100) if total else 0}\x07"


def takes_progress(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether this terminal is known to take OSC 9;4; to some others any OSC 9 is a notification."""
    if environ.get("TMUX") or environ.get("STY"):
        return False
    known = environ.get("TERM_PROGRAM", "").lower() in ("ghostty", "wezterm")
    return known or bool(environ.get("WT_SESSION")) or environ.get("ConEmuANSI") == "ON"


class Title:
    """The title and the progress of the terminal, written only when they change."""

    def __init__(self, *, progress: bool | None = None) -> None:
        self._shown = ""
        self._takes_progress = takes_progress() if progress is None else progress
        self._progress = ""

    def show(self, counts: Mapping[str, int], progress: Progress, write: Callable[[str], None]) -> None:
        """Show title and progress; the first time the terminal stores its old title."""
        text = title_text(counts, running=progress.busy)
        if text != self._shown:
            write(f"{'' if self._shown else KEEP}\x1b]2;{text}\x07")
            self._shown = text
        if self._takes_progress:
            self._show_progress(counts, progress, write)

    def give_back(self, write: Callable[[str], None]) -> None:
        """Restore the terminal's old title, and remove the progress."""
        if self._shown:
            write(GIVE_BACK + (NO_PROGRESS if self._progress else ""))
            self._shown = self._progress = ""

    def _show_progress(self, counts: Mapping[str, int], progress: Progress, write: Callable[[str], None]) -> None:
        on = progress.busy and progress.run is not None
        text = progress_text(progress.done, progress.total, failed=bool(counts.get("fail"))) if on else ""
        if text != self._progress:
            write(text or NO_PROGRESS)
            self._progress = text
