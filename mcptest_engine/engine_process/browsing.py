"""Servers that a person browses: connected on request, listed, and called by hand.

One task for each opens the session, waits for its end and closes it. Calls are tasks of their own, so that one which hangs
holds up nothing. A server is only asked for what it declares.
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
    """A session for several requests; `told` identifies the server, as the user interface named it."""

    told: Mapping[str, Any]
    session: Session
    redactor: Redactor


class Browsing:
    """The browsed servers, by the key of the user interface."""

    def __init__(
        self, surroundings: Surroundings, send: Send, results: Results, traffic: Callable[[], TrafficLog]
    ) -> None:
        self._surroundings, self._send, self._results, self._traffic = surroundings, send, results, traffic
        self._open: dict[str, _Browsed] = {}
        self._told: dict[str, Mapping[str, object]] = {}

    async def connect(self, key: str, told: Mapping[str, object]) -> None:
        """Begin to connect; events report the progress. A session with this key is closed first.
        Raises: Refused for a target that names no server.
        """
        from mcptest_engine.engine_process.targets import target_of

        target = target_of(told, self._surroundings, name=str(told.get("name") or key))
        await self.disconnect(key)
        self._told[key] = told
        self._open[key] = _Browsed(key, target, self._send, self._traffic(), partial(self._remember, told, target))

    async def _remember(self, told: Mapping[str, object], target: Target, catalog: Mapping[str, object]) -> None:
        """Store the lists of a suite's server, for the editor."""
        if "suite" in told:
            suite = self._surroundings.absolute(str(told["suite"]))
            await self._surroundings.remember_catalog(suite, target.spec.name, target.shown, catalog, self._send)

    async def disconnect(self, key: str) -> None:
        """End the session, if there is one."""
        browsed = self._open.pop(key, None)
        if browsed is not None:
            await browsed.close()

    async def restart(self, key: str) -> None:
        """End the session and open another, with the current suite."""
        if key not in self._told:
            raise Refused("this server was never connected", kind="gone")
        await self.connect(key, self._told[key])

    async def catalog(self, key: str, *, refresh: bool) -> dict[str, Any]:
        """Everything that the server offers. Raises: Refused when it is not connected."""
        return await self._of(key).catalog(refresh=refresh)

    async def call(
        self, key: str, method: str, params: Mapping[str, object] | None, timeout_seconds: float | None
    ) -> dict[str, Any]:
        """Make one request. Raises: Refused when the server is not connected or does not answer."""
        called = await self._of(key).call(method, params, timeout_seconds)
        called["id"] = self._results.keep_answer(called["answer"], called["size"])
        called["answer"] = pruned(called["answer"])
        return called

    async def opened(self, key: str) -> Opened:
        """The session with this key, once it is open. Raises: Refused when it is not connected, or could not be opened."""
        return await self._of(key).opened(self._told[key])

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
        self._life = asyncio.ensure_future(self._live())
        self._life.add_done_callback(self._given_up)

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

    async def opened(self, told: Mapping[str, object]) -> Opened:
        return Opened(told, await self._session(), self._target.redactor)

    async def _live(self) -> None:
        """Connect, and listen until the session ends."""
        from mcptest_engine.core.errors import ServerError

        self._send(self._state_event("starting"))
        started = asyncio.get_running_loop().time()
        try:
            session = await self._connect(self._target.spec)
        except ServerError as error:
            self._failed(self._refused(error))
            return
        except Exception as bug:  # noqa: BLE001 - a server that cannot be looked at must not be one that starts for ever
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

    def _given_up(self, life: asyncio.Future[None]) -> None:
        """Report that it was ended before it was ready; it may not even have begun."""
        if life.cancelled() and not self._opened.done():
            self._failed(Refused("disconnected before it was ready", kind="gone"), state="closed")

    async def _listen(self, session: Session) -> None:
        """Report changed lists and resources until the session ends, at most once in `NEWS_SECONDS`."""
        told = 0
        while session.alive:
            if told == len(session.server_messages.notifications):
                await session.next_message(_FOREVER)
                continue
            fresh, told = session.server_messages.notifications[told:], len(session.server_messages.notifications)
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
        """The session, once it is open. Raises: Refused when it could not be opened."""
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
        """Both without secrets, of stderr the end; None where it is empty."""
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
            if cut := len(listed) - len(catalog[name]):  # what is shown of such a name would call another tool
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
    """The lists that have changed, and the URIs of updated resources, without repetition."""
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

    A rule that fails on a server's text costs that tool its check, and is reported; never the catalog.
    """
    from mcptest_engine.safety.poisoning import description_warnings

    try:
        found = [_warning(item) for item in description_warnings(tools)]
    except Exception:  # noqa: BLE001 - a bug of ours: tool by tool, to lose no more than it has to
        found = [warning for tool in tools for warning in _warnings_of(tool)]
    return found[:MOST_WARNINGS]


def _warnings_of(tool: Mapping[str, object]) -> list[dict[str, str]]:
    from mcptest_engine.safety.poisoning import description_warnings

    try:
        return [_warning(item) for item in description_warnings([tool])]
    except Exception:  # noqa: BLE001 - told in place of what it would have found
        summary = "its texts could not be checked: read them before you trust them"
        return [{"tool": str(tool.get("name")), "rule": "", "name": "unchecked", "summary": summary, "where": ""}]


def _warning(item: Finding) -> dict[str, str]:
    return {"tool": item.tool, "rule": item.rule, "name": item.name, "summary": item.summary, "where": item.where}


async def _connect(spec: Any) -> Session:
    from mcptest_engine.servers.session import connect

    return await connect(spec)
