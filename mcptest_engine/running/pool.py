"""The sessions of a run: one for each server, opened when first needed, opened again when the server dies or hangs.

A server that checks are pinned to a revision of has a further session for each such revision; `pinned` gives what it goes by.

A server that cannot be started fails every test that needs it with the same error, after a single try. One that dies later
fails the tests in flight and is started again for the rest, until it has died `MOST_DEATHS` times in a row without an answer in
between. One that stops answering is started again as well.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from mcptest_engine.core.errors import CallTimeout, NotReady, ServerDied, ServerError, ServerHung
from mcptest_engine.core.tasks import retrieve_exception
from mcptest_engine.core.text import counted
from mcptest_engine.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping

    from mcptest_engine.core.events import Emit
    from mcptest_engine.core.live import Owner
    from mcptest_engine.core.redaction import Redactor
    from mcptest_engine.core.run_record import ServerRecord
    from mcptest_engine.running.cases import Case
    from mcptest_engine.running.shared_servers import SuiteServers
    from mcptest_engine.servers.gate import Gate
    from mcptest_engine.servers.program import Programs
    from mcptest_engine.servers.recording import Recorder
    from mcptest_engine.servers.session import Session
    from mcptest_engine.servers.spec import ServerSpec

    Connect = Callable[[ServerSpec], Awaitable[Session]]

MOST_DEATHS = 3
"""So many deaths in a row, each in another test and without an answer in between, and a server is not started again."""
MOST_TOOLS, LONGEST_NAME = 1_000, 300
_PIN = "\0"  # between a server's name, which has no control characters, and a revision


@dataclass(slots=True)
class _Entry:
    """One server: the session being opened or open, and what became of earlier ones."""

    opening: asyncio.Task[Session]
    session: Session | None = None
    restarts: int = 0
    lost: ServerDied | None = None
    deaths: int = 0
    died_in: str | None = None
    probe: asyncio.Task[bool] | None = None
    silent: CallTimeout | None = None
    silent_in: str | None = None
    hangs: bool = False
    is_forgiven: bool = False

    def count_death(self, session: Session, test: str | None) -> None:
        """Count the end of a session in a call of `test`; one that is tried again may end it as often as it likes."""
        if session.has_answered:
            self.deaths, self.is_forgiven = 1, False
        elif test is None or test != self.died_in:
            self.deaths += 1
        self.died_in = test


class ServerFindings:
    """What was odd about the servers of a run, each thing once: as remarks for a person, and by its kind for the record."""

    def __init__(self, redactor: Callable[[], Redactor]) -> None:
        self._redactor = redactor
        self._remarks: dict[str, list[str]] = {}
        self._kinds: dict[str, dict[str, str]] = {}

    def add(self, name: str, session: Session) -> Iterator[str]:
        """Add what is odd about a session so far, and yield the remarks that are new."""
        told, kinds = self._remarks.setdefault(name, []), self._kinds.setdefault(name, {})
        kinds.update(session.remarks.findings)
        invalid = _find_invalid_opening(session, self._redactor().redact)
        if invalid is not None:
            kinds.setdefault("invalid_opening", invalid)
        for remark in (*session.remarks.texts, *(() if invalid is None else (invalid,))):
            text = self._redactor().redact_text(remark)
            if text not in told:
                told.append(text)
                yield text

    def warnings(self, names: Iterable[str]) -> tuple[str, ...]:
        """All remarks about these servers, in their order."""
        return tuple(remark for name in names for remark in self._remarks.get(name, ()))

    def records_of(self, spec: ServerSpec) -> tuple[dict[str, Any], ...]:
        """What the record says of a server: the kind of each finding, its text, and whether the run fails by it."""
        return tuple(
            {
                "kind": kind,
                "message": self._redactor().redact_text(text),
                "fails": (spec.validity if kind == "invalid_opening" else spec.hygiene) == "fail",
            }
            for kind, text in self._kinds.get(spec.name, {}).items()
        )


class Pool:
    """Opens, shares, restarts and closes sessions. `close` must be awaited, whatever happened.

    `specs` say how each server is started or reached. `gate`, where set, decides about every tool call over them. `shared`,
    where set, has the servers that other suites use too.
    """

    def __init__(
        self,
        specs: Mapping[str, ServerSpec],
        connect: Connect,
        redactor: Callable[[], Redactor],
        *,
        restart: bool = True,
    ) -> None:
        self._programs: Programs | None = None
        if any(spec.command is not None and spec.url is not None for spec in specs.values()):
            from mcptest_engine.servers.program import Programs

            self._programs = Programs()
            specs = {name: replace(spec, programs=self._programs) for name, spec in specs.items()}
        self.specs = specs
        self._pins: dict[str, ServerSpec] = {}
        self._redactor = redactor
        self.connect = connect
        self.recorder: Recorder | None = None
        self.gate: Gate | None = None
        self.shared: SuiteServers | None = None
        self.restart = restart
        self.emit: Emit = lambda _event: None
        self.owner: Owner | None = None
        self.listed: Mapping[str, Mapping[str, list[dict[str, Any]]]] = {}
        self._findings = ServerFindings(redactor)
        self._entries: dict[str, _Entry] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._groups: dict[tuple[str, str], int] = {}
        self._own: dict[str, Session | None] = {}
        self._own_open: set[Session] = set()
        self._retired: list[Session] = []
        self.not_ready = False

    @property
    def redactor(self) -> Redactor:
        """What takes the run's secrets out of everything that is told."""
        return self._redactor()

    def warnings(self) -> tuple[str, ...]:
        """What was odd about the servers, in the order of the suite."""
        return self._findings.warnings(self.specs)

    @property
    def well(self) -> bool:
        """Whether every server that was opened, or is being opened, can still be used."""
        return all(
            entry.opening.exception() is None and entry.opening.result().alive
            for entry in self._entries.values()
            if entry.opening.done() and not entry.opening.cancelled()
        )

    def warm(self, names: Iterable[str]) -> None:
        """Begin to open the sessions of these servers, without waiting for any."""
        for name in names:
            if name not in self._entries:
                self._entries[name] = self._opened(name)

    def pinned(self, name: str, revision: str) -> str:
        """What the session goes by over which a server is offered `revision`: its own name where it is offered that anyway."""
        from mcptest_engine.servers.wire import DEFAULT_REVISION

        spec = self.specs[name]
        if (spec.protocol or DEFAULT_REVISION) == revision:
            return name
        key = f"{name}{_PIN}{revision}"
        if key not in self._pins:
            self._pins[key] = replace(spec, protocol=revision)
        return key

    def session_of_group(self, name: str, group: str) -> str:
        """What the session with a process that only the tests of a group share goes by."""
        key = f"{name}{_PIN}{group}"
        if key not in self._pins:
            spec = self.specs[name]
            if spec.programs is not None:
                spec = replace(spec, programs=type(spec.programs)())
            self._pins[key] = spec
        return key

    def expect_groups(self, cases: Iterable[Case]) -> None:
        """Take note of how many tests share each fresh process, so that it ends with the last of them."""
        for case in cases:
            for server, group in case.fresh.items():
                if group:
                    self._groups[server, group] = self._groups.get((server, group), 0) + 1

    def leave_groups(self, case: Case) -> None:
        """A test has come to its end, and with the last one of a group its fresh processes."""
        for server, group in case.fresh.items():
            if not group or (server, group) not in self._groups:
                continue
            self._groups[server, group] -= 1
            if self._groups[server, group] == 0:
                key = self.session_of_group(server, group)
                entry = self._entries.get(key)
                session = None if entry is None else _session_of(entry)
                if session is not None:
                    self._end(session, self._pins[key].programs)

    async def _make_way(self, name: str) -> None:
        """Where the program of a server has one port: end the one that the other tests share, which is not in use now."""
        spec = self.specs[name]
        if spec.programs is None or not spec.has_fixed_port:
            return
        if self._closing:
            await asyncio.wait(set(self._closing))
        for key in [key for key in self._entries if _name_of(key) == name]:
            if self._pins.get(key, spec).programs is spec.programs:
                (outcome,) = await asyncio.gather(self._entries.pop(key).opening, return_exceptions=True)
                if not isinstance(outcome, BaseException):
                    await self._end(outcome)
        await spec.programs.end(name)

    def ready(self, name: str) -> Session | None:
        """The server's session if it is open and well: the way of nearly every test, without a turn of the loop."""
        entry = self._entries.get(name)
        if entry is None or entry.session is None or not entry.session.alive or entry.session.is_silent:
            return None
        return entry.session

    async def session(self, name: str) -> Session:
        """The server's session, opened now if need be.

        Raises ServerError when the server did not start, or died too often; ServerHung when it hangs and cannot be replaced.
        """
        while True:
            self.warm((name,))
            entry = self._entries[name]
            if entry.session is not None and not entry.session.alive:
                self._restart(name, entry)
            elif entry.session is not None and entry.session.is_silent:
                if entry.hangs:
                    raise _hung(name, entry.silent)
                await self._probe(name, entry, entry.session)
                continue
            opening = entry.opening
            try:
                session = await asyncio.shield(opening)
            except ServerError as error:
                if entry.silent is None:
                    raise
                raise _hung(name, entry.silent) from error
            entry.silent = None
            if opening is entry.opening:  # else it was found dead, and another is being opened in its place
                entry.session = session
                if session.alive:  # else it ended before anything was asked of it, and gets its second chance at once
                    return session

    def lost(self, name: str, session: Session, error: ServerDied, *, test: str | None = None) -> None:
        """Take note that a call of `test` ended with the death of `session`; told once for each death."""
        entry = self._entries[name]
        gone = not session.alive and not session.is_expired
        if entry.session is session and gone and entry.lost is None:
            entry.lost = error
            entry.count_death(session, test)
            self._failed(name, error, restarting=self.restart and entry.deaths < MOST_DEATHS)

    def timed_out(self, name: str, session: Session, error: CallTimeout, *, test: str) -> None:
        """Take note of what was asked, and by which test, when the server fell silent."""
        entry = self._entries[name]
        if entry.session is session and entry.silent is None:
            entry.silent, entry.silent_in = error, test

    def forgive(self) -> None:
        """Forget how often servers have died in a row, since tests are to be tried again; once until they answer."""
        for entry in self._entries.values():
            if entry.deaths and not entry.is_forgiven:
                entry.deaths, entry.died_in, entry.hangs, entry.is_forgiven = 0, None, False, True

    @asynccontextmanager
    async def own_session(
        self, name: str, client: Mapping[str, Any] | None, *, fresh: bool = False
    ) -> AsyncIterator[Session]:
        """A session of the server for one test, with another `client` where that is given; ended with the block.

        `fresh`: a program that serves HTTP is started for it too. Raises: ServerError.
        """
        self._own.setdefault(name, None)
        spec = self.specs[name]
        if client is not None:
            spec = replace(spec, client=client)
        if fresh:
            await self._make_way(name)
            spec = replace(spec, programs=None)
        try:
            session = await self.connect(spec)
        except ServerError as error:
            self.not_ready = self.not_ready or isinstance(error, NotReady)
            self._failed(name, error, restarting=False)
            raise
        session.gate = self.gate
        self._own[name] = session
        self._own_open.add(session)
        self._remember(name, session)
        try:
            yield session
        finally:
            await session.close()
            self._remember(name, session)
            self._own_open.discard(session)

    async def renew(self, name: str, session: Session) -> None:
        """Open another session in place of one that was ended on purpose, once that one is gone; no restart is counted."""
        entry = self._entries.get(name)
        if entry is not None and entry.session is session:
            entry.opening, entry.session, entry.lost = self._opened(name, after=session).opening, None, None
            await asyncio.wait((entry.opening,))

    async def close(self) -> None:
        """End every server of the run, all at once, and wait until each is reaped."""
        for entry in self._entries.values():
            if not entry.opening.done():
                entry.opening.cancel()
        sessions = []
        for entry in self._entries.values():
            (outcome,) = await asyncio.gather(entry.opening, return_exceptions=True)
            if not isinstance(outcome, BaseException):
                sessions.append(outcome)
        sessions += [*self._own_open, *self._retired]
        kept: set[Session] = set()
        if self.shared is not None:
            kept, unneeded = self.shared.leave(sessions)
            sessions += unneeded
        ending = (session.close() for session in sessions if session not in kept)
        await asyncio.gather(*ending, *self._closing, return_exceptions=True)
        for spec in (*self.specs.values(), *self._pins.values()):
            if spec.programs is not None:
                await spec.programs.close()
        for name, entry in self._entries.items():
            late = _session_of(entry)  # what was odd after it had been opened
            if late is not None:
                self._remember(name, late)

    def records(self) -> tuple[ServerRecord, ...]:
        """What the record says of each server that the run reached for, in the order of the suite."""
        told = []
        pinned = {_name_of(key): entry for key, entry in self._entries.items() if key in self._pins}
        for name, spec in self.specs.items():
            entry = self._entries.get(name) or pinned.get(name)
            session = self._own.get(name) if entry is None else _session_of(entry)
            if entry is not None or name in self._own:
                record = _server_record(spec, entry, session, self.redactor)
                findings = self._findings.records_of(spec)
                listed = self.listed.get(name, {}).get("tools")
                if findings or listed is not None:
                    tools = None if listed is None else tuple(_tool_names(listed, self.redactor.redact_text))
                    record = replace(record, findings=findings, tools=tools)
                told.append(record)
        return tuple(told)

    def _opened(
        self, name: str, restarts: int = 0, *, after: Session | None = None, replaces: str | None = None
    ) -> _Entry:
        opening = self._open(name, replaces) if after is None else self._open_after(name, after)
        task = asyncio.get_running_loop().create_task(opening, name=f"server {_name_of(name)}")
        task.add_done_callback(retrieve_exception)
        return _Entry(opening=task, restarts=restarts)

    async def _open_after(self, name: str, ended: Session) -> Session:
        await asyncio.shield(self._end(ended))
        return await self._open(name)

    def _end(self, session: Session, programs: Programs | None = None) -> asyncio.Task[None]:
        """Close a session that another one replaces, or nobody needs, and its programs; `close` waits for it too."""

        async def end() -> None:
            await session.close()
            if programs is not None:
                await programs.close()
            self._remember(session.spec.name, session)

        closing = asyncio.ensure_future(end())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        return closing

    async def _open(self, key: str, replaces: str | None = None) -> Session:
        started, name = time.monotonic(), _name_of(key)
        spec = self._pins.get(key) or self.specs[name]
        if spec.programs is not None and spec.has_fixed_port:
            if spec.programs is not self._programs:
                await self._make_way(name)
            elif self._closing:
                await asyncio.wait(set(self._closing))
        shared = self.shared if key == name else None
        connecting = asyncio.ensure_future(self.connect(spec) if shared is None else shared.take(spec, self.connect))
        try:
            await asyncio.sleep(0)  # the server is spawned before anything is imported
            from mcptest_engine.core.events import ServerReady, ServerStarting

            self.emit(ServerStarting(server=name))
            session = await connecting
        except ServerError as error:
            self.not_ready = self.not_ready or isinstance(error, NotReady)
            self._failed(name, error, restarting=False)
            raise
        except asyncio.CancelledError:
            await _abandon(connecting)
            raise
        session.gate, session.replaces = self.gate, replaces
        self._remember(name, session)
        self.emit(
            ServerReady(
                server=name,
                server_info=self.redactor.redact(session.server_info),
                protocol_version=_redacted(session.protocol_version, self.redactor.redact_text),
                duration_ms=(time.monotonic() - started) * 1000,
            )
        )
        return session

    def _remember(self, name: str, session: Session) -> None:
        """Tell what was odd about the server, each thing once."""
        for text in self._findings.add(_name_of(name), session):
            from mcptest_engine.core.events import Warned

            self.emit(Warned(message=text))

    def _failed(self, name: str, error: ServerError, *, restarting: bool) -> None:
        from mcptest_engine.core.events import ServerFailed
        from mcptest_engine.running.verdicts import failure_of

        failure, redact = failure_of(error), self.redactor.redact_text
        failure = replace(
            failure,
            message=redact(failure.message),
            hint=_redacted(failure.hint, redact),
            stderr_tail=_redacted(failure.stderr_tail, redact),
        )
        self.emit(ServerFailed(server=_name_of(name), failure=failure, restarting=restarting, short=error.short))

    async def _probe(self, name: str, entry: _Entry, session: Session) -> None:
        """Find out whether a server still answers, once for all who ask; one that does not is started anew."""
        if entry.probe is None:
            entry.probe = asyncio.get_running_loop().create_task(session.is_responsive())
        responsive = await asyncio.shield(entry.probe)
        if entry.session is not session or entry.probe is None:  # another test has seen to it meanwhile
            return
        entry.probe = None
        if responsive:
            entry.silent = None
        else:
            self.replace(name, session)

    def replace(self, name: str, session: Session) -> None:
        """Start the server anew in place of `session`, which is silent, unless that has been of no use too often.

        The old session is ended with the run where calls of other tests still wait for their answers over it.
        """
        entry = self._entries[name]
        if entry.session is not session or not session.alive or entry.hangs:
            return
        entry.count_death(session, entry.silent_in)
        entry.hangs = not self.restart or entry.deaths >= MOST_DEATHS
        if entry.silent is not None:
            self._failed(name, entry.silent, restarting=not entry.hangs)
        if entry.hangs:
            return
        self._retire(session)
        spec = self._pins.get(name) or self.specs[_name_of(name)]
        if spec.programs is not None:
            spec.programs.retire(spec.name)
        fresh = self._opened(name, entry.restarts + 1)
        entry.opening, entry.session, entry.restarts, entry.lost = fresh.opening, None, fresh.restarts, None

    def _retire(self, session: Session) -> None:
        """End a session that another one replaces: at once, or with the run where calls still wait for answers over it."""
        if session.is_busy:
            self._retired.append(session)
        else:
            self._end(session)

    def _restart(self, name: str, entry: _Entry) -> None:
        dead = entry.session
        assert dead is not None
        if dead.is_expired:  # over HTTP another session is only another handshake, and no server was started again
            self._retire(dead)
            entry.opening, entry.session, entry.lost = self._opened(name, entry.restarts).opening, None, None
            return
        error = entry.lost or _idle_death(name, dead)
        self.lost(name, dead, error)
        if not self.restart or entry.deaths >= MOST_DEATHS:
            raise error if entry.restarts == 0 else _given_up(name, error, entry.restarts)
        self._end(dead)
        fresh = self._opened(
            name,
            entry.restarts + 1,
            replaces=dead.ending.clause if dead.ending is not None else "closed its connection",
        )
        entry.opening, entry.session, entry.restarts, entry.lost = fresh.opening, None, fresh.restarts, None


