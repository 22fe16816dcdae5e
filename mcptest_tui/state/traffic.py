"""Every message between mcptest and the servers, as rows: a ring, a filter, and requests folded with their responses.

The engine numbers rows and tells them in batches; here the newest 10,000 are kept, in the order of their times. The surprising
thing: while the list is paused everything is still kept, only the rows that are shown stand still.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left, insort
from collections import defaultdict
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.core.waits import Waits
from mcptest_tui.words import waited_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcptest_engine.engine_process.workbench_events import TrafficRow, WorkbenchEvent

MOST_ROWS = 10_000
_SLACK = 500
_MOST_OPEN = 5_000
QUALIFIERS = ("method", "server", "process", "test", "is", "id", "slow", "size")
STATES = ("error", "request", "response", "notification", "stderr", "noise", "sent", "received", "open", "spare")
_ENVELOPE = re.compile(r'^(?:"(?:jsonrpc|id|method)":(?:"(?:[^"\\]|\\.)*"|-?\d+|null),?)+')
_PLACE = attrgetter("at", "order")
_PART = re.compile(r'(-?)(?:([a-z]+):)?(?:"([^"]*)"|(\S+))')


@dataclass(slots=True, eq=False)
class Row:
    """One message, or one line of a server's stderr. `answer` is the response to a request, once it is there.

    `gone` says that the engine which kept its body is gone; `stream` is the session, whose ids are its own.
    `about` is the tool, prompt or resource of a request, `test` the id of the test that asked; `is_spare` is what was
    said with a server before a run took it. `is_unanswered` says that the session ended without the response, `ms` after it.
    `behind` says how long a request waited for an earlier one's response, as in a test's result.
    `order` counts rows as they were told, which decides between equal times: a line of stderr is told later than it came, and
    `n` begins anew with an engine.
    """

    n: int
    at: float
    server: str
    sent: bool
    kind: str
    size: int
    text: str
    method: str = ""
    id: str = ""
    ms: float | None = None
    status: int | None = None
    error: bool = False
    answer: Row | None = None
    asked: Row | None = None
    gone: bool = False
    stream: object = None
    order: int = 0
    pid: int | None = None
    test: str = ""
    is_spare: bool = False
    about: str = ""
    is_unanswered: bool = False
    behind: dict[str, Any] | None = None

    @property
    def failed(self) -> bool:
        """Whether it is an error, was answered by one, or got no answer before its session ended."""
        return self.error or self.is_unanswered or (self.answer is not None and self.answer.error)

    @property
    def waits(self) -> bool:
        """Whether it is a request whose response may still come."""
        return self.kind == "request" and self.answer is None and not self.is_unanswered

    @property
    def took(self) -> float | None:
        """The milliseconds between request and response, or the end of the session."""
        return self.ms if self.answer is None else self.answer.ms

    @property
    def own_ms(self) -> float | None:
        """The duration in ms, without the time spent behind an earlier request."""
        took = self.took
        return None if took is None else took - waited_ms(self.behind if self.asked is None else self.asked.behind)


class Filter:
    """A filter of messages; `problem` says what in its text is not understood."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.problem = ""
        self.takes_spare = False
        self._tests: list[Callable[[Row], bool]] = []
        for found in _PART.finditer(text):
            minus, name, quoted, word = found.groups()
            value = (quoted if quoted is not None else word).casefold()
            test = self._test(name, value) if name else _text_test(value)
            self.takes_spare |= not minus and (name == "process" or (name, value) == ("is", "spare"))
            if test is not None:
                self._tests.append(_negated(test) if minus else test)

    def __bool__(self) -> bool:
        return bool(self._tests)

    def __call__(self, row: Row) -> bool:
        """Whether a message matches all parts of the filter."""
        return all(test(row) for test in self._tests)

    def _test(self, name: str, value: str) -> Callable[[Row], bool] | None:
        if name == "method":
            return lambda row: value in row.method.casefold()
        if name == "server":
            return lambda row: value in row.server.casefold()
        if name == "process":
            return lambda row: str(row.pid or "http") == value
        if name == "test":
            return lambda row: value in row.test.casefold()
        if name == "id":
            return lambda row: row.id == value
        if name in ("slow", "size"):
            return self._limit(name, value)
        if name == "is":
            if value in STATES:
                return _STATE_TESTS[value]
            hint = did_you_mean(value, STATES)
            self.problem = f"`is:{value}` is not known; " + (hint or f"known are {', '.join(STATES)}")
            return None
        if name in ("http", "https"):
            return _text_test(f"{name}:{value}")
        hint = did_you_mean(name, QUALIFIERS)
        self.problem = f"`{name}:` is not known; " + (hint or f"known are {', '.join(QUALIFIERS)}")
        return None

    def _limit(self, name: str, value: str) -> Callable[[Row], bool] | None:
        try:
            limit = float(value.lstrip(">="))
        except ValueError:
            self.problem = f"`{name}:` needs a number, such as `{name}:>100`"
            return None
        if name == "size":
            return lambda row: row.size >= limit
        return lambda row: (row.own_ms or 0) >= limit


