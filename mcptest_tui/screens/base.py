"""The base of every mode's screen: mode bar, body, status bar and footer, and what all of them can do.

A screen gives `MODE` and `compose_body`; the rest are hooks that it may override. Sizes are classes: `-narrow` (under
100 columns), `-wide` (160 and more), `-short` (under 30 rows), `-tiny` (60 columns or 15 rows, and less: mode bar and
status bar are one row), `-no-room` (under 40x10: one line that asks for more).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Container
from textual.css.query import NoMatches

from mcptest_tui.mode_screen import ModeScreen
from mcptest_tui.widgets.footer import FittedFooter
from mcptest_tui.widgets.frame import NoRoom, size_classes
from mcptest_tui.widgets.mode_bar import ModeBar
from mcptest_tui.widgets.splitter import Splitter
from mcptest_tui.widgets.status_bar import Status, StatusBar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator

    from textual.app import ComposeResult
    from textual.dom import DOMNode
    from textual.message import Message
    from textual.screen import Screen
    from textual.widget import Widget

    from mcptest_tui.base_app import BaseApp


def in_background(screen: Screen[Any], make: Callable[[], Coroutine[Any, Any, object]], group: str) -> None:
    """Run a coroutine as a worker of the screen, and cancel the worker of this group that still runs.

    The coroutine is made only when its turn comes, so that one that is cancelled before leaves nothing.
    """
    screen.run_worker(make, group=group, exclusive=True, exit_on_error=False)  # type: ignore[arg-type]


class WorkScreen(ModeScreen):
    """One mode. Subclasses set `MODE`, `BINDINGS = bindings_for(MODE)`, and yield their panes in `compose_body`.

    Textual calls `on_mount`, `on_resize` and the like of every base class itself: they do not call `super()`.
    """

    HELP: ClassVar[str | None] = None
    controllers: tuple[Controller, ...] = ()
    _memory: dict[str, Any] | None = None
    _focused_before: Widget | None = None

    def __init__(self) -> None:
        super().__init__()
        self.panes = Panes(self)

    def _get_dispatch_methods(self, method_name: str, message: Message) -> Iterator[tuple[type, Any]]:
        """Yield the screen's own message handlers, then those of its controllers."""
        yield from super()._get_dispatch_methods(method_name, message)
        for controller in self.controllers:
            handler = getattr(controller, method_name, None)
            if handler is not None:
                yield type(controller), handler

    @property
    def workbench(self) -> BaseApp:
        """The running app, typed as the workbench's base class."""
        return self.app  # type: ignore[return-value]

    def compose(self) -> ComposeResult:
        """Yield the bars around the body, and the body with the panes of `compose_body`."""
        # Before there is anything to style: to set classes later costs styling everything again.
        self.update_classes(size_classes(self.app.size), update=False)
        yield ModeBar(self.MODE)
        with Container(id="body"):
            yield from self.compose_body()
        yield StatusBar()
        yield FittedFooter()
        yield NoRoom()

    # What a screen overrides, beside what `ModeScreen` has

    def compose_body(self) -> Iterable[Widget]:
        """Yield the panes of this mode; each screen overrides it."""
        return ()

    # The frame

    def on_mount(self) -> None:
        """Set the size classes, and restore what the last session stored for this mode."""
        self.fit()
        memory = self.workbench.session.screens.get(self.MODE)
        if isinstance(memory, dict):
            self._memory = memory
            self.call_after_refresh(self._restore)

    def on_resize(self) -> None:
        """Set the size classes again; Textual's own breakpoints allow only one class per direction."""
        self.fit()

    def on_screen_resume(self) -> None:
        """Lay out for the current size, and let the app bring the screen up to date."""
        self.fit()
        self.workbench.screen_shown(self)

    def on_screen_suspend(self) -> None:
        """Redraw the footer when a dialog or another screen covers this one."""
        self.query_one(FittedFooter).refresh()

    def fit(self) -> None:
        """Set the classes for the terminal's size, and lay out the splitters again."""
        wanted = size_classes(self.app.size)
        self._focused_before = self.focused or self._focused_before
        self.call_after_refresh(self._focus_again)
        if any(self.has_class(name) != on for name, on in wanted.items()):
            self.update_classes(wanted, animate=False)
        for splitter in self.panes.splitters:
            splitter.apply()

    def _focus_again(self) -> None:
        """Restore a focus that was lost for lack of room; end the zoom of a pane that is hidden now."""
        if self.panes.zoomed is not None and not self.panes.zoomed.display:
            self._focused_before = None
            self.set_focus(None)
            self.panes.leave_zoom()
            return
        if self.focused is None and not self.has_class("-no-room"):
            before = self._focused_before
            if before is not None and before.focusable:
                before.focus(scroll_visible=False)
            else:
                self.focus_next()

    def _restore(self) -> None:
        memory, self._memory = self._memory, None
        if memory is not None:
            sizes = memory.get("sizes")
            for splitter in self.panes.splitters:
                splitter.take(sizes.get(splitter.id) if isinstance(sizes, dict) else None)
            with self.workbench.problems.recovering("the session"):
                self.restore(memory)

    @property
    def is_restoring(self) -> bool:
        """Whether the stored state of the last session is still to be applied."""
        return self._memory is not None

    def remember_all(self) -> dict[str, Any]:
        """Return what `remember` returns and the pane sizes; before restoring, the stored state itself."""
        if self._memory is not None:
            return self._memory
        sizes = {splitter.id: splitter.percent for splitter in self.panes.splitters if splitter.percent is not None}
        return {**self.remember(), **({"sizes": sizes} if sizes else {})}

    def show_status(self, status: Status, badges: dict[str, str], title: str) -> None:
        """Update the status bar and the mode bar."""
        with suppress(NoMatches):  # the app is about to end, and the bars are gone already
            self.query_one(StatusBar).show(status)
            self.query_one(ModeBar).show(badges, title)

    def key_title(self, action: str) -> str | None:  # noqa: ARG002 - of the modes that need it
        """Return the footer's label for an action; "" for its usual one, None to leave it out."""
        return ""

    def action_next_pane(self) -> None:
        """Move the focus to the next widget that can take it."""
        self.focus_next()

    def action_previous_pane(self) -> None:
        """Move the focus to the previous widget that can take it."""
        self.focus_previous()


