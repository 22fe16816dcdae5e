"""The viewer as an ASGI application: the addresses and their responses, all of them behind the guard."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from mcptest_engine.core.errors import RecordError
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.reporting.compare import compare_runs
from mcptest_engine.reporting.registry import render
from mcptest_engine.reporting.viewer.compare_page import compare_page, pick_page
from mcptest_engine.reporting.viewer.frame import Page, failed, report_page, run_bar
from mcptest_engine.reporting.viewer.guard import Guarded
from mcptest_engine.reporting.viewer.list_page import RunFilter, list_page
from mcptest_engine.reporting.viewer.run_index import NoSuchRun
from mcptest_engine.reporting.viewer.session_page import by_lineage, by_session, session_page, sessions_page
from mcptest_engine.reporting.viewer.suite_page import suite_page, test_page
from mcptest_engine.reporting.viewer.trends import by_suite, test_trends
from mcptest_engine.workspace.slug import slug

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from typing import BinaryIO

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from mcptest_engine.reporting.viewer.run_index import RunIndex

MOST_RUNS = 50
"""How many of the newest runs the pages of a suite and of a test show."""
LEDGER_RUNS, SESSION_RUNS = 20, 100
"""How many of the newest runs a ledger is made of: of a suite, and of a suite in a session."""
_CHUNK = 1 << 16
_CHECK_SECONDS = 0.3
_COMMENT_SECONDS = 15.0


class Viewer:
    """The response of each address. The endpoints run in threads, since they read files."""

    def __init__(self, index: RunIndex, live: Live) -> None:
        self._index, self._live = index, live

    def routes(self) -> list[Route]:
        return [
            Route("/", self.runs),
            Route("/runs", self.runs),
            Route("/runs/{run_id}", self.run),
            Route("/runs/{run_id}/snapshot", self.snapshot),
            Route("/runs/{run_id}/record", self.record),
            Route("/runs/{run_id}/files/{name}", self.side_file),
            Route("/sessions", self.sessions),
            Route("/sessions/{session}", self.session),
            Route("/suites", self.suite),
            Route("/tests", self.test),
            Route("/compare", self.compare),
            Route("/events", self.events),
        ]

    def runs(self, request: Request) -> Response:
        index = self._index
        rows = index.rows()
        wanted = RunFilter.of(request.query_params)
        return _sent(list_page(rows, index.active_runs(time.time()), wanted, str(index.workspace.root)))

    def run(self, request: Request) -> Response:
        run_id = request.path_params["run_id"]
        record = self._index.record(run_id)
        rows = self._index.rows()
        own = next((row for row in rows if row.run_id == run_id), None)
        mine = [row for row in rows if own is not None and not row.damaged and row.key == own.key]
        at = next((at for at, row in enumerate(mine) if row.run_id == run_id), None)
        before = mine[at + 1] if at is not None and at + 1 < len(mine) else None
        after = mine[at - 1] if at else None
        key = record.suite.path if own is None else own.key
        return _sent(report_page(record, run_bar(record, key, before, after, self._index.side_files(run_id))))

    def snapshot(self, request: Request) -> Response:
        """The report as a file that needs no viewer."""
        record = self._index.record(request.path_params["run_id"])
        name = f"mcptest-{slug(record.suite.name).encode('ascii', 'ignore').decode()}-{record.run_id}.html"
        return _download(render("html", record).text.encode(), name, "text/html; charset=utf-8")

    def record(self, request: Request) -> Response:
        """The run record as it is."""
        run_id = request.path_params["run_id"]
        return _download(self._index.text(run_id), f"{run_id}.json", "application/json")

    def side_file(self, request: Request) -> Response:
        """A large output, as text whatever it holds."""
        file = self._index.open_side_file(request.path_params["run_id"], request.path_params["name"])
        if request.method == "HEAD":
            file.close()
            return PlainTextResponse("")
        return StreamingResponse(_pieces(file), media_type="text/plain; charset=utf-8")

    def suite(self, request: Request) -> Response:
        """The page with the trends of one suite."""
        rows = by_suite(self._index.rows()).get(request.query_params.get("suite", ""))
        if not rows:
            return _sent(failed("No such suite", "No run of that suite is saved here.", 404))
        newest = rows[:MOST_RUNS]
        ledger = self._index.ledger(rows[:LEDGER_RUNS])
        return _sent(suite_page(newest[::-1], self._index.tests(newest)[::-1], ledger, kept=len(rows)))

    def sessions(self, request: Request) -> Response:  # noqa: ARG002
        """The page that lists sessions of agents."""
        return _sent(sessions_page(by_session(self._index.rows())))

    def session(self, request: Request) -> Response:
        """What one agent did in one session."""
        rows = by_session(self._index.rows()).get(request.path_params["session"])
        if not rows:
            return _sent(failed("No such session", "No run of that session is saved here.", 404))
        suites = by_lineage(rows)
        ledgers = {lineage: self._index.ledger(own[:SESSION_RUNS]) for lineage, own in suites.items()}
        return _sent(session_page(rows, suites, ledgers))

    def test(self, request: Request) -> Response:
        """The history of one test."""
        test_id = request.query_params.get("id", "")
        rows = [
            row for row in self._index.rows() if not row.damaged and row.path and test_id.startswith(f"{row.path}::")
        ]
        found = (one for one in test_trends(self._index.tests(rows[:MOST_RUNS])[::-1]) if one.id == test_id)
        trend = next(found, None)
        if trend is None:
            return _sent(failed("No such test", "None of the newest runs of that suite has this test.", 404))
        return _sent(test_page(trend))

    def compare(self, request: Request) -> Response:
        """Two runs: `a` and `b`, or two that were picked from the list, the older one first."""
        query = request.query_params
        picked = sorted(query.getlist("run"))
        ids = [query.get("a", ""), query.get("b", "")] if "a" in query or "b" in query else picked
        if not ids and "run" not in query:
            return _sent(pick_page(self._index.rows(), None))
        if len(ids) != 2 or not all(ids):
            return _sent(
                pick_page(
                    self._index.rows(), f"A comparison needs two runs; {len(list(filter(None, ids)))} were given."
                )
            )
        return _sent(compare_page(compare_runs(self._index.record(ids[0]), self._index.record(ids[1]))))

    async def events(self, request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        return StreamingResponse(self._live.events(), media_type="text/event-stream")


class Live:
    """Server-sent events for browsers when runs start and end. `close` ends all streams, also later ones.

    The folders are checked while a browser listens: two system calls, which work on every file system and notice every run,
    since a record is put there by a rename. Source: HTML Standard, section 9.2.
    """

    def __init__(self, state: Callable[[], object]) -> None:
        self._state = state
        self._closed = asyncio.Event()

    def close(self) -> None:
        """End the streams of events."""
        self._closed.set()

    async def events(self) -> AsyncIterator[bytes]:
        """A first event at once, one for each change, and comments in between, which fail once the browser is gone."""
        before = self._state()
        yield b"retry: 1000\nevent: ready\ndata: {}\n\n"
        unchanged = 0.0
        while not self._closed.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), _CHECK_SECONDS)
            now = self._state()
            unchanged += _CHECK_SECONDS
            if now != before:
                before, unchanged = now, 0.0
                yield b"event: changed\ndata: {}\n\n"
            elif unchanged >= _COMMENT_SECONDS:
                unchanged = 0.0
                yield b": still here\n\n"


def make_app(index: RunIndex, live: Live, port: int) -> ASGIApp:
    """The viewer that listens at `port`."""
    handlers: dict[Any, Any] = {
        NoSuchRun: _no_such_run,
        RecordError: _damaged,
        HTTPException: _http_error,
        Exception: _bug,
    }
    return Guarded(Starlette(routes=Viewer(index, live).routes(), exception_handlers=handlers), port)


def _sent(page: Page) -> Response:
    # Lone surrogates, which JSON may hold, cannot be sent.
    body = page.text.encode("utf-8", "backslashreplace")
    return Response(body, page.status, {"Content-Security-Policy": page.policy}, media_type="text/html; charset=utf-8")


def _download(data: bytes, name: str, kind: str) -> Response:
    return Response(data, headers={"Content-Disposition": f'attachment; filename="{name}"'}, media_type=kind)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(_CHUNK):
            yield piece


def _no_such_run(request: Request, wrong: Exception) -> Response:  # noqa: ARG001
    return _sent(failed("No such run", "No run with that id is saved here; only the newest 1,000 are.", 404))


def _damaged(request: Request, wrong: Exception) -> Response:  # noqa: ARG001
    told = one_line(wrong.message if isinstance(wrong, RecordError) else str(wrong), 500)
    return _sent(failed("This record is damaged", told, 422))


def _bug(request: Request, wrong: Exception) -> Response:  # noqa: ARG001 - the traceback goes to stderr
    return _sent(failed("This page could not be created", "This is a bug in mcptest; the terminal shows more.", 500))


def _http_error(request: Request, wrong: Exception) -> Response:  # noqa: ARG001
    status = wrong.status_code if isinstance(wrong, HTTPException) else 500
    return _sent(failed("Nothing here", "There is no such page.", status))