class Traffic:
    """The ring and what is shown of it. `errors` counts what `is:error` shows: errors, and requests without an answer."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.shown: list[Row] = []
        self.pairs = True
        self.paused = False
        self.filter = Filter()
        self.missed = 0
        self.dropped = 0
        self.errors = 0
        self.spare = 0
        self._count = 0
        self._stale = False
        self._open: dict[tuple[object, bool, str], Row] = {}
        self._waits: defaultdict[tuple[object, bool], Waits] = defaultdict(Waits)

    def apply(self, events: Iterable[WorkbenchEvent]) -> bool:
        """Add messages from `traffic` events; return whether anything shown has changed."""
        changed = False
        for event in events:
            if event["event"] != "traffic":
                continue
            self.dropped += event.get("dropped", 0)
            for row in event["rows"]:
                changed = self._add(_row(row)) or changed
        if len(self.rows) > MOST_ROWS + _SLACK:
            self._trim()
            changed = True
        if self._stale:
            self.rebuild()  # once, however many requests are wanted for what their responses are
        return changed

    def show(self, text: str) -> None:
        """Show only the messages that match the filter `text`."""
        self.filter = Filter(text)
        self.rebuild()

    def turn_pairs(self) -> None:
        """Fold requests with their responses, or show every message."""
        self.pairs = not self.pairs
        self.rebuild()

    def pause(self, paused: bool) -> None:
        """Stop updating the shown rows, or show all messages that came meanwhile."""
        self.paused = paused
        if not paused:
            self.missed = 0
            self.rebuild()

    def rebuild(self) -> None:
        """Select the shown rows anew from all messages."""
        self._stale = False
        wanted, folds = self.filter, self.pairs
        self.shown = [row for row in self.rows if not (folds and row.asked is not None) and self._matches(wanted, row)]
        self.spare = 0 if wanted.takes_spare else sum(row.is_spare for row in self.rows)

    def clear(self) -> None:
        """Remove all rows, and reset the counts of errors and dropped messages."""
        self.rows, self.shown, self.missed, self.dropped, self.errors, self.spare = [], [], 0, 0, 0, 0
        self._open.clear()
        self._waits.clear()

    def lost(self) -> None:
        """Mark all bodies as gone and end all sessions after the engine has ended."""
        for row in self.rows:
            row.gone = True
        for stream in {key[0] for key in self._open}:
            self._end(stream, time.time())

    def place(self, row: Row) -> int | None:
        """Return the index of a row, or of the row that it is folded into."""
        wanted = row.asked if self.pairs and row.asked is not None else row
        low = bisect_left(self.shown, _PLACE(wanted), key=_PLACE)
        return low if low < len(self.shown) and self.shown[low] is wanted else None

    def _end(self, stream: object, at: float) -> bool:
        """End a session: its open requests get no response."""
        for sent in (True, False):
            self._waits.pop((stream, sent), None)
        for key in [key for key in self._open if key[0] == stream]:
            asked = self._open.pop(key)
            asked.is_unanswered, asked.ms = True, round((at - asked.at) * 1000, 2)
            self.errors += not asked.is_spare
            self._stale = self._stale or (bool(self.filter) and not self.paused)
        return not self.paused

    def _add(self, row: Row) -> bool:
        if row.kind == "end":
            return self._end(row.stream, row.at)
        self._count += 1
        row.order = self._count
        _put(self.rows, row)
        self.errors += row.error and not row.is_spare
        self.spare += row.is_spare and not self.filter.takes_spare
        self._pair(row)
        if self.paused:
            self.missed += 1
            return False
        if self.pairs and row.asked is not None:
            asked = row.asked
            if not self._matches(self.filter, asked):
                return False
            self._stale = self._stale or (bool(self.filter) and self.place(asked) is None)
            return True
        if not self._matches(self.filter, row):
            return False
        _put(self.shown, row)
        return True

    def _matches(self, wanted: Filter, row: Row) -> bool:
        """Whether a row is shown; in pairs, a matching response counts for its request."""
        if row.is_spare and not wanted.takes_spare:
            return False
        if wanted(row):
            return True
        return self.pairs and row.answer is not None and wanted(row.answer)

    def _pair(self, row: Row) -> None:
        if not row.id:
            return
        if row.kind == "request":
            if len(self._open) > _MOST_OPEN:
                self._open.clear()
            self._open[row.stream, row.sent, row.id] = row
        elif row.kind == "response":
            asked = self._open.pop((row.stream, not row.sent, row.id), None)
            if asked is not None:
                asked.answer, row.asked, row.test = row, asked, asked.test
                called = {"tool": asked.about} if asked.method == "tools/call" else {"method": asked.method}
                asked.behind = self._waits[row.stream, asked.sent].note_answered(asked.order, asked.at, called, row.at)

    def _trim(self) -> None:
        gone = self.rows[: len(self.rows) - MOST_ROWS]
        self.rows = self.rows[len(gone) :]
        for row in gone:
            if row.answer is not None:
                row.answer.asked = None
        self.errors = sum((row.error or row.is_unanswered) and not row.is_spare for row in self.rows)
        if not self.paused:
            self.rebuild()


def _put(rows: list[Row], row: Row) -> None:
    """Add a row where its time belongs, which nearly always is the end."""
    if rows and row.at < rows[-1].at:
        insort(rows, row, key=_PLACE)
    else:
        rows.append(row)


def clock_shown(at: float) -> str:
    """Return the time of day with milliseconds."""
    return f"{time.strftime('%H:%M:%S', time.localtime(at))}.{int(at * 1000) % 1000:03d}"


def essence(text: str) -> str:
    """A message's text without what stands in columns of its own: `"jsonrpc"`, `"id"`, `"method"`."""
    kept = _ENVELOPE.sub("", text[1:]) if text.startswith("{") else text
    if not text.startswith("{") or len(kept) == len(text) - 1:
        return text
    kept = re.sub(r'^"(?:params|result)":', "", kept)
    return kept.removesuffix("}")


