"""Completion and explanations: what could stand at the cursor, what stands there, and what the servers offer.

A server is started for its list of tools only when a person asks for completions, or once a run has started it before.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcptest_tui.screens.edit_base import EditBase
from mcptest_tui.state.server_text import target_in
from mcptest_tui.widgets.completion import HelpCard, Popup
from mcptest_tui.widgets.outline import Outline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest_engine.suite.completion import Completions, Help
    from mcptest_tui.screens.edit_docs import OpenDoc

ASKING, FAILED = "asking", "failed"
_FROM_SERVERS = frozenset({"tool", "prompt", "uri"})


class EditHelp(EditBase):
    """A mixin of the screen."""

    _catalogs: dict[tuple[str, str], dict[str, Any] | str] | None = None
    _remembered: dict[str, tuple[object, dict[str, dict[str, Any]]]] | None = None
    """By suite: what its servers were when the catalogs of its past were read from the disk, and those."""
    _answers: Mapping[tuple[str, str], list[tuple[str, str]]] = {}
    """By test and run: the targets of its answer."""
    _offered: Sequence[tuple[str, str]] = ()
    """Those among the completions that are shown."""
    awaits_offer = False
    """A list was asked for, and comes when the server has answered: Escape is meant for it."""

    # Completion

    def offer(self, explicit: bool) -> Completions:
        """What fits at the cursor of the file that is edited."""
        from mcptest_engine.suite.completion import complete

        doc = self.current
        assert doc is not None
        row, column = doc.area.cursor_location
        self._offered = answered = self._answered_at_cursor(doc)
        found = complete(
            doc.area.lines,
            row + 1,
            column + 1,
            self.catalog_of(doc),
            answered=answered,
            folder=Path(doc.file.path).parent,
        )
        self._want_catalog(doc, row, column, explicit=explicit)
        return found

    def _answered_at_cursor(self, doc: OpenDoc) -> list[tuple[str, str]]:
        """The targets of the last answer to the test around the cursor; asked for, where they are not known yet."""
        from mcptest_engine.suite.cursor import place_at

        place = place_at(doc.area.lines, *doc.area.cursor_location)
        test = self.test_at_cursor(doc) if place is not None and place.path[-1:] == ("target",) else None
        row = self.workbench.store.rows.get(test or "")
        if row is None or row.result is None or "verify" in (place.path if place is not None else ()):
            return []
        key = (row.id, row.run_id)
        if key not in self._answers:
            self._answers = {key: []}  # of one test at a time: the one that is being written
            self.run_worker(self._read_answer(doc, *key), group="edit.answer", exclusive=True, exit_on_error=False)
        return self._answers[key]

    async def _read_answer(self, doc: OpenDoc, test: str, run_id: str) -> None:
        from mcptest_engine.suite.offers import targets_in
        from mcptest_tui.engine_client import EngineError

        try:
            await self.workbench.engine_ready.wait()
            answer = await self.workbench.engine.ask("expand", id=test, run_id=run_id or None, path=["output"])
        except EngineError:
            return  # there is no answer any more; the targets that every test has are offered
        self._answers = {(test, run_id): targets_in(answer)}
        self.offer_anew(doc)

    def offer_anew(self, doc: OpenDoc) -> None:
        """Complete again what is open, where an answer is known by now, or the text was read and tests have other lines."""
        if doc is not self.current or not doc.area.has_focus or not self.query_one(Popup).display:
            return
        answered = self._answered_at_cursor(doc)
        if answered and answered is not self._offered:
            self.completing.look(explicit=True)

    def action_complete(self) -> None:
        """What could stand here; nothing is said of it when something is on its way."""
        doc = self.current
        if doc is not None and not doc.file.read_only and not self.completing.look(explicit=True):
            self.awaits_offer = self._is_asking()
            self.workbench.say("asking the server …" if self.awaits_offer else "nothing to complete here")

    def action_explain(self) -> None:
        """The problem under the cursor, whole, and the word, in a card over the text."""
        told = self._told_at_cursor()
        problem = self.current.problem_at(*self.current.area.cursor_location) if self.current is not None else None
        if problem is not None:
            told = problem_help(problem.message, problem.hint, told)
        if told is None:
            self.workbench.say("nothing is known about this word")
        else:
            self.completing.explain(told)

    def settle(self) -> None:
        """The cursor rests: say what stands there."""
        doc = self.current
        if doc is None or not self.is_current:
            return
        told = self._told_at_cursor()
        self.explained(_in_a_line(told))
        if self.has_class("-wide"):
            self.query_one("#edit-help", HelpCard).tell(told)
            self.query_one(Outline).follow(doc.area.cursor_location[0] + 1)

    def _told_at_cursor(self) -> Help | None:
        from mcptest_engine.suite.completion import hover

        doc = self.current
        if doc is None:
            return None
        row, column = doc.area.cursor_location
        return hover(doc.area.lines, row + 1, column + 1, self.catalog_of(doc))

    # What servers offer

    def catalog_of(self, doc: OpenDoc) -> dict[str, dict[str, Any]]:
        """What is known of the servers of a file's suites: connected ones first, then what they listed last."""
        found: dict[str, dict[str, Any]] = {}
        for suite in self._suites_of(doc):
            for server, catalog in self._looked_at(suite):
                found.setdefault(server, catalog)
            for (path, server), answer in (self._catalogs or {}).items():
                if path == suite and isinstance(answer, dict):
                    found.setdefault(server, answer)
            for server, catalog in self._recall(doc, suite).items():
                found.setdefault(server, catalog)
        return found

    def _recall(self, doc: OpenDoc, suite: str) -> dict[str, dict[str, Any]]:
        """What the servers of a suite listed last, read once from the disk as long as they are the same servers."""
        from mcptest_engine.workspace.catalogs import recall_catalogs

        known = doc.document if suite == doc.file.path else None
        known = known or self.workbench.store.documents.get(suite)
        servers = tuple((server.name, server.target) for server in known.servers) if known is not None else ()
        self._remembered = self._remembered if self._remembered is not None else {}
        was, found = self._remembered.get(suite, ((), {}))
        if was != servers:
            found = recall_catalogs(self.workbench.workspace.data_dir, suite, servers)
            self._remembered[suite] = servers, found
        return found

    def catalog_remembered(self, suite: str) -> None:
        """The engine has written what a server of a suite lists: look at the texts again that go by it."""
        (self._remembered or {}).pop(suite, None)
        for doc in self.docs.values():
            if suite in self._suites_of(doc):
                doc.checked_by = ()
                if doc is self.current:
                    self.check_soon(doc)

    def action_read_catalog(self) -> None:
        """Forget what the servers said, and ask them again when it is needed."""
        self._catalogs = {}
        doc = self.current
        if doc is not None:
            for server in doc.document.servers if doc.document is not None else ():
                self._ask_server(doc, server.name)

    def _suites_of(self, doc: OpenDoc) -> list[str]:
        documents = self.workbench.store.documents
        return [doc.file.path, *(document.path for document in doc.owners(documents))]

    def _looked_at(self, suite: str) -> list[tuple[str, dict[str, Any]]]:
        """What the servers' screen has read already."""
        screen = next((screen for screen in self.workbench.work_screens() if screen.MODE == "servers"), None)
        by_key = getattr(getattr(screen, "servers", None), "by_key", {})
        known = [
            server
            for server in by_key.values()
            if server.path == suite and server.catalog is not None and server.state == "ready"
        ]
        return [(server.name, server.catalog) for server in known]

    def _want_catalog(self, doc: OpenDoc, row: int, column: int, *, explicit: bool) -> None:
        """Ask the server that the cursor's place is about, if nothing is known of it yet."""
        from mcptest_engine.suite.cursor import place_at
        from mcptest_engine.suite.offers import Offers

        place = place_at(doc.area.lines, row, column)
        if place is None or len(place.path) < 2 or place.path[0] not in ("tools", "resources", "prompts"):
            return
        if not ({"args", "target"} & set(place.path) or place.path[-1] in _FROM_SERVERS):
            return
        server = Offers(doc.area.lines, place, {}).server_of_test()
        if server and server not in self.catalog_of(doc) and (explicit or self._has_run(doc, server)):
            self._ask_server(doc, server, again=explicit)

    def _has_run(self, doc: OpenDoc, server: str) -> bool:
        """Whether a run has started this server in this session: then it does no harm to start it once more."""
        suites = self._suites_of(doc)
        return any(
            row.result is not None and row.server == server and row.path in suites
            for row in self.workbench.store.rows.values()
        )

    def _ask_server(self, doc: OpenDoc, server: str, *, again: bool = False) -> None:
        """Ask a server what it offers, as its suite has it, or as the text says that is not sound yet."""
        documents = self.workbench.store.documents
        for suite in self._suites_of(doc):
            known = documents.get(suite)
            state = (self._catalogs or {}).get((suite, server))
            if state is not None and not (again and state == FAILED):
                return
            if known is not None and known.sound and any(item.name == server for item in known.servers):
                target: dict[str, Any] | None = {"suite": suite, "server": server}
            else:
                target = target_in(doc.area.lines, server, doc.file.path.rpartition("/")[0])
            if target is not None:
                self._catalogs = {**(self._catalogs or {}), (suite, server): ASKING}
                self.run_worker(self._read_server(suite, server, target), group="edit.catalog", exit_on_error=False)
                return

    def _is_asking(self) -> bool:
        return ASKING in (self._catalogs or {}).values()

    async def _read_server(self, suite: str, server: str, target: dict[str, Any]) -> None:
        from mcptest_tui.engine_client import EngineError

        bench, key = self.workbench, f"edit:{suite}\0{server}"
        answer: dict[str, Any] | str = FAILED
        try:
            await bench.engine_ready.wait()
            await bench.engine.ask("connect", session=key, target=target)
            answer = await bench.engine.ask("catalog", session=key)
            bench.engine.tell("disconnect", session=key)
        except EngineError as wrong:
            bench.say(f"{server}: {wrong.message}", "warning")
        self._catalogs = {**(self._catalogs or {}), (suite, server): answer}
        doc = self.current
        if isinstance(answer, dict) and doc is not None and doc.area.has_focus and suite in self._suites_of(doc):
            self.completing.look(explicit=self.awaits_offer or self.completing.is_open)
            self.awaits_offer = False

    def engine_changed(self, state: str, message: str) -> None:  # noqa: ARG002
        """What was being asked has no answer any more."""
        if state != "ready" and self._catalogs:
            self._catalogs = {key: told for key, told in self._catalogs.items() if isinstance(told, dict)}


def problem_help(message: str, hint: str | None, word: Help | None) -> Help:
    """What the card says where something is wrong: the line below the text may have no room for all of it."""
    from mcptest_engine.suite.completion import Help

    if word is None:
        return Help(message, hint or "")
    about = "   ".join(filter(None, (word.title, word.takes)))
    return word._replace(title=message, takes="", text="\n".join(filter(None, (hint, f"\n{about}", word.text))))


def _in_a_line(told: Help | None) -> str:
    if told is None:
        return ""
    text = " ".join(told.text.split())
    takes = f" ({told.takes})" if told.takes else ""
    return f"{told.title}{takes}: {text}" if text else f"{told.title}{takes}"
