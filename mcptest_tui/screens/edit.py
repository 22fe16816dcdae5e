"""Mode 2: the editor. The screen composes the text, what stands around it, and its controllers, and forwards what happens.

The open files (`edit_files.py`), saving them and what others do to them (`edit_saving.py`), drafts of unsaved text
(`edit_drafts.py`), what is wrong (`edit_checks.py`), what servers offer (`edit_catalogs.py`), completion and explanations
(`edit_help.py`), finding, renaming and tidying (`edit_refactoring.py`).
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
    """The gap before the side pane, which only wide terminals have."""

    def apply(self) -> None:
        """All the width for the text where there is no side pane."""
        before = self._before()
        if before is not None and not self.screen.has_class("-wide"):
            before.styles.width = None
        else:
            super().apply()


class EditScreen(WorkScreen):
    """The open files, one of them shown, with its problems below and, where it is wide, outline and help beside it."""

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
        """The text, what lies over it, and what stands around it."""
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
        """The files of the last session, else the first suite."""
        self.query_one("#edit-side-pane").border_title = Content("Outline")
        self.query_one("#edit-empty").focus()
        self.call_next(self.opening.begin)  # behind the frame's own, which restores the last session

    @property
    def holds_keys(self) -> bool:
        """Whether what is typed is meant for a text that is not there yet."""
        return self.opening.holds_keys

    def arrive(self, **where: object) -> None:
        """`path` and, if wanted, `line` and `column`, from 1."""
        path, line, column = where.get("path"), where.get("line"), where.get("column")
        if isinstance(path, str):
            self.opening.is_chosen = True
            self.files.open(path, line if isinstance(line, int) else None, column if isinstance(column, int) else None)

    def restore(self, memory: dict[str, Any]) -> None:
        """The files that were open."""
        self.opening.restore(memory)

    def remember(self) -> dict[str, Any]:
        """Files and cursors. Drafts of what is unsaved are written here too, because this is called at the end."""
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
        """The problems of a text are known."""
        self.files.refresh_tabs()
        self.workbench.refresh_status()
        self.assistance.complete_again(doc)

    def on_resize(self) -> None:
        """Outline and help may be there now."""
        self._settle_soon()

    def _settle(self) -> None:
        """Show what stands at the cursor, which rests."""
        if self.current is None or not self.is_current:
            return
        word = self.assistance.word_at_cursor()
        self.diagnostics.explain(in_a_line(word))
        if self.has_class("-wide"):
            self.query_one("#edit-help", HelpCard).show(word)
            self.query_one(Outline).follow(self.current.area.cursor_location[0] + 1)

    # What comes from the app

    def events_applied(self, delta: Delta) -> None:
        """Verdicts may have changed."""
        if delta.rows_changed or delta.structure_changed:
            self.diagnostics.refresh_notes()

    def documents_read(self) -> None:
        """Suites were read anew: fragments have other problems, tests other lines; a first suite may be there to open."""
        for doc in self.files.docs.values():
            if doc.is_fragment(self.workbench.store.documents):
                doc.checked = None
        if self.is_mounted:
            if self.current is not None and self.current.checked is None:
                self.diagnostics.check_soon(self.current)
            self.diagnostics.refresh_notes()

    def files_changed(self, paths: list[str]) -> None:
        """Something was written: by us, or by somebody else."""
        changed = {os.path.realpath(path) for path in paths}
        for doc in list(self.files.docs.values()):
            if os.path.realpath(doc.file.path) in changed:
                self.saving.look_at_disk(doc)

    def engine_events(self, events: list[WorkbenchEvent]) -> None:
        """Check by the new list of a server; `events_applied` handles all other events."""
        for suite in {event["path"] for event in events if event["event"] == "catalog.remembered"}:
            self.catalogs.forget(suite)
            if self.current is not None and not self.current.checked_by:
                self.diagnostics.check_soon(self.current)

    def engine_changed(self, state: str, message: str) -> None:  # noqa: ARG002
        """Forget requests that get no answer any more."""
        if state != "ready":
            self.catalogs.engine_lost()

    def caught_up(self) -> None:
        """Shown again: files and verdicts may be different."""
        self.saving.look_at_all()
        self.diagnostics.refresh_notes()
        self.opening.open_something()
        if self.current is not None:
            self.call_after_refresh(self.drafting.offer, self.current)
            self.diagnostics.check_soon(self.current)  # lists of servers may have been read meanwhile
            if self.focused is None:
                self.current.area.focus()

    def on_app_focus(self) -> None:
        """Back from another window, where a file may have been written."""
        self.saving.look_at_all()

    def status_text(self) -> Content:
        """Line and column of the cursor."""
        if self.current is None:
            return Content("")
        row, column = self.current.area.cursor_location
        return Content.styled(f"{row + 1}:{column + 1}", "$text-muted")

    def badges(self) -> dict[str, str]:
        """`✗2` for errors, a dot for unsaved text."""
        errors = sum(1 for doc in self.files.docs.values() for problem in doc.problems if problem.severity == "error")
        dirty = MARKS["dot"] if self.files.unsaved else ""
        told = f"{MARKS['fail']}{errors}" if errors else ""
        return {"edit": f"{told}{dirty}"} if told or dirty else {}

    def back(self) -> bool:
        """Close what lies over the text, then go to the text."""
        if self.assistance.back() or self.finding.back():
            return True
        if self.current is not None and self.focused is not self.current.area:
            self.current.area.focus()
            return True
        return False

    def hints_first(self) -> dict[str, str]:
        """Mend what is wrong, save, run; letters and digits are typed, so how to get to the other modes too."""
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
        """Show what stands at the cursor."""
        event.stop()
        if self.current is not None and event.text_area is self.current.area:
            self.assistance.completing.moved()
            self.diagnostics.refresh_line(self.current)
            self._settle_soon()
            self.workbench.refresh_status()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """The popup belongs to the text; and so do the keys that were held for it."""
        if isinstance(event.widget, YamlArea):
            self.opening.holds_keys = False
        else:
            self.assistance.completing.close()

    def fit(self) -> None:
        super().fit()
        if self.current is not None:
            self.diagnostics.show_list(self.current)
            self.call_after_refresh(self.files.refresh_tabs)  # as much of its name as there is room for
