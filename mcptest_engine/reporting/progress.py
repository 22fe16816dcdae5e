"""A run as it goes, for a person at a terminal: a small block on stderr that is gone when the run is over.

`on_event` only takes notes; a thread of its own draws, at most `FRAMES_PER_SECOND` times a second and only when
something has changed, each frame in one write over the last one. So a busy run is never held up by the terminal, and
a quiet one still shows how long a server has been starting. A run that is over before `QUIET_SECONDS` never shows
anything. The block is kept narrower than the terminal, because a line that wraps cannot be drawn over.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from mcptest_engine.core.events import (
    AgentTurn,
    CaseAnswered,
    CaseExplained,
    CaseFinished,
    CaseStarted,
    HookFinished,
    HookStarted,
    NodeChanged,
    RunFinished,
    RunStarted,
    ServerFailed,
    ServerReady,
    ServerStarting,
    Warned,
)
from mcptest_engine.core.results import Verdict
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.reporting import facts
from mcptest_engine.reporting.layout import Ink, clip, columns, fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO

    from mcptest_engine.core.events import Event, PlannedTest

FRAMES_PER_SECOND = 15
QUIET_SECONDS = 0.15
NODES_SHOWN = 3
TESTS_SHOWN = 4
BAR_COLUMNS = 20
MIN_BAR_WIDTH = 60

_UP = "\x1b[{}A\r"
_CLEAR_LINE = "\x1b[K\n"
_CLEAR_BELOW = "\x1b[J"


class Progress:
    """The block on a terminal. `width` gives the terminal's columns at this moment (default: asks the terminal).

    `ticking=False` starts no thread: the caller draws with `draw()`.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        color: bool = True,
        width: Callable[[], int] | None = None,
        clock: Callable[[], float] = time.monotonic,
        ticking: bool = True,
    ) -> None:
        self._stream = stream
        self._width = width or (lambda: _terminal_width(stream))
        self._clock = clock
        self._view = ProgressView(Ink(on=color))
        self._taking_notes = threading.Lock()
        self._writing = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="mcptest-progress", daemon=True) if ticking else None
        self._drawn: list[str] = []
        self._drawn_columns: list[int] = []

    def on_event(self, event: Event) -> None:
        """Take note of an event; the last one takes the block away."""
        if self._over.is_set():
            return
        with self._taking_notes:
            self._view.advance(event, self._clock())
        if isinstance(event, RunStarted) and self._thread is not None and not self._thread.is_alive():
            self._thread.start()
        elif isinstance(event, RunFinished):
            self.close()

    def say(self, line: str) -> None:
        """Print a line of ours above the block, where it stays."""
        with self._writing:
            self._write(self._return(max(self._width() - 1, 10)), _CLEAR_BELOW, line)
            self._drawn, self._drawn_columns = [], []

    def draw(self) -> None:
        """Draw a frame if it differs from the last one and the run is old enough to be shown."""
        with self._writing:
            width = max(self._width() - 1, 10)
            with self._taking_notes:  # not held while writing: a stopped terminal must not stop the run
                now = self._clock()
                if self._over.is_set() or now - self._view.started < QUIET_SECONDS:
                    return
                told = self._view.take_lines(width)
                segments = list(self._view.lines(now, bar=width >= MIN_BAR_WIDTH))
            lines = [_fitted(line, width) for line in segments]
            painted = ["".join(paint(text) if paint else text for text, paint in line) for line in lines]
            if told or painted != self._drawn:
                self._write(self._return(width), *(line + _CLEAR_LINE for line in (*told, *painted)), _CLEAR_BELOW)
                self._drawn = painted
                self._drawn_columns = [sum(columns(text) for text, _ in line) for line in lines]

    def close(self) -> None:
        """Take the block away and stop drawing; harmless when done twice."""
        self._over.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join(timeout=1)
        with self._writing:
            if self._drawn:
                self._write(self._return(max(self._width() - 1, 10)), _CLEAR_BELOW)
            self._drawn, self._drawn_columns = [], []

    def _tick(self) -> None:
        while not self._over.wait(1 / FRAMES_PER_SECOND):
            self.draw()

    def _return(self, width: int) -> str:
        """Back to where the last frame began. A terminal made narrower meanwhile has folded its lines."""
        rows = sum(max(1, -(-size // (width + 1))) for size in self._drawn_columns)
        return _UP.format(rows) if rows else "\r"

    def _write(self, *parts: str) -> None:
        try:
            self._stream.write("".join(parts))
            self._stream.flush()
        except (OSError, ValueError):
            self._over.set()  # the terminal is gone; the run goes on


class ProgressView:
    """What the block says, and what is printed above it for good, from the events so far."""

    def __init__(self, ink: Ink) -> None:
        self.started = float("inf")
        self._told: list[tuple[str, str, Paint | None]] = []  # what stands before it, a text, its colour
        self._ink = ink
        self._tests: tuple[PlannedTest, ...] = ()
        self._counts = dict.fromkeys(Verdict, 0)
        self._running: dict[int, float] = {}
        self._starting: dict[str, float] = {}
        self._hook: tuple[str, float] | None = None
        self._nodes: dict[str, dict[str, None]] = {}  # of compositions, by the test's id: the nodes that are running

        self._turns: dict[str, int] = {}  # of agent tests, by the test's id: how often the model has answered

    def advance(self, event: Event, now: float) -> None:
        """Take in one event that came at `now`, monotonic seconds."""
        match event:
            case RunStarted(tests=tests):
                self.started, self._tests = now, tests
            case ServerStarting(server=server):
                self._starting[server] = now
            case ServerReady(server=server):
                self._starting.pop(server, None)
            case ServerFailed(server=server, failure=failure, restarting=restarting):
                self._starting.pop(server, None)
                if restarting:
                    line = f"{one_line(failure.message, 300)}; starting {one_line(server)} again"
                    self._told.append(("  ", line, self._ink.yellow))
            case HookStarted(phase=phase, command=command):
                self._hook = (f"{phase}: {command}", now)
            case HookFinished(result=hook):
                self._hook = None
                if not hook.passed and hook.test is None:
                    self._told.append(("  ", one_line(hook.summary, 300), self._ink.strong_red))
            case CaseStarted(index=index):
                self._running[index] = now
            case CaseAnswered() | NodeChanged() | AgentTurn():
                self._went_on(event)
            case CaseFinished(index=index, result=result):
                self._running.pop(index, None)
                self._nodes.pop(result.id, None)
                self._turns.pop(result.id, None)
                self._counts[result.verdict] += 1
                if result.verdict is Verdict.FAIL:
                    time = facts.duration_text(result.duration_ms)
                    self._told.append(("  FAIL  ", f"{one_line(result.name)}  ({time})", self._ink.strong_red))
                    self._told.append((" " * 8, one_line(facts.reasons(result)[0].text, 300), None))
            case CaseExplained() | Warned() | RunFinished():
                pass  # the report that follows has them

    def _went_on(self, event: CaseAnswered | NodeChanged | AgentTurn) -> None:
        """Something happened within a test."""
        if isinstance(event, CaseAnswered):
            if event.is_held:
                return  # it runs again
            self._running = {at: began for at, began in self._running.items() if self._tests[at].id != event.id}
            return
        if isinstance(event, AgentTurn):
            self._turns[event.test] = event.turn
            return
        nodes = self._nodes.setdefault(event.test, {})
        if event.status == "running":
            nodes[event.node] = None
        else:
            nodes.pop(event.node, None)

    def take_lines(self, width: int) -> list[str]:
        """The lines to print above the block since last asked, folded to `width`, further lines under the first."""
        taken, self._told = self._told, []
        lines = []
        for before, text, paint in taken:
            for number, line in enumerate(fold(text, max(width - len(before), 20))):
                whole = (" " * len(before) if number else before) + line
                lines.append(paint(whole) if paint is not None else whole)
        return lines

    def lines(self, now: float, *, bar: bool = True) -> Iterator[list[Segment]]:
        """The block's lines in segments: a text without colours, and the colour it takes."""
        yield self._sums(now, bar=bar)
        for server, since in self._starting.items():
            yield [("  starting ", self._ink.dim), (one_line(server), None), (_age(now - since), self._ink.dim)]
        if self._hook is not None:
            called, since = self._hook
            yield [("  running ", self._ink.dim), (one_line(called, 300), None), (_age(now - since), self._ink.dim)]
        running = list(self._running.items())
        for index, since in running[:TESTS_SHOWN]:
            name = one_line(self._tests[index].name) if index < len(self._tests) else f"#{index}"
            nodes = self._nodes_of(index)
            yield [
                ("  running ", self._ink.dim),
                (name, None),
                (nodes, self._ink.dim),
                (_age(now - since), self._ink.dim),
            ]
        if len(running) > TESTS_SHOWN:
            yield [(f"  and {len(running) - TESTS_SHOWN} more", self._ink.dim)]

    def _nodes_of(self, index: int) -> str:
        """`: search, readme and 2 more`, the nodes of a composition that are running; `: turn 3` of an agent; else ""."""
        if index < len(self._tests) and (turn := self._turns.get(self._tests[index].id)) is not None:
            return f": turn {turn}"
        nodes = list(self._nodes.get(self._tests[index].id, ())) if index < len(self._tests) else []
        if not nodes:
            return ""
        more = f" and {len(nodes) - NODES_SHOWN} more" if len(nodes) > NODES_SHOWN else ""
        return f": {', '.join(map(one_line, nodes[:NODES_SHOWN]))}{more}"

    def _sums(self, now: float, *, bar: bool) -> list[Segment]:
        ink, count, planned = self._ink, self._counts, len(self._tests)
        done = sum(count.values())
        filled = done * BAR_COLUMNS // planned if planned else 0
        segments: list[Segment] = []
        if bar:
            segments.append(("  " + "━" * filled, ink.red if count[Verdict.FAIL] else ink.green))
            segments.append(("─" * (BAR_COLUMNS - filled), ink.dim))
        segments += [
            (f"  {done}/{planned}", ink.bold),
            (f"  {count[Verdict.PASS]} passed", ink.green if count[Verdict.PASS] else ink.dim),
            (f", {count[Verdict.FAIL]} failed", ink.strong_red if count[Verdict.FAIL] else ink.dim),
        ]
        for verdict, word in ((Verdict.SKIP, "skipped"), (Verdict.INCONCLUSIVE, "inconclusive")):
            if count[verdict]:
                segments.append((f", {count[verdict]} {word}", ink.yellow))
        return [*segments, (_age(now - self.started), ink.dim)]


def _fitted(segments: list[Segment], width: int) -> list[Segment]:
    """The segments in `width` columns. Room is kept for the last one, an age, when it is the others that are too long."""
    *body, (tail, tail_paint) = segments
    room = width - columns(tail)
    if room < width // 2:
        body, room, tail = segments, width, ""
    fitted: list[Segment] = []
    for text, paint in body:
        kept = clip(text, room)
        room -= columns(kept)
        fitted.append((kept, paint))
        if kept != text:
            break
    return [*fitted, (tail, tail_paint)]


def _age(seconds: float) -> str:
    """`  3s`, whole seconds so that a quiet block changes once a second; "" before the first one."""
    return f"  {facts.duration_text(int(seconds) * 1000).replace('.0s', 's')}" if seconds >= 1 else ""


def _terminal_width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


if TYPE_CHECKING:
    Paint = Callable[[str], str]
    Segment = tuple[str, Paint | None]
