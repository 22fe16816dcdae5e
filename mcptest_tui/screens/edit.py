"""Mode 2: the editor. The screen owns the open files and what is known of them; the widgets only show it.

Opening and saving stands in `edit_files.py`, what others do to a file in `edit_disk.py`, unsaved text in `edit_drafts.py`, what
is wrong and what it came to in `edit_checks.py`, completion and explanations in `edit_help.py`.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Container, Horizontal, Vertical
from textual.content import Content

from mcptest_engine.core.words import counted
from mcptest_tui.actions.edit import ACTIONS
from mcptest_tui.keymap import bindings_for
from mcptest_tui.places import path_here
from mcptest_tui.quiet import Quiet
from mcptest_tui.safe import shown, without_middle
from mcptest_tui.screens.edit_checks import EditChecks
from mcptest_tui.screens.edit_files import EditFiles
from mcptest_tui.screens.edit_find import EditFind
from mcptest_tui.screens.edit_help import EditHelp
from mcptest_tui.state.drafts import Drafts
from mcptest_tui.widgets.completion import Completing, HelpCard, Popup
from mcptest_tui.widgets.empty import Empty
from mcptest_tui.widgets.file_tabs import FileTabs, Tab
from mcptest_tui.widgets.find_bar import FindBar
from mcptest_tui.widgets.frame import show_titles
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

    from mcptest_tui.screens.edit_docs import OpenDoc

MOST_RESTORED = 20
SHORTEST_NAME = 20
HOLD_SECONDS = 0.5
SETTLE_SECONDS = 0.06
"""What needs a look at the word under the cursor waits until the cursor rests."""
_ANYTIME = frozenset({"files", "new_file", "next_file"})
_NEEDS_FILE = frozenset(action.method.removeprefix("action_") for action in ACTIONS if not action.where) - _ANYTIME


class WideSplitter(Splitter):
    """The gap before the side pane, which only wide terminals have."""

    def apply(self) -> None:
        """All the width for the text where there is no side pane."""
        before = self._before()
        if before is not None and not self.screen.has_class("-wide"):
            before.styles.width = None
        else:
            super().apply()


class EditScreen(EditFiles, EditChecks, EditHelp, EditFind):
    """The open files, one of them shown, with its problems below and, where it is wide, outline and help beside it."""

    MODE = "edit"
    CSS_PATH = "edit.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("edit")
    HELP = YamlArea.HELP

    def __init__(self) -> None:
        super().__init__()
        self.docs: dict[str, OpenDoc] = {}
        self.current: OpenDoc | None = None
        self.drafts: Drafts
        self.completing: Completing
        self._settle_soon = Quiet(self, SETTLE_SECONDS, self.settle)
        self._restored = False
        self._wraps = False
        self._begun = False
        self.holds_keys = True  # until the text has the focus: what is typed meanwhile is meant for it

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
                yield FindBar()
                yield ProblemList(id="problem-list")
            yield WideSplitter(id="edit-side", percent=72)
            with Vertical(id="edit-side-pane", classes="pane"):
                yield Outline(id="outline")
                yield HelpCard(id="edit-help")
        yield ProblemLine()
        yield Popup()
        yield HelpCard(popup=True, id="help-popup")

    def on_mount(self) -> None:
        """The files of the last session, else the first suite."""
        super().on_mount()
        self.drafts = Drafts(self.workbench.workspace.root)
        self.completing = Completing(self.query_one(Popup), self.query_one("#help-popup", HelpCard), self.offer)
        self.start_drafting()
        self.query_one("#edit-side-pane").border_title = Content("Outline")
        self.query_one("#edit-empty").focus()
        self.call_after_refresh(self._open_something)
        self._hold()

    def _hold(self, was_there: bool = False) -> None:
        """Until the text has the focus; or until it was there for a while, since something else may have taken the focus."""
        there = self._begun and self._memory is None and (self.current is None or self.current.area.is_mounted)
        if there and was_there:
            self._release()
        elif self.holds_keys:
            self.set_timer(HOLD_SECONDS, partial(self._hold, there))

    def _release(self) -> None:
        self.holds_keys = False

    # Places

    def arrive(self, **where: Any) -> None:
        """`path` and, if wanted, `line` and `column`, from 1."""
        path = where.get("path")
        if isinstance(path, str):
            self._restored = True
            line, column = where.get("line"), where.get("column")
            self.open_path(path, line if isinstance(line, int) else None, column if isinstance(column, int) else None)

    def restore(self, memory: dict[str, Any]) -> None:
        """The files that were open, as far as they still exist."""
        self._wraps = memory.get("wrap") is True
        files = [told for told in memory.get("files", ()) if isinstance(told, dict)][:MOST_RESTORED]
        current = self.current
        for told in files:
            path = told.get("path")
            if isinstance(path, str) and (os.path.isfile(path) or self.drafts.find(path) is not None):  # noqa: PTH113
                self.open_path(path, int(told.get("line") or 1), int(told.get("column") or 1), quiet=True)
        wanted = current.file.path if current is not None and self._restored else memory.get("current")
        if isinstance(wanted, str) and wanted in self.docs:
            self.show_doc(self.docs[wanted])
        self.open_left_behind()

    def remember(self) -> dict[str, Any]:
        """Files and cursors. What is unsaved is put aside here too, because this is asked for at the end."""
        self.flush_drafts()
        files = [
            {"path": path, "line": doc.area.cursor_location[0] + 1, "column": doc.area.cursor_location[1] + 1}
            for path, doc in self.docs.items()
        ]
        current = self.current.file.path if self.current else None
        return {"files": files, "current": current, "wrap": self._wraps}

    def _open_something(self) -> None:
        self._begun = True
        if self.docs or self._restored or self._memory is not None:
            return
        path = next(iter(self.workbench.store.documents), None)
        if path is not None:
            self.open_path(path)
        self.open_left_behind()
        if not self.docs:
            self._release()

    def show_doc(self, doc: OpenDoc) -> None:
        """Edit this one."""
        for other in self.docs.values():
            other.area.display = other is doc
        self.query_one("#edit-empty").display = False
        self.current = doc
        doc.area.soft_wrap = self._wraps
        self.completing.attach(doc.area)
        if self.is_current:
            doc.area.focus()
        self.refresh_marks(doc)
        if doc.checked != doc.text:
            self.check_soon(doc)
        self.refresh_tabs()
        self._settle_soon()
        self.refresh_bindings()
        self.call_after_refresh(self.offer_draft, doc)

    def refresh_tabs(self) -> None:
        """Names, unsaved marks, counts."""
        for doc in self.docs.values():
            doc.shown_dirty = doc.is_dirty
        tabs = [
            Tab(path, self.title_of(doc), doc.is_dirty, len([d for d in doc.problems if d.severity == "error"]))
            for path, doc in self.docs.items()
        ]
        self.set_class(len(tabs) > 1, "-several")
        current = self.current
        self.query_one(FileTabs).show(tabs, current.file.path if current else "")
        pane = self.query_one("#edit-pane")
        if current is not None:
            dirty = Content.styled(f" {MARKS['dot']} unsaved", "$warning") if current.is_dirty else Content("")
            state = " new" if current.file.is_new else ""
            readonly = f"  read-only: {current.file.read_only}" if current.file.read_only else ""
            behind = Content.assemble(state, dirty, shown(readonly))
            room = (pane.size.width or self.size.width) - behind.cell_length - 4
            name = without_middle(self.title_of(current), max(room, SHORTEST_NAME))
            show_titles(pane, Content.assemble(shown(name), behind))
        else:
            show_titles(pane, Content("Edit"))

    def title_of(self, doc: OpenDoc) -> str:
        """A file's path as it is typed here."""
        here = path_here(doc.file.path)
        return doc.file.name if here == doc.file.path else here

    # What comes from the app

    def events_applied(self, delta: Any) -> None:
        """Verdicts may have changed."""
        if delta.rows_changed or delta.structure_changed:
            self.refresh_notes()

    def documents_read(self) -> None:
        """Suites were read anew: fragments have other problems, tests other lines; a first suite may be there to open."""
        for doc in self.docs.values():
            if doc.is_fragment(self.workbench.store.documents):
                doc.checked = None
        if self.is_mounted:
            if self.current is not None and self.current.checked is None:
                self.check_soon(self.current)
            self.refresh_notes()

    def files_changed(self, paths: list[str]) -> None:
        """Something was written: by us, or by somebody else."""
        changed = {os.path.realpath(path) for path in paths}
        for doc in list(self.docs.values()):
            if os.path.realpath(doc.file.path) in changed:
                self.look_at_disk(doc)

    def engine_events(self, events: list[dict[str, Any]]) -> None:
        """A server has said what it lists; anything else `events_applied` sees afterwards."""
        for suite in {event["path"] for event in events if event.get("event") == "catalog.remembered"}:
            self.catalog_remembered(suite)

    def caught_up(self) -> None:
        """Shown again: files and verdicts may be different."""
        self.look_at_all()
        self.refresh_notes()
        self._open_something()
        if self.current is not None:
            self.call_after_refresh(self.offer_draft, self.current)
        if self.current is not None:
            self.check_soon(self.current)  # lists of servers may have been read meanwhile
        if self.current is not None and self.focused is None:
            self.current.area.focus()

    def on_app_focus(self) -> None:
        """Back from another window, where a file may have been written."""
        self.look_at_all()

    def status_text(self) -> Content:
        """Where the cursor is."""
        if self.current is None:
            return Content("")
        row, column = self.current.area.cursor_location
        return Content.styled(f"{row + 1}:{column + 1}", "$text-muted")

    def unsaved(self) -> list[str]:
        """Files with text that the disk does not have."""
        return [self.title_of(doc) for doc in self.docs.values() if doc.is_dirty]

    def unsaved_text(self, path: str) -> str | None:
        """What stands in the editor, where the disk has another text."""
        doc = self.docs.get(os.path.abspath(path))  # noqa: PTH100
        return doc.text if doc is not None and doc.is_dirty else None

    def change_text(self, path: str, text: str) -> None:
        """By one edit, which can be undone."""
        self.docs[os.path.abspath(path)].area.become(text)  # noqa: PTH100

    def watched(self) -> list[str]:
        """The open files."""
        return list(self.docs)

    def badges(self) -> dict[str, str]:
        """`✗2` for errors, a dot for unsaved text."""
        errors = sum(1 for doc in self.docs.values() for problem in doc.problems if problem.severity == "error")
        dirty = MARKS["dot"] if any(doc.is_dirty for doc in self.docs.values()) else ""
        told = f"{MARKS['fail']}{errors}" if errors else ""
        return {"edit": f"{told}{dirty}"} if told or dirty else {}

    def back(self) -> bool:
        """Close what lies over the text, then go to the text."""
        if self.completing.is_open or self.awaits_offer:
            self.awaits_offer = False
            self.completing.close()
            return True
        bar = self.query_one(FindBar)
        if bar.display:
            bar.action_leave()
            return True
        if self.current is not None and self.focused is not self.current.area:
            self.current.area.focus()
            return True
        return False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What needs a file is dim without one; a fix, where there is none."""
        if action in _NEEDS_FILE and self.current is None:
            return None
        if action == "problem" and not (self.current is not None and self.current.problems):
            return False
        if action == "fix":
            return True if self.current is not None and self.fixable(self.current) else None
        return super().check_action(action, parameters)

    def hints_first(self) -> dict[str, str]:
        """Mend what is wrong, save, run; letters and digits are typed, so how to get to the other modes too."""
        if not isinstance(self.focused, YamlArea):
            return {}
        return {"edit.fix": "", "edit.problem.next": "", "edit.save": "", "edit.run": "", "modes": ""}

    # What the widgets tell

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """A letter."""
        event.stop()
        doc = next((one for one in self.docs.values() if one.area is event.text_area), None)
        if doc is not None:
            doc.typed()
            doc.listed = doc.listed and doc is self.current and self.query_one(ProblemList).display
            self.check_soon(doc)
            self.draft_soon()
            self._settle_soon()
            if doc.shown_dirty != doc.is_dirty:
                self.refresh_tabs()
                self.workbench.refresh_status()

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        """The cursor moved."""
        event.stop()
        if self.current is not None and event.text_area is self.current.area:
            self.completing.moved()
            self.refresh_problem_line(self.current)
            self._settle_soon()
            self.workbench.refresh_status()

    def on_popup_chosen(self, event: Popup.Chosen) -> None:
        """A completion, by the mouse."""
        self.completing.take(event.at)

    def on_file_tabs_chosen(self, event: FileTabs.Chosen) -> None:
        """A file, by the mouse."""
        if event.path in self.docs:
            self.show_doc(self.docs[event.path])

    def on_lines_chosen(self, event: Any) -> None:
        """Enter on a problem, or on a test of the outline."""
        event.stop()
        if isinstance(event.lines, ProblemList):
            problem = event.lines.problems[event.at]
            self.go_to(problem.file, problem.line, problem.column)
        elif isinstance(event.lines, Outline) and self.current is not None:
            self.go_to(self.current.file.path, event.lines.entries[event.at].line, 1)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """The popup belongs to the text; and so do the keys that were held for it."""
        if isinstance(event.widget, YamlArea):
            self._release()
        else:
            self.completing.close()

    def go_to(self, path: str, line: int, column: int) -> None:
        """A place in a file, with the focus on the text."""
        self.open_path(path, line, column)

    def action_go_to_line(self) -> None:
        """Ask for a number."""
        from mcptest_tui.widgets.modals import Ask

        doc = self.current
        if doc is None:
            return
        last = len(doc.area.lines)

        def check(typed: str) -> str | None:
            return None if typed.isdigit() and 0 < int(typed) <= last else f"a number from 1 to {last}"

        def answered(typed: str | None) -> None:
            if typed is not None:
                self.go_to(doc.file.path, int(typed), 1)

        self.app.push_screen(Ask("Go to line", counted(last, "line"), check=check), answered)

    def action_wrap(self) -> None:
        """Long lines over several rows, or not."""
        self._wraps = not self._wraps
        for doc in self.docs.values():
            doc.area.soft_wrap = self._wraps

    def _fit(self) -> None:
        super()._fit()
        if self.current is not None:
            self.show_list(self.current)
            self.call_after_refresh(self.refresh_tabs)  # as much of its name as there is room for
