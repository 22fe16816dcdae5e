"""What a pane says when it has nothing to show: one sentence, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

from mcptest_tui.safe import shown

if TYPE_CHECKING:
    from collections.abc import Sequence


class Empty(Widget):
    """A title, lines, and hints as (key, what it does); nothing in it is markup."""

    can_focus = True

    def __init__(
        self,
        title: str,
        lines: Sequence[str] = (),
        hints: Sequence[tuple[str, str]] = (),
        *,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id, classes="pane")
        self._title, self._lines, self._hints = title, tuple(lines), tuple(hints)

    def show(self, title: str, lines: Sequence[str] = (), hints: Sequence[tuple[str, str]] = ()) -> None:
        """Show another message."""
        self._title, self._lines, self._hints = title, tuple(lines), tuple(hints)
        self.refresh(layout=True)

    def render(self) -> Content:
        """The sentence, then the keys."""
        rows = [shown(self._title, style="bold"), Content("")]
        rows += [shown(line, style="$muted") for line in self._lines]
        if self._hints:
            width = max(len(key) for key, _ in self._hints)
            rows.append(Content(""))
            rows += [
                Content.assemble((f"{key:>{width}}", "bold $footer-key-foreground"), "  ", shown(what))
                for key, what in self._hints
            ]
        return Content("\n").join(rows)