def _row(sent: TrafficRow) -> Row:
    return Row(
        sent["n"],
        sent["at"],
        sent["server"],
        sent["sent"],
        sent["kind"],
        sent["size"],
        sent.get("text", ""),
        sent.get("method", ""),
        str(sent.get("id", "")),
        sent.get("ms"),
        sent.get("status"),
        sent.get("error", False),
        stream=sent["stream"],
        pid=sent["pid"],
        test=sent.get("test", ""),
        is_spare=sent.get("spare", False),
        about=sent.get("about", ""),
    )


def _text_test(value: str) -> Callable[[Row], bool]:
    return lambda row: any(value in text.casefold() for text in (row.text, row.method, row.server, row.about, row.test))


def _negated(test: Callable[[Row], bool]) -> Callable[[Row], bool]:
    return lambda row: not test(row)


_STATE_TESTS: dict[str, Callable[[Row], bool]] = {
    "error": lambda row: row.failed,
    "request": lambda row: row.kind == "request",
    "response": lambda row: row.kind == "response",
    "notification": lambda row: row.kind == "notification",
    "stderr": lambda row: row.kind == "stderr",
    "noise": lambda row: row.kind == "noise",
    "sent": lambda row: row.sent,
    "received": lambda row: not row.sent,
    "spare": lambda row: row.is_spare,
    "open": lambda row: row.waits,
}
