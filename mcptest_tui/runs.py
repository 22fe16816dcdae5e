"""Starts and stops runs, by hand and at a save."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from mcptest_engine.core.text import counted
from mcptest_engine.running.watch import WRITTEN_WITHIN_SECONDS, FilesChangedByRuns
from mcptest_tui.state.progress import CANCELLED
from mcptest_tui.words import MARKS, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest_engine.engine_process.workbench_events import RunFailed, Send, WorkbenchEvent
    from mcptest_engine.running.documents import Document
    from mcptest_engine.safety.tool_classes import ToolClass
    from mcptest_tui.host import Host
    from mcptest_tui.suites import Suites

WATCH = ("off", "affected", "all")


class Runs:
    """The runs that were requested; the queue is the engine's."""

    def __init__(self, host: Host, suites: Suites, emit: Send) -> None:
        """`emit` takes an event as if the engine had sent it."""
        self._host, self._suites, self._emit = host, suites, emit
        self._progress = host.store.progress
        self._keys = count(1)
        self.bail = False
        self._unsent: set[str] = set()
        self._run_by_key: set[str] = set()
        self._written = FilesChangedByRuns()
        self._asked_early: set[str] | None = None
        """The suites that ran when all were asked for while others were still looked for; those run once they are read."""

    def start(self, path: str | None, ids: Iterable[str] | None = None, *, by_key: bool = True) -> list[str]:
        """Run these tests (of the suite at `path`, or wherever they are), or all; returns the keys of the runs.

        `by_key` says that a person asked for it; else it is a save.
        """
        store = self._host.store
        wanted: dict[str, list[str] | None] = {}
        if ids is None and path is None and not self._suites.searched:
            self._asked_early = set(store.documents)
            if not store.documents:
                self._host.messages.show(
                    "the suites are being read; then all tests run", is_over=lambda: self._asked_early != set()
                )
                return []
        if ids is None:
            wanted = dict.fromkeys([path] if path is not None else store.documents)
        else:
            for test in ids:
                row = store.rows.get(test)
                place = path or (row.path if row is not None else None)
                if place is not None:
                    listed = wanted.setdefault(place, [])
                    assert listed is not None
                    listed.append(test)
        keys, unsound = [], []
        for place, tests in wanted.items():
            document = store.documents.get(place)
            if document is not None and not document.sound:
                unsound.append(place)
                continue
            key = f"u{next(self._keys)}"
            listed = tests if tests is not None else [row.id for row in store.rows.values() if row.path == place]
            if not listed:
                continue
            self._unsent.add(key)
            self._run_by_key.update(listed if by_key else ())
            store.queue(key, listed)
            self._host.run_worker(self._request_run(key, place, tests), group="run.ask", exit_on_error=False)
            # last: a run that could not be begun would be waited for without end
            self._progress.request(key, len(listed))
            keys.append(key)
        if not keys:
            self._host.messages.notify(
                "there is nothing to run", severity="warning", hint=self._why_nothing(wanted, unsound)
            )
        elif unsound:
            self._host.messages.show(f"without {self._named(unsound)}, which has problems", "warning")
        self._host.refresh_status()
        return keys

    def documents_read(self) -> None:
        """Start the runs that were requested before all suites were found."""
        if self._asked_early is None:
            return
        asked, documents = self._asked_early, self._host.store.documents
        late = [path for path in documents if path not in asked]
        asked.update(late)
        for path in late:
            self.start(path, None)
        if self._suites.searched:
            self._asked_early = None
            if not documents:
                self.start(None, None)  # which says that there is nothing

    def cancel_one(self) -> None:
        """Stop the run that is on; the next one begins. Before any has begun, all of them."""
        run = self._progress.run
        if run is None or not self._progress.waiting:
            self.cancel()
            return
        self._progress.stop(run)
        self._host.engine.send("cancel", run=run)
        others = counted(len(self._progress.waiting), "other")
        self._host.messages.show(
            f"stopped this run; {key_of('run.stop.all')} stops the {others} too",
            is_over=lambda: not self._progress.waiting,
        )
        self._host.refresh_status()

    def cancel(self) -> None:
        """Stop the run that is on and all that wait, also those of suites that are still looked for."""
        self._asked_early = None
        if not self._progress.busy:
            self._host.messages.show("nothing is running")
            return
        self._progress.stop()
        for key in list(self._unsent):  # the engine does not know of these yet
            self._show_failure(key, "cancelled before it began", CANCELLED)
        self._unsent.clear()
        self._host.engine.send("cancel")
        self._host.refresh_status()

    def saved(self, paths: list[str], documents: list[Document]) -> None:
        """Run what the watch mode selects after files were saved."""
        paths = [path for path in paths if not self._is_output(path)]
        if self._host.watch_mode == "off" or not documents or not paths:
            return
        tests = self.due(paths, documents)
        name = paths[0].rpartition("/")[2] if len(paths) == 1 else counted(len(paths), "file")
        self.start_unasked(tests, f"saved {name} {MARKS['arrow']} ")

    def start_unasked(self, tests: list[str], said: str) -> None:
        """Run these tests without a key, except those that act or spend, which are shown as waiting."""
        from mcptest_tui.state.affected import why_it_waits

        store, listed = self._host.store, self._listed_classes()
        for test in tests:
            row = store.rows[test]
            row.waits = why_it_waits(row, listed, self._run_by_key)
        waiting = [test for test in tests if store.rows[test].waits]
        started = [test for test in tests if test not in waiting]
        told = [counted(len(started), "test")] if started else []
        if waiting:
            whose = store.rows[waiting[0]].waits if len(waiting) == 1 else "they change something or cost money"
            waits = "waits" if len(waiting) == 1 else "wait"
            key = key_of("run.this", typing=self._host.current_mode == "edit")
            told.append(f"{counted(len(waiting), 'test')} {waits} for {key}: {whose}")
            for screen in self._host.work_screens():
                screen.tests_wait()
        if told:
            self._host.messages.show(said + ", ".join(told))
        if started:
            self.start(None, started, by_key=False)

    def _listed_classes(self) -> dict[tuple[str, str, str], ToolClass]:
        """The classes of the tools of connected servers, by suite, server and name."""
        from mcptest_engine.safety.tool_classes import classify

        return {
            (suite, server, tool.name): classify(tool.data)
            for screen in self._host.work_screens()
            for suite, server, tool in screen.tools()
        }

    def _is_output(self, path: str) -> bool:
        """Whether a file is what servers write, such as a log that their command names: it changes with every run."""
        during_run = self._progress.busy or self._progress.since_last < WRITTEN_WITHIN_SECONDS
        known = path in self._written.given_up
        if not self._written.changed(path, run=self._progress.newest if during_run else None):
            return False
        if known:
            return True
        name = path.rpartition("/")[2]
        self._host.messages.notify(
            f"{name} changes with every run; it no longer starts a run",
            severity="warning",
            hint=f"{key_of('run.this')} runs by hand",
        )
        return True

    def take_events(self, events: list[WorkbenchEvent]) -> None:
        """Show which runs failed or were stopped, and the engine's warnings."""
        for event in events:
            if event["event"] == "run.failed":
                if event["kind"] == CANCELLED:
                    self._host.messages.show("stopped")
                else:
                    self._host.messages.notify(event["message"], severity="error", hint=event.get("hint"))
            elif event["event"] == "command.failed":
                self._host.messages.show(event["message"], "error")
            elif event["event"] == "warned":
                self._host.messages.show(event["message"], "warning")

    def due(self, paths: list[str], documents: list[Document]) -> list[str]:
        """Return the ids of the tests to run after a save."""
        store = self._host.store
        if self._host.watch_mode == "all":
            touched = {document.path for document in documents if document.sound}
            return [row.id for row in store.rows.values() if row.path in touched]
        from mcptest_tui.state.affected import due

        return due(store, paths)

    async def _request_run(self, key: str, path: str, ids: list[str] | None) -> None:
        from mcptest_tui.engine_client import EngineError

        try:
            await self._host.engine_ready.wait()
            await self._suites.read_remembered(path)
            if key not in self._unsent:
                return  # cancelled meanwhile
            self._unsent.discard(key)
            self._host.store.update_digests(key)
            await self._host.engine.request("run", run=key, path=path, ids=ids)
            if key in self._progress.unwanted:  # cancelled while there was no engine to tell
                self._host.engine.send("cancel", run=key)
        except EngineError as wrong:
            self._show_failure(key, wrong.message, wrong.kind, wrong.hint)
        except Exception:
            self._unsent.discard(key)
            self._show_failure(key, "a bug in mcptest kept the run from beginning", "bug")
            raise

    def _named(self, paths: list[str]) -> str:
        first = self._host.workspace.relative(Path(paths[0]))
        return first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"

    def _show_failure(self, key: str, message: str, kind: str, hint: str | None = None) -> None:
        failed: RunFailed = {"event": "run.failed", "run": key, "message": message, "kind": kind}
        if hint is not None:
            failed["hint"] = hint
        self._emit(failed)

    def _why_nothing(self, wanted: dict[str, list[str] | None], unsound: list[str]) -> str:
        if unsound:
            return f"the suite has problems; {key_of('app.mode.2')} shows them"
        if not self._host.store.rows:
            return "no tests are open"
        return f"these tests no longer exist; {key_of('run.all')} runs all" if not wanted else "the suite has no tests"
