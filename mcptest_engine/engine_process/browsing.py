"""Servers that a person browses in the workbench: connect, list and call them.

One task for each server opens the session, waits for its end and closes it. Each call is a task of its own, so that a call
that hangs delays nothing else. Only the lists that a server declares in its capabilities are requested.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from mcptest_engine.core.live import Owner
from mcptest_engine.engine_process.pages import LONGEST_TEXT, brief, clipped, pruned
from mcptest_engine.engine_process.protocol import Refused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from mcptest_engine.core.errors import ServerError
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.engine_process.results import Results
    from mcptest_engine.engine_process.surroundings import Surroundings
    from mcptest_engine.engine_process.targets import Target
    from mcptest_engine.engine_process.traffic import TrafficLog
    from mcptest_engine.engine_process.workbench_events import Send, ServerState
    from mcptest_engine.safety.poisoning import Finding
    from mcptest_engine.servers.session import Session


MOST_LISTED = 2_000
_LISTS = {
    "tools": ("tools", "tools", "name"),
    "resources": ("resources", "resources", "uri"),
    "templates": ("resources/templates", "resources", "uriTemplate"),
    "prompts": ("prompts", "prompts", "name"),
}
_CHANGED = {f"notifications/{name}/list_changed": name for name in ("tools", "resources", "prompts")}
NEWS_SECONDS = 1.0
MOST_UPDATED = 100
MOST_WARNINGS = 500
_FOREVER = 24 * 3600.0


class Opened(NamedTuple):
    """An open session; `description` is the server as the workbench described it (see `target_of`)."""

    description: Mapping[str, Any]
    session: Session
    redactor: Redactor


class Browsing:
    """The browsed servers, by the session key that the workbench chose."""

    def __init__(
        self, surroundings: Surroundings, send: Send, results: Results, traffic: Callable[[], TrafficLog]
    ) -> None:
        self._surroundings, self._send, self._results, self._traffic = surroundings, send, results, traffic
        self._open: dict[str, _Browsed] = {}
        self._descriptions: dict[str, Mapping[str, object]] = {}

    async def connect(self, key: str, description: Mapping[str, object]) -> None:
        """Start connecting; events report the progress. A session with this key is closed first.

        Raises: Refused for a description that names no server.
        """
        from mcptest_engine.engine_process.targets import target_of

        target = target_of(description, self._surroundings, name=str(description.get("name") or key))
        await self.disconnect(key)
        self._descriptions[key] = description
        self._open[key] = _Browsed(
            key, target, self._send, self._traffic(), partial(self._remember, description, target)
        )

    async def _remember(self, description: Mapping[str, object], target: Target, catalog: Mapping[str, object]) -> None:
        """Store the catalog of a suite's server, for completion in the editor."""
        if "suite" in description:
            suite = self._surroundings.absolute(str(description["suite"]))
            await self._surroundings.remember_catalog(suite, target.spec.name, target.shown, catalog, self._send)

    async def disconnect(self, key: str) -> None:
        """End the session, if there is one."""
        browsed = self._open.pop(key, None)
        if browsed is not None:
            await browsed.close()

    async def restart(self, key: str) -> None:
        """End the session and open another, with the current suite."""
        if key not in self._descriptions:
            raise Refused("this server was never connected", kind="gone")
        await self.connect(key, self._descriptions[key])

    async def catalog(self, key: str, *, refresh: bool) -> dict[str, Any]:
        """The server's tools, resources, templates and prompts, with warnings and errors. Raises: Refused if not connected."""
        return await self._of(key).catalog(refresh=refresh)

    async def call(
        self, key: str, method: str, params: Mapping[str, object] | None, timeout_seconds: float | None
    ) -> dict[str, Any]:
        """Make one request; `id` in the returned object is that of the stored answer, whose parts can be requested.

        Raises: Refused when the server is not connected or does not answer.
        """
        called = await self._of(key).call(method, params, timeout_seconds)
        called["id"] = self._results.keep_answer(called["answer"], called["size"])
        called["answer"] = pruned(called["answer"])
        return called

    async def opened(self, key: str) -> Opened:
        """Wait until the session with this key is open. Raises: Refused when it is not connected, or could not be opened."""
        return await self._of(key).opened(self._descriptions[key])

    async def close(self) -> None:
        """End all sessions at once."""
        await asyncio.gather(*(browsed.close() for browsed in self._open.values()), return_exceptions=True)
        self._open.clear()

    def _of(self, key: str) -> _Browsed:
        if key not in self._open:
            raise Refused("this server is not connected", hint="connect it first", kind="gone")
        return self._open[key]


