"""Fills the detail pane of the tests' screen, and requests from the engine what is not known yet.

Nothing here waits in a handler: what the engine has to be asked for is fetched by a worker, of which only the newest counts,
and put in if the cursor is still there.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.text import counted
from mcptest_tui.engine_client import EngineError
from mcptest_tui.places import path_here
from mcptest_tui.screens.base import Controller, in_background
from mcptest_tui.state.conversation_rows import entries_of, live_entries, missing_parts
from mcptest_tui.state.diff_rows import diff_of
from mcptest_tui.state.graph_rows import GraphNode, first_to_see, looked_into, nodes_of_trace, running_nodes
from mcptest_tui.state.json_rows import is_cut
from mcptest_tui.state.judged_rows import answer_lines
from mcptest_tui.state.result_rows import (
    group_lines,
    history_lines,
    key_lines,
    log_lines,
    new_lines,
    problem_lines,
    result_lines,
)
from mcptest_tui.state.run_view import repro_command
from mcptest_tui.state.test_row import TestRow
from mcptest_tui.state.text_lines import line, safe
from mcptest_tui.state.tree_rows import TO_SEE, Group, Note, suite_title
from mcptest_tui.widgets.detail import OF_AGENTS, OF_CALLS, OF_COMPOSITIONS, OF_EVALS, OF_TALKING_EVALS
from mcptest_tui.words import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from mcptest_tui.screens.base import WorkScreen
    from mcptest_tui.screens.tree_values import Request
    from mcptest_tui.state.conversation_rows import Entry as SaidEntry
    from mcptest_tui.state.run_view import ServerView
    from mcptest_tui.state.tree_rows import Entry, TreeRows
    from mcptest_tui.widgets.detail import Detail
    from mcptest_tui.widgets.json_tree import JsonTree

KEPT = 30
MOST_TURNS = 5_000
PAST = 20


class Answers:
    """What the engine has answered about tests. A new request cancels the one before."""

    def __init__(self, screen: WorkScreen, on_answer: Callable[[str], None], on_result: Callable[[], None]) -> None:
        """`on_answer` is called with the id of the test that an answer is about, `on_result` for each whole result."""
        self._screen, self._on_answer, self._on_result = screen, on_answer, on_result
        self._whole: OrderedDict[tuple[str, str], dict[str, Any] | str] = OrderedDict()
        self.past: dict[str, list[dict[str, Any]] | str] = {}
        self.graphs: dict[str, list[GraphNode]] = {}
        self.calls: OrderedDict[tuple[str, str, tuple[str | int, ...]], Any] = OrderedDict()

    def known(self, row: TestRow) -> dict[str, Any] | str | None:
        """Return the whole result of a test, or why it could not be read; None until then."""
        return self._whole.get((row.id, row.run_id))

    def fetch(self, row: TestRow) -> None:
        """Begin to read the whole result of a test from the engine."""
        self.begin(self.read_result, row.id, row.run_id)

    def begin(self, read: Callable[..., Coroutine[Any, Any, None]], *about: Any) -> None:
        """Begin to read something; cancel what is still being read."""
        in_background(self._screen, partial(read, *about), "detail")

    async def read_result(self, test: str, run_id: str) -> None:
        """Read the whole result of a test in a run."""
        found: dict[str, Any] | str
        try:
            found = await self.request("detail", id=test, run_id=run_id or None)
        except EngineError as wrong:
            found = wrong.message
        self._whole[(test, run_id)] = found
        while len(self._whole) > KEPT:
            self._whole.popitem(last=False)
        self._on_result()
        self._on_answer(test)

    async def read_graph(self, path: str, test: str) -> None:
        """Read the nodes of a composition from its suite."""
        try:
            told = await self.request("graph", path=path, id=test)
        except EngineError:
            told = []
        self.graphs[test] = [GraphNode(one["id"], tuple(one["needs"]), one["tool"], one["server"]) for one in told]
        self._on_answer(test)

    async def read_call(self, test: str, run_id: str, path: tuple[str | int, ...]) -> None:
        """Read the call of a conversation at a path of its result."""
        try:
            found = await self.request("expand", id=test, run_id=run_id or None, path=list(path))
        except EngineError as wrong:
            found = wrong.message
        self.calls[(test, run_id, path)] = found
        while len(self.calls) > KEPT:
            self.calls.popitem(last=False)
        self._on_answer(test)

    async def read_rest(self, test: str, run_id: str, known: dict[str, Any]) -> None:
        """Read the missing turns and calls of a conversation, page by page."""
        for path, held in missing_parts(known):
            while held and (last := held[-1]) == {"$more": last.get("$more") if isinstance(last, dict) else 0}:
                try:
                    more = await self.request(
                        "expand", id=test, run_id=run_id or None, path=list(path), start=len(held) - 1
                    )
                except EngineError:
                    more = []
                held.pop()
                if not isinstance(more, list) or not more or len(held) > MOST_TURNS:
                    break
                held += more
        self._on_answer(test)

    async def read_texts(self, test: str, run_id: str, known: dict[str, Any], names: list[str]) -> None:
        """Read in full the texts of a judgement that were truncated."""
        judgement = dict(known["judgement"])
        for name in names:
            try:
                judgement[name] = await self.request("value", id=test, run_id=run_id or None, path=["judgement", name])
            except EngineError:
                judgement[name] = judgement[name]["text"]
        known["judgement"] = judgement
        self._on_answer(test)

    async def read_history(self, test: str) -> None:
        """Read the results of a test in earlier runs."""
        past = self.past
        try:
            past[test] = await self.request("history", id=test, limit=PAST)
        except EngineError as wrong:
            past[test] = wrong.message
        self._on_answer(test)

    async def request(self, do: str, **arguments: object) -> Any:
        """Send a request to the engine, once the engine is ready."""
        bench = self._screen.workbench
        await bench.engine_ready.wait()
        return await bench.engine.request(do, **arguments)

    def finished(self, ids: tuple[str, ...], *, ended: bool) -> None:
        """Forget the history of these tests, or of all tests when a run has ended."""
        # A new dict each time: an answer to an older question goes into the old one.
        self.past = {} if ended else {test: past for test, past in self.past.items() if test not in ids}

    def read_again(self) -> None:
        """Forget the graphs, because the suites were read again."""
        self.graphs.clear()

    def forget(self) -> None:
        """Forget read errors and calls, because another engine can answer now."""
        self._whole = OrderedDict((key, told) for key, told in self._whole.items() if not isinstance(told, str))
        self.calls.clear()
        self.past = {test: told for test, told in self.past.items() if not isinstance(told, str)}


class DetailFeed(Controller):
    """Fills the detail pane for one entry of the list."""

    def __init__(self, screen: WorkScreen, detail: Detail, rows: TreeRows, arrived: Callable[[], None]) -> None:
        """`arrived` is called when a whole result has come."""
        super().__init__(screen)
        self._detail, self._rows = detail, rows
        self.entry: Entry | None = None
        self.answers = Answers(screen, self._arrived, arrived)
        self.node = ""
        """The node of a composition that is looked at, by its id."""
        self.call: tuple[str | int, ...] = ()
        """Where the call of a conversation stands in the result that is looked at."""
        self._shut: dict[str, set[int]] = {}
        self._shown: tuple[str, str, str] = ("", "", "")
        self._asked = ""

    def show(self, entry: Entry | None) -> None:
        """Show another entry of the list in the detail pane."""
        self.entry = entry
        self.fill()

    def moved(self, tests: frozenset[str]) -> None:
        """Redraw the graph or conversation if it belongs to one of these running tests."""
        if self.entry is not None and self.entry.id in tests and self._detail.tab in ("graph", "conversation"):
            self.fill()

    def stored(self, row: TestRow) -> dict[str, Any] | None:
        """Return a test's result from an earlier session, if it was read."""
        known = self.answers.known(row)
        return known if isinstance(known, dict) else None

    def read_stored(self, row: TestRow) -> None:
        """Read the result of an earlier session, for the title of the list."""
        if row.result is None and row.standing not in ("new", "stopped") and self.answers.known(row) is None:
            self.answers.fetch(row)

    def fill(self) -> None:
        """Show what is known about the entry, and request what is not."""
        entry = self.entry
        if isinstance(entry, TestRow):
            self._test(entry)
        else:
            self._detail.use_tabs(False)
            self._page(entry)

    # Pages without tabs

    def _page(self, entry: Group | Note | None) -> None:
        detail, store = self._detail, self.workbench.store
        keep = self._shown[0] == (entry.id if entry is not None else "")
        self._shown = (entry.id if entry is not None else "", "", "")
        if entry is None:
            title = "Tests" if store.documents else self.workbench.suites.nothing
            detail.head(title)
            keys = [(key_of("app.settings"), "settings"), (key_of("app.palette"), "everything else")]
            detail.page.show(key_lines([(key_of("app.back"), "clears the filter")] if self._rows.filter else keys))
            return
        document = store.documents.get(entry.path)
        if document is not None and not document.sound and (isinstance(entry, Note) or not entry.block):
            detail.head(suite_title(document.path, store.documents))
            detail.page.show(problem_lines(document, store.stale.get(entry.path)), keep=keep)
            return
        if not isinstance(entry, Group):
            return
        rows = self._rows.tests_of(entry.id, store)
        summary = self.workbench.store.run_view.summary
        if summary is not None and (entry.depth or summary.path != entry.path or any(row.busy for row in rows)):
            summary = None
        detail.head(f"{entry.title}" if not entry.depth else f"{entry.path.rpartition('/')[2]}  {entry.title}")
        detail.page.show(group_lines(rows, self._group_keys(entry, rows), summary), keep=keep)

    def _group_keys(self, entry: Group, rows: list[TestRow]) -> list[tuple[str, str]]:
        store = self.workbench.store
        everything = self._rows.shown_tests(store)
        starting = f"{counted(len({(row.path, row.server) for row in everything}), 'server')} will start"
        if any(row.kind in ("agent", "composition") for row in everything):
            starting = "their servers will start"  # of what has several, only the first is known here
        keys = [(key_of("run.this"), f"runs {'this' if len(rows) == 1 else 'these'} {counted(len(rows), 'test')}")]
        if len(everything) != len(rows) or not entry.depth:
            shown = "all" if not self._rows.filter else "the"
            keys.append((key_of("run.all"), f"runs {shown} {len(everything)} ({starting})"))
        if any(row.standing == "fail" for row in everything):
            keys.append((key_of("run.failed"), "runs the failed ones"))
        if any(row.standing in TO_SEE for row in everything):
            keys.append((key_of("fail.next"), "goes to the next test that did not pass"))
        return [*keys, (key_of("open.edit"), "opens the editor here"), (key_of("app.help"), "shows all keys")]

    # A test

    def _test(self, row: TestRow) -> None:
        detail = self._detail
        detail.use_tabs(True)
        detail.offer(self._tabs_of(row))
        detail.head(row.name, self._subtitle(row))
        shown = (row.id, row.run_id, detail.tab)
        keep = self._shown[0] == row.id and self._shown[2] == detail.tab
        self._shown = shown
        getattr(self, f"_tab_{detail.tab}")(row, keep)

    def _tab_result(self, row: TestRow, keep: bool) -> None:
        repro = repro_command(path_here(row.path), row.name)
        result = row.result or self.answers.known(row)
        if row.result is None and row.standing in ("new", "stopped"):
            told = (
                {"run.stop": "stops the run"}
                if row.busy
                else {"run.this": "runs it", "run.all": "runs all that is shown"}
            )
            told["open.edit"] = "opens it in the editor"
            keys = [(key_of(name), words) for name, words in told.items()]
            lines = new_lines(row, place_of(row), keys, repro)
        elif result is None:
            self.answers.fetch(row)
            lines = [line(("reading the last result …", "dim"))]
        elif isinstance(result, str):
            lines = [line((result, "dim"))]
        else:
            server = self._server(row)
            server = None if server is None else server.of_run(row.run_id)
            lines = result_lines(row, result, server, repro, self.workbench.store.run_view.hooks_around(row.id))
        self._detail.text("result").show(lines, keep=keep)

    def _tab_graph(self, row: TestRow, keep: bool) -> None:
        """Show the nodes of the active run, else of the result, else of the suite."""
        view = self._detail.graph
        known = self.answers.known(row)
        trace = known.get("trace") if isinstance(known, dict) else None
        if row.status == "running" and row.id in self.answers.graphs:
            view.show(running_nodes(self.answers.graphs[row.id], row.nodes or {}), keep=keep)
        elif isinstance(trace, dict):
            view.show(nodes_of_trace(trace), keep=keep)
        elif row.id in self.answers.graphs:
            view.show(self.answers.graphs[row.id], keep=keep)
        else:
            view.show([], known if isinstance(known, str) else "reading …", keep=keep)
        if row.id not in self.answers.graphs:
            self.answers.begin(self.answers.read_graph, row.path, row.id)
        elif known is None and row.verdict != "new" and not row.busy:
            self.answers.fetch(row)

    def _tabs_of(self, row: TestRow) -> frozenset[str]:
        if row.kind == "eval":
            trace = (row.result or {}).get("trace")
            return OF_TALKING_EVALS if isinstance(trace, dict) and "conversation" in trace else OF_EVALS
        return {"composition": OF_COMPOSITIONS, "agent": OF_AGENTS}.get(row.kind, OF_CALLS)

    def _tab_conversation(self, row: TestRow, keep: bool) -> None:
        """Show the conversation of the active run so far, else of the result."""
        view = self._detail.conversation
        known = self.answers.known(row)
        if row.status == "running":
            view.show(live_entries(row.talk or ()), "waiting for the model …", keep=keep, follow=True)
        elif isinstance(known, dict):
            entries = entries_of(known, self._shut.setdefault(row.id, _shut_first(known)))
            view.show(entries, safe(known.get("message") or "nothing was said"), keep=keep)
            if missing_parts(known):
                self.answers.begin(self.answers.read_rest, row.id, row.run_id, known)
        elif row.verdict == "new":
            view.show([], "not run yet")
        else:
            view.show([], known if isinstance(known, str) else "reading …", keep=keep)
            if known is None:
                self.answers.fetch(row)

    def fold_run(self, number: int) -> None:
        """Expand or collapse one of several runs in the conversation."""
        if self.entry is not None:
            self._shut.setdefault(self.entry.id, set()).symmetric_difference_update({number})
            self.fill()

    def _tab_answer(self, row: TestRow, keep: bool) -> None:
        known = self.answers.known(row)
        result = known if isinstance(known, dict) else row.result
        judgement = (result or {}).get("judgement")
        if known is None and row.verdict != "new":
            self.answers.fetch(row)
        elif isinstance(known, dict) and isinstance(judgement, dict):
            cut = [name for name in ("input", "output") if is_cut(judgement.get(name))]
            if cut:
                self.answers.begin(self.answers.read_texts, row.id, row.run_id, known, cut)
        self._detail.text("answer").show(answer_lines(judgement if isinstance(judgement, dict) else None), keep=keep)

    def _call(self, row: TestRow, keep: bool) -> None:
        """Show the selected call of a conversation, else its first call."""
        view = self._detail.json("request")
        known = self.answers.known(row)
        if not isinstance(known, dict):
            self._tree(row, "request", "nothing was called", keep)
            return
        calls = [one for one in entries_of(known) if one.kind == "call" and one.path]
        paths = [one.path for one in calls]
        if not paths:
            view.show_nothing("no tool was called")
            return
        path = self.call if self.call in paths else paths[0]
        same, self.call = keep and self.call == path and view.nodes is not None, path
        held = self.answers.calls.get((row.id, row.run_id, path))
        if held is None:
            self.answers.begin(self.answers.read_call, row.id, row.run_id, path)
            if not same:
                view.show_nothing("reading …")
            return
        if isinstance(held, str):
            view.show_nothing(held)
        else:
            view.show(held, root=path[-2:], keep=same)
        self.show_path(view)

    def _tab_diff(self, row: TestRow, keep: bool) -> None:
        known = self.answers.known(row)
        result = known if isinstance(known, dict) else row.result
        if known is None and row.verdict != "new":
            self.answers.fetch(row)
        rows = diff_of(_assertions(result)) if result else []
        nothing = {
            "new": "not run yet",
            "pass": "everything is as expected",
            "skip": "skipped: nothing was compared",
        }.get(row.verdict, "no assertion was judged and failed")
        self._detail.diff.show(rows, nothing, keep=keep)

    def _tab_request(self, row: TestRow, keep: bool) -> None:
        if row.kind == "composition":
            self._node(row, keep)
            return
        if row.kind in ("agent", "eval"):
            self._call(row, keep)
            return
        self._tree(row, "request", "nothing was sent", keep)

    def _tab_response(self, row: TestRow, keep: bool) -> None:
        member = {"agent": "trace", "eval": "judgement"}.get(row.kind, "output")
        self._tree(row, member, "nothing was judged" if row.kind == "eval" else "nothing came back", keep)

    def _tab_log(self, row: TestRow, keep: bool) -> None:
        known = self.answers.known(row)
        if row.result is None and isinstance(known, dict):
            row = _with_result(row, known)
        self._detail.text("log").show(log_lines(row, self._server(row)), keep=keep)

    def _tab_history(self, row: TestRow, keep: bool) -> None:
        past = self.answers.past.get(row.id)
        view = self._detail.text("history")
        if isinstance(past, list):
            view.show(history_lines(past), keep=keep)
        elif isinstance(past, str):
            view.show([line((past, "dim"))])
        else:
            if not keep:
                view.show([line(("reading earlier runs …", "dim"))])
            self.answers.begin(self.answers.read_history, row.id)

    def _node(self, row: TestRow, keep: bool) -> None:
        """Show the selected node: its arguments as sent, its output before and after the transform, its calls."""
        view = self._detail.json("request")
        known = self.answers.known(row)
        trace = known.get("trace") if isinstance(known, dict) else None
        nodes = nodes_of_trace(trace) if isinstance(trace, dict) else []
        if not nodes:
            self._tree(row, "request", "no node was begun", keep)
            return
        node = next((node for node in nodes if node.id == self.node), None) or first_to_see(nodes)
        same, self.node = keep and self.node == node.id and view.nodes is not None, node.id
        view.show(looked_into(node), root=("nodes", node.id), keep=same)
        self.show_path(view)

    def _tree(self, row: TestRow, member: str, nothing: str, keep: bool) -> None:
        view = self._detail.json("request" if member == "request" else "response")
        known = self.answers.known(row)
        if row.verdict == "new":
            view.show_nothing("not run yet")
        elif known is None:
            if not keep:
                view.show_nothing("reading …")
            self.answers.fetch(row)
        elif isinstance(known, str):
            view.show_nothing(known)
        elif known.get(member) is None:
            view.show_nothing(nothing)
        else:
            root = (member,) if member == "judgement" else ()
            view.show(known[member], root=root, keep=keep and view.nodes is not None)
        self.show_path(view)

    def show_path(self, view: JsonTree) -> None:
        """Show the path of the value under the tree's cursor in the frame."""
        entry = self.entry
        if isinstance(entry, TestRow) and view is self._detail.json_tree:
            target = view.target or self._subtitle(entry)
            self._detail.head(entry.name, "   ".join(filter(None, (view.searching, target))))

    def _subtitle(self, row: TestRow) -> str:
        tree = self._detail.json_tree
        return tree.target if tree is not None and tree.target else place_of(row)

    def _server(self, row: TestRow) -> ServerView | None:
        return self.workbench.store.run_view.servers.get((row.path, row.server))

    # What else is asked of it

    def part_of(self, tree: JsonTree) -> Request | None:
        """Return a function that requests a part of the shown test's tree; None where no test is shown."""
        row = self.entry
        if not isinstance(row, TestRow):
            return None
        member: list[str | int] = [{"agent": "trace", "eval": "judgement"}.get(row.kind, "output")]
        if tree.id == "detail-request" and row.kind in ("agent", "eval"):
            member = list(self.call)
        elif tree.id == "detail-request":
            member = ["trace", "nodes", self.node] if row.kind == "composition" else ["request"]
        return lambda do, path, **more: self.answers.request(
            do, id=row.id, run_id=row.run_id or None, path=[*member, *path], **more
        )

    def look_into(self, entry: SaidEntry, show: Callable[[str, str], None]) -> None:
        """Open a part of a conversation: a call as a tree, a whole text by `show`, one of several runs."""
        row = self.entry
        if entry.kind == "run" and entry.outcome:
            self.fold_run(entry.number)
        elif entry.kind == "call" and entry.path:
            self.call = entry.path
            self._detail.use_tab("request")
        elif entry.kind == "say" and entry.path and isinstance(row, TestRow):
            in_background(self.screen, partial(self._load_text, row, entry, show), "value")

    async def _load_text(self, row: TestRow, entry: SaidEntry, show: Callable[[str, str], None]) -> None:
        try:
            text = await self.answers.request("value", id=row.id, run_id=row.run_id or None, path=list(entry.path))
        except EngineError as wrong:
            self.workbench.messages.notify(wrong.message, severity="warning", hint=wrong.hint)
            return
        show(f"{entry.label} {entry.number or ''}".rstrip(), str(text))

    def _arrived(self, test: str) -> None:
        if self.entry is not None and self.entry.id == test:
            self.fill()


