"""Mode 4, until proposals exist: says so, and what can be done instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mcptest_tui.keymap import bindings_for
from mcptest_tui.screens.base import WorkScreen
from mcptest_tui.widgets.empty import Empty

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.binding import BindingType
    from textual.widget import Widget


class ReviewScreen(WorkScreen):
    """Nothing to review yet."""

    MODE = "review"
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("review")
    HELP = "Here proposed assertions are accepted or rejected, one by one."

    def compose_body(self) -> Iterable[Widget]:
        """One sentence and the ways that exist today."""
        yield Empty(
            "Nothing to review",
            (
                "This version of mcptest does not propose assertions yet.",
                "Until then an assertion for a value of a response is added where the value is shown.",
            ),
            (
                ("1", "a test's response: + adds an assertion for the value under the cursor"),
                ("3", "call a tool by hand"),
            ),
        )