class _Browsed:
    """One server: its session, opened and closed by one task, and its catalog."""

    def __init__(
        self,
        key: str,
        target: Target,
        send: Send,
        traffic: TrafficLog,
        remember: Callable[[Mapping[str, object]], Awaitable[None]],
    ) -> None:
        self._key, self._target, self._send, self._remember = key, target, send, remember
        owner = Owner("hand", session=key, redact=target.redactor.redact_text)
        self._connect = traffic.connecting("", lambda: target.redactor, _connect, owner)
        self._opened: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
        self._catalog: dict[str, Any] | None = None
        self._output_schemas: dict[str, Any] = {}
        self._listing = asyncio.Lock()
        self._life = asyncio.ensure_future(self._run_session())
        self._life.add_done_callback(self._report_disconnected)

    async def close(self) -> None:
        self._life.cancel()
        await asyncio.wait((self._life,))

    async def catalog(self, *, refresh: bool) -> dict[str, Any]:
        session = await self._session()
        async with self._listing:
            if self._catalog is None or refresh:
                self._catalog = await self._listed(session)
                await self._remember(self._catalog)
        return self._catalog

    async def call(
        self, method: str, params: Mapping[str, object] | None, timeout_seconds: float | None
    ) -> dict[str, Any]:
        from mcptest_engine.core.errors import ServerError
        from mcptest_engine.judging.validity import find_fault

        session, redact = await self._session(), self._target.redactor.redact
        heard = len(session.server_messages.notifications)
        seconds = session.spec.timeout_seconds if timeout_seconds is None else timeout_seconds
        try:
            exchange = await session.request(method, params, timeout_seconds=seconds)
        except ServerError as error:
            raise self._refused(error) from None
        called: dict[str, Any] = {
            "answer": redact({key: exchange.answer[key] for key in ("result", "error") if key in exchange.answer}),
            "duration_ms": round(exchange.duration_ms, 3),
            "size": exchange.size,
        }
        name = (params or {}).get("name") if method == "tools/call" else None
        fault = find_fault(session, method, exchange.answer, self._output_schemas.get(str(name)), redact)
        if fault is not None:
            called["invalid"] = {"message": clipped(fault), "fails": session.spec.validity == "fail"}
        if exchange.http is not None:
            called["http"] = pruned(redact(exchange.http))
        if len(session.server_messages.notifications) > heard:
            called["notifications"] = pruned(redact(session.server_messages.notifications[heard:]))
        return called

    async def opened(self, description: Mapping[str, object]) -> Opened:
        return Opened(description, await self._session(), self._target.redactor)

    async def _run_session(self) -> None:
        """Open the session, listen until it ends, and close it; events report each state."""
        from mcptest_engine.core.errors import ServerError

        self._send(self._state_event("starting"))
        started = asyncio.get_running_loop().time()
        try:
            session = await self._connect(self._target.spec)
        except ServerError as error:
            self._failed(self._refused(error))
            return
        except Exception as bug:  # noqa: BLE001 - otherwise the server would be shown as starting for ever
            self._failed(Refused(f"this is a bug in mcptest: {type(bug).__name__}: {bug}", kind="bug"))
            return
        try:
            self._ready(session, (asyncio.get_running_loop().time() - started) * 1000)
            await self._listen(session)
            ending = "its connection was lost" if session.ending is None else f"it {session.ending.clause}"
            short = "failed" if session.ending is None else session.ending.short
            message, stderr = self._redacted(f"the server has ended: {ending}", session.stderr_tail)
            self._send_failure(Refused(message, stderr=stderr, short=short), "failed")
        finally:
            self._opened = asyncio.get_running_loop().create_future()
            self._fail(Refused("this server is no longer connected", kind="gone"))
            await session.close()
            self._send(self._state_event("closed"))

    def _report_disconnected(self, life: asyncio.Future[None]) -> None:
        """Report a server that was disconnected before it was ready, perhaps before its task began."""
        if life.cancelled() and not self._opened.done():
            self._failed(Refused("disconnected before it was ready", kind="gone"), state="closed")

    async def _listen(self, session: Session) -> None:
        """Report changed lists and resources until the session ends, at most once in `NEWS_SECONDS`."""
        reported = 0
        while session.alive:
            if reported == len(session.server_messages.notifications):
                await session.next_message(_FOREVER)
                continue
            fresh, reported = (
                session.server_messages.notifications[reported:],
                len(session.server_messages.notifications),
            )
            lists, updated = _news(fresh)
            if lists or updated:
                updated = self._target.redactor.redact(updated)
                self._send({"event": "server.news", "session": self._key, "lists": lists, "updated": updated})
                await asyncio.sleep(NEWS_SECONDS)

    def _ready(self, session: Session, duration_ms: float) -> None:
        redactor = self._target.redactor
        protocol = session.protocol_version
        self._opened.set_result(session)
        state = self._state_event("ready")
        state["server_info"] = pruned(redactor.redact(session.server_info))
        state["protocol"] = None if protocol is None else redactor.redact_text(protocol)
        state["duration_ms"] = round(duration_ms, 1)
        state["transport"] = session.transport
        state["remarks"] = list(session.remarks.texts)
        self._send(state)

    async def _session(self) -> Session:
        """Wait for the session to be open. Raises: Refused when it could not be opened."""
        return await asyncio.shield(self._opened)

    def _failed(self, refused: Refused, *, state: str = "failed") -> None:
        self._fail(refused)
        self._send_failure(refused, state)

    def _fail(self, refused: Refused) -> None:
        self._opened.set_exception(refused)
        self._opened.exception()  # read here, so that asyncio does not log it

    def _refused(self, error: ServerError) -> Refused:
        from mcptest_engine.core.errors import CallTimeout

        redact = self._target.redactor.redact_text
        hint = None if error.hint is None else redact(error.hint)
        message, stderr = self._redacted(error.message, error.stderr_tail)
        kind = "timeout" if isinstance(error, CallTimeout) else "server"
        return Refused(message, hint=hint, kind=kind, stderr=stderr, short=error.short)

    def _redacted(self, message: str, stderr: str) -> tuple[str, str | None]:
        """Redact both, cut the message, and keep the end of stderr; None for an empty stderr."""
        redact = self._target.redactor.redact_text
        return clipped(redact(message)), redact(stderr)[-LONGEST_TEXT:] if stderr else None

    def _state_event(self, state: str) -> ServerState:
        return {"event": "server.state", "session": self._key, "server": self._target.spec.name, "state": state}

    def _send_failure(self, refused: Refused, state: str) -> None:
        event, error = self._state_event(state), refused.to_json()
        event["message"] = error["message"]
        if "hint" in error:
            event["hint"] = error["hint"]
        if "stderr" in error:
            event["stderr"] = error["stderr"]
        if "short" in error:
            event["short"] = error["short"]
        if state == "failed":
            event["at"] = time.time()
        self._send(event)

    async def _listed(self, session: Session) -> dict[str, Any]:
        redact = self._target.redactor.redact
        capabilities = session.capabilities
        catalog: dict[str, Any] = {
            "warnings": [],
            "capabilities": pruned(redact(capabilities)),
            "server_info": pruned(redact(session.server_info)),
            "protocol": redact(session.protocol_version),
            "instructions": None if session.instructions is None else clipped(redact(session.instructions), 20_000),
            "transport": session.transport,
            "errors": {},
        }
        offered = {name: what for name, (what, capability, _) in _LISTS.items() if capability in capabilities}
        catalog.update({name: [] for name in _LISTS})
        outcomes = await asyncio.gather(*(self._list(session, what) for what in offered.values()))
        for name, (entries, error) in zip(offered, outcomes, strict=True):
            listed = brief(redact(entries), MOST_LISTED)
            catalog[name] = [entry for entry in listed if not isinstance(entry.get(_LISTS[name][2]), dict)]
            if cut := len(listed) - len(catalog[name]):  # calling by a cut name would call another tool
                error = f"left out: {cut:,} with a name that is too long, or no text"
            if len(entries) > MOST_LISTED:
                error = f"{len(entries):,} are offered, of which the first {MOST_LISTED:,} are shown"
            if error is not None:
                catalog["errors"][name] = error
            if name == "tools":
                self._output_schemas = {str(one.get("name")): one.get("outputSchema") for one in reversed(entries)}
                catalog["warnings"] = await asyncio.to_thread(_warnings, redact(entries))
        return catalog

    async def _list(self, session: Session, what: str) -> tuple[list[dict[str, Any]], str | None]:
        from mcptest_engine.core.errors import ServerError
        from mcptest_engine.judging.validity import find_fault
        from mcptest_engine.running.catalogs import LIST_RESULT
        from mcptest_engine.servers.catalog import MEMBERS, list_all

        try:
            listed = await list_all(session, what)
        except ServerError as error:
            return [], clipped(self._target.redactor.redact_text(error.message))
        answer = {"result": {**LIST_RESULT, MEMBERS[what]: listed}}
        fault = find_fault(session, f"{what}/list", answer, None, self._target.redactor.redact)
        return listed, None if fault is None else clipped(fault)


