"""What can be copied of a test: its command, name, place, id, text, failure message, request and response."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_tui.engine_client import EngineError
from mcptest_tui.places import path_here
from mcptest_tui.screens.base import Controller, WorkScreen, in_background
from mcptest_tui.screens.detail import place_of
from mcptest_tui.state.run_view import repro_command
from mcptest_tui.state.test_row import TestRow

if TYPE_CHECKING:
    from mcptest_tui.screens.detail import DetailFeed
    from mcptest_tui.widgets.row_list import RowList

MEMBERS = {"request": "request", "response": "output"}
_CHOICES = (
    ("command", "The command that runs it", "c", "as it is typed in a shell"),
    ("name", "Its name", "n", ""),
    ("place", "Its place", "p", "file and line"),
    ("id", "Its id", "i", "as records and reports have it"),
    ("yaml", "Its text", "t", "the lines of the suite that it stands on"),
    ("message", "What is wrong", "w", "the message of its failure"),
    ("request", "The request", "q", "as JSON"),
    ("response", "The response", "r", "as JSON"),
)


class Copying(Controller):
    """Copies something of the test or group under the cursor of the list."""

    def __init__(self, screen: WorkScreen, tests: RowList, feed: DetailFeed) -> None:
        super().__init__(screen)
        self._tests, self._feed = tests, feed

    def action_pick(self) -> None:
        """Ask what to copy of a test; of a group, copy its command."""
        from mcptest_tui.screens.picker import Choice, Picker

        row = self._tests.test()
        if row is None:
            self.action_command()
            return
        ran = row.verdict not in ("new", "skip")
        failed = bool((row.result or {}).get("message"))
        choices = [
            Choice(*told) for told in _CHOICES if (ran or told[0] not in MEMBERS) and (failed or told[0] != "message")
        ]

        def answered(name: str | None) -> None:
            if name:
                self._copy(name, row)

        self.workbench.push_screen(Picker("Copy", lambda typed: (choices, typed)), answered)

    def action_command(self) -> None:
        """Copy the command that runs the test or suite under the cursor."""
        entry = self._tests.entry()
        if isinstance(entry, TestRow):
            self._copy("command", entry)
        elif entry is not None:
            command = re.sub(r" --filter (''|\"\")", "", repro_command(path_here(entry.path), ""))
            self.workbench.copy(command, "the command that runs this suite")

    def _copy(self, what: str, row: TestRow) -> None:
        copy = self.workbench.copy
        if what in MEMBERS:
            in_background(self.screen, partial(self._copy_member, what, row), "value")
        elif what == "command":
            copy(repro_command(path_here(row.path), row.name), "the command that runs this test")
        elif what == "yaml":
            self._copy_lines(row)
        elif what == "message":
            copy(str((row.result or {}).get("message", "")), "the message")
        else:
            copy({"name": row.name, "id": row.id}.get(what, place_of(row)), f"the {what}")

    def _copy_lines(self, row: TestRow) -> None:
        try:
            lines = Path(row.file).read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError as wrong:
            self.workbench.messages.notify(f"cannot read {row.file}: {wrong.strerror or wrong}", severity="error")
            return
        self.workbench.copy("\n".join(lines[row.line - 1 : row.end_line]) + "\n", "the test's text")

    async def _copy_member(self, what: str, row: TestRow) -> None:
        bench = self.workbench
        try:
            text = await self._feed.answers.request("value", id=row.id, run_id=row.run_id or None, path=[MEMBERS[what]])
        except EngineError as wrong:
            bench.messages.notify(wrong.message, severity="warning", hint=wrong.hint)
            return
        bench.copy(str(text), f"the {what}")
