"""An editor from the box: a TextArea; Ctrl+S has the text parsed as YAML and says what the first key is: `editor.py FILE`."""

import os
import sys
from pathlib import Path

os.environ.setdefault("TEXTUAL_FPS", "120")

import yaml
from textual.app import App
from textual.widgets import Static, TextArea


class Editor(App[None]):
    """A text, a line."""

    CSS = "TextArea { height: 1fr; }"
    BINDINGS = [("ctrl+s", "save", "Save")]  # noqa: RUF012

    def compose(self):
        area = TextArea(Path(sys.argv[1]).read_text(encoding="utf-8"), show_line_numbers=True)
        area.cursor_blink = False
        yield area
        yield Static("ready", id="line", markup=False)

    def on_mount(self):
        self.query_one(TextArea).focus()

    def action_save(self):
        text = self.query_one(TextArea).text
        Path(sys.argv[1]).write_text(text, encoding="utf-8")
        found = next(iter(yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))))
        self.query_one("#line", Static).update(f"first key is {found}", layout=False)


Editor().run()
