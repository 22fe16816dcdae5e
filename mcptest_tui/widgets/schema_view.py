"""What is said about a server or a tool: text and tables of its schema, wrapped to the width, scrolled; nothing acts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mcptest_tui.keymap import bindings_for
from mcptest_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from textual.binding import BindingType


class SchemaView(TextView):
    """A `TextView` with inks for names, types and defaults."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("about")
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"text-view--{ink}" for ink in ("name", "type", "default")}
    DEFAULT_CSS = """
    SchemaView {
        & > .text-view--name { color: $foreground; }
        & > .text-view--key { color: $json-key; }
        & > .text-view--type { color: $json-string; }
        & > .text-view--default { color: $json-number; }
    }
    """
    HELP = """What the server says of itself, or of what it offers: the description as plain text, the arguments as a table with
    type, bounds and default, and what comes back. {servers.raw} shows the JSON that was sent; {about.open} goes on to
    the call."""