class Controller:
    """One concern of a screen, with a state of its own; the screen composes widgets and controllers.

    An action's name begins with its controller: `saving.save` is the method `action_save` of the screen's attribute `saving`.
    Messages of widgets reach its handlers as they reach those of the screen. It knows its screen only as a `WorkScreen`;
    what else it needs is passed to its constructor.
    """

    def __init__(self, screen: WorkScreen) -> None:
        self.screen = screen
        screen.controllers += (self,)

    @property
    def workbench(self) -> BaseApp:
        """The running app, typed as the workbench's base class."""
        return self.screen.workbench

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - of those that need it
        """Whether an action applies now: False leaves its key out of the footer, None dims it."""
        return True


class Panes(Controller):
    """The panes of a screen: zooms one of them, and changes their sizes."""

    def __init__(self, screen: WorkScreen) -> None:
        super().__init__(screen)
        self.zoomed: Widget | None = None
        self._splitters: tuple[Splitter, ...] = ()

    @property
    def splitters(self) -> tuple[Splitter, ...]:
        """The splitters between the panes, which do not change once composed."""
        found = self._splitters or tuple(self.screen.query(Splitter))
        if self.screen.is_mounted:
            self._splitters = found
        return found

    def pane_of(self, widget: Widget | None) -> Widget | None:
        """The pane that holds a widget: the nearest with class `pane`, beside a splitter, or directly in the body."""
        while widget is not None and widget.parent is not None:
            parent = widget.parent
            siblings = parent.children
            if widget.has_class("pane") or getattr(parent, "id", "") == "body":
                return widget
            if any(isinstance(sibling, Splitter) for sibling in siblings):
                return widget
            widget = parent if parent is not self.screen else None  # type: ignore[assignment]
        return None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Dim the resize keys while panes are shown one at a time."""
        if action == "resize":
            return True if any(splitter.display for splitter in self.splitters) else None
        return super().check_action(action, parameters)

    def action_zoom(self) -> None:
        """Show the focused pane alone, or all panes again."""
        if self.zoomed is not None:
            self.leave_zoom()
            return
        pane = self.pane_of(self.screen.focused)
        node: DOMNode | None = pane
        while node is not None and node.id != "body" and node.parent is not None:
            for sibling in node.parent.children:
                sibling.add_class("-zoomed-in" if sibling is node else "-zoomed-away")
            node = node.parent
        self.screen.fit()
        if pane is not None:
            self.zoomed = pane
            pane.add_class("-zoomed")

    def leave_zoom(self) -> bool:
        """Show all panes again; return False when none was zoomed."""
        if self.zoomed is None:
            return False
        self.zoomed.remove_class("-zoomed")
        self.screen.query(".-zoomed-away, .-zoomed-in").remove_class("-zoomed-away", "-zoomed-in")
        self.zoomed = None
        self.screen.fit()
        return True

    def action_resize(self, amount: int) -> None:
        """Make the focused pane wider by `amount` columns; 0 gives all panes their first sizes."""
        pane = self.pane_of(self.screen.focused)
        splitters = self.splitters
        for splitter in splitters:
            if amount == 0:
                splitter.reset()
            elif pane is not None and pane.parent is not None and splitter.parent is pane.parent:
                siblings = pane.parent.children
                before = siblings.index(pane) < siblings.index(splitter)
                splitter.grow(amount if before else -amount)
                return
