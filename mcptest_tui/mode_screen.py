"""A mode's screen as the app sees it: the methods that the app calls; `screens/base.py` draws the frame around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from textual._compositor import Compositor
from textual.content import Content
from textual.screen import Screen

from mcptest_tui.problems import Sturdy
from mcptest_tui.styles.sheet import state_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual import events
    from textual._compositor import ChopsUpdate
    from textual.geometry import Region, Size
    from textual.widget import Widget

    from mcptest_engine.engine_process.workbench_events import WorkbenchEvent
    from mcptest_tui.state.catalog import Item
    from mcptest_tui.state.store import Delta
    from mcptest_tui.widgets.status_bar import Status


class SparingCompositor(Compositor):
    """Renders the widgets that lie where something has changed. What is drawn is the same."""

    _changed: tuple[Region, ...] = ()

    @property
    def visible_widgets(self) -> dict[Widget, tuple[Region, Region]]:
        """All of them; while a part is drawn, those that are seen in it: what lies behind a widget in front is not."""
        found = super().visible_widgets
        changed = self._changed
        if not changed:
            return found
        seen = {}
        for widget, (region, clip) in found.items():  # the foremost first
            visible = region.intersection(clip)
            if any(one.overlaps(visible) for one in changed):
                seen[widget] = region, clip
                changed = tuple(one for one in changed if not visible.contains_region(one))
        return seen

    def render_partial_update(self) -> ChopsUpdate | None:
        """As the base class, of what has changed; of all, in a Textual that calls these by other names."""
        _ = getattr(self, "cuts", None)  # which are made of all widgets, and kept
        self._changed = tuple(getattr(self, "_dirty_regions", ()))
        try:
            return super().render_partial_update()
        finally:
            self._changed = ()


class Editor(Protocol):
    """The editor, as far as other screens use it: texts that may not be saved yet."""

    def unsaved_names(self) -> list[str]:
        """The names of files with text that would be lost by quitting."""

    def unsaved_text(self, path: str) -> str | None:
        """The text of a file that was changed here and not saved; None without one."""

    def change_text(self, path: str, text: str) -> None:
        """Make this the unsaved text of a file for which `unsaved_text` gave one."""

    async def save_all(self) -> bool:
        """Write all of it, up to the first file that was not written, which was said or asked; False then."""

    def flush_drafts(self) -> None:
        """Write drafts of all unsaved text, before the workbench ends."""

    def open_paths(self) -> Iterable[str]:
        """The paths of the files that are open."""


class ModeScreen(Sturdy, Screen[None]):
    """One mode. Each of these does nothing unless a screen overrides it."""

    MODE: ClassVar[str] = ""
    editor: Editor | None = None
    """What edits files, in the mode that does."""
    _styled_for: object = None

    def __init__(self) -> None:
        super().__init__()
        self._compositor = SparingCompositor()
        self._load_sheet()

    def _load_sheet(self) -> None:
        """Read the style sheet before there is anything to style: read later, it has all of the app styled anew, twice."""
        app = self.app
        for path in self.css_path:
            if not app.stylesheet.has_source(str(path), ""):
                app.stylesheet.read(path)
        self._css_update_count = getattr(app, "_css_update_count", -1)

    def _on_screen_resume(self, event: events.ScreenResume) -> None:
        """Style everything anew only if what decides about styles has changed since: mostly it has not."""
        now = self._decides_styles()
        event.refresh_styles = getattr(event, "refresh_styles", True) and self._styled_for not in (None, now)
        self._styled_for = now

    def _on_screen_suspend(self) -> None:
        """Another screen is shown: changes of the app's styles do not reach this one from now on."""
        self._styled_for = self._decides_styles()

    def _compositor_refresh(self) -> None:
        """As the base class, which also makes pictures that are not shown, while updates are delayed."""
        if not getattr(self.app, "delayed", 0):
            super()._compositor_refresh()

    def _screen_resized(self, size: Size) -> None:  # noqa: ARG002
        """As the base class, in the size that the terminal has now: two sizes on their way would follow each other for ever."""
        super()._screen_resized(self.app.size)

    def _decides_styles(self) -> object:
        app = self.app
        # always another, where Textual does not count
        return state_of(app), getattr(app, "_css_update_count", object())

    def arrive(self, **where: object) -> None:
        """Called by `app.go`, also when this screen is on already: show that place."""

    def events_applied(self, delta: Delta) -> None:
        """The store has changed; called at most 20 times a second, on the current screen and once when it is shown again."""

    def engine_events(self, events: list[WorkbenchEvent]) -> None:
        """The events themselves, as they came; called on every screen that exists, before `events_applied`."""

    def documents_read(self) -> None:
        """The store has documents that were read, or read again; called on every screen that exists."""

    def caught_up(self) -> None:
        """Called when the screen is shown again, to draw what happened meanwhile."""

    def files_changed(self, paths: list[str]) -> None:
        """Files changed on the disk, or may have; called on every screen, after their documents were read again."""

    def engine_changed(self, state: str, message: str) -> None:
        """Called on every screen when the engine process is "ready", "lost" or "gone"."""

    def remember(self) -> dict[str, Any]:
        """What the session stores of this screen: plain JSON, no text from servers."""
        return {}

    def restore(self, memory: dict[str, Any]) -> None:
        """Take up what `remember` gave in an earlier session; called once, after mounting. May be of any shape."""

    def status_text(self) -> Content:
        """Return the text of this screen for the status bar."""
        return Content("")

    def back(self) -> bool:
        """Go one level back inside this screen; return False when there is none."""
        return False

    def idle_text(self, action: str) -> str:  # noqa: ARG002 - of the modes that need it
        """The message of a key that has nothing to do now; "" for that of its action."""
        return ""

    def hints_first(self) -> dict[str, str]:
        """What the footer names first at the moment: ids of actions, or words of groups, and titles ("" for its own)."""
        return {}

    def badges(self) -> dict[str, str]:
        """Return counts that need action, by mode, for the mode bar: {"edit": "✗2"}."""
        return {}

    def tools(self) -> Iterable[tuple[str, str, Item]]:
        """(suite or "", server, tool) of what can be called by hand right now."""
        return ()

    def connected_catalogs(self) -> Iterable[tuple[str, str, dict[str, Any]]]:
        """(suite or "", server, what it listed) of the servers that are connected."""
        return ()

    def tests_wait(self) -> None:
        """Called on every screen when tests begin or stop waiting for a person."""

    def remember_all(self) -> dict[str, Any]:
        """Return what the session stores of this screen and of its frame."""
        return self.remember()

    def show_status(self, status: Status, badges: dict[str, str], title: str) -> None:
        """Show new contents in the bars of the frame."""
