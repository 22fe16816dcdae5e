"""The proposals: read by the app, so that the mode bar can count them before their screen was ever shown.

Read again after a run, after something was written, and when the folder of proposals changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_engine.core.text import counted
from mcptest_tui.engine_client import EngineError
from mcptest_tui.state.reviewing import ACCEPT, REJECT, Reviewing, item_of
from mcptest_tui.words import MARKS, key_of

if TYPE_CHECKING:
    from mcptest_tui.host import Host
    from mcptest_tui.runs import Runs
    from mcptest_tui.state.reviewing import Item

MODE = "review"


class Reviews:
    """Reads and writes proposals by the engine; the screen shows `state`."""

    def __init__(self, host: Host, runs: Runs) -> None:
        self._host, self._runs = host, runs
        self.state = Reviewing()
        self.is_read = False
        self.is_reading = False
        self.problem = ""
        self.can_undo = False
        self.is_writing = False
        self.written: list[dict[str, str]] = []
        """`{path, before, after}` of what was written last, until it has been looked at."""
        self._about: set[str] = set()
        """The suites that proposals were about: one that was gone and is back has them again."""

    @property
    def folder(self) -> str:
        """The folder of proposals, to be watched."""
        return str(self._host.workspace.data_dir / "proposals")

    @property
    def badge(self) -> dict[str, str]:
        """The number of proposals for the mode bar, such as `•3`; empty without proposals."""
        return {MODE: f"{MARKS['dot']}{len(self.state.items)}"} if self.state.items else {}

    # Reading

    def read(self) -> None:
        """Read the proposals in the background; a later read replaces an earlier one."""
        self.is_reading = True
        self._host.run_worker(self._read, group="review.read", exclusive=True, exit_on_error=False)

    def saved(self, paths: list[str]) -> None:
        """A proposal was put into the folder, or a suite that some are, or were, about has changed."""
        if self.folder in paths or self._about.intersection(paths):
            self.read()

    async def refresh(self) -> None:
        """Read the proposals, and return once they are read."""
        await self._read()

    async def _read(self) -> None:
        await self._host.engine_ready.wait()
        try:
            answer = await self._host.engine.request("review_list")
        except EngineError as wrong:
            self.problem = wrong.message if wrong.kind != "gone" else ""
        else:
            self._take(answer)
        self.is_reading = False
        self._changed()

    def _take(self, answer: dict[str, Any]) -> None:
        problems = [str(problem) for problem in answer.get("problems", ())]
        if problems and self.problem != problems[0]:
            self._host.messages.show(problems[0], "warning")
        self.problem, self.is_read = problems[0] if problems else "", True
        self.can_undo = bool(answer.get("can_undo"))
        self.state.put(item_of(told) for told in answer.get("items", ()))
        self._about.update(item.file for item in self.state.items)

    def _changed(self) -> None:
        for screen in self._host.work_screens():
            if screen.MODE == MODE:
                screen.caught_up()
            screen.refresh_bindings()
        self._host.refresh_status()

    # Writing

    def write(self) -> None:
        """Carry out what was decided; nothing happens while that is being done."""
        if self.is_writing or not self.state.unwritten:
            return
        self.is_writing = True
        self._host.run_worker(self._write, group="review.write", exit_on_error=False)

    def undo(self) -> None:
        """Undo the last write of decisions to the suites."""
        if not self.is_writing:
            self.is_writing = True
            self._host.run_worker(self._undo, group="review.write", exit_on_error=False)

    async def _write(self) -> None:
        try:
            done = await self._host.engine.request("review_decide", decisions=self.state.to_write())
        except EngineError as wrong:
            self._host.messages.notify(wrong.message, severity="error", hint=wrong.hint)
            if wrong.kind == "gone":
                self.read()
            return
        finally:
            self.is_writing = False
        self.can_undo, self.written = bool(done.get("can_undo")), done["texts"]
        refused = {one["id"] for one in done["refused"]}
        taken = [item for item in self.state.accepted() if item.kind == "snapshot" and item.id not in refused]
        self.state.remove_decided(refused)
        for one in done["refused"][:3]:
            self._host.messages.notify(f"{one['title']}: {one['reason']}", severity="warning", hint="it stays open")
        self._host.messages.show(_said(done))
        self.read()
        if done["written"]:
            self._host.documents_changed(list(done["written"]))
        self._run_again(taken)

    def _run_again(self, snapshots: list[Item]) -> None:
        """The tests of these snapshots: no suite has changed with them, by which a save would know."""
        tests = {(item.file, test) for item in snapshots for test in item.tests}
        ids = [row.id for row in self._host.store.rows.values() if (row.path, row.name) in tests]
        if ids and self._host.watch_mode != "off":
            self._runs.start_unasked(ids, f"written {MARKS['arrow']} ")

    async def _undo(self) -> None:
        try:
            undone = await self._host.engine.request("review_undo")
        except EngineError as wrong:
            self._host.messages.show(wrong.message, "warning")
            return
        finally:
            self.is_writing = False
        self.can_undo, self.written = bool(undone.get("can_undo")), []
        for path, reason in undone["refused"]:
            self._host.messages.notify(f"{path}: {reason}", severity="warning", hint="the others are unchanged")
        self._host.messages.show(f"undone: {counted(len(undone['restored']), 'file')} as before")
        self.read()
        if undone["restored"]:
            root = self._host.workspace.root
            self._host.documents_changed([str(root / path) for path in undone["restored"]])

    # Leaving

    def unwritten(self) -> str:
        """Return a text about the decisions that quitting would lose; "" for none."""
        drafts = len(self.state.drafts)
        if not self.state.unwritten:
            return f"Review: {counted(drafts, 'edited text')}, not accepted." if drafts else ""
        counts = self.state.counts
        told = ", ".join(
            f"{counts[choice]} {word}"
            for choice, word in ((ACCEPT, "accepted"), (REJECT, "rejected"))
            if counts[choice]
        )
        return f"Review: {told}, not written; the proposals stay open."


def _said(done: dict[str, Any]) -> str:
    parts = [f"{done['accepted']} accepted", f"{done['rejected']} rejected"]
    if done["refused"]:
        parts.append(f"{len(done['refused'])} refused")
    files = f" {MARKS['dot']} wrote {counted(len(done['written']), 'file')}" if done["written"] else ""
    undo = f", {key_of('review.unwrite')} takes it back" if done.get("can_undo") else ""
    return f"{', '.join(parts)}{files}{undo}"