def place_of(row: TestRow) -> str:
    """Return the file and line of a test, such as `weather.yml:12`."""
    file, line = row.own_place
    return f"{path_here(file)}:{line}"


def _shut_first(result: dict[str, Any]) -> set[int]:
    """Return the runs to collapse at first: all but the first that failed, or the first."""
    verdicts = [one.get("verdict") for one in result.get("trials") or () if isinstance(one, dict) and "verdict" in one]
    opened = verdicts.index("fail") + 1 if "fail" in verdicts else 1
    return set(range(1, len(verdicts) + 1)) - {opened}


def _assertions(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all assertions, also those in sets; those of `verify` steps have the step before their target."""
    found = _single(result.get("assertions"))
    for step in result.get("verify") or ():
        if isinstance(step, dict):
            name = f"verify step {step.get('index', 0) + 1}  "
            found += [
                {**item, "target": name + str(item.get("target", ""))} for item in _single(step.get("assertions"))
            ]
    return found


def _single(items: Iterable[object] | None) -> list[dict[str, Any]]:
    rows = [item for item in items or () if isinstance(item, dict)]
    return [one for row in rows for one in ((row["set"].get("assertions") or ()) if "set" in row else (row,))]


def _with_result(row: TestRow, result: dict[str, Any]) -> TestRow:
    from dataclasses import replace

    return replace(row, result=result)
