"""What the servers of the files offer, for completion and checks.

A server is started for its catalog only when a person asks for completions, or once a run has started it before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcptest_tui.screens.edit_files import FileController, OpenFiles
from mcptest_tui.state.server_text import target_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest_tui.screens.base import WorkScreen
    from mcptest_tui.screens.edit_docs import OpenDoc

READING, FAILED = "reading", "failed"
_FROM_SERVERS = frozenset({"tool", "prompt", "uri"})
Catalog = dict[str, Any]


class Catalogs(FileController):
    """Catalogs by suite and server: of a connected server, else as read here, else as last listed."""

    def __init__(self, screen: WorkScreen, files: OpenFiles) -> None:
        super().__init__(screen, files)
        self.arrived: Callable[[str], None] = lambda _: None
        """Called with the suite of a server that has answered."""
        self._answers: dict[tuple[str, str], Catalog | str] = {}
        self._remembered: dict[str, tuple[object, dict[str, Catalog]]] = {}
        """By suite: what its servers were when the catalogs of its past were read from the disk, and those."""

    @property
    def is_reading(self) -> bool:
        """Whether a server is being asked for its catalog."""
        return READING in self._answers.values()

    def of(self, doc: OpenDoc) -> dict[str, Catalog]:
        """Return the known catalogs of the servers of a file's suites, by server name."""
        found: dict[str, Catalog] = {}
        connected = [one for screen in self.workbench.work_screens() for one in screen.connected_catalogs()]
        for suite in self.suites_of(doc):
            for path, server, catalog in connected:
                if path == suite:
                    found.setdefault(server, catalog)
            for (path, server), answer in self._answers.items():
                if path == suite and isinstance(answer, dict):
                    found.setdefault(server, answer)
            for server, catalog in self._recall(doc, suite).items():
                found.setdefault(server, catalog)
        return found

    def suites_of(self, doc: OpenDoc) -> list[str]:
        """Return the paths of the file itself and of the suites that include it."""
        documents = self.workbench.store.documents
        return [doc.file.path, *(document.path for document in doc.owners(documents))]

    def _recall(self, doc: OpenDoc, suite: str) -> dict[str, Catalog]:
        """Return what a suite's servers listed last; read from the disk again when the servers change."""
        from mcptest_engine.workspace.catalogs import recall_catalogs

        known = doc.document if suite == doc.file.path else None
        known = known or self.workbench.store.documents.get(suite)
        servers = tuple((server.name, server.target) for server in known.servers) if known is not None else ()
        was, found = self._remembered.get(suite, ((), {}))
        if was != servers:
            found = recall_catalogs(self.workbench.workspace.data_dir, suite, servers)
            self._remembered[suite] = servers, found
        return found

    def forget(self, suite: str) -> None:
        """Forget a suite's stored catalogs, which the engine has rewritten, and have its texts checked again."""
        self._remembered.pop(suite, None)
        for doc in self.files.docs.values():
            if suite in self.suites_of(doc):
                doc.checked_by = ()

    def engine_lost(self) -> None:
        """Forget requests that will get no answer, because the engine has ended."""
        self._answers = {key: answer for key, answer in self._answers.items() if isinstance(answer, dict)}

    def action_read(self) -> None:
        """Forget what the servers of the file listed, and read it again."""
        self._answers = {}
        doc = self.files.current
        if doc is not None:
            for server in doc.document.servers if doc.document is not None else ():
                self._begin_reading(doc, server.name)

    def read_at_cursor(self, doc: OpenDoc, *, explicit: bool) -> None:
        """Read the catalog of the server that the place at the cursor needs, if it is not known."""
        from mcptest_engine.suite.completion_sources import CompletionSources
        from mcptest_engine.suite.cursor import place_at

        place = place_at(doc.area.lines, *doc.area.cursor_location)
        if place is None or len(place.path) < 2 or place.path[0] not in ("tools", "resources", "prompts"):
            return
        if not ({"args", "target"} & set(place.path) or place.path[-1] in _FROM_SERVERS):
            return
        server = CompletionSources(doc.area.lines, place, {}).server_of_test()
        if server and server not in self.of(doc) and (explicit or self._has_run(doc, server)):
            self._begin_reading(doc, server, again=explicit)

    def _has_run(self, doc: OpenDoc, server: str) -> bool:
        """Whether a run has started this server in this session, so that it may be started again."""
        suites = self.suites_of(doc)
        return any(
            row.result is not None and row.server == server and row.path in suites
            for row in self.workbench.store.rows.values()
        )

    def _begin_reading(self, doc: OpenDoc, server: str, *, again: bool = False) -> None:
        """Read a server's catalog; start it as its suite declares, or as the text being edited does."""
        documents = self.workbench.store.documents
        for suite in self.suites_of(doc):
            known = documents.get(suite)
            state = self._answers.get((suite, server))
            if state is not None and not (again and state == FAILED):
                return
            if known is not None and known.sound and any(item.name == server for item in known.servers):
                target: dict[str, Any] | None = {"suite": suite, "server": server}
            else:
                target = target_in(doc.area.lines, server, doc.file.path.rpartition("/")[0])
            if target is not None:
                self._answers[suite, server] = READING
                work = self._read_server(suite, server, target)
                self.screen.run_worker(work, group="edit.catalog", exit_on_error=False)
                return

    async def _read_server(self, suite: str, server: str, target: dict[str, Any]) -> None:
        from mcptest_tui.engine_client import EngineError

        bench, key = self.workbench, f"edit:{suite}\0{server}"
        answer: Catalog | str = FAILED
        try:
            await bench.engine_ready.wait()
            await bench.engine.request("connect", session=key, target=target)
            answer = await bench.engine.request("catalog", session=key)
        except EngineError as wrong:
            bench.messages.show(f"{server}: {wrong.message}", "warning")
        finally:
            bench.engine.send("disconnect", session=key)
        self._answers[suite, server] = answer
        if isinstance(answer, dict):
            self.arrived(suite)