def _name_of(key: str) -> str:
    """The server that a session is of."""
    return key.partition(_PIN)[0]


def _tool_names(listed: list[dict[str, Any]], redact: Callable[[str], str]) -> Iterator[str]:
    """The names of tools that a server lists, each once, as far as they are texts."""
    names = (tool.get("name") for tool in listed)
    for name in islice(dict.fromkeys(name for name in names if isinstance(name, str)), MOST_TOOLS):
        yield redact(name[:LONGEST_NAME])


def _find_invalid_opening(session: Session, redact: Callable[[Any], Any]) -> str | None:
    """What is not valid of the answer that opened a session, where its server is held to the protocol."""
    exchange = session.handshake
    if exchange is None or session.spec.validity == "off":
        return None
    from mcptest_engine.judging.validity import Validity, find_invalidity
    from mcptest_engine.servers.wire import DEFAULT_REVISION

    validity = Validity(session.protocol_version or DEFAULT_REVISION, fails=False)
    fault = find_invalidity(exchange.method, exchange.answer, validity, redact)
    return None if fault is None else f'server "{session.spec.name}", {exchange.method}: {fault[0]}'


def _idle_death(name: str, dead: Session) -> ServerDied:
    name = _name_of(name)
    clause = dead.ending.clause if dead.ending is not None else "closed its connection"
    clause += " while no call was running"
    return ServerDied(f'server "{name}" {clause}', server=name, stderr_tail=dead.stderr_tail, clause=clause)


