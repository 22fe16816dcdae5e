"""`mcptest --plain`: the workbench as lines of text, for screen readers, slow terminals and scripts.

Commands are words, one a line; results are printed as they come. The engine, the state of the tests, runs and reviews are those
of the workbench: this module takes the place of the app for them, and draws nothing. No line holds a control, a frame or a
colour, but for the colours of verdicts where `--color` asks for them.

Lines from a pipe wait until what was asked before is done, so that a script reads as it runs.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mcptest_engine.core.errors import did_you_mean
from mcptest_engine.core.sanitise import one_line, sanitise
from mcptest_engine.core.text import counted
from mcptest_engine.workspace.suite_file import demo_suite
from mcptest_engine.workspace.workspace import Workspace, find_workspace
from mcptest_tui.actions import by_id
from mcptest_tui.config import load_config
from mcptest_tui.engine_client import EngineClient, EngineError
from mcptest_tui.places import absolute
from mcptest_tui.reviews import Reviews
from mcptest_tui.runs import WATCH, Runs
from mcptest_tui.state.filters import Known, parse_filter
from mcptest_tui.state.result_rows import WORDS, new_lines, problem_lines, result_lines
from mcptest_tui.state.review_rows import item_lines
from mcptest_tui.state.reviewing import ACCEPT, KINDS, REJECT, SKIP
from mcptest_tui.state.run_view import repro_command
from mcptest_tui.state.store import Store
from mcptest_tui.state.test_row import VERDICTS
from mcptest_tui.state.tree_rows import TO_SEE
from mcptest_tui.suites import Suites
from mcptest_tui.words import OWN_KEYS, mark, took_shown

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from mcptest_engine.engine_process.workbench_events import WorkbenchEvent
    from mcptest_tui.state.test_row import TestRow
    from mcptest_tui.state.text_lines import TextLine

LONGEST = 2_000
COMMANDS = {
    "help": ("help", "", "List the commands."),
    "tests": ("tests [FILTER]", "", "List the tests with their numbers; a filter is words, is:failed, tag:smoke."),
    "run": ("run NUMBERS, all, failed or FILTER", "", "Run these tests: run 3, run 2 5-7, run tag:smoke."),
    "again": ("again", "run.again", ""),
    "stop": ("stop", "run.stop.all", ""),
    "show": ("show NUMBER", "open.detail", "Show the result of the test."),
    "next": ("next", "fail.next", "Show the next failing test."),
    "problems": ("problems", "", "List what is wrong in the suites."),
    "servers": ("servers", "", "List the servers of the suites and their states."),
    "review": ("review", "review.open", "List what is proposed, and show the first proposal that is not decided."),
    "accept": ("accept", "review.accept", ""),
    "reject": ("reject", "review.reject", ""),
    "skip": ("skip", "review.skip", ""),
    "write": ("write", "review.write", ""),
    "undo": ("undo", "review.undo", ""),
    "unwrite": ("unwrite", "review.unwrite", ""),
    "watch": (f"watch {', '.join(WATCH)}", "run.watch", ""),
    "open": ("open FILE", "suite.open", ""),
    "demo": ("demo", "home.demo", ""),
    "quit": ("quit", "", "End the runs and leave; Ctrl-C only stops the runs."),
}
"""Each command: how it is typed, the action of the registry that it does, and what it says where that has other words."""
SPOKEN = {
    "run.all": "run all",
    "run.failed": "run failed",
    "run.this": "run",
    "app.mode.2": "problems",
    "app.quit": "quit",
    "app.help": "help",
}
SPOKEN |= {action: name for name, (_, action, _) in COMMANDS.items() if action}
"""Actions of the registry, which may be typed by their id too."""
COLOURS = {"pass": "32", "fail": "31", "inconclusive": "33", "expected": "36", "actual": "35"}
DRAWN = dict.fromkeys(range(0x2500, 0x25A0))
"""Frames and bars, which a screen reader would spell."""


class Printer:
    """Prints lines without frames, with marks as words; `is_closed` once there is no reader."""

    def __init__(self, store: Store, workspace: Workspace, *, color: bool) -> None:
        self._store, self._workspace, self._color = store, workspace, color
        self.is_closed = False

    def put(self, *lines: str) -> None:
        """Print lines; `is_closed` is set if nobody reads them."""
        try:
            for text in lines:
                sys.stdout.write(f"{text.translate(DRAWN).rstrip()}\n")
            sys.stdout.flush()
        except OSError:
            self.is_closed = True

    def notify(self, text: str, *, hint: str | None = None, **_: object) -> None:
        """Print a message, and what to do about it."""
        for part in filter(None, (text, hint)):
            self.put(*sanitise(part).split("\n"))

    def show(self, text: str, severity: str = "", **_: object) -> None:  # noqa: ARG002 - as of `MessageOutput`
        """Print what the status bar would show."""
        self.put(one_line(text, LONGEST))

    def put_text(self, lines: Iterable[TextLine]) -> None:
        """Print what a pane of the workbench shows, its marks as words."""
        for line in lines:
            self.put(" " * line.at + "".join(self._worded(text, ink) for text, ink in line.pieces))

    def _worded(self, text: str, ink: str) -> str:
        sign, space, rest = text.partition(" ")
        if ink in WORDS and space and sign == mark(ink):
            text = rest or f"{WORDS[ink]}: "
        return self._painted(text, ink)

    def _painted(self, text: str, ink: str) -> str:
        return f"\x1b[{COLOURS[ink]}m{text}\x1b[0m" if self._color and ink in COLOURS else text

    def row(self, row: TestRow) -> str:
        """Return one line for a test: its number, its verdict, its name."""
        word = self._painted(WORDS.get(row.shown, row.shown), row.shown)
        return f"{self._store.order.index(row.id) + 1} {word}: {one_line(row.name, LONGEST)}"

    def near(self, path: str) -> str:
        """Return a path relative to the workspace, on one line."""
        return one_line(self._workspace.relative(Path(path)), LONGEST)


class PlainWorkbench:
    """One session of `--plain`: the `Host` of `Suites`, `Runs` and `Reviews`."""

    def __init__(self, paths: list[str], *, color: bool = False) -> None:
        OWN_KEYS.update({action: (f"`{command}`",) for action, command in SPOKEN.items()})  # what messages name as keys
        self.config = load_config()
        self.folder = Path.cwd()
        self.workspace = find_workspace(self.folder)
        self.store = Store()
        self.engine = EngineClient(self._take, self._engine_changed)
        self.engine_ready = asyncio.Event()
        self.watch_mode = self.config.watch
        self.current_mode = ""
        self.out = self.messages = Printer(self.store, self.workspace, color=color)
        self.suites = Suites(self, paths, [])
        self.runs = Runs(self, self.suites, self._take)
        self.reviews = Reviews(self, self.runs)
        self._tasks = set[asyncio.Task[object]]()
        self._proposals, self._shown = 0, 0
        self._last: list[str] = []
        self._unsound: set[str] = set()
        self._quitting = False

    # The host

    def run_worker(self, work: Any, **_: object) -> None:
        """Start a task; the next line of a pipe is read after its end."""
        task: asyncio.Task[object] = asyncio.ensure_future(work() if callable(work) else work)
        self._tasks.add(task)
        task.add_done_callback(self._worked)

    def work_screens(self) -> tuple[()]:
        """Return nothing: `--plain` has no screens."""
        return ()

    def watched_files(self) -> list[str]:
        """Files and folders to watch beside those of the suites."""
        return [self.reviews.folder]

    def documents_read(self) -> None:
        """Print which suites have problems now and had none before."""
        unsound = {path for path, document in self.store.documents.items() if not document.sound}
        for path in sorted(unsound - self._unsound):
            name, problems = self.out.near(path), len(self.store.documents[path].diagnostics)
            self.out.put(f"{name} has {counted(problems, 'problem')}; the command problems lists them")
        self._unsound = unsound

    def documents_changed(self, paths: list[str]) -> None:
        """Read again what is made of these files, and run what the watch mode says."""
        self.reviews.saved(paths)
        self.run_worker(self._changed(paths))

    def refresh_status(self) -> None:
        """Print a message when there are more proposals than before."""
        found = len(self.reviews.state.items)
        if found > self._proposals:
            self.out.put(f"{counted(found, 'proposal')} to decide; the command review shows them")
        self._proposals = found

    async def _changed(self, paths: list[str]) -> None:
        documents = await self.suites.read_changed(paths)
        self.runs.saved(paths, documents)

    def _worked(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (wrong := task.exception()) is not None:
            self.out.notify(f"this is a bug in mcptest: {type(wrong).__name__}: {wrong}")

    # What the engine says

    def _take(self, event: WorkbenchEvent) -> None:
        self.store.apply_many([event])
        if event["event"] == "files.changed":
            self.documents_changed(self.suites.changed(event["paths"]))
        elif event["event"] == "files.watched":
            missed = self.suites.missed(event["paths"])
            if missed:
                self.documents_changed(missed)
        elif event["event"] == "case.finished":
            row = self.store.rows.get(event["id"])
            if row is not None and row.status in VERDICTS:
                self._finished(row)
        elif event["event"] == "run.finished" and (summary := self.store.run_view.summary) is not None:
            where = f"{self.out.near(event['path'])}: " if len(self.store.documents) > 1 else ""
            stopped = "stopped; " if summary.interrupted else ""
            self.out.put(where + stopped + one_line(summary.title, LONGEST))
            self.out.put(*(f"failed: {one_line(gate, LONGEST)}" for gate in summary.gates))
            self.reviews.read()  # a run may have something to propose
        self.runs.take_events([event])

    def _finished(self, row: TestRow) -> None:
        took = "" if row.own_ms is None else f", {took_shown(row.own_ms)}"
        self.out.put(f"{self.out.row(row)}{took}")
        result = row.result or {}
        failure = result.get("failure")
        message = failure.get("message") if isinstance(failure, dict) else result.get("message")
        if row.status in ("fail", "inconclusive") and message:
            self.out.put(f"  {one_line(str(message), LONGEST)}")

    def _engine_changed(self, state: str, message: str) -> None:
        if state in ("lost", "gone"):
            self.store.interrupt()
            hint = "it is started again; results stay" if state == "lost" else "quit and start mcptest again"
            self.out.notify(f"the engine stopped ({message})", hint=hint)

    # Lines in

    async def run(self) -> int:
        """Read commands until the end; the exit code."""
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[str] = asyncio.Queue()

        def read() -> None:
            with suppress(RuntimeError):  # the session has ended meanwhile
                try:
                    for text in sys.stdin:
                        loop.call_soon_threadsafe(lines.put_nowait, text.strip())
                finally:
                    loop.call_soon_threadsafe(lines.put_nowait, "quit")

        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        try:
            await self._open()
            threading.Thread(target=read, daemon=True).start()
            at_once = sys.stdin.isatty()
            while not (self._quitting or self.out.is_closed):
                typed = await lines.get()
                if not at_once and typed.split(" ")[0] not in ("stop", "run.stop", "run.stop.all"):
                    await self._settle()
                try:
                    await self.do(typed)
                except Exception as wrong:  # noqa: BLE001 - one line that trips us must not cost the session
                    self.out.notify(f"this is a bug in mcptest: {type(wrong).__name__}: {wrong}")
        finally:
            await self.engine.close()
        return 0

    async def _open(self) -> None:
        self.out.put(*(one_line(problem, LONGEST) for problem in self.config.problems))
        await self.suites.open_near()
        try:
            await self.engine.start(str(self.folder))
            self.engine_ready.set()
            await self.suites.search()
            await self.reviews.refresh()
        except (EngineError, OSError) as wrong:
            self.out.notify(f"the engine did not start: {wrong}", hint="`mcptest run` works without it")
            self.engine_ready.set()  # what asks it is refused, and does not wait for it
        tests, suites = len(self.store.order), len(self.store.documents)
        if suites:
            self.out.put(f"{counted(tests, 'test')} in {counted(suites, 'suite')}; the command help lists the commands")
        else:
            self.out.put(
                "no suite in this folder; `mcptest init` makes one for your server, the command demo writes one to try"
            )

    async def _settle(self) -> None:
        while (self._tasks or self.store.progress.busy) and not (self._quitting or self.out.is_closed):
            if self._tasks:
                await asyncio.wait(self._tasks)
            else:
                await asyncio.sleep(0.02)

    def _interrupt(self) -> None:
        if self.store.progress.busy:
            self.runs.cancel()
        else:
            self.out.put("nothing is running; the command quit leaves")

    # Commands

    async def do(self, typed: str) -> None:
        word, _, rest = typed.partition(" ")
        word, _, more = SPOKEN.get(word, word).partition(" ")
        if not word or typed.startswith("#"):
            return
        if word not in COMMANDS:
            hint = did_you_mean(word, COMMANDS)
            self.out.put(f'unknown command "{one_line(word, 60)}"; {hint or "the command help lists the commands"}')
            return
        done = getattr(self, f"_do_{word}")(f"{more} {rest}".strip())
        if done is not None:
            await cast("Coroutine[Any, Any, None]", done)

    def _do_help(self, _: str) -> None:
        actions = by_id()
        for usage, action, told in COMMANDS.values():
            self.out.put(f"{usage}: {told or actions[action][1].help}")

    def _do_tests(self, text: str) -> None:
        rows = self._select(text)
        if rows is not None:
            self.out.put(*map(self.out.row, rows), counted(len(rows), "test"))

    def _do_run(self, text: str) -> None:
        if not text:
            self.out.put("run what? say numbers, all, failed or a filter: run 3, run failed")
            return
        if text in ("all", "failed"):
            wanted = [test for test in self.store.order if text == "all" or self.store.rows[test].standing == "fail"]
            if not wanted and text == "failed":
                self.out.put("no test has failed")
                return
        else:
            rows = self._select(text)
            if rows is None:
                return
            wanted = [row.id for row in rows]
        self._start(wanted)

    def _do_again(self, _: str) -> None:
        self._start([test for test in self._last if test in self.store.rows])

    def _start(self, tests: list[str]) -> None:
        self._last = tests
        if self.runs.start(None, tests):
            self.out.put(f"running {counted(len(tests), 'test')}")

    def _do_stop(self, _: str) -> None:
        self.runs.cancel()

    def _do_show(self, text: str) -> None:
        if not text:
            self.out.put("show which test? say its number: show 3")
            return
        for row in self._select(text) or ():
            self._show(row)

    def _do_next(self, _: str) -> None:
        order = self.store.order
        start = self._shown % len(order) if order else 0
        found = [test for test in (*order[start:], *order[:start]) if self.store.rows[test].standing in TO_SEE]
        if found:
            self._show(self.store.rows[found[0]])
        else:
            self.out.put("no test has failed, is inconclusive or was stopped")

    def _show(self, row: TestRow) -> None:
        self._shown = self.store.order.index(row.id) + 1
        self.out.put(self.out.row(row))
        suite, place = self.out.near(row.path), f"{self.out.near(row.file)}:{row.line}"
        repro = repro_command(suite, row.name)
        if row.result is None:
            self.out.put_text(new_lines(row, place, (), repro)[2:])
            return
        self.out.put(f"in {place}")
        server = self.store.run_view.servers.get((row.path, row.server))
        self.out.put_text(result_lines(row, row.result, server, repro, self.store.run_view.hooks_around(row.id)))

    def _do_problems(self, _: str) -> None:
        found = [document for document in self.store.documents.values() if document.diagnostics]
        for document in found:
            self.out.put(f"{self.out.near(document.path)}:")
            self.out.put_text(problem_lines(document, None, editor=False))
        if not found:
            self.out.put("no problems")

    def _do_servers(self, _: str) -> None:
        found = [(path, server) for path, document in self.store.documents.items() for server in document.servers]
        for path, server in found:
            known = self.store.run_view.servers.get((path, server.name))
            state = known.state if known is not None else "not started"
            self.out.put(f"{one_line(server.name, LONGEST)}: {state}, {one_line(server.target, LONGEST)}")
            if known is not None and known.state == "failed":
                self.out.put(*(f"  {one_line(text, LONGEST)}" for text in (known.message, known.hint) if text))
        if not found:
            self.out.put("no servers")

    async def _do_review(self, _: str) -> None:
        await self.reviews.refresh()
        items = self.reviews.state.items
        for number, item in enumerate(items, 1):
            decision = self.reviews.state.decision(item)
            told = "" if decision is None else f", {decision.choice}ed" if decision.choice != SKIP else ", skipped"
            self.out.put(f"{number} {KINDS.get(item.kind, item.kind)}: {one_line(item.title, LONGEST)}{told}")
        if not items:
            self.out.put(one_line(self.reviews.problem, LONGEST) or "nothing to review")
            return
        self._proposal()

    def _proposal(self) -> None:
        state = self.reviews.state
        item = state.current
        if item is None or state.decision(item) is not None:
            self.out.put("all proposals are decided; the command write saves them")
            return
        self.out.put(f"proposal {state.at + 1} of {len(state.items)}, {one_line(item.title, LONGEST)}, in {item.place}")
        self.out.put_text(item_lines(item, None))
        self.out.put("accept, reject or skip?")

    def _decide(self, choice: str) -> None:
        item = self.reviews.state.current
        if item is None:
            self.out.put("nothing to review")
            return
        if choice == ACCEPT and (item.stale or item.needs_arguments):
            why = item.stale or "it needs arguments; the workbench and `mcptest review` ask for them"
            self.out.put(f"it cannot be accepted: {one_line(why, LONGEST)}")
            return
        self.reviews.state.decide(choice)
        self._proposal()

    def _do_accept(self, _: str) -> None:
        self._decide(ACCEPT)

    def _do_reject(self, _: str) -> None:
        self._decide(REJECT)

    def _do_skip(self, _: str) -> None:
        self._decide(SKIP)

    def _do_undo(self, _: str) -> None:
        if self.reviews.state.undo() is None:
            self.out.put("nothing was decided")
        else:
            self._proposal()

    def _do_write(self, _: str) -> None:
        if not self.reviews.state.unwritten:
            self.out.put("nothing was decided that could be written")
        self.reviews.write()

    def _do_unwrite(self, _: str) -> None:
        self.reviews.undo()

    def _do_watch(self, text: str) -> None:
        if text in WATCH:
            self.watch_mode = text
        elif text:
            self.out.put(f"watch is {', '.join(WATCH[:-1])} or {WATCH[-1]}")
            return
        self.out.put(f"a save runs: {self.watch_mode}")

    async def _do_open(self, text: str) -> None:
        if not text:
            self.out.put("open which file?")
            return
        path = absolute(text)
        await self.suites.open(path)
        document = self.store.documents.get(path)
        if document is None:
            self.out.put(f"there is no {one_line(text, LONGEST)}")
            return
        self.suites.watch()
        self.out.put(f"{self.out.near(path)}: {counted(len(document.tests), 'test')}")

    async def _do_demo(self, _: str) -> None:
        try:
            path = str(demo_suite(Path.cwd()))
        except OSError as wrong:
            self.out.put(f"{wrong.filename} cannot be written: {wrong.strerror}")
            return
        await self._do_open(path)
        self._start([test for test in self.store.order if self.store.rows[test].path == path])

    def _do_quit(self, _: str) -> None:
        unwritten = self.reviews.unwritten()
        if unwritten:
            self.out.put(unwritten)
        self._quitting = True

    def _select(self, text: str) -> list[TestRow] | None:
        """The tests of numbers, ranges of numbers or a filter; None, and why, where there are none."""
        rows = [self.store.rows[test] for test in self.store.order]
        words = text.replace(",", " ").split()
        if words and all(word.replace("-", "", 1).isdecimal() for word in words):
            chosen: list[TestRow] = []
            for word in words:
                first, _, last = word.partition("-")
                numbers = range(int(first or last), int(last or first) + 1)
                if not numbers or numbers[0] < 1 or numbers[-1] > len(rows):
                    self.out.put(f"there is no test {word}; there are {counted(len(rows), 'test')}")
                    return None
                chosen += rows[numbers[0] - 1 : numbers[-1]]
            return chosen
        wanted = parse_filter(text)
        if wanted.problems:
            self.out.put(*(one_line(problem, LONGEST) for problem in wanted.problems))
            return None
        if text and not wanted:
            self.out.put(f'"{one_line(text, 60)}" is not a filter; say what to look for: words, is:failed, tag:smoke')
            return None
        chosen = wanted.select(rows)
        if not chosen:
            self.out.put(wanted.why_empty(Known.of(rows)) or "no test matches" if rows else "no tests are open")
            return None
        return chosen


def run_plain(paths: list[str], *, color: bool) -> int:
    """Open a session of lines; the exit code."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")

    async def session() -> int:
        return await PlainWorkbench(paths, color=color).run()

    return asyncio.run(session())
