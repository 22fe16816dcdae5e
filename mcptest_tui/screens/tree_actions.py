"""What a JSON tree of the detail asks for: a value in a window or on the clipboard, further entries, an assertion."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

from mcptest_engine.workspace.suite_file import write_suite
from mcptest_tui.engine_client import EngineError
from mcptest_tui.screens.tests_base import TestsBase
from mcptest_tui.state.json_rows import value_at, whole
from mcptest_tui.state.store import TestRow
from mcptest_tui.widgets.json_tree import JsonTree, text_of
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from mcptest_tui.screens.detail import DetailFeed
    from mcptest_tui.state.conversation_rows import Entry
    from mcptest_tui.state.json_rows import Path
    from mcptest_tui.widgets.detail import Detail

    AskPart = Callable[..., Awaitable[Any]]


class TreeActions(TestsBase):
    """A mixin of `TestsScreen`."""

    feed: DetailFeed

    def on_json_tree_wanted(self, event: JsonTree.Wanted) -> None:
        """Do it, or have a worker ask the engine."""
        event.stop()
        tree = event.tree
        row = self.feed.entry
        if not isinstance(row, TestRow):
            return
        if event.what == "search":
            self.detail.open_search()
        elif event.what == "target":
            self.workbench.copy(tree.target, "the target")
        elif event.what == "assert":
            self._add_assertion(row, tree)
        elif event.what == "more":
            self._later(partial(self._more, row, event))
        elif event.what == "reach":
            self._later(partial(self._reach, row, event), "value.reach")
        elif event.what == "text" or not tree.is_whole():
            self._later(partial(self._asked, row, event))
        else:
            self._use(event, text_of(tree.value()))

    def look_into(self, entry: Entry) -> None:
        """A part of a conversation: the call as a tree, the whole of a text, one of several runs."""
        row = self.feed.entry
        if entry.kind == "run" and entry.outcome:
            self.feed.fold_run(entry.number)
        elif entry.kind == "call" and entry.path:
            self.feed.call = entry.path
            self.detail.use_tab("request")
        elif entry.kind == "say" and entry.path and isinstance(row, TestRow):
            self._later(partial(self._whole_text, row, entry))

    async def _whole_text(self, row: TestRow, entry: Entry) -> None:
        try:
            text = await self.feed.ask("value", id=row.id, run_id=row.run_id or None, path=list(entry.path))
        except EngineError as wrong:
            self.workbench.tell(wrong.message, severity="warning", hint=wrong.hint)
            return
        self._window(f"{entry.label} {entry.number or ''}".rstrip(), str(text))

    def on_detail_searched(self, event: Detail.Searched) -> None:
        """As it is typed."""
        tree = self.detail.json_tree
        if tree is not None:
            tree.search(event.text)
            self.feed.told_path(tree)
            row = self.feed.entry
            if event.text and isinstance(row, TestRow) and tree.nodes is not None and not whole(tree.nodes.value):
                self._later(partial(self._find, row, tree, event.text), "value.find")

    def _use(self, event: JsonTree.Wanted, text: str) -> None:
        """The whole value has come."""
        if event.what == "text":
            event.tree.show_text(text)
        elif event.what == "copy":
            self.workbench.copy(text, "the value")
        else:
            self._window(event.tree.target or "value", text)

    def _window(self, title: str, text: str) -> None:
        from mcptest_tui.screens.value import ValueWindow

        def answered(answer: str | None) -> None:
            if answer == "copy":
                self.workbench.copy(text, "the value")

        self.app.push_screen(ValueWindow(title, text), answered)

    async def _asked(self, row: TestRow, event: JsonTree.Wanted) -> None:
        try:
            text = await self.feed.ask(
                "value", id=row.id, run_id=row.run_id or None, path=[*self._member(row, event.tree), *event.path]
            )
        except EngineError as wrong:
            self.workbench.tell(wrong.message, severity="warning", hint=wrong.hint)
            return
        self._use(event, str(text))

    async def _more(self, row: TestRow, event: JsonTree.Wanted) -> None:
        path = [*self._member(row, event.tree), *event.path]
        try:
            more = await self.feed.ask("expand", id=row.id, run_id=row.run_id or None, path=path, start=event.start)
        except EngineError as wrong:
            self.workbench.tell(wrong.message, severity="warning", hint=wrong.hint)
            return
        event.tree.extend(event.path, more)

    async def _find(self, row: TestRow, tree: JsonTree, text: str) -> None:
        """Search all of the value, of which only a part is here."""
        await find_everywhere(tree, text, self._part_of(row, tree))
        if row is self.feed.entry:
            self.feed.told_path(tree)

    async def _reach(self, row: TestRow, event: JsonTree.Wanted) -> None:
        try:
            await fetch_up_to(event.tree, event.path, self._part_of(row, event.tree))
        except EngineError as wrong:
            self.workbench.tell(wrong.message, severity="warning", hint=wrong.hint)

    def _part_of(self, row: TestRow, tree: JsonTree) -> AskPart:
        member = self._member(row, tree)
        return lambda do, path, **more: self.feed.ask(
            do, id=row.id, run_id=row.run_id or None, path=[*member, *path], **more
        )

    def _member(self, row: TestRow, tree: JsonTree) -> list[str | int]:
        """Where in the test's result a tree begins."""
        if tree.id == "detail-request":
            if row.kind in ("agent", "eval"):
                return list(self.feed.call)
            return ["trace", "nodes", self.feed.node] if row.kind == "composition" else ["request"]
        return [{"agent": "trace", "eval": "judgement"}.get(row.kind, "output")]

    def _later(self, asking: Callable[[], Coroutine[Any, Any, None]], group: str = "value") -> None:
        """What is asked last counts, in each group: going to a hit of fewer letters must not end the search for more."""
        self.run_worker(asking, group=group, exclusive=True, exit_on_error=False)  # type: ignore[arg-type]

    # Assertions

    def _add_assertion(self, row: TestRow, tree: JsonTree) -> None:
        """Show what it would be, and write it when that is wanted."""
        from mcptest_engine.suite.edit import add_assertion
        from mcptest_engine.suite.text_edits import EditRefused, apply

        bench = self.workbench
        file = File(row.file)
        if row.kind == "eval":
            bench.say("a judgement has no targets; its test is decided by the score", "warning")
            return
        from mcptest_tui.screens.add_assertion import AddAssertion, Way, matchers_for

        editor = bench.editor_of(row.file)
        try:
            text = (editor.unsaved_text(row.file) if editor is not None else None) or file.read_bytes().decode()
            line = row.line if editor is None else self._line_in(text, row)
            if line is None:
                words = f"{file.name} has unsaved text in Edit, where this test is not found"
                bench.tell(words, severity="warning", hint=f"{key_of('app.mode.2')} goes there; save it first")
                return
            ways = [
                Way(matcher, apply(text, add_assertion(text, line, tree.target, matcher)))
                for matcher in matchers_for(tree.value())
            ]
        except EditRefused as refused:
            bench.tell(
                refused.message,
                severity="warning",
                hint=refused.hint or f"{key_of('open.edit')} opens the editor at the test",
            )
            return
        except (OSError, UnicodeDecodeError) as wrong:
            bench.tell(f"cannot read {file.name}: {getattr(wrong, 'strerror', None) or wrong}", severity="error")
            return
        self.app.push_screen(
            AddAssertion(row.name, tree.target, file.name, text, ways),
            lambda after: self._write(row, text, after) if after else None,
        )

    def _line_in(self, text: str, row: TestRow) -> int | None:
        """Where a test stands in a suite's unsaved text; None where it is not found."""
        from mcptest_engine.running.documents import document_of

        document = document_of(row.file, text, start_dir=self.workbench.folder, environ=dict(os.environ))
        return next((test.line for test in document.tests if test.id == row.id and test.file == row.file), None)

    def _write(self, row: TestRow, before: str, after: str) -> None:
        bench = self.workbench
        file = File(row.file)
        editor = bench.editor_of(row.file)
        if editor is not None and editor.unsaved_text(row.file) == before:
            editor.change_text(row.file, after)
            bench.say(f"added to the unsaved text of {file.name}; {key_of('app.mode.2')} goes there, to save it")
            return
        try:
            if editor is not None or file.read_bytes() != before.encode():
                bench.tell(
                    f"{file.name} has changed meanwhile; nothing was written",
                    severity="warning",
                    hint=f"{key_of('json.assert')} again",
                )
                return
            write_suite(file, after.encode())
        except OSError as wrong:
            bench.tell(f"cannot write {file}: {wrong.strerror or wrong}", severity="error")
            return
        bench.say(f"added an assertion to {row.name}")
        bench.documents_changed([row.file])


async def find_everywhere(tree: JsonTree, text: str, ask: AskPart) -> None:
    """Search all of a value, of which the tree has only a part; `ask` asks the engine for something below its root."""
    try:
        paths = await ask("search", [], text=text)
    except EngineError:
        return  # what is here has been searched
    tree.found(text, [tuple(path) for path in paths])


async def fetch_up_to(tree: JsonTree, path: Path, ask: AskPart) -> None:
    """Fetch the entries that lead to a hit, container by container, and go there. Raises: EngineError."""
    for depth, key in enumerate(path):
        held = value_at(tree.nodes.value, path[:depth]) if tree.nodes is not None else None
        if not isinstance(held, (dict, list)):
            return
        if isinstance(key, int) and isinstance(held, list):
            start = len(held) - (1 if held and isinstance(held[-1], dict) and "$more" in held[-1] else 0)
            is_here = key < start
        else:
            start, is_here = len(held) - ("$more" in held), key in held
        if not is_here:
            tree.extend(path[:depth], await ask("expand", list(path[:depth]), start=start, key=key))
    tree.reached(path)
