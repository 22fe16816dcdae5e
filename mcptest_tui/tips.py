"""Tips: five sentences, each shown once to a person, when it helps; `tips: false` in the settings turns them off."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from textual.widgets import Static

from mcptest_tui.session import read_state, remember

if TYPE_CHECKING:
    from mcptest_tui.base_app import BaseApp

SECONDS = 15
TIPS = {
    "failure": (
        "{0} goes to the failing test, {1} opens its result; there {2} shows the difference",
        "fail.next",
        "open.detail",
        "tab.next",
    ),
    "passed": ("{0} lists every action by its name, {1} the keys of the pane you are in", "app.palette", "app.help"),
    "review": (
        "{0} accepts a proposal, {1} rejects it; {2} writes what was decided",
        "review.accept",
        "review.reject",
        "review.write",
    ),
    "edit": (
        "{0} saves, and what the save affects is run; {1} fixes the problem under the cursor",
        "edit.save",
        "edit.fix",
    ),
    "servers": ("{0} on a tool opens a form to call it; {1} makes the call a test", "catalog.open", "test.save"),
}
"""The sentence, and the actions whose keys stand in it, by what it is shown at: a run's end, or the first look at a mode."""


class TipLine(Static):
    """A tip, in rows of its own between the panes and the status bar: it points to what is shown, and lies over nothing."""

    DEFAULT_CSS = "TipLine { height: auto; max-height: 2; background: $panel; padding: 0 1; }"


class Tips:
    """Shows tips; those that were shown are stored for all workspaces."""

    def __init__(self, app: BaseApp) -> None:
        self._app = app
        self._told: set[str] | None = None
        self._line: TipLine | None = None
        self._is_due = False

    def listen(self) -> None:
        """Remove a tip with its mode: its keys mean other things in the next one."""
        self._app.mode_change_signal.subscribe(self._app, lambda _: self.take_away(), immediate=True)

    def run_finished(self) -> None:
        """A run has ended: how to see why a test failed, or what else there is."""
        if self._app.current_mode == "tests":  # its keys are those of the tests
            self.show("failure" if self._app.store.counts["fail"] else "passed")

    def take_away(self) -> bool:
        """With Escape, and with another mode, where its keys mean other things; False without one."""
        line, self._line, self._is_due = self._line, None, False
        if line is None or not line.is_attached:
            return False
        line.remove()
        return True

    def key_pressed(self) -> None:
        """Remove a tip whose time is over, with a key: a person who looks elsewhere has not read it."""
        if self._is_due:
            self.take_away()

    def _become_due(self) -> None:
        self._is_due = True

    def show(self, name: str) -> None:
        """Show a tip, unless it was shown before, tips are turned off, or another one is still there."""
        screen = self._app.work_screen
        if not self._app.config.tips or screen is None or self._line is not None:
            return
        if self._told is None:
            told = read_state().get("tips")
            self._told = set(filter(TIPS.__contains__, told)) if isinstance(told, list) else set()
        if name in self._told:
            return
        from mcptest_tui.words import key_of

        self._told.add(name)
        sentence, *actions = TIPS[name]
        keys = (key_of(action) for action in actions)
        self._line = TipLine(f"tip: {sentence.format(*keys)}", markup=False)
        screen.mount(self._line, after="#body")
        self._line.set_timer(SECONDS, self._become_due)
        with suppress(OSError):  # told again next time
            remember(tips=sorted(self._told))
