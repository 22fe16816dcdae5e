"""A suite from what a server says of itself: tools and tests are ticked at the left, the text grows at the right, ^s writes it.

Making it calls no tool; the engine has only the server's lists for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from mcptest_engine.workspace.schema_file import with_schema_line
from mcptest_engine.workspace.suite_file import write_suite
from mcptest_tui.engine_client import EngineError
from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line, shown
from mcptest_tui.screens.base import in_background
from mcptest_tui.state.scaffolding import DESTRUCTIVE, MUTATING, OPTIONS, Row
from mcptest_tui.widgets.lines import Lines
from mcptest_tui.widgets.modals import Modal
from mcptest_tui.widgets.yaml_area import YamlArea
from mcptest_tui.words import MARKS, key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from mcptest_tui.base_app import BaseApp
    from mcptest_tui.state.scaffolding import Scaffolding
    from mcptest_tui.widgets.lines import Piece

INKS = {DESTRUCTIVE: "destructive", MUTATING: "changing"}


class ScaffoldList(Lines):
    """The list of tools, kinds of tests and files; Space ticks one."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("dialog.ticks")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"scaffold--{name}" for name in ("heading", "on", "off", "name", "destructive", "changing", "warning", "dim")
    }
    DEFAULT_CSS = """
    ScaffoldList {
        background: $surface;
        & > .scaffold--heading { text-style: bold; color: $foreground 80%; }
        & > .scaffold--on { color: $verdict-pass; text-style: bold; }
        & > .scaffold--off { color: $foreground 60%; }
        & > .scaffold--name { text-style: bold; }
        & > .scaffold--destructive { color: $verdict-fail; text-style: bold; }
        & > .scaffold--changing { color: $verdict-inconclusive; }
        & > .scaffold--warning { color: $warning; text-style: bold; }
        & > .scaffold--dim { color: $foreground 65%; }
    }
    """

    def __init__(self, state: Scaffolding) -> None:
        super().__init__(id="scaffold-list")
        self.state = state
        self.rows: list[Row] = state.rows()

    def rebuilt(self) -> None:
        """Read the rows again; the cursor stays on its row, but never on the first heading."""
        row, self.rows = self.row, self.state.rows()
        at = self.rows.index(row) if row.kind != "heading" and row in self.rows else self.cursor
        self.changed(cursor=max(at, min(1, len(self.rows) - 1)))
        self.show_row(self.cursor)

    @property
    def row(self) -> Row:
        """The row under the cursor of the list."""
        return self.rows[min(self.cursor, len(self.rows) - 1)]

    def count(self) -> int:
        """Return the number of rows, headings and notes among them."""
        return len(self.rows)

    def pieces(self, at: int, width: int) -> Sequence[Piece]:
        """Return the parts of row `at` with their styles: tool, option, file, note or heading."""
        row = self.rows[at]
        if row.kind == "tool":
            return self._tool(row.at, width)
        if row.kind == "option":
            name, title, about = OPTIONS[row.at]
            return self._ticked(self.state.options[name], title, about, "scaffold--dim", width)
        if row.kind == "place":
            place = self.state.places[row.at]
            on = row.at == self.state.place
            sign = MARKS["on"] if on else MARKS["off"]
            told = f"{place.shown}{', a new file' if place.new else ''}"
            return [
                (f"  {sign} ", "scaffold--on" if on else "scaffold--off"),
                (one_line(told, max(width - 4, 4)), "" if on else "scaffold--off"),
            ]
        if row.kind == "note":
            return [(one_line(f"  {row.text}", width), "scaffold--dim")]
        return [(one_line(f" {row.text}", width), "scaffold--heading")]

    def _tool(self, at: int, width: int) -> list[Piece]:
        tool = self.state.tools[at]
        warned = " ? suspicious words" if tool.warnings else ""
        count = f" {tool.tests} " if tool.chosen and tool.tests else ""
        about = tool.label if tool.tool_class != "read_only" or width >= 50 else ""
        ink = f"scaffold--{INKS.get(tool.tool_class, 'dim')}"
        left = self._ticked(tool.chosen, tool.name, f"{warned}{'  ' if warned else ''}{about}", ink, width - len(count))
        if warned:
            left[2] = (left[2][0], "scaffold--warning")
        used = sum(cell_len(text) for text, _ in left)
        return [*left, (" " * max(width - used - len(count), 0), ""), (count, "scaffold--dim")]

    def _ticked(self, on: bool, title: str, about: str, ink: str, width: int) -> list[Piece]:
        box = f"  [{MARKS['pass'] if on else ' '}] "
        room = width - cell_len(box)
        if cell_len(f"{title}  {about}") > room:
            about = about.partition(":")[0]
        name = one_line(title, max(min(room, max(room - cell_len(about) - 2, room // 2)), 4))
        rest = one_line(about, max(room - cell_len(name) - 2, 0))
        return [
            (box, "scaffold--on" if on else "scaffold--off"),
            (name, "scaffold--name" if on else "scaffold--off"),
            (f"  {rest}" if rest else "", ink),
        ]

    def action_tick(self) -> None:
        """Tick the row under the cursor, or remove its tick."""
        if self.state.toggle(self.row):
            self.refresh()
            self.post_message(self.Chosen(self))

    def action_all(self) -> None:
        """Tick all tools but destructive ones; if they are ticked, untick all."""
        self.state.toggle_all()
        self.refresh()
        self.post_message(self.Chosen(self))

    def action_allow(self) -> None:
        """Allow the tests of a tool that is not declared read-only to run, or forbid it."""
        if self.state.toggle_allowed(self.row):
            self.refresh()
            self.post_message(self.Chosen(self))

    def action_choose(self) -> None:
        """Tick the row on Enter, as Space does."""
        self.action_tick()

    def clicked(self, at: int, x: int, *, twice: bool) -> None:  # noqa: ARG002
        """Tick the row, on a double click or a click on its box."""
        if twice or x < 7:
            self.action_tick()


class ScaffoldScreen(Modal[str]):
    """Answers the path of what was written, or None. `session` is that of the server, connected; `mode` is gone to then."""

    AUTO_FOCUS = "ScaffoldList"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("dialog.suite")

    def __init__(self, server: str, session: str, state: Scaffolding, *, mode: str = "edit") -> None:
        super().__init__(classes="picker")
        self._server, self._session, self.state, self._mode = server, session, state, mode
        self.is_updating = False

    def compose(self) -> ComposeResult:
        """Lay out the list of ticks, the preview and two lines of notes."""
        with Vertical(classes="dialog -large") as dialog:
            dialog.border_title = shown(one_line(f"Suite for {self._server}", 60))
            with Horizontal(id="scaffold"):
                yield ScaffoldList(self.state)
                yield YamlArea(id="scaffold-preview", read_only=True)
            yield Static("", id="scaffold-about")
            yield Static("", id="scaffold-note")

    def on_mount(self) -> None:
        """Request the first text of the suite from the engine."""
        self.preview.soft_wrap = True
        self._update()

    @property
    def listed(self) -> ScaffoldList:
        """The list with the ticks, at the left."""
        return self.query_one(ScaffoldList)

    @property
    def preview(self) -> YamlArea:
        """The text of the suite that would be written, at the right."""
        return self.query_one(YamlArea)

    @property
    def workbench(self) -> BaseApp:
        """The app, typed as the workbench for the type checker."""
        return self.app  # type: ignore[return-value]

    # Ticking

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        """Update the list and the text after a row was ticked."""
        event.stop()
        self.listed.rebuilt()
        self._update()

    def on_lines_cursor_moved(self, event: Lines.CursorMoved) -> None:
        """Explain the row that the cursor has moved to."""
        event.stop()
        self._show_about()

    def _update(self) -> None:
        self.is_updating = True
        in_background(self, self._fetch, "scaffold")

    async def _fetch(self) -> None:
        place = self.state.destination
        again = True
        while again:
            try:
                answer = await self.workbench.engine.request(
                    "scaffold",
                    session=self._session,
                    into=None if place.new else place.path,
                    options=self.state.engine_options(),
                )
            except EngineError as wrong:
                again = False
                self.state.failed(f"{wrong.message}; {wrong.hint or 'connect to it again'}")
            else:
                again = self.state.put(answer)
        self.is_updating = False
        self._show()

    def _show(self) -> None:
        state = self.state
        self.listed.rebuilt()
        self._show_text(self.preview.text, state.after)
        note = self.query_one("#scaffold-note", Static)
        rows = max(self.size.height // 6, 2)
        width = max(self.size.width - 6, 20)
        told = [state.problem] if state.problem else state.summary()
        kept = told if len(told) <= rows else [*told[: rows - 1], f"{len(told) - rows + 1} more notes"]
        text = "\n".join(one_line(part, 2 * width if not state.problem else 3 * width) for part in kept)
        note.update(shown(text, style="$text-error" if state.problem else "$foreground 75%"))
        self._show_about()

    def _show_text(self, before: str, after: str) -> None:
        """Show the text if it has changed, scrolled to the change, at first to the new part."""
        from mcptest_engine.suite.text_edits import edit_between

        if before == after:
            return
        start = edit_between(before, after).start
        row = after.count("\n", 0, start) if before else self.state.first_new_line - 1
        self.preview.load_text(after)
        self.preview.place(min(row, max(len(self.preview.lines) - 1, 0)), 0)

    def _show_about(self) -> None:
        row, about = self.listed.row, ""
        if row.kind == "tool":
            tool = self.state.tools[row.at]
            about = f"{tool.name}: {'; '.join(tool.warnings) or tool.held_back or tool.label}"
        elif row.kind == "option":
            about = OPTIONS[row.at][2]
        elif row.kind == "place":
            about = self.state.places[row.at].path
        warned = row.kind == "tool" and bool(self.state.tools[row.at].warnings)
        width = max(self.size.width - 6, 20)
        self.query_one("#scaffold-about", Static).update(
            shown(one_line(about, 2 * width), style="$text-warning" if warned else "$foreground 65%")
        )

    def action_turn(self) -> None:
        """Switch between list and text on a narrow screen, else move the focus."""
        if self.has_class("-narrow"):
            self.toggle_class("-text")
            (self.preview if self.has_class("-text") else self.listed).focus()
        else:
            self.action_turn_focus()

    def action_turn_focus(self) -> None:
        """Move the focus between the list and the text."""
        if self.has_class("-narrow"):
            self.action_turn()
        else:
            (self.listed if self.preview.has_focus else self.preview).focus()

    def action_cancel(self) -> None:
        """Go back to the list where the text hides it, else close."""
        if self.has_class("-narrow") and self.has_class("-text"):
            self.action_turn()
        else:
            super().action_cancel()

    # Writing

    def action_write(self) -> None:
        """Write the suite, if the file has not changed since the text was made."""
        state = self.state
        if self.is_updating:
            self.workbench.messages.show("the text is being written")
            return
        if state.problem or not state.after or state.after == state.before:
            self.workbench.messages.show(state.problem or "there is nothing to write", "warning")
            return
        path, place = Path(state.destination.path), state.destination
        try:
            if place.new and (path.exists() or path.is_symlink()):
                self.query_one("#scaffold-note", Static).update(shown(f"{path.name} exists now", style="$text-error"))
                return
            if not place.new and path.read_bytes() != state.before.encode():
                self.workbench.messages.show(
                    f"{path.name} has changed in the meantime; this is the new text", "warning"
                )
                self._update()
                return
            write_suite(path, (with_schema_line(state.after, path) if place.new else state.after).encode())
        except OSError as wrong:
            self.workbench.messages.notify(f"cannot write {path}: {wrong.strerror or wrong}", severity="error")
            return
        line = state.first_new_line
        self.dismiss(str(path))
        run, tests = key_of("run.all"), key_of("app.mode.1", typing=True)
        hint = f"{run} runs its tests" if self._mode == "tests" else f"{tests} goes to its tests, and {run} runs them"
        self.workbench.messages.notify(
            f"wrote {path.name}", hint=hint, is_over=lambda: self.workbench.store.progress.busy
        )
        self.workbench.run_worker(self._open(str(path), line, new=place.new), group="documents", exit_on_error=False)

    async def _open(self, path: str, line: int, *, new: bool) -> None:
        workbench = self.workbench
        await workbench.open_document(path)
        if not new:
            workbench.documents_changed([path])
        if self._mode == "edit":
            workbench.go("edit", path=path, line=line)
        else:
            workbench.go(self._mode)
