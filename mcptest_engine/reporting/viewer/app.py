"""The viewer as an ASGI application: which address gives what. Every answer passes the guard and carries its headers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from mcptest_engine.core.errors import RecordError
from mcptest_engine.core.sanitise import one_line
from mcptest_engine.reporting.compare import compare_runs
from mcptest_engine.reporting.registry import render
from mcptest_engine.reporting.viewer.compare_page import compare_page, pick_page
from mcptest_engine.reporting.viewer.frame import Page, failed, report_page, run_bar
from mcptest_engine.reporting.viewer.guard import HEADERS, NOTHING, refusal
from mcptest_engine.reporting.viewer.list_page import RunFilter, list_page
from mcptest_engine.reporting.viewer.run_index import NoSuchRun
from mcptest_engine.reporting.viewer.session_page import by_lineage, by_session, session_page, sessions_page
from mcptest_engine.reporting.viewer.suite_page import suite_page, test_page
from mcptest_engine.reporting.viewer.trends import by_suite, test_trends
from mcptest_engine.workspace.slug import slug

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mcptest_engine.reporting.viewer.live import Live
    from mcptest_engine.reporting.viewer.run_index import RunIndex, RunRow

MOST_RUNS = 50
"""Over how many of its newest runs a suite and a test are told."""
LEDGER_RUNS, SESSION_RUNS = 20, 100
"""How many of the newest runs a ledger is made of: of a suite, and of a suite in a session."""
_CHUNK = 1 << 16


class Viewer:
    """What stands at each address. The endpoints are run in threads, since they read files."""

    def __init__(self, shelf: RunIndex, live: Live) -> None:
        self._shelf, self._live = shelf, live

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
        shelf = self._shelf
        rows = shelf.rows()
        wanted = RunFilter.of(request.query_params)
        return _sent(list_page(rows, shelf.active_runs(time.time()), wanted, str(shelf.workspace.root)))

    def run(self, request: Request) -> Response:
        run_id = request.path_params["run_id"]
        record = self._shelf.record(run_id)
        rows = self._shelf.rows()
        own = next((row for row in rows if row.run_id == run_id), None)
        mine = [row for row in rows if own is not None and not row.damaged and row.key == own.key]
        at = next((at for at, row in enumerate(mine) if row.run_id == run_id), None)
        before = mine[at + 1] if at is not None and at + 1 < len(mine) else None
        after = mine[at - 1] if at else None
        key = record.suite.path if own is None else own.key
        return _sent(report_page(record, run_bar(record, key, before, after, self._shelf.side_files(run_id))))

    def snapshot(self, request: Request) -> Response:
        """The report as a file that needs no viewer."""
        record = self._shelf.record(request.path_params["run_id"])
        name = f"mcptest-{slug(record.suite.name).encode('ascii', 'ignore').decode()}-{record.run_id}.html"
        return _download(render("html", record).text.encode(), name, "text/html; charset=utf-8")

    def record(self, request: Request) -> Response:
        """The run record as it is."""
        run_id = request.path_params["run_id"]
        return _download(self._shelf.text(run_id), f"{run_id}.json", "application/json")

    def side_file(self, request: Request) -> Response:
        """A large output, as text whatever it holds."""
        file = self._shelf.open_side_file(request.path_params["run_id"], request.path_params["name"])
        if request.method == "HEAD":
            file.close()
            return PlainTextResponse("")
        return StreamingResponse(_pieces(file), media_type="text/plain; charset=utf-8")

    def suite(self, request: Request) -> Response:
        """The page with the trends of one suite."""
        rows = by_suite(self._shelf.rows()).get(request.query_params.get("suite", ""))
        if not rows:
            return _sent(failed("No such suite", "No run of that suite is saved here.", 404))
        newest = rows[:MOST_RUNS]
        ledger = self._shelf.ledger(rows[:LEDGER_RUNS])
        return _sent(suite_page(newest[::-1], self._shelf.tests(newest)[::-1], ledger, kept=len(rows)))

    def sessions(self, request: Request) -> Response:  # noqa: ARG002
        """The page that lists sessions of agents."""
        return _sent(sessions_page(by_session(self._shelf.rows())))

    def session(self, request: Request) -> Response:
        """What one agent did in one session."""
        rows = by_session(self._shelf.rows()).get(request.path_params["session"])
        if not rows:
            return _sent(failed("No such session", "No run of that session is saved here.", 404))
        suites = by_lineage(rows)
        ledgers = {lineage: self._shelf.ledger(own[:SESSION_RUNS]) for lineage, own in suites.items()}
        return _sent(session_page(rows, suites, ledgers))

    def test(self, request: Request) -> Response:
        """The history of one test."""
        test_id = request.query_params.get("id", "")
        rows = [row for row in self._shelf.rows() if not row.damaged and self._may_have(row, test_id)]
        found = (one for one in test_trends(self._shelf.tests(rows[:MOST_RUNS])[::-1]) if one.id == test_id)
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
            return _sent(pick_page(self._shelf.rows(), None))
        if len(ids) != 2 or not all(ids):
            return _sent(
                pick_page(
                    self._shelf.rows(), f"A comparison needs two runs; {len(list(filter(None, ids)))} were given."
                )
            )
        return _sent(compare_page(compare_runs(self._shelf.record(ids[0]), self._shelf.record(ids[1]))))

    async def events(self, request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        return StreamingResponse(self._live.events(), media_type="text/event-stream")

    @staticmethod
    def _may_have(row: RunRow, test_id: str) -> bool:
        """A test's id begins with its suite's path."""
        return bool(row.path) and test_id.startswith(f"{row.path}::")


class Guarded:
    """Around the application: refuses what the guard refuses, and puts the headers on whatever is sent."""

    def __init__(self, inner: ASGIApp, port: int) -> None:
        self._inner, self._port = inner, port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("Content-Security-Policy", NOTHING)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refused = refusal(scope["method"], _headers(scope), self._port)
        if refused is None:
            await self._inner(scope, receive, sent)
            return
        allow = {"Allow": "GET, HEAD"} if refused.status == 405 else {}
        answer = PlainTextResponse(f"{refused.message}\n", refused.status, allow)
        await answer(scope, receive, sent)


def make_app(shelf: RunIndex, live: Live, port: int) -> ASGIApp:
    """The viewer that listens at `port`."""
    handlers: dict[Any, Any] = {
        NoSuchRun: _no_such_run,
        RecordError: _damaged,
        HTTPException: _http_error,
        Exception: _bug,
    }
    return Guarded(Starlette(routes=Viewer(shelf, live).routes(), exception_handlers=handlers), port)


def _headers(scope: Scope) -> dict[str, str]:
    """Each header once; one that came twice is made one that nothing allows."""
    headers = Headers(scope=scope)
    return {name: ", ".join(headers.getlist(name)) for name in headers}


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
