"""The same list with a widget from the box: a DataTable that is fed by `child.py`, twenty times a second."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

os.environ.setdefault("TEXTUAL_FPS", "120")

from textual.app import App
from textual.widgets import DataTable, Input, Static

CHILD = str(Path(__file__).with_name("child.py"))


class Stock(App[None]):
    """A filter, a table, a line that says where the cursor is."""

    CSS = "DataTable { height: 1fr; }"
    BINDINGS = [("a", "run", "Run"), ("slash", "filter", "Filter")]  # noqa: RUF012

    def compose(self):
        field = Input(placeholder="filter")
        field.cursor_blink = False
        yield field
        yield DataTable(cursor_type="row")
        yield Static("ready", id="line", markup=False)
        yield Static("", id="count", markup=False)

    def on_mount(self):
        self.rows, self.waiting = [], []
        table = self.query_one(DataTable)
        table.add_columns("mark", "name", "ms")
        table.focus()
        self.set_interval(1 / 20, self.flush)
        self.run_worker(self.read())

    async def read(self):
        child = await asyncio.create_subprocess_exec(
            sys.executable, CHILD, *sys.argv[1:], limit=1 << 26, stdin=PIPE, stdout=PIPE
        )
        assert child.stdin is not None
        assert child.stdout is not None
        self.asked = child.stdin
        async for line in child.stdout:
            event = json.loads(line)
            if event.get("event") == "case.finished":
                self.waiting.append(event["result"])

    def flush(self):
        table, found = self.query_one(DataTable), self.query_one(Input).value
        for row in self.waiting:
            self.rows.append(row)
            if found in row["name"]:
                table.add_row("x" if row["verdict"] == "fail" else "+", row["name"], str(row["duration_ms"]))
        self.waiting = []

    def action_run(self):
        self.asked.write(b'{"do":"run","run":"u","path":"mcptest.yml"}\n')

    def action_filter(self):
        self.query_one(Input).focus()

    def on_data_table_row_highlighted(self, event):
        self.query_one("#line", Static).update(f"at {event.cursor_row:05d}", layout=False)

    def on_input_changed(self, event):
        table = self.query_one(DataTable)
        table.clear()
        chosen = [row for row in self.rows if event.value in row["name"]]
        for row in chosen:
            table.add_row("x" if row["verdict"] == "fail" else "+", row["name"], str(row["duration_ms"]))
        self.query_one("#count", Static).update(f"{len(chosen)} of {len(self.rows)}", layout=False)


Stock().run()
