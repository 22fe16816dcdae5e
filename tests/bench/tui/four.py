"""Four widgets from the box: what the smallest program of this kind costs to start and to keep."""

import os

os.environ.setdefault("TEXTUAL_FPS", "120")

from textual.app import App
from textual.widgets import DataTable, Footer, Input, Static


class Four(App[None]):
    """A field, a table, a line, a footer."""

    CSS = "DataTable { height: 1fr; }"
    BINDINGS = [("q", "quit", "Quit")]  # noqa: RUF012

    def compose(self):
        field = Input(placeholder="filter")
        field.cursor_blink = False
        yield field
        yield DataTable(cursor_type="row")
        yield Static("ready", markup=False)
        yield Footer()

    def on_mount(self):
        table = self.query_one(DataTable)
        table.add_columns("mark", "name", "ms")
        for number in range(120):
            table.add_row("+", f"echo {number}", "3 ms")
        table.focus()


Four().run()
