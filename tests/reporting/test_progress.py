"""The live block: what a terminal shows at each frame. The terminal here is a small one that obeys what we send."""

from __future__ import annotations

import io
import re
import threading

import pytest

from mcptest_engine.core.events import (
    CaseFinished,
    CaseStarted,
    NodeChanged,
    PlannedTest,
    RunFinished,
    RunStarted,
    ServerFailed,
    ServerReady,
    ServerStarting,
    Warned,
)
from mcptest_engine.core.results import Failure, FailureKind, TestKind
from mcptest_engine.reporting.layout import columns
from mcptest_engine.reporting.progress import Progress


class Terminal(io.StringIO):
    """Lines and a cursor; knows the sequences that the block is drawn with, and refuses any other."""

    def __init__(self):
        super().__init__()
        self.rows, self.row, self.writes = [""], 0, []

    def write(self, text):
        if self.closed:
            raise BrokenPipeError
        self.writes.append(text)
        for part in re.findall(r"\x1b\[\d*[A-Za-z]|\x1b|\r|\n|[^\x1b\r\n]+", text):
            if part == "\n":
                self.row += 1
                self.rows += [""] * (self.row + 1 - len(self.rows))
            elif found := re.fullmatch(r"\x1b\[(\d+)A", part):
                self.row -= int(found[1])
                assert self.row >= 0
            elif part == "\x1b[J":
                del self.rows[self.row + 1 :]
                self.rows[self.row] = ""
            elif part == "\x1b[K":
                pass
            elif part != "\r":
                assert "\x1b" not in part
                self.rows[self.row] = part
        return len(text)

    @property
    def screen(self):
        return [row for row in self.rows if row]


class Bench:
    """A block with a clock and a width that a test moves."""

    def __init__(self, build, names=("a", "b", "c")):
        self.now, self.width, self.terminal, self.build = 0.0, 80, Terminal(), build
        self.record = build.record(*[build.test(name) for name in names])
        self.progress = Progress(
            self.terminal, color=False, width=lambda: self.width, clock=lambda: self.now, ticking=False
        )
        tests = tuple(
            PlannedTest(id=name, name=name, kind=TestKind.TOOL, server="demo", file="a", line=1) for name in names
        )
        self.emit(RunStarted(run_id="r", suite=self.record.suite, tests=tests, workers=8))

    def emit(self, *events):
        for event in events:
            self.progress.on_event(event)

    def finish(self, index, verdict="pass", **more):
        self.emit(CaseFinished(index=index, result=self.build.test(self.record.tests[index].name, verdict, **more)))

    def frame(self, after=1.0):
        self.now += after
        self.progress.draw()
        return self.terminal.screen


@pytest.fixture
def bench(build):
    return Bench(build)


def test_the_block_counts_and_names_what_is_under_way(bench):
    """Counters, servers starting, tests running, with their ages."""
    bench.emit(ServerStarting(server="demo"))
    assert bench.frame(1.2) == ["  " + "─" * 20 + "  0/3  0 passed, 0 failed  1s", "  starting demo  1s"]
    bench.emit(ServerReady(server="demo", server_info=None, protocol_version=None, duration_ms=1))
    bench.emit(CaseStarted(index=0, id="a"), CaseStarted(index=1, id="b"))
    bench.finish(0)
    assert bench.frame() == ["  " + "━" * 6 + "─" * 14 + "  1/3  1 passed, 0 failed  2s", "  running b  1s"]


def test_a_failure_is_told_above_the_block_as_it_happens(bench):
    """And stays there when the block goes."""
    bench.emit(CaseStarted(index=0, id="a"))
    bench.finish(0, "fail", failure=Failure(kind=FailureKind.TIMEOUT, message="no answer"))
    shown = bench.frame()
    assert shown[:2] == ["  FAIL  a  (12ms)", "        no answer"]
    assert len(shown) == 3
    bench.emit(RunFinished(record=bench.record))
    assert bench.terminal.screen == shown[:2]


def test_a_short_run_shows_nothing_at_all(bench):
    """A block that flashes up is worse than none."""
    bench.finish(0, "fail")
    assert bench.frame(0.1) == []
    bench.emit(RunFinished(record=bench.record))
    assert bench.terminal.writes == []


def test_a_frame_without_news_is_not_drawn_and_a_frame_is_one_write(bench):
    """Never flickers."""
    bench.frame(1.0)
    bench.frame(0.2)
    bench.emit(Warned(message="x"))
    bench.frame(0.2)
    assert len(bench.terminal.writes) == 1
    bench.finish(0)
    bench.frame(0.1)
    assert len(bench.terminal.writes) == 2