def _given_up(name: str, error: ServerDied, restarts: int) -> ServerDied:
    name = _name_of(name)
    told = f'server "{name}" {error.clause}; it had been restarted {counted(restarts, "time")} already'
    return ServerDied(told, server=name, stderr_tail=error.stderr_tail, exit_code=error.exit_code, signal=error.signal)


def _hung(name: str, silent: CallTimeout | None) -> ServerHung:
    """Why nothing more is asked of a server that fell silent."""
    name = _name_of(name)
    return ServerHung(f'server "{name}" hung', server=name, hint=None if silent is None else silent.message)


async def _abandon(connecting: asyncio.Task[Session]) -> None:
    """Nobody waits for the session any longer: end it, at whatever stage it is."""
    connecting.cancel()
    (outcome,) = await asyncio.gather(connecting, return_exceptions=True)
    if not isinstance(outcome, BaseException):
        await outcome.close()


def _redacted(text: str | None, redact: Callable[[str], str]) -> str | None:
    return None if text is None else redact(text)


def _session_of(entry: _Entry) -> Session | None:
    """The session that is open or was last, None when none came about."""
    if entry.session is not None:
        return entry.session
    ended = entry.opening.done() and not entry.opening.cancelled() and entry.opening.exception() is None
    return entry.opening.result() if ended else None


def _server_record(spec: ServerSpec, entry: _Entry | None, session: Session | None, redactor: Redactor) -> ServerRecord:
    from mcptest_engine.core.run_record import ServerRecord
    from mcptest_engine.servers.transport import transport_of

    if session is None:
        opening = None if entry is None else entry.opening
        failed = opening.exception() if opening is not None and opening.done() and not opening.cancelled() else None
        return ServerRecord(
            name=spec.name,
            transport=transport_of(spec.url),
            auth=spec.auth,
            restarts=0 if entry is None else entry.restarts,
            stderr_tail=redactor.redact_text(getattr(failed, "stderr_tail", "")),
        )
    return ServerRecord(
        name=spec.name,
        transport=session.transport,
        auth=session.auth,
        server_info=redactor.redact(session.server_info),
        protocol_version=_redacted(session.protocol_version, redactor.redact_text),
        restarts=0 if entry is None else entry.restarts,
        stderr_tail=redactor.redact_text(session.stderr_tail),
    )
