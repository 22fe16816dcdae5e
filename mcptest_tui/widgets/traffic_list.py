"""Messages as rows: time, direction, server, method, id, milliseconds, size, text; ten thousand of them as well as ten."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len

from mcptest_tui.keymap import bindings_for
from mcptest_tui.safe import one_line
from mcptest_tui.state.about import size_shown
from mcptest_tui.state.traffic import clock_shown, essence
from mcptest_tui.widgets.lines import Lines
from mcptest_tui.words import MARKS, is_ascii, took_shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.binding import BindingType

    from mcptest_tui.state.traffic import Row, Traffic
    from mcptest_tui.widgets.lines import Piece

SENT, GOT, BOTH = ("->", "<-", "<>") if is_ascii() else ("→ ", "← ", "⇄ ")
FULL, WIDE, WIDEST, ROOMY = 70, 110, 132, 160
"""Cells from which there is room for the server and the id, for process and test, and for the size."""
_TEST_WIDTH, _WIDE_TEST_WIDTH = 18, 32


class TrafficList(Lines):
    """Draws a `Traffic`. The cursor stays on its message, and at the end it follows what comes."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("traffic.list")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"traffic--{name}"
        for name in ("time", "sent", "got", "server", "method", "dim", "error", "waiting", "stderr", "notification")
    }
    DEFAULT_CSS = """
    TrafficList {
        & > .traffic--time { color: $foreground 60%; }
        & > .traffic--sent { color: $primary; text-style: bold; }
        & > .traffic--got { color: $verdict-pass; text-style: bold; }
        & > .traffic--server { color: $foreground 75%; }
        & > .traffic--method { text-style: bold; }
        & > .traffic--dim { color: $foreground 65%; }
        & > .traffic--error { color: $verdict-fail; text-style: bold; }
        & > .traffic--waiting { color: $verdict-inconclusive; }
        & > .traffic--stderr { color: $verdict-inconclusive; }
        & > .traffic--notification { color: $accent; }
    }
    """
    HELP = """All messages from and to servers, of runs and by hand: requests folded with their responses ({traffic.pairs}
    shows them apart), notifications, lines of stderr, and noise on stdout. The time excludes waiting for an earlier call;
    an open message shows both times. Filters: method:tools/call  server:demo  is:error is:open  slow:>100  process:4711
    test:name. is:spare shows the messages of spare servers before a run uses them. {traffic.headers} shows the status and
    the headers of the HTTP response in which a message came; {traffic.again} makes a call again."""

    def __init__(self, traffic: Traffic, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.traffic = traffic
        self.nothing: tuple[str, ...] = ()
        self.current: Row | None = None
        self._follows = True
        self._server_width, self._test_width = 6, 0

    def count(self) -> int:
        """Return the number of rows, or that of the lines of the empty text."""
        return len(self.traffic.shown) or len(self.nothing)

    def row(self) -> Row | None:
        """Return the message under the cursor, None without messages."""
        shown = self.traffic.shown
        return shown[self.cursor] if self.cursor < len(shown) else None

    def rebuilt(self) -> None:
        """Draw the changed rows; the cursor stays on its message, or at the end."""
        shown = self.traffic.shown
        self._server_width = min(max((cell_len(row.server) for row in shown[-200:]), default=6), 14)
        self._test_width = min(max((cell_len(_test_name(row)) for row in shown[-200:]), default=0), _WIDE_TEST_WIDTH)
        at = self.traffic.place(self.current) if self.current is not None and not self._follows else None
        before = self.current
        if self._follows or (at is None and self.current is None):
            self.changed(cursor=len(shown) - 1)
            self.show_row(self.cursor)
        elif at is None:
            self.changed(cursor=min(self.cursor, max(len(shown) - 1, 0)))
        else:
            offset = self.cursor - self.scroll_offset.y
            self.changed(cursor=at, top=at - offset if 0 <= offset < self.page else None)
        self.current = self.row()
        if self.current is not before:
            self.post_message(self.CursorMoved(self))

    def cursor_moved(self) -> None:
        """Remember the message; at the end of the list, follow new ones."""
        self.current = self.row()
        self._follows = self.cursor >= len(self.traffic.shown) - 1
        super().cursor_moved()

    def go_to(self, row: Row) -> bool:
        """Move the cursor to a message; return False when it is not listed."""
        at = self.traffic.place(row)
        if at is not None:
            self.move_to(at, centre=True)
        return at is not None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Disable opening while no message is listed."""
        return None if action == "open" and not self.traffic.shown else True

    def action_open(self) -> None:
        if self.row() is not None:
            self.action_choose()

    def jump_targets(self) -> Iterator[tuple[int, int, object]]:
        """Every row in view, for the jump overlay."""
        top = self.scroll_offset.y
        for at in range(top, min(top + self.page, len(self.traffic.shown))):
            yield 1, at - top, lambda at=at: self.move_to(at)

    def pieces(self, at: int, width: int) -> Sequence[Piece]:
        if not self.traffic.shown:
            return [(one_line(f" {self.nothing[at]}", width), "traffic--dim")]
        row = self.traffic.shown[at]
        told: list[Piece] = [
            (f"{clock_shown(row.at) if width >= FULL else clock_shown(row.at)[3:8]} ", "traffic--time")
        ]
        told.append(self._arrow(row))
        if width >= FULL:
            told.append((_fit(row.server, self._server_width) + " ", "traffic--server"))
        if width >= WIDE:
            told.append((f"{row.pid or 'HTTP':>7} ", "traffic--dim"))
            if self._test_width:
                most = _WIDE_TEST_WIDTH if width >= ROOMY else _TEST_WIDTH
                told.append((_fit(_test_name(row), min(self._test_width, most)) + " ", "traffic--server"))
        told += self._what(row, width)
        room = width - sum(cell_len(text) for text, _ in told) - 1
        if row.about and room > 3:
            told.append((one_line(row.about, room) + " ", "traffic--method"))
            room -= cell_len(told[-1][0])
        text = self._text(row)
        if room > 3 and text:
            told.append((one_line(text, room), "traffic--error" if row.error else "traffic--dim"))
        return told

    def _arrow(self, row: Row) -> Piece:
        if self.traffic.pairs and row.answer is not None:
            return (f"{BOTH} ", _ink(row, failed=row.failed))
        return (f"{SENT if row.sent else GOT} ", _ink(row, failed=row.error))

    def _what(self, row: Row, width: int) -> list[Piece]:
        if row.kind in ("stderr", "noise"):
            return [(_fit("stderr" if row.kind == "stderr" else "noise", 22) + " ", "traffic--stderr")]
        plain = "traffic--notification" if row.kind == "notification" else "traffic--method"
        ink = "traffic--error" if row.failed else plain
        folded = self.traffic.pairs and row.answer is not None
        method = row.method or "(no method)"
        if row.kind == "response" and not folded:
            method = f"{method} {MARKS['fail'] if row.error else MARKS['pass']}"
        told: list[Piece] = [(_fit(method, 26 if width >= WIDE else 22) + " ", ink)]
        if width >= FULL:
            told.append((f"{one_line(row.id, 5):>5} ", "traffic--dim"))
        took, pending = row.own_ms, "no answer" if row.is_unanswered else "waits" if row.waits else ""
        time = pending or ("" if took is None else took_shown(took))
        told.append((f"{time:>8} ", "traffic--waiting" if pending else ""))
        if width >= WIDEST:
            size = row.answer.size if folded and row.answer is not None else row.size
            told.append((f"{size_shown(size):>7} ", "traffic--dim"))
        if width >= WIDE:
            status = row.answer.status if folded and row.answer is not None else row.status
            told.append((f"{status} ", "traffic--dim") if status else ("", ""))
        return told

    def _text(self, row: Row) -> str:
        if self.traffic.pairs and row.answer is not None and row.answer.error:
            return essence(row.answer.text)
        told = essence(row.text)
        if not told and self.traffic.pairs and row.answer is not None:
            return essence(row.answer.text)
        return told


def _ink(row: Row, *, failed: bool) -> str:
    return "traffic--error" if failed else "traffic--sent" if row.sent else "traffic--got"


def _test_name(row: Row) -> str:
    return row.test.rpartition("::")[2]


def _fit(text: str, width: int) -> str:
    told = one_line(text, width)
    return told + " " * (width - cell_len(told))