@pytest.mark.parametrize("width", [12, 20, 40, 60, 80, 200])
def test_no_line_of_the_block_wraps(width, build):
    """A line that wraps cannot be drawn over."""
    bench = Bench(build, names=["日本語 " * 30, "b" * 300, "c", "d", "e", "f"])
    bench.width = width
    bench.emit(ServerStarting(server="s" * 300), *[CaseStarted(index=n, id="x") for n in range(6)])
    shown = bench.frame(3600)
    assert all(columns(line) < width for line in shown)
    assert shown[-1].strip()[:5] in {"and 2", "and …"}


def test_a_terminal_made_narrower_is_cleaned_up_all_the_same(bench):
    """The terminal has folded what was drawn before."""
    bench.frame()
    bench.width = 25
    bench.finish(0)
    bench.terminal.row += 2  # one line of 51 columns has become three
    bench.terminal.rows += ["", ""]
    assert bench.frame()[-1].startswith("  1/3")
    assert bench.terminal.writes[-1].startswith("\x1b[3A")


def test_a_server_that_is_started_again_is_told(bench):
    """Restarts are visible while they happen."""
    failure = Failure(kind=FailureKind.SERVER, message="exited with code 3")
    bench.emit(ServerFailed(server="demo", failure=failure, restarting=True))
    assert bench.frame()[0] == "  exited with code 3; starting demo again"


def test_text_from_a_server_moves_no_cursor(bench, nasty):
    """The terminal here refuses any sequence that is not the block's."""
    bench.emit(ServerStarting(server=nasty), CaseStarted(index=0, id="a"))
    bench.finish(0, "fail", failure=Failure(kind=FailureKind.SERVER, message=nasty))
    assert any("␛[2J" in line for line in bench.frame())


def test_a_terminal_that_is_gone_ends_the_block_and_not_the_run(build):
    """A closed stderr is no reason to fail."""
    bench = Bench(build)
    bench.terminal.close()
    bench.frame()
    bench.finish(0)
    bench.frame()
    bench.progress.close()


def test_the_thread_draws_by_itself_and_is_gone_afterwards(build, monkeypatch):
    """The block that users see: drawn from its own thread, taken away by the last event."""
    drawn, terminal = threading.Event(), Terminal()
    monkeypatch.setattr(terminal, "flush", drawn.set)
    moments = iter([0.0])
    progress = Progress(terminal, color=False, width=lambda: 80, clock=lambda: next(moments, 1.0))
    record = build.record()
    progress.on_event(RunStarted(run_id="r", suite=record.suite, tests=(), workers=8))
    assert drawn.wait(5)
    progress.on_event(RunFinished(record=record))
    assert terminal.screen == []
    assert "mcptest-progress" not in {thread.name for thread in threading.enumerate()}
    progress.close()


def test_a_terminal_that_has_been_stopped_does_not_stop_the_run(build, monkeypatch):
    """Ctrl-S blocks whoever writes; events are taken note of all the same."""
    writing, resumed = threading.Event(), threading.Event()
    bench = Bench(build)

    def flush():
        writing.set()
        resumed.wait(5)

    monkeypatch.setattr(bench.terminal, "flush", flush)
    drawing = threading.Thread(target=bench.frame)
    drawing.start()
    assert writing.wait(5)
    bench.finish(0)
    stopped = drawing.is_alive()
    resumed.set()
    drawing.join(5)
    assert stopped
    assert bench.frame()[0].endswith("1/3  1 passed, 0 failed  2s")


def test_a_composition_is_shown_with_the_nodes_that_are_running(build):
    """A long composition is quiet otherwise."""
    bench = Bench(build, names=["a"])

    def node(name, status):
        return NodeChanged(test="a", node=name, status=status)

    bench.emit(CaseStarted(index=0, id="a"), *[node(name, "running") for name in ("n1", "n2", "n3", "n4", "n5")])
    assert bench.frame(1.2)[-1] == "  running a: n1, n2, n3 and 2 more  1s"
    bench.emit(*[node(name, "ok") for name in ("n1", "n2", "n3", "n4")])
    assert bench.frame()[-1] == "  running a: n5  2s"
    bench.emit(node("n5", "err"))
    assert bench.frame()[-1] == "  running a  3s"


def test_a_line_of_ours_stays_above_the_block():
    """What a cluster is about to do, or that it is being stopped, is not drawn over."""
    stream = io.StringIO()
    progress = Progress(stream, color=False, width=lambda: 80, ticking=False)
    progress.say("4 tests in 1 batch\n")
    assert stream.getvalue() == "\r\x1b[J4 tests in 1 batch\n"
    progress.close()
    assert stream.getvalue().endswith("4 tests in 1 batch\n")
