"""Mode 2: the editor. The screen composes the text, its side panes and its controllers, and forwards events to them.

The open files (`edit_files.py`), saving them and changes on the disk (`edit_saving.py`), drafts of unsaved text
(`edit_drafts.py`), problems (`edit_checks.py`), what servers offer (`edit_catalogs.py`), completion and explanations
(`edit_help.py`), finding, renaming and formatting (`edit_refactoring.py`).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Container, Horizontal, Vertical
from textual.content import Content

from mcptest_tui.debounce import Debounce
from mcptest_tui.keymap import bindings_for
from mcptest_tui.screens.base import WorkScreen
from mcptest_tui.screens.edit_catalogs import Catalogs
from mcptest_tui.screens.edit_checks import Diagnostics
from mcptest_tui.screens.edit_drafts import Drafting, FirstFiles, Questions
from mcptest_tui.screens.edit_files import OpenFiles
from mcptest_tui.screens.edit_help import Assistance, in_a_line
from mcptest_tui.screens.edit_refactoring import Finding, Refactoring
from mcptest_tui.screens.edit_saving import Saving
from mcptest_tui.state.drafts import Drafts
from mcptest_tui.widgets.completion import HelpCard, Popup
from mcptest_tui.widgets.file_tabs import FileTabs
from mcptest_tui.widgets.frame import Empty
from mcptest_tui.widgets.outline import Outline
from mcptest_tui.widgets.problems import ProblemLine, ProblemList
from mcptest_tui.widgets.splitter import Splitter
from mcptest_tui.widgets.yaml_area import YamlArea
from mcptest_tui.words import MARKS, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual import events
    from textual.binding import BindingType
    from textual.widget import Widget
    from textual.widgets import TextArea

    from mcptest_engine.engine_process.workbench_events import WorkbenchEvent
    from mcptest_tui.screens.edit_docs import OpenDoc
    from mcptest_tui.state.store import Delta

SETTLE_SECONDS = 0.06
"""What needs a look at the word under the cursor waits until the cursor rests."""


class WideSplitter(Splitter):
    """The splitter before the side pane, which only wide terminals have."""

    def apply(self) -> None:
        """Give all the width to the text where there is no side pane."""
        before = self._before()
        if before is not None and not self.screen.has_class("-wide"):
            before.styles.width = None
        else:
            super().apply()


class EditScreen(WorkScreen):
    """The shown file with its problems below and, on wide terminals, outline and help beside it."""

    MODE = "edit"
    CSS_PATH = "edit.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("edit")
    HELP = YamlArea.HELP

    def __init__(self) -> None:
        super().__init__()
        popup, card = Popup(), HelpCard(popup=True, id="help-popup")
        self._over_text = (popup, card)
        drafts = Drafts(self.workbench.workspace.root)
        self.files = OpenFiles(self, drafts, self._file_shown)
        self.catalogs = Catalogs(self, self.files)
        self.assistance = Assistance(self, self.files, self.catalogs, popup, card)
        self.questions = Questions(self, self.assistance.completing.close)
        self.drafting = Drafting(self, self.files, drafts, self.questions)
        self.diagnostics = Diagnostics(self, self.files, self.catalogs, self._checked)
        self.refactoring = Refactoring(self, self.files)
        self.saving = Saving(self, self.files, self.questions, self.drafting, self.diagnostics, self.refactoring)
        self.editor = self.saving
        self.finding = Finding(self, self.files)
        self.opening = FirstFiles(self, self.files, self.drafting)
        self._settle_soon = Debounce(self, SETTLE_SECONDS, self._settle)

    @property
    def current(self) -> OpenDoc | None:
        """The file that is shown."""
        return self.files.current

    def compose_body(self) -> Iterable[Widget]:
        """Yield the text, the popups over it, and the panes around it."""
        with Horizontal(id="edit"):
            with Vertical(id="edit-pane", classes="pane"):
                yield FileTabs()
                with Container(id="edit-texts"):
                    yield Empty(
                        "No file is open",
                        hints=(
                            (key_of("edit.new"), "begin a new suite"),
                            (key_of("edit.files"), "open one of the suites, or any other file"),
                        ),
                        id="edit-empty",
                    )
                yield self.finding.bar
                yield ProblemList(id="problem-list")
            yield WideSplitter(id="edit-side", percent=72)
            with Vertical(id="edit-side-pane", classes="pane"):
                yield Outline(id="outline")
                yield HelpCard(id="edit-help")
        yield ProblemLine()
        yield from self._over_text

    def on_mount(self) -> None:
        """Set up the empty editor; the first files are opened after the last session is restored."""
        self.query_one("#edit-side-pane").border_title = Content("Outline")
        self.query_one("#edit-empty").focus()
        self.call_next(self.opening.begin)  # behind the frame's own, which restores the last session

    @property
    def holds_keys(self) -> bool:
        """Whether typed keys are held for a text that is not shown yet."""
        return self.opening.holds_keys

    def arrive(self, **where: object) -> None:
        """Open the file `path`, at `line` and `column` (from 1) if they are given."""
        path, line, column = where.get("path"), where.get("line"), where.get("column")
        if isinstance(path, str):
            self.opening.is_chosen = True
            self.files.open(path, line if isinstance(line, int) else None, column if isinstance(column, int) else None)

    def restore(self, memory: dict[str, Any]) -> None:
        """Open the files that were open in the last session."""
        self.opening.restore(memory)

    def remember(self) -> dict[str, Any]:
        """Return files and cursors for the next session; write drafts, because the app calls this at its end."""
        self.drafting.flush()
        return self.opening.remember()

    # What the controllers report

    def _file_shown(self, doc: OpenDoc | None) -> None:
        """Attach completion, find bar and checks to the file that is shown now, if any."""
        completing, bar = self.assistance.completing, self.finding.bar
        if doc is None:
            completing.close()
            bar.attach(None)
            self.query_one(ProblemList).display = False
            self.diagnostics.explain("")
            return
        completing.attach(doc.area)
        bar.attach(doc.area)
        self.diagnostics.refresh_marks(doc)
        if doc.checked != doc.text:
            self.diagnostics.check_soon(doc)
        self.files.refresh_tabs()
        self._settle_soon()
        self.refresh_bindings()
        self.call_after_refresh(self.drafting.offer, doc)

    def _checked(self, doc: OpenDoc) -> None:
        """Show the problems of a text that was checked, and complete again where that was waiting."""
        self.files.refresh_tabs()
        self.workbench.refresh_status()
        self.assistance.complete_again(doc)

    def on_resize(self) -> None:
        """Update outline and help, which may have room now."""
        self._settle_soon()

    def _settle(self) -> None:
        """Show what the word at the cursor means, once the cursor rests."""
        if self.current is None or not self.is_current:
            return
        word = self.assistance.word_at_cursor()
        self.diagnostics.explain(in_a_line(word))
        if self.has_class("-wide"):
            self.query_one("#edit-help", HelpCard).show(word)
            self.query_one(Outline).follow(self.current.area.cursor_location[0] + 1)

    # What comes from the app

    def events_applied(self, delta: Delta) -> None:
        """Redraw the verdicts beside the lines when results of tests have changed."""
        if delta.rows_changed or delta.structure_changed:
            self.diagnostics.refresh_notes()

    def documents_read(self) -> None:
        """Check fragments again and redraw the verdicts, after suites were read again."""
        for doc in self.files.docs.values():
            if doc.is_fragment(self.workbench.store.documents):
                doc.checked = None
        if self.is_mounted:
            if self.current is not None and self.current.checked is None:
                self.diagnostics.check_soon(self.current)
            self.diagnostics.refresh_notes()

    def files_changed(self, paths: list[str]) -> None:
        """Compare open files with the disk after files were written, here or elsewhere."""
        changed = {os.path.realpath(path) for path in paths}
        for doc in list(self.files.docs.values()):
            if os.path.realpath(doc.file.path) in changed:
                self.saving.look_at_disk(doc)

    def engine_events(self, events: list[WorkbenchEvent]) -> None:
        """Check again when a server's list has changed; `events_applied` handles all other events."""
        for suite in {event["path"] for event in events if event["event"] == "catalog.remembered"}:
            self.catalogs.forget(suite)
            if self.current is not None and not self.current.checked_by:
                self.diagnostics.check_soon(self.current)

    def engine_changed(self, state: str, message: str) -> None:  # noqa: ARG002
        """Forget requests that will get no answer, when the engine has ended."""
        if state != "ready":
            self.catalogs.engine_lost()

    def caught_up(self) -> None:
        """Compare with the disk and check again when this screen is shown again."""
        self.saving.look_at_all()
        self.diagnostics.refresh_notes()
        self.opening.open_something()
        if self.current is not None:
            self.call_after_refresh(self.drafting.offer, self.current)
            self.diagnostics.check_soon(self.current)  # lists of servers may have been read meanwhile
            if self.focused is None:
                self.current.area.focus()

    def on_app_focus(self) -> None:
        """Compare open files with the disk when the terminal gets the focus back."""
        self.saving.look_at_all()

    def status_text(self) -> Content:
        """Return the line and column of the cursor."""
        if self.current is None:
            return Content("")
        row, column = self.current.area.cursor_location
        return Content.styled(f"{row + 1}:{column + 1}", "$text-muted")

    def badges(self) -> dict[str, str]:
        """Return what the mode bar shows: `✗2` for errors, a dot for unsaved text."""
        errors = sum(1 for doc in self.files.docs.values() for problem in doc.problems if problem.severity == "error")
        dirty = MARKS["dot"] if self.files.unsaved else ""
        told = f"{MARKS['fail']}{errors}" if errors else ""
        return {"edit": f"{told}{dirty}"} if told or dirty else {}

    def back(self) -> bool:
        """Close a popup or the find bar, else focus the text; False when nothing applies."""
        if self.assistance.back() or self.finding.back():
            return True
        if self.current is not None and self.focused is not self.current.area:
            self.current.area.focus()
            return True
        return False

    def hints_first(self) -> dict[str, str]:
        """Return the footer's first keys while one types: fix, next problem, save, run, other modes."""
        if not isinstance(self.focused, YamlArea):
            return {}
        return {"edit.fix": "", "edit.problem.next": "", "edit.save": "", "edit.run": "", "modes": ""}

    # What the widgets tell

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Check the text, and store a draft of it, once typing pauses."""
        event.stop()
        doc = next((one for one in self.files.docs.values() if one.area is event.text_area), None)
        if doc is not None:
            doc.typed()
            self.diagnostics.typed(doc)
            self.drafting.write_soon()
            self._settle_soon()
            if doc.shown_dirty != doc.is_dirty:
                self.files.refresh_tabs()
                self.workbench.refresh_status()

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        """Update completion, problem line and status when the cursor moves."""
        event.stop()
        if self.current is not None and event.text_area is self.current.area:
            self.assistance.completing.moved()
            self.diagnostics.refresh_line(self.current)
            self._settle_soon()
            self.workbench.refresh_status()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Stop holding keys once a text has the focus; close the popup when another widget has it."""
        if isinstance(event.widget, YamlArea):
            self.opening.holds_keys = False
        else:
            self.assistance.completing.close()

    def fit(self) -> None:
        super().fit()
        if self.current is not None:
            self.diagnostics.show_list(self.current)
            self.call_after_refresh(self.files.refresh_tabs)  # as much of its name as there is room for