def _news(notifications: Sequence[Mapping[str, object]]) -> tuple[list[str], list[str]]:
    """The names of changed lists, and the URIs of updated resources, each once."""
    lists: dict[str, None] = {}
    updated: dict[str, None] = {}
    for message in notifications:
        method, params = message.get("method"), message.get("params")
        if method in _CHANGED:
            lists[_CHANGED[method]] = None
        elif method == "notifications/resources/updated" and isinstance(params, dict):
            uri = params.get("uri")
            if isinstance(uri, str) and len(uri) <= LONGEST_TEXT and len(updated) < MOST_UPDATED:
                updated[uri] = None
    return list(lists), list(updated)


def _warnings(tools: Sequence[Mapping[str, object]]) -> list[dict[str, str]]:
    """The findings about the tools' texts, at most `MOST_WARNINGS`.

    If a rule raises on a tool's text, a finding says that this tool was not checked; the others are checked.
    """
    from mcptest_engine.safety.poisoning import description_warnings

    try:
        found = [_warning(item) for item in description_warnings(tools)]
    except Exception:  # noqa: BLE001 - a bug in a rule: check tool by tool, so that only one tool is not checked
        found = [warning for tool in tools for warning in _warnings_of(tool)]
    return found[:MOST_WARNINGS]


def _warnings_of(tool: Mapping[str, object]) -> list[dict[str, str]]:
    from mcptest_engine.safety.poisoning import description_warnings

    try:
        return [_warning(item) for item in description_warnings([tool])]
    except Exception:  # noqa: BLE001 - the tool gets the finding "unchecked"
        summary = "its texts could not be checked: read them before you trust them"
        return [{"tool": str(tool.get("name")), "rule": "", "name": "unchecked", "summary": summary, "where": ""}]


def _warning(item: Finding) -> dict[str, str]:
    return {"tool": item.tool, "rule": item.rule, "name": item.name, "summary": item.summary, "where": item.where}


async def _connect(spec: Any) -> Session:
    from mcptest_engine.servers.session import connect

    return await connect(spec)
