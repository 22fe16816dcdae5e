"""Tips: five sentences, each told once in a person's life, when it helps; `tips: false` in the settings turns them off."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mcptest_tui.session import read_state, remember

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_tui.app import Workbench

SECONDS = 15
SIGN = "tip: "
TIPS = {
    "failure": (
        "{0} goes to the failing test; {1} turns to the tab that shows the difference",
        "fail.next",
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
        "{0} saves, and what the save affects is run; {1} mends the problem under the cursor",
        "edit.save",
        "edit.fix",
    ),
    "servers": ("{0} on a tool opens a form to call it; {1} makes the call a test", "catalog.open", "test.save"),
}
"""The sentence, and the actions whose keys stand in it, by what it is told of: a run's end, or the first look at a mode."""


class Tips:
    """Which were told stands in the file of what is remembered for all workspaces."""

    def __init__(self, app: Workbench) -> None:
        self._app = app
        self._told: set[str] | None = None

    def hear(self, events: Iterable[dict[str, Any]]) -> None:
        """A run has ended: how to see why a test failed, or what else there is."""
        for event in events:
            if (
                event.get("event") == "run.finished" and self._app.current_mode == "tests"
            ):  # its keys are those of the tests
                self.tell("failure" if self._app.store.counts["fail"] else "passed")

    def take_away(self) -> None:
        """Another mode is shown: what was told names keys that mean something else, or nothing, there."""
        for notice in [one for one in self._app._notifications if one.message.startswith(SIGN)]:
            self._app._unnotify(notice)

    def tell(self, name: str) -> None:
        """Tell a tip, unless it was told before, none is wanted, or another one is still there."""
        if not self._app.config.tips or any(notice.message.startswith(SIGN) for notice in self._app._notifications):
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
        self._app.notify(f"{SIGN}{sentence.format(*keys)}", markup=False, timeout=SECONDS)
        with suppress(OSError):  # told again next time
            remember(tips=sorted(self._told))
